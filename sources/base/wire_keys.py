"""`WireKeys`: what of an API's wire is left out, with the reason, and what its known events have; all else is `raw`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import translate
from functools import cached_property
from re import Match
from types import MappingProxyType
from typing import Any, NamedTuple

from .sdk_fields import Fields, entries_of, fields_of, plain_json, says_something

REPEATED = "repeats what the chunks have already"
"""The reason of what is passed on elsewhere: unlike the rest, it has to be found in the chunks."""
FRAME = "says where data belongs, or of which type it is; a field of the chunk or the event stands for that"
STATE = "a state that something else ends"
TIMES = "times and speeds"
ECHO = "repeats the request"
SERVER = "names the server, the tier or the request"
COUNTS = "details of the token counts and prices; `TokenUsage` has the five counts that all providers share"
SUMS = "added up: a count of `TokenUsage` includes it"
PADDING = "random padding, keep-alives and sequence numbers"
TOKENS = "numbers of tokens, of the text that the chunks have"
LOGPROBS = "only with `logprobs=True`"


class LeftOut(NamedTuple):
    """One place on the wire that is left out, with all below it.

    `where`: the path of keys, without list indexes. Where events have a type, the type stands before it:
    `message_start: message.role`; a type alone means the whole event. `*` stands for any characters.
    """

    api: str
    where: str
    why: str


def rows(why: str, *places: str) -> tuple[tuple[str, str], ...]:
    """Return places that are left out for one reason."""
    return tuple((where, why) for where in places)


_OPEN = "*"
_MOST = 256
"""The most keys that are remembered of an object as left out."""
Read = Callable[[Any], Fields | None]


class _Shape:
    """The known keys of an object, and the shapes of the objects below it; `known` is None if all keys are known."""

    def __init__(self, path: str, names: list[str]) -> None:
        self.path = path
        self.below: dict[str, _Shape] = {}
        known: set[str] = set()
        while names and (name := names.pop(0)) != ")":
            known.add(name)
            if names and names[0] == "(":
                del names[0]
                self.below[name] = _Shape(f"{path}{name}.", names)
        self.known = None if _OPEN in known else known


class WireKeys:
    """The keys of one API's wire.

    - `api`: its name. `left_out`: the places that are left out, each with the reason; see `LeftOut`.
    - `shapes`: the keys of known events that are read, or passed on whole, by the kind of the event; the kind is empty
      where events have none. What else an event has is a stranger. An object's keys stand in brackets behind its own;
      `*` means that its machine looks after unknown keys itself. What is left out is not repeated here.
    """

    def __init__(
        self, api: str, left_out: tuple[tuple[str, str], ...] = (), shapes: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.api = api
        self.rows = tuple(LeftOut(api, where, why) for where, why in left_out)
        self._given = shapes
        self._shapes: dict[str, _Shape] = {}

    def left_out(self, place: str = "") -> frozenset[str]:
        """Return the keys that are left out directly below a place, of an API whose events have no types.

        >>> sorted(WireKeys("a", rows(SERVER, "id", "x_groq.id", "x_groq.seed", "x.y.z")).left_out("x_groq"))
        ['id', 'seed']
        """
        before = f"{place}." if place else ""
        below = (row.where.removeprefix(before) for row in self.rows if row.where.startswith(before))
        return frozenset(key for key in below if "." not in key)

    def has_left_out(self, kind: str) -> bool:
        """Return whether all events of a type are left out.

        >>> WireKeys("a", rows(STATE, "*_call.searching")).has_left_out("web_search_call.searching")
        True
        """
        return self._events(kind) is not None

    @cached_property
    def _events(self) -> Callable[[str], Match[str] | None]:
        return re.compile("|".join(translate(row.where) for row in self.rows if ":" not in row.where) or "(?!)").match

    @cached_property
    def _places(self) -> Callable[[str], Match[str] | None]:
        places = (translate(row.where + below) for row in self.rows for below in ("", ".*"))
        return re.compile("|".join(places) or "(?!)").match

    def strangers(self, kind: str, event: Fields, read: Read = fields_of, spelt: Callable[[str], str] = str) -> Fields:
        """Return what an event of a known kind has under unknown keys, at their places; empty for an unknown kind.

        >>> keys = WireKeys("a", shapes={"delta": "type delta(stop)"})
        >>> keys.strangers("delta", {"type": "delta", "delta": {"stop": "end_turn", "new": 1}})
        {'delta': {'new': 1}}

        `read`: returns the fields of an object, under the names of the shapes; `spelt`: returns a name as the wire has
        it.
        """
        try:
            shape = self._shapes[kind]
        except KeyError:
            if kind not in self._given:
                return {}
            names = re.findall(r"[()]|[^\s()]+", self._given[kind])
            shape = self._shapes[kind] = _Shape(f"{kind}: " if kind else "", names)
        return self._strangers(shape, event, read, spelt)

    def _strangers(self, shape: _Shape, fields: Fields, read: Read, spelt: Callable[[str], str]) -> Fields:
        found: Fields = {}
        known = shape.known
        if known is not None and not known.issuperset(fields):
            for name in fields.keys() - known:
                if self._places(shape.path + name):
                    if len(known) < _MOST:
                        known.add(name)
                elif says_something(plain := plain_json(fields[name])):
                    found[spelt(name)] = plain
        for name, below in shape.below.items():
            value = fields.get(name)
            if not value:
                continue
            if isinstance(value, list):
                inner = [self._strangers(below, each, read, spelt) for each in map(read, entries_of(value)) if each]
                if any(inner):
                    found[spelt(name)] = inner
            elif (given := read(value)) and (rest := self._strangers(below, given, read, spelt)):
                found[spelt(name)] = rest
        return found
