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

    __slots__ = (
        "_feed",
        "_given",
        "_outputs",
        "_paid",
        "_size",
        "_stage",
        "_time_ns",
        "_unexplained",
        "_withheld",
        "last_words",
    )

    def __init__(self, stage: Stage[Any, Any]) -> None:
        self._stage = stage
        self._feed = stage.feed
        self._withheld: Callable[[], Iterable[Withheld]] | None = getattr(stage, "withheld", None)
        self._unexplained = UnexplainedText()
        self._size = StateSize(stage)
        self._paid = 0
        """The items since the state was measured."""
        self._given: list[Any] = []
        self._outputs: list[Any] = []
        self._time_ns = 0
        self.last_words: list[Any] = []

    def feed(self, item: Any, /) -> list[Any]:
        outputs: list[Any] = []
        began = perf_counter_ns()
        try:
            outputs += self._feed(item)
        except Exception:
            self._fail(outputs)
            raise
        self._time_ns += perf_counter_ns() - began
        if self._withheld is None:
            self._given.append(item)
        self._outputs += outputs
        return outputs

    def close(self, how: How, /) -> list[Any]:
        outputs: list[Any] = []
        began = perf_counter_ns()
        try:
            outputs += self._stage.close(how)
        except Exception:
            self._fail(outputs)
            raise
        self._time_ns += perf_counter_ns() - began
        self._outputs += outputs
        return outputs

    def dump(self) -> Any:
        return self._stage.dump()

    def load(self, state: Any, /) -> None:
        self._stage.load(state)

    def told(self, *, is_end: bool) -> StageTrace:
        """Return what was noted since the last time; behind its end a stage withholds nothing."""
        outputs, time_ns = self._outputs, self._time_ns
        self._outputs, self._time_ns = [], 0
        withheld: Iterable[Withheld] = ()
        if is_end:
            pass
        elif self._withheld is not None:
            withheld = self._withheld()
        else:
            withheld = self._unexplained.passed(self._given, outputs)
            self._given = []
        size = self._size
        self._paid += 1
        if self._paid > size.cost or is_end:
            self._paid = 0
            size.measure()
        return StageTrace((*outputs,), (*withheld,), size.size, time_ns)

    def _fail(self, outputs: list[Any]) -> None:
        """Note what came before the exception, and what the stage leaves to be delivered."""
        self.last_words = [*outputs, *getattr(self._stage, "last_words", ())]
        self._outputs += self.last_words
