"""`diagram_of_trace`: a lane for the input of a traced chain, and one for each operator or each segment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from ...events.segment_event import SegmentEvent, SegmentStart
from ..engine.stage import How
from ..engine.withheld import Withheld
from ..tracing.trace import Trace
from ..tracing.traced_item import TracedItem
from .drawing.diagram import MOST_COLUMNS, Diagram, Held, Lane
from .drawing.svg import one_line
from .lane_of import band_label, lane_of

By: TypeAlias = Literal["operator", "segment"]
FEW = 5
_REST = "everything else"


def diagram_of_trace(trace: Trace, by: By, title: str) -> Diagram:
    """Return the lanes of a trace: the input, then one for each operator, or one for each segment."""
    known: dict[str, str] = {}
    items = trace.items
    ended = next(((column, each.ended) for column, each in enumerate(items) if each.ended is not None), None)
    source = ((column, each.item) for column, each in enumerate(items) if each.ended is None or each.item is not None)
    is_long = len(items) > MOST_COLUMNS
    lanes = [lane_of("source", source, ended, is_long=is_long)]
    if by == "operator":
        lanes += [
            lane_of(name, _outputs(items, number), ended, _held(items, number), known, is_long=is_long)
            for number, name in enumerate(trace.stages)
        ]
    else:
        lanes += _by_segment(trace, ended)
    note = f"{trace.dropped:,} later items are not drawn" if trace.dropped else ""
    return Diagram(title, tuple(lanes), len(items), _times(items), "s", note)


def _outputs(items: Sequence[TracedItem], number: int) -> Iterator[tuple[int, Any]]:
    return ((column, output) for column, each in enumerate(items) for output in each.stages[number].outputs)


def _held(items: Sequence[TracedItem], number: int) -> Iterator[Held]:
    for column, each in enumerate(items):
        for withheld in each.stages[number].withheld:
            yield _held_of(column, withheld, is_long=len(items) > MOST_COLUMNS)


def _held_of(column: int, withheld: Withheld, *, is_long: bool) -> Held:
    if is_long:
        return Held(column, withheld.text, "")
    could = ", ".join(repr(each) for each in withheld.could_become[:FEW])
    more = f" and {len(withheld.could_become) - FEW:,} more" if len(withheld.could_become) > FEW else ""
    may = f"; it may still become {could}{more}" if could else ""
    return Held(column, withheld.text, one_line(f"held back: {withheld.text[: FEW * 10]!r}, {withheld.reason}{may}"))


def _by_segment(trace: Trace, ended: tuple[int, How] | None) -> list[Lane]:
    """Return a lane for each segment, with its result, as the last stage told it that had it."""
    is_long = len(trace.items) > MOST_COLUMNS
    last: dict[tuple[str | None, type[Any]], int] = {}
    for number, _, output in _all_outputs(trace):
        last[_segment_of(output), type(output)] = number
    names: dict[str | None, str] = {}
    marks: dict[str | None, list[tuple[int, Any]]] = {}
    held: dict[str | None, list[Held]] = {}
    for number, column, output in _all_outputs(trace):
        key = _segment_of(output)
        if last[key, type(output)] == number and (key is not None or number == len(trace.stages) - 1):
            marks.setdefault(key, []).append((column, output))
            if isinstance(output, SegmentStart):
                names[key] = band_label(output)
    for column, each in enumerate(trace.items):
        for stage in each.stages:
            for withheld in stage.withheld:
                held.setdefault(withheld.segment_id, []).append(_held_of(column, withheld, is_long=is_long))
    known: dict[str, str] = {}
    in_order = sorted(marks, key=lambda key: (key is None, marks[key][0][0]))
    return [
        lane_of(
            names.get(key, key or _REST),
            sorted(marks[key], key=itemgetter(0)),
            ended if key is None else None,
            held.get(key, ()),
            known,
            is_part=key is not None,
            is_long=is_long,
        )
        for key in in_order
    ]


def _all_outputs(trace: Trace) -> Iterator[tuple[int, int, Any]]:
    """Yield the outputs of each stage, with its number and their moment."""
    for number in range(len(trace.stages)):
        for column, output in _outputs(trace.items, number):
            yield number, column, output


def _segment_of(output: Any) -> str | None:
    if isinstance(output, SegmentEvent):
        return output.segment_id
    for name in ("tool_call_id", "segment_id", "id"):
        if isinstance(found := getattr(output, name, None), str):
            return found
    return None


def _times(items: Sequence[TracedItem]) -> tuple[float, ...] | None:
    """Return the seconds of each moment; the end has none of its own where nobody measured it."""
    times: list[float] = []
    for each in items:
        if each.t_ns is not None:
            times.append(each.t_ns / 1e9)
        elif each.ended is not None and times:
            times.append(times[-1])
        else:
            return None
    return tuple(times) or None
