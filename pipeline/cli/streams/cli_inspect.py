"""`penstock inspect`: summarise recorded answers."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ....events.errors import UsageError
from ....sources.recognition.apis import api_of
from ...recordings.inspect_recording import Via, inspect_recording
from ...strategies.strategies import strategy_named
from ..cli_parts import ApiName, Interaction, StrategyName, complain, strategy_name
from .progress_shown import progress_shown

INSPECT_EXAMPLES = """\b
Examples:
  penstock inspect answer.jsonl
  penstock inspect --json answer.sse | jq '.calls[].name'
  penstock inspect --api openai-chat --via sdk recordings/*.sse
"""


def inspect(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Recordings, bodies of streamed answers, cassettes; - for the input."),
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line for each file.")] = False,
    via: Annotated[Via, typer.Option(help="Decode the bytes, or replay them to the provider's SDK.")] = "wire",
    api: ApiName = None,
    interaction: Interaction = None,
    strategy: StrategyName = None,
) -> None:
    """Summarise recorded answers: text, calls, when each call came, how they ended.

    For each call: the first byte, the first character of its first argument, its end, its characters and chunks, and
    the rate at which they came. A recording has times; of a body or a cassette the chunks are counted.

    A recorded error is part of the answer. A file that cannot be read is reported in one line, the others are shown,
    and the exit code is 2.
    """
    from rich.console import Console  # noqa: PLC0415 - help needs no rich

    from ...recordings.inspect_view import json_line, report  # noqa: PLC0415

    chosen = strategy_named(strategy_name(strategy))
    if api is not None:
        api_of(api)
    console = Console(highlight=False)
    code = 0
    for file in files:
        try:
            with progress_shown(file) as progress:
                name, answer = inspect_recording(
                    file, api=api, via=via, strategy=chosen, progress=progress, interaction=interaction
                )
        except UsageError as error:
            complain(f"{file}: {error}")
            code = 2
            continue
        if as_json:
            line = json_line(file, name, answer)
        else:
            with console.capture() as shown:
                console.print(report(file, name, answer))
            line = shown.get().rstrip("\n") + "\n"
        sys.stdout.write(line + "\n")
    raise typer.Exit(code)
