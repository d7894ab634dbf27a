"""Calls of declared tools in the text of an answer: `text_calls=` of `to_segments`."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from operator_contract import TURN, call, frozen, thawed
from strategies.cuts import cuts, every_cut_in_two
from untyped import stage

from penstock.events.answer_end import AnswerEnd
from penstock.events.chunk_response import ChunkResponse, ToolCallDelta
from penstock.events.errors import ProviderError, UsageError
from penstock.events.segment_event import SegmentContent, SegmentEvent, SegmentStart
from penstock.events.tool_invocation import Notice, ToolInvocation
from penstock.operators.calls import text_call_watch
from penstock.operators.engine.drive import drive
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted
from penstock.operators.stream_fields import stream_fields
from penstock.operators.text.text_engine import TextEngine
from penstock.operators.to_invocations import to_invocations
from penstock.operators.to_segments import to_segments

TOOLS: dict[str, Any] = {"f": None, "run_bash": None}
STOP = ChunkResponse(finish_reason="stop")
WHOLE = (
    '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
    '[TOOL_CALL] f {"a": 1}',
    '[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}]',
    '```json\n{"name": "f", "arguments": {"a": 1}}\n```',
    '{"name": "f", "parameters": {"a": 1}}',
    '{"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{\\"a\\": 1}"}}]}',
    'functools[{"name": "f", "arguments": {"a": 1}}]',
    "[f(a=1)]",
    "<f><a>1</a></f>",
    "<function=f><parameter=a>1</parameter></function>",
    '<|channel|>commentary to=functions.f<|message|>{"a": 1}<|call|>',
    '<|python_tag|>{"name": "f", "parameters": {"a": 1}}',
)
NONE = (
    "Models write `<tool_call>` and `</tool_call>` around a call of f .",
    "The tool `f` takes one argument, as in `f(a=1)`.",
    '`{"name": "f", "parameters": {"a": 1}}`',
    '<tool_call>{"name": "g", "arguments": {}}</tool_call> is no call of f .',
    '<tool_call>{"name": "f", "arguments": {"a": ',
    '{"name": "Ada", "parameters": {"letter": "f"}}',
    "```javascript\n[f(a=1)]\n```",
    "if a < f and c[TOOL]: <tool>",
)


def chunks_of(*texts: str, reasoning: bool = False) -> list[ChunkResponse]:
    return [ChunkResponse(reasoning=text) if reasoning else ChunkResponse(text) for text in texts]


def run(chunks: Iterable[ChunkResponse], how: How | None = None, **options: Any) -> list[Any]:
    chain = stage(to_segments(turn_id=TURN, tools=TOOLS, **options))
    return [*(event for chunk in chunks for event in chain.feed(chunk)), *chain.close(how or Completed())]


def notices(events: Iterable[Any]) -> list[Notice]:
    return [event for event in events if isinstance(event, Notice)]


def called(text: str, *, reasoning: bool = False) -> list[str]:
    """Return the names of the calls in a text that are invoked."""
    chain = (to_segments(turn_id=TURN, tools=TOOLS, text_calls="call"), stream_fields(), to_invocations(TOOLS))
    events = drive([*chunks_of(*text, reasoning=reasoning), STOP], *chain)
    return [event.name for event in events if isinstance(event, ToolInvocation)]


# A notice


@pytest.mark.parametrize("reasoning", [False, True])
@pytest.mark.parametrize("text", WHOLE)
def test_a_whole_call_of_a_declared_tool_is_told_in_any_cutting(text: str, reasoning: bool):
    for pieces in ([text], list(text), *every_cut_in_two(f"Well: \n\n{text}")[::7]):
        events = run([*chunks_of(*pieces, reasoning=reasoning), STOP])
        assert [each.code for each in notices(events)] == ["text_call"], pieces
        said = "".join(each.delta for each in events if isinstance(each, SegmentContent))
        assert said == "".join(pieces)


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_whole_call_of_a_declared_tool_is_not_told(text: str):
    for pieces in ([text], list(text)):
        assert notices(run([*chunks_of(*pieces), STOP])) == []
    assert called(text) == []


def test_without_tools_or_with_off_nothing_is_looked_for():
    chunks = chunks_of(WHOLE[0])
    assert notices(run(chunks, text_calls="off")) == []
    nothing: tuple[Any, ...] = (None, {}, ())
    for tools in nothing:
        assert notices(drive(chunks, to_segments(tools=tools))) == []


def test_the_notice_says_what_happened_and_what_to_do():
    (notice,) = notices(run([*chunks_of('Sure. [TOOL_CALL] run_bash {"command":\n\n   "pwd"}'), STOP]))
    assert "a call of 'run_bash' into its text" in notice.detail
    assert "no tool was executed" in notice.detail
    assert 'pass text_calls="call"' in notice.detail
    assert notice.detail.endswith('The text: [TOOL_CALL] run_bash {"command": "pwd"}')


def test_the_snippet_is_short_and_its_blanks_are_collapsed():
    (notice,) = notices(run(chunks_of('[TOOL_CALL] f {"a": "', *" \\n ab" * 300, '"}')))
    snippet = notice.detail.partition("The text: ")[2]
    assert len(snippet) == 240
    assert snippet.startswith('[TOOL_CALL] f {"a": " \\n ab \\n ab')


@pytest.mark.parametrize("how", [Completed(), Interrupted("stop"), Failed(ProviderError("x"))])
def test_a_notice_comes_before_the_end_of_its_answer(how: How):
    chunks = [ChunkResponse("[f()]"), ChunkResponse("[f()]", choice=1)]
    kinds = [type(event) for event in run(chunks, how) if isinstance(event, Notice | AnswerEnd)]
    assert kinds == [Notice, AnswerEnd, Notice, AnswerEnd]


def test_a_notice_comes_while_the_answer_goes_on():
    chain = stage(to_segments(tools=TOOLS))
    events = [event for chunk in chunks_of("[f()] ", *"x" * 64) for event in chain.feed(chunk)]
    assert len(notices(events)) == 1
    assert notices(chain.close()) == []


def test_each_call_is_told_once_also_beside_a_native_one():
    native = call(0, "c", "f", "{}", done=True)
    events = run([*chunks_of("[f()] and "), *native, *chunks_of("[f(b=2)]"), STOP])
    assert len(notices(events)) == 2


def test_a_name_that_two_looks_divide_is_found():
    for place in range(58, 68):
        pieces = [*"x" * (place - 1), " ", *"[run_bash()]", *" x" * 64]
        assert len(notices(run(chunks_of(*pieces)))) == 1


@pytest.mark.parametrize("length", [100, text_call_watch.KEPT + 100])
def test_a_text_is_read_once_it_has_a_name_or_is_long(length: int, monkeypatch: pytest.MonkeyPatch):
    made: list[Any] = []

    def counted(*given: Any) -> TextEngine:
        made.append(given)
        return TextEngine(*given)

    monkeypatch.setattr(import_module("penstock.operators.text.text_engine"), "TextEngine", counted)
    chain = stage(to_segments(tools=TOOLS))
    for _ in range(length // 50):
        chain.feed(ChunkResponse("fruit [x] `run_bashed` {} <b> of_f\n".ljust(50)))
    chain.close()
    assert len(made) == int(length > text_call_watch.KEPT)


def test_little_is_kept_of_a_long_text():
    chain = stage(to_segments(turn_id=TURN, tools=TOOLS))
    for _ in range(3_000):
        chain.feed(ChunkResponse("f is a letter, and `x` too. \n" * 4))
    assert len(frozen(chain)) < 20_000


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG):
        assert notices(run(chunks_of(WHOLE[1])))
    assert caplog.records == []


def test_an_unknown_choice_is_refused():
    with pytest.raises(UsageError, match="text_calls= must be 'off', 'notice' or 'call', got 'yes'"):
        to_segments(text_calls="yes")  # type: ignore[arg-type]


# A call


@pytest.mark.parametrize("reasoning", [False, True])
@pytest.mark.parametrize("text", WHOLE)
def test_with_call_it_is_a_call(text: str, reasoning: bool):
    assert called(f"Well: \n\n{text}\n\nDone.", reasoning=reasoning) == ["f"]


def test_text_around_a_call_keeps_its_type():
    for reasoning, kind in ((False, "text"), (True, "reasoning")):
        events = run([*chunks_of(*"so [f(a=1)] then", reasoning=reasoning), STOP], text_calls="call")
        kinds = [event.segment_type for event in events if isinstance(event, SegmentStart)]
        assert kinds == [kind, "tool_call", kind]
        said = "".join(e.delta for e in events if isinstance(e, SegmentContent) and e.segment_type == kind)
        assert said == "so  then"


def test_native_calls_and_reasoning_go_on_beside_it():
    chunks = [
        ChunkResponse(reasoning="Think."),
        *chunks_of("Hi <tool_call>", '{"name": "f", "arguments": {}}</tool_call>'),
        ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "run_bash", "{}", done=True),)),
        ChunkResponse("Bye", finish_reason="tool_calls"),
    ]
    events = run(chunks, text_calls="call")
    kinds = [(event.segment_type, event.segment_id) for event in events if isinstance(event, SegmentStart)]
    assert [kind for kind, _ in kinds] == ["reasoning", "text", "tool_call", "tool_call", "text"]
    assert len({segment_id for _, segment_id in kinds}) == 5


@pytest.mark.parametrize("text_calls", ["off", "notice", "call"])
def test_the_choice_changes_nothing_else(text_calls: Any):
    (end,) = run([], text_calls=text_calls)
    assert end.status == "truncated"
    *_, end = run([ChunkResponse("Hi"), ChunkResponse(" you", response_id="r"), STOP], text_calls=text_calls)
    assert (end.status, end.response_id) == ("complete", "r")
    events = run([*chunks_of("Hi [TOOL"), STOP], text_calls=text_calls)
    assert len([each for each in events if isinstance(each, SegmentStart)]) == 1


@pytest.mark.parametrize("last", [ChunkResponse("Hello [TOOL"), ChunkResponse(refusal="No")])
def test_what_a_reader_holds_at_the_end_belongs_to_its_own_segments(last: ChunkResponse):
    events = run([*chunks_of("Hm", "<|im_end|>", reasoning=True), last, STOP], text_calls="call")
    raws: dict[str, str] = {}
    for each in events:
        if isinstance(each, SegmentEvent):
            raws[str(each.segment_type)] = raws.get(str(each.segment_type), "") + each.raw
    assert raws["reasoning"] == "Hm<|im_end|>"
    assert {raws.get("text"), raws.get("refusal")} == {last.content or None, last.refusal or None}


@pytest.mark.parametrize(
    ("name", "written"), [("größe", "gr\\u00f6\\u00dfe"), ("größe", "GRÖSSE"), ("a/b", "a\\/b"), ("a.b*", "a.b*")]
)
def test_a_name_is_found_however_json_writes_it(name: str, written: str):
    text = f'<tool_call>{{"name": "{written}", "arguments": {{}}}}</tool_call>'
    assert len(notices(drive([*chunks_of(text), STOP], to_segments(tools={name: None})))) == 1


def test_markers_of_reasoning_in_the_text_are_text():
    events = run([*chunks_of("<think>I</think> am"), STOP], text_calls="call")
    assert "".join(each.delta for each in events if isinstance(each, SegmentContent)) == "<think>I</think> am"


# Laws

PIECES = st.sampled_from((*WHOLE, *NONE, "<tool_call>", "[TOOL_CALL", " ", "\n", "{", "f", "`", "x" * 700))
TEXTS = st.lists(PIECES, max_size=5).map("".join)
CHOICES = st.sampled_from(("notice", "call"))


def summary(events: Iterable[Any]) -> list[Any]:
    """Return the texts and the calls, joined, and the notices."""
    lines: list[Any] = []
    for event in events:
        if isinstance(event, SegmentContent):
            if lines and lines[-1][0] == event.segment_id:
                lines[-1] = (event.segment_id, lines[-1][1] + event.delta)
            else:
                lines.append((event.segment_id, event.delta))
    return [*lines, *(each.detail for each in notices(events))]


@given(TEXTS, CHOICES, st.data())
def test_any_cutting_means_the_same(text: str, text_calls: Any, data: st.DataObject):
    pieces = data.draw(cuts(text))
    whole = summary(run([*chunks_of(text), STOP], text_calls=text_calls))
    assert summary(run([*chunks_of(*pieces), STOP], text_calls=text_calls)) == whole


@given(TEXTS, CHOICES, st.booleans(), st.data())
def test_frozen_after_any_chunk_it_goes_on_the_same(text: str, text_calls: Any, reasoning: bool, data: st.DataObject):
    chunks = [*chunks_of(*data.draw(cuts(text)), reasoning=reasoning), *chunks_of(*data.draw(cuts(text)))]
    place = data.draw(st.integers(0, len(chunks)))
    operator = to_segments(turn_id=TURN, tools=TOOLS, text_calls=text_calls)
    chain = stage(operator)
    for chunk in chunks[:place]:
        chain.feed(chunk)
    copy = thawed(operator, frozen(chain))
    given, wanted = ([event for c in chunks[place:] for event in one.feed(c)] for one in (copy, chain))
    assert [*given, *copy.close()] == [*wanted, *chain.close()]


MUTANTS = {
    "a call in text that is not whole is told": ("no_whole_call", ("operators/calls/text_call_watch.py", 'isinstance(event, SegmentEnd) and event.status == "complete"', "isinstance(event, SegmentEnd)")),
    "a call in text of an undeclared tool is told": ("no_whole_call", ("operators/catalogue/dialect_for.py", "reasoning=(), only_declared=has_tools", "reasoning=()")),
    "a tool's name that a look cuts is not found": ("means_the_same or two_looks", ("operators/calls/text_call_watch.py", "            self._tail = seen[-self._names.longest :]\n", '            self._tail = ""\n')),
    "text after a call in reasoning is no reasoning": ("keeps_its_type", ("operators/text/outside_text.py", 'return self._options.segment_type if kind == "text" else kind', 'return self._options.segment_type if kind == "text" and not self.calls else kind')),
}  # fmt: skip
