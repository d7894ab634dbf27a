"""The demo: a recorded answer, played by a server on this machine through the real SDK at a human pace."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..events.segment_event import SegmentEvent
from ..sources.from_openai_chat import from_openai_chat
from ..sources.loopback_server import LogEntry, LoopbackServer
from .loopback_sdks import loopback_chat
from .strategies import StrategyEvent, api_tool_call

STREAM = Path(__file__).with_name("demo_stream.sse")
WATCHED = "write_file"


class Proof(NamedTuple):
    """How early the file's first characters were out: read from the server's log, not from ours.

    `sent`: bytes that had left the server by then, the piece that was on its way included. `total`: of the whole
    answer. `ahead`: seconds from there to the last piece.
    """

    sent: int
    total: int
    ahead: float

    @property
    def holds(self) -> bool:
        return self.sent < self.total and self.ahead > 0

    def __str__(self) -> str:
        out = f"first CONTENT of {WATCHED} was out after {self.sent:,} of {self.total:,} bytes sent"
        if not self.holds:
            return f"{out}: not before the last one"
        return f"{out},\n{self.ahead:.2f} s before the last one"


def play(show: Callable[[StrategyEvent], None], *, seconds: float) -> Proof:
    """Play the answer, give each event to `show`, and at the end what the server's log proves.

    `seconds`: how long the answer takes; with 0 the server sends each piece when the one before has been read.
    """
    body = STREAM.read_bytes()
    pieces = [len(event) for event in re.findall(rb".+?\n\n", body, re.DOTALL)]
    first_content: list[float] = []
    failures: list[Exception] = []

    def take(event: StrategyEvent) -> None:
        if isinstance(event, SegmentEvent) and event.type == "SEGMENT_CONTENT" and event.segment_type == WATCHED:
            first_content[:1] = first_content[:1] or [time.monotonic()]
        show(event)

    with (
        LoopbackServer(body, pieces=pieces, gated=not seconds, pace=seconds / len(pieces)) as server,
        loopback_chat(server.url) as start,
    ):
        answer = start if seconds else lambda: _one_by_one(start, server)
        from_openai_chat(answer).pipe(api_tool_call()).subscribe(take, failures.append)
        for failure in failures:
            raise failure
        server.wait_for("sent", number=len(body))
        return _proof(server.log, first_content[0])


def _one_by_one(start: Callable[[], Any], server: LoopbackServer) -> Iterator[Any]:
    """Read the stream and allow the next piece only when the last one has been worked through."""
    server.allow()
    with start() as stream:
        for chunk in stream:
            yield chunk
            server.allow()


def _proof(log: list[LogEntry], at: float) -> Proof:
    pieces = [entry for entry in log if entry.kind == "sent"]
    last = pieces[-1]
    # A piece is in the log once it has gone: the one on its way at that moment counts as sent.
    sent = next((entry.number for entry in pieces if entry.at >= at), last.number)
    return Proof(sent, last.number, last.at - at)
