"""`penstock explore`: look through recorded answers in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from ..cli_parts import ApiName
from ..served_page import page_announced, server_needed_by

EXPLORE_EXAMPLES = """\b
Examples:
  penstock record answer.jsonl --provider openai --model gpt-5 "Write a garden in SVG."
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
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in your browser.")] = True,
) -> None:
    """Look through recorded answers in your browser, item by item.

    The page shows what came, what each operator did with it, what it held back and why, and the answer so far. It runs
    the stream again with another strategy or cut otherwise. Only this machine can reach it, and only with the address
    that is printed. Ctrl-C stops it.
    """
    with server_needed_by("penstock explore"):
        from ...app.app_command import run_explorer  # noqa: PLC0415 - what it imports is an extra
    from ...explorer.read_stream import read_stream  # noqa: PLC0415 - help needs nothing of it

    ready = page_announced(is_opened=browser)
    run_explorer({file: read_stream(file, api) for file in files}, port=port, ready=ready)
