"""`trace_data`: a trace, its events and its items, as the data of the explorer's page."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct, structs

from ...events.json_form import Event, to_dict
from ...events.segment_event import SegmentEvent
from ...events.tool_invocation import ToolCallArgumentProgress
from ...operators.argument_progress import argument_progress
from ...operators.engine.stage import Failed, How, Interrupted, stage
from ...operators.engine.withheld import MOST, Withheld
from ...operators.machines.live_view import LiveEvent
from ..recordings.recording_format import raw_form
from ..tracing.trace import Trace


def plain_event(event: Any) -> Any:
    """Return an event as plain JSON data; of a live view nothing, and of a value of yours its text.

    >>> from penstock.events import Notice
    >>> plain_event(Notice("c", "d")), plain_event("a"), plain_event(1 + 2j)
    ({'type': 'NOTICE', 'code': 'c', 'detail': 'd'}, 'a', '(1+2j)')
    """
    if isinstance(event, Event):
        return to_dict(event)
    if isinstance(event, Struct):
        named = structs.asdict(event)
        if isinstance(event, LiveEvent):
            del named[event.__struct_fields__[-1]]
        return {"type": type(event).__name__, **raw_form(named)}
    return raw_form(event)


def item_text(item: Any) -> str:
    r"""Return what came as a text to show: text and bytes as they are, all else as JSON.

    >>> item_text(b"data: {}\n\xff"), item_text("a"), item_text({"a": 1})
    ('data: {}\n\\xff', 'a', '{"a": 1}')
    """
    match item:
        case str():
            return item
        case bytes() | bytearray():
            return item.decode(errors="backslashreplace")
        case _:
            return json_text(plain_event(item))


def json_text(value: Any) -> str:
    """Return JSON that each reader of JSON reads: numbers that it has no form for are texts.

    >>> json_text([1, float("inf"), "ü"])
    '[1, "inf", "ü"]'
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, default=str)


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {key: _finite(each) for key, each in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_finite(each) for each in cast("list[Any]", value)]
        case _:
            return value


MOST_READINGS = 12
"""The most texts that are shown of what a withheld text may become."""


def trace_data(traced: Trace, **more: Any) -> bytes:
    """Return a trace, and `more` members beside it, as JSON that is packed with gzip.

    It has what is new with each item and never what was there before, so its size grows with the stream only.

    - `raw`: what came, a text for each item; `times`: when, in nanoseconds; `end`: how the input ended.
    - `outputs`: for each stage its events as `[item, JSON]`; `sizes`, `spent`: for each stage a number for each item.
    - `held`: what was withheld as `[item, stage, place in withheld]`; of a long text the last 1,000 characters.
    - `segment_stage`: the last stage with segments; `arguments`: the pieces of the arguments in them, as `[item, call,
      kind, path, value]`.
    """
    items = traced.items
    places = range(len(traced.stages))
    at = _segment_stage(traced)
    withheld: dict[Withheld, int] = {}
    held = [
        (number, place, withheld.setdefault(each, len(withheld)))
        for number, item in enumerate(items)
        for place, did in enumerate(item.stages)
        for each in did.withheld
    ]
    data = {
        "stages": traced.stages,
        "dropped": traced.dropped,
        "raw": ["" if _is_end(item) else item_text(item.item if item.raw is None else item.raw) for item in items],
        "times": _times(traced),
        "end": _end(traced.ended),
        "outputs": [
            [
                (number, json_text(plain_event(event)))
                for number, item in enumerate(items)
                for event in item.stages[place].outputs
            ]
            for place in places
        ],
        "sizes": [[item.stages[place].state_size for item in items] for place in places],
        "spent": [[item.stages[place].time_ns for item in items] for place in places],
        "held": held,
        "withheld": [_withheld(each) for each in withheld],
        "segment_stage": at,
        "arguments": [] if at is None else [*_arguments(traced, at)],
        **more,
    }
    return gzip.compress(json.dumps(data, allow_nan=False, separators=(",", ":")).encode(), 5)


def _is_end(item: Any) -> bool:
    return item.ended is not None and item.item is None


def _end(ended: How | None) -> dict[str, str] | None:
    match ended:
        case None:
            return None
        case Failed(error=error):
            return {"how": "failed", "reason": _begin_of(f"{type(error).__name__}: {error}")}
        case Interrupted(reason=reason):
            return {"how": "interrupted", "reason": _begin_of(reason)}
        case _:
            return {"how": "completed", "reason": ""}


def _times(traced: Trace) -> list[int] | None:
    """Return the times of the items; an end without one has that of the item before."""
    times: list[int] = []
    for item in traced.items:
        if item.t_ns is None and not (times and _is_end(item)):
            return None
        times.append(max(times[-1] if times else 0, times[-1] if item.t_ns is None else item.t_ns))
    return times


def _withheld(each: Withheld) -> dict[str, Any]:
    """Return what is shown of a withheld text; `before`: how many characters it has before that, None if unknown."""
    text = each.text[-MOST:]
    is_told_in_part = len(each.text) == MOST + 1 and each.text.startswith("…")
    return {
        "text": text,
        "before": None if is_told_in_part else len(each.text) - len(text),
        "reason": _begin_of(each.reason),
        "could_become": [*map(_begin_of, each.could_become[:MOST_READINGS])],
        "further": max(0, len(each.could_become) - MOST_READINGS),
        "segment_id": each.segment_id and _begin_of(each.segment_id),
        "in_raw": each.in_raw,
    }


def _begin_of(text: str) -> str:
    return text if len(text) <= MOST else f"{text[:MOST]}… {len(text) - MOST:,} more characters"


def _segment_stage(traced: Trace) -> int | None:
    """Return the place of the last stage that returned events of segments."""
    found = {
        place
        for item in traced.items
        for place, did in enumerate(item.stages)
        if any(isinstance(event, SegmentEvent) for event in did.outputs)
    }
    return max(found, default=None)


def _arguments(traced: Trace, place: int) -> Iterator[tuple[int, str, str, tuple[str | int, ...], Any]]:
    follower = stage(argument_progress())
    for number, item in enumerate(traced.items):
        for event in item.stages[place].outputs:
            if not isinstance(event, SegmentEvent):
                continue
            for piece in follower.feed(event):
                if isinstance(piece, ToolCallArgumentProgress):
                    kind, value = piece.fragment.kind, piece.fragment.value
                    yield (
                        number,
                        piece.tool_call_id,
                        kind,
                        piece.fragment.path,
                        json_text(value) if kind == "SCALAR" else value,
                    )
