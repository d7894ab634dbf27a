"""The messages of a chat completion: what `choices[n].message` would be without `stream=True`."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct, field

from ...operators.engine.state import Stateful
from ..base.answers import Choices, MessageChoices
from ..base.kept_message import CallPlaces, Joined, joined, set_json, wire_fields
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json, plain_object
from ..base.shown_text import new_of_message
from .machine import TYPE as LANGCHAIN_TYPE
from .machine import chat_chunk
from .parts import KEYS, is_of_tool, text_delta, unsaid_calls

_OWN = frozenset({"index", "id", "type", "function", "custom"})
_INNER = {"function": "arguments", "custom": "input"}
"""The key of the text of a call, by its type."""
_LEGACY = "function_call"


class _Call(Struct):
    """One call: what is beside its function in `outer`, and its function."""

    kind: str
    outer: Joined
    inner: Joined


class ChatCalls(Stateful):
    """Joins the calls of a message, each from the pieces that `CallTracker` gives it."""

    STATE = ("_calls", "_places")

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}
        self._places = CallPlaces()

    def add(self, delta: Fields) -> None:
        """Add the calls of a delta; only where there are none, the one call of the older form."""
        given = entries_of(delta.get("tool_calls"))
        for each in map(wire_fields, given):
            if each is not None:
                kind = "custom" if any((wire_fields(each.get("custom")) or {}).values()) else "function"
                self._add(_key(each.get("index")), each, kind, wire_fields(each.get(kind)) or {})
        legacy = wire_fields(delta.get(_LEGACY))
        if not given and legacy:
            self._add(_LEGACY, {}, _LEGACY, legacy)

    def add_unsaid(self, message: Fields) -> None:
        """Add the calls of a whole message that no delta had."""
        self.add(unsaid_calls(self._places.tracker, message))

    def whole(self) -> dict[str, Any]:
        """Return the fields of the message that have the calls."""
        found = list(self._calls.values())
        calls = [_whole_call(call) for call in found if call.kind != _LEGACY]
        legacy = [call.inner.whole() for call in found if call.kind == _LEGACY]
        return ({"tool_calls": calls} if calls else {}) | ({_LEGACY: legacy[-1]} if legacy else {})

    def new_part(self, _name: str, state: Any, /) -> Any:
        return _Call("", Joined(), Joined()) if "outer" in state else Joined()

    def _add(self, key: int | str | None, given: Fields, kind: str, function: Fields) -> None:
        given_id, text = _word(given.get("id")), _INNER.get(kind, "arguments")
        arguments = function.get(text)
        number, name = self._places.of(key, call_id=given_id, name=_word(function.get("name")), text=arguments)
        if number < 0:
            return
        call = self._calls.get(number)
        if call is None:
            call = self._calls[number] = _Call(kind, Joined(), Joined())
        outer, inner = call.outer, call.inner
        if given_id:
            outer.fields.setdefault("id", given_id)
        if name:
            inner.fields["name"] = name
        outer.add({key: value for key, value in given.items() if key not in _OWN}, ())
        if arguments is not None:
            inner.text(text, arguments if isinstance(arguments, str) else _dumped(arguments))
        inner.add({key: value for key, value in function.items() if key not in (text, "name")}, ())


def _whole_call(call: _Call) -> dict[str, Any]:
    inner = call.inner.whole()
    inner.setdefault(_INNER[call.kind], "")
    return {**call.outer.whole(), "type": call.kind, call.kind: inner}


def _key(index: Any) -> int | str | None:
    if isinstance(index, float) and index.is_integer():
        return int(index)
    return index if isinstance(index, int | str) else None


def _word(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return plain_json(value) if isinstance(value, str) and value and value != "null" else None


def _dumped(arguments: Any) -> str:
    return json.dumps(plain_json(arguments), ensure_ascii=False, separators=(",", ":"))


_KEPT = KEYS.left_out("choices.delta")
"""The keys of a delta that are no text in pieces: of these strings the last counts."""
_SUMMARY = "summary"
_SIGNED = "summary."
"""The key of what the entries of a summary have besides their text."""
_DETAIL_TEXTS = frozenset({"text", "summary", "data"})
_AUDIO_TEXTS = frozenset({"data", "transcript"})
_CALLS = frozenset({"tool_calls", "function_call"})


class _Message(Struct):
    """One message. `parts`: its content, where that is a list; `details` by type and index."""

    plain: Joined = field(default_factory=Joined)
    calls: ChatCalls = field(default_factory=ChatCalls)
    audio: Joined | None = None
    parts: list[Joined] | None = None
    details: dict[str, Joined] | None = None


class ChatMessages(Stateful):
    """Joins the deltas of chat completions, of OpenAI, Mistral and compatible servers.

    - Texts are joined, those under unknown keys, too, and so are calls, by index and id, and reasoning details, by
      index and type. Lists grow. Of any other field the last value counts.
    - Content of typed parts stays a list: neighbouring texts are one part, and so is thinking, Mistral's and
      Databricks'.
    """

    STATE = ("_messages", "_reader", "_snapshots")

    def __init__(self, choices: Choices = 0) -> None:
        self._reader = MessageChoices(choices)
        self._messages: dict[int, _Message] = {}
        self._snapshots: dict[int, dict[str, Any]] = {}
        """What came of messages in place of deltas, by choice."""

    def feed(self, item: Any, /) -> None:
        chunk = fields_of(item)
        if chunk is None:
            if isinstance(item, list):
                for each in entries_of(item):
                    self.feed(each)
            return
        if "choices" not in chunk:  # Mistral's SDK wraps its chunks in events
            is_langchains = chunk.get("type") == LANGCHAIN_TYPE
            chunk = chat_chunk(chunk, {}) if is_langchains else fields_of(chunk.get("data")) or {}
        valid = [each for each in map(fields_of, entries_of(chunk.get("choices"))) if each is not None]
        for number, choice in self._reader.read(valid, lambda position: plain_object(valid[position])):
            self._add(number, choice)

    def messages(self) -> dict[int, Any]:
        for number, choice in self._reader.rest():
            self._add(number, choice)
        return {number: _whole(message) for number, message in self._messages.items()}

    def new_part(self, _name: str, state: Any, /) -> Any:
        return _NEW_PARTS[frozenset(state)]()

    def _add(self, number: int, choice: Fields) -> None:
        delta = wire_fields(choice.get("delta")) or text_delta(choice)
        message = wire_fields(choice.get("message"))
        if delta is None and message and (number in self._snapshots or number not in self._messages):
            delta = new_of_message(message, self._snapshots.setdefault(number, {}))
            message = None
        if delta is not None and not is_of_tool(delta):
            if (kept := self._messages.get(number)) is None:
                kept = self._messages[number] = _Message()
            _add_delta(kept, delta)
        if message and choice.get("finish_reason") and number in self._messages:
            _add_whole(self._messages[number], message)


def _add_whole(kept: _Message, message: Fields) -> None:
    """Add what deltas did not have of a whole message: the rest of its texts, and calls."""
    kept.calls.add_unsaid(message)
    for name, value in message.items():
        is_text = isinstance(value, str) and name not in _KEPT and (name != "content" or kept.parts is None)
        if is_text and value.startswith(joined(kept.plain.texts.get(name, []))):
            kept.plain.texts[name] = [value]


def _add_delta(message: _Message, delta: Fields) -> None:
    for name, value in delta.items():
        if isinstance(value, str) and name not in _KEPT:
            if name == "content" and message.parts is not None:
                _add_part(message.parts, {"type": "text", "text": value})
            else:
                message.plain.text(name, value)
        elif value is None or name in _CALLS:
            continue
        elif name == "content":
            parts = _parts(message)
            for part in map(wire_fields, entries_of(value)):
                _add_part(parts, part or {})
        elif name == "reasoning_details":
            _add_details(message, value)
        elif name == "audio":
            message.audio = message.audio or Joined()
            message.audio.add(wire_fields(value) or {}, _AUDIO_TEXTS)
        else:
            _add_other(message.plain.fields, name, value)
    if delta.get("tool_calls") or delta.get("function_call"):
        message.calls.add(delta)


def _add_other(fields: dict[str, Any], name: str, value: Any) -> None:
    value, before = set_json(value), fields.get(name)
    kinds = (value.__class__, before.__class__)
    if kinds == (list, list):
        before += value
    elif kinds == (dict, dict):
        before |= value
    else:
        fields[name] = value


def _parts(message: _Message) -> list[Joined]:
    """Return the parts of the content, which is a list from now on; the text so far is the first part."""
    if message.parts is None:
        message.parts = []
        for piece in message.plain.texts.pop("content", []):
            _add_part(message.parts, {"type": "text", "text": piece})
    return message.parts


def _add_part(parts: list[Joined], part: Fields) -> None:
    kind = part.get("type")
    pieces = [part.get("text")]
    rest = {name: value for name, value in part.items() if name not in ("text", "thinking", _SUMMARY)}
    if kind == "reasoning":
        pieces = _texts(part.get(_SUMMARY))
        signed = map(wire_fields, entries_of(part.get(_SUMMARY)))
        rest[_SIGNED] = {name: each for entry in signed if entry for name, each in entry.items() if name != "text"}
    elif kind == "thinking":
        thinking = part.get("thinking")
        pieces = [thinking] if isinstance(thinking, str) else _texts(thinking)
    elif kind != "text":
        if part:
            parts.append(Joined(set_json(part)))
        return
    name = str(kind)
    if not parts or parts[-1].fields.get("type") != kind:
        if not any(pieces):
            return
        parts.append(Joined())
    if _SIGNED in rest:
        rest[_SIGNED] = parts[-1].fields.get(_SIGNED, {}) | rest[_SIGNED]
    parts[-1].add(rest, ())
    for piece in pieces:
        parts[-1].text(name, piece)


def _texts(thinking: Any) -> list[Any]:
    return [part.get("text") for part in map(fields_of, entries_of(thinking)) if part]


def _add_details(message: _Message, given: Any) -> None:
    details = message.details = message.details or {}
    for each in map(wire_fields, entries_of(given)):
        if each is None:
            continue
        key = f"{each.get('type')} {each.get('index')}"
        known = details.get(key)
        if known is not None and (other := each.get("id")) and known.fields.get("id") not in (None, other):
            key = f"{key} {other}"
            known = details.get(key)
        if known is None:
            known = details[key] = Joined()
        known.add(each, _DETAIL_TEXTS)


def _whole(message: _Message) -> dict[str, Any]:
    whole = {"role": "assistant", **message.plain.whole()}
    whole["role"] = whole["role"] or "assistant"  # some servers send an empty one
    if message.parts is not None:
        whole["content"] = [_whole_part(part) for part in message.parts]
    if message.details is not None:
        whole["reasoning_details"] = [detail.whole() for detail in message.details.values()]
    if message.audio is not None:
        whole["audio"] = message.audio.whole()
    return whole | message.calls.whole()


def _whole_part(part: Joined) -> dict[str, Any]:
    whole = part.whole()
    if "thinking" in part.texts:
        whole["thinking"] = [{"type": "text", "text": whole["thinking"]}]
    if "reasoning" in part.texts:
        whole[_SUMMARY] = [{**whole.pop(_SIGNED, {}), "text": whole.pop("reasoning")}]
    return whole


_NEW_PARTS: dict[frozenset[str], type[Any]] = {
    frozenset(_Message.__struct_fields__): _Message,
    frozenset(Joined.__struct_fields__): Joined,
    frozenset(ChatCalls.STATE): ChatCalls,
}
"""The parts of a dumped state, by their fields."""
