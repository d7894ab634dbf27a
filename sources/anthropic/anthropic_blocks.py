"""Anthropic's blocks that are neither text nor calls: the table of their kinds, and how their deltas add to them."""

from __future__ import annotations

from typing import Any

from ...events.chunk_response import ProviderEventKind
from ..fields.sdk_fields import Fields, entries_of
from ..fields.surrogates import plain_object
from ..messages.joined import Joined

RESULT = "_tool_result"
"""The end of a block's type for what a tool of the provider returned: `web_search_tool_result` and the like."""
KINDS: dict[str, ProviderEventKind] = {
    "compaction": "compaction",
    "container_upload": "file",
    "fallback": "other",
    "mcp_tool_listing": "other",
}
"""Kinds of the other blocks; a type that is not here is unknown, and its blocks are `raw`."""
OF_MESSAGE = (
    "container",
    "stop_sequence",
    "stop_details",
    "context_management",
    "diagnostics",
    "input_transformations",
)
"""Keys of a message, and of its delta, that are an event of the kind `other`."""


def kind_of(block: Fields) -> ProviderEventKind | None:
    """Return the kind of a block's event; None for an unknown type.

    >>> kind_of({"type": "web_fetch_tool_result"}), kind_of({"type": "compaction"}), kind_of({"type": "new"})
    ('tool_result', 'compaction', None)
    """
    name = block.get("type")
    if not isinstance(name, str):
        return None
    return "tool_result" if name.endswith(RESULT) else KINDS.get(name)


def add_delta(block: Joined, delta: Fields) -> None:
    """Add a delta to its block: a text to the text of the same key, the entries of a list to the list.

    >>> block = Joined({"type": "compaction", "content": None})
    >>> for text in ("Go", " on"):
    ...     add_delta(block, {"type": "compaction_delta", "content": text})
    >>> block.whole()
    {'type': 'compaction', 'content': 'Go on'}
    """
    for key, value in plain_object(delta).items():
        if key == "type" or value is None:
            continue
        before: Any = block.fields.get(key)
        if isinstance(before, str) and isinstance(value, str):
            if key not in block.texts:
                block.text(key, before)
            block.text(key, value)
        elif isinstance(before, list) and isinstance(value, list):
            block.fields[key].extend(entries_of(value))
        else:
            block.fields[key] = value
            block.texts.pop(key, None)
