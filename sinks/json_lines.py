"""Events as lines of JSON: `json_lines` writes those of a stream into a file, and `read_json_lines` reads them back.

`store_events` stores those of a stream that somebody reads, and `stored_events` gives them again to any reader.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import IO, Any, Literal, Protocol, TypeAlias, cast, get_args

import msgspec

from ..events.errors import ProviderError, UsageError, error_fields
from ..events.json_form import Event, from_json, is_event_type, to_json, whole_characters
from ..operators.machines.live_view import LiveEvent
from .running.event_pump import LoopStream, close_both
from .running.sink import TwinSink, each_event
from .web.final_events import FinalEvents
from .web.protocols import checked


class Writable(Protocol):
    """A text or binary file that the caller opens and closes."""

    def write(self, text: Any, /) -> object: ...


Which: TypeAlias = Literal["final", "all"]
Mode: TypeAlias = Literal["a", "w", "x"]


def json_lines(
    file: str | os.PathLike[str] | Writable, *, events: Which = "final", mode: Mode = "a", flush: bool = True
) -> TwinSink[int]:
    r"""Write each event as one line of JSON in UTF-8; the sink returns the number of lines.

        "all"     S text  C "He"  C "llo"  E text  S call  C  C  E call  invocation
        "final"                            S C "Hello" E                 invocation

    >>> import io
    >>> from penstock.events import Notice
    >>> file = io.StringIO()
    >>> json_lines(file)([Notice("late_text", "x")]), file.getvalue()
    (1, '{"type":"NOTICE","code":"late_text","detail":"x"}\n')

    `events="final"` joins the deltas and stores the results in the order in which they are complete. A segment is
    stored when it ends, as START, one CONTENT with all of its text, and END. A call whose END is directly followed by
    its invocation or failure is stored as that one line, which has everything. Updates and argument progress are not
    stored. A segment that is still open when the stream dies is written with the content so far and without END. Chunks
    and bare fragments raise a `UsageError`, because they are only deltas. So it leaves out what a page needs to show
    the stream again: the pieces, and the segments of files and commands.

    `events="all"` stores each event as it arrives, calls with their source text: the form that `store_events` writes,
    and that `stored_events` gives again to every protocol as it was streamed. It takes several times the space.

    Live values (`PartialOutput`, `PartialArguments`, `FieldVerdict`) are left out; the segments have the text. Other
    values raise a `UsageError`.

    - `file`: a path, opened with the first event and closed at the end in every case; or a text or binary file, which
      stays open.
    - `mode`: for a path: "a" appends, "w" overwrites, "x" refuses a file that exists.
    - `flush`: whether to flush after each line.

    A full disk or a closed file: its `OSError` or `ValueError` passes to the caller.
    """
    for name, value, known in (("events", events, get_args(Which)), ("mode", mode, get_args(Mode))):
        if value not in known:
            message = f"{name}= must be one of {', '.join(map(repr, known))}, got {value!r}"
            raise UsageError(message)
    if not (isinstance(file, str | os.PathLike) or callable(getattr(file, "write", None))):
        message = f"json_lines takes a path or an open file, got {type(cast('object', file)).__name__}"
        raise UsageError(message)
    return each_event(partial(_JsonLines, file, events, mode, flush=flush))


def read_json_lines(path: str | os.PathLike[str]) -> Iterator[Event]:
    """Read the events of a file one by one; raises `UsageError` with the line number for an invalid line."""
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                event = from_json(line) if line.strip() else None
            except UsageError as error:
                message = f"{os.fspath(path)}, line {number}: {error}"
                raise UsageError(message) from error
            if event is not None:
                yield event


class _JsonLines:
    def __init__(self, file: str | os.PathLike[str] | Writable, events: Which, mode: Mode, *, flush: bool) -> None:
        self._file = file
        self._mode: Mode = mode
        self._flush = flush
        self._final = FinalEvents() if events == "final" else None
        self._writer: _Writer | None = None

    def feed(self, event: Any) -> None:
        if self._writer is None:
            self._writer = _Writer(self._file, self._mode, flush=self._flush)
        if isinstance(event, LiveEvent):
            return
        if not isinstance(event, Event):
            message = f"json_lines writes events, got {type(event).__name__}"
            raise UsageError(message)
        for each in (event,) if self._final is None else self._final.feed(event):
            self._writer.write(to_json(each, with_source=self._final is None) + b"\n")

    def close(self, _error: BaseException | None) -> int:
        if self._writer is None:
            return 0
        try:
            # A failed write is not tried again, so that the first exception is the one that is raised.
            if self._final is not None and not self._writer.has_failed:
                for each in self._final.close():
                    self._writer.write(to_json(each) + b"\n")
        finally:
            self._writer.close()
        return self._writer.lines


class _Writer:
    """Writes lines to a file; for a path it opens and closes the file."""

    def __init__(self, file: str | os.PathLike[str] | Writable, mode: Mode, *, flush: bool) -> None:
        self._opened: IO[bytes] | None = None
        self._target: Any = file
        if isinstance(file, str | os.PathLike):
            self._target = self._opened = Path(file).open(f"{mode}b")  # noqa: SIM115 - closed by `close`
            if mode == "a" and Path(file).is_file() and _is_torn(Path(file)):
                self._opened.write(b"\n")
        self._is_text = hasattr(self._target, "encoding")
        self._flush = getattr(self._target, "flush", None) if flush else None
        self.lines = 0
        self.has_failed = False

    def write(self, line: bytes) -> None:
        try:
            self._target.write(line.decode() if self._is_text else line)
            if self._flush is not None:
                self._flush()
        except Exception:
            self.has_failed = True
            raise
        self.lines += 1

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


def _is_torn(path: Path) -> bool:
    """Whether the file's last line has no line end, so that a new line must begin before the first event."""
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


Write: TypeAlias = Callable[[bytes], Awaitable[object] | object]
"""Takes a line with its line end; may be async."""


def store_events(events: AsyncIterable[Any], write: str | os.PathLike[str] | Write) -> StoredStream:
    r"""Return a stream of the same events, of which each is stored before its reader gets it.

        agent = store_events(turns(...), "chats/7/answer_1.jsonl")
        StreamingResponse(to_sse(agent, protocol="ai-sdk"), headers=sse_headers("ai-sdk"))

    >>> import asyncio
    >>> from penstock import ChunkResponse, Pipeline, SegmentContent
    >>> kept = []
    >>> async def main():
    ...     async for event in store_events(Pipeline().astream([ChunkResponse(content="Hi")]), kept.append):
    ...         pass
    >>> asyncio.run(main())
    >>> [event.delta for event in stored_events(kept) if isinstance(event, SegmentContent)]
    ['Hi']

    - `write`: a path, to which lines are appended, or a function that takes a line as bytes, such as an insert into a
      database; it may be async.

    The lines are those of `json_lines(events="all")`, and dictionaries of your own among the events. An exception that
    ends the stream is stored too. What the stream has besides, such as `cancel`, `answer` and `messages`, the new one
    has. `UsageError` for other values, and for another stream than an async one.
    """
    if not (callable(write) or isinstance(cast("object", write), str | os.PathLike)):
        message = f"store_events takes a path or a function of a line, got {type(write).__name__}"
        raise UsageError(message)
    return StoredStream(checked(events, "store_events"), write)


class StoredStream(LoopStream[Any]):
    """A stream whose events are stored while they are read; `store_events` makes it."""

    def __init__(self, events: AsyncIterable[Any], write: str | os.PathLike[str] | Write) -> None:
        super().__init__(_storing(events, write), events)
        self._events = events

    def __getattr__(self, name: str) -> Any:
        return getattr(self._events, name)


async def _storing(events: AsyncIterable[Any], write: str | os.PathLike[str] | Write) -> AsyncGenerator[Any, None]:
    iterator: AsyncIterator[Any] | None = None
    file: _Writer | None = None
    try:
        if not callable(write):
            file = _Writer(write, "a", flush=True)
            write = file.write
        iterator = aiter(events)
        while True:
            try:
                event = await anext(iterator)
            except StopAsyncIteration:
                return
            except Exception as error:
                said = {"detail": f"the stream failed: {type(error).__name__}"}
                said = error_fields(error) if isinstance(error, ProviderError) else said
                await _done(write(_line({"type": _ERROR, "error": said})))
                raise
            if not isinstance(event, LiveEvent):
                await _done(write(_line(event)))
            yield event
    finally:
        await close_both(iterator, events)
        if file is not None:
            file.close()


_ERROR = "STREAM_ERROR"


async def _done(work: object) -> None:
    if isawaitable(work):
        await work


def _line(event: Any) -> bytes:
    if isinstance(event, Event):
        return to_json(event, with_source=True) + b"\n"
    if isinstance(event, dict):
        return msgspec.json.encode(whole_characters(msgspec.to_builtins(cast("object", event)))) + b"\n"
    message = f"store_events stores events, and dicts of your own, got {type(event).__name__}"
    raise UsageError(message)


def stored_events(lines: str | os.PathLike[str] | Iterable[bytes | str]) -> StoredEvents:
    """Return stored events as a stream, for all that takes the stream of a pipeline; also for a plain loop.

        to_sse(stored_events("chats/7/answer_1.jsonl"), protocol="ai-sdk")
        turns(..., pending=Answer([*stored_events("chats/7/answer_1.jsonl")]))

    - `lines`: a path, or the lines that `store_events` wrote, in their order.

    In an async loop it ends as the last stream of the lines ended: what raised a `ProviderError` raises it again; of
    any other exception only the name was stored. A line that was cut, because the process died meanwhile, is left out.
    Raises `UsageError` with its number for a line of something else.
    """
    return StoredEvents(lines)


class StoredEvents:
    """Events that were stored; `stored_events` makes it. It is read as often as its lines can be."""

    def __init__(self, lines: str | os.PathLike[str] | Iterable[bytes | str]) -> None:
        self._lines = lines

    def __iter__(self) -> Iterator[Any]:
        return (each for each in self._read() if not isinstance(each, ProviderError))

    async def __aiter__(self) -> AsyncGenerator[Any, None]:
        error: ProviderError | None = None
        for each in self._read():
            if isinstance(each, ProviderError):
                error = each
                continue
            error = None
            yield each
            await asyncio.sleep(0)  # others may go on beside a long answer
        if error is not None:
            raise error

    def _read(self) -> Iterator[Any]:
        if not isinstance(self._lines, str | os.PathLike):
            yield from _events_in(self._lines)
            return
        with Path(self._lines).open("rb") as file:
            yield from _events_in(file)


def _events_in(lines: Iterable[bytes | str]) -> Iterator[Any]:
    for number, line in enumerate(lines, 1):
        try:
            yield from (from_json(line),) if line.strip() else ()
        except UsageError as error:
            yield from _others_in(line, number, error)


def _others_in(line: bytes | str, number: int, error: UsageError) -> Iterator[Any]:
    """Yield what is no event: the end by an exception, or a dictionary of the user's own; nothing for a cut line."""
    text = line.encode() if isinstance(line, str) else line
    if _is_cut(text) or _is_cut(text.rstrip() + b"0"):  # a number is malformed, not cut, behind its sign or its point
        return
    try:
        plain: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        plain = None
    found = cast("dict[str, Any]", plain) if isinstance(plain, dict) else {}
    kind = found.get("type")
    if kind == _ERROR:
        yield ProviderError(**found["error"])
    elif isinstance(kind, str) and not is_event_type(kind):
        yield found
    else:
        message = f"line {number}: {error}"
        raise UsageError(message) from error


def _is_cut(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        return "truncated" in str(error)
    return False
