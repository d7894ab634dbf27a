"""`penstock replay`: replay a recorded answer through a strategy."""

from __future__ import annotations

from typing import Annotated

import typer

from ....sources.replay.replay_pieces import checked_chunk, checked_pace
from ...recordings.emitted import Emit
from ...recordings.event_lines import short_line
from ...recordings.play_recording import Player
from ...recordings.recorded import read_recorded
from ..cli_parts import (
    ApiName,
    AsJson,
    StrategyName,
    Watched,
    beginning_with,
    complain,
    print_lines,
    show,
    strategy_name,
)

REPLAY_EXAMPLES = """\b
Examples:
  penstock replay answer.sse
  penstock replay answer.sse --pace 0.05 --chunk 7
  penstock replay answer.sse --emit invocations --json | jq .name
  penstock run --provider openai --model gpt-5 --json "Hi" > answer.jsonl
  penstock replay answer.jsonl
"""


def replay(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The body of a streamed answer, or --json's lines; - for the input.")
    ],
    *,
    api: ApiName = None,
    pace: Annotated[
        str,
        typer.Option(
            metavar="PACE",
            help="instant, SECONDS before each event, or original (as recorded, where known).",
            autocompletion=beginning_with(("instant", "original")),
        ),
    ] = "instant",
    chunk: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES",
            help="Bytes per chunk; by default one event.",
            autocompletion=beginning_with(("event",)),
        ),
    ] = None,
    strategy: StrategyName = None,
    emit: Annotated[
        Emit | None, typer.Option(help="Print only these events, one per line, instead of the live view.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay a recorded answer as if it came now.

    A recording that was cut is replayed to its end, and open segments end as truncated; the exit code is 0. It is 1 if
    the recording ends in an error, which is printed in one line, and 130 after Ctrl-C.
    """
    checked = checked_pace(pace)
    size = None if chunk is None else checked_chunk(chunk)
    name = strategy_name(strategy)
    player = Player(read_recorded(file, api, timed=checked == "original"), pace=checked, chunk=size)
    watched = Watched(player.play(name, emit), player.stop)
    if emit is not None and not as_json:
        print_lines(watched, short_line)
    else:
        show(watched, as_json=as_json)
    if watched.error is not None:
        complain(f"{file}: {watched.error}")
    raise typer.Exit(130 if watched.is_stopped else 1 if watched.error is not None else 0)
