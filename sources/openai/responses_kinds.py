"""What a Response has besides texts and calls: the tables of events, items and keys, and their kinds."""

from __future__ import annotations

from typing import Any, TypeAlias

from ...events.chunk_response import ProviderEventKind
from ..fields.left_out import keys_left_out
from ..fields.sdk_fields import Fields
from ..fields.surrogates import plain_json, says_something

Kinds: TypeAlias = dict[str, ProviderEventKind]

API = "openai-responses"

OF_EVENT: Kinds = {"response.image_generation_call.partial_image": "file"}
"""Kinds of events that belong to no item's end; other unknown ones are `raw`."""
OUTPUT = "_output"
"""The end of an item's type for what a tool of the provider returned: `shell_call_output` and the like."""
OF_ITEM: Kinds = {
    "additional_tools": "other",
    "compaction": "compaction",
    "image_generation_call": "file",
    "mcp_approval_response": "other",
    "mcp_list_tools": "other",
}
"""Kinds of items; an item of another type, which is no call either, is `raw`."""
WITH_RESULT = frozenset(("code_interpreter_call", "file_search_call", "mcp_call", "web_search_call"))
"""Items that are a call that the provider runs and, at their end, its result."""
OF_RESPONSE: Kinds = {"moderation": "safety", "content_filters": "safety", "conversation": "other", "image": "other"}
"""Kinds of the keys of the final response."""

_READ_OF_RESPONSE = frozenset(("id", "model", "status", "usage", "output", "error", "incomplete_details"))
_NOT_UNKNOWN_OF_RESPONSE = _READ_OF_RESPONSE | OF_RESPONSE.keys() | keys_left_out(API, "response.*: response")


def kind_of_item(item: Fields) -> ProviderEventKind | None:
    """Return the kind of an item that is no call; None for an unknown type.

    >>> kind_of_item({"type": "shell_call_output"}), kind_of_item({"type": "new"})
    ('tool_result', None)
    """
    name = item.get("type")
    if not isinstance(name, str):
        return None
    return "tool_result" if name.endswith(OUTPUT) else OF_ITEM.get(name)


def response_extras(response: Fields) -> tuple[list[tuple[ProviderEventKind, dict[str, Any]]], dict[str, Any]]:
    """Return the events of the final response's keys, and the keys that are unknown.

    >>> response_extras({"id": "resp_1", "moderation": {"flagged": True}, "tools": [], "new": 1})
    ([('safety', {'moderation': {'flagged': True}})], {'new': 1})
    """
    said = {
        key: plain
        for key, value in response.items()
        if (key in OF_RESPONSE or key not in _NOT_UNKNOWN_OF_RESPONSE) and says_something(plain := plain_json(value))
    }
    events: list[tuple[ProviderEventKind, dict[str, Any]]] = [
        (kind, {key: said[key]}) for key, kind in OF_RESPONSE.items() if key in said
    ]
    return events, {key: plain for key, plain in said.items() if key not in OF_RESPONSE}
