"""Output items of an OpenAI Response: which are calls, who runs them, and their `native` data."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ...events.chunk_response import ArgumentsKind, CallStatus, ExecutedBy
from ..fields.sdk_fields import Fields, fields_of
from ..fields.surrogates import plain_json, without_halves


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
    "shell_call": CallKind("shell", "action", "object", "client"),
    "tool_search_call": CallKind("tool_search", "arguments", "object", "provider"),
    "web_search_call": CallKind("web_search", "action", "object", "provider"),
    "file_search_call": CallKind("file_search", "queries", "object", "provider"),
    "program": CallKind("program", "code", "text", "provider"),
    "code_interpreter_call": CallKind("code_interpreter", "code", "text", "provider"),
    "mcp_call": CallKind(None, "arguments", "json", "provider"),
    # A question to a person: the provider makes the call itself, in a later response.
    "mcp_approval_request": CallKind(None, "arguments", "json", "provider"),
}
ARGUMENT_EVENTS = {
    "response.function_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
    "response.mcp_call_arguments": "arguments",
    "response.code_interpreter_call_code": "code",
}
"""The events of a call's arguments without `.delta` and `.done`, and the field of the whole in the latter."""
OF_EVENTS = {
    "response.output_text": "message",
    "response.refusal": "message",
    "response.reasoning_text": "reasoning",
    "response.reasoning_summary_text": "reasoning",
    "response.function_call_arguments": "function_call",
    "response.custom_tool_call_input": "custom_tool_call",
    "response.mcp_call_arguments": "mcp_call",
    "response.code_interpreter_call_code": "code_interpreter_call",
}
"""The types of the items that have these events."""
BEGIN_EVENTS = frozenset({"response.created", "response.queued", "response.in_progress"})
END_EVENTS = frozenset(f"response.{how}" for how in ("completed", "incomplete", "failed", "cancelled", "done"))
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
    "execution",
    "environment",
    "pending_safety_checks",
)
# xAI's search of X comes as a custom tool's call, which xAI runs itself.
_XAI_OWN = "xs_call_"


def call_kind(item: Fields) -> CallKind | None:
    """Return the kind of a call item; None for other items."""
    kind = CALLS.get(str(item.get("type")))
    if kind is None:
        return None
    if kind.name == "tool_search" and item.get("execution") == "client":
        return kind._replace(executed_by="client")
    if kind.name == "shell":
        # A container is the provider's; without an environment, the application runs the commands on its own machine.
        place = (fields_of(item.get("environment")) or {}).get("type")
        return kind if place in (None, "local") else kind._replace(executed_by="provider")
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
    given: Any = item.get(kind.field)
    if isinstance(given, str):
        return given
    if kind.name == "computer":
        given = {name: item[name] for name in ("action", "actions") if item.get(name)}
    elif kind.name == "file_search":
        given = {"queries": given} if given else None
    plain: Any = plain_json(given)
    if kind.name == "web_search" and (action := fields_of(plain)):
        plain = {key: value for key, value in action.items() if key != "sources"}  # which are a result
    return _compact(plain) if plain else ""


def written_command(text: str, *, is_first: bool, is_new: bool) -> str:
    r"""Return a piece of a shell's command as it stands in the call's arguments, before the item has them.

    >>> written_command('echo "', is_first=True, is_new=True), written_command("ls", is_first=False, is_new=True)
    ('{"commands":["echo \\"', '","ls')
    """
    before = '{"commands":["' if is_first else '","' if is_new else ""
    return before + json.dumps(text, ensure_ascii=False)[1:-1]


def written_end(item: Fields) -> str:
    """Return the end of a shell's arguments whose commands were written: the limits of time and output.

    >>> written_end({"action": {"commands": ["ls"], "timeout_ms": 5}})
    '"],"timeout_ms":5}'
    """
    action = fields_of(plain_json(item.get("action"))) or {}
    limits = {key: value for key, value in action.items() if key != "commands"}
    return '"],' + _compact(limits)[1:] if limits else '"]}'


def _compact(plain: Any) -> str:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


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
