"""`json_fragments`: parse JSON text in pieces to fragments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..events.segment_event import Fragment, JsonError
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import Completed, How, Operator, lift
from .engine.withheld import Withheld, held_by
from .machines.json_machine import JsonMachine


@public_operator
def json_fragments(*, limits: Limits = DEFAULT_LIMITS) -> Operator[str, Fragment | JsonError]:
    """Emit the pieces of a JSON value as they arrive.

        source            --a--------b--------|
        json_fragments()  --(O,o,h)--(i,d,D)--|
        where a = '{"x": "h'
              b = 'i"}'
              O = Fragment((), "OPEN", "{")
              o = Fragment(("x",), "OPEN", '"')
              h = Fragment(("x",), "TEXT", "h")
              i = Fragment(("x",), "TEXT", "i")
              d = Fragment(("x",), "DONE")
              D = Fragment((), "DONE")

    >>> from penstock.operators import drive
    >>> [(piece.path, piece.kind, piece.value) for piece in drive(["[tr", "ue]"], json_fragments())]
    [((), 'OPEN', '['), ((0,), 'SCALAR', True), ((0,), 'DONE', None), ((), 'DONE', None)]

    The root may be any value, strictly by RFC 8259; a lone surrogate becomes U+FFFD. `Fragment.at` counts characters of
    the text. A text that is not JSON, exceeds `limits` or stops early ends with one `JsonError`; text after it is
    ignored.
    """
    return lift(partial(_JsonFragments, limits))


class _JsonFragments:
    def __init__(self, limits: Limits) -> None:
        self._machine = machine = JsonMachine(limits)
        self.feed = machine.feed
        self.dump = machine.dump
        self.load = machine.load

    def withheld(self) -> Sequence[Withheld]:
        return held_by(self._machine)

    def close(self, how: How) -> Sequence[Fragment | JsonError]:
        return self._machine.close(cut=not isinstance(how, Completed))
