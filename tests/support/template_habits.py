"""Calls as chat templates write them: each value as it is, with no escape, whatever it contains."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from answered import answered
from content_cases import CLASSES, Shape, pieces_of, samples, shape_of
from strategies.dialect_calls import markers

from penstock.events.tool_invocation import ToolInvocation
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.grammar.dialect import CallArgs, Text
from penstock.operators.grammar.grammar_items import leaves_of
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations
from penstock.operators.writing.call_writer import CallToRender
from penstock.operators.writing.render_call import render_calls

KINDS: Final = (*CLASSES, "code", "openers")
_CODE: Final = (
    "print('a')",
    'print("a")',
    "open('f', mode='w')",
    "open('f', path='b')",
    "SELECT * FROM t WHERE a = 'x' AND (b = 'y')",
    "if (x == 'a') { y('b'); }",
    "sed -n '1,5p' a.py | grep \"b\"",
    "x = [f('a')]",
    "d = {'a': 'b', \"c\": [1, 'd']}",
    "it's",
    '5" pipes',
    "C:\\",
    "re.sub(r'\\d+', '\\n', s)",
    "echo 'a\\'b'",
    "f(a='x', b=\"y\")",
    "'''doc'''",
    '"""doc"""',
    "''",
    "'",
    '"',
    "\\",
    "a,b,'c'",
)


class Written(NamedTuple):
    """What a template wrote."""

    calls: list[tuple[str, dict[str, str]]]
    quote: str
    schema: dict[str, Any]
    text: str


def _leaves(name: str) -> list[Any]:
    return list(leaves_of(DIALECTS[name].grammar))


def _quotes(name: str) -> tuple[str, ...]:
    """Return the quotes with which the template of a dialect that writes arguments as code writes strings."""
    quotes = next((leaf.quotes for leaf in _leaves(name) if isinstance(leaf, CallArgs)), ("",))
    return quotes if len(quotes[0]) == 1 else quotes[:1]


def is_bare(name: str) -> bool:
    """Return whether a dialect writes its values without a reliable escape."""
    return _quotes(name) != ("",) or shape_of(DIALECTS[name]).is_raw


def template(
    name: str, shape: Shape, calls: Sequence[Mapping[str, str]], quote: str, *, ends_lines: bool = True
) -> str:
    """Return calls as the template of a dialect writes them; `ends_lines`: it writes the end of a value's last line."""
    dialect, end = DIALECTS[name], "\n" if name == "aider" else ""
    held = [
        {key: f"Q{place}Z{number}{end}" if key in shape.free else "p" for number, key in enumerate(call)}
        for place, call in enumerate(calls)
    ]
    text = render_calls(dialect, [CallToRender(shape.tool, each, None, shape.schema) for each in held])
    written = [
        (held[place][key], call[key] + end * ends_lines) for place, call in enumerate(calls) for key in shape.free
    ]
    if quote:
        used = next(each for each in _quotes(name) if f"{each}{written[0][0]}{each}" in text)
        written = [(f"{used}{mark}{used}", quote + value + quote) for mark, value in written]
    for mark, value in written:
        text = text.replace(mark, value)
    return text


def calls_by_template(name: str, count: int, random: Random) -> Iterator[Written]:
    """Yield calls with contents of each kind in turn."""
    dialect = DIALECTS[name]
    shape = shape_of(dialect)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        quote = random.choice(_quotes(name))
        calls = [
            {key: _content(name, shape, kind, quote, random) if key in shape.free else "p" for key in shape.keys}
            for _ in range(random.choice((1, 1, 2)))
        ]
        schema = {**shape.schema, "required": [*shape.keys]} if random.random() < 0.5 else shape.schema
        text = template(name, shape, calls, quote)
        end = "\n" if name == "aider" else ""
        given = [
            (shape.tool, {key: value + end if key in shape.free else value for key, value in each.items()})
            for each in calls
        ]
        yield Written(given, quote, schema, text)


def _content(name: str, shape: Shape, kind: str, quote: str, random: Random) -> str:
    fillers = ("", "", "x", " ", "\n", ", ", ")", quote, "\\", "a = 1\n")
    if kind == "code":
        return "".join(random.choice((*_CODE, *fillers)) for _ in range(random.randint(1, 3)))
    if kind == "openers":
        openers = [f", {key}={quote}" for key in (*shape.keys, "y")] if quote else markers(DIALECTS[name])
        if quote and "{" in markers(DIALECTS[name]):
            openers = [each.replace("=", ":").replace(", ", ",") for each in openers]
        parts = [random.choice((*openers, quote, *fillers)) for _ in range(random.randint(2, 8))]
        return "".join(parts)
    if not quote:
        (sample,) = samples(name, 1, random, (kind,))
        return sample.arguments[shape.free[0]].removesuffix("\n" if name == "aider" else "")
    inner = dict.fromkeys(shape.keys, "inner")
    whole = template(name, shape, [inner], quote)
    match kind:
        case "whole call":
            parts = [whole]
        case "two calls":
            parts = [whole, template(name, shape, [dict.fromkeys(shape.keys, "other")], quote)]
        case "nested call":
            parts = [template(name, shape, [dict.fromkeys(shape.keys, f"a {whole} b")], quote)]
        case "prefix":
            parts = [whole[: random.randrange(1, len(whole))]]
        case "suffix":
            parts = [whole[random.randrange(1, len(whole)) :]]
        case "foreign":
            (sample,) = samples(name, 1, random, (kind,))
            parts = [sample.arguments[shape.free[0]]]
        case _:
            parts = random.choices(markers(DIALECTS[name]), k=1 if kind == "one marker" else random.randint(2, 8))
    return "".join((random.choice(fillers), *(part + random.choice(fillers) for part in parts)))


def outcome(name: str, written: Written, random: Random) -> tuple[str, list[tuple[str, Any]]]:
    """Return what became of the calls: `exact`, `failed` if some or all were not run, `same` or `wrong`; and what ran.

    `same`: the text is also the right text of the calls that were run, so that nobody can tell the two apart.
    """
    shape = shape_of(DIALECTS[name])
    pieces = pieces_of(written.text, random)
    events = answered(pieces, parse_text(name, tools={shape.tool: written.schema}, turn_id="t"), to_invocations())
    run = [(each.name, each.arguments) for each in events if isinstance(each, ToolInvocation)]
    if run == written.calls:
        return "exact", run
    left = iter(written.calls)
    if all(each in left for each in run):
        return "failed", run
    return ("same" if is_right(name, shape, written, run) else "wrong"), run


def is_right(name: str, shape: Shape, written: Written, run: list[tuple[str, Any]]) -> bool:
    """Return whether a text is right for other calls too: as Python, or without a marker in their values."""
    is_code = len(written.quote) == 1 and "{" not in markers(DIALECTS[name])
    if is_code and is_python(name, written.text, run):
        return True
    texts = [python_call(*each, written.quote) for each in written.calls] if is_code else []
    of_reasoning = {marker for pair in DIALECTS[name].reasoning for marker in pair}
    of_calls = [each for each in markers(DIALECTS[name]) if len(each) > 1 and each not in of_reasoning]
    own = [written.quote] if written.quote else of_calls
    whole = _template_of(name, shape, run, written.quote)
    parts = [_template_of(name, shape, [each], written.quote) for each in written.calls]
    other = [each for each in run if each not in written.calls]
    meant = [each for each in written.calls if each not in run]
    if not written.quote and _is_better_nested(name, shape, (whole, written.text), other, meant):
        # Letter for letter a call with whole calls in its value: the law of any content has it come back.
        return True
    for each in run:
        is_plain = not any(marker in str(value) for value in each[1].values() for marker in own)
        of_one = _template_of(name, shape, [each], written.quote)
        if not (
            each in written.calls
            or (is_plain and (whole == written.text or of_one in parts))
            or (
                not written.quote
                and any(
                    _is_better_nested(name, shape, (of_one, part), [each], [call])
                    for call, part in zip(written.calls, parts, strict=True)
                )
            )
            or any(is_python(name, text, [each]) for text in texts)
        ):
            return False
    return True


def _is_better_nested(
    name: str, shape: Shape, texts: tuple[str, str], run: list[tuple[str, Any]], calls: list[tuple[str, Any]]
) -> bool:
    """Return whether calls have the text of others, and all calls in their values are whole, unlike in those."""
    if _as_meant(name, texts[0]) != _as_meant(name, texts[1]):
        return False
    is_nested = is_nesting(name, shape)
    return all(map(is_nested, _values(run))) and not all(map(is_nested, _values(calls)))


def _as_meant(name: str, text: str) -> str:
    """Return a text with each marker as it is meant, however it is spelled."""
    for spelled, meant in DIALECTS[name].aliases:
        text = text.replace(spelled, meant)
    return text


def _values(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    return [str(value) for _, arguments in calls for value in arguments.values()]


def is_nesting(name: str, shape: Shape) -> Callable[[str], bool]:
    """Return what asks of a value whether each opener of a call in it has its end behind it, and each end its opener."""
    call = dict.fromkeys(shape.keys, "\0")
    head, *_, between = template(name, shape, [call, call], "").split("\0")[: len(shape.free) + 1]
    # In a block with several calls, that of the call and not of the block.
    tails = (head[found.start() :] for found in re.finditer("<", head))
    opener = next((tail for tail in tails if between.endswith(tail)), head)
    end, opener = between.removesuffix(opener), opener.partition(shape.tool)[0]
    ends = r"\s*".join(map(re.escape, re.split(r"\s*(?=<)", end.strip())))
    blanks = r"\s+"
    is_of_lines = any(isinstance(leaf, Text) and leaf.at_line for leaf in _leaves(name))
    begin, line_end = ("(?m:^)", r"[ \t\r]*\n") if is_of_lines else ("", "")
    mark = re.compile(rf"(?P<opener>{blanks.join(map(re.escape, opener.split()))}{line_end})|{begin}{ends}")

    def is_nested(value: str) -> bool:
        depth = 0
        for found in mark.finditer(value):
            depth += 1 if found["opener"] else -1
            if depth < 0:
                return False
        return depth == 0

    return is_nested


def _template_of(name: str, shape: Shape, calls: list[tuple[str, Any]], quote: str) -> str:
    """Return calls as the template writes them; empty if their arguments are not the same ones."""
    keys = tuple(calls[0][1]) if calls else ()
    if not keys or any(tuple(arguments) != keys for _, arguments in calls):
        return ""
    shape = shape._replace(keys=keys, free=keys)
    return template(name, shape, [arguments for _, arguments in calls], quote, ends_lines=False)


def python_call(tool: str, arguments: Mapping[str, str], quote: str) -> str:
    """Return one call as the templates write it, without markers."""
    return f"{tool}({', '.join(f'{key}={quote}{value}{quote}' for key, value in arguments.items())})"


def is_python(name: str, text: str, run: list[tuple[str, Any]]) -> bool:
    """Return whether a text without its markers is Python for calls, each of its blocks for one of them, in order."""
    if _is_python(name, text, run):
        return True
    opener = next((each for each in markers(DIALECTS[name]) if len(each) > 2 and text.startswith(each)), "")
    if len(run) < 2 or not opener:
        return False
    places = [found.start() for found in re.finditer(re.escape(opener), text)][1:]
    return any(_is_python(name, text[:place], run[:1]) and is_python(name, text[place:], run[1:]) for place in places)


def _is_python(name: str, text: str, run: list[tuple[str, Any]]) -> bool:
    """Return whether a text without its markers is Python for calls."""
    for marker in sorted(markers(DIALECTS[name]), key=len, reverse=True):
        if len(marker) > 2 and (text.startswith(marker) or text.endswith(marker)):
            text = text.removeprefix(marker).removesuffix(marker)
    text = text.strip().replace("f.call(", "f(", 1) if name == "llama_python_tag" else text.strip()
    for source in (f"[{text}]", text, f"[{','.join(text.splitlines())}]"):
        try:
            with warnings.catch_warnings(action="ignore"):  # Python warns of an escape that it does not know
                body = ast.parse(source, mode="eval").body
            elements = body.elts if isinstance(body, ast.List) else []
            calls = [
                (ast.unparse(each.func), {str(pair.arg): ast.literal_eval(pair.value) for pair in each.keywords})
                for each in elements
                if isinstance(each, ast.Call)
            ]
        except (SyntaxError, ValueError):
            continue
        if json.dumps(calls, sort_keys=True) == json.dumps(run, sort_keys=True):
            return True
    return False
