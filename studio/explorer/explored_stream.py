"""`ExploredStream`: the items of a recording of any form, to be run through a chain again, and to be cut otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...events.chunk_response import ChunkResponse
from ...events.errors import UsageError
from ...operators.engine.operator_call import OperatorCall
from ...operators.engine.stage import Completed, Failed, How, Operator
from ...pipeline.pipeline import Pipeline
from ...sources.base.answers import Choices
from ...sources.from_stream import decode_sdk
from ...sources.from_wire import decode_wire
from ...sources.recognition.recognised_api import recognised_api
from ...sources.recordings.read_recording import NOT_CHUNKS, StreamRecording, TimedItem, wire_of
from ...sources.recordings.recording_format import ItemForm, RecordingEnd, RecordingMeta, raw_form
from ..reading.recorded import AsText, read_recorded
from ..replay.replay_pieces import split_events
from ..replay.replay_recordings import Timing
from ..tracing.trace import Trace, trace

Unit: TypeAlias = Literal["bytes", "characters", ""]
"""What the size of a chunk counts; empty if a stream cannot be cut."""


class ExploredStream(Struct, frozen=True):
    """A stream whose items are all there.

    - `times`: when each came, in nanoseconds; None if that is not known.
    - `end`: how it ended.
    - `choices`: which of several answers are read, as in `from_wire`.
    - `pipeline`: what it is run through at first; None for the environment's.
    """

    title: str
    form: ItemForm
    items: Sequence[Any]
    times: Sequence[int] | None = None
    api: str | None = None
    end: How = Completed()
    choices: Choices = "all"
    pipeline: Pipeline | None = None

    @property
    def unit(self) -> Unit:
        match self.form:
            case "wire":
                return "bytes"
            case "texts":
                return "characters"
            case "items":
                return "bytes" if self._on_the_wire() is not None else ""
            case "chunks":
                return ""

    def cut(self, size: int) -> ExploredStream:
        """Return the stream in chunks of so many bytes or characters, which have no times.

        Items of an SDK are written as the bytes that a server sends. `UsageError` for what cannot be cut.
        """
        stream = self._on_the_wire() if self.form == "items" else self
        if stream is None or stream.form == "chunks":
            message = f"a chunk size cuts bytes and text, and this stream has {self.form}; leave it out"
            raise UsageError(message)
        whole: Any = (b"" if stream.form == "wire" else "").join(stream.items)
        chunks = [whole[start : start + size] for start in range(0, len(whole), size)]
        return replace(stream, items=chunks, times=None)

    def traced(self, operators: Iterable[Operator[Any, Any]], *, is_decoded: bool = False) -> Trace:
        """Run all items through the provider's machine, unless they are decoded already, and through a chain.

        An exception of a stage ends the trace, as one of the stream does.
        """
        traced = trace(*(() if is_decoded else self._source()), *operators)
        try:
            for number, item in enumerate(self.items):
                traced.feed(item, t_ns=None if self.times is None else self.times[number])
            traced.close(self.end)
        except Exception:
            if traced.ended is None:
                raise
        return traced

    def _source(self) -> list[Operator[Any, Any]]:
        match self.form:
            case "wire":
                api = self.api or recognised_api(b"".join(self.items))
                decoder = decode_wire(api, choices=self.choices, keep_message=True)
                return [_labelled(decode_wire, (api,), decoder)]
            case "items" | "texts":
                decoder = decode_sdk(self.api, choices=self.choices, keep_message=True)
                return [_labelled(decode_sdk, () if self.api is None else (self.api,), decoder)]
            case "chunks":
                return []

    def _on_the_wire(self) -> ExploredStream | None:
        """Return items of an SDK as the bytes that a server sends; None if its API is sent in another form."""
        items = [TimedItem(0.0, raw_form(item)) for item in self.items]
        meta = RecordingMeta(form="items", api=self.api, start="")
        try:
            api, pieces, _ = wire_of(StreamRecording(meta, items, RecordingEnd(0, "complete")))
        except UsageError:
            return None
        return replace(self, form="wire", items=pieces, api=api)


def _labelled(function: Callable[..., Any], args: tuple[str, ...], operator: Operator[Any, Any]) -> Operator[Any, Any]:
    """Return an operator that is shown without the options which every explored stream has."""
    return Operator(steps=(OperatorCall(function, function.__name__, args, {}, operator.factories),))


def stream_of(traced: Trace, title: str) -> ExploredStream | None:
    """Return the stream that a trace ran; None if strategies cannot read it, or not all of it was kept."""
    kept = [each for each in traced.items if each.item is not None]
    items = [each.item for each in kept]
    form = form_of(items, has_machine=has_machine(traced))
    if form is None or traced.dropped:
        return None
    times = [each.t_ns for each in kept if each.t_ns is not None]
    known = times if len(times) == len(items) else None
    return ExploredStream(title, form, items, known, end=traced.ended or Completed(), choices=0)


def has_machine(traced: Trace) -> bool:
    """Return whether the first stage of a trace is a provider's machine."""
    return any(each.read_raw is not None for each in traced.items[:1]) or traced.stages[0].startswith("decode_")


_FORMS: tuple[tuple[type, ItemForm], ...] = ((bytes, "wire"), (str, "texts"), (ChunkResponse, "chunks"))


def form_of(items: Sequence[Any], *, has_machine: bool) -> ItemForm | None:
    """Return what items are; None for what strategies cannot read. `has_machine`: whether a machine reads all else."""
    for kind, form in _FORMS:
        if items and all(isinstance(item, kind) for item in items):
            return form
    return "items" if has_machine and items else None


def read_stream(
    path: str | PathLike[str],
    api: str | None = None,
    interaction: int | None = None,
    *,
    as_text: AsText | None = None,
) -> ExploredStream:
    """Read what `record` wrote, the body of a streamed answer, a cassette, or ChunkResponses as lines of JSON.

    `interaction` chooses a response of a cassette, from 0. `as_text` reads what is no stream. `UsageError` if the file
    cannot be read, or its provider is not recognised.
    """
    name = fspath(path)
    recorded = read_recorded(name, api, timed=True, interaction=interaction, as_text=as_text)
    items = [each.item for each in recorded.items]
    form = form_of(items, has_machine=recorded.kind != "events") if items else "items"  # none: it was refused
    if form is None:
        message = f"{name}: {NOT_CHUNKS}"
        raise UsageError(message)
    times = [round(each.at * 1e9) for each in recorded.items] if recorded.has_times else None
    end = Completed() if recorded.error is None else Failed(recorded.error)
    title = "the input" if name == "-" else Path(name).name
    return ExploredStream(title, form, items, times, recorded.api, end)


def stream_of_body(body: bytes, title: str, api: str, timing: Timing | None = None) -> ExploredStream:
    """Return a body as a stream of its network chunks, if they are known, else of its events."""
    if timing is None:
        return ExploredStream(title, "wire", split_events(body), None, api)
    pieces = [body[start:end] for start, end in pairwise(accumulate(timing.sizes, initial=0))]
    times = None if timing.times is None else [round((at - timing.times[0]) * 1e9) for at in timing.times]
    return ExploredStream(title, "wire", pieces, times, api)
