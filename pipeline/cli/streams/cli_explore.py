"""`penstock explore`: look through recorded answers in the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..cli_parts import ApiName, Interaction
from ..served_page import announced, packages_of_a_page
from .progress_shown import progress_shown

if TYPE_CHECKING:
    from ...explorer.explored_stream import ExploredStream

EXPLORE_EXAMPLES = """\b
Examples:
  penstock record -o answer.jsonl --provider openai --model gpt-5 "Write a garden in SVG."
  penstock explore answer.jsonl
  penstock explore tests/streams/openai_chat/*.sse --no-browser
"""


def explore(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="What penstock record wrote, bodies of streamed answers, or cassettes."),
    ],
    *,
    api: ApiName = None,
    interaction: Interaction = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in your browser.")] = True,
) -> None:
    """Look through recorded answers in your browser, item by item.

    The page shows what came, what each operator did with it, what it held back and why, and the answer so far. It runs
    the stream again with another strategy or cut otherwise. Only this machine can reach it, and only with the address
    that is printed. Ctrl-C stops it.
    """
    with packages_of_a_page("explore"):
        from ...app.app_command import run_explorer  # noqa: PLC0415 - what it imports is an extra
    from ...explorer.read_stream import read_stream  # noqa: PLC0415 - help needs nothing of it

    streams: dict[str, ExploredStream] = {}
    for file in files:
        with progress_shown(file):
            streams[file] = read_stream(file, api, interaction)
    run_explorer(streams, port=port, ready=announced(in_browser=browser))
