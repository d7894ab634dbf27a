"""Texts as models write them with calls inside, whole, cut, broken, and what only looks like it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from strategies.rendered_calls import NAMES, PIECES, arguments_by, rendered_by, text_by

from penstock.operators.grammar.dialect import Alt, Attrs, Back, Call, CallArgs, Dialect, Item, Json, Many, Maybe, Text

KEYS = ("a", "path", "content", "n")
VALUES = (
    *("x", "1", "", "null", "nul", "true", "</tool_call", '{"a": [1]}'),
    *("\n\ndef f():\n    return '<'\n", "é🔧 &lt; </"),
)
PROSE = (
    *(
        "Hi",
        " ",
        "\n",
        "\n\n",
        "a < b",
        "```",
        "<",
        "🔧",
        "{",
        "}",
        '"',
        "[",
        "\r\n",
        "&",
        "İ\N{LATIN SMALL LETTER LONG S}",
        "\x85",
    ),
    *("The `<tool_call>` tag", "Let me look.", "<think>", "</think>"),
)
ATTRIBUTES = (
    *("", ' path="a"', " a='b' mode=\"w\" ", ' name="f"', ' name="a"', ' name="n" string="false"'),
    *(' name="content" string="true"', ' type="file" filePath="a"'),
)
HEADERS: tuple[dict[str, Any], ...] = (
    {"type": "write_file", "path": "a]]b"},
    {"type": "edit_file", "path": "p"},
    {"type": "run_bash"},
    {"type": "tool", "tool_name": "f", "arguments": {"a": 1}},
    {"type": "text"},
)


class Answer(NamedTuple):
    """A text, and the schemas of the tools that are called in it."""

    text: str
    tools: dict[str, Any]


def answer_by(random: Random, dialects: Sequence[Dialect]) -> Answer:
    """Draw an answer: prose, calls of the renderer's and of the grammar's, whole and broken, markers and their halves."""
    text, tools = "", dict[str, Any]()
    for _ in range(random.randrange(1, 6)):
        text += _piece(random, random.choice(dialects), tools)
    return Answer(text, tools)


def _piece(random: Random, dialect: Dialect, tools: dict[str, Any]) -> str:
    way = random.randrange(12)
    if dialect.grammar and way < 8:
        call = rendered_by(random, dialect, tools) if way < 4 else written_by(random, dialect.grammar)
        return call if random.random() < 0.6 else broken_by(random, call)
    if way == 8:
        marker = random.choice([*markers(dialect), "<"])
        return marker if random.random() < 0.5 else marker[: random.randint(1, len(marker))]
    if way == 9 and dialect.reasoning:
        opener, closer = random.choice(dialect.reasoning)
        return opener + random.choice(("", "hm", "\n", "hm\n")) + random.choice((closer, closer, ""))
    return text_by(random) if way == 10 else random.choice(PROSE)


def broken_by(random: Random, text: str) -> str:
    """Take slices out, double or exchange them, or cut off the end."""
    for _ in range(random.choice((1, 1, 2, 3))):
        begin = random.randint(0, len(text))
        end = random.randint(begin, min(len(text), begin + random.choice((4, 30))))
        slice_ = text[begin:end]
        instead = random.choice(("", "", slice_ * 2, "x", "<", '"', "}", "]", "\n", "<think>", "</think>"))
        text = text[:begin] + instead + text[end:]
    return text[: random.randint(0, len(text))] if random.random() < 0.4 else text


def written_by(random: Random, items: Iterable[Item]) -> str:
    """Draw a text that a grammar says."""
    return "".join(_written(random, item) for item in items)


def _written(random: Random, item: Item) -> str:
    if isinstance(item, Many):
        return "".join(written_by(random, item.items) for _ in range(random.randrange(3)))
    if isinstance(item, Maybe):
        return written_by(random, item.items) if random.random() < 0.75 else ""
    if isinstance(item, Alt):
        one = random.choice(item.items)
        return written_by(random, one if isinstance(one, tuple) else (one,))
    if isinstance(item, Call):
        return written_by(random, item.items)
    if isinstance(item, tuple):
        return written_by(random, item)
    return _leaf(random, item) + (random.choice(("", "", "", "\n", " \n", " ")) if isinstance(item, str) else "")


def _leaf(random: Random, item: str | Text | Json | CallArgs | Attrs | Back) -> str:
    if isinstance(item, str):
        return item if random.random() < 0.95 else item.upper()
    if isinstance(item, Text):
        if item.named:
            return random.choice(("functions.f:0", "functions.write_file:12"))
        known = {"name": NAMES, "key": KEYS, "id": ("call_1", "123")}
        return random.choice(known.get(item.role, (*VALUES, text_by(random))))
    if isinstance(item, Json):
        return _json(random, item)
    if isinstance(item, Back):
        return f"{item.before}{random.choice(KEYS)}{item.after}"
    if isinstance(item, Attrs):
        return json.dumps(random.choice(HEADERS)) if item.form == "json" else random.choice(ATTRIBUTES)
    first, last = item.quotes[0], item.quotes[-1]
    inner = ("", f"a{item.assign}1", f"a{item.assign}{first}x{last}, b{item.assign}[1]", random.choice(PIECES))
    return f"{item.open}{random.choice(inner)}{item.close}"


def _json(random: Random, item: Json) -> str:
    is_bare = not item.name and not item.sole_key
    if is_bare:
        value: Any = arguments_by(random)
    elif item.root == "object" or (item.root == "any" and random.random() < 0.6):
        value = _call_object(random, item)
    else:
        value = [_call_object(random, item) for _ in range(random.randrange(3))]
    return json.dumps(value, ensure_ascii=random.random() < 0.5, indent=random.choice((None, None, 1)))


def _call_object(random: Random, item: Json) -> dict[str, Any]:
    name, values = random.choice(NAMES), arguments_by(random)
    if item.sole_key:
        return {name: values}
    written = json.dumps(values) if random.random() < 0.3 else values
    entries: list[tuple[str, Any]] = [(random.choice(item.name), name), (random.choice(item.args), written)]
    entries.append(("other", {"name": "no"}))
    if item.id and random.random() < 0.4:
        entries.append((random.choice(item.id), "c1"))
    if item.content:
        entries.append((random.choice(item.content), text_by(random)))
    random.shuffle(entries)
    whole: dict[str, Any] = {}
    for key, value in entries:
        _put(whole, key, value)
    if item.calls and random.random() < 0.6:
        outer: dict[str, Any] = {}
        _put(outer, random.choice(item.calls), [whole] if random.random() < 0.5 else whole)
        return outer
    return whole


def _put(whole: dict[str, Any], key: str, value: Any) -> None:
    at: Any = whole
    *outer, last = key.split(".")
    for each in outer:
        at = at.setdefault(each, {})
    if isinstance(at, dict):
        at[last] = value


def literals(items: Iterable[Item]) -> Iterator[str]:
    """Yield the markers of a grammar."""
    for item in items:
        if isinstance(item, str):
            yield item
        elif isinstance(item, tuple):
            yield from literals(item)
        elif isinstance(item, Many | Maybe | Alt | Call):
            yield from literals(item.items)


def markers(dialect: Dialect) -> list[str]:
    """Return all that a dialect marks something with, however it is written."""
    reasoning = (each for pair in dialect.reasoning for each in pair)
    return list(dict.fromkeys((*literals(dialect.grammar), *reasoning, *(written for written, _ in dialect.aliases))))
