"""`aggregate_fragments`: join fragments to whole values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from ..events.errors import UsageError
from ..events.segment_event import Fragment, JsonError, Path
from .engine.public_operator import public_operator
from .engine.stage import How, Operator, lift
from .engine.state import Stateful
from .engine.withheld import Withheld, tail_of
from .machines.json_values import FragmentAggregator


class PathValue(NamedTuple):
    """A value and its path."""

    path: Path
    value: Any


@public_operator
def aggregate_fragments(depth: int = 0) -> Operator[Fragment | JsonError, Any]:
    """Emit each value at one depth when it is complete: 0 for the whole, 1 for each argument of a call.

        source                        --a--------b----------|
        json_fragments()              --(O,s,d)--(o,t,e,D)--|
        aggregate_fragments(depth=1)  --p--------q----------|
        where a = '{"a": 1, '
              b = '"b": "x"}'
              O = Fragment((), "OPEN", "{")
              s = Fragment(("a",), "SCALAR", 1)
              d = Fragment(("a",), "DONE")
              o = Fragment(("b",), "OPEN", '"')
              t = Fragment(("b",), "TEXT", "x")
              e = Fragment(("b",), "DONE")
              D = Fragment((), "DONE")
              p = PathValue(("a",), 1)
              q = PathValue(("b",), "x")

    >>> from penstock.operators import drive, json_fragments
    >>> for path, value in drive(['{"a": 1, "b', '": ["x"]}'], json_fragments(), aggregate_fragments(depth=1)):
    ...     print(path, value)
    ('a',) 1
    ('b',) ['x']

    At depth 0 the value itself is emitted, at a greater depth `PathValue(path, value)`. If a key is repeated inside a
    value, the last one counts; if it is repeated at the depth itself, each value is emitted. A `JsonError` passes
    through; a value that is never complete is not emitted. A negative depth raises `UsageError`.
    """
    if depth < 0:
        message = f"aggregate_fragments(depth=...) must be at least 0, got {depth}"
        raise UsageError(message)
    return lift(partial(_AggregateFragments, depth))


class _AggregateFragments(Stateful):
    STATE = ("_aggregator", "_inside")

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._aggregator = FragmentAggregator()
        self._inside = False
        """Whether the fragments now arriving are of a value at the wanted depth."""

    def feed(self, item: Fragment | JsonError) -> Sequence[Any]:
        if isinstance(item, JsonError):
            return (item,)
        aggregator = self._aggregator
        if not self._inside:
            if len(item.path) != self._depth:
                return ()
            self._inside = True
        aggregator.feed(item)
        if not aggregator.done:
            return ()
        self._inside = False
        value, aggregator.value = aggregator.value, None
        return (PathValue(aggregator.path, value),) if self._depth else (value,)

    def withheld(self) -> Sequence[Withheld]:
        text = tail_of(self._aggregator.text.last_pieces) if self._inside else ""
        return (Withheld(text, "the value is emitted when it is whole"),) if text else ()

    def close(self, how: How) -> Sequence[Any]:  # noqa: ARG002 - nothing depends on it
        return ()
