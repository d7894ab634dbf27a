"""Broken calls of declared tools: they fail with their whole text, and no marker is shown; prose stays prose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import pytest
from answered import answered
from depth import stride
from looped import looped
from strategies.dialect_texts import markers
from untyped import stage

from penstock.events import ChunkResponse, InvocationFailed, SegmentContent, ToolInvocation
from penstock.events.chunk_response import FinishReason
from penstock.events.segment_event import SegmentEvent
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.engine.stage import Interrupted
from penstock.operators.grammar.compiled_grammar import CompiledGrammar, compiled
from penstock.operators.grammar.dialect import Dialect
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations
from penstock.operators.writing.render_call import can_render, render_call

TOOLS: dict[str, Any] = {
    "look_up": {"type": "object", "properties": {"word": {"type": "string"}}},
    "ping": {"type": "object", "properties": {}},
}
WAYS: tuple[dict[str, str], ...] = ({"word": "tide"}, {"input": "tide"})


class Read(NamedTuple):
    """What came of an answer."""

    text: str
    outcomes: list[tuple[str, str]]
    """The name and the reason of each call that failed; the reason is empty for one that runs."""
    raws: list[str]
    """The text of each call that failed."""
    raw: str


def read(pieces: Sequence[str], dialect: str, finish: FinishReason = "stop", tools: Any = TOOLS) -> Read:
    chunks = [*map(ChunkResponse, pieces), ChunkResponse(is_complete=True, finish_reason=finish)]
    found = answered(chunks, parse_text(dialect, tools=tools, turn_id="t"), to_invocations(keep_segments=True))
    segments = [each for each in found if isinstance(each, SegmentEvent)]
    return Read(
        "".join(each.delta for each in segments if isinstance(each, SegmentContent) and each.segment_type == "text"),
        [
            (each.name, str(getattr(each, "reason", "")))
            for each in found
            if isinstance(each, ToolInvocation | InvocationFailed)
        ],
        [each.raw for each in found if isinstance(each, InvocationFailed)],
        "".join(each.raw or "" for each in segments),
    )


def call_of(name: str) -> str | None:
    """Return a call of `look_up` in a dialect whose opener is unmistakable; None if it has none."""
    dialect = DIALECTS[name]
    for arguments in WAYS if dialect.grammar else ():
        if can_render(dialect, "look_up", arguments, schema=TOOLS["look_up"]) is None:
            text = render_call(dialect, "look_up", arguments, schema=TOOLS["look_up"])
            begins = [each for each in compiled((dialect,)).openers(leading=True).literals if text.startswith(each)]
            return text if any(map(CompiledGrammar.is_unmistakable, begins)) else None
    return None


@cache
def calls() -> dict[str, str]:
    return {name: text for name in sorted(DIALECTS) if (text := call_of(name)) is not None}


SAYING = {"dots", "muse_glimmer"}
"""Dialects in which what is no call is text of the answer, also inside of their markers."""
LONG = 3
"""A marker with fewer characters may be anything."""


def broken(text: str, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Yield ways to break a call that leave its opener and its tool's name: what is wrong, and the text."""
    begin = text.index("look_up")
    end = begin + len("look_up")
    yield "single quotes", text.replace('"', "'")
    yield "a tilde behind the name", f"{text[:end]}~{text[end:]}"
    yield "a tag behind the name", f"{text[:end]}<x>{text[end:]}"
    yield "the name in tags", f"{text[:begin]}<name>look_up</name>{text[end:]}"
    if closer := _closers(text, dialect):
        yield "nothing behind the name", text[:end] + closer
    for sign in "{}()[]:=,":
        place = text.find(sign, end + 1)
        if place > 0:
            yield f"without {sign}", text[:place] + text[place + 1 :]
            yield f"two {sign}", text[:place] + sign + text[place:]
    for marker in markers(dialect):
        place = text.find(marker, end + 1)
        if place > 0:
            yield f"without {marker!r}", text[:place] + text[place + len(marker) :]
            yield f"half of {marker!r}", text[:place] + marker[: len(marker) // 2] + text[place + len(marker) :]


def _closers(text: str, dialect: Dialect) -> str:
    """Return the last marker of a call."""
    found = [marker for marker in markers(dialect) if len(marker) >= LONG and text.rstrip().endswith(marker)]
    return max(found, key=len, default="")


def test_most_dialects_have_an_unmistakable_opener() -> None:
    assert len(calls()) > 50


@pytest.mark.laws
@looped("name", lambda: [name for name in calls() if name not in SAYING])
def test_a_broken_call_of_a_declared_tool_shows_no_marker_and_has_one_outcome(name: str) -> None:
    dialect = DIALECTS[name]
    known = [each for each in markers(dialect) if len(each) >= LONG]
    for what, text in [*broken(calls()[name], dialect)][:: stride(7)]:
        for before, behind in (("", ""), ("Let me see.\n", "\n\nSo far.")):
            whole = before + text + behind
            found = read([whole], name)
            assert found.raw == whole, (what, whole)
            assert len(found.outcomes) == 1, (what, whole, found.outcomes)
            if found.raws:  # behind a call that runs, what is too much is text
                assert [each for each in known if each in found.text] == [], (what, whole, found.text)
            # What failed has its text, and it is not in the text of the answer a second time.
            assert all("look_up" in raw and raw in whole for raw in found.raws), (what, found.raws)
            assert before.strip() in found.text
            assert "look_up" not in found.text
        assert read(list(whole), name) == found, (what, whole)


@pytest.mark.laws
@looped("name", calls)
def test_an_answer_that_was_cut_in_a_call_shows_no_marker(name: str) -> None:
    text = calls()[name]
    dialect = DIALECTS[name]
    begins = [each for each in compiled((dialect,)).openers(leading=True).literals if text.startswith(each)]
    longest = max(map(len, begins))
    for end in range(longest + 1, len(text), stride(7)):
        found = read([text[:end]], name, "length")
        assert found.raw == text[:end]
        assert [each for each in begins if each in found.text] == [], text[:end]
        assert len(found.outcomes) <= 1, text[:end]
        # Of a call that was cut before its name, something is said once more than markers have come.
        assert found.outcomes or name in SAYING or "look_up" not in text[:end], text[:end]
    cut = read([f"So.\n{text[:longest]}"], name, "length")
    assert (cut.text.rstrip(), cut.outcomes) == ("So.", [])
    assert read(list(f"So.\n{text[:longest]}"), name, "length") == cut


PROSE = (
    "Wrap calls in {opener} and {closer}.",
    "They write {opener} there, and it never ends",
    "Of look_up they write {opener}, then its name.",
    "What {opener} means is a matter of taste: look_up is one, ping another.",
    "{opener}: what comes behind it is a call of look_up",
    "The {opener} marker begins a call of ping.\n\nThe word ping stands behind it.",
    "First {opener}. Then look_up, then {closer}.",
    "In code it is `{opener}look_up` or\n```xml\n{opener}look_up<x>{closer}\n```\nas you like.",
    "{opener} and {closer} are the tags.",
)


@looped("name", lambda: [*calls(), "auto"])
@looped("prose", PROSE)
def test_a_sentence_about_the_format_is_text(name: str, prose: str) -> None:
    opener, closer = "<tool_call>", "</tool_call>"
    if name != "auto":
        openers = compiled((DIALECTS[name],)).openers(leading=True).literals
        begins = [each for each in openers if calls()[name].startswith(each)]
        if any(not each.strip().startswith(("<", "[")) or not each.strip().endswith((">", "]")) for each in begins):
            return  # its opener is followed by a word
        opener, closer = max(begins, key=len), _closers(calls()[name], DIALECTS[name])
    text = prose.format(opener=opener, closer=closer)
    found = read([text], name)
    assert found.outcomes == [], (text, found.outcomes)
    assert found.raw == text
    assert read(list(text), name) == found


@looped(
    "dialect, text, name",
    [
        ("glm47", "<tool_call>ping</arg_value></tool_call>", "ping"),
        ("qwen3_coder", "<tool_call>\n<parameter=look_up>\n<parameter=word>\nx\n</parameter>\n</tool_call>", "look_up"),
        (
            "qwen3_coder",
            "<tool_call>\n<function>look_up</function>\n<parameter=word>x</parameter>\n</tool_call>",
            "look_up",
        ),
        ("hermes", "<tool_call>look_up(word='x')</tool_call>", "look_up"),
        ("hermes", '<tool_call>{"type": "tool", "call": {"tool": "look_up"}}</tool_call>', "look_up"),
        ("hermes", "<tool_call>look_up the tide</tool_call>", "look_up"),
        ("hermes", "<tool_call>\n```json\n{'name': 'ping'}\n```\n</tool_call>", "ping"),
        ("kimi_k2", "<|tool_call_begin|>functions_look_up_2<|tool_call_argument_begin|>{}<|tool_call_end|>", "look_up"),
        ("kimi_k2", "<|tool_call_begin|>functionslook_up5<|tool_call_argument_begin|>{}<|tool_call_end|>", "look_up"),
        ("gemma4", '<|tool_call>call:look_up(word=<|"|>x<|"|>)<tool_call|>', "look_up"),
        ("minimax_m2", '<minimax:tool_call>\n<invoke tool="look_up">\n</invoke>\n</minimax:tool_call>', "look_up"),
        ("auto", "<tool_call>{'name': 'look_up', 'arguments': {}}</tool_call>", "look_up"),
        ("auto", "<tool_call>\n<function>look_up</function>\n<parameter=word>x</parameter>\n</tool_call>", "look_up"),
    ],
)
def test_the_name_is_found_where_no_grammar_has_it(dialect: str, text: str, name: str) -> None:
    for pieces in ([text], list(text)):
        found = read(pieces, dialect)
        assert (found.text, found.outcomes) == ("", [(name, "malformed")])
        assert text.startswith(found.raws[0])


def test_a_call_behind_a_broken_one_runs() -> None:
    bad = "<tool_call>{'name': 'look_up'}</tool_call>"
    good = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    for text in (f"{bad}\n{good}", f"{bad[:-12]}{good}", f"{good}{bad}"):
        outcomes = read(list(text), "hermes").outcomes
        assert sorted(outcomes) == [("look_up", "malformed"), ("ping", "")], text


def test_a_broken_call_of_another_tool_is_text_and_so_is_any_where_none_are_declared() -> None:
    text = "<tool_call>{'name': 'erase'}</tool_call>"
    assert read([text], "hermes").text == text
    none: tuple[Any, ...] = (None, {})
    for tools in none:
        text = "<tool_call>{'name': 'look_up'}</tool_call>"
        assert read([text], "hermes", tools=tools).text == text


def test_an_opener_that_nothing_follows_is_nobodys_text_unless_a_sentence_ends_with_it() -> None:
    for finish in ("stop", "length"):
        for text in ("<tool_call>", "<tool_call>\n", "<think>Hm.</think>\n\n<tool_call>"):
            found = read([text], "hermes", finish)
            assert (found.text, found.outcomes, found.raw) == ("", [], text)
            assert read(list(text), "hermes", finish) == found
    assert read(["They write <tool_call>"], "hermes").text == "They write <tool_call>"
    assert read(["I write <tool_call>"], "hermes", "length").text == "I write "


def test_a_call_that_was_cut_before_its_name_is_told() -> None:
    for text in ('<tool_call>{"na', '<tool_call>{"name": "look', "<tool_call>{"):
        found = read([text], "hermes", "length")
        assert (found.text, found.outcomes, found.raws) == ("", [("", "truncated")], [text])


def test_a_broken_call_is_one_however_many_dialects_have_a_marker_that_begins_like_its_own() -> None:
    for text in ("<tool_call>look_up the tide</tool_call>", "<tool_call>{'name': 'look_up'}</tool_call>"):
        for pieces in ([text], list(text)):
            operator = parse_text("cline", "hermes", "pythonic", tools=TOOLS, turn_id="t")
            found = answered(pieces, operator, to_invocations())
            assert [type(each) for each in found] == [InvocationFailed], text


def test_the_work_of_telling_a_broken_call_grows_with_the_text_only() -> None:
    from text_laws import work_of  # noqa: PLC0415 - as other tests of work

    operator = parse_text("auto", tools=TOOLS, turn_id="t")
    unit = "<tool_call>{'a': look up\n<tool_call><tool_call>look_up so <function=x y\n"
    work_of(operator, list(unit))
    for size in (1, 7, 100_000):
        few, many = (
            work_of(operator, [(unit * times)[at : at + size] for at in range(0, len(unit) * times, size)])
            for times in (8, 16)
        )
        assert many < 2.5 * few, (size, few, many)


def test_where_a_broken_call_may_begin_behind_text_does_not_depend_on_how_that_is_cut():
    """Behind an opener that is text, and without a marker of its own between, the line breaks are part of the next one."""
    text = "<｜｜DSML｜｜ tool_calls>\x00\n\n<｜DSML｜ calls>"
    operator = parse_text("deepseek_v4_dsml", tools=TOOLS, turn_id="t")
    for pieces in ([text], list(text), [text[:23], text[23:]], [text[:22], text[22:]]):
        chain = stage(operator)
        events = [each for piece in pieces for each in chain.feed(piece)] + list(chain.close(Interrupted("lost")))
        shown = "".join(each.delta for each in events if isinstance(each, SegmentContent))
        assert shown == text.partition("\n")[0], pieces
