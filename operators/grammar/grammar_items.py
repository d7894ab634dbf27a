"""Answer questions about the items of a grammar: with what they begin, whether they contain calls or arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from ..machines.marker_search import BLANKS
from .dialect import Alt, Attrs, Back, Call, CallArgs, Item, Json, Many, Maybe, Text

BRACKETS: Final = {"object": "{", "array": "[", "any": "{["}
"""With what JSON begins, by its `root`."""
_SEPARATORS: Final = (",", ";")

Leaf: TypeAlias = str | Text | Json | CallArgs | Attrs | Back


class Ends(NamedTuple):
    """The texts with which some items may begin, and whether all of them may be absent."""

    literals: frozenset[str]
    may_miss: bool


def ends_of(items: Sequence[Item], aliases: Mapping[str, Sequence[str]], back: Mapping[str, str]) -> Ends:
    """Return the texts with which a sequence of items may begin.

    >>> from penstock.operators.grammar.dialect import NAME
    >>> sorted(ends_of((Many(",", NAME), Maybe("]"), ")", "."), {}, {}).literals)
    [')', ',', ']']

    - `aliases`: other spellings of a marker; `back`: the text of the last slot of each role.
    """
    found: frozenset[str] = frozenset()
    for item in items:
        literals, may_miss = _ends(item, aliases, back)
        found |= literals
        if not may_miss:
            return Ends(found, may_miss=False)
    return Ends(found, may_miss=True)


def rows_of(item: Item) -> Sequence[Sequence[Item]]:
    """Return the rows of items in a group: the alternatives of an `Alt`, the items of another group, none of a leaf.

    >>> rows_of(Alt("a", ("b", "c"))), rows_of(Maybe("a", "b")), rows_of("a")
    ([('a',), ('b', 'c')], [('a', 'b')], [])
    """
    if isinstance(item, Alt):
        return [each if isinstance(each, tuple) else (each,) for each in item.items]
    if isinstance(item, Many | Maybe | Call):
        return [item.items]
    return [item] if isinstance(item, tuple) else []


def all_items(items: Iterable[Item]) -> Iterable[Item]:
    """Yield items and all items inside them."""
    for item in items:
        yield item
        for row in rows_of(item):
            yield from all_items(row)


def leaves_of(items: Iterable[Item]) -> Iterable[Leaf]:
    """Return the literals and slots among items, those inside groups included."""
    return (item for item in all_items(items) if isinstance(item, Leaf))


def may_miss(item: Leaf) -> bool:
    """Return whether a slot may be absent, such as attributes of which none is required.

    >>> may_miss(Attrs()), may_miss(Attrs((("name", "key"),)))
    (True, False)
    """
    if not isinstance(item, Attrs) or item.form != "tag":
        return False
    return not (item.needed or item.fixed)


def begins_call(item: Item) -> bool:
    """Return whether a call begins in an item, because the item has its name."""
    return any(isinstance(each, Call) or says_name(each) for each in all_items((item,)))


def is_said(item: Item) -> bool:
    """Return whether an item is text of the answer, rather than part of a call."""
    return isinstance(item, Text) and item.role in ("content", "reasoning")


def is_only_read(item: Item) -> bool:
    """Return whether an item is for text of the answer, or text that is skipped, and has no call."""
    skipped = (isinstance(each, Text) and each.role == "skip" for each in all_items((item,)))
    return not begins_call(item) and (any(map(is_said, all_items((item,)))) or any(skipped))


def holds_several(items: Sequence[Item]) -> bool:
    """Return whether one block of a grammar can hold several calls."""
    return any(
        isinstance(each, Call)
        or (isinstance(each, Many) and begins_call(each))
        or (isinstance(each, Json) and says_name(each) and (each.root == "array" or bool(each.calls)))
        for each in all_items(items)
    )


def is_for_argument(item: Leaf) -> bool:
    """Return whether a slot is for one argument."""
    if isinstance(item, Text):
        return item.role in ("key", "value")
    return isinstance(item, Attrs) and any(role == "key" for _, role in item.roles)


def takes_key(item: Leaf) -> bool:
    """Return whether a slot carries arguments together with their names."""
    if isinstance(item, Text):
        return item.role == "key"
    return isinstance(item, Json | CallArgs) or is_for_argument(item)


def without_separator(body: Sequence[Item]) -> Sequence[Item]:
    """Return the items of a `Many` without a trailing comma, which separates calls but does not follow the last one."""
    last = body[-1]
    is_separator = isinstance(last, Maybe) and len(last.items) == 1 and last.items[0] in _SEPARATORS
    return body[:-1] if is_separator else body


def says_name(item: Item) -> bool:
    """Return whether an item has the tool's name."""
    if isinstance(item, Text):
        return item.role in ("name", "recipient") or bool(item.named)
    if isinstance(item, Json):
        return bool(item.name) or item.sole_key
    return isinstance(item, Attrs) and any(role == "name" for _, role in item.roles)


def _ends(item: Item, aliases: Mapping[str, Sequence[str]], back: Mapping[str, str]) -> Ends:
    literals: Iterable[str] = ()
    if isinstance(item, str):
        literals = (item, *aliases.get(item, ()))
    elif isinstance(item, Back):
        literals = (f"{item.before}{back[item.role]}{item.after}",) if item.role in back else ()
    elif isinstance(item, Json):
        literals = BRACKETS[item.root]
    elif isinstance(item, CallArgs):
        literals = (item.open,)
    elif isinstance(item, Attrs):
        return Ends(frozenset(BLANKS if item.form == "tag" else "{"), may_miss(item))
    elif not isinstance(item, Text):
        ways = [ends_of(row, aliases, back) for row in rows_of(item)]
        is_optional = isinstance(item, Many | Maybe) or any(way.may_miss for way in ways)
        return Ends(frozenset(text for way in ways for text in way.literals), is_optional)
    return Ends(frozenset(literals), may_miss=False)
