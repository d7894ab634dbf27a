"""`MessageKeeper`, a machine that returns the assistant's message with its last chunk; and what joins its pieces.

Objects that come in pieces, the call that a piece belongs to, and the wire's plain JSON without what is null.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable
from functools import lru_cache
from typing import Any, Protocol, cast

from msgspec import Struct
from pydantic_core import from_json

from ...events.chunk_response import ChunkResponse
from ...events.errors import PenstockError
from ...operators.engine.limits import DEFAULT_LIMITS
from ...operators.engine.stage import How
from ...operators.engine.state import Stateful
from .call_keys import ArgumentPieces, Key
from .call_tracker import CallTracker
from .machine import Machine, of_machine
from .sdk_fields import Fields, encodable, plain_json, without_halves


class Messages(Protocol):
    """Takes the same items as a provider's machine, and never raises because of one.

    `messages` returns the message of each choice that came, by its number: what the provider itself would take back,
    whole or cut. Call it once, at the end.
    """

    def feed(self, item: Any, /) -> None: ...
    def messages(self) -> dict[int, Any]: ...
    def dump(self) -> Any: ...
    def load(self, state: Any, /) -> None: ...


class MessageKeeper(Stateful):
    """Feeds a machine and what keeps its messages; the end adds a chunk with the `message` of each choice that came.

        {"choices": [...]}    [ChunkResponse(content="Hi")]
        close(Completed())    [ChunkResponse(message={"role": "assistant", "content": "Hi"}, api="openai-chat")]

    These chunks follow the machine's own, also of an answer that was cut or failed.
    """

    STATE = ("_is_told", "_machine", "_messages", "_model", "_response_id")

    stopped: bool = of_machine("stopped")
    failure: PenstockError | None = of_machine("failure")

    def __init__(self, machine: Machine, messages: Messages, api: str) -> None:
        self._machine = machine
        self._messages = messages
        self._api = api
        self._is_told = False
        self._response_id: str | None = None
        self._model: str | None = None

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        machine = self._machine
        if machine.stopped:
            return machine.feed(item)
        chunks = machine.feed(item)
        self._messages.feed(item)
        self._identify(chunks)
        return chunks + self._told() if machine.stopped else chunks

    def close(self, how: How, /) -> list[ChunkResponse]:
        """Close the machine; return its last chunks, then the messages if they were not returned before."""
        chunks = self._machine.close(how)
        self._identify(chunks)
        return chunks + self._told()

    def _identify(self, chunks: list[ChunkResponse]) -> None:
        if chunks:
            last = chunks[-1]
            self._response_id, self._model = last.response_id, last.model

    def _told(self) -> list[ChunkResponse]:
        if self._is_told:
            return []
        self._is_told = True
        return [
            ChunkResponse(
                response_id=self._response_id,
                model=self._model,
                choice=choice,
                api=self._api,
                message=encodable(message),
            )
            for choice, message in self._messages.messages().items()
        ]


class CallPlaces(Stateful):
    """Numbers the calls of a message; what keys, ids and names mean is `CallTracker`'s to say.

    >>> places = CallPlaces()
    >>> places.of(0, call_id="a", name="f"), places.of(1, text="{"), places.of(0, call_id="b", name="g")
    ((0, 'f'), (0, 'f'), (1, 'g'))
    """

    STATE = ("tracker",)

    def __init__(self) -> None:
        self.tracker = CallTracker(str)

    def of(self, key: Key, *, call_id: object = None, name: object = None, text: object = None) -> tuple[int, str]:
        """Return the number of the call that a piece belongs to, and its name so far."""
        tracker = self.tracker
        if not (call_id or name) and (found := tracker.goes_on(key)) is not None:
            return found
        tracker.delta(key, call_id=call_id, name=name, arguments=text)
        tracker.pending_deltas()
        return tracker.speaker

    def end(self, key: Key) -> None:
        self.tracker.done(key)


class Joined(Struct):
    """An object whose texts are joined at the end; of its other fields the last value counts.

    >>> block = Joined()
    >>> block.add({"type": "text", "text": "Hel", "id": None}, texts=("text",))
    >>> block.add({"text": "lo"}, texts=("text",))
    >>> block.whole()
    {'type': 'text', 'text': 'Hello'}
    """

    fields: dict[str, Any] = {}  # msgspec gives each instance its own
    texts: dict[str, list[str]] = {}

    def add(self, given: Fields, texts: Collection[str]) -> None:
        """Add the fields of a piece; null counts as missing."""
        for name, value in given.items():
            if name in texts and isinstance(value, str):
                self.text(name, value)
            elif value is not None:
                self.fields[name] = set_json(value)

    def text(self, name: str, piece: object) -> None:
        """Append a piece of a text; anything else is ignored."""
        if not isinstance(piece, str):
            return
        if (pieces := self.texts.get(name)) is None:
            pieces = self.texts[name] = []
        pieces.append(piece)

    def whole(self) -> dict[str, Any]:
        texts = {
            name: joined_arguments(pieces) if name in _ARGUMENTS else joined(pieces)
            for name, pieces in self.texts.items()
        }
        return {**self.fields, **texts}


class Blocks(Stateful):
    """The blocks of a message; a piece finds its own by its key, one of an input by what `CallPlaces` says.

    >>> blocks = Blocks()
    >>> blocks.begin("0", Joined({"type": "text"})) is blocks.at("0"), blocks.at("1")
    (True, None)
    """

    STATE = ("_by_key", "_calls", "_places", "all")

    def __init__(self) -> None:
        self.all: list[Joined] = []
        self._by_key: dict[str, int] = {}
        self._places = CallPlaces()
        self._calls: dict[int, int] = {}
        """The blocks of the calls, by their numbers."""

    def begin(self, key: str, block: Joined) -> Joined:
        self._by_key[key] = len(self.all)
        self.all.append(block)
        return block

    def begin_call(self, key: str, *, call_id: object, name: object, text: object = None) -> None:
        """Note that the block that began last is that of a call."""
        number, _ = self._places.of(key, call_id=call_id, name=name, text=text)
        self._calls[number] = len(self.all) - 1

    def at(self, key: str) -> Joined | None:
        return None if (number := self._by_key.get(key)) is None else self.all[number]

    def of_input(self, key: str, text: object) -> Joined | None:
        """Return the block of the call that a piece of an input belongs to, if that call has begun."""
        number, _ = self._places.of(key, text=text)
        return None if (block := self._calls.get(number)) is None else self.all[block]

    def end(self, key: str) -> None:
        self._places.end(key)

    def forget(self, key: str) -> None:
        """Let a piece with this key begin a new block."""
        self._by_key.pop(key, None)

    def forget_keys(self) -> None:
        """Begin a message whose keys are new, and whose blocks follow."""
        self._by_key, self._calls, self._places = {}, {}, CallPlaces()

    def new_part(self, _name: str, _state: Any, /) -> Joined:
        return Joined()


_ARGUMENTS = frozenset({"arguments", "partial_json"})
"""The keys of texts that are the JSON arguments of a call."""


def joined(pieces: list[str]) -> str:
    """Return the text of pieces; a surrogate pair may be split between two of them."""
    return without_halves("".join(pieces))


def joined_arguments(pieces: list[str]) -> str:
    """Return the text of a call's arguments, of which some servers send pieces again.

    >>> joined_arguments(['{"a"', ": 1}", '{"a": 1}']), joined_arguments(['{"a', '{"a": 1}'])
    ('{"a": 1}', '{"a": 1}')
    """
    if any(piece.startswith("{") for piece in pieces[1:]):
        said = ArgumentPieces()
        news = ((piece, said.new_of(piece, DEFAULT_LIMITS)) for piece in pieces)
        pieces = [piece if new is None else new for piece, new in news]
    return joined(pieces)


def wire_fields(value: Any) -> Fields | None:
    """Return the fields that were set, under the wire's names, which an SDK's object may spell differently.

    >>> wire_fields({"a": None}), wire_fields(5)
    ({'a': None}, None)
    """
    if isinstance(value, dict):
        return cast("Fields", value)
    known: set[str] | None = getattr(value, "__pydantic_fields_set__", None)
    if known is None:
        return None
    fields: Fields = value.__dict__
    names = _wire_names(cast("Hashable", type(value)))
    found = {names.get(name, name): each for name, each in fields.items() if name in known}
    extras: Fields | None = getattr(value, "__pydantic_extra__", None)
    return {**found, **extras} if extras else found


def set_json(value: Any) -> Any:
    """Return JSON data, or an SDK's object, as plain JSON without the fields that are null.

    >>> set_json({"a": None, "b": [{"c": None}, None]})
    {'b': [{}, None]}
    """
    try:
        return _set_json(value)
    except RecursionError:
        return plain_json(value)  # which says that it is nested too deeply


def json_as_far_as_it_came(text: str) -> Any:
    """Return the value of a JSON text that may be cut; text that is not JSON is wrapped as `{"INVALID_JSON": text}`.

    >>> json_as_far_as_it_came('{"a": 1, "b": ["x", "y'), json_as_far_as_it_came("<a>")
    ({'a': 1, 'b': ['x']}, {'INVALID_JSON': '<a>'})
    """
    try:
        return plain_json(json.loads(text))
    except (ValueError, RecursionError):
        pass
    try:
        return from_json(text, allow_partial=True)
    except ValueError:
        return {"INVALID_JSON": text}


def _set_json(value: Any) -> Any:
    if isinstance(value, str | int | float):
        return plain_json(value)
    if isinstance(value, list):
        return [_set_json(each) for each in cast("list[object]", value)]
    fields = wire_fields(value)
    if fields is None:
        return plain_json(value)
    return {without_halves(str(name)): _set_json(each) for name, each in fields.items() if each is not None}


@lru_cache(maxsize=1024)
def _wire_names(kind: Hashable) -> dict[str, str]:
    """Return the wire's names of the fields of an SDK's type, of those that have another one."""
    fields: dict[str, Any] = getattr(kind, "__pydantic_fields__", {})
    return {name: str(each.alias) for name, each in fields.items() if each.alias and each.alias != name}
