"""`Player`: replay a recorded body, or stored events, at a pace, for `penstock replay`."""

from __future__ import annotations

from collections.abc import Generator
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from ...events.chunk_response import ChunkResponse
from ...events.errors import ProviderError
from ...operators.engine.stage import Completed, Interrupted, Operator, StageChain, stage
from ...sources.decode_wire import decode_wire
from ...sources.replay.replay_pieces import Chunk, Pace, pieces_of, split_events
from ..pipeline import Pipeline
from .emitted import Emit, made_behind, only
from .recorded import Recorded


class Player:
    """Replays a recording once; `stop` ends it in order, even while it waits for the next piece.

    `pace`: as with `ReplayServer`; `chunk`: the bytes given at a time, an event unless said.
    """

    def __init__(self, recorded: Recorded, *, pace: Pace = "instant", chunk: Chunk | None = None) -> None:
        self._recorded = recorded
        self._pace: Pace = pace
        self._chunk: Chunk | None = chunk
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
        events = self._through(stage(*operators)) if operators else self._stored()
        return only(events, emit)

    def _operators(self, strategy: str, emit: Emit | None) -> list[Operator[Any, Any]]:
        events, operators = self._recorded.events, list[Operator[Any, Any]]()
        if not events:
            operators.append(decode_wire(self._recorded.api, choices="all"))
        if emit != "deltas" and (not events or isinstance(events[0], ChunkResponse)):
            operators.append(Pipeline(strategy).operator)  # with the options of the environment
        return [*operators, *made_behind(emit)]

    def _through(self, chain: StageChain[Any, Any]) -> Generator[Any, None, None]:
        items = self._stored() if self._recorded.events else self._pieces()
        how: Completed | Interrupted = Completed()
        try:
            for item in items:
                yield from chain.feed(item)
            if not self._stops.empty():
                how = Interrupted(self._reason)
            yield from chain.close(how)
        except ProviderError:
            yield from chain.last_words
            raise

    def _stored(self) -> Generator[Any, None, None]:
        seconds = self._pace if isinstance(self._pace, float) else 0.0
        for event in self._recorded.events:
            if self._is_stopped_within(seconds):
                return
            yield event

    def _pieces(self) -> Generator[bytes, None, None]:
        recorded = self._recorded
        pieces = pieces_of(split_events(recorded.body), pace=self._pace, chunk=self._chunk, timing=recorded.timing)
        due = monotonic()
        for piece in pieces:
            due += piece.delay  # by the clock, so that what one wait takes too long the next ones make up for
            if self._is_stopped_within(max(0.0, due - monotonic()) if piece.delay else 0.0):
                return
            yield piece.data

    def _is_stopped_within(self, seconds: float) -> bool:
        if not seconds:
            return not self._stops.empty()
        try:
            self._stops.get(timeout=seconds)
        except Empty:
            return False
        self._stops.put(None)
        return True
