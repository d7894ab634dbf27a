"""The demo: a server on this machine replays recorded answers through the real SDKs at a human pace."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ...events.errors import install_command
from ...events.segment_event import SegmentContent, SegmentStart
from ...pipeline.pipeline import Pipeline
from ...sinks.running.sink import SyncSink
from ..replay.replay_log import Write
from ..replay.replay_pieces import split_events
from ..replay.replay_recordings import Recordings
from ..replay.replay_server import ReplayServer
from ..run_provider import loopback

WATCHED = "write_file"


class DemoAnswer(NamedTuple):
    """A recorded answer, and the API whose SDK plays it; `note`: why it is this one."""

    api: str
    title: str
    file: str
    note: str = ""

    @property
    def body(self) -> bytes:
        return (Path(__file__).parent / self.file).read_bytes()

    @property
    def events(self) -> int:
        return len(split_events(self.body))


CHAT = DemoAnswer("openai-chat", "openai, Chat Completions", "demo_stream.sse")
ANTHROPIC = DemoAnswer("anthropic-messages", "anthropic, Messages", "demo_anthropic.sse")
GEMINI = DemoAnswer("gemini", "google-genai, streamed function calls", "demo_gemini.sse")
RESPONSES = DemoAnswer(
    "openai-responses",
    "openai, Responses",
    "demo_responses.sse",
    f"in place of google-genai: {install_command('gemini')}",
)


class Proof(NamedTuple):
    """How early a file's first characters were shown, as measured from the server's log.

    `sent`: the bytes that the server had sent by then, including the current piece. `total`: the bytes of the whole
    answer. `ahead`: seconds from then to the last piece.
    """

    path: str
    sent: int
    total: int
    ahead: float

    @property
    def holds(self) -> bool:
        return self.sent < self.total and self.ahead > 0

    def __str__(self) -> str:
        out = f"{self.path:<20}  after {self.sent:,} of {self.total:,} bytes"
        return f"{out}, {self.ahead:.2f} s before the last" if self.holds else f"{out}: not before the last"


class _First(NamedTuple):
    path: str
    at: float


def answers() -> tuple[DemoAnswer, ...]:
    """Return the answers for the installed SDKs, always three."""
    return CHAT, ANTHROPIC, GEMINI if _is_installed("google.genai") else RESPONSES


def play(answer: DemoAnswer, show: SyncSink[Any], *, seconds: float) -> Proof:
    """Replay an answer, pass its events to `show`, and return what the server's log shows.

    `seconds`: how long the answer takes; with 0 the server sends each piece when the one before has been read.
    """
    body = answer.body
    first: list[_First] = []
    server = ReplayServer(Recordings({answer.file: body}, answer.api), pace=seconds / answer.events)
    with (
        server if seconds else server.gated(),
        loopback(answer.api, server.url) as start,
        closing(start() if seconds else _one_by_one(start, server)) as stream,
        Pipeline("api_tool_call").stream(stream) as events,
    ):
        show(_watched(events, first))
        return _proof(server.wait_for(bytes_sent=len(body)).sent, first[0])


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def _watched(events: Iterable[Any], first: list[_First]) -> Iterator[Any]:
    """Record when the first content of the first file is shown."""
    path = ""
    for event in events:
        if isinstance(event, SegmentStart) and event.segment_type == WATCHED and not first:
            path = event.metadata.get("path", path)
        if isinstance(event, SegmentContent) and event.segment_type == WATCHED and not first:
            first.append(_First(path, time.monotonic()))
        yield event


def _one_by_one(start: Callable[[], Any], server: ReplayServer) -> Generator[Any, None, None]:
    """Read the stream, and let the server send the next piece when the last one has been processed."""
    server.allow()
    with closing(start()) as stream:
        for chunk in stream:
            yield chunk
            server.allow()


def _proof(writes: list[Write], first: _First) -> Proof:
    last = writes[-1]
    # A piece is in the log once it has gone: the one on its way at that moment counts as sent.
    sent = next((write.bytes_sent for write in writes if write.at >= first.at), last.bytes_sent)
    return Proof(first.path, sent, last.bytes_sent, last.at - first.at)
