"""`marbles`: a stream as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias, cast

from msgspec.structs import replace
from reactivex import Observable
from reactivex.scheduler import VirtualTimeScheduler

from ...events.errors import UsageError
from ...events.showing.card import MimeBundle
from ..tracing.trace import Trace
from .drawing.diagram import Diagram
from .marble_picture import MarblePicture
from .of_trace import By, diagram_of_trace
from .rows import Row, diagram_of_rows, observed, read_lines, read_row, row_of

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
