"""`penstock diff` and `penstock marbles`: what each stage did with a recorded answer, compared or drawn."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import typer

from ...events.errors import UsageError
from ...events.json_form import to_dict
from ...operators.engine.stage import Completed, Failed, Interrupted
from ...sinks.parts.event_words import printable
from ...sources.recordings.from_recording import recut
from ...sources.recordings.read_recording import TimedItem
from ..reading.inspect_recording import PIECE_OF_ITEMS, Progress
from ..reading.play_recording import decoders, short_line
from ..reading.recorded import Recorded, read_recorded
from ..tracing.first_divergence import Divergence, first_divergence
from ..tracing.trace import Clock, Trace, no_time, trace
from .cli_parts import ApiName, Interaction, StrategyName, complete_strategy
from .stream_parts import new_output, progress_shown
from .text_reading import CallReading, DialectNames, ModelName, complete_dialect

NO_STREAM = "it has the events of a strategy, not the stream of a model; name a recording, a body or a cassette"


class TracedFile(NamedTuple):
    """The trace of a file, and the name of what found the calls."""

    finder: str
    trace: Trace


def traced_file(
    file: str,
    reading: CallReading,
    *,
    api: str | None = None,
    chunk_size: int | None = None,
    interaction: int | None = None,
) -> TracedFile:
    """Run a recorded answer, or a model's text, and return the trace of all its items.

    `chunk_size` cuts the bytes anew, or the characters of a text. `UsageError` for a file that is no stream, and for
    one whose items cannot be cut.
    """
    with progress_shown(file) as progress:
        recorded = read_recorded(file, api, timed=True, interaction=interaction, as_text=reading.as_text(file))
        if recorded.kind == "events":
            message = f"{file}: {NO_STREAM}"
            raise UsageError(message)
        items = _cut(file, recorded, chunk_size)
        times = [*(each.at for each in items), max(recorded.ends_at, items[-1].at if items else 0.0)]
        clock: Clock = _clock(times) if recorded.has_times else no_time
        name, pipeline = reading.finder(is_text=recorded.is_text)
        seen = trace(*decoders(recorded), pipeline.operator, limit=len(items) + 1)
        return TracedFile(name, seen.run(_items(items, recorded.error, progress), clock=clock))


def _cut(file: str, recorded: Recorded, chunk_size: int | None) -> list[TimedItem]:
    if chunk_size is None:
        return list(recorded.items)
    if recorded.kind != "wire" and not recorded.is_text:
        message = f"{file} has no bytes that --chunk-size could cut; leave it out"
        raise UsageError(message)
    return recut(recorded.items, chunk_size)


def _items(items: list[TimedItem], error: Exception | None, progress: Progress | None) -> Iterator[Any]:
    for number, each in enumerate(items, 1):
        yield each.item
        if progress is not None and number % PIECE_OF_ITEMS == 0:
            progress(number, len(items))
    if error is not None:
        raise error


def _clock(times: Iterable[float]) -> Clock:
    left = iter(times)
    return lambda: round(next(left) * 1e9)


MARBLES_EXAMPLES = """\b
Examples:
  penstock marbles answer.jsonl -o answer.svg
  penstock marbles answer.jsonl -o answer.svg --axis time --by segment
  penstock marbles answer.sse -o - --strategy hermes > answer.svg
  penstock marbles answer.txt -o answer.svg --dialect hermes
"""


def marbles(  # noqa: PLR0913 - the options of the command
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A recording, a body, a cassette or a model's text; - for the input.")
    ],
    *,
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="The SVG; - for the output.")],
    axis: Annotated[
        Literal["items", "time"], typer.Option(help="Equal room for each item, or distances that are times.")
    ] = "items",
    by: Annotated[Literal["operator", "segment"], typer.Option(help="What has a lane of its own.")] = "operator",
    title: Annotated[str | None, typer.Option(help="The title, by default the file's name.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the SVG if it exists.")] = False,
    api: ApiName = None,
    interaction: Interaction = None,
    strategy: StrategyName = None,
    dialect: DialectNames = None,
    model: ModelName = None,
) -> None:
    """Draw a recorded answer as a marble diagram.

    The SVG shows what came, what each operator made of it, and what it held back. It needs nothing else, and a long
    answer is drawn as an overview. A body, a cassette and a text have no times, so --axis time needs a recording.
    """
    write = new_output(output, overwrite=overwrite)
    from ..marble_diagrams.marbles import marbles as drawn  # noqa: PLC0415 - help needs none of it

    traced = traced_file(file, CallReading(strategy, dialect, model), api=api, interaction=interaction).trace
    if axis == "time" and not any(each.t_ns is not None for each in traced):
        message = f"{file} has no times; leave out --axis time, or take a file of penstock record"
        raise UsageError(message)
    svg = str(drawn(traced, axis=axis, by=by, title=title if title is not None else _name(file)))
    write((f"{svg}\n" if output == "-" else svg).encode())


def _name(file: str) -> str:
    return "" if file == "-" else Path(file).name


DIFF_EXAMPLES = """\b
Examples:
  penstock diff before.jsonl after.jsonl
  penstock diff answer.jsonl --strategy api_tool_call --strategy hermes
  penstock diff answer.sse --chunk-size 1 --chunk-size 1000
  penstock diff answer.txt --dialect hermes --dialect qwen3_coder
  penstock diff --json before.jsonl after.jsonl | jq .b.output
"""
ValueT = TypeVar("ValueT")
CONTEXT = 3
"""The outputs that are shown before a difference."""


class Wanted(NamedTuple):
    """What is to be run on one side."""

    file: str
    reading: CallReading
    chunk_size: int | None
    interaction: int | None = None


class Side(NamedTuple):
    """What was run on one side; `strategy`: the name of the strategy, the dialect or the model."""

    file: str
    strategy: str
    chunk_size: int | None
    interaction: int | None = None

    def __str__(self) -> str:
        cut = "" if self.chunk_size is None else f", in chunks of {self.chunk_size:,}"
        which = "" if self.interaction is None else f", response {self.interaction}"
        return f"{self.file}{which} ({self.strategy}{cut})"


def diff(
    files: Annotated[
        list[str],
        typer.Argument(metavar="A [B]", help="Recordings, bodies, cassettes or a model's texts; - for the input."),
    ],
    *,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="The strategy of both; given twice, of A and of B.",
            autocompletion=complete_strategy,
        ),
    ] = None,
    dialect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="How both write calls into text, as with penstock parse; given twice, how A and how B does.",
            autocompletion=complete_dialect,
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="The model that wrote both, as with penstock parse; given twice, A and B."),
    ] = None,
    chunk_size: Annotated[
        list[int] | None,
        typer.Option(
            metavar="BYTES",
            min=1,
            help="Cut the bytes of both anew, or the characters of a text; given twice, those of A and of B.",
        ),
    ] = None,
    interaction: Annotated[
        list[int] | None,
        typer.Option(metavar="N", min=0, help="Which response of a cassette, from 0; given twice, of A and of B."),
    ] = None,
    api: ApiName = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, also if nothing differs.")] = False,
) -> None:
    """Find where two recordings, strategies or cuttings first say something else.

    One file is compared with itself: name two strategies, dialects or sizes; with one, A is as recorded and B is cut,
    or A has the default strategy. How a text is cut makes no difference, nor do ids that are used alike. The exit code
    is 0 if nothing differs, and 1 if something does.
    """
    takes_text = bool(dialect or model)
    readings = [
        *(CallReading(each, takes_text=takes_text) for each in strategy or ()),
        *(CallReading(dialects=[each]) for each in dialect or ()),
        *(CallReading(model=each) for each in model or ()),
    ]
    wanted = _wanted(files, readings, chunk_size or [], interaction or [], CallReading(takes_text=takes_text))
    runs = [
        traced_file(each.file, each.reading, api=api, chunk_size=each.chunk_size, interaction=each.interaction)
        for each in wanted
    ]
    traces = [each.trace for each in runs]
    sides = [
        Side(each.file, run.finder, each.chunk_size, each.interaction) for each, run in zip(wanted, runs, strict=True)
    ]
    found = first_divergence(*traces)
    if as_json:
        sys.stdout.write(json.dumps(_plain(found, sides, traces)) + "\n")
    elif found is not None:
        sys.stdout.writelines(f"{printable(line)}\n" for line in _lines(found, sides, traces))
    raise typer.Exit(0 if found is None else 1)


def _wanted(
    files: list[str], readings: list[CallReading], sizes: list[int], interactions: list[int], default: CallReading
) -> tuple[Wanted, Wanted]:
    if any(len(each) > 2 for each in (files, readings, sizes, interactions)):
        message = (
            "at most two files, two strategies, dialects or models, two sizes and two interactions can be compared"
        )
        raise UsageError(message)
    is_alone = len(files) == 1
    if is_alone and not (readings or sizes or len(interactions) == 2):
        message = "name another file to compare with, or a --strategy or a --chunk-size, or a --dialect or a --model"
        raise UsageError(message)
    if set(files) == {"-"}:
        message = "the input can be read only once; name a file for the other side"
        raise UsageError(message)
    hows = _pair(readings, readings[0] if readings and not (is_alone and not sizes) else default)
    cuts = _pair(sizes, None if is_alone and len(readings) < 2 else next(iter(sizes), None))
    chosen = _pair(interactions, next(iter(interactions), None))
    return Wanted(files[0], hows[0], cuts[0], chosen[0]), Wanted(files[-1], hows[1], cuts[1], chosen[1])


def _pair(given: Sequence[ValueT], default: ValueT) -> tuple[ValueT, ValueT]:
    """Return the values of both sides: two that are given; one is that of B; none, the default for both."""
    if not given:
        return default, default
    return (given[0] if len(given) == 2 else default), given[-1]


def _lines(found: Divergence, sides: list[Side], traces: list[Trace]) -> Iterator[str]:
    for name, side in zip("AB", sides, strict=True):
        yield f"{name} is {side}"
    at = [f"item {number} of {name}" for name, number in _numbers(found) if number is not None]
    yield f"they differ behind {found.label}, at {' and '.join(at) or 'the end'}"
    yield from (f"  both  {short_line(each)}" for each in _before(found, traces[0]))
    yield f"  A     {_words(found.output_a)}"
    yield f"  B     {_words(found.output_b)}"


def _numbers(found: Divergence) -> tuple[tuple[str, int | None], ...]:
    return ("A", found.number_a), ("B", found.number_b)


def _before(found: Divergence, traced: Trace) -> list[Any]:
    """Return the last outputs of A before the difference."""
    before: deque[Any] = deque(maxlen=CONTEXT)
    for item in traced:
        for output in item.stages[found.stage].outputs:
            if output is found.output_a:
                return list(before)
            before.append(output)
    return list(before)


def _words(output: Any) -> str:
    match output:
        case None:
            return "nothing more"
        case Failed(error=error):
            return f"the stream failed: {error}"
        case Completed() | Interrupted():
            return f"the stream ended: {type(output).__name__.lower()}"
        case _:
            return short_line(output)


def _plain(found: Divergence | None, sides: list[Side], traces: list[Trace]) -> dict[str, Any]:
    a, b = (dict(side._asdict()) for side in sides)
    if found is None:
        return {"same": True, "a": a, "b": b}
    a |= {"item": found.number_a, "output": _json(found.output_a)}
    b |= {"item": found.number_b, "output": _json(found.output_b)}
    before = [_json(each) for each in _before(found, traces[0])]
    return {"same": False, "stage": found.stage, "label": found.label, "before": before, "a": a, "b": b}


def _json(output: Any) -> Any:
    match output:
        case None:
            return None
        case Completed() | Failed() | Interrupted():
            return _words(output)
        case _:
            return to_dict(output)
