"""Answer questions about the items of a grammar: how they begin, what they contain, and what is wrong with them.

`fault_of` finds items in meaningless places, and items that exclude each other. `look_ahead` makes one regular
expression of what may stand behind the opener of a block: most openers in other texts fail at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ..machines.marker_search import BLANK_RUN, BLANKS
from .dialect import Alt, Attrs, Back, Call, CallArgs, Item, Json, Many, Maybe, Text

if TYPE_CHECKING:
    from .compiled_grammar import CompiledGrammar, States


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


_BLANK_RUN: Final = BLANK_RUN.pattern
_PLAIN: Final = r'[^"\\\x00-\x1f]*+(?:\Z|[\\\x00-\x1f]|"'
"""A string up to its end, or up to what is left to the parser."""
_BARE: Final = r"\-|[0-9]|t(?:r|\Z)|f(?:a|\Z)|n(?:u|\Z)"
_IN_OBJECT: Final = rf"""(?:\Z|\}}|"{_PLAIN}{_BLANK_RUN}(?:\Z|:{_BLANK_RUN}(?:\Z|["{{\[]|{_BARE}))))"""
_IN_ARRAY: Final = rf"""(?:\Z|[\]\[]|{_BARE}|\{{{_BLANK_RUN}{_IN_OBJECT}|"{_PLAIN}{_BLANK_RUN}(?:\Z|[,\]])))"""
_IN_JSON: Final = {"{": _BLANK_RUN + _IN_OBJECT, "[": _BLANK_RUN + _IN_ARRAY}
"""What may follow a bracket in JSON, up to the first key or string and what is behind it."""
_IN_ARGUMENTS: Final = rf"{_BLANK_RUN}(?:\Z|\)|[\w$@./-]++{_BLANK_RUN}(?:\Z|=))"
"""What may follow the parenthesis of arguments as code, up to the first name and what is behind it."""


def look_ahead(grammar: CompiledGrammar, opener: str, at: States) -> re.Pattern[str] | None:
    r"""Return what the text behind the opener of a block at some positions must match; None if it may be anything.

    A text that does not match is one at which reading the block would fail before anything of it is certain. It matches
    wherever the text's end leaves that open.

    >>> from penstock.operators.grammar.dialect import NAME, Dialect, Json
    >>> from penstock.operators.grammar.compiled_grammar import CompiledGrammar
    >>> pattern = look_ahead(CompiledGrammar([Dialect("bare", (Json(),))]), "{", (0,))
    >>> [pattern.match(text) is not None for text in ('"name', ' "a" :', '"a" 1', "x")]
    [True, True, False, False]
    >>> pattern = look_ahead(CompiledGrammar([Dialect("tags", ("<", NAME, ">"))]), "<", (0,))
    >>> [pattern.match(text) is not None for text in ("", "f", " f >", "f<", "f g")]
    [True, True, True, False, False]
    """
    if not grammar.is_first(at):
        return None
    if not all(isinstance(grammar.items[here], str) for here in at):
        return re.compile(_IN_JSON[opener]) if all(says_name(grammar.items[here]) for here in at) else None
    if not grammar.last.isdisjoint(at):
        return None
    after = sorted({each for here in at for each in grammar.follow[here]})
    ways = [_begin(grammar, here, after) for here in after]
    if None in ways:
        return None
    ends = {each for here in after if isinstance(grammar.items[here], Text) for each in grammar.follow[here]}
    # A marker may begin with a blank.
    blanks = r"[ \t\r\n]|" if _firsts(grammar, {*after, *ends}) & set(BLANKS) else _BLANK_RUN
    either = "|".join(dict.fromkeys((*filter(None, ways), r"\Z")))
    return re.compile(f"{blanks}(?:{either})")


def opening(item: Json | CallArgs | Attrs) -> str:
    """Return the characters with which JSON, attributes or arguments as code may begin."""
    if isinstance(item, Json):
        return BRACKETS[item.root]
    return item.open if isinstance(item, CallArgs) else "{"


def may_begin(item: object, char: str) -> bool:
    """Return whether a character may be the first one of a text slot."""
    return isinstance(item, Text) and (not item.chars or re.match(f"[{item.chars}]", char) is not None)


def _begin(grammar: CompiledGrammar, here: int, beside: Iterable[int]) -> str | None:
    """Return what may come, behind blanks, at a position that stands beside others; None if it may be anything."""
    item = grammar.items[here]
    if isinstance(item, Attrs | Back) or (isinstance(item, Text) and not item.chars):
        return None
    if isinstance(item, Text):
        return _begin_text(grammar, here, item, beside)
    if isinstance(item, Json) and says_name(item) and grammar.brackets_are_named and not grammar.constant_name((here,)):
        return "|".join(re.escape(each) + _IN_JSON[each] for each in opening(item))
    return _any_of(_firsts(grammar, (here,)))


def _begin_text(grammar: CompiledGrammar, here: int, item: Text, beside: Iterable[int]) -> str | None:
    """Return what may come at a slot for some characters: what ends the slot is waited for, even if it is empty."""
    after = sorted(grammar.follow[here])
    if any(isinstance(grammar.items[each], Attrs | Back | Text) for each in after):
        return None
    ends = _firsts(grammar, after)
    others = (grammar.items[each] for each in beside)
    is_lone = all(each.chars == item.chars for each in others if isinstance(each, Text))
    if item.role != "name" or not is_lone or ends & set(BLANKS) or any(may_begin(item, each) for each in ends):
        return rf"[{item.chars}]|{_any_of(ends)}"
    return rf"[{item.chars}]*+{_BLANK_RUN}(?:\Z|{_code_or_marker(grammar, after)})"


def _code_or_marker(grammar: CompiledGrammar, at: Sequence[int]) -> str:
    """Return what may come behind a name."""
    code = [here for here in at if isinstance(grammar.items[here], CallArgs)]
    kinds = {grammar.items[here] for here in code}
    if len(kinds) == 1 and all(isinstance(each, CallArgs) and _waits_for_name(each) for each in kinds):
        return rf"\({_IN_ARGUMENTS}|{_any_of(_firsts(grammar, set(at).difference(code)))}"
    return _any_of(_firsts(grammar, at))


def _waits_for_name(code: CallArgs) -> bool:
    """Return whether nothing is certain of arguments as code before a name, as in Python, and what is behind it."""
    return code.unmarked and (code.open, code.close, code.assign) == ("(", ")", "=")


def _firsts(grammar: CompiledGrammar, at: Iterable[int]) -> set[str]:
    """Return the characters with which the markers, the JSON and the code at some positions may begin."""
    found: set[str] = set()
    for here in at:
        item = grammar.items[here]
        if isinstance(item, Json | CallArgs):
            found |= set(opening(item))
        elif isinstance(item, str):
            firsts = {each[0] for each in grammar.spellings(here, item, {})}
            folds = grammar.ignore_case[here]
            found |= {form for each in firsts for form in (each.lower(), each.upper())} if folds else firsts
    return found


def _any_of(characters: Iterable[str]) -> str:
    return f"[{''.join(map(re.escape, sorted(characters)))}]" if characters else "(?!)"
