"""Check grammars: items in meaningless places, or items that exclude each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from .dialect import Attrs, Call, CallArgs, Item, Json, Text
from .grammar_items import Leaf, all_items, is_for_argument, is_said, leaves_of, says_name

_OF_CALL: Final = ("name", "id", "key", "value", "wrong")


def fault_of(grammar: Sequence[Item]) -> str:
    """Return the first error in a whole grammar, or an empty text.

    >>> fault_of(("<call>", Call(Call(Json()))))
    'a Call(...) is inside of another'
    """
    calls = [each for each in all_items(grammar) if isinstance(each, Call)]
    if any(isinstance(inner, Call) for call in calls for inner in all_items(call.items)):
        return "a Call(...) is inside of another"
    if "" in all_items(grammar):
        return "a marker is empty"
    if any(isinstance(each, Text) and is_said(each) and each.chars for each in all_items(grammar)):
        return "text of the answer has `chars`, but it may be anything"
    return ""


def fault_of_names(grammar: Sequence[Item]) -> str:
    """Return why nothing in a grammar can be a call or text, or an empty text.

    >>> fault_of_names(("<call>", Json(name=())))
    'a call has arguments and no name; if its text has none, write Call(..., name=...)'
    """
    calls = [each for each in all_items(grammar) if isinstance(each, Call)]
    for own in (each.items for each in calls) if calls else [grammar]:
        is_named = any(each.name and each.items is own for each in calls)
        if any(map(_is_of_call, leaves_of(own))) and not (is_named or any(map(says_name, all_items(own)))):
            return "a call has arguments and no name; if its text has none, write Call(..., name=...)"
    if not any(map(_says_something, all_items(grammar))):
        return "it has no slot for a tool's name or for text; a call without a name in its text is Call(..., name=...)"
    return ""


def _says_something(item: Item) -> bool:
    """Return whether an item is the name of a call, text of the answer, or text that is skipped."""
    if isinstance(item, Call):
        return bool(item.name)
    return is_said(item) or (isinstance(item, Text) and item.role == "skip") or says_name(item)


def fault_of_item(item: Leaf, later: Iterable[Leaf], *, is_inside: bool) -> str:
    """Return what is wrong with an item and those that may follow it in the same call, or an empty text.

    >>> fault_of_item(Json(), [Json()], is_inside=True)
    'JSON or code has all arguments of a call, no other item may; several calls are Many(Call(...))'
    >>> fault_of_item(Text("key"), [], is_inside=False)
    'a name or arguments are outside of Call(...)'
    """
    if not is_inside:
        return "a name or arguments are outside of Call(...)" if _is_of_call(item) else ""
    for other in later:
        if (_has_all(item) and _has_arguments(other)) or (_has_arguments(item) and _has_all(other)):
            return "JSON or code has all arguments of a call, no other item may; several calls are Many(Call(...))"
        if _has_all(item) and not says_name(item) and says_name(other):
            return "the name of a call is behind its arguments; a call begins with its name"
        if _has_arguments(item) and isinstance(other, Text) and other.role == "wrong":
            return "text that fails the call is behind its arguments; it may only stand where they are due"
        if (is_said(item) and _is_of_call(other)) or (_is_of_call(item) and is_said(other)):
            return "text of the answer is inside of a call; put Call(...) round what is the call"
    return ""


def _has_all(item: Leaf) -> bool:
    return isinstance(item, Json | CallArgs)


def _has_arguments(item: Leaf) -> bool:
    return _has_all(item) or is_for_argument(item)


def _is_of_call(item: Leaf) -> bool:
    if isinstance(item, Attrs):
        return any(role in ("name", "key", "id", "arguments") for _, role in item.roles)
    return isinstance(item, Json | CallArgs) or (isinstance(item, Text) and item.role in _OF_CALL)
