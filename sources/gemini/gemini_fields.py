"""Read Gemini's answers: the SDK's objects and the wire's JSON, which differ in names and in bytes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Any, cast

from ...events.chunk_response import TokenUsage
from ...events.errors import ProviderError
from ..fields.sdk_fields import Fields, entries_of, fields_of
from ..fields.surrogates import plain_json, without_halves
from ..machine.provider_error import error_in_body
from ..machine.token_count import token_count


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
