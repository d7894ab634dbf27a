"""`plain_event` and `item_text`: what the explorer's page gets of events and items, as JSON and as text."""

from __future__ import annotations

import json
import math
from typing import Any, cast

from msgspec import Struct, structs

from ...events.json_form import Event, to_dict
from ...operators.machines.live_view import LiveEvent
from ...sources.recordings.recording_format import raw_form


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
