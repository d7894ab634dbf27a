"""The output of `penstock inspect`: a line of JSON for programs, or a table for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...sinks.parts.event_words import printable, shortened
from .inspect_recording import TEXT, Inspected, InspectedCall

TEXT_LINES = 6
BARS = "▁▂▃▄▅▆▇█"
_TIMES = ("first byte", "first field", "sealed")
STYLES = {"complete": "green", "truncated": "yellow", "interrupted": "yellow", "failed": "red"}


def json_line(file: str, api: str, answer: Inspected) -> str:
    """Return one line of JSON in ASCII, so that nothing in it moves a terminal or ends a line."""
    plain: dict[str, Any] = to_builtins(answer)
    return json.dumps({"file": file, "api": api, **plain})


def report(file: str, api: str, answer: Inspected) -> RenderableType:
    """Return the summary for people: a heading, the text's first lines, the calls, the error."""
    parts: list[RenderableType] = [Text(printable(file), style="bold"), Text(" · ".join(_summary(api, answer)))]
    if answer.error is not None:
        words = [str(answer.error[name]) for name in ("status", "type", "code") if answer.error[name] is not None]
        marks = f" ({', '.join(words)})" if words else ""
        parts.append(Text(printable(f"error{marks}: {answer.error['detail']}"), style="red"))
    if answer.text:
        lines = answer.text.splitlines()
        parts += [Text(f"  {printable(line)}", no_wrap=True, overflow="ellipsis") for line in lines[:TEXT_LINES]]
        if len(lines) > TEXT_LINES:
            parts.append(Text(f"  … {len(lines) - TEXT_LINES} lines more", style="dim"))
    if answer.calls:
        parts += [_calls(answer.calls), *_timings(answer)]
    return Group(*parts, "")


def _summary(api: str, answer: Inspected) -> list[str]:
    words = ["plain text"] if api == TEXT else [api, f"finish {answer.finish_reason or 'missing'}"]
    if answer.text:
        words.append(f"text {len(answer.text):,} characters")
    if answer.reasoning_chars:
        words.append(f"reasoning {answer.reasoning_chars:,} characters")
    if answer.usage:
        prompt, completion = answer.usage["prompt"], answer.usage["completion"]
        words.append(f"tokens {prompt:,} in, {completion:,} out")
    time = f" in {answer.seconds:,.2f} s" if answer.seconds is not None else ""
    return [*words, f"{answer.chunks:,} chunks{time}"]


def _calls(calls: tuple[InspectedCall, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1))
    columns: list[tuple[str, list[Text]]] = [
        ("call", [Text(str(call.index), justify="right") for call in calls]),
        ("name", [Text(shortened(_who(call), 24)) for call in calls]),
        ("id", [Text(shortened(call.id, 16)) for call in calls]),
        ("status", [Text(status := call.status or "open", style=STYLES.get(status, "")) for call in calls]),
        ("size", [Text(f"{len(call.arguments):,}", justify="right") for call in calls]),
    ]
    if any(call.choice for call in calls):
        columns.insert(0, ("choice", [Text(str(call.choice), justify="right") for call in calls]))
    for title, _ in columns:
        table.add_column(title, no_wrap=True)
    table.add_column("arguments")
    arguments = [Text(shortened(call.arguments, 200), no_wrap=True, overflow="ellipsis") for call in calls]
    for row in zip(*(cells for _, cells in columns), arguments, strict=True):
        table.add_row(*row)
    return table


def _timings(answer: Inspected) -> list[RenderableType]:
    """Return when each call came: a line that says what the numbers are, and a table."""
    unit = "seconds since the request" if answer.seconds is not None else "the chunk; no times were recorded"
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1))
    has_choices = any(call.choice for call in answer.calls)
    for title in (*(("choice",) if has_choices else ()), "call", *_TIMES, "size", "chunks"):
        table.add_column(title, no_wrap=True, justify="right")
    table.add_column("rate", no_wrap=True)
    for call in answer.calls:
        if (timing := call.timing) is None:
            continue
        times = [_time(getattr(timing, name.replace(" ", "_")), answer) for name in _TIMES]
        begin = [str(call.choice), str(call.index)] if has_choices else [str(call.index)]
        table.add_row(*begin, *times, f"{timing.characters:,}", f"{timing.chunks:,}", sparkline(timing.rate))
    return [Text(f"  when ({unit}) and at what rate", style="dim"), table] if table.row_count else []


def _time(value: float | None, answer: Inspected) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if answer.seconds is None else f"{value:,.3f}"


def sparkline(rate: Sequence[int]) -> str:
    """Return numbers as bars; only nothing is a blank.

    >>> sparkline([0, 1, 4, 8])
    ' ▁▄█'
    """
    most = max(rate, default=0)
    return "".join(BARS[-(-each * 8 // most) - 1] if each else " " for each in rate)


def _who(call: InspectedCall) -> str:
    return call.name if call.executed_by == "client" else f"{call.name} (provider's)"
