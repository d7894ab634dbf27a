"""Answers with calls in them, written by the dialects' own renderer, whole and broken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st

from penstock.operators.dialect import Dialect
from penstock.operators.render_call import can_render, render_call

NAMES = st.sampled_from(("f", "write_file", "look_up"))
KEYS = st.sampled_from(("a", "path", "content", "n"))
TEXTS = st.one_of(
    st.text(max_size=6),
    st.text("<>/=|[]{}\"'\\ \n\tab&;1`", max_size=12),
    st.sampled_from(
        ("null", "</parameter", "x\n\n", "é🔧", "if a < b:\n    c = '</'\n", '{"name": "f", "arguments": {}}')
    ),
)
VALUES = st.one_of(
    TEXTS,
    TEXTS,
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.lists(TEXTS, max_size=2),
    st.dictionaries(KEYS, TEXTS, max_size=2),
)
ARGUMENTS = st.dictionaries(KEYS, VALUES, max_size=3)
PROSE = st.one_of(
    st.sampled_from(("", "", " ", "\n\n", "Let me look.", "a < b", "```\n", "🔧 [", "{", "<", "&lt;")),
    st.text(max_size=5),
)

_KINDS = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


class Answer(NamedTuple):
    """A text, and the schemas of the tools that are called in it."""

    text: str
    tools: dict[str, Any]


def schema_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Give a schema by which each value's type is known."""
    types = {key: {"type": _KINDS.get(type(value), "null")} for key, value in arguments.items()}
    return {"type": "object", "properties": types}


@st.composite
def answers(draw: st.DrawFn, *dialects: Dialect) -> Answer:
    """Give prose with calls in it that the dialects can write."""
    text, tools = draw(PROSE), dict[str, Any]()
    for _ in range(draw(st.integers(1, 3))):
        dialect, name, arguments = draw(st.sampled_from(dialects)), draw(NAMES), draw(ARGUMENTS)
        schema = schema_of(arguments)
        if can_render(dialect, name, arguments, schema=schema) is None:
            tools.setdefault(name, schema)
            text += render_call(dialect, name, arguments, schema=schema, layout=draw(st.sampled_from(("", "\n"))))
        text += draw(PROSE)
    return Answer(text, tools)


@st.composite
def broken(draw: st.DrawFn, *dialects: Dialect) -> Answer:
    """Give the same with slices taken out, doubled or exchanged, or with its end cut off."""
    text, tools = draw(answers(*dialects))
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + 30)))
        slice_ = text[begin:end]
        instead = draw(st.sampled_from(("", slice_ * 2, "x", "<", '"', "}", "]", "\n", "<think>", "</think>")))
        text = text[:begin] + instead + text[end:]
    if draw(st.booleans()):
        text = text[: draw(st.integers(0, len(text)))]
    return Answer(text, tools)
