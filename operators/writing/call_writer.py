"""Write calls by walking a grammar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..grammar.dialect import Alt, Attrs, Back, Call, CallArgs, Dialect, Item, Json, Many, Maybe, Text
from ..grammar.grammar_items import (
    all_items,
    begins_call,
    ends_of,
    holds_several,
    is_for_argument,
    is_only_read,
    leaves_of,
    may_miss,
    takes_key,
    without_separator,
)
from .render_values import (
    CannotRenderError,
    attribute_text,
    check_value,
    flag_text,
    id_text,
    json_call,
    json_calls,
    json_text,
    literal_arguments,
    refuse,
    slot_text,
    value_text,
)

_ONLY_READ: Final = frozenset(("content", "reasoning", "skip", "flag", "wrong"))
_NO_PLACE: Final = "its grammar has no place for a call"
_LONE_KEY: Final = "input"
"""The name of the argument for a value without a key."""


class CallToRender(NamedTuple):
    """A call to write; `schema` is that of the tool's parameters and determines the types of unquoted values."""

    name: str
    arguments: Mapping[str, Any]
    call_id: str | None = None
    schema: Mapping[str, Any] | None = None


class CallWriter:
    """Walks a grammar once for each block of calls; each slot is filled from the current call."""

    def __init__(self, dialect: Dialect, calls: list[CallToRender], layout: str) -> None:
        self._dialect = dialect
        self._layout = layout
        self._aliases = dialect.spellings
        self._todo = calls
        self._written = 0
        self._call: CallToRender | None = None
        self._left: dict[str, Any] = {}
        """The arguments of the current call that are not written yet."""
        self._key: str | None = None
        self._is_flagged = False
        """Whether an attribute in the text states if the current argument is text."""
        self._back: dict[str, str] = {}
        self._out: list[str] = []
        self._has_keyed_slots = any(takes_key(leaf) for leaf in leaves_of(dialect.grammar))
        """Whether the grammar has slots for arguments and their names."""
        self._lone_keys = {leaf.key or _LONE_KEY for leaf in leaves_of(dialect.grammar) if isinstance(leaf, Text)}
        """The names of arguments whose values have a slot of their own, without a key."""
        self._is_loose = False
        """Whether blanks after the last piece written do not matter."""

    def write(self) -> str:
        grammar = self._dialect.grammar
        if not grammar:
            refuse("the dialect has no grammar for calls")
        for call in self._todo:
            _check(call)
        while self._written < len(self._todo):
            before = self._written
            if not holds_several(grammar):
                self._take()
            self._row(grammar, frozenset())
            self._end_call()
            if self._written == before:
                refuse(_NO_PLACE)
        return "".join(self._out)

    # ------------------------------------------------------------------ the calls

    def _take(self) -> CallToRender:
        """Begin the next call."""
        self._end_call()
        if self._written == len(self._todo):
            refuse("its grammar needs another call")
        call = self._call = self._todo[self._written]
        self._written += 1
        self._left = dict(call.arguments)
        self._back = {}
        return call

    def _end_call(self) -> None:
        if self._left:
            names = ", ".join(map(repr, self._left))
            refuse(f"it has no place for the argument{'s' if len(self._left) > 1 else ''} {names}")
        self._call = None

    @property
    def _at_hand(self) -> CallToRender:
        return self._call if self._call is not None else self._take()

    @property
    def _next(self) -> CallToRender:
        """The current call, or the next one if a header before it has its name."""
        return self._todo[self._written] if self._call is None and self._written < len(self._todo) else self._at_hand

    # ------------------------------------------------------------------ the grammar

    def _row(self, items: Sequence[Item], after: frozenset[str]) -> None:
        """Write a sequence of items; `after` are the items that may follow."""
        for place, item in enumerate(items):
            ends, may_miss = ends_of(items[place + 1 :], self._aliases, self._back)
            self._item(item, ends | after if may_miss else ends)

    def _item(self, item: Item, after: frozenset[str]) -> None:
        if isinstance(item, str):
            self._put(item)
        elif isinstance(item, Text):
            self._text(item, after)
        elif isinstance(item, Json):
            self._json(item)
        elif isinstance(item, CallArgs):
            self._put(literal_arguments(item, self._take_all()), is_loose=False)
            self._is_loose = True
        elif isinstance(item, Attrs):
            self._attrs(item)
        elif isinstance(item, Back):
            self._put(f"{item.before}{self._back.get(item.role, '')}{item.after}")
        elif isinstance(item, Alt):
            self._alternatives(item, after)
        elif isinstance(item, Many):
            self._many(item, after)
        elif isinstance(item, Maybe):
            if self._is_due(item):
                self._row(item.items, after)
        elif isinstance(item, Call):
            if self._take().name != item.name and item.name:
                refuse(f"a call at this place must be one of {item.name!r}")
            if self._is_loose and self._layout:
                self._out.append(self._layout)  # a call that begins with its name gets its own line, too
                self._is_loose = False
            self._row(item.items, after)
            self._end_call()
        else:
            self._row(item, after)

    def _put(self, text: str, *, is_loose: bool = True) -> None:
        """Write a text; `is_loose`: whether blanks beside it do not matter."""
        if is_loose and self._is_loose and self._layout and not text[:1].isspace():
            self._out.append(self._layout)
        self._out.append(text)
        self._is_loose = is_loose

    def _alternatives(self, item: Alt, after: frozenset[str]) -> None:
        refused: CannotRenderError | None = None
        state = self._state()
        ways = [way for way in item.items if not is_only_read(way)]
        for way in ways or item.items:
            try:
                self._row(way if isinstance(way, tuple) else (way,), after)
            except CannotRenderError as error:
                refused = error
                self._restore(state)
            else:
                return
        if refused is not None:
            raise refused

    def _state(self) -> tuple[Any, ...]:
        return len(self._out), self._written, self._call, dict(self._left), self._key, dict(self._back), self._is_loose

    def _restore(self, state: tuple[Any, ...]) -> None:
        length, self._written, self._call, left, self._key, back, self._is_loose = state
        del self._out[length:]
        self._left, self._back = dict(left), dict(back)

    def _many(self, item: Many, after: frozenset[str]) -> None:
        body = item.items
        after |= ends_of(body, self._aliases, self._back).literals
        if begins_call(item) and self._call is None:
            while self._written < len(self._todo):
                before = self._written
                if not any(isinstance(each, Call) for each in all_items(body)):
                    self._take()
                is_last = self._written + (self._call is None) >= len(self._todo)
                self._row(without_separator(body) if is_last else body, after)
                self._end_call()
                if self._written == before:
                    refuse(_NO_PLACE)
        elif any(is_for_argument(leaf) for leaf in leaves_of(body)):
            for key in list(self._left):
                self._key = key
                self._is_flagged = False
                self._row(body, after)
                self._key = None

    def _is_due(self, item: Maybe) -> bool:
        """Return whether an optional item has something to write."""
        for leaf in leaves_of(item.items):
            if isinstance(leaf, Text) and leaf.role in _ONLY_READ:
                return False
            if isinstance(leaf, Text) and leaf.role == "id" and self._at_hand.call_id is None and not leaf.named:
                return False
            if isinstance(leaf, Attrs) and not leaf.roles and not self._for_attributes(leaf):
                return False
        return not begins_call(item) or self._call is not None or self._written < len(self._todo)

    # ------------------------------------------------------------------ the slots

    def _text(self, item: Text, after: frozenset[str]) -> None:
        role = item.role
        if role in _ONLY_READ:
            return
        call = self._next if role == "recipient" else self._at_hand
        if role == "value":
            key = item.key or _LONE_KEY if self._key is None else self._key
            if item.of(call.name, key).role == "skip" or key in dict(item.also):
                refuse(f"the argument {key!r} of {call.name!r} would be read back differently")
            item = item.of(call.name, key)
            after |= frozenset(() if item.section is None else item.section[:1])
            text = value_text(item, key, self._take_argument(key), call.schema, is_flagged=self._is_flagged)
        elif role == "key":
            if self._key is None:
                refuse("its grammar has a parameter name outside of a parameter")
            text = self._key
        else:
            text = id_text(item, call.name, call.call_id, self._written - 1) if role == "id" else call.name
        self._put(slot_text(item, text, after, ignore_case=self._dialect.ignore_case), is_loose=False)
        self._back[role] = text

    def _json(self, item: Json) -> None:
        call = self._at_hand
        written = [json_call(item, call.name, self._take_all(), call.call_id)]
        holds_all = item.root == "array" or bool(item.calls)
        while holds_all and item.name and self._written < len(self._todo):
            call = self._take()
            written.append(json_call(item, call.name, self._take_all(), call.call_id))
        self._put(json_text(json_calls(item, written)))

    def _attrs(self, item: Attrs) -> None:
        # Of a tag around the calls there is nothing to say, but it has its attributes.
        is_around = self._call is None and not begins_call(item)
        values = dict.fromkeys((name for name, _ in item.roles), "") if is_around else self._attributes(item)
        if not values and may_miss(item):
            return
        if not values:
            refuse("its grammar needs an attribute")
        if item.form == "json":
            self._put(f" {json_text(values)}")
            return
        self._put("".join(f" {attribute_text(name, value)}" for name, value in values.items()), is_loose=False)

    def _attributes(self, item: Attrs) -> dict[str, Any]:
        call = self._at_hand
        roles = {role: attribute for attribute, role in item.roles}
        values: dict[str, Any] = {name: allowed[0] for name, allowed in item.fixed if allowed}
        if "name" in roles:
            values[roles["name"]] = self._back["name"] = call.name
        if "id" in roles and call.call_id is not None:
            values[roles["id"]] = call.call_id
        if self._key is not None:
            if not self._key:
                refuse("an empty key cannot be written")
            if "key" in roles:
                values[roles["key"]] = self._back["key"] = self._key
            if "flag" in roles:
                values[roles["flag"]] = flag_text(roles["flag"], self._left[self._key])
                self._is_flagged = True
            if "value" in roles:
                value = self._take_argument(self._key)
                values[roles["value"]] = value_text(Text("value"), self._key, value, call.schema)
        if "arguments" in roles:
            values[roles["arguments"]] = self._take_all()
        for key in [] if self._key is not None else self._for_attributes(item):
            value = self._take_argument(key)
            if key in values:
                refuse(f"the argument {key!r} has a reserved attribute's name")
            values[key] = (
                value if item.form == "json" else value_text(Text("value", typing="schema"), key, value, call.schema)
            )
        return values

    def _for_attributes(self, item: Attrs) -> list[str]:
        """Return the names of the arguments that are written as attributes of their own."""
        needed = [key for key in item.required if key not in dict(item.roles)]
        if self._has_keyed_slots:
            return needed
        roles = dict(item.roles)
        others = [key for key in self._left if key not in roles and key not in self._lone_keys and key not in needed]
        return [*needed, *others]

    def _take_argument(self, key: str) -> Any:
        if key not in self._left:
            refuse(f"its grammar needs the argument {key!r}")
        return self._left.pop(key)

    def _take_all(self) -> dict[str, Any]:
        taken, self._left = self._left, {}
        return taken


def _check(call: CallToRender) -> None:
    if not call.name:
        refuse("the call has no name")
    check_value(call.name, f"the name {call.name!r}")
    check_value(call.call_id, "the id")
    if any(not isinstance(key, str) for key in call.arguments):  # pyright: ignore[reportUnnecessaryIsInstance]
        refuse("an argument name must be a str")
    for key, value in call.arguments.items():
        check_value(key, f"argument {key!r}")
        check_value(value, f"argument {key!r}")
