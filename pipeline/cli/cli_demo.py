"""`penstock demo`: files that appear while the model writes them."""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from typing import Annotated

import typer

from ...events.errors import UsageError
from ..demo.demo import Proof, answers, play

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
