"""`trace_frame`: a trace as a data frame, with a row for each item and stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ...events.frames.data_frame import Columns, data_frame
from .traced_chain import TracedItem

COLUMNS: Final[Columns] = {
    "number": int,
    "t_ns": int,
    "item": str,
    "stage": int,
    "operator": str,
    "outputs": int,
    "output": str,
    "withheld": str,
    "reason": str,
    "could_become": str,
    "state_size": int,
    "time_ns": int,
    "ended": str,
}
_LONGEST: Final = 200
"""The most characters of an item, and of an output."""


def trace_frame(items: Iterable[TracedItem], labels: tuple[str, ...], library: str | None) -> Any:
    """Return a data frame of pandas or polars."""
    return data_frame(COLUMNS, _rows(items, labels), library)


def _rows(items: Iterable[TracedItem], labels: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    for each in items:
        ended = None if each.ended is None else type(each.ended).__name__.lower()
        item = None if each.item is None else _short(each.item)
        for stage, (label, done) in enumerate(zip(labels, each.stages, strict=True)):
            withheld = done.withheld
            yield (
                each.number,
                each.t_ns,
                item,
                stage,
                label,
                len(done.outputs),
                "\n".join(map(_short, done.outputs)) or None,
                "".join(one.text for one in withheld) or None,
                "\n".join(one.reason for one in withheld) or None,
                "\n".join(text for one in withheld for text in one.could_become) or None,
                done.state_size,
                done.time_ns,
                ended,
            )


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
