"""The laws about calls in text, for every dialect: a text streams, one chunk may have several, a cut one never runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from depth import stride
from dialect_calls import WRITING, Written, written
from looped import looped
from strategies.dialect_texts import markers

from penstock.events.chunk_response import ChunkResponse, FinishReason
from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import InvocationFailed, ToolInvocation
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted, compose, stage
from penstock.operators.grammar.dialect import Json
from penstock.operators.grammar.grammar_items import leaves_of, takes_key
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations

ONLY_JSON = [
    name for name in WRITING if {type(leaf) for leaf in leaves_of(DIALECTS[name].grammar) if takes_key(leaf)} == {Json}
]
REGULAR: tuple[FinishReason, ...] = ("stop", "tool_calls")
ENDS: tuple[tuple[FinishReason | None, How], ...] = (
    *((finish, Completed()) for finish in (*REGULAR, "length", "error")),
    (None, Completed()),
    (None, Failed(RuntimeError("lost"))),
    (None, Interrupted("Ctrl-C")),
)


def outcomes(call: Written, text: str, finish: FinishReason | None, how: How) -> tuple[list[Any], list[Any], int]:
    """Return what comes of a text before its end and at its end, and how many calls began."""
    chain = stage(compose(parse_text(call.dialect, tools=call.tools, turn_id="t"), to_invocations(keep_segments=True)))
    events = chain.feed(ChunkResponse(content=text))
    began = sum(event.type == "SEGMENT_START" and event.segment_type == "tool_call" for event in segments(events))
    if finish is not None:
        events += chain.feed(ChunkResponse(finish_reason=finish, is_complete=True))
    last = chain.close(how)
    began += sum(event.type == "SEGMENT_START" and event.segment_type == "tool_call" for event in segments(last))
    return results(events), results(last), began


def segments(events: Sequence[Any]) -> list[SegmentEvent]:
    return [event for event in events if isinstance(event, SegmentEvent)]


def results(events: Sequence[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, ToolInvocation | InvocationFailed)]


@pytest.mark.laws
@looped("name", WRITING)
def test_a_call_that_was_cut_is_run_only_if_it_was_sealed(name: str) -> None:
    """Cut at every character, with every end: a call runs with all that the text says of it, or it fails."""
    call = written(name)
    for place in range(len(call.text), -1, -stride(29)):
        text = call.text[:place]
        for finish, how in ENDS:
            about = name, text, finish, how
            early, late, began = outcomes(call, text, finish, how)
            assert len(early) + len(late) == began <= 1, about
            regular = how == Completed() and finish in REGULAR
            for result in early:
                assert isinstance(result, ToolInvocation), about
                assert result.arguments == call.arguments, about
            for result in late:
                if isinstance(result, InvocationFailed):
                    assert result.raw in text, about
                elif call.has_body:
                    assert how == Completed(), about
                    assert finish != "error", about
                    assert result.arguments == call.arguments, about
                else:
                    assert regular, about
                    assert result.arguments.items() <= call.arguments.items(), about
            if text == call.text and regular:
                assert all(isinstance(result, ToolInvocation) for result in (*early, *late)), about
                assert began == 1, about


@looped("name", WRITING)
def test_a_text_comes_with_the_chunk_that_brings_it(name: str) -> None:
    """Of characters that no marker has, none waits for the next one."""
    value = "Q" * 40
    call = written(name, value)
    chain = stage(parse_text(call.dialect, tools=call.tools, turn_id="t"))
    begin = call.text.index(value)
    chain.feed(call.text[:begin])
    given = [
        "".join(str(piece.value) for piece in event.fragments or () if piece.kind == "TEXT")
        for place in range(begin, begin + len(value), 4)
        for event in segments(chain.feed(call.text[place : place + 4]))
    ]
    assert given == ["QQQQ"] * 10


@looped("name", ONLY_JSON)
def test_no_marker_counts_inside_of_json(name: str) -> None:
    value = " ".join(markers(written(name).dialect))
    call = written(name, value)
    for pieces in ([call.text], list(call.text)):
        chain = stage(compose(parse_text(call.dialect, turn_id="t"), to_invocations()))
        events = [event for piece in pieces for event in chain.feed(piece)]
        assert [event.arguments for event in results([*events, *chain.close()])] == [call.arguments]


@looped("name", WRITING)
def test_a_chunk_may_have_several_calls(name: str) -> None:
    """All but the last one run with it; the last may have to wait for what ends it."""
    call = written(name)
    early, late, began = outcomes(call, f"Now: {call.text}\n{call.text}\n{call.text}", "stop", Completed())
    runs = [(event.name, event.arguments) for event in (*early, *late)]
    assert runs == [(call.name, call.arguments)] * 3
    assert began == 3
    assert len(early) >= 2


MUTANTS = {
    "a marker is looked for inside of JSON strings": ("inside_of_json and hermes", ("operators/text/block_json.py", "        self._take_all(self.machine.feed(text), begin, length)\n", '        before, closer, _ = text.partition("</tool_call>")\n        self._take_all(self.machine.feed(before), begin, len(before))\n        if closer and self._block.reader is self:\n            self._block.fail(JsonError("malformed", 0, "more", closer))\n')),
    "a text is given at its end only": ("brings_it and qwen3_coder", ("operators/text/block_text.py", '        self.streams = form != "xml" and self._argument.streams(self.typing)\n', "        self.streams = False\n")),
    "a raw body is sealed however the stream ends": ("sealed", ("operators/text/text_block.py", "(is_regular and is_at_end)", "is_at_end")),
    "a JSON body that closed is sealed though the stream was lost": ("sealed and hermes", ("operators/text/text_block.py", 'call.closed and isinstance(how, Completed) and finish != "error"', "call.closed")),
    "a chunk ends with its first call": ("several and hermes", ("operators/text/text_engine.py", "            if source_buffer.wait:\n                break\n\n    def _settle", "            if source_buffer.wait or (block.had_call and not block.call):\n                break\n\n    def _settle")),
}  # fmt: skip
