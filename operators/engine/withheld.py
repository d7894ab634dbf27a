"""`Withheld`: text that a stage keeps back for the moment, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from msgspec import Struct

MOST: Final = 1000
"""The most characters of a withheld text that are told."""


class Withheld(Struct, frozen=True):
    """Text that came in and has not gone on yet.

    - `text`: what is withheld; of more than 1,000 characters the last ones, behind a `…`.
    - `reason`: why, as a sentence.
    - `could_become`: what the text may still turn out to be: texts that begin with it, up to the end of a marker, a
      tool's name or a key. Of many possible ones it has some. It is empty if the text is withheld whatever it may be,
      or if it may be any, as the reason then says.
    - `segment_id`: the segment to which the text belongs, if it is known.
    - `in_raw`: whether the text has gone on in the `raw` of an event, and only what it means is kept back.
    """

    text: str
    reason: str
    could_become: tuple[str, ...] = ()
    segment_id: str | None = None
    in_raw: bool = False


def tail_of(pieces: Sequence[str]) -> str:
    """Return a text in pieces, as far as `Withheld` has it; the work does not grow with the text.

    >>> tail_of(["a", "b"]), len(tail_of(["a" * 2000]))
    ('ab', 1001)
    """
    text = "".join(pieces[-MOST:])
    return "…" + text[-MOST:] if text[MOST:] else text


class Holding(Protocol):
    """What can tell a text of which nothing has gone on, why, and what it may become; an empty text if all has.

    `keys` are those that the open object is known to have.
    """

    def held(self, keys: Iterable[str] = ()) -> tuple[str, str, tuple[str, ...]]: ...


def held_by(
    machine: Holding | None, segment_id: str | None = None, keys: Iterable[str] = (), *, in_raw: bool = False
) -> Sequence[Withheld]:
    """Return the text of which a machine of JSON or of code has returned no fragment, with its reason.

    >>> from penstock.operators.machines.json_machine import JsonMachine
    >>> machine = JsonMachine()
    >>> _ = machine.feed("[tr")
    >>> held_by(machine)[0].text, held_by(machine)[0].could_become
    ('tr', ('true',))
    """
    if machine is None:
        return ()
    text, reason, could_become = machine.held(keys)
    return (Withheld(tail_of((text,)), reason, could_become, segment_id, in_raw),) if text else ()


def withheld_by(part: Any) -> Iterable[Withheld]:
    """Return what a stage withholds; nothing if it does not say it."""
    told = getattr(part, "withheld", None)
    return () if told is None else told()
