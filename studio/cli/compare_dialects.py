"""`penstock parse --compare`: what each dialect finds in the same text."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ...events.segment_event import SegmentContent
from ...events.tool_invocation import InvocationFailed, ToolInvocation
from ...operators.catalogue.dialect_for import DIALECTS
from ...pipeline.pipeline import Pipeline
from ...pipeline.strategies import TextStrategy
from ...pipeline.tool import Tool
from ..reading.play_recording import short_line

_SHORT: Final = 40
"""The characters that are shown of a text."""
_FEW: Final = 4
"""So many dialects that find nothing are named."""


class Found(NamedTuple):
    """What is found in a text: its calls, each as a line, those that cannot be run included."""

    calls: tuple[str, ...]
    text: str
    reasoning: str


def compare_dialects(text: str, strategies: Iterable[TextStrategy], tools: Sequence[Tool]) -> dict[str, Found]:
    """Return what each strategy finds in a text, by its name.

    >>> found = compare_dialects("Hi [f(a=1)]", all_dialects(), ())
    >>> [name for name, each in found.items() if each.calls], found["hermes"].text
    (['llama4_pythonic', 'pythonic'], 'Hi [f(a=1)]')
    """
    return {each.__name__: _found(text, each, tools) for each in strategies}


def all_dialects() -> list[TextStrategy]:
    """Return a strategy for each dialect."""
    return [TextStrategy(name) for name in DIALECTS]


def _found(text: str, strategy: TextStrategy, tools: Sequence[Tool]) -> Found:
    calls: list[str] = []
    said = {"text": "", "reasoning": ""}
    for event in Pipeline(strategy, tools=tools or None, keep_answer=False).stream([text]):
        if isinstance(event, ToolInvocation | InvocationFailed):
            calls.append(short_line(event))
        elif isinstance(event, SegmentContent) and event.segment_type in said:
            said[event.segment_type] += event.delta
    return Found(tuple(calls), **said)


def print_compared(found: dict[str, Found], *, as_json: bool) -> None:
    """Print a table with a row for all dialects that find the same; or a line of JSON for each."""
    if as_json:
        for name, each in found.items():
            sys.stdout.write(json.dumps({"dialect": name, **each._asdict()}) + "\n")
        return
    from rich.console import Console  # noqa: PLC0415 - rich is not needed for help
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    same: dict[Found, list[str]] = {}
    for name, each in found.items():
        same.setdefault(each, []).append(name)
    table = Table("dialect", "calls", "text", "reasoning")
    for each, names in sorted(same.items(), key=lambda row: not row[0].calls):
        named = ", ".join(names) if each.calls or each.reasoning or len(names) <= _FEW else f"{len(names)} others"
        row = (named, "\n".join(each.calls), _short(each.text), _short(each.reasoning))
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)


def _short(text: str) -> str:
    """Return a text in one line, escaped for a terminal."""
    shown = repr(text[:_SHORT])[1:-1]
    return shown if len(text) <= _SHORT else f"{shown}… ({len(text)})"
