"""Which API an item of a stream, or a body, is of; how either is described; and the machine that detects it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, cast

from ...events.chunk_response import ChunkResponse
from ...events.errors import PenstockError, UsageError
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.engine.stage import How
from ..base.answers import Choices
from ..base.endings import error_in_body, reported_error
from ..base.machine import Chunks, Machine, Texts, of_machine
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json
from ..cohere.machine import COHERE_V1, is_cohere_v1_body, is_cohere_v1_event
from ..framing.sse import ServerSentEvent, SseDecoder, is_done, is_noise
from .apis import APIS, Decoder, api_of, machine_of

KNOWN_APIS = ", ".join(repr(api.name) for api in APIS)
# Several providers send them, and they carry no data.
_KEEP_ALIVES = ("ping", "keepalive")
_KEYS_SHOWN = 6
_KEY_LENGTH = 40
_TYPE = re.compile(r"[A-Za-z][\w.:/-]{0,63}")


def apis_of(item: object) -> list[str]:
    """Return the names of the APIs that recognise an item.

    >>> apis_of({"type": "message_start"}), apis_of([{"candidates": []}]), apis_of(42)
    (['anthropic-messages'], ['gemini'], [])
    """
    if isinstance(item, list | tuple):
        found = [name for each in cast("list[object]", item) for name in apis_of(each)]
        return list(dict.fromkeys(found))
    fields = fields_of(item)
    return [] if fields is None else [api.name for api in APIS if api.is_its_own(fields)]


def says_nothing(item: object) -> bool:
    """Return whether an item is a keep-alive or empty, which may come from any provider.

    >>> says_nothing(None), says_nothing({"type": "ping"}), says_nothing({"choices": []})
    (True, True, False)
    """
    if item is None or item == []:
        return True
    fields = fields_of(item)
    return fields is not None and (not fields or (not apis_of(item) and fields.get("type") in _KEEP_ALIVES))


def described(item: object) -> str:
    """Describe an item by its kind and its type or keys (for an SDK object the extra ones), without content.

    >>> described({"type": "message_start", "message": {}}), described({"a": 1, "b": 2}), described(42)
    ("a dict of type 'message_start'", "a dict with 'a', 'b'", 'int')
    """
    fields = fields_of(item)
    if isinstance(item, dict):
        kind = "a dict" if item else "an empty dict"
    else:
        kind = _kind(item)
    if fields is not None and isinstance(word := fields.get("type"), str) and _TYPE.fullmatch(word):
        return f"{kind} of type {word!r}"
    named = cast("object", item) if isinstance(item, dict) else getattr(item, "__pydantic_extra__", None)
    return f"{kind} with {_keys(cast('dict[object, object]', named))}" if named else kind


def listed(kinds: Iterable[str], *, shown: int) -> str:
    """Return the first of several descriptions, each once.

    >>> listed(["int", "str", "int", "list"], shown=2)
    'int, str, ...'
    """
    different = list(dict.fromkeys(kinds))
    return ", ".join(different[:shown] + ["..."] * (len(different) > shown))


def _kind(item: object) -> str:
    kind = type(item)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _keys(item: dict[object, object]) -> str:
    return listed((_key(key) for key in item), shown=_KEYS_SHOWN)


def _key(key: object) -> str:
    text = repr(key)
    return text if len(text) <= _KEY_LENGTH else f"{text[:_KEY_LENGTH]}..."


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


def recognised_api(body: bytes) -> str:
    r"""Return the name of the API that a body's first events belong to; raises `UsageError` if no API is recognised.

    >>> recognised_api(b'data: {"object": "chat.completion.chunk", "choices": []}\n\n')
    'openai-chat'
    """
    if (name := next(apis_of_body(body), None)) is not None:
        return name
    if is_cohere_v1_body(body):
        raise UsageError(COHERE_V1)
    message = f"this body does not show which provider it is from; pass api=, one of {KNOWN_APIS}"
    raise UsageError(message)


RECORD_A_STREAM = "record the body of a streamed answer"
_GZIP = b"\x1f\x8b"


def why_no_stream(body: bytes, *, may_be_text: bool = False) -> str | None:
    r"""Return what a body is in place of a stream, and what to do; None for all that may be a stream.

    `may_be_text`: or a model's text, which may begin as HTML does.

    >>> why_no_stream(b"\n"), why_no_stream(b"data: 1\n\n")
    ('it is empty; record the body of a streamed answer', None)
    """
    begin = body.lstrip(_BEFORE)
    if not begin:
        return f"it is empty; {RECORD_A_STREAM}"
    if begin.startswith(_GZIP):
        return f"it is packed with gzip; unpack it with gunzip, let curl do so with --compressed, and {RECORD_A_STREAM}"
    if begin.startswith(b"<") and not may_be_text:
        return f"it is HTML or XML, not a stream; check the URL that was requested, and {RECORD_A_STREAM}"
    first = next(iter(entries_of(whole_json(body))), None)
    if (told := reported_error(fields_of(first) or {})) is not None:
        error = error_in_body(told.body)
        return f"it is an error response, not a stream: {error}; repeat the request, and {RECORD_A_STREAM}"
    return None


def whole_json(body: bytes) -> Any:
    """Return the value of a body that is one JSON document; None for any other."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


HELD_AT_MOST = 256
"""The most items that are held until the provider is detected; when there are more, the oldest pass as `raw`."""


class DetectingDecoder:
    """The machine for any provider: feeds the items to the provider's own machine.

        {"type": "ping"}                              []         held
        {"type": "message_start", "message": {...}}   [...]      Anthropic's machine, from here on
        {"type": "content_block_start", ...}          [...]

    Recognised are the SDKs' objects, the wire's JSON as dicts, ChunkResponses (which pass) and str. A leading error is
    reported. Anything else, and an ambiguous item, raises a `UsageError`.
    """

    stopped: bool = of_machine("stopped")
    failure: PenstockError | None = of_machine("failure")

    def __init__(
        self,
        *,
        choices: Choices = 0,
        turn_id: str | None = None,
        limits: Limits = DEFAULT_LIMITS,
        keep_message: bool = False,
        logprobs: bool = False,
    ) -> None:
        self._options: dict[str, Any] = {
            "choices": choices,
            "turn_id": turn_id,
            "limits": limits,
            "keep_message": keep_message,
            "logprobs": logprobs,
        }
        self._name: str | None = None
        self._held: list[Any] = []
        self._machine: Machine = Chunks()

    @property
    def is_text(self) -> bool:
        """Whether the stream is plain text, in which no native call can come."""
        return isinstance(self._machine, Texts)

    def close(self, how: How, /) -> list[ChunkResponse]:
        """Close the provider's machine; before detection return the chunk of an error, or nothing."""
        return self._machine.close(how)

    def dump(self) -> Any:
        """Return the state as plain data."""
        return [self._name, [plain_json(item) for item in self._held], self._machine.dump()]

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        name, held, machine = state
        self._name, self._held, self._machine = None, list(held), Chunks()
        vars(self).pop("feed", None)
        if name is not None:
            self._become(name)
        self._machine.load(machine)

    def _become(self, name: str) -> None:
        self._name = name
        if name == "texts":
            self._machine = Texts()
        elif name != "chunks":
            self._machine = machine_of(api_of(name), **self._options)
        # From now on the `feed` of the provider's machine itself: one call per item, not two.
        vars(self)["feed"] = self._machine.feed

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        if item is None or self._machine.stopped:
            return []
        name = _name_of(item)
        if name is None:
            return self._hold(item)
        self._become(name)
        if not self._held:
            return self._machine.feed(item)
        items, self._held = [*self._held, item], []
        return [response for each in items for response in self._machine.feed(each)]

    def _hold(self, item: Any) -> list[ChunkResponse]:
        """Hold an item that does not show the provider; beyond the limit, return the oldest one as `raw`."""
        self._held.append(item)
        if len(self._held) <= HELD_AT_MOST:
            return []
        plain = plain_json(self._held.pop(0))
        return [ChunkResponse(raw=(plain,))] if plain else []


def _name_of(item: Any) -> str | None:
    """Return the API of an item; None for a keep-alive; `UsageError` for an unknown or ambiguous item."""
    if isinstance(item, ChunkResponse):
        return "chunks"
    if isinstance(item, str):
        return "texts"
    if isinstance(item, bytes | bytearray | memoryview):
        message = f"this stream yields bytes; use from_wire(api, ...), with api one of {KNOWN_APIS}"
        raise UsageError(message)
    fields = fields_of(item)
    names = apis_of(item)
    if fields is not None and not names:
        if is_cohere_v1_event(fields):
            raise UsageError(COHERE_V1)
        names = _names_of_error(fields)
    if len(names) == 1:
        return names[0]
    if not names and says_nothing(item):
        return None
    who = f"may be from {' or '.join(names)}" if names else "does not show which provider it is from"
    message = f"the first item of this stream, {described(item)}, {who}; pass api=, one of {KNOWN_APIS}"
    raise UsageError(message)


def _names_of_error(fields: Fields) -> list[str]:
    """Return the machine of the first provider that can read an error."""
    error = fields.get("error")
    inner = fields_of(error) or {}
    if fields.get("type") == "error":
        return ["anthropic-messages" if inner else "openai-responses"]
    if isinstance(inner.get("status"), str):
        return ["gemini"]
    return ["openai-chat"] if reported_error(fields) is not None else []
