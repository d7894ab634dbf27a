"""`strangers`: what a known event has under keys that nobody knows; it reaches the chunks as `raw`."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate
from functools import cache
from re import Match
from typing import Any

from .left_out import LEFT_OUT
from .sdk_fields import Fields, entries_of, fields_of
from .shapes import SHAPES
from .surrogates import plain_json, says_something

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


@cache
def _shape(api: str, kind: str) -> _Shape | None:
    given = SHAPES[api].get(kind)
    return None if given is None else _Shape(f"{kind}: " if kind else "", re.findall(r"[()]|[^\s()]+", given))


@cache
def _left_out(api: str) -> Callable[[str], Match[str] | None]:
    rows = [row.where for row in LEFT_OUT if row.api == api]
    return re.compile("|".join(translate(where + below) for where in rows for below in ("", ".*"))).match


def strangers(api: str, kind: str, event: Fields, read: Read = fields_of, spelt: Callable[[str], str] = str) -> Fields:
    """Return what an event of a known kind has under unknown keys, at their places; empty for an unknown kind.

    >>> event = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "new": 1}}
    >>> strangers("anthropic-messages", "message_delta", event)
    {'delta': {'new': 1}}

    `read`: returns the fields of an object, under the names of the shapes; `spelt`: returns a name as the wire has it.
    """
    shape = _shape(api, kind)
    return {} if shape is None else _strangers(api, shape, event, read, spelt)


def _strangers(api: str, shape: _Shape, fields: Fields, read: Read, spelt: Callable[[str], str]) -> Fields:
    found: Fields = {}
    known = shape.known
    if known is not None and not known.issuperset(fields):
        for name in fields.keys() - known:
            if _left_out(api)(shape.path + name):
                if len(known) < _MOST:
                    known.add(name)
            elif says_something(plain := plain_json(fields[name])):
                found[spelt(name)] = plain
    for name, below in shape.below.items():
        value = fields.get(name)
        if not value:
            continue
        if isinstance(value, list):
            inner = [_strangers(api, below, each, read, spelt) for each in map(read, entries_of(value)) if each]
            if any(inner):
                found[spelt(name)] = inner
        elif (given := read(value)) and (rest := _strangers(api, below, given, read, spelt)):
            found[spelt(name)] = rest
    return found
