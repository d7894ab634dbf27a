"""Python's literals as JSON values, for models that write `True`, `None` and single quotes where JSON was due."""

from __future__ import annotations

from typing import Any

from ...events.fragment import Fragment
from ..engine.limits import DEFAULT_LIMITS, Limits
from .fragment_aggregator import FragmentAggregator
from .literal_machine import LiteralMachine


def python_literal(text: str, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Return the value of a Python literal, None for anything else. Never raises.

    >>> python_literal("{'a': [True, None], 'b': (1, 2)}"), python_literal("f(x)")
    ({'a': [True, None], 'b': [1, 2]}, None)

    Literals are read by the machine that also reads the arguments of calls written as code.
    """
    machine, values = LiteralMachine(limits=limits), FragmentAggregator()
    for piece in (*machine.feed("(value="), *machine.feed(text), *machine.feed(")"), *machine.close()):
        if not isinstance(piece, Fragment):
            return None
        values.feed(piece)
    # A text such as `1, b=2` is more than one value.
    return values.value["value"] if len(values.value) == 1 else None
