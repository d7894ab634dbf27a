"""Output items of an OpenAI Response: which are calls, who runs them, and their `native` data."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ...events.chunk_response import ArgumentsKind, CallStatus, ExecutedBy
from ..machine.sdk_fields import Fields, entries_of, fields_of
from ..machine.surrogates import plain_json, without_halves


class CallKind(NamedTuple):
    """The type of a call item. `name`: the name of a built-in tool; `field`: the key of the item's whole arguments."""

    name: str | None
    field: str
    kind: ArgumentsKind
    executed_by: ExecutedBy


CALLS = {
    "function_call": CallKind(None, "arguments", "json", "client"),
    "custom_tool_call": CallKind(None, "input", "text", "client"),
    # The application runs these on its own machine and sends back what came of it.
    "apply_patch_call": CallKind("apply_patch", "operation", "object", "client"),
    "computer_call": CallKind("computer", "actions", "object", "client"),
    "local_shell_call": CallKind("local_shell", "action", "object", "client"),
    "tool_search_call": CallKind("tool_search", "arguments", "object", "client"),
    # Where a shell runs is the request's business; a command that comes as text is never run by itself.
    "shell_call": CallKind("shell", "action", "text", "provider"),
    "code_interpreter_call": CallKind("code_interpreter", "code", "text", "provider"),
    "mcp_call": CallKind(None, "arguments", "json", "provider"),
    # A question to a person: the provider makes the call itself, in a later response.
    "mcp_approval_request": CallKind(None, "arguments", "json", "provider"),
}
# Other words, such as `in_progress`, mean nothing: servers leave them in items that have ended.
_STATUSES: dict[object, CallStatus] = {
    "completed": "completed",
    "incomplete": "incomplete",
    "failed": "incomplete",
    "cancelled": "incomplete",
}
_REPLAYED = (
    "type",
    "id",
    "call_id",
    "namespace",
    "caller",
    "server_label",
    "approval_request_id",
    "container_id",
    "environment",
    "pending_safety_checks",
)
# xAI's search of X comes as a custom tool's call, which xAI runs itself.
_XAI_OWN = "xs_call_"


def call_kind(item: Fields) -> CallKind | None:
    """Return the kind of a call item; None for other items, such as a search for tools on the server."""
    kind = CALLS.get(str(item.get("type")))
    if kind is None:
        return None
    if kind.name == "tool_search" and item.get("execution") != "client":
        return None
    if str(item.get("call_id", "")).startswith(_XAI_OWN):
        return kind._replace(executed_by="provider")
    return kind


def call_native(item: Fields) -> dict[str, Any]:
    """Return the data that the provider needs back with a call, besides name and arguments."""
    native = {name: plain_json(item[name]) for name in _REPLAYED if item.get(name)}
    if runs_async := item.get("async") or item.get("async_"):  # as the wire and as the SDK name it
        native["async"] = runs_async
    return native


def whole_arguments(item: Fields, kind: CallKind) -> str:
    """Return the whole arguments that an item has at its end.

    Where the wire has an object, it is compact JSON with sorted keys: the SDK changes their order.
    """
    if kind.name == "shell":
        action = fields_of(item.get("action")) or {}
        return "\n".join(str(plain_json(command)) for command in entries_of(action.get("commands")))
    if kind.name == "computer":
        given: Any = {name: item[name] for name in ("action", "actions") if item.get(name)}
    else:
        given = item.get(kind.field)
    if isinstance(given, str):
        return given
    plain = plain_json(given)
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), sort_keys=True) if plain else ""


def call_status(item: Fields) -> CallStatus | None:
    """Return the status of an item: whether the model finished it."""
    status = item.get("status")
    return _STATUSES.get(status) if isinstance(status, str) else None


def announced_arguments(item: Fields, kind: CallKind) -> str:
    """Return the complete arguments at an item's start; an empty object is only a placeholder."""
    if kind.kind != "json" and call_status(item) != "completed":
        return ""
    given = whole_arguments(item, kind)
    return "" if given == "{}" else given


def item_ids(item: Fields) -> list[str]:
    given = (item.get(name) for name in ("id", "call_id"))
    return [without_halves(each) for each in given if isinstance(each, str) and each]
