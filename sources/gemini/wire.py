"""Gemini's answer on the wire and from the SDK: fields, token counts, errors, the three framings, the served API."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from json import JSONDecodeError
from typing import Any, cast

from ...events.chunk_response import TokenUsage
from ...events.errors import ProviderError
from ...operators.engine.state import Stateful
from ..base.endings import error_in_body, invalid_data
from ..base.response import COUNTS, FRAME, LOGPROBS, SUMS, TIMES, WireKeys, rows, token_count
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json, without_halves
from ..framing.ndjson import JsonArrayDecoder
from ..framing.served import Served
from ..framing.sse import UNFRAMED, ServerSentEvent, SseDecoder
from ..streams.workarounds import unread_error

_CALL = (
    "name id args partial_args(json_path string_value bool_value number_value null_value will_continue) will_continue"
)
_SHAPES = {
    "content": "role parts",
    "function_call": _CALL,
    "inline_data": "mime_type data display_name",
    "file_data": "mime_type file_uri display_name",
    "usage_metadata": (
        "prompt_token_count tool_use_prompt_token_count candidates_token_count thoughts_token_count"
        " total_token_count cached_content_token_count prompt_tokens_details candidates_tokens_details"
        " tool_use_prompt_tokens_details cache_tokens_details traffic_type service_tier"
    ),
}
"""The objects that are read key by key."""

KEYS = WireKeys(
    "gemini",
    left_out=(
        *rows(FRAME, "candidates.index", "candidates.content.role", "candidates.content.parts.thought"),
        *rows(FRAME, "candidates.content.parts.functionCall.willContinue"),
        *rows(FRAME, "candidates.content.parts.functionCall.partialArgs.jsonPath"),
        *rows(FRAME, "candidates.content.parts.functionCall.partialArgs.willContinue"),
        *rows(FRAME, "candidates.content.parts.functionCall.partialArgs.nullValue"),
        *rows(FRAME, "candidates.content.parts.fileData.mimeType"),
        *rows(SUMS, "usageMetadata.promptTokenCount", "usageMetadata.toolUsePromptTokenCount"),
        *rows("says a regular finish again, in words", "candidates.finishMessage"),
        *rows(TIMES, "createTime"),
        *rows(COUNTS, "candidates.tokenCount", "usageMetadata.*TokensDetails", "usageMetadata.trafficType"),
        *rows(COUNTS, "usageMetadata.serviceTier"),
        *rows(LOGPROBS, "candidates.logprobsResult", "candidates.avgLogprobs"),
    ),
    shapes=_SHAPES,
)

_ERROR_KINDS = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def _served_error(status: int, message: str) -> Any:
    kind = _ERROR_KINDS.get(status, "INVALID_ARGUMENT" if status < 500 else "INTERNAL")
    return {"error": {"code": status, "message": message, "status": kind}}


def _served_event(message: str) -> tuple[str, Any]:
    return "", _served_error(503, message)


def _wants_stream(path: str, _: dict[str, Any]) -> bool:
    return path.endswith(":streamGenerateContent")


GEMINI_SERVED = Served(
    re.compile(r"/(?:models|tunedModels|endpoints)/(?P<model>[^:]+):(?:streamGenerateContent|generateContent)\Z"),
    "/v1beta/models/{model}:streamGenerateContent",
    'google.genai.Client(api_key="-", http_options={{"base_url": "{url}"}})',
    _served_error,
    _served_event,
    _wants_stream,
    forms=frozenset({"sse", "rows", "array"}),
    sse_type="text/event-stream",
)


def gemini_fields(value: Any) -> Fields | None:
    """Return the fields of an object under the SDK's names, which are camel case on the wire; None if it has none.

    >>> gemini_fields({"finishReason": "STOP"})
    {'finish_reason': 'STOP'}
    """
    if isinstance(value, dict):
        return {_snake(str(key)): each for key, each in cast("dict[object, object]", value).items()}
    return fields_of(value)


def candidates_of(chunk: Fields) -> tuple[list[Fields], Callable[[int], Fields]]:
    """Return the candidates of a response, and what returns the one at a position as plain JSON."""
    found = [(given, fields) for given in entries_of(chunk.get("candidates")) if (fields := gemini_fields(given))]
    return [fields for _, fields in found], lambda position: gemini_fields(wire_form(found[position][0])) or {}


def wire_form(value: Any) -> Any:
    """Return one of Gemini's objects in the JSON form of the wire."""
    try:
        return _wire_form(value)
    except RecursionError:
        return plain_json(value)  # which says that it is nested too deeply


def _wire_form(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return base64_text(value)
    if isinstance(value, list):
        return [_wire_form(each) for each in cast("list[object]", value)]
    fields = None if isinstance(value, dict) else fields_of(value)
    if fields is None:
        return plain_json(value)
    return {camel_case(key): _wire_form(each) for key, each in fields.items() if each is not None}


@lru_cache(maxsize=1024)
def camel_case(name: str) -> str:
    """Return the wire's spelling of an SDK name."""
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


def word(value: Any) -> str | None:
    """Return an enum, its name on the wire, or its number there, as text."""
    value = value.value if isinstance(value, Enum) else value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return without_halves(value) if isinstance(value, str) and value else None


def base64_text(value: Any) -> str | None:
    """Return bytes, or base64 text in either alphabet, as standard base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii") if value else None
    if not isinstance(value, str) or not value:
        return None
    text = value.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64encode(base64.b64decode(text + "=" * (-len(text) % 4), validate=True)).decode("ascii")
    except (binascii.Error, ValueError):
        return without_halves(value)


def gemini_usage(given: Any) -> TokenUsage | None:
    """Read a usage object; None for one without counts. What tools put into the prompt is part of it.

    >>> gemini_usage({"promptTokenCount": 37, "candidatesTokenCount": 16, "thoughtsTokenCount": 37,
    ...               "totalTokenCount": 90})
    TokenUsage(prompt=37, completion=53, total=90, cached=0, reasoning=37)
    """
    return usage_of(gemini_fields(given))


def usage_of(fields: Fields | None) -> TokenUsage | None:
    """Return the usage of the fields of its object, under the SDK's names."""
    if fields is None:
        return None
    return total_usage(
        token_count(fields, "prompt_token_count") + token_count(fields, "tool_use_prompt_token_count"),
        token_count(fields, "candidates_token_count"),
        token_count(fields, "thoughts_token_count"),
        token_count(fields, "total_token_count"),
        token_count(fields, "cached_content_token_count"),
    )


def total_usage(prompt: int, candidates: int, thoughts: int, total: int, cached: int) -> TokenUsage | None:
    """Return the usage for Gemini's counts, whose candidates do not include thoughts; None if all are 0."""
    completion = candidates + thoughts
    usage = TokenUsage(prompt, completion, total or prompt + completion, cached, thoughts)
    return usage if usage != TokenUsage() else None


def gemini_error(body: Any, status: Any = None) -> ProviderError:
    """Read a `google.rpc.Status`, bare, under the key `error`, or in a list of one; `status`: of the HTTP answer.

    >>> str(gemini_error({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}))
    'provider error (503, UNAVAILABLE, 503): overloaded'
    """
    first = entries_of(body)[0] if entries_of(body) else body
    inner = (fields_of(first) or {}).get("error") or first
    found = error_in_body(plain_json(inner))
    kind = (fields_of(inner) or {}).get("status")
    http = status if isinstance(status, int) and 400 <= status < 600 else found.status
    code = found.code or (str(status) if isinstance(status, int) else None)
    return ProviderError(found.detail, code=code, type=word(kind) or found.type, status=http)


@lru_cache(maxsize=1024)
def _snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


def gemini_exception(error: Exception) -> ProviderError | None:
    """Translate an exception of Google's SDK; None for any other."""
    if type(error).__module__.startswith("google."):
        cause = error.__cause__
        if isinstance(cause, JSONDecodeError):
            return invalid_data(cause)
        details, code = getattr(error, "details", None), getattr(error, "code", None)
        if details is not None or code is not None:
            return gemini_error(details, code)
    if (said := unread_error(error)) is not None:
        return gemini_error(said, None)
    if type(error).__module__.startswith("pydantic_core"):  # the SDK validates the wire's data
        return ProviderError(str(error), type="invalid_response")
    return None


_BEFORE = b" \t\r\n\xef\xbb\xbf"
_FIELDS = frozenset((b"data", b"event", b"id", b"retry", b""))


class GeminiDecoder(Stateful):
    r"""Decode server-sent events, or the JSON array that comes without `alt=sse`, or the bare object of an error.

        b'data: {"a":1}\r\n\r\n'     [ServerSentEvent('', '{"a":1}')]
        b'[{"a":1},\n{"b":2}]'       [ServerSentEvent('', '{"a":1}'), ServerSentEvent('', '{"b":2}')]

    Among server-sent events, lines that belong to no field and begin as JSON are collected into their value: an error
    in the middle of a stream may be written so. `close()` returns an event whose blank line never came. Google's SDK
    does both as well.
    """

    STATE = __slots__ = ("_decoder",)

    def __init__(self) -> None:
        self._decoder: JsonArrayDecoder | _SseWithJson | None = None

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that this piece completes."""
        if self._decoder is None:
            piece = piece.lstrip(_BEFORE)
            if not piece:
                return []
            self._decoder = JsonArrayDecoder() if piece[:1] in (b"[", b"{") else _SseWithJson()
        return self._decoder.feed(piece)

    def whole(self, piece: bytes, /) -> str | None:
        """Return the data of a piece that is one whole server-sent event; None, with nothing done, for others."""
        decoder = self._decoder
        return decoder.whole(piece) if type(decoder) is _SseWithJson and not decoder.is_inside else None

    @property
    def held(self) -> int:
        """How many bytes are held of an event that has not come to its end."""
        return self._decoder.held if self._decoder else 0

    def close(self) -> list[ServerSentEvent]:
        """Return the last event, even if it is incomplete."""
        return self._decoder.close() if self._decoder else []

    def new_part(self, _name: str, state: Any, /) -> JsonArrayDecoder | _SseWithJson:
        return _SseWithJson() if "_json" in state else JsonArrayDecoder()


class _SseWithJson(SseDecoder):
    STATE = (*SseDecoder.STATE, "_json")
    __slots__ = ("_json",)

    def __init__(self) -> None:
        super().__init__()
        self._json = JsonArrayDecoder()

    @property
    def is_inside(self) -> bool:
        """Whether a JSON value between the events has begun and is not complete yet."""
        return self._json.is_inside

    @property
    def held(self) -> int:
        """How many bytes are held of an event, or of JSON between events, that has not come to its end."""
        return super().held + self._json.held

    def close(self) -> list[ServerSentEvent]:
        events = self.feed(b"\n\n")
        return events + super().close() + self._json.close()

    def _take(self, lines: list[bytes], events: list[ServerSentEvent]) -> None:
        start = 0
        for number, line in enumerate(lines):
            if self._json.is_inside or (line[:1] in (b"{", b"[") and line.partition(b":")[0] not in _FIELDS):
                super()._take(lines[start:number], events)
                if self._event == UNFRAMED:  # the page of a proxy, in which anything may stand
                    super()._take([line], events)
                else:
                    events += self._json.feed(line + b"\n")
                start = number + 1
        super()._take(lines[start:] if start else lines, events)
