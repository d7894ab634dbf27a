"""For each dialect a call that it can write, and what is in it: what the laws about calls are asked with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.grammar.dialect import CallArgs, Dialect, Json
from penstock.operators.grammar.grammar_items import leaves_of
from penstock.operators.writing.render_call import can_render, render_call

WRITING = sorted(name for name, dialect in DIALECTS.items() if dialect.grammar)


class Written(NamedTuple):
    """A call and its text."""

    dialect: Dialect
    name: str
    arguments: Mapping[str, Any]
    tools: dict[str, Any]
    text: str

    @property
    def has_body(self) -> bool:
        """Whether its arguments are one text that closes by itself: JSON, or code."""
        return any(isinstance(leaf, Json | CallArgs) for leaf in leaves_of(self.dialect.grammar))


def written(name: str, value: str = "x") -> Written:
    """Return a call with a text among its arguments, and others where the dialect has them.

    >>> written("hermes", "abc").text
    '<tool_call>\\n{"name": "f", "arguments": {"content": "abc", "n": {"a": [1]}, "path": "p"}}\\n</tool_call>'
    """
    dialect = DIALECTS[name]
    ways: tuple[tuple[str, dict[str, Any]], ...] = (
        ("f", {"content": value, "n": {"a": [1]}, "path": "p"}),
        ("f", {"content": value, "path": "p"}),
        ("write_file", {"path": "p", "content": value}),
        ("f", {"content": value}),
        ("f", {"input": value}),
        ("search_replace", {"search": f"{value}\n", "replace": "y\n"}),
    )
    for tool, arguments in ways:
        kinds = {key: "string" if isinstance(each, str) else "object" for key, each in arguments.items()}
        schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in kinds.items()}}
        if name == "sentinel" and tool == "f":
            continue  # its arguments stand in the header, which is read as a whole
        if can_render(dialect, tool, arguments, schema=schema) is None:
            text = render_call(dialect, tool, arguments, schema=schema)
            return Written(dialect, tool, arguments, {tool: schema}, text)
    message = f"{name} writes none of these calls"
    raise AssertionError(message)
