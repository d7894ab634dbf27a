"""`penstock marbles`: a recorded answer as a marble diagram."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ....events.errors import UsageError
from ..cli_parts import ApiName, Interaction, StrategyName, strategy_name
from .new_output import new_output
from .traced_file import traced_file

MARBLES_EXAMPLES = """\b
Examples:
  penstock marbles answer.jsonl -o answer.svg
  penstock marbles answer.jsonl -o answer.svg --axis time --by segment
  penstock marbles answer.sse -o - --strategy hermes > answer.svg
"""


def marbles(  # noqa: PLR0913 - the options of the command
    file: Annotated[str, typer.Argument(metavar="FILE", help="A recording, a body or a cassette; - for the input.")],
    *,
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="The SVG; - for the output.")],
    axis: Annotated[
        Literal["items", "time"], typer.Option(help="Equal room for each item, or distances that are times.")
    ] = "items",
    by: Annotated[Literal["operator", "segment"], typer.Option(help="What has a lane of its own.")] = "operator",
    title: Annotated[str | None, typer.Option(help="The title, by default the file's name.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the SVG if it exists.")] = False,
    api: ApiName = None,
    interaction: Interaction = None,
    strategy: StrategyName = None,
) -> None:
    """Draw a recorded answer as a marble diagram.

    The SVG shows what came, what each operator made of it, and what it held back. It needs nothing else, and a long
    answer is drawn as an overview. A body and a cassette have no times, so --axis time needs a recording.
    """
    write = new_output(output, overwrite=overwrite)
    from ....operators.marble_diagrams.marbles import marbles as drawn  # noqa: PLC0415 - help needs none of it

    traced = traced_file(file, strategy_name(strategy), api=api, interaction=interaction)
    if axis == "time" and not any(each.t_ns is not None for each in traced):
        message = f"{file} has no times; leave out --axis time, or take a file of penstock record"
        raise UsageError(message)
    svg = str(drawn(traced, axis=axis, by=by, title=title if title is not None else _name(file)))
    write((f"{svg}\n" if output == "-" else svg).encode())


def _name(file: str) -> str:
    return "" if file == "-" else Path(file).name
