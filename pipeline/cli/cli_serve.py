"""`penstock serve-recordings`: a server that plays recorded answers."""

from __future__ import annotations

from typing import Annotated

import typer

from ..recordings.serve_recordings import serve_recordings
from .cli_parts import beginning_with, complain

SERVE_EXAMPLES = """\b
Examples:
  penstock serve-recordings tests/streams
  penstock serve-recordings tests/streams --port 8080 --pace 0.05
  penstock serve-recordings tests/streams --fault cut:500
  penstock serve-recordings tests/streams --strict
"""
_FAULTS = ("cut:", "stall:", "reset:", "status:", "error:", "garbage:", "duplicate:")


def serve(  # noqa: PLR0913 - the options of the command
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="The folder of recorded bodies, searched with those below it.")
    ],
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free one.")] = 0,
    host: Annotated[str, typer.Option(metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    public: Annotated[bool, typer.Option("--public", help="Allow hosts that other machines can reach.")] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A further Host that requests may name, besides localhost; can be repeated."),
    ] = None,
    pace: Annotated[
        str,
        typer.Option(
            metavar="PACE",
            help="original (as recorded, where known), instant, or SECONDS an event.",
            autocompletion=beginning_with(("instant", "original")),
        ),
    ] = "instant",
    chunk: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES", help="The bytes of each write, or event.", autocompletion=beginning_with(("event",))
        ),
    ] = None,
    fault: Annotated[
        str | None,
        typer.Option(
            metavar="FAULT",
            help="The fault: cut:N, stall:N, reset:N (after N bytes), status:CODE, error:N, garbage:N "
            "(an event after N bytes), duplicate:K (event K, from 1).",
            autocompletion=beginning_with(_FAULTS),
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a model that no recording is named like, with 404.")
    ] = False,
) -> None:
    """Replay recorded answers to the clients of OpenAI, Anthropic, Google, Ollama, Cohere and Bedrock.

    A request gets the recording named in its header x-penstock-recording, else one named like its model, else the next
    one of its API; with --strict it is refused instead. Its header x-penstock-fault selects a fault. Ctrl-C stops the
    server.
    """
    serve_recordings(
        folder,
        host=host,
        port=port,
        public=public,
        hosts=allow_host or [],
        pace=pace,
        chunk=chunk,
        fault=fault,
        strict=strict,
        say=typer.echo,
        warn=complain,
    )
