"""`penstock inspect`, `convert`, `explore`, `batch`: recordings summarised, converted, looked through, read in bulk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from ...events.errors import UsageError
from ...events.showing import counted
from ...pipeline.strategies import strategy_named
from ...sources.recognition.apis import api_of
from ..reading.inspect_recording import TextReading, Via, inspect_recording
from ..reading.read_input import read_input
from ..reading.recorded import FORMATS, Format, converted
from .cli_parts import (
    ApiName,
    Interaction,
    NoBrowser,
    StrategyName,
    announced,
    complain,
    packages_of_a_page,
    tools_named,
)
from .stream_parts import new_output, progress_shown
from .text_reading import CallReading, DialectNames, ModelName, strategy_of

if TYPE_CHECKING:
    from ..explorer.explored_stream import ExploredStream


EXPLORE_EXAMPLES = """\b
Examples:
  penstock record -o answer.jsonl --provider openai --model gpt-5 "Write a garden in SVG."
  penstock explore answer.jsonl
  penstock explore answer.txt --model Qwen/Qwen3-8B
  penstock explore recordings/ --dialect hermes
  penstock explore tests/streams/openai_chat/*.sse --no-browser
"""


def explore(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="What penstock record wrote, bodies of streamed answers, cassettes, a model's texts; - for the input; "
            "or a folder of recordings, such as that of penstock gateway --record.",
        ),
    ],
    *,
    api: ApiName = None,
    interaction: Interaction = None,
    dialect: DialectNames = None,
    model: ModelName = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free one.")] = 0,
    no_browser: NoBrowser = False,
) -> None:
    """Look through recorded answers in your browser, item by item.

    The page shows what came, what each operator did with it, what it held back and why, and the answer so far. It runs
    the stream again with another strategy or cut otherwise. A model's text comes in pieces as short as tokens. Only
    this machine can reach it, and only with the address that is printed. Ctrl-C stops it.
    """
    with packages_of_a_page("explore"):
        from ..app.app_routes import run_explorer  # noqa: PLC0415 - what it imports is an extra
    from ..explorer.explored_stream import read_stream  # noqa: PLC0415 - help needs nothing of it

    reading = CallReading(dialects=dialect, model=model)
    streams: dict[str, ExploredStream] = {}
    for file, is_in_folder in _with_those_in_folders(files):
        try:
            with progress_shown(file):
                stream = read_stream(file, api, interaction, as_text=reading.as_text(file))
        except UsageError as error:
            if not is_in_folder:
                raise
            complain(str(error))  # one that is being written
            continue
        streams[file] = replace(stream, pipeline=reading.finder(is_text=stream.form == "texts").pipeline)
    if not streams:
        message = "no recording of the folder can be read"
        raise UsageError(message)
    run_explorer(streams, port=port, ready=announced(no_browser=no_browser))


_MOST_OF_FOLDER = 100
"""The most recordings of a folder that are read, which are the last ones."""


def _with_those_in_folders(files: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield each file, of a folder its recordings, and whether it is one of those."""
    for file in files:
        found = sorted(Path(file).glob("*.jsonl")) if Path(file).is_dir() else []
        if not found:
            yield file, False
        if len(found) > _MOST_OF_FOLDER:
            complain(f"{file} has {len(found)} recordings; these are the last {_MOST_OF_FOLDER}, name older ones")
        for each in found[-_MOST_OF_FOLDER:]:
            yield str(each), True


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


INSPECT_EXAMPLES = """\b
Examples:
  penstock inspect answer.jsonl
  penstock inspect --json answer.sse | jq '.calls[].name'
  penstock inspect --api openai-chat --via sdk recordings/*.sse
  penstock inspect --model Qwen/Qwen3-8B answer.txt
"""


def inspect(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Recordings, bodies of streamed answers, cassettes, or a model's texts; - for the input.",
        ),
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line for each file.")] = False,
    via: Annotated[Via, typer.Option(help="Decode the bytes, or replay them to the provider's SDK.")] = "wire",
    api: ApiName = None,
    interaction: Interaction = None,
    strategy: StrategyName = None,
    dialect: DialectNames = None,
    model: ModelName = None,
) -> None:
    """Summarise recorded answers: text, calls, when each call came, how they ended.

    For each call: the first byte, the first character of its first argument, its end, its characters and chunks, and
    the rate at which they came. A recording has times; of a body, a cassette or a text the chunks are counted.

    A recorded error is part of the answer. A file that cannot be read is reported in one line, the others are shown,
    and the exit code is 2.
    """
    from rich.console import Console  # noqa: PLC0415 - help needs no rich

    from ..reading.inspect_view import json_line, report  # noqa: PLC0415

    reading = CallReading(strategy, dialect, model)
    in_streams, in_text = (reading.finder(is_text=each).pipeline.operator for each in (False, True))
    if api is not None:
        api_of(api)
    console = Console(highlight=False)
    code = 0
    for file in files:
        try:
            with progress_shown(file) as progress:
                name, answer = inspect_recording(
                    file,
                    api=api,
                    via=via,
                    strategy=lambda: in_streams,
                    in_text=TextReading(reading.as_text(file), lambda: in_text),
                    progress=progress,
                    interaction=interaction,
                )
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


BATCH_EXAMPLES = """\b
Examples:
  penstock batch recordings/ answers
  penstock batch completions.parquet answers --text completion --model Qwen/Qwen3-8B
  penstock batch completions.jsonl answers --dialect hermes --tools tools.json
  penstock batch responses.parquet answers --body response --workers 8
"""


def batch(  # noqa: PLR0913 - the options of the command
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN",
            help="A folder of recordings, bodies of responses, texts (.txt) and tables, or one of them; a table is "
            "Parquet, or lines of JSON objects.",
        ),
    ],
    out: Annotated[str, typer.Argument(metavar="OUT", help="The folder for the tables, which are Parquet.")],
    *,
    strategy: StrategyName = None,
    dialect: DialectNames = None,
    model: ModelName = None,
    tools: Annotated[
        list[str] | None,
        typer.Option(
            "--tools",
            "--tool",
            metavar="FILE",
            help="Tools, for validation; can be repeated: a JSON file with a definition or a list of them, in any "
            "provider's form, or MODULE:FUNCTION. Nothing is run.",
        ),
    ] = None,
    api: ApiName = None,
    text: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of tables with a model's text, by default text.")
    ] = None,
    body: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of tables with a response's body, by default body.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="A column that the records repeat, by default id.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How many processes read, by default one for each core.")
    ] = None,
    with_ray: Annotated[bool, typer.Option("--ray", help="Let Ray read, on this machine or where it runs.")] = False,
) -> None:
    """Read recordings, bodies and texts in bulk into Parquet tables: invocations, failures, segments, usage, records.

    Each record is read as penstock replay and parse read one. A record that cannot be read stops nothing: the table of
    records has its error. A run that was stopped goes on where it was when the same command is given again, and one
    that is finished does nothing. Ctrl-C stops it, with exit code 130; code 2 if no record could be read.
    """
    from ...scale.batch.read_dataset import read_dataset  # noqa: PLC0415 - help needs nothing of it

    CallReading(strategy, dialect, model)
    try:
        with progress_shown(source) as progress:
            result = read_dataset(
                source,
                out,
                strategy=strategy_of(dialect) if dialect else None if strategy is None else strategy_named(strategy),
                tools=tools_named(tools, option="--tools") if tools else None,
                model=model,
                api=api,
                text=text,
                body=body,
                id=id_column,
                workers=workers,
                engine="ray" if with_ray else "processes",
                progress=progress,
            )
    except KeyboardInterrupt:
        complain("stopped; what was read is kept, and the same command goes on behind it")
        raise typer.Exit(130) from None
    records, unreadable = result.rows["records"], result.unreadable
    statuses = ", ".join(f"{count:,} {status}" for status, count in sorted(result.statuses.items()))
    others = ", ".join(counted(result.rows[f"{noun}s"], noun) for noun in ("invocation", "failure", "segment"))
    typer.echo(f"{out}: {counted(records, 'record')} ({statuses or 'none'}), {others}")
    if unreadable:
        complain(f"{unreadable:,} of {records:,} could not be read; {out}/records has their errors")
    raise typer.Exit(2 if unreadable == records > 0 else 0)
