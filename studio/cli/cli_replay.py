"""`penstock replay` and `penstock parse`: a recorded answer or a text through a strategy, while it is read."""

from __future__ import annotations

import math
import sys
from collections.abc import Generator
from contextlib import closing
from typing import Annotated, Any

import typer

from ...events.errors import UsageError
from ...events.tool_invocation import InvocationFailed, Notice, ToolInvocation
from ...operators.argument_progress import argument_progress
from ...pipeline.pipeline import Pipeline
from ..reading.play_recording import Emit, EmitEvents, Player, only, short_line
from ..reading.read_input import TextInput
from ..reading.recorded import Recorded, read_recorded
from ..replay.replay_pieces import checked_chunk
from .cli_parts import (
    ApiName,
    AsJson,
    Interaction,
    StrategyName,
    Watched,
    beginning_with,
    complain,
    print_lines,
    show,
    strategy_name,
    tools_named,
)
from .stream_parts import progress_shown
from .text_reading import DialectNames, ModelName, check_model, strategy_of, text_pipeline

REPLAY_EXAMPLES = """\b
Examples:
  penstock replay answer.jsonl
  penstock replay answer.jsonl --pace 4
  penstock replay answer.sse --every 0.05 --chunk 7
  penstock replay answer.sse --emit invocations --json | jq .name
  penstock run --provider openai --model gpt-5 --json "Hi" > events.jsonl
  penstock replay events.jsonl
"""


def replay(  # noqa: PLR0913 - the options of the command
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A recording, the body of a streamed answer, or --json's lines; - for the input."
        ),
    ],
    *,
    api: ApiName = None,
    pace: Annotated[
        str | None,
        typer.Option(
            metavar="PACE",
            help="original, as recorded; a factor, 2 is twice as fast; or instant. By default original on a terminal, "
            "if the file has times, else instant.",
            autocompletion=beginning_with(("instant", "original")),
        ),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Wait so long before each event instead; for a file without times."),
    ] = None,
    chunk: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES",
            help="Bytes per chunk; by default one event.",
            autocompletion=beginning_with(("event",)),
        ),
    ] = None,
    interaction: Interaction = None,
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
    if every is not None and (pace is not None or not (math.isfinite(every) and every >= 0)):
        message = "--every must be a number of seconds from 0, and goes without --pace"
        raise UsageError(message)
    is_live = emit is None and not as_json and every is None and sys.stdout.isatty()
    speed = _checked_speed(pace)
    size = None if chunk is None else checked_chunk(chunk)
    name = strategy_name(strategy)
    with progress_shown(file):
        recorded = read_recorded(file, api, timed=speed is not None or is_live, interaction=interaction)
    if speed is not None and not recorded.has_times:
        message = f"{file} has no times, so it has no pace of its own; --every 0.05 waits so long before each event"
        raise UsageError(message)
    if pace is None and is_live and recorded.has_times:
        speed = 1.0
    player = _player(file, recorded, speed=speed, every=every or 0.0, chunk=None if size == "event" else size)
    watched = Watched(player.play(name, emit), player.stop)
    if emit is not None and not as_json:
        print_lines(watched, short_line)
    else:
        show(watched, as_json=as_json)
    if watched.error is not None:
        complain(f"{file}: {watched.error}")
    raise typer.Exit(130 if watched.is_stopped else 1 if watched.error is not None else 0)


def _player(file: str, recorded: Recorded, **options: Any) -> Player:
    try:
        return Player(recorded, **options)
    except UsageError as error:
        message = f"{file}: {error}"
        raise UsageError(message) from error


def _checked_speed(pace: str | None) -> float | None:
    match pace:
        case None | "instant":
            return None
        case "original":
            return 1.0
        case _:
            try:
                speed = float(pace)
            except ValueError:
                speed = math.nan
    if not (math.isfinite(speed) and speed > 0):
        message = f"--pace must be original, instant or a factor above 0 (2 is twice as fast), got {pace!r}"
        raise UsageError(message)
    return speed


PARSE_EXAMPLES = """\b
Examples:
  penstock parse --dialect hermes < answer.txt
  llama-cli -m qwen3.gguf -p "What is the weather?" | penstock parse --dialect hermes
  penstock parse --dialect qwen3_coder --tools tools.json --emit invocations --json < answer.txt
  penstock parse --starts-in-reasoning answer.txt
  penstock parse --model Qwen/Qwen3-8B answer.txt
  penstock parse --compare answer.txt
"""


def parse(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A model's answer; - for the input.")] = "-",
    *,
    dialect: DialectNames = None,
    model: ModelName = None,
    tools: Annotated[
        list[str] | None,
        typer.Option(
            "--tools",
            "--tool",
            metavar="FILE",
            help="Tools, for the types of unquoted values and for validation; can be repeated: a "
            "JSON file with a definition or a list of them, in any provider's form, or MODULE:FUNCTION.",
        ),
    ] = None,
    starts_in_reasoning: Annotated[
        bool, typer.Option("--starts-in-reasoning", help="The prompt opened the reasoning; the text only closes it.")
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Show what each dialect finds, by default each of all, in a table.")
    ] = False,
    emit: Annotated[
        EmitEvents | None, typer.Option(help="Print only these events, one per line, instead of the live view.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the calls and the reasoning in a model's text, and show them while the text arrives.

    The text is read as it is written, in UTF-8; invalid bytes become U+FFFD. Calls are shown, never run. A cut or
    malformed call is shown with its reason, and the exit code is 0. Ctrl-C ends open segments as interrupted; the exit
    code is 130.
    """
    known = tools_named(tools or (), option="--tools")
    if model is not None:
        check_model(model, dialect or [])
    if compare:
        if emit is not None or model is not None or starts_in_reasoning:
            message = "--compare goes with --dialect and --tools only"
            raise UsageError(message)
        from .compare_dialects import all_dialects, compare_dialects, print_compared  # noqa: PLC0415 - only here

        several = [strategy_of([each]) for each in dialect] if dialect else all_dialects()
        print_compared(compare_dialects("".join(TextInput(file)), several, known), as_json=as_json)
        return
    text = TextInput(file)
    found = text_pipeline(
        dialect or [], model, starts_in_reasoning=starts_in_reasoning, tools=known or None, updates=emit == "updates"
    )
    behind = [argument_progress()] if emit == "fragments" else []
    answer = Pipeline([found.operator, *behind], keep_answer=False).stream(text)

    def stop(reason: str) -> None:
        answer.cancel(reason)
        text.stop()

    if file == "-" and sys.stdin.isatty():  # if it is closed, the text has raised already
        complain("reading what you type; Ctrl-D ends it")
    watched = Watched(only(_complaining(answer) if emit == "invocations" else answer, emit), stop)
    if emit is not None and not as_json:
        print_lines(watched, short_line)
    else:
        show(watched, as_json=as_json)
    if watched.is_stopped:
        raise typer.Exit(130)


def _complaining(events: Any) -> Generator[Any, None, None]:
    """Yield events; tell the warnings among them, and that there was no call, to whom calls alone are printed."""
    is_told = False
    with closing(events):
        for event in events:
            if isinstance(event, Notice):
                complain(event.detail)
            is_told = is_told or isinstance(event, Notice | ToolInvocation | InvocationFailed)
            yield event
    if not is_told:
        complain("no call was found; --compare shows what each dialect finds in the text")
