"""A line for each event says what matters and moves no terminal."""

from __future__ import annotations

from typing import Any

from looped import looped

from penstock.events import (
    ChunkResponse,
    InvocationFailed,
    Notice,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallArgumentProgress,
    ToolCallDelta,
    ToolCallUpdate,
    ToolInvocation,
)
from penstock.events.chunk_response import TokenUsage
from penstock.events.segment_event import Fragment
from penstock.studio.cli.cli_parts import json_line
from penstock.studio.reading.play_recording import short_line


@looped(
    "event, line",
    [
        (ChunkResponse(content="Hi", reasoning="so"), "reasoning='so' content='Hi'"),
        (ChunkResponse(), "-"),
        (ChunkResponse(choice=1, refusal="No"), "choice=1 refusal='No'"),
        (ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "f", "{}", done=True),)), "[call 0 f c '{}' done]"),
        (ChunkResponse(finish_reason="stop", usage=TokenUsage(3, 4)), "finish=stop tokens=3+4"),
        (ChunkResponse(image_urls=("http://x/y",)), "media=http://x/y"),
        (ChunkResponse(error={"detail": "e"}, raw=({"a": 1},)), "error={'detail': 'e'} raw={'a': 1}"),
        (SegmentStart("s", "write_file", {"path": "a"}), "START write_file s path='a'"),
        (SegmentContent("s", None, "x\n"), "CONTENT - s 'x\\n'"),
        (SegmentEnd("s", "text", "failed", "limit"), "END text s failed limit"),
        (ToolCallArgumentProgress("c", "f", Fragment(("a", 0), "TEXT", "x")), "f c $.a[0] TEXT 'x'"),
        (ToolCallArgumentProgress("c", "f", Fragment((), "SCALAR", None)), "f c $ SCALAR None"),
        (ToolCallArgumentProgress("c", "f", Fragment((), "DONE")), "f c $ DONE"),
        (ToolCallUpdate("c", "f", "{", is_complete=False), "f c '{'"),
        (ToolCallUpdate("c", "f", "", is_complete=True, status="truncated"), "f c truncated"),
        (ToolInvocation("c", name="f", arguments={"a": 1}), "→ f(a=1)"),
        (InvocationFailed("c", name="f", reason="truncated"), "✗ f is not run: truncated"),
        (Notice("n", "look"), "! look"),
        (Fragment(("a",), "OPEN", "{"), "{'type': 'FRAGMENT', 'path': ['a'], 'kind': 'OPEN', 'value': '{', 'at': 0}"),
    ],
)
def test_each_event_has_its_line(event: Any, line: str) -> None:
    assert short_line(event) == line


def test_nothing_in_an_event_moves_the_terminal_and_long_texts_are_cut() -> None:
    evil = "a\x1b[2J\x9b\r\n\u202e\x7f"
    for event in (
        ChunkResponse(content=evil),
        SegmentStart(evil, evil, {evil: evil}),
        ToolCallUpdate(evil, evil, evil, is_complete=False),
        ToolInvocation(evil, name=evil, arguments={evil: evil}),
    ):
        assert short_line(event).isprintable()
        assert json_line(event).isascii()
        assert json_line(event).isprintable()
    assert len(short_line(ChunkResponse(content="x" * 10_000))) < 120
