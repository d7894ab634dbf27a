"""`record`: keep what a source yields, with its times, as lines that survive a crash."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from ..events.errors import UsageError
from ..sources.from_stream import stream_within
from ..sources.recognition.apis import api_of
from ..sources.recordings.recording_file import RecordingFile, Redact, new_file
from ..sources.streams.taps import tapped


def record(
    path: str | PathLike[str],
    *,
    api: str | None = None,
    redact: Redact | None = None,
    overwrite: bool = False,
) -> Callable[[Any], Any]:
    r"""Return a tap: it takes a source and returns one that yields the same, and writes each item into a file.

        source   --{...}----{...}--{...}--|
        tap      --{...}----{...}--{...}--|
        file     meta, {"t_ns": 2, "raw": {...}}, {"t_ns": 7, ...}, {"t_ns": 9, ...}, {"t_ns": 11, "end": "complete"}

        chunks = from_stream(record("answer.jsonl")(lambda: client.chat.completions.create(..., stream=True)))
        chunks = from_wire("chat", record("answer.jsonl")(response.iter_bytes()))
        again = from_recording("answer.jsonl", pace="original")

    - The source is what `from_stream` or `from_wire` takes: a stream of an SDK, sync or async, an iterable, or a
      callable that starts a request. Bytes are written by the events of the wire.
    - `path`: a file that must not exist, because nothing is overwritten without `overwrite=True`; or a folder, in which
      each stream gets a file that is named by its time. `UsageError` where it cannot be written, before a request; a
      request that fails leaves no file.
    - `api`: written into the first line, if the first item does not show it.
    - `redact(raw)`: returns what is written of an item: of a dict, of a text, or of the text of one event of the wire;
      None leaves the item out. What it raises ends the stream, as does a result of another type where a text came.
      Headers and keys never come here. With it the words of an error that ended the stream are left out, for they may
      cite the body.
    - Each line is written before the next item is read, so a crash leaves a file that can be read. A full disk, and
      an item that cannot be written, end the recording with a warning of the logger `penstock`, and not the stream.

    The lines are those of `penstock schema recording`.
    """
    opened = new_recording(path, api=api, redact=redact, overwrite=overwrite)
    return lambda source: tap_into(opened, source)


def new_recording(
    path: str | PathLike[str], *, api: str | None = None, redact: Redact | None = None, overwrite: bool = False
) -> Callable[[], RecordingFile]:
    """Return a function that opens a new recording; the options are those of `record`."""
    if api is not None:
        api_of(api)
    try:
        target = Path(path)
        is_missing = not target.is_dir() and not target.parent.is_dir()
    except TypeError as error:
        message = f"the path of a recording must be a str or a Path, got {path!r:.80}"
        raise UsageError(message) from error
    except OSError as error:
        message = f"cannot write the recording {str(path)[:80]}: {error.strerror}"
        raise UsageError(message) from error
    if is_missing:
        message = f"the folder {target.parent} of the recording {target.name} does not exist; create it first"
        raise UsageError(message)

    def opened() -> RecordingFile:
        return RecordingFile(new_file(target, overwrite=overwrite), api=api, redact=redact)

    return opened


def tap_into(opened: Callable[[], RecordingFile], source: Any) -> Any:
    """Return a source that yields the same, and writes each item into the recording that `opened` returns."""
    return tapped(stream_within(source) or source, opened)
