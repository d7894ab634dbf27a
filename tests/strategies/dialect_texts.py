"""Texts as models write them with calls inside, whole, cut, mutated, and what only looks like it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from hypothesis import strategies as st

from penstock.operators.dialect import Alt, Attrs, Back, Call, CallArgs, Dialect, Item, Json, Many, Maybe, Text

NAMES = ("f", "write_file", "a.b-c")
KEYS = ("a", "path", "content")
VALUES = (
    "x",
    "1",
    "",
    "\n\ndef f():\n    return '<'\n",
    "null",
    "nul",
    "é🔧 &lt; </",
    '{"a": [1]}',
    "</tool_call",
    "true",
)
PROSE = ("Hi", " ", "\n", "\n\n", "a < b", "```", "<", "🔧", "The `<tool_call>` tag", "{", "}", '"', "[", "\r\n", "&")
ARGUMENTS: tuple[Any, ...] = (
    {},
    {"a": 1},
    {"content": "x\n</tool_call>é"},
    {"a": {"name": "n", "arguments": {}}, "b": [None, -1.5, "s"]},
)


def _leaf(item: Any) -> st.SearchStrategy[str]:
    if isinstance(item, str):
        return st.just(item)
    if isinstance(item, Text):
        if item.named:
            return st.sampled_from(("functions.f:0", "functions.write_file:12"))
        return st.sampled_from({"name": NAMES, "key": KEYS, "id": ("call_1", "123")}.get(item.role, VALUES))
    if isinstance(item, Json):
        return _json(item)
    if isinstance(item, Back):
        return st.sampled_from([f"{item.before}{key}{item.after}" for key in KEYS])
    if isinstance(item, Attrs):
        return st.sampled_from((' path="a"', " a='b' mode=\"w\" ", ' name="f"', ""))
    assert isinstance(item, CallArgs)
    inner = st.sampled_from(
        ("", f"a{item.assign}1", f"a{item.assign}{item.quotes[0]}x{item.quotes[-1]}, b{item.assign}[1]")
    )
    return inner.map(lambda text: f"{item.open}{text}{item.close}")


def _json(item: Json) -> st.SearchStrategy[str]:
    arguments = st.sampled_from(ARGUMENTS)
    if not item.name and not item.sole_key:
        return arguments.map(json.dumps)

    def one(name: str, values: Any, order: int, *, coded: bool) -> Any:
        written = json.dumps(values) if coded else values
        if item.sole_key:
            return {name: values}
        entries: list[tuple[str, Any]] = [(item.name[0], name), (item.args[0], written), ("other", {"name": "no"})]
        entries = entries[order:] + entries[:order]
        whole: dict[str, Any] = {}
        for key, value in entries:
            at = whole
            *outer, last = key.split(".")
            for each in outer:
                at = at.setdefault(each, {})
            at[last] = value
        return whole

    call = st.builds(one, st.sampled_from(NAMES), arguments, st.integers(0, 2), coded=st.booleans())
    objects = call if item.root != "array" else st.lists(call, max_size=2)
    if item.root == "any":
        objects = call | st.lists(call, max_size=2)
    return objects.map(lambda value: json.dumps(value, ensure_ascii=False))


def written(items: Iterable[Item]) -> st.SearchStrategy[str]:
    """Give texts that a grammar says."""
    return st.tuples(*map(_written, items)).map("".join)


def _written(item: Item) -> st.SearchStrategy[str]:
    between = st.sampled_from(("", "", "\n", " \n"))
    if isinstance(item, Many):
        return st.lists(written(item.items), max_size=2).map("".join)
    if isinstance(item, Maybe):
        return written(item.items) | st.just("")
    if isinstance(item, Alt):
        return st.one_of([written(each if isinstance(each, tuple) else (each,)) for each in item.items])
    if isinstance(item, Call):
        return written(item.items)
    if isinstance(item, tuple):
        return written(item)
    return st.tuples(_leaf(item), between).map("".join) if isinstance(item, str) else _leaf(item)


def literals(items: Iterable[Item]) -> Iterator[str]:
    """Give the markers of a grammar."""
    for item in items:
        if isinstance(item, str):
            yield item
        elif isinstance(item, tuple):
            yield from literals(item)
        elif isinstance(item, Many | Maybe | Alt | Call):
            yield from literals(item.items)


def texts(dialects: Iterable[Dialect]) -> st.SearchStrategy[str]:
    """Give texts with calls, prose, beginnings of markers, and calls that lost or gained something."""
    pieces: list[st.SearchStrategy[str]] = [st.sampled_from(PROSE)]
    for dialect in dialects:
        markers = [*literals(dialect.grammar), *(each for pair in dialect.reasoning for each in pair)]
        if dialect.grammar:
            whole = written(dialect.grammar)
            pieces += [whole, whole, whole.flatmap(_mutated)]
        if markers:
            pieces.append(st.sampled_from(markers))
            pieces.append(
                st.sampled_from(markers).flatmap(lambda each: st.integers(1, len(each)).map(lambda n: each[:n]))
            )
    return st.lists(st.one_of(pieces), max_size=5).map("".join)


@st.composite
def _mutated(draw: st.DrawFn, text: str) -> str:
    begin = draw(st.integers(0, len(text)))
    end = draw(st.integers(begin, min(len(text), begin + 4)))
    return text[:begin] + draw(st.sampled_from(("", "", "x", "<", "}", '"', "\n"))) + text[end:]
