"""Assign events of an OpenAI Response to output items, whatever servers do to indexes and ids."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, convert, to_builtins

from ..fields.sdk_fields import Fields
from ..fields.surrogates import without_halves
from ..repeats.shown_text import ShownText, rest_of
from .responses_items import CALLS, item_ids


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
