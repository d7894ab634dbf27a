"""The output of `penstock inspect`: a line of JSON for programs, or a table for people."""

from __future__ import annotations

import json
from typing import Any

from msgspec import to_builtins
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...sinks.wording.printable import printable, shortened
from .inspect_chunks import Inspected, InspectedCall

TEXT_LINES = 6
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
        parts.append(_calls(answer.calls))
    return Group(*parts, "")


def _summary(api: str, answer: Inspected) -> list[str]:
    words = [api, f"finish {answer.finish_reason or 'missing'}"]
    if answer.text:
        words.append(f"text {len(answer.text):,} characters")
    if answer.reasoning_chars:
        words.append(f"reasoning {answer.reasoning_chars:,} characters")
    if answer.usage:
        prompt, completion = answer.usage["prompt"], answer.usage["completion"]
        words.append(f"tokens {prompt:,} in, {completion:,} out")
    return words


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


def _who(call: InspectedCall) -> str:
    return call.name if call.executed_by == "client" else f"{call.name} (provider's)"
