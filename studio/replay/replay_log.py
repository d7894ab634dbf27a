"""The log of a replay server: its requests, and how far each answer got."""

from __future__ import annotations

import threading
import time
from collections import deque
from queue import SimpleQueue
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ...events.errors import UsageError

Outcome: TypeAlias = Literal["open", "finished", "client_left", "cut", "reset", "refused", "server_stopped"]
KEPT = 1000
"""The most requests that a log keeps; the oldest are dropped first."""


class Write(NamedTuple):
    """A time of the monotonic clock, and the bytes of the body that had been passed to the network by then."""

    at: float
    bytes_sent: int


class ReplayEntry(Struct):
    """One request and its answer; of the request's content only the model's name is kept.

    - `model`: the model that the request names; `recording`, `fault`: those with which it is answered; None if there is
      none.
    - `bytes_total`: the bytes of the body as recorded; `bytes_sent`: the bytes sent, including those that a fault
      inserted; `sent`: the writes and their times.
    - `outcome`: `open` while it runs; then `finished`, `client_left` before all was sent, `cut` or `reset` by a fault,
      `refused` with the HTTP error in `status`, or `server_stopped`. Times are on the monotonic clock.
    """

    id: int
    api: str | None
    model: str | None
    recording: str | None
    fault: str | None
    status: int
    bytes_total: int
    began_at: float
    bytes_sent: int = 0
    sent: list[Write] = field(default_factory=list[Write])
    outcome: Outcome = "open"
    ended_at: float | None = None


class ReplayLog:
    """The entries of a server, written by its thread and read by any thread."""

    def __init__(self) -> None:
        self._entries: deque[ReplayEntry] = deque(maxlen=KEPT)
        self._changed = threading.Condition()
        self._requests = 0
        self._followers: list[SimpleQueue[ReplayEntry]] = []

    def begin(
        self,
        *,
        api: str | None = None,
        model: str | None = None,
        recording: str | None = None,
        fault: str | None = None,
        status: int = 200,
        bytes_total: int = 0,
    ) -> ReplayEntry:
        """Add an entry; an entry with the status of a refusal has ended at once."""
        with self._changed:
            self._requests += 1
            now = time.monotonic()
            entry = ReplayEntry(self._requests, api, model or None, recording, fault, status, bytes_total, now)
            if status >= 400:
                entry.outcome, entry.ended_at = "refused", now
            self._entries.append(entry)
            self._tell(entry)
        return entry

    def sent(self, entry: ReplayEntry, size: int) -> None:
        with self._changed:
            entry.bytes_sent += size
            entry.sent.append(Write(time.monotonic(), entry.bytes_sent))
            self._changed.notify_all()

    def end(self, entry: ReplayEntry, outcome: Outcome) -> None:
        with self._changed:
            entry.outcome, entry.ended_at = outcome, time.monotonic()
            self._tell(entry)

    def entries(self) -> list[ReplayEntry]:
        """Return a copy of the entries."""
        with self._changed:
            return [_copy(entry) for entry in self._entries]

    def json(self) -> bytes:
        with self._changed:
            return msgspec.json.encode({"requests": list(self._entries)})

    def follow(self) -> SimpleQueue[ReplayEntry]:
        """Return a queue that from now on receives each entry twice: when it begins, and when it has ended."""
        queue: SimpleQueue[ReplayEntry] = SimpleQueue()
        with self._changed:
            self._followers.append(queue)
        return queue

    def wait_for(
        self,
        outcome: Outcome | None = None,
        *,
        request: int | None = None,
        bytes_sent: int = 0,
        timeout: float = 20.0,
    ) -> ReplayEntry:
        """Wait for the first entry that matches; `UsageError` after `timeout` seconds."""

        def found() -> ReplayEntry | None:
            for entry in self._entries:
                if outcome in (None, entry.outcome) and request in (None, entry.id) and entry.bytes_sent >= bytes_sent:
                    return entry
            return None

        with self._changed:
            entry = self._changed.wait_for(found, timeout)
            if entry is not None:
                return _copy(entry)
            there = [f"{each.id} {each.outcome} after {each.bytes_sent} bytes" for each in self._entries]
        wanted = f"request {request or 'any'}, {outcome or 'any outcome'}, {bytes_sent} bytes"
        message = f"no such entry within {timeout} s: {wanted}; the log has {', '.join(there) or 'nothing'}"
        raise UsageError(message)

    def _tell(self, entry: ReplayEntry) -> None:
        for queue in self._followers:
            queue.put(_copy(entry))
        self._changed.notify_all()


def _copy(entry: ReplayEntry) -> ReplayEntry:
    return replace(entry, sent=list(entry.sent))
