"""`draw_grammar`: a dialect's grammar as a picture; `state_table`: its states, one a row, as its reader has them.

The picture has markers in quotes, slots in capitals, groups in brackets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from ..grammar.compiled_grammar import CompiledGrammar, compiled
from ..grammar.dialect import Alt, Attrs, Back, Call, CallArgs, Dialect, Item, Json, Many, Maybe, Role, Text
from ..grammar.grammar_items import Leaf

SLOTS: Final[dict[Role, str]] = {
    "name": "NAME",
    "recipient": "NAME",
    "key": "KEY",
    "value": "VALUE",
    "id": "ID",
    "reasoning": "REASONING",
    "content": "CONTENT",
    "skip": "ANYTHING",
    "wrong": "WRONG",
    "flag": "TYPE",
    "arguments": "ARGUMENTS",
}
"""The placeholders in a picture for the texts that the model fills in."""
_INDENT: Final = "  "
_is_one: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Z]+').fullmatch


class _Group(NamedTuple):
    """A group in the picture: items in sequence, or alternatives, and the mark after the closing bracket."""

    nodes: tuple[_Node, ...]
    kind: Literal["row", "ways"]
    suffix: str = ""


_Node = str | _Group


def draw_grammar(dialect: Dialect, width: int = 100) -> list[str]:
    """Return the lines of a picture of a dialect's grammar.

    >>> from penstock.operators.grammar.dialect import NAME
    >>> once = Call("<call>", NAME, Json(name=(), root="object"), "</call>")
    >>> draw_grammar(Dialect("d", (Maybe("<calls>"), once, Many(once), Alt("</calls>", "<end>"))))
    ['"<calls>"? ( "<call>" NAME JSON {ARGUMENTS} "</call>" )+ ( "</calls>" | "<end>" )']

    `?` means once or not at all, `*` any number of times, `+` at least once; `|` separates alternatives.
    """
    return _lines(_drawn(dialect.grammar), width)


def draw_item(item: Item) -> str:
    """Return the picture of one item, in one line."""
    return _flat(_drawn((item,)))


def _drawn(items: Sequence[Item]) -> _Node:
    nodes: list[_Node] = []
    before: Item | None = None
    for item in items:
        if isinstance(item, Many) and item.items == (before,):
            nodes[-1] = _group(_item(item.items[0]), "+")
        else:
            nodes.append(_item(item))
        before = item
    return nodes[0] if len(nodes) == 1 else _Group(tuple(nodes), "row")


def _item(item: Item) -> _Node:
    if isinstance(item, Many):
        return _group(_drawn(item.items), "*")
    if isinstance(item, Maybe):
        return _group(_drawn(item.items), "?")
    if isinstance(item, Alt):
        return _Group(tuple(map(_item, item.items)), "ways")
    if isinstance(item, Call | tuple):
        return _drawn(item.items if isinstance(item, Call) else item)
    return _leaf(item)


def _leaf(item: Leaf) -> str:
    match item:
        case str():
            return _quoted(item)
        case Text():
            return _text(item)
        case Json():
            return f"JSON {_json(item)}"
        case CallArgs():
            return f"{item.open}KEY{item.assign}VALUE, …{item.close}"
        case Attrs():
            return _attrs(item)
        case Back():
            return f"{_quoted(item.before)} {SLOTS[item.role]} {_quoted(item.after)}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _group(node: _Node, suffix: str) -> _Node:
    if isinstance(node, str):
        return f"{node}{suffix}" if _is_one(node) else _Group((node,), "row", suffix)
    return _Group((node,), "row", suffix) if node.suffix else _Group(node.nodes, node.kind, suffix)


def _text(item: Text) -> str:
    return f"{SLOTS[item.role]} of {item.key}" if item.key else SLOTS[item.role]


def _json(item: Json) -> str:
    if item.sole_key:
        call = "{NAME: {ARGUMENTS}}"
    elif not item.name:
        call = "{ARGUMENTS}"
    else:
        keys = (("NAME", item.name), ("{ARGUMENTS}", item.args))
        call = "{" + ", ".join(f"{_either(names)}: {what}" for what, names in keys) + "}"
    several = f"[{call}, …]"
    shape = {"object": call, "array": several, "any": f"{call} or [the same, …]"}[item.root]
    inside = f", also in {_either(item.calls)}" if item.calls else ""
    beside = f", beside {_either(item.content)}: CONTENT" if item.content else ""
    return f"{shape}{inside}{beside}"


def _either(keys: Iterable[str]) -> str:
    return "|".join(map(_quoted, keys))


def _attrs(item: Attrs) -> str:
    fixed = dict(item.fixed)
    said: dict[str, str] = {name: "|".join(words) for name, words in item.fixed if words}
    said |= {name: _role(name, role) for name, role in item.roles if name not in fixed}
    said |= {name: "VALUE" for name in item.required if name not in said}
    if item.form == "json":
        return "JSON {" + ", ".join(f'"{name}": {what}' for name, what in said.items()) + ", …}"
    return " ".join(f'{name}="{what}"' for name, what in said.items()) or 'KEY="VALUE"…'


def _role(name: str, role: Role) -> str:
    if role == "flag":
        return "true|false" if name == "string" else "string|…"
    return "…" if role == "skip" else SLOTS[role]


def _flat(node: _Node) -> str:
    if isinstance(node, str):
        return node
    text = (" | " if node.kind == "ways" else " ").join(map(_flat, node.nodes))
    return f"( {text} ){node.suffix}" if node.suffix or node.kind == "ways" else text


def _lines(node: _Node, width: int) -> list[str]:
    flat = _flat(node)
    if isinstance(node, str) or len(flat) <= width:
        return [flat]
    if node.kind == "ways":
        lines = [line for way in node.nodes for line in _hanging("| ", _lines(way, width - len(_INDENT)))]
        return [f"({lines[0][1:]}", *lines[1:], f"){node.suffix}"]
    if node.suffix:
        return ["(", *(_INDENT + line for line in _packed(node.nodes, width - len(_INDENT))), f"){node.suffix}"]
    return _packed(node.nodes, width)


def _hanging(first: str, lines: Iterable[str]) -> list[str]:
    return [(_INDENT if number else first) + line for number, line in enumerate(lines)]


def _packed(nodes: Iterable[_Node], width: int) -> list[str]:
    """Return items in sequence, with as many on a line as fit."""
    lines: list[str] = []
    is_open = False
    for node in nodes:
        flat = _flat(node)
        if is_open and len(lines[-1]) + 1 + len(flat) <= width:
            lines[-1] += f" {flat}"
        else:
            lines += _lines(node, width)
        is_open = len(flat) <= width
    return lines


class StateRow(NamedTuple):
    """One state: what has just been read, and what may come next."""

    number: int
    call: str
    """The number of the call in the grammar that the state belongs to; empty outside of calls."""
    item: str
    follows: tuple[int, ...]
    """The numbers of the states that may follow, behind blanks too, except in a text."""
    may_end: bool
    """Whether the block may end here."""
    notes: str
    """What is certain: whether the block may begin here, a call opens, or its value ends by the closer rule."""


def state_table(dialect: Dialect) -> list[StateRow]:
    """Return the states of a dialect's grammar.

    >>> from penstock.operators.grammar.dialect import NAME, Json
    >>> for row in state_table(Dialect("d", ("<call>", NAME, Json(name=(), root="object"), "</call>"))):
    ...     print(row.number, row.item, row.follows, row.may_end)
    0 "<call>" (1,) False
    1 NAME (2,) False
    2 JSON {ARGUMENTS} (3,) False
    3 "</call>" () True

    Raises `UsageError` for a grammar that cannot be read.
    """
    grammar = compiled((dialect,))
    return [_row(grammar, here) for here in range(len(grammar.items))]


def _row(grammar: CompiledGrammar, here: int) -> StateRow:
    item, call = grammar.items[here], grammar.calls[here]
    notes = ["a block may begin"] if here in grammar.first else []
    if isinstance(item, Text) and item.role == "value" and not item.entities:
        notes.append("the closer rule")
    follows = tuple(sorted(grammar.follow[here]))
    is_last = here in grammar.last
    return StateRow(here, "" if call < 0 else str(call), draw_item(item), follows, is_last, ", ".join(notes))
