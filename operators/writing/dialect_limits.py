"""`dialect_limits`: find what a dialect's calls cannot contain, by trying variations of a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..grammar.dialect import Back, CallArgs, Dialect
from ..grammar.grammar_items import leaves_of
from .as_code import as_code
from .render_call import can_render, render_call

_NAMES: Final = (("a blank", "a b"), ("a dash", "a-b"), ("a dot", "a.b"))
_TEXTS: Final = (
    ("an empty text", ""),
    ("a text with blanks at its edges", " x "),
    ("a text with newlines at its edges", "\n\nx\n\n"),
    ("a text that ends in a carriage return", "x\r"),
    ("a text with both kinds of quotes", "\"'"),
    ("a text that looks like a number", "5"),
)
_OTHERS: Final = (("a number", 5), ("true or false", True), ("null", None), ("an object", {"a": [1]}), ("a list", [1]))
_HERE: Final = "some"
_THERE: Final = "another"
_KINDS: Final[dict[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def schema_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema for a tool with these arguments.

    >>> schema_of({"days": 2})
    {'type': 'object', 'properties': {'days': {'type': 'integer'}}}
    """
    return {"type": "object", "properties": {key: {"type": _kind(value)} for key, value in arguments.items()}}


def dialect_limits(dialect: Dialect, name: str, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield phrases for what calls of this dialect cannot contain, though calls of other dialects can.

    >>> from penstock.operators.grammar.dialect import Json, Text
    >>> list(dialect_limits(Dialect("json", (Json(),)), "f", {"a": "x"}))
    []
    >>> raw = Dialect("raw", ("<call ", Text("name"), ">", Text("value", key="a"), "</call>"))
    >>> for phrase in dialect_limits(raw, "f", {"a": "x"}):
    ...     print(phrase)
    arguments other than `a`
    a call without `a`
    a text with `<call `
    a value that is a number, true or false, null, an object, a list

    - `name`, `arguments`: the name and arguments of a call that the dialect can write; one argument must be a text.
    """

    def cannot(name: str, arguments: Mapping[str, Any], *, with_schema: bool = True) -> bool:
        return can_render(dialect, name, arguments, schema=schema_of(arguments) if with_schema else None) is not None

    text = [key for key, value in arguments.items() if isinstance(value, str)][-1]
    rest = {key: value for key, value in arguments.items() if key != text}
    own = ", ".join(map(as_code, arguments))
    if cannot(name, {**arguments, "other": "x"}):
        yield f"arguments other than {own}"
    else:
        yield from _listed(
            "a parameter's name with", (what for what, key in _NAMES if cannot(name, {**rest, key: "x"}))
        )
    if needed := [
        key for key in arguments if cannot(name, {each: arguments[each] for each in arguments if each != key})
    ]:
        yield f"a call without {', '.join(map(as_code, needed))}"
    if cannot("other", arguments):
        yield f"a tool other than {as_code(name)}"
    else:
        yield from _listed("a tool's name with", (what for what, each in _NAMES if cannot(each, arguments)))
    yield from (what for what, value in _TEXTS if cannot(name, {**rest, text: value}))
    markers = dict.fromkeys(_markers(dialect, text))
    yield from _listed("a text with", (as_code(each) for each in markers if cannot(name, {**rest, text: f"a{each}b"})))
    rows = _rows_of_markers(dialect, name, rest, text)
    yield from _listed(
        "a text in which markers follow each other as they do",
        (what for what, each in rows if cannot(name, {**rest, text: f"a{each}b", "other": "x"})),
    )
    typed = [what for what, value in _OTHERS if cannot(name, {**rest, text: value})]
    yield from _listed("a value that is", typed)
    if not typed and cannot(name, {**rest, text: 5}, with_schema=False):
        yield "a value that is no text, where no schema says its type"


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "null")


def _listed(before: str, phrases: Iterable[str]) -> Iterator[str]:
    if found := list(phrases):
        yield f"{before} {', '.join(found)}"


def _rows_of_markers(dialect: Dialect, name: str, rest: Mapping[str, Any], text: str) -> Iterator[tuple[str, str]]:
    """Yield what comes behind a text in a call with two texts, and how far that goes."""
    arguments = {**rest, text: _HERE, "other": _THERE}
    if can_render(dialect, name, arguments, schema=schema_of(arguments)) is not None:
        return
    whole = render_call(dialect, name, arguments, schema=schema_of(arguments))
    _, _, behind = whole.partition(_HERE)
    between, _, end = behind.partition(_THERE)
    yield "between two arguments", f"{between}x"
    yield "at the end of a call", end
    yield "between two calls", f"{end}{whole}"


def _markers(dialect: Dialect, key: str) -> Iterator[str]:
    for leaf in leaves_of(dialect.grammar):
        if isinstance(leaf, str):
            yield leaf
        elif isinstance(leaf, Back) and leaf.role == "key":
            yield f"{leaf.before}{key}{leaf.after}"
        elif isinstance(leaf, CallArgs):
            yield from leaf.quotes
