"""`WatchedStage`: a stage that notes what it is given and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter_ns
from typing import Any

from ..engine.stage import How, Stage
from ..engine.withheld import Withheld
from .state_size import StateSize
from .traced_item import StageTrace
from .unexplained_text import UnexplainedText


class WatchedStage:
    """A stage around another one; it offers no straight way, which would pass by it."""

    __slots__ = ("_given", "_outputs", "_size", "_stage", "_time_ns", "_unexplained", "_withheld", "last_words")

    def __init__(self, stage: Stage[Any, Any]) -> None:
        self._stage = stage
        self._withheld: Callable[[], Iterable[Withheld]] | None = getattr(stage, "withheld", None)
        self._unexplained = UnexplainedText()
        self._size = StateSize(stage)
        self._given: list[Any] = []
        self._outputs: list[Any] = []
        self._time_ns = 0
        self.last_words: list[Any] = []

    def feed(self, item: Any, /) -> list[Any]:
        self._given.append(item)
        return self._returned(self._stage.feed, item)

    def close(self, how: How, /) -> list[Any]:
        return self._returned(self._stage.close, how)

    def dump(self) -> Any:
        return self._stage.dump()

    def load(self, state: Any, /) -> None:
        self._stage.load(state)

    def told(self, *, is_end: bool) -> StageTrace:
        """Return what was noted since the last time; behind its end a stage withholds nothing."""
        given, outputs, time_ns = self._given, self._outputs, self._time_ns
        self._given, self._outputs, self._time_ns = [], [], 0
        withheld: Iterable[Withheld] = ()
        if not is_end:
            withheld = self._unexplained.passed(given, outputs) if self._withheld is None else self._withheld()
        return StageTrace(tuple(outputs), tuple(withheld), self._size.measured(), time_ns)

    def _returned(self, run: Callable[[Any], Iterable[Any]], argument: Any) -> list[Any]:
        outputs: list[Any] = []
        began = perf_counter_ns()
        try:
            outputs += run(argument)
        except Exception:
            self.last_words = outputs = [*outputs, *getattr(self._stage, "last_words", ())]
            raise
        finally:
            self._time_ns += perf_counter_ns() - began
            self._outputs += outputs
        return outputs
