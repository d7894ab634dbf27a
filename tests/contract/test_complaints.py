"""The bugs that other parsers of calls in text were reported for, each named by its report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from complaint_cases import COMPLAINTS, VALUES, Complaint, Value
from counted_calls import counted
from depth import stride
from looped import looped
from operator_contract import frozen, rest_of_run
from untyped import drive, stage

from penstock.events import SegmentContent
from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import InvocationFailed, ToolInvocation
from penstock.operators.engine.stage import Operator, compose
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations


def reader(complaint: Complaint) -> Operator[Any, Any]:
    return parse_text(*complaint.dialects.split(), tools=complaint.tools, turn_id="t", **complaint.options)


def outcome(complaint: Complaint, pieces: Iterable[str]) -> tuple[list[Any], str, str]:
    """Return the calls, the text and the reasoning that come out; everything that went in is in somebody's `raw`."""
    calls: list[Any] = []
    said = {"text": "", "reasoning": ""}
    raw = ""
    open_segments: set[str] = set()
    for event in drive(pieces, reader(complaint), to_invocations(keep_segments=True)):
        match event:
            case ToolInvocation():
                calls.append((event.name, event.arguments))
            case InvocationFailed():
                calls.append((event.name, event.reason))
            case SegmentEvent():
                raw += event.raw
                if event.type == "SEGMENT_START":
                    assert event.segment_id not in open_segments
                    open_segments.add(event.segment_id)
                elif event.type == "SEGMENT_END":
                    open_segments.remove(event.segment_id)
                elif isinstance(event, SegmentContent) and event.segment_type in said:
                    said[event.segment_type] += event.delta
    assert raw == "".join(complaint.pieces)
    assert not open_segments
    return calls, said["text"], said["reasoning"]


def named(complaint: Complaint | Value) -> str:
    dialects = complaint.dialects if isinstance(complaint, Complaint) else complaint.dialect
    return f"{complaint.issues}-{dialects}".replace(", ", "+").replace(" ", "+")


@pytest.mark.laws
@looped("complaint", COMPLAINTS, ids=named)
def test_it_comes_out_right_however_the_text_is_cut(complaint: Complaint) -> None:
    text = "".join(complaint.pieces)
    expected = list(complaint.calls), complaint.text, complaint.reasoning
    assert outcome(complaint, [text]) == expected
    assert outcome(complaint, complaint.pieces) == expected
    assert outcome(complaint, list(text)) == expected
    for place in range(1, len(text), stride(5)):
        assert outcome(complaint, (text[:place], text[place:])) == expected, place


@pytest.mark.laws
@looped("complaint", COMPLAINTS, ids=named)
def test_it_comes_out_right_wherever_it_was_frozen(complaint: Complaint) -> None:
    operator = compose(reader(complaint), to_invocations())
    text = "".join(complaint.pieces)
    expected = list(drive([text], operator))
    for place in range(1, len(text), stride(5)):
        chain = stage(operator)
        before = chain.feed(text[:place])
        after = rest_of_run(operator, frozen(chain), [text[place:]])
        assert [*before, *(event for events in after for event in events)] == expected, place


LINE = "if a < b: c = d + 1; "
STRINGS = {"f": {"properties": {"a": {"type": "string"}}}}


def in_fours(text: str) -> list[str]:
    return [text[place : place + 4] for place in range(0, len(text), 4)]


@pytest.mark.parametrize("value", VALUES, ids=named)
def test_a_text_comes_while_it_arrives(value: Value) -> None:
    chain = stage(parse_text(value.dialect, tools=STRINGS, turn_id="t"))
    chain.feed(value.before)
    fed = given = ""
    late: list[int] = []
    for piece in in_fours(LINE * 20):
        fed += piece
        for event in chain.feed(piece):
            assert isinstance(event, SegmentEvent)
            given += "".join(each.value for each in event.fragments or () if each.kind == "TEXT")
        assert fed.startswith(given)
        late.append(len(fed) - len(given))
    assert max(late) <= 2  # a `<`, and a blank after it or before
    assert sum(late) <= len(late) / 5
    chain.feed(value.after)


@pytest.mark.parametrize("value", VALUES, ids=named)
def test_each_piece_of_a_text_costs_the_same(value: Value) -> None:
    def calls(lines: int) -> int:
        chain = stage(parse_text(value.dialect, tools=STRINGS, turn_id="t"))
        chain.feed(value.before)
        pieces = [*in_fours(LINE * lines), value.after]

        def read() -> None:
            for piece in pieces:
                chain.feed(piece)

        return counted(read)

    calls(20)  # what is compiled and remembered once is not counted
    few, some, many = calls(20), calls(120), calls(1120)
    assert many - some == 10 * (some - few)


MUTANTS = {
    "text loses its tail at the close": ("47137", ("operators/text/text_engine.py", '        block.ending = (how, finish)\n        source_buffer.open("", events)\n', '        block.ending = (how, finish)\n        source_buffer.wait = ""\n        source_buffer.open("", events)\n')),
    "text that may be a marker is lost": ("36691", ("operators/text/text_engine.py", "            source_buffer.wait = text[start:]\n", '            source_buffer.wait = ""\n')),
    "a call in text ends twice": ("38274", ("operators/text/source_buffer.py", "        events.append(end)\n", "        events += [end, end]\n")),
    "a call in text starts before its name": ("45678", ("operators/text/text_block.py", "starts = self.call is None and is_open and not grammar.expects_body(at)", "starts = self.call is None and not grammar.expects_body(at)")),
    "a call in text that was cut is complete": ("16888", ("operators/text/text_block.py", "is_sealed = at_rest and (", "is_sealed = True or (")),
    "the closer of reasoning that a call ended is text": ("148", ("operators/text/outside_text.py", "            self._owed = True\n", "            self._owed = False\n")),
    "a block is not resumed after a call": ("31207", ("operators/text/text_block.py", "self.outside.after_block(self.at if self.grammar.goes_on(self.at) else ())", "self.outside.after_block(())")),
    "the raw text of what came between events is dropped": ("38274", ("operators/text/source_buffer.py", '        if self.loose:\n            raw = "".join(self.loose) + raw\n', "        if self.loose:\n")),
    "a value is trimmed of more than one newline": ("59787", ("operators/text/block_text.py", 'text.removeprefix("\\n")', 'text.lstrip("\\n")')),
    "the dump forgets what waits behind the end of a text": ("frozen", ("operators/text/block_text.py", 'super().dump(), "end"', 'super().dump(), "tail": "", "end"')),
    "the closing tag of a value is part of it": ("59787", ("operators/text/block_text.py", "        stop = limit if found is None else found.start()\n", "        stop = limit if found is None else found.end()\n")),
    "blanks before text are eaten": ("56263", ("operators/text/outside_text.py", '            text = "".join(self._blanks) + text\n            self._blanks.clear()\n', "            self._blanks.clear()\n")),
    "the closer of reasoning is text of it": ("43221", ("operators/text/outside_text.py", "                self.end(open_type, upto)\n", "                self.give(open_type, marker, upto)\n                self.end(open_type, upto)\n")),
    "the dump forgets text that waits": ("frozen", ("operators/text/source_buffer.py", '"offset", "wait")', '"offset")'), ("operators/text/source_buffer.py", '"position", "since")', '"position", "since", "wait")')),
    "the dump forgets what comes before the next event": ("frozen", ("operators/text/source_buffer.py", 'PIECES = ("loose",)', "PIECES = ()"), ("operators/text/source_buffer.py", '"position", "since")', '"loose", "position", "since")')),
    "raw values have no types": ("26833", ("operators/schemas/argument_schema.py", "            return convert_to(text, self.kinds, self.rules)\n", "            return Typed(text, flagged=False)\n")),
    "a value is gone over again wherever it may end": ("costs", ("operators/text/block_text.py", "keep=not self.streams)", "keep=True)"), ("operators/text/block_text.py", "        if text:\n            self._say(text, upto - slot.held_length)\n", "        if not all(each for each in slot._kept) or text:\n            self._say(text, upto - slot.held_length)\n")),
    "an unknown tool always passes": ("17274", ("operators/text/text_block.py", "unknown = options.of_unknown(self.name, ", "unknown = TextOptions().of_unknown(self.name, ")),
}  # fmt: skip
