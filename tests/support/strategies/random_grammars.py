"""Grammars that nobody would write: markers that overlap, groups in groups, every kind of slot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from penstock.events.errors import UsageError
from penstock.operators.grammar.compiled_grammar import compiled
from penstock.operators.grammar.dialect import (
    NAME,
    Alt,
    Attrs,
    Back,
    Call,
    CallArgs,
    Dialect,
    Item,
    Json,
    Many,
    Maybe,
    Text,
)

MARKERS = ("{{", "{", "[", "[[", "}}", "](", "<a>", "<a", ">", "</a>", "<", "|", "::", "`", "```j", "\n--", "x:", '"')
SLOTS: tuple[Callable[[Random], Item], ...] = (
    lambda _: Json(),
    lambda random: Json(root=random.choice(("array", "object"))),
    lambda _: Json(name=(), root="object"),
    lambda _: NAME,
    lambda _: NAME,
    lambda random: Text("name", r"\w", at_once=random.random() < 0.5),
    lambda _: Text("key", r"\w"),
    lambda random: Text("value", trim=random.choice(("", "newline", "blanks")), key=random.choice(("", "k"))),
    lambda _: Text("value", entities=True),
    lambda _: CallArgs(),
    lambda random: CallArgs("{", "}", ":", unmarked=random.random() < 0.5),
    lambda _: Attrs((("name", "name"),)),
    lambda _: Attrs((("name", "key"),)),
    lambda _: Attrs((("type", "skip"), ("name", "name")), form="json"),
    lambda _: Text("content"),
    lambda _: Text("reasoning"),
    lambda _: Text("skip"),
    lambda _: Text("wrong"),
    lambda random: Back(role=random.choice(("key", "name"))),
)


def grammar_by(random: Random, name: str = "random") -> Dialect:
    """Draw a grammar that is accepted."""
    while True:
        reasoning = (("<t>", "</t>"),) if random.random() < 0.3 else ()
        dialect = Dialect(
            name,
            tuple(_items(random, depth=3)),
            reasoning=reasoning,
            calls_in_reasoning=random.random() < 0.3,
            fence_languages=random.choice(((), ("",), ("j",), ("*",))),
            ignore_case=random.random() < 0.1,
        )
        try:
            compiled((dialect,))
        except UsageError:
            continue
        return dialect


def _items(random: Random, depth: int) -> list[Item]:
    return [_item(random, depth) for _ in range(random.randint(1, 4))]


def _item(random: Random, depth: int) -> Item:
    draw = random.random()
    if draw < 0.45:
        return random.choice(MARKERS)
    if draw < 0.75 or not depth:
        return random.choice(SLOTS)(random)
    group = random.choice((Many, Maybe, Alt, Call, None))
    items = _items(random, depth - 1)
    return tuple(items) if group is None else group(*items)


def text_by(random: Random, dialects: Sequence[Dialect]) -> str:
    """Draw a text of the pieces that mean something in such grammars."""
    pieces = (
        *MARKERS,
        *('{"name": "f", "arguments": {"a": 1}}', '{"a": [1]}', "f", " k", "(a=1)", '(a="x', "{a: 1}", ' name="f"'),
        *("x", " ", "\n", "&lt;", "&", "</s>", "<t>", "</t>", "é", "</k>", "</f>", '"f"}', ":", ")", "]"),
    )
    own = [each for dialect in dialects for each in _markers(dialect.grammar)]
    return "".join(
        random.choice(own if own and random.random() < 0.6 else pieces) for _ in range(random.randint(1, 12))
    )


def _markers(items: Sequence[Item]) -> list[str]:
    found: list[str] = []
    for item in items:
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, tuple):
            found += _markers(item)
        elif isinstance(item, Many | Maybe | Alt | Call):
            found += _markers(item.items)
    return found
