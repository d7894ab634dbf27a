"""Output items of an OpenAI Response: kinds, calls, token counts, and to which item an event belongs."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from msgspec import Struct, convert, to_builtins

from ...events.chunk_response import ArgumentsKind, CallStatus, ExecutedBy, ProviderEventKind, TokenUsage
from ..base.response import token_count
from ..base.sdk_fields import EventKinds, Fields, fields_of, plain_json, says_something, without_halves
from ..base.shown_text import ShownText, rest_of
from .wire import KEYS

OF_EVENT: EventKinds = {"response.image_generation_call.partial_image": "file"}
"""Kinds of events that belong to no item's end; other unknown ones are `raw`."""
OUTPUT = "_output"
"""The end of an item's type for what a tool of the provider returned: `shell_call_output` and the like."""
OF_ITEM: EventKinds = {
    "additional_tools": "other",
    "compaction": "compaction",
    "image_generation_call": "file",
    "mcp_approval_response": "other",
    "mcp_list_tools": "other",
}
"""Kinds of items; an item of another type, which is no call either, is `raw`."""
WITH_RESULT = frozenset(("code_interpreter_call", "file_search_call", "mcp_call", "web_search_call"))
"""Items that are a call that the provider runs and, at their end, its result."""
OF_RESPONSE: EventKinds = {
    "moderation": "safety",
    "content_filters": "safety",
    "conversation": "other",
    "image": "other",
}
"""Kinds of the keys of the final response."""

_READ_OF_RESPONSE = frozenset(("id", "model", "status", "usage", "output", "error", "incomplete_details"))
_NOT_UNKNOWN_OF_RESPONSE = _READ_OF_RESPONSE | OF_RESPONSE.keys() | KEYS.left_out("response.*: response")


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


def responses_usage(given: Any) -> TokenUsage | None:
    """Read a usage object; None for what is none.

    >>> responses_usage({"input_tokens": 5, "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 2}})
    TokenUsage(prompt=5, completion=3, total=8, cached=0, reasoning=2)
    """
    fields = fields_of(given)
    if fields is None:
        return None
    prompt, completion = token_count(fields, "input_tokens"), token_count(fields, "output_tokens")
    total = token_count(fields, "total_tokens") or prompt + completion
    cached = token_count(fields_of(fields.get("input_tokens_details")) or {}, "cached_tokens")
    reasoning = token_count(fields_of(fields.get("output_tokens_details")) or {}, "reasoning_tokens")
    return TokenUsage(prompt, completion, total, cached, reasoning)


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


class OutputItem(Struct):
    """One item; `parts`: what was shown of its texts, by their keys; `is_begun`: whether its call has begun."""

    number: int
    kind: str = ""
    """The item's type, once an event has contained the item itself."""
    heard: str = ""
    """The item's type, as its other events tell it."""
    name: str = ""
    """The name of its call, where only the end of the arguments has it."""
    ids: list[str] = []  # msgspec gives each instance its own
    parts: dict[str, ShownText] = {}
    annotations: list[Any] = []
    """The annotations that came, which the item's end repeats."""
    last_part: str = ""
    is_begun: bool = False
    call_id: str | None = None
    """The id of the item's call, as it began: ids may change."""
    ended: bool = False

    def shown(self, kind: str) -> list[ShownText]:
        """Return what was shown of the texts of one kind, which is the begin of their keys."""
        return [each for key, each in self.parts.items() if key.startswith(kind)]

    def unsaid(self, kind: str, texts: list[str]) -> list[tuple[str, str]]:
        """Return what was not shown of the whole texts of one kind, with the keys of their parts.

        Servers count parts in several ways: the texts are compared as one. What differs was shown in another form.
        """
        texts = [without_halves(text) for text in texts]
        whole, shown = "".join(texts), self.shown(kind)
        rest = rest_of(shown, whole)
        if not rest:
            return []
        at = len(whole) - len(rest)
        found: list[tuple[str, str]] = []
        for place, text in enumerate(texts):
            if len(text) > at:
                key = f"{kind}{place}"
                found.append((self.last_part if at > 0 else key + " " * (key in self.parts), text[max(at, 0) :]))
            at -= len(text)
        return found


class OutputItems:
    """The items in the order in which they were first seen; `number` is unique, and the key of the item's call.

    - A known id identifies the item. Ids may be missing, and may change with every event; a call's `call_id` also
      counts.
    - Otherwise the `output_index` identifies the item last seen there; servers leave it out, or use one for several
      items. An item added at an index that is in use is a new item, and so is the end of an item of another type.
    """

    def __init__(self) -> None:
        self._items: list[OutputItem] = []
        self._by_id: dict[str, OutputItem] = {}
        self._by_index: dict[int | str | None, OutputItem] = {}

    def added(self, event: Fields, fields: Fields) -> tuple[OutputItem, bool]:
        """Return the item that an event adds, and whether it is new."""
        item = self.known(fields)
        if item is not None:
            return item, False
        item = self._at(event)
        if item is None or item.kind:
            item = self._new(event)
        return self._identified(item, fields), True

    def ended(self, event: Fields, fields: Fields) -> OutputItem:
        """Return the item that an event ends."""
        item = self.known(fields)
        if item is None:
            item = self._at(event)
            is_over = item is not None and item.ended and bool(item_ids(fields))
            if item is None or is_over or item.kind not in ("", fields.get("type")):
                item = self._new(event)
        return self._identified(item, fields)

    def speaks(self, event: Fields, kind: str = "") -> tuple[OutputItem, bool]:
        """Return the item of a delta event, and whether it is new; `kind`: the type of item that has such events."""
        item, is_new = self._speaker(event, kind)
        if is_new:
            item.heard = kind
        return item, is_new

    def heard(self, kind: str) -> OutputItem | None:
        """Return the first item of a type of which only deltas have come."""
        return next((item for item in self._items if not item.kind and not item.ended and item.heard == kind), None)

    def named(self) -> list[OutputItem]:
        """Return the items whose calls have a name and have not begun."""
        return [item for item in self._items if item.name and not item.is_begun]

    def _speaker(self, event: Fields, kind: str) -> tuple[OutputItem, bool]:
        item_id = event.get("item_id")
        item_id = without_halves(item_id) if isinstance(item_id, str) and item_id else None
        item = None if item_id is None else self._by_id.get(item_id)
        if item is not None:
            return item, False
        item = self._at(event)
        is_another = item is not None and is_call(kind) and not is_call(item.kind or item.heard or kind)
        if item is not None and not (item.ended and item_id) and not is_another:
            return item, False
        item = self._new(event)
        if item_id is not None:
            item.ids.append(item_id)
            self._by_id[item_id] = item
        return item, True

    def with_id(self, item_id: str) -> OutputItem | None:
        return self._by_id.get(item_id)

    def known(self, fields: Fields) -> OutputItem | None:
        """Return the item that shares an id with the given item, or None."""
        return next((self._by_id[given] for given in item_ids(fields) if given in self._by_id), None)

    def at(self, index: int) -> OutputItem | None:
        return self._by_index.get(index)

    def numbered(self, number: int) -> OutputItem:
        return self._items[number]

    def ended_types(self) -> set[str]:
        """Return the types of the items that have ended, or of which only deltas have come."""
        return {item.kind or item.heard for item in self._items if item.ended or not item.kind}

    def dump(self) -> Any:
        return [to_builtins(self._items), [[index, item.number] for index, item in self._by_index.items()]]

    def load(self, state: Any) -> None:
        items, indexes = state
        self._items = convert(items, list[OutputItem])
        self._by_index = {index: self._items[number] for index, number in indexes}
        self._by_id = {given: item for item in self._items for given in item.ids}

    def _at(self, event: Fields) -> OutputItem | None:
        return self._by_index.get(_index(event))

    def _new(self, event: Fields) -> OutputItem:
        item = OutputItem(len(self._items))
        self._items.append(item)
        self._by_index[_index(event)] = item
        return item

    def _identified(self, item: OutputItem, fields: Fields) -> OutputItem:
        item.kind = without_halves(str(fields.get("type")))
        for given in item_ids(fields):
            if given not in self._by_id:
                self._by_id[given] = item
                item.ids.append(given)
        return item


def is_call(kind: str) -> bool:
    """Return whether items of a type are calls."""
    return kind in CALLS


def _index(event: Fields) -> int | str | None:
    index = event.get("output_index")
    return index if isinstance(index, int | str) and not isinstance(index, bool) else None
