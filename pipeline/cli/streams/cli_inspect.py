"""`penstock inspect`: summarise recorded answers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated

import typer

from ....events.errors import UsageError
from ....sinks.wording.printable import printable
from ....sources.recognition.apis import api_of
from ...recordings.inspect_recording import Progress, Via, inspect_recording
from ...strategies.strategies import strategy_named
from ..cli_parts import ApiName, StrategyName, complain, strategy_name

INSPECT_EXAMPLES = """\b
Examples:
  penstock inspect answer.sse
  penstock inspect --json answer.sse | jq '.calls[].name'
  penstock inspect --api openai-chat --via sdk recordings/*.sse
"""
PATIENCE = 1.0
"""The seconds after which the name of the file that is being read is shown on a terminal."""


def inspect(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Recorded bodies of streamed answers; - for the input.")
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line for each file.")] = False,
    via: Annotated[Via, typer.Option(help="Decode the bytes, or replay them to the provider's SDK.")] = "wire",
    api: ApiName = None,
    strategy: StrategyName = None,
) -> None:
    """Summarise recorded answers: text, calls, how they ended.

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
            with _patience(file) as progress:
                name, answer = inspect_recording(file, api=api, via=via, strategy=chosen, progress=progress)
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


@contextmanager
def _patience(file: str) -> Generator[Progress | None, None, None]:
    """Show on a terminal which file is being read and how much of it has been, if that takes long."""
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    status = console.status(Text(printable(file)))
    timer = threading.Timer(PATIENCE, status.start)
    timer.start()
    try:
        yield lambda done, size: status.update(Text(f"{printable(file)}  {done:,} of {size:,} bytes"))
    finally:
        timer.cancel()
        timer.join()
        status.stop()
