"""`marbles`: a stream or a trace as a picture, a `MarblePicture`, for files and notebooks.

A trace has a lane for its input, and one for each operator or each segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from msgspec.structs import replace
from reactivex import Observable
from reactivex.scheduler import VirtualTimeScheduler

from ...events.errors import UsageError
from ...events.segment_event import SegmentEvent, SegmentStart
from ...operators.engine.stage import How
from ...operators.engine.withheld import Withheld
from ...sinks.card import MimeBundle
from ..tracing.trace import Trace
from ..tracing.traced_chain import TracedItem
from .diagram import MOST_COLUMNS, Diagram, Held, Lane, one_line
from .draw import describe, draw
from .lane_of import band_label, lane_of
from .marble_string import Row, diagram_of_rows, observed, read_lines, read_row, row_of

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


class MarblePicture:
    """A drawn stream: `str(picture)` and `.svg` are the SVG, a notebook shows it, `.save(path)` writes it.

    The SVG is static and needs nothing else. It follows the reader's choice of a dark or a light ground; a notebook's
    picture has the colour of the notebook's text.
    """

    def __init__(self, diagram: Diagram, *, by_time: bool) -> None:
        self._diagram = diagram
        self._by_time = by_time

    @property
    def svg(self) -> str:
        return draw(self._diagram, by_time=self._by_time)

    @property
    def html(self) -> str:
        """The picture for a page: its texts have the colour of the page's, and it scrolls where it is too wide."""
        svg = draw(self._diagram, by_time=self._by_time, inherit=True)
        return f'<div style="color:inherit;overflow-x:auto">{svg}</div>'

    @property
    def description(self) -> str:
        """The picture in words, as readers of screens hear it."""
        return describe(self._diagram)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the SVG to a file, and return its path."""
        file = Path(path)
        file.write_text(self.svg, encoding="utf-8")
        return file

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<marbles: {self.description}>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> MimeBundle:  # noqa: ARG002 - IPython passes both, and filters by itself
        return {"text/plain": repr(self), "text/html": self.html, "image/svg+xml": self.svg}


Axis: TypeAlias = Literal["items", "time"]
MOST_LANES = 24


def marbles(
    stream: Any,
    /,
    *,
    axis: Axis = "items",
    by: By = "operator",
    title: str = "",
    lookup: Mapping[Any, Any] | None = None,
    seconds: float = 10.0,
    scheduler: VirtualTimeScheduler | None = None,
) -> MarblePicture:
    """Draw a stream as a marble diagram: a static SVG, which a notebook shows and `.save(path)` writes.

    >>> picture = marbles("source  --a<--to--ol>b--|")
    >>> picture
    <marbles: 4 moments. source: 3 items, completed.>
    >>> picture.svg[:4]
    '<svg'

    - `stream`: a trace; an Observable; a marble string of reactivex, or several lines of them with their names; what
      `reactivex.testing` recorded; or a dict of these with the names of their lanes.
    - `axis`: with `items` each moment takes the room that its marks need, with `time` distances are times.
    - `by`: the lanes of a trace: one for each `operator`, or one for each `segment` with its result.
    - `lookup`: what the letters of marble strings stand for.
    - `seconds`, `scheduler`: an Observable is subscribed to, and disposed of after so many seconds; with a scheduler of
      virtual time, such as `TestScheduler`, these are virtual and nobody waits.

    A long stream is drawn as an overview, with bars for numbers of items; the SVG has at most half a megabyte. Raises
    `UsageError` for anything else than these streams, and for `axis="time"` if no times are known.
    """
    _check(axis, ("items", "time"), "axis")
    _check(by, ("operator", "segment"), "by")
    if isinstance(stream, Trace):
        diagram = diagram_of_trace(stream, by, title)
    else:
        streams = _named(stream)
        observables: dict[str, Observable[Any]] = {
            name: each for name, each in streams.items() if isinstance(each, Observable)
        }
        seen = observed(observables, seconds, scheduler) if observables else {}
        made = {name: seen[name] if name in seen else _row(each, lookup) for name, each in streams.items()}
        diagram = diagram_of_rows(made, title, "s" if observables else "frames")
    if axis == "time" and diagram.times is None:
        message = 'axis="time" needs the times of the items, and they are not known; use axis="items"'
        raise UsageError(message)
    return MarblePicture(_with_few_lanes(diagram), by_time=axis == "time")


def _named(stream: Any) -> Mapping[str, Any]:
    """Return streams by the names of their lanes."""
    if isinstance(stream, str):
        text = stream.strip()
        # A name does not begin with a hyphen: that is a marble string, in which blanks count for nothing.
        return read_lines(text) if "  " in text and text[0] != "-" else {"marbles": text}
    if isinstance(stream, Mapping):
        return {str(name): each for name, each in cast("Any", stream).items()}
    return {"stream": stream}


def _row(stream: Any, lookup: Mapping[Any, Any] | None) -> Row:
    if isinstance(stream, str):
        return read_row(stream, lookup)
    if isinstance(stream, Iterable):
        messages = list(cast("Any", stream))
        if all(map(_is_message, messages)):
            return row_of(messages)
    message = (
        "marbles(...) takes a trace, an Observable, a marble string or recorded messages of reactivex.testing, "
        f"got {stream!r:.80}"
    )
    raise UsageError(message)


def _is_message(message: Any) -> bool:
    return hasattr(message, "time") and hasattr(getattr(message, "value", None), "kind")


def _with_few_lanes(diagram: Diagram) -> Diagram:
    more = len(diagram.lanes) - MOST_LANES
    if more <= 0:
        return diagram
    note = "; ".join(filter(None, (diagram.note, f"{more:,} more lanes are not drawn")))
    return replace(diagram, lanes=diagram.lanes[:MOST_LANES], note=note)


def _check(value: str, known: tuple[str, ...], name: str) -> None:
    if value not in known:
        message = f"{name}= must be {' or '.join(map(repr, known))}, got {value!r}"
        raise UsageError(message)


def trace_bundle(trace: Trace) -> MimeBundle:
    """Return a trace for a notebook: its picture, and itself in words."""
    picture = marbles(trace)
    return {
        "text/plain": f"{trace!r}\n    {picture.description}",
        "text/html": picture.html,
        "image/svg+xml": picture.svg,
    }
