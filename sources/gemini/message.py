"""The messages of Google's generateContent stream: the contents of the candidates."""

from __future__ import annotations

import math
from typing import Any

from msgspec import Struct

from ...operators.engine.state import Stateful
from ..base.answers import Choices, MessageChoices
from ..base.kept_message import joined, set_json
from ..base.sdk_fields import Fields, entries_of, plain_json
from .partial_args import json_path_steps
from .wire import base64_text, camel_case, candidates_of, gemini_fields, wire_form, word

_VALUES = ("string_value", "bool_value", "number_value")
_LARGEST_WHOLE = 2**53


class ArgumentLeaf(Struct):
    """A piece of an argument: of a text, or another value."""

    path: str = ""
    text: str | None = None
    value: Any = None


def leaf_of(given: object) -> ArgumentLeaf | None:
    """Return a leaf; None for one without a value, which only ends the text before it."""
    fields = gemini_fields(given) or {}
    path = word(fields.get("json_path")) or ""
    for name in _VALUES:
        value = fields.get(name)
        if isinstance(value, str):
            return ArgumentLeaf(path, value)
        if isinstance(value, bool | int | float):
            return ArgumentLeaf(path, value=_number(value))
    known: Any = getattr(given, "__pydantic_fields_set__", fields)
    return ArgumentLeaf(path) if "null_value" in known else None


def with_leaves(args: Any, leaves: list[ArgumentLeaf]) -> dict[str, Any]:
    """Return arguments with leaves put in by their paths; pieces of a text are joined.

    A leaf whose path does not exist is left out, and an index that leaves a gap counts as the next one.

    >>> with_leaves(None, [ArgumentLeaf("$.to[0]", "An"), ArgumentLeaf("$.to[0]", "n"), ArgumentLeaf("$.n", value=1)])
    {'to': ['Ann'], 'n': 1}
    """
    root: dict[str, Any] = plain_json(args) if isinstance(args, dict) else {}
    pieces: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    for leaf in leaves:
        values[leaf.path] = leaf.value
        if leaf.text is not None:
            pieces.setdefault(leaf.path, []).append(leaf.text)
    for path, value in values.items():
        _put(root, path, joined(pieces[path]) if path in pieces else value)
    return root


def _put(root: dict[str, Any], path: str, value: Any) -> None:
    place: Any = root
    if not (steps := json_path_steps(path)):
        return
    for step, following in zip(steps, (*steps[1:], None), strict=True):
        at: Any = step
        new: Any = value if following is None else [] if isinstance(following, int) else {}
        kinds = (place.__class__, at.__class__)
        if kinds == (list, int):
            if at >= len(place):
                at = len(place)
                place.append(new)
        elif kinds != (dict, str):
            return
        elif at not in place or following is None:
            place[at] = new
        place = place[at]


def _number(value: float) -> Any:
    if isinstance(value, bool) or not math.isfinite(value) or abs(value) > _LARGEST_WHOLE:
        return value
    return int(value) if value == int(value) else value


_OF_TEXT = frozenset({"text", "thought", "thought_signature"})
_STREAMED = frozenset({"partial_args", "will_continue"})


class _Part(Struct):
    """One part: its fields on the wire, a text in pieces, and a call's streamed arguments."""

    fields: dict[str, Any] = {}  # msgspec gives each instance its own
    text: list[str] | None = None
    leaves: list[ArgumentLeaf] | None = None


class _Content(Struct):
    """The parts of one candidate, and the one of the call that goes on.

    `ids`: the parts of calls by id; `empty`: those of calls without arguments, which may come in a part of their own.
    """

    parts: list[_Part] = []
    ids: dict[str, int] = {}
    empty: list[int] = []
    open: int | None = None
    open_id: str | None = None


class GeminiMessages(Stateful):
    """Joins the parts of the candidates.

    - Neighbouring texts of one kind are one part, unless one of them is signed. Empty texts count only if signed.
    - Arguments that are streamed in leaves become the `args` of their call. Signatures are standard base64.
    """

    STATE = ("_contents", "_reader")

    def __init__(self, choices: Choices = 0) -> None:
        self._reader = MessageChoices(choices)
        self._contents: dict[int, _Content] = {}

    def feed(self, item: Any, /) -> None:
        chunk = gemini_fields(item)
        if chunk is None:
            if isinstance(item, list):
                for each in entries_of(item):
                    self.feed(each)
            return
        for number, fields in self._reader.read(*candidates_of(chunk)):
            self._add(number, fields)

    def messages(self) -> dict[int, Any]:
        for number, fields in self._reader.rest():
            self._add(number, fields)
        return {
            number: {"role": "model", "parts": [_whole(part) for part in content.parts]}
            for number, content in self._contents.items()
        }

    def _add(self, number: int, fields: Fields) -> None:
        if (content := self._contents.get(number)) is None:
            content = self._contents[number] = _Content()
        given = gemini_fields(fields.get("content")) or {}
        for each in entries_of(given.get("parts")):
            if part := gemini_fields(each):
                _add(content, part)

    def new_part(self, _name: str, state: Any, /) -> Any:
        if "parts" in state:
            return _Content()
        return _Part() if "leaves" in state else ArgumentLeaf()


def _add(content: _Content, part: Fields) -> None:
    signature = base64_text(part.get("thought_signature"))
    call = gemini_fields(part.get("function_call"))
    if call is not None:
        _add_call(content, part, call, signature)
    elif isinstance(part.get("text"), str) and not any(part[name] for name in part if name not in _OF_TEXT):
        _add_text(content, part, signature)
    elif fields := _wire_part(part, signature):
        content.parts.append(_Part(fields))


def _add_text(content: _Content, part: Fields, signature: str | None) -> None:
    text = part["text"]
    if not text and signature is None:
        return
    fields: dict[str, Any] = {"thought": True} if part.get("thought") else {}
    last = content.parts[-1] if content.parts else None
    if signature is None and last is not None and last.text is not None and last.fields == fields:
        last.text.append(text)
    else:
        content.parts.append(_Part(fields | ({"thoughtSignature": signature} if signature else {}), [text]))


def _add_call(content: _Content, part: Fields, call: Fields, signature: str | None) -> None:
    call_id, goes_on = word(call.get("id")), bool(call.get("will_continue"))
    leaves = [leaf for each in entries_of(call.get("partial_args")) if (leaf := leaf_of(each)) is not None]
    if call.get("name") and (content.open is None or call_id is None or call_id != content.open_id):
        at = content.open = len(content.parts)
        content.open_id = call_id
        content.parts.append(_Part(_wire_part(part, signature)))
        if call_id:
            content.ids[call_id] = at
        if not (leaves or call.get("args")):
            content.empty.append(at)
    else:
        place = _place(content, call_id)
        if place is None:
            if leaves or call.get("args"):
                content.parts.append(_Part(_wire_part(part, signature), leaves=leaves))
            return
        at = place
        fields = content.parts[at].fields
        if signature:
            fields["thoughtSignature"] = signature
        if call.get("args"):
            fields["functionCall"] |= {"args": plain_json(call["args"])}
        if (leaves or call.get("args")) and at in content.empty:
            content.empty.remove(at)
    kept = content.parts[at]
    if leaves or goes_on:
        kept.leaves = kept.leaves or []
        kept.leaves += leaves
    if not goes_on and at == content.open:
        content.open = content.open_id = None


def _place(content: _Content, call_id: str | None) -> int | None:
    """Return the part of the call that a part without a name belongs to."""
    if call_id in content.ids:
        return content.ids[call_id]
    if content.open is not None:
        return content.open
    return content.empty[0] if len(content.empty) == 1 else None


def _wire_part(part: Fields, signature: str | None) -> dict[str, Any]:
    plain = {
        camel_case(name): _wire_call(value) if name in ("function_call", "tool_call") else set_json(wire_form(value))
        for name, value in part.items()
        if value is not None and name != "thought_signature"
    }
    return plain | ({"thoughtSignature": signature} if signature else {})


def _wire_call(given: Any) -> Any:
    """Return a call; nulls in its arguments are the model's."""
    call = gemini_fields(given)
    if call is None:
        return plain_json(given)
    return {
        camel_case(name): plain_json(value) if name == "args" else set_json(wire_form(value))
        for name, value in call.items()
        if value is not None and name not in _STREAMED
    }


def _whole(part: _Part) -> dict[str, Any]:
    whole = dict(part.fields)
    if part.text is not None:
        whole["text"] = joined(part.text)
    if part.leaves is not None:
        call: dict[str, Any] = whole.get("functionCall") or {}
        whole["functionCall"] = {**call, "args": with_leaves(call.get("args"), part.leaves)}
    return whole
