"""`penstock app`, `penstock demo` and `penstock serve-recordings`: recorded answers, served and shown."""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Annotated

import typer

from ...events.errors import UsageError
from ...sinks.parts.event_words import printable
from ...sources.base.request import is_this_machine
from ...sources.recognition.apis import APIS
from ..demo.demo import Proof, answers, play
from ..replay.replay_log import ReplayEntry
from ..replay.replay_recordings import Recording
from ..replay.replay_server import ReplayServer
from .cli_parts import NoBrowser, announced, beginning_with, complain, packages_of_a_page

SERVE_EXAMPLES = """\b
Examples:
  penstock serve-recordings tests/streams
  penstock serve-recordings tests/streams --port 8080 --pace 0.05
  penstock serve-recordings tests/streams --fault cut:500
  penstock serve-recordings tests/streams --strict
"""
_FAULTS = ("cut:", "stall:", "reset:", "status:", "error:", "garbage:", "duplicate:")
_TICK = 1.0
"""Seconds between checks for Ctrl-C, for systems on which it does not wake a wait."""


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
    hosts = allow_host or []
    with ReplayServer(
        folder, host=host, port=port, public=public, hosts=hosts, pace=pace, chunk=chunk, fault=fault, strict=strict
    ) as server:
        changes = server.follow()
        if not is_this_machine(host):
            complain(f"warning: anyone who can reach {host} can read these recordings and the log")
        for line in introduction(server, folder):
            typer.echo(line)
        while True:
            try:
                entry = changes.get(timeout=_TICK)
            except Empty:
                continue
            typer.echo(printable(progress(entry)))


def introduction(server: ReplayServer, folder: str) -> Iterator[str]:
    """Yield the lines about what is served and how to reach it."""
    recordings = server.recordings
    count = len(recordings.all)
    others = len(recordings.left_out)
    left_out = f" (without {others} files that are no recorded stream)" if others else ""
    yield printable(f"{count} recording{'s' if count != 1 else ''} of {folder}{left_out}")
    yield f"on {server.url} until Ctrl-C; the log is {server.url}/penstock/log"
    width = max(len(api.name) for api in APIS)
    for api in APIS:
        if own := len(recordings.of(api.name)):
            yield f"  {api.name:<{width}} {own:>4}  {api.served.client.format(url=server.url)}"


def progress(entry: ReplayEntry) -> str:
    """Return the line about the outcome of a request."""
    begin = f"#{entry.id} {entry.api or 'unknown path'}"
    if entry.outcome == "refused":
        return f"{begin}: HTTP {entry.status}{f', {entry.fault}' if entry.fault else ''}"
    if entry.outcome == "open":
        model = f" {entry.model}" if entry.model else ""
        return f"{begin}{model}: {entry.recording}{f', {entry.fault}' if entry.fault else ''}"
    seconds = (entry.ended_at or entry.began_at) - entry.began_at
    sent = f"{entry.bytes_sent} bytes sent, {entry.bytes_total} recorded, in {seconds:.2f} s"
    return f"{begin}: {entry.outcome.replace('_', ' ')}, {sent}"


DEMO_EXAMPLES = """\b
Examples:
  penstock demo
  penstock demo --pace 30
  penstock demo --pace 0 | less
"""


def demo(
    pace: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long the answers take in all; 0: as fast as they are read.")
    ] = 12.0,
) -> None:
    """Show files being written while the model is still writing them.

    A server on this machine replays recorded answers through the real SDKs of OpenAI, Anthropic and Google; no key, no
    network. At the end it shows, from the server's log, how early each file was there.
    """
    if not (math.isfinite(pace) and pace >= 0):
        message = f"--pace must be a number of seconds from 0, got {pace}"
        raise UsageError(message)
    from ...sinks.terminal_view import terminal_view  # noqa: PLC0415 - rich is not needed for help

    chosen = answers()
    events = sum(answer.events for answer in chosen)
    proofs: list[Proof] = []
    for number, answer in enumerate(chosen, 1):
        sys.stdout.write("" if number == 1 else "\n")
        _say(f"── {number} of {len(chosen)}: {answer.title} ──", indent=3)
        if answer.note:
            _say(f"   {answer.note}", indent=3)
        sys.stdout.flush()
        proofs.append(play(answer, terminal_view(), seconds=pace * answer.events / events))
    sys.stdout.write("\n")
    _say("By the server's log, a file's first content was out")
    for proof in proofs:
        _say(f"  {proof}", indent=4)
    sys.stdout.write("\n")
    _say("The same answers in a page, with buttons to approve and to stop:")
    sys.stdout.write(f"  {_called()} app --demo\n")
    raise typer.Exit(0 if all(proof.holds for proof in proofs) else 1)


def _say(text: str, *, indent: int = 0) -> None:
    """Print a line, wrapped between words if the terminal is narrower."""
    width = shutil.get_terminal_size().columns
    rows = textwrap.wrap(text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    sys.stdout.writelines(f"{row}\n" for row in rows)


def _called() -> str:
    """Return what to type for this command: its path, where its name alone would not find it."""
    return "penstock" if shutil.which("penstock") else sys.argv[0]


APP_EXAMPLES = """\b
Examples:
  penstock app --demo
  penstock app
  penstock app recordings --root work --commands
  penstock app --no-browser
"""
_TITLES = ("A garden report, and its first run", "Its tests, after some thought", "A page about it, and a file of beds")
"""What the demo's three answers are."""


def app(
    folder: Annotated[
        str | None, typer.Argument(metavar="[DIR]", help="A folder of recordings to offer, with those below it.")
    ] = None,
    *,
    demo: Annotated[
        bool, typer.Option("--demo", help="Offer the demo's answers; files go to a new temporary folder.")
    ] = False,
    root: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write files below this folder, each when you have approved it."),
    ] = None,
    commands: Annotated[
        bool, typer.Option("--commands", help="Run commands in the --root folder, each when you have approved it.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free one.")] = 0,
    no_browser: NoBrowser = False,
) -> None:
    """Serve a page on this machine that shows answers while they stream: text, files, commands.

    Ask the providers whose keys are in the environment, or play recordings. The page opens in your browser, and asks
    before a file is written or a command is run. Only this machine can reach it, and only with the address that is
    printed. Ctrl-C stops it.
    """
    with packages_of_a_page("app"):
        from ..app.app_routes import run_app  # noqa: PLC0415 - what it imports is an extra

    ready = announced(no_browser=no_browser)
    of_demo = zip(_TITLES, answers(), strict=True) if demo else ()
    chosen = [(title, Recording(each.file, each.api, each.body), each.title) for title, each in of_demo]
    run_app(chosen, folder=folder, root=root, commands=commands, demo=demo, port=port, ready=ready)
