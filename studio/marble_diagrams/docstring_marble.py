"""The marble diagram in an operator's docstring: read, run and compared with what it shows.

    chunks         --a------b--|
    to_segments()  --(S,x)--y--(E,A,|)
    where a = ChunkResponse(content="Hel")
          x = SegmentContent(delta="Hel")

A row with a name is an input; a row with a call is that operator, run on the row above. What a letter of an input
stands for is written as Python, of an output as a pattern of Python, as in a `case`: a class with some attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from doctest import DocTestFinder, DocTestRunner
from functools import cache, reduce
from importlib import import_module
from inspect import getdoc
from io import StringIO
from itertools import takewhile, zip_longest
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from reactivex import Notification, Observable
from reactivex import operators as ops
from reactivex.notification import OnNext
from reactivex.testing import Recorded, TestScheduler

from ...events.chunk_response import TokenUsage
from ...events.errors import UsageError
from ...events.segment_event import Fragment, JsonError
from ...events.tool_invocation import FileChange
from ...operators.aggregate_fragments import PathValue
from ...operators.engine.stage import Completed, Failed
from ...operators.partial_arguments import PartialArguments
from ...operators.partial_output import PartialOutput
from .diagram import Diagram
from .marble_string import Row, diagram_of_rows, messages_of, read_lines, row_of

_WHERE = re.compile(r"^(?:where )?\s*(\w+) = (.+)$")
_CREATED, _SUBSCRIBED = 100, 200
_FIRST = _SUBSCRIBED + 1
"""The time of the first character: what comes at the very moment of the subscription is missed."""


class DocstringMarble(Struct, frozen=True):
    """The rows of a marble diagram, and what their letters stand for."""

    rows: dict[str, str]
    where: dict[str, str]


def docstring_marble(function: Callable[..., Any]) -> DocstringMarble:
    """Return the marble diagram in a docstring: its first indented paragraph; `UsageError` if there is none."""
    paragraphs = (getdoc(function) or "").split("\n\n")
    for paragraph in paragraphs:
        if paragraph.startswith("    ") and "--" in paragraph:
            return _read(paragraph)
    message = f"the docstring of {function.__name__} has no marble diagram; write one as an indented paragraph"
    raise UsageError(message)


def _read(paragraph: str) -> DocstringMarble:
    lines = paragraph.splitlines()
    rows = list(takewhile(lambda line: not line.lstrip().startswith("where "), lines))
    where: dict[str, str] = {}
    letter = ""
    for line in lines[len(rows) :]:
        found = _WHERE.match(line.strip())
        if found is not None:
            letter, text = found[1], found[2]
            where[letter] = text
        else:
            where[letter] += f" {line.strip()}"
    return DocstringMarble(read_lines("\n".join(rows)), where)


def run_docstring(function: Callable[..., Any]) -> dict[str, Row]:
    """Return the rows of an operator's diagram as they are when it is run, in virtual time."""
    marble = docstring_marble(function)
    names = _names_for(function)
    source = next(reversed([name for name in marble.rows if name.isidentifier()]))
    inputs = {name: _messages(text, marble.where, names) for name, text in marble.rows.items() if name.isidentifier()}
    rows: dict[str, Row] = {}
    calls: list[str] = []
    for name in marble.rows:
        if name in inputs:
            rows[name] = row_of([(each.time - _FIRST, each.value) for each in inputs[name]])
        else:
            calls.append(name)
            rows[name] = _run(inputs, source, calls, names)
    return rows


def docstring_diagram(function: Callable[..., Any]) -> Diagram:
    """Return what a picture of an operator's diagram shows, made by running it."""
    return diagram_of_rows(run_docstring(function), "", "frames")


def differences(function: Callable[..., Any]) -> list[str]:
    """Return where the rows of a docstring differ from what its operators do; empty if they do not."""
    marble, names = docstring_marble(function), _names_for(function)
    found: list[str] = []
    for name, row in run_docstring(function).items():
        if name.isidentifier():
            continue
        got = [*row.items, *([] if row.ended is None else [row.ended])]
        for expected, actual in zip_longest(messages_of(marble.rows[name]), got):
            if expected is None or actual is None or expected[0] != actual[0]:
                is_same = False
            else:
                is_same = _stands_for(expected[1], actual[1], marble.where, names)
            if not is_same:
                got_it = "nothing" if actual is None else f"{actual[1]!r} at {actual[0]:g}"
                found.append(f"{name}: expected {_told(expected, marble.where)}, got {got_it}")
                break
    return found


def _stands_for(expected: Notification[Any], value: Any, where: Mapping[str, str], names: dict[str, Any]) -> bool:
    match expected.kind:
        case "C":
            return isinstance(value, Completed)
        case "E":
            return isinstance(value, Failed)
        case _ if expected.value in where:
            return _matches(value, where[expected.value], names)
        case _:
            return bool(expected.value == value)


def _told(expected: tuple[float, Notification[Any]] | None, where: Mapping[str, str]) -> str:
    match expected:
        case None:
            return "nothing"
        case time, OnNext(value=value):
            return f"{where.get(value) or repr(value)} at {time:g}"
        case time, notification:
            return f"{'the completion' if notification.kind == 'C' else 'an error'} at {time:g}"


def _matches(value: Any, pattern: str, names: dict[str, Any]) -> bool:
    scope = {**names, "value": value, "is_match": False}
    exec(compile(f"match value:\n    case {pattern}: is_match = True", "<where>", "exec"), scope)  # noqa: S102 - a docstring's own code, as doctest runs it
    return bool(scope["is_match"])


def _messages(text: str, where: Mapping[str, str], names: dict[str, Any]) -> list[Recorded[Any]]:
    used = set(re.findall(r"[^-,()#|]+", text)) & set(where)
    lookup = {letter: eval(where[letter], names) for letter in used}  # noqa: S307 - as above
    return [Recorded(int(time + _FIRST), each) for time, each in messages_of(text, lookup)]


def _run(inputs: Mapping[str, list[Recorded[Any]]], source: str, calls: list[str], names: dict[str, Any]) -> Row:
    scheduler = TestScheduler()
    streams: dict[str, Observable[Any]] = {
        name: scheduler.create_hot_observable(messages) for name, messages in inputs.items()
    }
    operators: list[Callable[[Observable[Any]], Observable[Any]]] = [
        eval(call, {**names, **streams})  # noqa: S307 - as above
        for call in calls
    ]
    shown = reduce(lambda stream, operator: operator(stream), operators, streams[source])
    last = max(each.time for messages in inputs.values() for each in messages)
    seen: Any = scheduler.start(
        lambda: shown.pipe(ops.map(_frozen)), created=_CREATED, subscribed=_SUBSCRIBED, disposed=last + 1
    )
    return row_of([(each.time - _FIRST, each.value) for each in seen.messages])


def _frozen(value: Any) -> Any:
    """Return a live view as it is now; what is no view is returned as it is."""
    if isinstance(value, PartialArguments):
        return replace(value, arguments=value.snapshot())
    return replace(value, live=value.snapshot()) if isinstance(value, PartialOutput) else value


def _names_for(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what a diagram may name: what `penstock.events` and `penstock.operators` have, and its examples define."""
    names = dict(_public_names())
    for example in DocTestFinder(recurse=False).find(function, globs={}):
        if example.examples:
            with redirect_stdout(StringIO()):
                DocTestRunner(verbose=False).run(example, out=lambda _: None, clear_globs=False)
            names |= example.globs
    return names


@cache
def _public_names() -> dict[str, Any]:
    package = __name__.split(".")[0]
    rooms = (import_module(f"{package}.{room}") for room in ("events", "operators"))
    public = {name: getattr(room, name) for room in rooms for name in room.__all__}
    return public | {each.__name__: each for each in (FileChange, Fragment, JsonError, PathValue, TokenUsage)}
