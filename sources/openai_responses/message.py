"""The message of an OpenAI Response: its output items."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct

from ...operators.engine.state import Stateful
from ..base.answers import Choices
from ..base.kept_message import Joined, joined, joined_arguments, set_json, wire_fields
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json
from ..base.shown_text import ReplayedEvents
from .items import ARGUMENT_EVENTS, BEGIN_EVENTS, END_EVENTS, OutputItem, OutputItems

COMMAND = "command:"
"""The begin of a key of `texts` that has a command of a shell call."""
_MODELS_OWN = "arguments"
_OF_MESSAGE = {"output_text", "refusal"}
_MESSAGE: dict[str, Any] = {"type": "message", "role": "assistant"}
_REASONING: dict[str, Any] = {"type": "reasoning", "summary": []}


class ResponsesItem(Struct):
    """An item as it was added or as it ended; until it ends, its texts, and its parts by list and number.

    >>> item = ResponsesItem({"type": "function_call", "status": "in_progress"})
    >>> _ = put(item.texts, "arguments", '{"a"', "delta"), put(item.texts, "arguments", ": 1}", "delta")
    >>> item.whole()
    {'type': 'function_call', 'status': 'incomplete', 'arguments': '{"a": 1}'}
    """

    fields: dict[str, Any] = {}  # msgspec gives each instance its own
    texts: dict[str, list[str]] = {}
    parts: dict[str, Joined] = {}
    ended: bool = False

    def part(self, place: str, number: object, *, has_ended: bool = False) -> Joined:
        """Return a part; one that ended under no index is the last one."""
        key = f"{place}:{number}"
        if has_ended and key not in self.parts and not (isinstance(number, int) and number >= 0):
            key = next((each for each in reversed(self.parts) if each.startswith(f"{place}:")), key)
        if (part := self.parts.get(key)) is None:
            part = self.parts[key] = Joined()
        return part

    def whole(self) -> dict[str, Any]:
        """Return the item; one that did not end is put together, and `incomplete`."""
        if self.ended:
            return self.fields
        texts = {
            name: joined_arguments(pieces) if name == _MODELS_OWN else joined(pieces)
            for name, pieces in self.texts.items()
        }
        whole = {**self.fields, **{name: text for name, text in texts.items() if not name.startswith(COMMAND)}}
        if commands := [text for name, text in texts.items() if name.startswith(COMMAND)]:
            action = whole.get("action")
            whole["action"] = {**(action if isinstance(action, dict) else {}), "commands": commands}
        lists: dict[str, list[dict[str, Any]]] = {}
        for key, part in self.parts.items():
            lists.setdefault(key.partition(":")[0], []).append(part.whole())
        whole |= lists
        if "type" not in whole:  # only deltas came
            kinds = {part.fields.get("type") for part in self.parts.values()}
            whole = {**(_MESSAGE if kinds & _OF_MESSAGE else _REASONING), **whole}
        if whole.get("status") == "in_progress":
            whole["status"] = "incomplete"
        return whole


def put(texts: dict[str, list[str]], key: str, text: object, what: str) -> list[str]:
    """Append a delta; the whole text, which comes at its end, replaces what came before. Return the pieces."""
    pieces = texts.setdefault(key, [])
    if isinstance(text, str) and what in ("delta", "done"):
        if what == "done":
            pieces.clear()
        pieces.append(text)
    return pieces


def plain_item(item: Fields) -> dict[str, Any]:
    """Return an item as plain JSON without nulls, except in what the model wrote."""
    return {
        name: plain_json(each) if name == _MODELS_OWN else set_json(each)
        for name, each in item.items()
        if each is not None
    }


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
_PARTS = {
    "response.content_part": ("content", "content_index"),
    "response.reasoning_summary_part": ("summary", "summary_index"),
}
_COMMAND = "response.shell_call_command"
_ABOUT = ("type", "item_id", "output_index", "content_index", "summary_index")
"""The fields of a delta that say which text it belongs to."""


class ResponsesMessage(Stateful):
    """Keeps the output items: those of the response's end, else each as it ended, else what came of it.

    `OutputItems` assigns events to items. An item that did not end has the status `incomplete`.
    """

    STATE = ("_has_begun", "_items", "_kept", "_output", "_replayed")

    def __init__(self, _choices: Choices = 0) -> None:
        self._has_begun = False
        self._items = OutputItems()
        self._replayed = ReplayedEvents()
        self._kept: dict[int, ResponsesItem] = {}
        self._output: list[Any] = []
        self._last: tuple[Any, ...] = ()
        """What the last event was about, if it was a delta; the next one of the same goes into the same `_pieces`."""
        self._pieces: list[str] = []

    def feed(self, item: Any, /) -> None:
        event = fields_of(item) or {}
        if self._replayed.has(event, self._items):
            return
        about = tuple(map(event.get, _ABOUT))
        if about == self._last:
            if isinstance(delta := event.get("delta"), str):
                self._pieces.append(delta)
            return
        self._last = ()
        kind = event.get("type")
        if isinstance(kind, str):
            name, _, what = kind.rpartition(".")
            if name in _TEXTS or name in ARGUMENT_EVENTS:
                self._pieces = self._text(event, name, what)
                self._last = about if what == "delta" else ()
            else:
                self._other(event, kind, name, what)

    def _other(self, event: Fields, kind: str, name: str, what: str) -> None:
        if name in _PARTS:
            self._part(event, *_PARTS[name])
        elif name == _COMMAND:
            key = f"{COMMAND}{event.get('command_index')}"
            put(self._speaking(event).texts, key, event.get("delta" if what == "delta" else "command"), what)
        elif name == "response.output_text.annotation":
            self._annotation(event)
        elif name == "response.output_item":
            self._item(event, wire_fields(event.get("item")) or {}, has_ended=what == "done")
        elif kind in BEGIN_EVENTS:
            self._has_begun = True
        elif kind in END_EVENTS:
            self._end(fields_of(event.get("response")) or {})

    def messages(self) -> dict[int, Any]:
        output = self._output or [each.whole() for _, each in sorted(self._kept.items()) if each.fields or each.parts]
        return {0: output} if output or self._has_begun else {}

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._last = ()

    def new_part(self, name: str, state: Any, /) -> Any:
        return Joined() if name == "_kept" and "parts" not in state else ResponsesItem()

    def _end(self, response: Fields) -> None:
        self._has_begun = True
        output = [plain_item(each) for each in map(wire_fields, entries_of(response.get("output"))) if each]
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
            kept.fields, kept.ended = plain_item(fields), has_ended
        if has_ended:
            kept.texts, kept.parts = {}, {}

    def _text(self, event: Fields, name: str, what: str) -> list[str]:
        """Add a text, or a piece of one, and return its pieces so far."""
        item = self._speaking(event)
        if (text := _TEXTS.get(name)) is not None:
            part = item.part(text.place, event.get(text.number), has_ended=what == "done")
            part.fields.setdefault("type", text.kind)
            texts, key = part.texts, text.key
        else:
            texts, key = item.texts, ARGUMENT_EVENTS[name]
        return put(texts, key, event.get("delta" if what == "delta" else key), what)

    def _part(self, event: Fields, place: str, number: str) -> None:
        item = self._speaking(event)
        given = wire_fields(event.get("part")) or {}
        part = item.part(place, event.get(number), has_ended=str(event.get("type")).endswith(".done"))
        part.fields |= {
            name: set_json(each) for name, each in given.items() if each is not None and not part.texts.get(name)
        }

    def _annotation(self, event: Fields) -> None:
        fields = self._speaking(event).part("content", event.get("content_index")).fields
        annotations: Any = fields.get("annotations")
        if annotations.__class__ is not list:
            annotations = fields["annotations"] = []
        annotations.append(set_json(event.get("annotation")))

    def _speaking(self, event: Fields) -> ResponsesItem:
        """Return the item that an event adds to; one that is thrown away for an item that has ended."""
        kept = self._of(self._items.speaks(event)[0])
        return ResponsesItem() if kept.ended else kept

    def _of(self, item: OutputItem) -> ResponsesItem:
        if (kept := self._kept.get(item.number)) is None:
            kept = self._kept[item.number] = ResponsesItem()
        return kept
