"""`penstock convert`: a recording as a plain body, and a body or a cassette as a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....events.errors import UsageError
from ....sources.recognition.apis import api_of
from ...recordings.convert_recording import FORMATS, Format, converted
from ...recordings.read_input import read_input
from ..cli_parts import ApiName, Interaction, complain
from .new_output import new_output
from .progress_shown import progress_shown

CONVERT_EXAMPLES = """\b
Examples:
  penstock convert answer.jsonl answer.sse
  penstock convert answer.sse answer.jsonl
  penstock convert tests/cassettes/answer.yaml answer.jsonl --interaction 2
  penstock convert answer.jsonl - --to body | less
"""


def convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN", help="A recording, the body of a streamed answer, or a cassette; - for the input."
        ),
    ],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The new file; - for the output.")],
    *,
    to: Annotated[
        Format | None, typer.Option(help="The format of OUT, by default as its name ends: .jsonl is a recording.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it exists.")] = False,
    api: ApiName = None,
    interaction: Interaction = None,
) -> None:
    """Convert a recording to the body of its response, and a body or a cassette to a recording.

    What the new format cannot hold is said on standard error: a body has no times, and a recording that is made of one
    says so, too. Converted there and back, a body is the same, byte for byte.
    """
    chosen = to or FORMATS.get(Path(target).suffix)
    if chosen is None:
        endings = ", ".join(FORMATS)
        message = (
            f"cannot tell the format of {target}; let it end with one of {endings}, or pass --to recording or body"
        )
        raise UsageError(message)
    write = new_output(target, overwrite=overwrite)
    if api is not None:
        api = api_of(api).name
    try:
        with progress_shown(source):
            content, losses = converted(read_input(source), chosen, api, interaction)
    except UsageError as error:
        message = f"{source}: {error}"
        raise UsageError(message) from error
    write(content)
    for lost in losses:
        complain(f"not in {target}: {lost}")
