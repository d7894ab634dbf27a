"""The message of an OpenAI Response: its output items."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct

from ...operators.engine.state import Stateful
from ..machine.choices import Choices
from ..machine.sdk_fields import Fields, entries_of, fields_of
from ..machine.surrogates import plain_json
from ..openai.output_items import OutputItem, OutputItems
from .joined import Joined, joined, set_json, wire_fields


class _Text(NamedTuple):
    """Where a text of an item belongs: to a part in a list of the item, of this type, under this key."""

    place: str
    kind: str
    key: str
    number: str = "content_index"


_TEXTS = {
    "response.output_text": _Text("content", "output_text", "text"),
    "response.refusal": _Text("content", "refusal", "refusal"),
    "response.reasoning_text": _Text("content", "reasoning_text", "text"),
    "response.reasoning_summary_text": _Text("summary", "summary_text", "text", "summary_index"),
}
_ARGUMENTS = {
    "response.function_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
    "response.mcp_call_arguments": "arguments",
    "response.code_interpreter_call_code": "code",
}
_PARTS = {
    "response.content_part": ("content", "content_index"),
    "response.reasoning_summary_part": ("summary", "summary_index"),
}
_COMMAND = "response.shell_call_command"
_BEGINS = frozenset({"response.created", "response.queued", "response.in_progress"})
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_NOT_NULLED = "arguments"
_IS_CUT = {"in_progress": "incomplete"}


class _Item(Struct):
    """One item: as it was added or as it ended, and until it ends its texts and its parts, by list and number."""

    fields: dict[str, Any] = {}  # msgspec gives each instance its own
    texts: dict[str, list[str]] = {}
    parts: dict[str, Joined] = {}
    ended: bool = False


class ResponsesMessage(Stateful):
    """Keeps the output items: those of the response's end, else each as it ended, else what came of it.

    `OutputItems` assigns events to items. An item that did not end has the status `incomplete`.
    """

    STATE = ("_has_begun", "_items", "_kept", "_output")

    def __init__(self, _choices: Choices = 0) -> None:
        self._has_begun = False
        self._items = OutputItems()
        self._kept: dict[int, _Item] = {}
        self._output: list[Any] = []

    def feed(self, item: Any, /) -> None:
        event = fields_of(item) or {}
        kind = event.get("type")
        if not isinstance(kind, str):
            return
        name, _, what = kind.rpartition(".")
        if name in _TEXTS:
            self._text(event, _TEXTS[name], what)
        elif name in _ARGUMENTS:
            key = _ARGUMENTS[name]
            _put(self._speaking(event).texts, key, event.get("delta" if what == "delta" else key), what)
        elif name == _COMMAND:
            key = f"command:{event.get('command_index')}"
            _put(self._speaking(event).texts, key, event.get("delta" if what == "delta" else "command"), what)
        elif name in _PARTS:
            self._part(event, *_PARTS[name])
        elif name == "response.output_text.annotation":
            self._annotation(event)
        elif name == "response.output_item":
            self._item(event, wire_fields(event.get("item")) or {}, has_ended=what == "done")
        elif kind in _BEGINS:
            self._has_begun = True
        elif kind in _ENDS:
            self._end(fields_of(event.get("response")) or {})

    def messages(self) -> dict[int, Any]:
        output = self._output or [_whole(each) for _, each in sorted(self._kept.items()) if each.fields or each.parts]
        return {0: output} if output or self._has_begun else {}

    def new_part(self, name: str, state: Any, /) -> Any:
        return Joined() if name == "_kept" and "parts" not in state else _Item()

    def _end(self, response: Fields) -> None:
        self._has_begun = True
        output = [_plain(each) for each in map(wire_fields, entries_of(response.get("output"))) if each]
        if output:
            self._output = output
            self._kept, self._items = {}, OutputItems()

    def _item(self, event: Fields, fields: Fields, *, has_ended: bool) -> None:
        if not fields:
            return
        item = self._items.ended(event, fields) if has_ended else self._items.added(event, fields)[0]
        item.ended = item.ended or has_ended
        kept = self._of(item)
        if has_ended or not (kept.ended or kept.fields):
            kept.fields, kept.ended = _plain(fields), has_ended
        if has_ended:
            kept.texts, kept.parts = {}, {}

    def _text(self, event: Fields, text: _Text, what: str) -> None:
        item = self._speaking(event)
        part = _part_of(item, text.place, event.get(text.number))
        part.fields.setdefault("type", text.kind)
        _put(part.texts, text.key, event.get("delta" if what == "delta" else text.key), what)

    def _part(self, event: Fields, place: str, number: str) -> None:
        item = self._speaking(event)
        given = wire_fields(event.get("part")) or {}
        part = _part_of(item, place, event.get(number))
        part.fields |= {
            name: set_json(each) for name, each in given.items() if each is not None and not part.texts.get(name)
        }

    def _annotation(self, event: Fields) -> None:
        part = _part_of(self._speaking(event), "content", event.get("content_index"))
        before = part.fields.get("annotations")
        annotation = set_json(event.get("annotation"))
        part.fields["annotations"] = [*(before if isinstance(before, list) else []), annotation]

    def _speaking(self, event: Fields) -> _Item:
        """Return the item that an event adds to; one that is thrown away for an item that has ended."""
        kept = self._of(self._items.speaks(event)[0])
        return _Item() if kept.ended else kept

    def _of(self, item: OutputItem) -> _Item:
        if (kept := self._kept.get(item.number)) is None:
            kept = self._kept[item.number] = _Item()
        return kept


def _part_of(item: _Item, place: str, number: object) -> Joined:
    key = f"{place}:{number}"
    if (part := item.parts.get(key)) is None:
        part = item.parts[key] = Joined()
    return part


def _put(texts: dict[str, list[str]], key: str, text: object, what: str) -> None:
    """Append a delta; the whole text, which comes at its end, replaces what came before."""
    if isinstance(text, str) and what in ("delta", "done"):
        if what == "done" or key not in texts:
            texts[key] = []
        texts[key].append(text)


def _whole(item: _Item) -> dict[str, Any]:
    if item.ended:
        return item.fields
    whole = {**item.fields}
    commands: list[str] = []
    for name, pieces in item.texts.items():
        if name.startswith("command:"):
            commands.append(joined(pieces))
        else:
            whole[name] = joined(pieces)
    if commands:
        action = whole.get("action")
        whole["action"] = {**(action if isinstance(action, dict) else {}), "commands": commands}
    for key, part in item.parts.items():
        place = key.partition(":")[0]
        before = whole.get(place)
        whole[place] = [*(before if isinstance(before, list) else []), part.whole()]
    if "type" not in whole:
        whole = {"type": "message" if "content:0" in item.parts else "reasoning", **whole}
    if whole.get("status") in _IS_CUT:
        whole["status"] = "incomplete"
    return whole


def _plain(item: Fields) -> dict[str, Any]:
    return {
        name: plain_json(each) if name == _NOT_NULLED else set_json(each)
        for name, each in item.items()
        if each is not None
    }
