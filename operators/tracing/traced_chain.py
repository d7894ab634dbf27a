"""`TracedChain`: a chain that notes what each of its stages does."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter_ns
from typing import Any

from ..engine.stage import Stage, StageChain
from ..engine.withheld import Withheld
from .traced_item import StageTrace
from .watched_stage import WatchedStage


class TracedChain(StageChain[Any, Any]):
    """A chain that goes from stage to stage, never the straight way; both have the same results."""

    __slots__ = ("_watched",)

    def __init__(self, stages: list[Stage[Any, Any]]) -> None:
        self._watched = [WatchedStage(each) for each in stages]
        super().__init__([*self._watched])

    def feed(self, item: Any) -> list[Any]:
        given = [item]
        number = 0
        began = perf_counter_ns()
        try:
            for watched in self._watched:
                number += 1
                watched.given = given
                outputs = watched.outputs = []
                run = watched.run
                for each in given:
                    outputs += run(each)
                ended = perf_counter_ns()
                watched.time_ns = ended - began
                began, given = ended, outputs
        except Exception as error:
            raised = self._watched[number - 1]
            before = [*raised.outputs]
            raised.note_last_words()
            self._fail(error, number, before, ())
            raise
        return [*given]

    def stage_traces(self, *, is_end: bool) -> tuple[StageTrace, ...]:
        """Return what was noted since the last time; behind its end a stage withholds nothing."""
        traces: list[StageTrace] = []
        for watched in self._watched:
            outputs, time_ns = watched.outputs, watched.time_ns
            withheld: Iterable[Withheld] = ()
            if is_end:
                watched.paid = watched.size.cost
            elif watched.tells is not None:
                withheld = watched.tells()
            else:
                withheld = watched.unexplained.passed(watched.given, outputs)
            watched.paid += 1
            if watched.paid > watched.size.cost:
                watched.paid = 0
                watched.size.measure()
            traces += (StageTrace((*outputs,), (*withheld,), watched.size.size, time_ns),)
            watched.outputs, watched.time_ns = [], 0
        return (*traces,)
