"""`penstock gateway --doctor`: what a server breaks, what the gateway mends of it, and what to do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NoReturn

import typer

from ...sinks.parts.event_words import printable
from .stream_parts import progress_shown

if TYPE_CHECKING:
    from ...gateway.doctor.diagnose import Diagnosis, Told
    from ...gateway.serving.gateway_app import GatewayOptions
    from ...gateway.serving.upstream import Upstream


def run_doctor(upstream: Upstream, options: GatewayOptions, command: str) -> NoReturn:
    """Ask the doctor's questions and print what came of them; exit with 1 if something is broken through the gateway.

    `command`: what starts the gateway with the same options.
    """
    with progress_shown(f"asking {upstream.url}") as show:
        found = asyncio.run(_asked(upstream, options, show or _untold))
    _print(found, upstream.url)
    for line in found.advice(command):
        typer.echo(line)
    raise typer.Exit(0 if found.is_well else 1)


def _untold(_done: int, _of: int) -> None:
    """Take the place of a progress bar where there is no terminal."""


async def _asked(upstream: Upstream, options: GatewayOptions, told: Told) -> Diagnosis:
    from ...gateway.doctor.diagnose import diagnose  # noqa: PLC0415 - what it imports is an extra

    async with upstream:
        return await diagnose(upstream, options, told)


def _print(found: Diagnosis, url: str) -> None:
    from rich import box  # noqa: PLC0415 - rich is not needed for help
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    server = found.found
    typer.echo(printable(f"{url}: {server.server}, model {found.model}, lane {server.lane}: {server.why}"))
    table = Table("", "question", "the server alone", "through the gateway", box=box.SIMPLE_HEAD, pad_edge=False)
    shown: set[str] = set()
    for row in found.rows:
        cells = (row.verdict, row.question, _once(row.alone.what, shown), _once(row.through.what, shown))
        table.add_row(*(Text(printable(each)) for each in cells))
    console = Console(highlight=False)
    with console.capture() as drawn:
        console.print(table)
    for line in drawn.get().splitlines():
        typer.echo(line.rstrip())


def _once(what: str, shown: set[str]) -> str:
    """Return what a cell says; an error that was shown before is not shown again."""
    from ...gateway.doctor.questions import ERROR  # noqa: PLC0415 - what it imports is an extra

    if what in shown and what.startswith(ERROR):
        return "the same error"
    shown.add(what)
    return what
