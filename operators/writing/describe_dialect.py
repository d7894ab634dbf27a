"""Describe a dialect for the catalogue, by writing calls with it and reading them back.

`dialect_limits` finds what its calls cannot contain, by trying variations of a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from ..grammar.dialect import Back, CallArgs, Dialect, Json, Text, Trim, Typing
from ..grammar.grammar_items import leaves_of
from .draw_grammar import draw_grammar
from .render_call import can_render, render_call


def as_code(text: str) -> str:
    r"""Return a text as Markdown code, with any backticks; line ends are shown as `\n` and `\r`.

    >>> print(as_code("<tool_call>"), as_code("```json\n"))
    `<tool_call>` ```` ```json\n ````
    """
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence, pad = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("\r", r"\r").replace("\n", r"\n")


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


ExampleCall: TypeAlias = tuple[str, Mapping[str, Any]]

_EXAMPLES: Final[tuple[ExampleCall, ...]] = (
    ("weather", {"city": "Oslo", "days": 2}),
    ("weather", {"city": "Oslo"}),
    ("shell", {"content": "npm install"}),
    ("shell", {"input": "npm install"}),
    ("search_replace", {"search": "x = 1\n", "replace": "x = 2\n"}),
)
"""Example calls; the first one that a dialect can write is shown for it."""
TYPING: Final[dict[Typing, str]] = {
    "text": "text, whatever it looks like",
    "schema": "the type that the tool's schema says, text where it says nothing",
    "literal": "the type that the tool's schema says; without one, 12 and true keep their type, other text is a string",
    "flagged": "text, or JSON with its own type: an attribute says which",
    "xml": "the type that the tool's schema says; elements inside are an object or a list",
    "marked_xml": "the type that the tool's schema says; marked elements inside are an object or a list",
    "json": "JSON, with its own type",
    "python": "a Python literal",
}
TRIM: Final[dict[Trim, str]] = {
    "": "",
    "newline": "; one newline on either side is no part of it",
    "blanks": "; blanks at its edges are no part of it",
}


class DialectDescription(Struct, frozen=True):
    """The description of a dialect; each part has lines of Markdown or of a picture."""

    name: str
    grammar: tuple[str, ...]
    example: str
    """A call written in the dialect; empty if it can write none of the examples."""
    values: tuple[str, ...]
    """How the text of a value is converted."""
    reasoning: tuple[str, ...]
    """The markers of reasoning."""
    spelling: tuple[str, ...]
    """Other ways in which markers may be written."""
    limits: tuple[str, ...]
    """What a call cannot contain; everything else is read back unchanged."""


def describe_dialect(dialect: Dialect, example: ExampleCall | None = None) -> DialectDescription:
    """Return the description of a dialect, built in or your own.

    >>> from penstock.operators.grammar.dialect import Call, Dialect
    >>> shell = Call("<shell>", "$", Text("value", key="input"), "</shell>", name="shell")
    >>> mine = Dialect("mine", (shell,), ignore_case=True)
    >>> describe_dialect(mine).grammar, describe_dialect(mine).spelling
    (('"<shell>" "$" VALUE of input "</shell>"',), ('markers in any case',))

    - `example`: the call to show and to vary; by default one that the dialect can write.

    Raises `UsageError` if the dialect cannot write the example.
    """
    shown = example or next((each for each in _EXAMPLES if _can_write(dialect, *each)), None)
    return DialectDescription(
        dialect.name,
        tuple(draw_grammar(dialect)) if dialect.grammar else (),
        "" if shown is None else render_call(dialect, *shown, schema=schema_of(shown[1])),
        tuple(value_forms(dialect)),
        tuple(_reasoning(dialect)),
        tuple(_spelling(dialect)),
        () if shown is None else tuple(dialect_limits(dialect, *shown)),
    )


def _can_write(dialect: Dialect, name: str, arguments: Mapping[str, Any]) -> bool:
    return can_render(dialect, name, arguments, schema=schema_of(arguments)) is None


def _reasoning(dialect: Dialect) -> Iterator[str]:
    yield from (f"{as_code(opener)} … {as_code(closer)}" for opener, closer in dialect.reasoning)
    if any(isinstance(leaf, Text) and leaf.role == "reasoning" for leaf in leaves_of(dialect.grammar)):
        yield "`REASONING` in the grammar"


def _spelling(dialect: Dialect) -> Iterator[str]:
    yield from (f"{as_code(written)} for {as_code(meant)}" for written, meant in dialect.aliases)
    if dialect.ignore_case:
        yield "markers in any case"
    if dialect.has_suffix:
        yield "tags with a suffix, as in `<think:6124c78e>`: each checkpoint has its own"


def value_forms(dialect: Dialect) -> Iterator[str]:
    """Yield phrases about how the texts of values are converted.

    >>> for phrase in value_forms(Dialect("d", ("<a>", Json(), Text("value", trim="blanks"), "</a>"))):
    ...     print(phrase)
    JSON: its own types
    raw text: text, whatever it looks like; blanks at its edges are no part of it
    """
    leaves = list(leaves_of(dialect.grammar))
    if any(isinstance(leaf, Json) for leaf in leaves):
        yield "JSON: its own types"
    for leaf in dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, CallArgs)):
        quotes = " or ".join(map(as_code, leaf.quotes))
        if leaf.assign == "=":
            yield "literals: Python's, and JSON's `true`, `false` and `null`"
        else:
            yield f"literals: text between two {quotes}, keys bare, all else as in JSON"
    values = [leaf for leaf in leaves if isinstance(leaf, Text) and leaf.role == "value"]
    yield from dict.fromkeys(f"{_what(leaf)}: {TYPING[leaf.typing]}{TRIM[leaf.trim]}" for leaf in values)
    if any(leaf.entities for leaf in values):
        yield "`&lt;` and the like are decoded, once"
    for opener, closer in dict.fromkeys(leaf.section for leaf in values if leaf.section):
        yield f"between {as_code(opener)} and {as_code(closer)} all is text as it stands"
    for opener, closer in dict.fromkeys(pair for leaf in values for pair in leaf.guards):
        yield f"from {as_code(opener)}, if the value begins with it, to {as_code(closer)} nothing ends the value"


def _what(leaf: Text) -> str:
    return as_code(leaf.key) if leaf.key else "raw text"
