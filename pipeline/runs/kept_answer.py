"""`KeptAnswer`: what a run keeps of its events, for its `answer`."""

from __future__ import annotations

from typing import Any

from ...events.errors import UsageError
from ...sinks.collect import Collector
from ..answers.answer import Answer


class KeptAnswer:
    """Collects the events of one stream, unless the pipeline was asked not to keep them."""

    __slots__ = ("_answer", "_collector")

    def __init__(self, *, keeps: bool) -> None:
        self._collector: Collector[Any] | None = Collector(keep_events=False) if keeps else None
        self._answer: Answer | None = None

    def feed(self, event: Any) -> None:
        if self._collector is not None:
            self._collector.feed(event)

    def answer(self, *, is_over: bool) -> Answer:
        """Return the answer; `UsageError` if it is not over, or was not kept."""
        if self._collector is None:
            message = "this pipeline does not keep its answers; make it with keep_answer=True"
            raise UsageError(message)
        if not is_over:
            message = "the answer is there once the loop over this run has ended; read it to the end, or close the run"
            raise UsageError(message)
        if self._answer is None:
            self._answer = Answer(self._collector.close())
        return self._answer
