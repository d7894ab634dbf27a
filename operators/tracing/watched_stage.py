"""`WatchedStage`: a stage of which is noted what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter_ns
from typing import Any

from ..engine.stage import How, Stage
from ..engine.withheld import Withheld
from .state_size import StateSize
from .unexplained_text import UnexplainedText


class WatchedStage:
    """A stage around another one; it offers no straight way, which would pass by it.

    - `run`: the `feed` of the stage, of which nothing is noted. `tells`: its `withheld`, if it has one.
    - `given`, `outputs`, `time_ns`: what was noted for the item.
    - `size`: the size of its state; `paid`: the items since it was measured.
    """

    __slots__ = ("_stage", "given", "last_words", "outputs", "paid", "run", "size", "tells", "time_ns", "unexplained")

    def __init__(self, stage: Stage[Any, Any]) -> None:
        self._stage = stage
        self.run = stage.feed
        self.tells: Callable[[], Iterable[Withheld]] | None = getattr(stage, "withheld", None)
        self.unexplained = UnexplainedText()
        self.size = StateSize(stage)
        self.paid = 0
        self.given: Sequence[Any] = ()
        self.outputs: list[Any] = []
        self.time_ns = 0
        self.last_words: list[Any] = []

    def feed(self, item: Any, /) -> list[Any]:
        return self._noted(self.run, item)

    def close(self, how: How, /) -> list[Any]:
        return self._noted(self._stage.close, how)

    def dump(self) -> Any:
        return self._stage.dump()

    def load(self, state: Any, /) -> None:
        self._stage.load(state)

    def note_last_words(self, before: Sequence[Any] = ()) -> None:
        """Note what the stage, which has raised, leaves to be delivered; `before`: outputs that nobody has noted."""
        self.last_words = [*before, *getattr(self._stage, "last_words", ())]
        self.outputs += self.last_words

    def _noted(self, run: Callable[[Any], Iterable[Any]], argument: Any) -> list[Any]:
        outputs: list[Any] = []
        began = perf_counter_ns()
        try:
            outputs += run(argument)
        except Exception:
            self.note_last_words(outputs)
            raise
        self.time_ns += perf_counter_ns() - began
        self.outputs += outputs
        return outputs
