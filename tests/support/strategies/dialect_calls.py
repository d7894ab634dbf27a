"""Calls that are hard to write in a dialect: its own markers in them, control characters, long and deep values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from penstock.operators.catalogue import DIALECTS
from penstock.operators.grammar.dialect import Attrs, Back, Call, CallArgs, Dialect, Text
from penstock.operators.grammar.grammar_items import all_items, leaves_of
from penstock.operators.writing.call_writer import CallToRender

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True) | st.sampled_from(("write_file", "write_to_file"))
PLAIN_KEYS = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True) | st.sampled_from(
    ("content", "path", "input", "command", "patch", "search", "replace")
)
_LOOK_ALIKES = (
    "null",
    "true",
    "12",
    "[1]",
    '{"a": 1}',
    "None",
    '"q"',
    "&lt;",
    "&amp;amp;",
    "\n",
    "\r\n",
    " ",
    "",
    "NaN",
)
_KINDS = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def markers(dialect: Dialect) -> list[str]:
    """Return the texts that mean something in a dialect."""
    found = [text for pair in dialect.reasoning for text in pair] + [written for written, _ in dialect.aliases]
    for leaf in leaves_of(dialect.grammar):
        match leaf:
            case str():
                found.append(leaf)
            case Back():
                found += [f"{leaf.before}a{leaf.after}", leaf.before]
            case CallArgs():
                found += [leaf.open, leaf.close, *leaf.quotes]
            case Text() if leaf.section is not None:
                found += leaf.section
            case Attrs():
                found += [f' {name}="x"' for name, _ in leaf.roles]
            case _:
                pass
    return list(dict.fromkeys(found)) or ["{"]


@lru_cache
def texts(name: str) -> st.SearchStrategy[str]:
    """Return texts that may be mistaken for markup of the dialect of a name, and others."""
    marker = st.sampled_from(markers(DIALECTS[name]))
    cut = st.builds(lambda text, length: text[: 1 + length % len(text)], marker, st.integers(0, 30))
    near = st.builds(
        lambda *parts: "".join(parts), st.sampled_from(("", "x", "\n", "a ")), cut, st.sampled_from(("", "x", "\n"))
    )
    return st.one_of(
        near,
        st.builds(lambda one, other: one + other, near, near),
        st.text(max_size=8),
        st.text("<>/=|[]{}\"'\\ \n\tab&;1`\r\x00\x1b\u2028\ufeff", max_size=12),
        st.sampled_from(_LOOK_ALIKES),
        st.builds(lambda text, times: text * times, near, st.integers(20, 60)),
    )


@lru_cache
def values(name: str) -> st.SearchStrategy[Any]:
    """Return JSON values with such texts in them."""
    return st.recursive(
        st.one_of(
            texts(name),
            texts(name),
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(allow_nan=False, allow_infinity=False),
            st.sampled_from((-0.0, 1e16, 5e-324, 10**100)),
        ),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts(name), inner, max_size=3)),
        max_leaves=6,
    )


@lru_cache
def arguments(name: str, *, any_key: bool = False) -> st.SearchStrategy[dict[str, Any]]:
    """Return arguments; their names are plain ones unless any will do."""
    keys = st.one_of(PLAIN_KEYS, texts(name)) if any_key else PLAIN_KEYS
    slots = [leaf for leaf in leaves_of(DIALECTS[name].grammar) if isinstance(leaf, Text) and leaf.key]
    own = {leaf.key: texts(name).map("{}\n".format) if leaf.at_line else texts(name) for leaf in slots}
    return st.one_of(
        st.dictionaries(keys, values(name), max_size=4),
        # What formats with one text or a fixed set of parameters have a place for.
        st.fixed_dictionaries(own or {"input": texts(name)}),
        st.fixed_dictionaries({"path": texts(name), "content": texts(name)}),
    )


def schema_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema by which each value's type is known."""
    types = {key: {"type": _KINDS.get(type(value), "null")} for key, value in given.items()}
    return {"type": "object", "properties": types}


@lru_cache
def calls(name: str) -> st.SearchStrategy[CallToRender]:
    """Return calls of tools whose schemas say the type of each argument."""
    ids = st.sampled_from((None, None, "call_7", "abc123XYZ"))
    constant = [each.name for each in all_items(DIALECTS[name].grammar) if isinstance(each, Call) and each.name]
    tools = st.one_of(NAMES, st.sampled_from(constant)) if constant else NAMES
    return st.builds(
        lambda tool, given, call_id: CallToRender(tool, given, call_id, schema_of(given)), tools, arguments(name), ids
    )
