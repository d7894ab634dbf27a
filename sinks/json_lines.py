"""`json_lines`: the events of a stream as lines of JSON in a file, and `read_json_lines`, which reads them back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, Protocol, TypeAlias, cast, get_args

from ..events.errors import UsageError
from ..events.json_form import Event, from_json, to_json
from .running.sink import TwinSink, each_event
from .web.final_events import LIVE, FinalEvents


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
    and bare fragments raise a `UsageError`, because they are only deltas. `events="all"` stores each event as it
    arrives. Live values (`PartialOutput`, `PartialArguments`) are left out, because the segments have their text. Other
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
        if isinstance(event, LIVE):
            return
        if not isinstance(event, Event):
            message = f"json_lines writes events, got {type(event).__name__}"
            raise UsageError(message)
        for each in (event,) if self._final is None else self._final.feed(event):
            self._writer.write(each)

    def close(self, _error: BaseException | None) -> int:
        if self._writer is None:
            return 0
        try:
            # A failed write is not tried again, so that the first exception is the one that is raised.
            if self._final is not None and not self._writer.has_failed:
                for each in self._final.close():
                    self._writer.write(each)
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

    def write(self, event: Event) -> None:
        line = to_json(event) + b"\n"
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
