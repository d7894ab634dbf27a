"""Calls drawn at random, written by the dialects' own renderer."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from penstock.operators.grammar.dialect import Dialect
from penstock.operators.writing.render_call import can_render, render_call

NAMES = ("f", "write_file", "a.b-c")
KEYS = ("a", "path", "content", "n")
PIECES = (
    *(
        "x",
        "null",
        "</parameter",
        "</tool_call>",
        "x\n\n",
        "é🔧",
        "if a < b:\n    c = '</'\n",
        '{"name": "f", "arguments": {}}',
        "",
    ),
    *("\n", " ", "<", ">", "/", "=", "|", "[", "]", "{", "}", '"', "'", "\\", "&", "&lt;", ";", "1", "a, b=1)", "</"),
    *(
        "\r\n",
        "\x00",
        "\u2028",
        "\x85",
        "İ",
        "\N{LATIN SMALL LETTER LONG S}",
        "\N{KELVIN SIGN}",
        "<think>",
        "</think>",
        "```",
        "NaN",
        "true",
    ),
)
"""What a value may have in it that something else looks like."""
SCALARS: tuple[Any, ...] = (None, True, False, 0, -1, 10**25, 1.5, -2e-9)

_KINDS: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def text_by(random: Random) -> str:
    """Draw a text."""
    return "".join(random.choice(PIECES) for _ in range(random.randrange(5)))


def value_by(random: Random, *, deep: bool = True) -> Any:
    """Draw a value: a text half of the time."""
    way = random.randrange(10)
    if way < 5:
        return text_by(random)
    if way == 5 and deep:
        return [value_by(random, deep=False) for _ in range(random.randrange(3))]
    if way == 6 and deep:
        return {random.choice(KEYS): value_by(random, deep=False) for _ in range(random.randrange(3))}
    return "z" * random.randrange(30) if way == 7 else random.choice(SCALARS)


def arguments_by(random: Random) -> dict[str, Any]:
    """Draw the arguments of a call."""
    return {random.choice(KEYS): value_by(random) for _ in range(random.randrange(4))}


def schema_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema by which each value's type is known."""
    types = {key: {"type": _KINDS.get(type(value), "null")} for key, value in arguments.items()}
    return {"type": "object", "properties": types}


def rendered_by(random: Random, dialect: Dialect, tools: dict[str, Any]) -> str:
    """Draw a call that the dialect can write, and write it; its tool comes to the others."""
    name, arguments = random.choice(NAMES), arguments_by(random)
    schema = schema_of(arguments)
    if can_render(dialect, name, arguments, schema=schema) is not None:
        return ""
    tools.setdefault(name, schema)
    return render_call(dialect, name, arguments, schema=schema, layout=random.choice(("", "\n", None)))
