"""What a trace says of withheld text agrees with the laws: nothing is lost at any moment, and it may become two things.

The oracles are those of the laws: brute force over all ways on, the joined `raw`, and `json.loads`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, product
from random import Random
from typing import Any

import pytest
from answered import answered
from depth import some_of
from dialect_calls import WRITING, written
from hypothesis import given
from law_oracles import verdict
from looped import looped
from marker_sets import SMALL_SETS, UNSURE, certain_owners
from operator_contract import TEXT_CALLS
from strategies.answers import answers
from strategies.dialect_texts import answer_by
from strategies.json_texts import json_texts
from strategies.randoms import examples, randoms
from strategies.text_flows import cut_by, flow_by, options_by
from text_kinds import KINDS, REASONING

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.events.segment_event import SegmentContent, SegmentEvent
from penstock.operators import (
    holdback,
    json_fragments,
    parse_text,
    stream_fields,
    strip_markers,
    to_segments,
    whole_calls,
    within,
)
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.engine.stage import Operator, stage
from penstock.operators.engine.withheld import MOST as MOST_TOLD
from penstock.operators.engine.withheld import Withheld
from penstock.operators.grammar.dialect import Dialect
from penstock.operators.grammar.outside_markers import OPENED_BY
from penstock.studio import trace
from penstock.studio.tracing.trace import Trace

NAMES = sorted(DIALECTS)
MAY_BE_MARKER = "it may be the beginning of a marker"


def withheld_after(operator: Operator[Any, Any], items: Iterable[Any]) -> tuple[Withheld, ...]:
    seen = trace(operator)
    for item in items:
        seen.feed(item)
    return seen[-1].stages[-1].withheld if len(seen) else ()


def kept_back(withheld: Iterable[Withheld]) -> str:
    """Return the text that no event has."""
    return "".join(each.text for each in withheld if not each.in_raw)


def raw_of(events: Iterable[Any]) -> str:
    return "".join(event.raw for event in events if isinstance(event, SegmentEvent))


def is_all_of(text: str, so_far: str, withheld: str) -> bool:
    """Return whether what came out and what is withheld are the text; of a long withheld text only the end is told."""
    if "…" in withheld and len(withheld) > MOST_TOLD:
        return text.startswith(so_far) and text.endswith(withheld.rpartition("…")[2])
    return so_far + withheld == text


@pytest.mark.laws
@pytest.mark.parametrize("markers", some_of(SMALL_SETS, 6), ids=str)
def test_a_marker_is_withheld_exactly_while_ways_on_disagree(markers: tuple[str, ...]) -> None:
    for text, certain in certain_owners(markers).items():
        withheld = withheld_after(holdback(*markers), text)
        assert len(kept_back(withheld)) == certain.count(UNSURE), text
        for each in withheld:
            assert text.endswith(each.text)
            assert each.could_become, text
            assert {*each.could_become} <= {*markers}
            for member in each.could_become:
                on = stage(holdback(*markers))
                items = [item for part in (*text, member[len(each.text) :]) for item in on.feed(part)]
                assert member in [*items, *on.close()], (text, member)


@pytest.mark.parametrize("text", [" <s>a</s> \n", "<s>\na</s", " \n<", "x<s>", "<s>a</s>b"])
def test_a_sentinel_is_withheld_while_it_may_be_content_or_removed(text: str) -> None:
    operator = strip_markers("<s>", "</s>")
    for end in range(1, len(text) + 1):
        for each in withheld_after(operator, text[:end]):
            assert text[:end].endswith(each.text)
            (member,) = each.could_become
            outcomes = {_given(operator, text[:end], more) for more in (member[len(each.text) :], "\0")}
            assert len(outcomes) == 2, (text[:end], each)


def _given(operator: Operator[str, str], text: str, more: str) -> bool:
    """Return whether the end of a text comes out if more follows."""
    on = stage(operator)
    items = [*on.feed(text), *(on.feed(more) if more else ()), *on.close()]
    return "".join(items).removesuffix("\0").endswith(text[-1])


@pytest.mark.laws
@pytest.mark.parametrize("name", some_of(KINDS, 5))
def test_what_the_reader_of_text_withholds_may_become_two_things(name: str) -> None:
    kind = KINDS[name]
    dialects = [Dialect("tiny", kind.grammar, reasoning=REASONING)]
    dialects += [Dialect("other", kind.beside)] if kind.beside else []
    operator = parse_text(*dialects, turn_id="t", blanks="keep")
    ways = dict.fromkeys(
        ("", "x", " x", "<t", "t>x", ">", *(whole[at:] for whole in kind.whole for at in range(len(whole))))
    )
    for begin, letters in kind.begins.items():
        for more in chain.from_iterable(product(letters, repeat=length) for length in range(2)):
            text = begin + "".join(more)
            seen = trace(operator)
            given_raw = raw_of(seen.feed(text)) if text else ""
            withheld = seen[-1].stages[0].withheld if text else ()
            assert is_all_of(text, given_raw, kept_back(withheld)), (text, withheld)
            for each in withheld:
                if each.reason == MAY_BE_MARKER:
                    stays = _asks(operator, text, each, [*ways])
                    # In a raw value an opener is content, and a token that may end the answer counts from its opener on.
                    assert each.segment_id or stays <= {*OPENED_BY.values()}, (text, each)


def _asks(operator: Operator[Any, Any], text: str, withheld: Withheld, ways: Sequence[str]) -> set[str]:
    """Ask whether ways on put the text into different events; return the markers that stay text whatever follows."""
    assert withheld.could_become, (text, withheld)
    length = len(withheld.text)
    start = len(text) - length
    found: set[tuple[Any, ...]] = set()
    stays: set[str] = set()
    for member in withheld.could_become:
        assert member.startswith(withheld.text), (text, withheld)
        rest = member[length:]
        runs = [owners_in(answered([text + rest + way], operator)) for way in ("", *ways)]
        of_member = [tuple(run[start : len(text) + len(rest)]) for run in runs]
        if all(all(owner[-1] for owner in owners) for owners in of_member):
            stays.add(member)
        found.update(owners[:length] for owners in of_member)
    found.update(tuple(owners_in(answered([text + way], operator))[start : start + length]) for way in ways)
    assert len(found) > 1, (text, withheld)
    return stays


def owners_in(events: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return for each character of the source: of which event it is, and whether it is text of its segment."""
    owners: list[tuple[Any, ...]] = []
    for event in events:
        if isinstance(event, SegmentEvent):
            is_text = isinstance(event, SegmentContent) and event.raw == event.delta
            owners += [(event.type, event.segment_id, is_text)] * len(event.raw)
    return owners


@pytest.mark.laws
@looped("name", some_of(NAMES, 20))
def test_nothing_of_a_text_is_lost_at_any_moment(name: str) -> None:
    @examples(20)
    @given(randoms)
    def holds(random: Random) -> None:
        _asks_about_text(random, name)

    holds()


def _asks_about_text(random: Random, name: str) -> None:
    answer = answer_by(random, [DIALECTS[name]])
    flow = flow_by(random, answer.text)
    options = options_by(random, answer.tools)
    seen = trace(parse_text(name, turn_id="t", **options), whole_calls())
    text = so_far = whole = ""
    for item in flow.items(lambda part: cut_by(random, part)):
        seen.feed(item)
        first, second = seen[-1].stages
        if isinstance(item, str) or item.content:
            text += item if isinstance(item, str) else item.content
            so_far += raw_of(first.outputs)
        assert is_all_of(text, so_far, kept_back(first.withheld)), (text, first, options)
        whole += raw_of(first.outputs)
        assert _held_behind(seen, whole), (whole, second.withheld)


def _held_behind(seen: Trace, whole: str) -> bool:
    passed = raw_of(output for each in seen for output in each.stages[1].outputs)
    held = kept_back(seen[-1].stages[1].withheld)
    # A broken call becomes text where it began, so that the raw of calls that are open together changes places.
    return len(held) > MOST_TOLD or Counter(whole) == Counter(passed + held)


@pytest.mark.laws
@examples(100)
@given(answers())
def test_nothing_of_a_call_is_lost_at_any_moment(answer: Sequence[Any]) -> None:
    seen = trace(to_segments(turn_id="t"), stream_fields(), within("write_file", holdback("<a>", "\n\n")))
    raws: list[dict[str, str]] = [{}, {}, {}]
    for chunk in answer:
        seen.feed(chunk)
        stages = seen[-1].stages
        for raw, stage_trace in zip(raws, stages, strict=True):
            for event in stage_trace.outputs:
                if isinstance(event, SegmentEvent):
                    raw[event.segment_id] = raw.get(event.segment_id, "") + event.raw
        for before, after, stage_trace in zip(raws, raws[1:], stages[1:], strict=False):
            for segment_id, text in before.items():
                held = kept_back(each for each in stage_trace.withheld if each.segment_id == segment_id)
                assert is_all_of(text, after.get(segment_id, ""), held), (segment_id, stage_trace)


@examples(200)
@given(json_texts())
def test_what_is_withheld_of_json_can_be_written_on(text: str) -> None:
    for end in range(1, len(text) + 1):
        begun = text[:end]
        for each in withheld_after(json_fragments(), [begun]):
            for member in each.could_become:
                assert begun.endswith(each.text)
                assert member.startswith(each.text)
                assert verdict(begun + member[len(each.text) :]) != "wrong", (begun, each)
            assert each.could_become or each.reason == "a key is emitted with its value; it may be any"


@pytest.mark.laws
@looped("name", some_of(WRITING, 12))
def test_a_call_in_text_may_still_become_one_with_all_that_is_told(name: str) -> None:
    """Letter by letter: what is told keeps the call possible, and nothing is told only where nobody knows."""
    call = written(name)
    operator = parse_text(name, tools=call.tools, turn_id="t")
    text = f"{call.text} "
    seen = trace(operator)
    for end, letter in enumerate(text, 1):
        seen.feed(letter)
        for each in seen[-1].stages[0].withheld:
            assert bool(each.could_become) is not each.reason.endswith("; it may be any"), each
            for member in each.could_become:
                assert member.startswith(each.text)
                events = answered_so_far(operator, text[:end] + member[len(each.text) :])
                assert not [event for event in events if getattr(event, "status", "complete") != "complete"], each
                said = "".join(event.delta for event in events if isinstance(event, SegmentContent))
                ends_block = name == "sentinel" and member.endswith("}")  # attributes as JSON may end anywhere
                assert ends_block or not each.reason.startswith("it may be a call") or call.text[:4] not in said, each


def answered_so_far(operator: Operator[Any, Any], text: str) -> list[Any]:
    return [*stage(operator).feed(text)]


NATIVE = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "get_weather", '{"ci'),))
WEATHER: dict[str, Any] = {
    "get_weather": {"type": "object", "properties": {"city": {}, "circa": {}, "days": {}}},
    "get_time": None,
}


@looped(
    "operator, item, ways",
    [
        (parse_text("hermes", tools=WEATHER), '<tool_call>{"name": "get_w', ['eather"', '"']),
        (parse_text("hermes", tools=WEATHER), '<tool_call>{"name": ', ['"get_time"', '"get_weather"']),
        (parse_text("hermes", tools=WEATHER), '<tool_call>{"na', ["me", '"']),
        (parse_text("hermes", tools=WEATHER), '<tool_call>{"name": "get_weather", "arguments": {"ci', ["ty", "rca"]),
        (parse_text("apertus", tools=WEATHER), "<|tools_prefix|>[{", ['"get_time"', '"get_weather"']),
        (parse_text("pythonic", tools=WEATHER), "<|python_start|>[get_w", ["eather", "("]),
        (parse_text("pythonic", tools=WEATHER), '<|python_start|>[get_weather(days="1", ci', ["ty", "rca"]),
        (parse_text("glm45", tools=WEATHER), "<tool_call>get_", ["time", "weather"]),
        (parse_text("glm45", tools=WEATHER), "<tool_call>get_weather<arg_key>ci", ["ty", "rca", "</arg_key>"]),
        (
            parse_text("glm45", tools=WEATHER),
            "<tool_call>get_weather<arg_key>city</arg_key><arg_value>x</arg_value><arg_key>",
            ["circa", "days"],
        ),
        (parse_text("minicpm5_xml", tools=WEATHER), '<function name="get_w', ['eather"', '"']),
        (parse_text("minicpm5_xml", tools=WEATHER), '<function name="get_weather"><param name="ci', ['ty"', 'rca"']),
        (parse_text("deepseek_v31", tools=WEATHER), "<｜tool▁calls▁begin｜>", ["<｜tool▁call▁begin｜>"]),
        (to_segments(tools=WEATHER), NATIVE, ["ty", "rca"]),
        (parse_text("hermes", tools=WEATHER), NATIVE, ["ty", "rca"]),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_names_and_keys_that_are_declared_are_told(operator: Operator[Any, Any], item: Any, ways: list[str]) -> None:
    (withheld,) = withheld_after(operator, [item])
    told = [each[len(withheld.text) :] for each in withheld.could_become]
    assert [each for each in told if each in ways] == ways, told
    assert not withheld.reason.endswith("; it may be any")


@pytest.mark.parametrize(
    ("operator", "item"),
    [
        (parse_text("hermes"), '<tool_call>{"name": "get_weather", "arguments": {"ci'),
        (parse_text("kimi_k2"), "<|tool_calls_section_begin|><|tool_call_begin|>get_w"),
        (to_segments(), NATIVE),
        (to_segments(), ChunkResponse(tool_calls=(ToolCallDelta(0, "c", None, "{"),))),
    ],
    ids=["a key", "an id", "a native key", "a name"],
)
def test_where_nobody_knows_what_may_come_the_reason_says_so(operator: Operator[Any, Any], item: Any) -> None:
    (withheld,) = withheld_after(operator, [item])
    assert withheld.could_become == ()
    assert withheld.reason.endswith("; it may be any")


@pytest.mark.parametrize("texts", TEXT_CALLS)
def test_a_stage_that_does_not_say_it_is_asked_from_outside(texts: tuple[str, ...]) -> None:
    """The withheld text of `holdback` behind a stage without a word is what `holdback` says."""
    told, found = trace(holdback("<tool_call>")), trace(_silent(holdback("<tool_call>")))
    for text in texts:
        assert [*told.feed(text)] == [*found.feed(text)]
        assert [each.text for each in found[-1].stages[0].withheld] == [
            each.text for each in told[-1].stages[0].withheld
        ]
        assert {each.reason for each in found[-1].stages[0].withheld} <= {"this operator does not say why"}


def _silent(operator: Operator[Any, Any]) -> Operator[Any, Any]:
    class Silent:
        def __init__(self) -> None:
            inner = stage(operator)
            self.feed, self.close, self.dump, self.load = inner.feed, inner.close, inner.dump, inner.load

    return Operator(Silent)


MUTANTS = {
    "a withheld text could become any marker": ("marker_is", ("operators/machines/marker_search.py", " for each in self.literals if each.is_begun_by(text))", " for each in self.literals)")),
    "an empty name may end": ("may_still_become", ("operators/grammar/dialect.py", "return bool(text) and (", "return (")),
    "what waits in the reader of text is not told as withheld": ("of_a_text_is_lost", ("operators/text/withheld_text.py", "    wait = source_buffer.wait", '    wait = ""')),
}  # fmt: skip
