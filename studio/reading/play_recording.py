"""`Player`: replay what a file holds, at a pace, for `penstock replay`."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from ...events.chunk_response import ChunkResponse
from ...events.errors import ProviderError, UsageError
from ...operators.engine.stage import Completed, Failed, How, Interrupted, Operator, StageChain, stage
from ...pipeline.pipeline import Pipeline
from ...sources.from_stream import decode_sdk
from ...sources.from_wire import decode_wire
from ..recordings.read_recording import TimedItem
from ..recordings.timed_replay import recut
from .event_lines import Emit, made_behind, only
from .recorded import Recorded

LONGEST_WAIT = 86400.0
"""The seconds of one wait; the system cannot wait a million years at once."""


class Player:
    """Replays what a file holds once; `stop` ends it in order, even while it waits for the next item.

    `speed`: 1.0 for the recorded times, 2.0 for twice as fast, None for none. `every`: the seconds before each item
    instead. `chunk`: the bytes of an item, by default as recorded; `UsageError` where no bytes were recorded.
    """

    def __init__(
        self, recorded: Recorded, *, speed: float | None = None, every: float = 0.0, chunk: int | None = None
    ) -> None:
        self._recorded = recorded
        self._speed = speed
        self._every = every
        self._items: Sequence[TimedItem] = recorded.items if chunk is None else _recut(recorded, chunk)
        self._stops: SimpleQueue[None] = SimpleQueue()
        """Not an `Event`, whose `set` in a signal handler may wait for the lock of the `wait` that it interrupts."""
        self._reason = ""

    def stop(self, reason: str) -> None:
        """End open segments as interrupted; may be called in a signal handler."""
        self._reason = reason
        self._stops.put(None)

    def play(self, strategy: str, emit: Emit | None = None) -> Generator[Any, None, None]:
        """Return the strategy's events, or those of one kind; "deltas" are the chunks that the strategy gets."""
        operators = self._operators(strategy, emit)
        return only(self._through(stage(*operators)) if operators else self._paced(), emit)

    def _operators(self, strategy: str, emit: Emit | None) -> list[Operator[Any, Any]]:
        operators: list[Operator[Any, Any]] = decoders(self._recorded)
        if emit != "deltas" and (operators or isinstance(self._recorded.items[0].item, ChunkResponse)):
            operators.append(Pipeline(strategy).operator)  # with the options of the environment
        return [*operators, *made_behind(emit)]

    def _through(self, chain: StageChain[Any, Any]) -> Generator[Any, None, None]:
        how: How = Completed()
        try:
            for item in self._paced():
                yield from chain.feed(item)
            error = self._recorded.error
            if not self._stops.empty():
                how = Interrupted(self._reason)
            elif error is not None:
                how = Failed(error)
            yield from chain.close(how)
        except ProviderError:
            yield from chain.last_words
            raise
        if isinstance(how, Failed):
            raise how.error

    def _paced(self) -> Generator[Any, None, None]:
        begun = monotonic()
        for number, (at, item) in enumerate(self._items, 1):
            if self._is_stopped_by(begun, at, number):
                return
            yield item
        self._is_stopped_by(begun, self._recorded.ends_at, len(self._items))

    def _is_stopped_by(self, begun: float, at: float, number: int) -> bool:
        due = at / self._speed if self._speed is not None else number * self._every
        # By the clock, so that what one wait takes too long the next ones make up for.
        while due and begun + due - monotonic() > LONGEST_WAIT:
            if self._is_stopped_within(LONGEST_WAIT):
                return True
        return self._is_stopped_within(max(0.0, begun + due - monotonic()) if due else 0.0)

    def _is_stopped_within(self, seconds: float) -> bool:
        if not seconds:
            return not self._stops.empty()
        try:
            self._stops.get(timeout=seconds)
        except Empty:
            return False
        self._stops.put(None)
        return True


def decoders(recorded: Recorded) -> list[Operator[Any, Any]]:
    """Return the operator that makes ChunkResponses of a file's items, of all choices; none for stored events."""
    match recorded.kind:
        case "wire":
            return [decode_wire(recorded.api or "", choices="all")]
        case "items":
            return [decode_sdk(recorded.api, choices="all")]
        case "events":
            return []


def _recut(recorded: Recorded, chunk: int) -> list[TimedItem]:
    if recorded.kind != "wire":
        message = "--chunk cuts bytes, and this file has none; leave it out"
        raise UsageError(message)
    return recut(recorded.items, chunk)
