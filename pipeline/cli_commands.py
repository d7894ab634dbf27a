"""The commands of `penstock`: what they take, and in which order things happen. Needs the extra `cli`."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text
from typer.exceptions import TyperException

from ..events.errors import PenstockError, UsageError
from ..sources.apis import api_of
from .demo import play
from .demo_view import view_for
from .inspect_recording import Via, inspect_recording
from .inspect_view import json_line, report
from .printable import printable
from .serve_recordings import serve_recordings
from .strategies import strategy_named

HELP = "Act on a language model's output while it is still streaming."
EXAMPLES = """\b
Examples:
  penstock demo
  penstock inspect answer.sse
  penstock inspect --json --via sdk *.sse
"""
INSPECT_EXAMPLES = """\b
Examples:
  penstock inspect answer.sse
  penstock inspect --json answer.sse | jq '.calls[].name'
  penstock inspect --api openai-chat --via sdk recordings/*.sse
"""
DEMO_EXAMPLES = """\b
Examples:
  penstock demo
  penstock demo --pace 20
  penstock demo --pace 0 | less
"""
SERVE_EXAMPLES = """\b
Examples:
  penstock serve-recordings tests/streams
  penstock serve-recordings tests/streams --port 8080 --pace 0.05
  penstock serve-recordings tests/streams --fault cut:500
"""
PATIENCE = 1.0
"""Seconds without a word before a terminal is told that something goes on."""

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def run() -> int:
    """Run the command of `sys.argv` and give the exit code; errors that the user can mend are said in one line."""
    try:
        return int(app(prog_name="penstock", standalone_mode=False) or 0)
    except TyperException as error:
        _complain(error.format_message())
    except PenstockError as error:
        _complain(str(error))
    return 2


@app.callback(invoke_without_command=True, help=HELP, epilog=EXAMPLES)
def penstock(
    context: typer.Context,
    *,
    show_version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
) -> None:
    if show_version:
        typer.echo(f"penstock {_version()}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog=INSPECT_EXAMPLES)
def inspect(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Recorded bodies of streamed answers.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line for each file.")] = False,
    via: Annotated[Via, typer.Option(help="Decode the bytes, or play them to the provider's SDK.")] = "wire",
    api: Annotated[str | None, typer.Option(metavar="NAME", help="The API, where the file does not say it.")] = None,
    strategy: Annotated[str, typer.Option(metavar="NAME", help="How calls are found.")] = "api_tool_call",
) -> None:
    """Show what recorded answers amount to: text, calls, how they ended.

    An error that was recorded is part of the answer. A file that cannot be read is told in a line, the others go on,
    and the command ends with 2.
    """
    chosen = strategy_named(strategy)
    if api is not None:
        api_of(api)
    console = Console(highlight=False)
    code = 0
    for file in files:
        try:
            with _patience(file):
                name, answer = inspect_recording(file, api=api, via=via, strategy=chosen)
        except UsageError as error:
            _complain(f"{file}: {error}")
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


@app.command(epilog=DEMO_EXAMPLES)
def demo(
    pace: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long the answer takes; 0: as fast as it is read.")
    ] = 6.0,
) -> None:
    """Show a file being written while the model is still writing it.

    A recorded answer is played by a server on this machine through the real OpenAI SDK; no key, no network.
    """
    if not (math.isfinite(pace) and pace >= 0):
        message = f"--pace is a number of seconds from 0, got {pace}"
        raise UsageError(message)
    console = Console(highlight=False)
    with view_for(console) as show:
        proof = play(show, seconds=pace)
    sys.stdout.write(f"{proof}\n")
    raise typer.Exit(0 if proof.holds else 1)


@app.command(name="serve-recordings", epilog=SERVE_EXAMPLES)
def serve(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Where the recorded bodies are, at any depth.")],
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 0,
    host: Annotated[str, typer.Option(metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    public: Annotated[bool, typer.Option("--public", help="Let other machines reach a --host that they can.")] = False,
    pace: Annotated[
        str, typer.Option(metavar="PACE", help="original (as recorded, where known), instant, or SECONDS an event.")
    ] = "instant",
    chunk: Annotated[str | None, typer.Option(metavar="BYTES", help="The size of each write; or event.")] = None,
    fault: Annotated[
        str | None,
        typer.Option(
            metavar="FAULT",
            help="What goes wrong: cut:N, stall:N, reset:N (after N bytes), status:CODE, error:N, garbage:N "
            "(an event after N bytes), duplicate:K (event K, from 1).",
        ),
    ] = None,
) -> None:
    """Play recorded answers to the clients of OpenAI, Anthropic, Google and Ollama.

    A request gets the recording that its header x-penstock-recording names, else one named as its model, else the
    next of its API; its header x-penstock-fault asks for a fault. Ctrl-C ends it.
    """
    serve_recordings(
        folder, host=host, port=port, public=public, pace=pace, chunk=chunk, fault=fault, say=typer.echo, warn=_complain
    )


@contextmanager
def _patience(file: str) -> Generator[None, None, None]:
    """Say on a terminal which file is being worked on, if it takes long."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    status = console.status(Text(printable(file)))
    timer = threading.Timer(PATIENCE, status.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def _complain(message: str) -> None:
    typer.echo(f"penstock: {printable(message)}", err=True)


def _version() -> str:
    try:
        return version("penstock")
    except PackageNotFoundError:
        return "from a checkout that is not installed"
