"""One output item of an OpenAI Response, while it comes."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ..fields.sdk_fields import Fields
from ..fields.surrogates import plain_json
from .joined import Joined, joined, joined_arguments, set_json

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
