"""Describe the body of an HTTP response, and find the APIs that stream such bodies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ..wire.sse import ServerSentEvent, SseDecoder, is_done, is_noise
from .apis import APIS, Decoder
from .item_kinds import apis_of, described, listed, says_nothing

_EVENTS_ASKED = 32
_PIECE = 4096
_SHOWN = 3
_BEFORE = b" \t\r\n\xef\xbb\xbf"
_FIELDS = (b"data", b"event", b"id", b"retry")
_FIELD = re.compile(rb"(?:data|event|id|retry)?(?::|\Z)")
_DATA = re.compile(rb"(?:\A|[\r\n])data(?:[:\r\n]|\Z)")


def apis_of_body(body: bytes) -> Iterator[str]:
    r"""Yield the names of the APIs that recognise one of the first events of this body.

    >>> [*apis_of_body(b'data: {"object": "chat.completion.chunk", "choices": []}\n\n')]
    ['openai-chat']
    """
    for api in APIS:
        events = islice(_events(body, api.new_decoder()), _EVENTS_ASKED)
        if any(api.name in apis_of(item) for item in _items(events)):
            yield api.name


def described_body(body: bytes, *, may_be_cut_json: bool = False) -> str | None:
    r"""Describe a body; None for keep-alives alone, and for an event stream cut in its first event.

    `may_be_cut_json`: whether JSON that does not end may be such a stream.

    >>> described_body(b"<html>"), described_body(b'{"error": {}}'), described_body(b"Hi")
    ('HTML or XML', "JSON, a dict with 'error'", 'text')
    >>> described_body(b'data: {"a": 1}\n\n'), described_body(b": wait\n\ndata: {")
    ("server-sent events without names, a dict with 'a'", None)
    """
    body = body.lstrip(_BEFORE)
    if not body:
        return None
    if body.startswith(b"<"):
        return "HTML or XML"
    if body.startswith((b"{", b"[")):
        try:
            value: Any = json.loads(body)
        except (ValueError, RecursionError):
            return None if may_be_cut_json else "JSON that is not an event stream"
        return f"JSON, {described(value)}"
    if _DATA.search(body):
        return _described_events(body)
    return None if _is_begun_stream(body) else "text"


def _described_events(body: bytes) -> str | None:
    events = [*_events(body, SseDecoder())]
    kinds: list[str] = []
    for event in events:
        if is_noise(event.data) or is_done(event.data):
            continue
        items = list(_items(iter([event])))
        kinds += ["text"] if not items else [described(item) for item in items if not says_nothing(item)]
    if not kinds:
        return None
    nameless = "" if any(event.event for event in events) else " without names"
    return f"server-sent events{nameless}, {listed(kinds, shown=_SHOWN)}"


def _is_begun_stream(body: bytes) -> bool:
    """Return whether the body has only comments and fields without data so far; the last line may be cut."""
    *lines, last = re.split(rb"\r\n|\r|\n", body)
    is_cut = any(field.startswith(last) for field in _FIELDS)
    return (is_cut or _FIELD.match(last) is not None) and all(_FIELD.match(line) for line in lines)


def _items(events: Iterator[ServerSentEvent]) -> Iterator[Any]:
    for event in events:
        try:
            yield json.loads(event.data)
        except (ValueError, RecursionError):
            continue


def _events(body: bytes, decoder: Decoder) -> Iterator[ServerSentEvent]:
    for start in range(0, len(body), _PIECE):
        yield from decoder.feed(body[start : start + _PIECE])
    yield from decoder.close()
