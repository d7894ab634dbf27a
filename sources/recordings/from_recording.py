"""`from_recording`: a recorded answer, as ChunkResponses, at once, at its own pace (`timed_replay`), or `recut`."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from os import PathLike
from time import monotonic, sleep
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from reactivex import Observable, abc
from reactivex.disposable import BooleanDisposable, CompositeDisposable, SerialDisposable
from reactivex.scheduler import CurrentThreadScheduler

from ...events.chunk_response import ChunkResponse
from ...events.errors import UsageError
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.engine.pump import apump, pump
from ...operators.engine.stage import Completed, Failed
from ..base.answers import Choices
from ..base.machine import Machine, MachineStage
from ..from_stream import decoder_factory
from ..from_wire import wire_machine
from ..recognition.apis import api_of
from ..recognition.recognised_api import recognised_api, why_no_stream
from ..streams.bounded_read import read_file
from ..streams.stream_bridge import bridge
from .read_recording import NOT_CHUNKS, StreamRecording, TimedItem, recorded_content
from .recording_format import LONGEST_TIME, ItemForm, RecordingEnd, RecordingMeta, events_of_body


def recut(items: Sequence[TimedItem], chunk_size: int) -> list[TimedItem]:
    """Cut bytes, or a text, anew; a chunk comes with its last byte or character.

    >>> recut([TimedItem(0.1, b"abc"), TimedItem(0.2, b"de")], 2)
    [TimedItem(at=0.1, item=b'ab'), TimedItem(at=0.2, item=b'cd'), TimedItem(at=0.2, item=b'e')]
    """
    body = items[0].item[:0].join(each.item for each in items) if items else b""
    ends = list(accumulate(len(each.item) for each in items))
    cut: list[TimedItem] = []
    number = 0
    for start in range(0, len(body), chunk_size):
        chunk = body[start : start + chunk_size]
        while ends[number] < start + len(chunk):
            number += 1
        cut.append(TimedItem(items[number].at, chunk))
    return cut


def timed_replay(
    items: Sequence[TimedItem],
    ends_at: float,
    error: Exception | None,
    new_machine: Callable[[], Machine],
) -> Observable[ChunkResponse]:
    """Replay items for any number of subscribers; times are seconds from the subscription.

    The scheduler is the one that `subscribe` gets. Without one the subscribing thread sleeps; a `TestScheduler` takes
    no time, an `AsyncIOScheduler` keeps the event loop free.
    """

    def subscribe(
        observer: abc.ObserverBase[ChunkResponse], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        return _Replay(items, ends_at, error, new_machine(), observer).start(
            scheduler or CurrentThreadScheduler.singleton()
        )

    return Observable(subscribe)


class _Replay:
    """One subscription."""

    def __init__(
        self,
        items: Sequence[TimedItem],
        ends_at: float,
        error: Exception | None,
        machine: Machine,
        observer: abc.ObserverBase[ChunkResponse],
    ) -> None:
        self._items = items
        self._ends_at = ends_at
        self._error = error
        self._machine = machine
        self._observer = observer
        self._waiting = SerialDisposable()
        self._is_disposed = BooleanDisposable()
        self._next = 0

    def start(self, scheduler: abc.SchedulerBase) -> abc.DisposableBase:
        began = scheduler.now
        disposable = CompositeDisposable(self._is_disposed, self._waiting)

        def wait() -> None:
            at = self._items[self._next].at if self._next < len(self._items) else self._ends_at
            due = began + scheduler.to_timedelta(at)
            self._waiting.disposable = scheduler.schedule_absolute(due, step)

        def step(_scheduler: abc.SchedulerBase, _state: Any = None) -> None:
            if self._is_disposed.is_disposed:
                return
            if self._next == len(self._items):
                self._end(self._error)
                return
            item = self._items[self._next].item
            self._next += 1
            try:
                responses = self._machine.feed(item)
            except Exception as error:  # noqa: BLE001 - a wrong item of the recording, told by on_error
                self._end(error)
                return
            self._send(responses)
            if self._machine.stopped:
                self._end(None)
            elif not self._is_disposed.is_disposed:
                wait()

        wait()
        return disposable

    def _send(self, responses: Any) -> None:
        for response in responses:
            if self._is_disposed.is_disposed:
                return
            self._observer.on_next(response)

    def _end(self, error: Exception | None) -> None:
        if self._is_disposed.is_disposed:
            return
        self._send(self._machine.close(Completed() if error is None else Failed(error)))
        if self._is_disposed.is_disposed:
            return
        error = error or self._machine.failure
        if error is None:
            self._observer.on_completed()
        else:
            self._observer.on_error(error)


class ReplayedAnswer(Observable[ChunkResponse]):
    """The chunks of a recording: an Observable, which can also be looped over, plain or async, any number of times."""

    def __init__(self, replay: Observable[ChunkResponse], recorded: RecordedItems, speed: float | None) -> None:
        def subscribe(
            observer: abc.ObserverBase[ChunkResponse], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            return replay.subscribe(observer, scheduler=scheduler)

        super().__init__(subscribe)
        self._recorded = recorded
        self._speed = speed

    def __iter__(self) -> Iterator[ChunkResponse]:
        machine = self._recorded.new_machine()
        return pump(self._items(machine), MachineStage(machine))

    def __aiter__(self) -> AsyncIterator[ChunkResponse]:
        machine = self._recorded.new_machine()
        return apump(self._async_items(machine), MachineStage(machine))

    def _items(self, machine: Machine) -> Iterator[Any]:
        for wait, items in self._waits(machine):
            sleep(wait)
            yield from items

    async def _async_items(self, machine: Machine) -> AsyncIterator[Any]:
        for wait, items in self._waits(machine):
            await asyncio.sleep(wait)
            for item in items:
                yield item

    def _waits(self, machine: Machine) -> Iterator[tuple[float, tuple[Any, ...]]]:
        """Yield the seconds until each item comes, with it; at last those until the end, then raise the error."""
        recorded, began = self._recorded, monotonic()

        def wait(at: float) -> float:
            return 0.0 if self._speed is None else max(began + at / self._speed - monotonic(), 0.0)

        for each in recorded.items:
            yield wait(each.at), (each.item,)
            if machine.stopped:
                return
        yield wait(recorded.ends_at or 0.0), ()
        if recorded.error is not None:
            raise recorded.error


RecordingPace: TypeAlias = Literal["instant", "original"] | float


def from_recording(  # noqa: PLR0913 - what a recording is, how it is replayed, and what every source has
    path: str | PathLike[str],
    api: str | None = None,
    *,
    pace: RecordingPace = "instant",
    chunk_size: int | None = None,
    interaction: int | None = None,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
    merge: bool = False,
) -> ReplayedAnswer:
    """Replay a recorded answer, for any number of subscribers and loops.

        from_recording("answer.jsonl", pace="original").pipe(to_segments()).subscribe(print)
        from_recording("answer.sse").pipe(to_segments()).subscribe(print)
        for event in Pipeline().stream(from_recording("answer.jsonl", pace="original")): ...

    - `path`: what `record` wrote; or the body of a streamed HTTP response; or a cassette of VCR.py
      (`pip install ".[cassettes]"`), of which `interaction` chooses a response, from 0; or ChunkResponses as lines of
      JSON. `UsageError` if it cannot be read, is longer than 64 MiB, or its provider cannot be told. A recording that
      was broken off is replayed up to its last whole line.
    - `api`: as in `from_wire`; without it, what the recording says, else it is detected.
    - `pace`: "instant"; "original", at the recorded times; or a factor: 2.0 is twice as fast. The scheduler is that of
      `subscribe(scheduler=...)`: a `TestScheduler` needs no time for it, and without one the thread sleeps, as it does
      in a plain loop; an async loop waits. Bodies, cassettes, what was converted from them, and lines of
      ChunkResponses have no times, so another pace than "instant" raises a `UsageError`.
    - `chunk_size`: cuts the bytes anew, into so many a chunk. Recorded items of an SDK cannot be cut.
    - `merge`: as in `from_wire`, with `chunk_size`; without it the events come one by one.
    - The rest is as with `from_stream`. An error that ended the recorded stream ends the replay.
    """
    speed = _checked_speed(pace)
    recorded = recorded_items(
        path,
        api,
        chunk_size=chunk_size,
        interaction=interaction,
        choices=choices,
        turn_id=turn_id,
        limits=limits,
        keep_message=keep_message,
        logprobs=logprobs,
        merge=merge,
    )
    if speed is None:
        return ReplayedAnswer(bridge(recorded.untimed, recorded.new_machine, _is_checked), recorded, speed)
    if recorded.ends_at is None:
        message = f"{path} has no times; pass pace='instant', or record with record(...)"
        raise UsageError(message)
    if recorded.ends_at / speed > LONGEST_TIME:
        message = f"at pace={pace!r} this replay would take more than thirty years; pass a larger factor"
        raise UsageError(message)
    items = [TimedItem(at / speed, item) for at, item in recorded.items]
    replay = timed_replay(items, recorded.ends_at / speed, recorded.error, recorded.new_machine)
    return ReplayedAnswer(replay, recorded, speed)


class RecordedItems(NamedTuple):
    """The items of a recording, and what reads them.

    - `new_machine`: makes the machine of their API. `api`: its name; None if the machine detects it.
    - `ends_at`: the seconds at which the stream ended; None if no times are known.
    - `error`: what ended the stream, if it was an error.
    """

    items: Sequence[TimedItem]
    new_machine: Callable[[], Machine]
    api: str | None
    ends_at: float | None
    error: Exception | None

    def untimed(self) -> Iterator[Any]:
        """Yield the items, then raise the error."""
        for each in self.items:
            yield each.item
        if self.error is not None:
            raise self.error


def recorded_items(
    path: str | PathLike[str],
    api: str | None = None,
    *,
    chunk_size: int | None = None,
    interaction: int | None = None,
    **options: Any,
) -> RecordedItems:
    """Read a recording, a body, a cassette or stored chunks; the arguments are those of `from_recording`."""
    if chunk_size is not None and chunk_size < 1:
        message = f"chunk_size= must be at least 1, got {chunk_size}"
        raise UsageError(message)
    if api is not None:
        api_of(api)
    try:
        recording, named = recording_in(read_file(path), api, interaction)
    except (UsageError, ValueError) as error:  # ValueError: a wrong line of stored chunks
        message = f"cannot read the recording {path}: {error}"
        raise UsageError(message) from error
    return items_of(recording, named, chunk_size=chunk_size, **options)


def recording_in(
    content: bytes, api: str | None = None, interaction: int | None = None, *, is_split: bool = True
) -> tuple[StreamRecording, str | None]:
    """Return what a file holds, as a recording, and its API, if it has one; without times for a body or stored chunks.

    `is_split`: whether a body is split into its events, or one item.

    `UsageError` for what is no stream, `ValueError` for a wrong line of stored chunks.
    """
    recording = _recording_in(content, api, interaction, is_split=is_split)
    meta, items, _ = recording
    named = (api or meta.api) if meta.form in ("wire", "items") else None
    if meta.form == "wire":
        named = named or _recognised(b"".join(each.item for each in items))
    if named is not None:
        api_of(named)
    return recording, named


def items_of(
    recording: StreamRecording, api: str | None, *, chunk_size: int | None = None, **options: Any
) -> RecordedItems:
    """Return the items of a recording, and what reads them; the options are those of `from_recording`."""
    meta, items, _ = recording
    if api is not None and meta.form == "wire":
        new_machine = _wire_machines(api, options)
        if chunk_size is not None:
            items = recut(items, chunk_size)
    else:
        if chunk_size is not None:
            message = f"chunk_size= cuts bytes, and this recording has {meta.form}; leave it out"
            raise UsageError(message)
        new_machine = decoder_factory(api, **options)
    ends_at = recording.ends_at if recording.has_times else None
    return RecordedItems(items, new_machine, api, ends_at, recording.error)


def _recording_in(content: bytes, api: str | None, interaction: int | None, *, is_split: bool) -> StreamRecording:
    """Return what a file holds, as a recording, which for a body or stored chunks has no times."""
    held = recorded_content(content, interaction, may_be_events=api is None)
    if isinstance(held, StreamRecording):
        return held
    if isinstance(held, bytes):
        return _untimed("wire", events_of_body(held) if is_split else [held])
    if not all(isinstance(each, ChunkResponse) for each in held):
        raise UsageError(NOT_CHUNKS)
    return _untimed("chunks", held)


def _untimed(form: ItemForm, items: Sequence[Any]) -> StreamRecording:
    return StreamRecording(
        RecordingMeta(form=form), [TimedItem(0.0, each) for each in items], RecordingEnd(0, "complete")
    )


def _recognised(body: bytes) -> str:
    """Return the API of a body; `UsageError` says what it is in place of a stream, if that is known."""
    try:
        return recognised_api(body)
    except UsageError as error:
        if body and (why := why_no_stream(body)) is not None:
            raise UsageError(why) from error
        raise


def _checked_speed(pace: RecordingPace) -> float | None:
    match pace:
        case "instant":
            return None
        case "original":
            return 1.0
        case _:
            is_number = isinstance(cast("object", pace), int | float) and not isinstance(pace, bool)
            speed = float(pace) if is_number else math.nan
    if not (math.isfinite(speed) and speed > 0):
        message = f"pace= must be 'instant', 'original' or a factor above 0 (2.0 is twice as fast), got {pace!r}"
        raise UsageError(message)
    return speed


def _wire_machines(api: str, options: dict[str, Any]) -> Callable[[], Machine]:
    wire_machine(api, **options)  # options that the API refuses raise now, not in mid-stream
    return partial(wire_machine, api, **options)


def _is_checked(_: object) -> None:
    """Accept every value, because a recording is checked when it is read."""
