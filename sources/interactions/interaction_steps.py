"""The steps of an interaction: which are calls, and how deltas add to a result."""

from __future__ import annotations

from typing import Any

from ..fields.sdk_fields import Fields, fields_of
from ..fields.surrogates import plain_json
from ..messages.joined import Joined, set_json

FUNCTION_CALL = "function_call"
CALLS_OWN = frozenset({"id", "name", "arguments"})
"""Keys of a call's step that are not in `native`, because the call has them."""
MEDIA = frozenset({"image", "audio", "video"})
"""Types of content that a chunk has a field for."""
KNOWN_CONTENT = MEDIA | {"text", "document"}


def known(value: Any) -> Fields | None:
    """Return the fields of an object; of one that the SDK does not know, the wire's.

    >>> known({"type": "UNKNOWN", "is_unknown": True, "raw": {"type": "new"}})
    {'type': 'new'}
    """
    fields = fields_of(value)
    if fields is not None and fields.get("is_unknown") is True:
        return fields_of(fields.get("raw")) or {}
    return fields


def call_of(kind: str, step: Fields) -> tuple[str, bool]:
    """Return the name of the tool that a step calls, and whether the client has to run it.

    >>> call_of("function_call", {"name": "f"}), call_of("google_search_call", {})
    (('f', True), ('google_search', False))
    """
    name = step.get("name")
    return (name if isinstance(name, str) and name else kind.removesuffix("_call")), kind == FUNCTION_CALL


def arguments_of(step: Fields, *, is_clients: bool) -> Any:
    """Return the arguments of a step; None for the empty object that is there before they come.

    In those of built-in tools null means missing, because the SDK writes it.

    >>> step = {"arguments": {"a": None}}
    >>> arguments_of(step, is_clients=True), arguments_of(step, is_clients=False)
    ({'a': None}, None)
    """
    given = step.get("arguments")
    return (plain_json(given) if is_clients else set_json(given)) or None


def add_result(result: Joined, given: Fields) -> None:
    """Add the fields of a delta to a result: a text is appended, as is a list; of the rest the last one counts.

    >>> result = Joined()
    >>> for text in ("Hel", "lo"):
    ...     add_result(result, {"type": "code_execution_result", "result": text})
    >>> result.whole()
    {'type': 'code_execution_result', 'result': 'Hello'}
    """
    plain: Fields = set_json(given)
    for name, value in plain.items():
        before: Any = result.fields.get(name)
        if name == "result" and isinstance(value, str):
            result.text(name, value)
        elif name == "result" and isinstance(value, list) and isinstance(before, list):
            result.fields[name] = [*before, *value]
        elif value is not None and not (name in result.fields and value == ""):
            result.fields[name] = value
