"""Calls whose arguments contain anything: markers of their own dialect, whole calls, other formats."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from random import Random
from typing import Any, Final, NamedTuple

from answered import answered
from strategies.dialect_calls import markers

from penstock.events.errors import UsageError
from penstock.events.tool_invocation import ToolInvocation
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.grammar.dialect import Dialect, Text
from penstock.operators.grammar.grammar_items import leaves_of
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations
from penstock.operators.writing.render_call import render_call

WRITING: Final = sorted(name for name, dialect in DIALECTS.items() if dialect.grammar)
CLASSES: Final = ("one marker", "whole call", "two calls", "nested call", "prefix", "suffix", "markers", "foreign")
_CALLS: Final[tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = (
    ("f", ("path", "content"), ("content", "path")),
    ("write_file", ("path", "content"), ("content",)),
    ("f", ("content",), ("content",)),
    ("f", ("input",), ("input",)),
    ("search_replace", ("search", "replace"), ("search", "replace")),
    ("run_bash", ("command",), ("command",)),
)
"""A tool, its arguments, and those that may contain anything; a dialect takes the first that it can write."""
_FILLERS: Final = ("", "x", " ", "\n", "a = 1\n", " and ", "\n  indented", "é✓", "\t", "> ", '"', "y>\n")
_FOREIGN: Final = (
    '<?xml version="1.0"?>\n<tools>\n  <tool name="saw"><arg name="teeth">24</arg></tool>\n</tools>\n',
    "const App = () => <Tool name={a.b}>{list.map((t) => <li key={t}>{`${t}()`}</li>)}</Tool>;\n",
    '# Title\n\n```json\n{"name": "f", "arguments": {}}\n```\n\n- `a` | b\n\n```\nplain\n```\n',
    "one\r\ntwo\r\n\r\nthree\r\n",
    "  trailing  \n\t\n  blanks   ",
    "naïve 日本語 🙂 \u2028 e\u0301 \ufeff",
    "def f(a, b='x'):\n    return [a < b, {'k': \"v\"}]\n\n",
    '\\n \\" \\u0041 \\\\ &amp; &lt;b&gt; <![CDATA[x]]> <!-- c -->',
    "\n\n\nlines\n\n\n",
    "",
)


class Sample(NamedTuple):
    """A call that was written, and its text."""

    kind: str
    name: str
    arguments: dict[str, str]
    text: str


class Shape(NamedTuple):
    """How a dialect writes its call: the tool, its arguments, those that may contain anything, the schema."""

    tool: str
    keys: tuple[str, ...]
    free: tuple[str, ...]
    is_raw: bool

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {key: {"type": "string"} for key in self.keys}}


@lru_cache
def shape_of(dialect: Dialect) -> Shape:
    """Return the first of the calls that a dialect can write."""
    leaves = list(leaves_of(dialect.grammar))
    is_raw = any(isinstance(leaf, Text) and leaf.role == "value" and not leaf.entities for leaf in leaves)
    found: list[Shape] = []
    for tool, keys, free in _CALLS:
        try:
            render_call(dialect, tool, dict.fromkeys(keys, 'x"y\n'), schema=Shape(tool, keys, free, False).schema)
        except UsageError:
            continue
        # What is in an attribute or in JSON is written by the format's own rules.
        raw = tuple(key for key in free if is_raw and _is_bare(dialect, tool, keys, key))
        found.append(Shape(tool, keys, raw or free, bool(raw)))
    return max(found, key=lambda shape: len(shape.free) if shape.is_raw else 0)


def _is_bare(dialect: Dialect, tool: str, keys: tuple[str, ...], key: str) -> bool:
    arguments = {each: 'x"y\n' if each == key else "p\n" for each in keys}
    text = render_call(dialect, tool, arguments, schema=Shape(tool, keys, (), is_raw=True).schema)
    place = text.find('x"y\n')
    return place > 0 and text[place - 1] not in "'\""


def written(dialect: Dialect, shape: Shape, arguments: Mapping[str, str]) -> str:
    """Return a call as a model writes it, which does not ask whether the format can carry the values."""
    if not shape.is_raw:
        return render_call(dialect, shape.tool, arguments, schema=shape.schema)
    end = "\n" if dialect.name == "aider" else ""  # whose markers stand on lines of their own
    arguments = {key: value + end if key in shape.free else "p" for key, value in arguments.items()}
    held = {key: f"Q{place}Z{end}" if key in shape.free else "p" for place, key in enumerate(arguments)}
    text = render_call(dialect, shape.tool, held, schema=shape.schema)
    for key in shape.free:
        text = text.replace(held[key], arguments[key])
    return text


def samples(name: str, count: int, random: Random, kinds: tuple[str, ...] = CLASSES) -> Iterator[Sample]:
    """Yield calls with contents of each kind in turn."""
    dialect = DIALECTS[name]
    shape = shape_of(dialect)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        arguments = dict.fromkeys(shape.keys, "p")
        try:
            arguments |= {key: _content(dialect, shape, kind, random) for key in shape.free}
            text = written(dialect, shape, arguments)
        except UsageError:
            text = ""
        if name == "aider":
            arguments = {key: f"{value}\n" for key, value in arguments.items()}
        yield Sample(kind, shape.tool, arguments, text)


def _content(dialect: Dialect, shape: Shape, kind: str, random: Random) -> str:
    def call(value: str = "inner\ntext") -> str:
        return written(dialect, shape, dict.fromkeys(shape.keys, value))

    def around(*parts: str) -> str:
        pieces = [random.choice(_FILLERS)]
        for part in parts:
            pieces += [part, random.choice(_FILLERS)]
        return "".join(pieces)

    own = markers(dialect)
    match kind:
        case "one marker":
            parts = [random.choice(own)]
        case "whole call":
            parts = [call()]
        case "two calls":
            parts = [call(), call("other")]
        case "nested call":
            parts = [call(around(call())) if shape.is_raw else call(call())]
        case "prefix":
            text = call()
            parts = [text[: random.randrange(1, len(text))]]
        case "suffix":
            text = call()
            parts = [text[random.randrange(1, len(text)) :]]
        case "markers":
            parts = random.choices(own, k=random.randint(2, 8))
        case _:
            parts = [random.choice(_FOREIGN)]
            other = DIALECTS[random.choice(WRITING)]
            if random.random() < 0.5 and not set(markers(other)) & set(own):
                written_by_other = written(other, shape_of(other), dict.fromkeys(shape_of(other).keys, "v"))
                parts = [random.choice(markers(other)), written_by_other]
    return around(*parts)


def pieces_of(text: str, random: Random) -> list[str]:
    """Return a text in pieces."""
    pieces: list[str] = []
    while text:
        length = random.choice((1, 2, 3, 5, 8, 21, 1000))
        pieces.append(text[:length])
        text = text[length:]
    return pieces


def outcome(name: str, sample: Sample, random: Random) -> str:
    """Return what became of a call: `exact`, `failed` if none was run, `wrong` if another one was; else `refused`."""
    if not sample.text:
        return "refused"
    shape = shape_of(DIALECTS[name])
    pieces = pieces_of(sample.text, random)
    events = answered(pieces, parse_text(name, tools={shape.tool: shape.schema}, turn_id="t"), to_invocations())
    found = [
        (each.name, json.dumps(each.arguments, sort_keys=True)) for each in events if isinstance(each, ToolInvocation)
    ]
    if not found:
        return "failed"
    return "exact" if found == [(sample.name, json.dumps(sample.arguments, sort_keys=True))] else "wrong"


def table(counts: Mapping[str, Mapping[str, Counter[str]]]) -> str:
    """Return a table of outcomes by dialect and kind of content."""
    lines = [f"{'':20}" + "".join(f"{kind:>16}" for kind in CLASSES)]
    for name, by_kind in counts.items():
        cells = []
        for kind in CLASSES:
            each = by_kind.get(kind, Counter())
            total = max(1, each.total())
            cells.append(
                "/".join(f"{100 * each[what] / total:.0f}" for what in ("exact", "failed", "wrong", "refused"))
            )
        lines.append(f"{name:20}" + "".join(f"{cell:>16}" for cell in cells))
    return "\n".join(lines)
