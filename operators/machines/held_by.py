"""`held_by`: what a machine of JSON or of code withholds."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.withheld import Withheld, tail_of
from .value_machine import ValueMachine


def held_by(machine: ValueMachine | None, segment_id: str | None = None, *, in_raw: bool = False) -> Sequence[Withheld]:
    """Return the text of which no fragment has been returned, with its reason.

    >>> from penstock.operators.machines.json_machine import JsonMachine
    >>> machine = JsonMachine()
    >>> _ = machine.feed("[tr")
    >>> held_by(machine)[0].text, held_by(machine)[0].could_become
    ('tr', ('true',))
    """
    if machine is None:
        return ()
    text, reason, could_become = machine.held()
    return (Withheld(tail_of((text,)), reason, could_become, segment_id, in_raw),) if text else ()
