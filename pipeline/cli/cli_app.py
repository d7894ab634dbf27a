"""`penstock app`: a page that shows answers while they stream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...sources.replay.replay_recordings import Recording
from ..demo.demo import answers
from .served_page import page_announced, server_needed_by

APP_EXAMPLES = """\b
Examples:
  penstock app --demo
  penstock app
  penstock app recordings --root work --commands
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
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in your browser.")] = False,
) -> None:
    """Serve a page on this machine that shows answers while they stream: text, files, commands.

    Ask the providers whose keys are in the environment, or play recordings. The page asks before a file is written or a
    command is run. Only this machine can reach it, and only with the address that is printed. Ctrl-C stops it.
    """
    with server_needed_by("penstock app"):
        from ..app.app_command import run_app  # noqa: PLC0415 - what it imports is an extra
    ready = page_announced(is_opened=open_page)
    of_demo = zip(_TITLES, answers(), strict=True) if demo else ()
    chosen = [(title, Recording(each.file, each.api, each.body), each.title) for title, each in of_demo]
    run_app(chosen, folder=folder, root=root, commands=commands, demo=demo, port=port, ready=ready)
