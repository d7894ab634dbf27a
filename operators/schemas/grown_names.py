"""The name of a call that comes in pieces."""

from __future__ import annotations

from collections.abc import Collection

from ...events.chunk_response import ToolCallDelta


def grown_name(name: str, piece: str, tools: Collection[str]) -> str | None:
    """Return a call's name with its next piece; None where the piece may as well be the whole name.

    >>> grown_name("search", "_files", ()), grown_name("search", "search", ())
    ('search_files', 'search')
    >>> grown_name("se", "search", ()), grown_name("se", "search", ("search",))
    (None, 'search')
    """
    if not name or piece == name:
        return piece
    whole = name + piece
    if not piece.startswith(name):
        return whole
    fitting = [each for each in (whole, piece) if any(tool.startswith(each) for tool in tools)]
    if len(fitting) == 1:
        return fitting[0]
    return whole if tools and not fitting else None


def may_grow(head: ToolCallDelta, delta: ToolCallDelta, tools: Collection[str]) -> bool:
    """Return whether the START of a call waits for a further piece of its name.

    `head`: its first delta, with the name so far; `delta`: the last one. Without declared tools any name may go on
    until anything else of the call comes.
    """
    if delta.done or delta.status or delta.contradiction:
        return False
    if is_begun_name(head, tools):
        return True
    if delta.arguments_delta or not head.name_open:
        return False
    name = head.name or ""
    return not tools or any(tool != name and tool.startswith(name) for tool in tools)


def is_begun_name(head: ToolCallDelta, tools: Collection[str]) -> bool:
    """Return whether the name so far is that of no declared tool, and one of them begins with it."""
    name = head.name or ""
    return name not in tools and any(tool.startswith(name) for tool in tools)
