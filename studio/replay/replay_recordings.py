"""Find recorded bodies, their forms and APIs, and choose the one that answers a request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

from ...events.errors import UsageError
from ...sources.base.sdk_fields import without_halves
from ...sources.bedrock.wire import frame
from ...sources.framing.served import BodyForm
from ...sources.recognition.apis import APIS, Api, api_of
from ...sources.recognition.recognised_api import recognised_api
from ...sources.recordings.read_recording import is_recording, read_recording, wire_of
from ...sources.streams.bounded_read import read_bounded


def form_of(body: bytes) -> BodyForm:
    """Return the form of a body, judged by its first character."""
    match body.lstrip(b" \t\r\n\xef\xbb\xbf")[:1]:
        case b"[":
            return "array"
        case b"{":
            return "rows"
        case b"\0":
            return "frames"
        case _:
            return "sse"


def is_stream(api: str, form: BodyForm) -> bool:
    """Return whether a body of this form is a stream of this API, rather than a whole answer."""
    return form in api_of(api).served.forms


def content_type(api: str, form: BodyForm) -> str:
    """Return the `content-type` with which the provider sends such a body."""
    match form:
        case "sse":
            return api_of(api).served.sse_type
        case "rows":
            return "application/x-ndjson"
        case "frames":
            return "application/vnd.amazon.eventstream"
        case "array":
            return "application/json; charset=UTF-8"


def framed(form: BodyForm, data: str, event: str = "") -> bytes:
    r"""Return one event encoded in this form.

    >>> framed("sse", "{}", "ping"), framed("rows", "{}")
    (b'event: ping\ndata: {}\n\n', b'{}\n')
    """
    if form == "frames":
        return frame(event, data.encode())
    if form == "sse":
        name = f"event: {event}\n" if event else ""
        return f"{name}data: {data}\n\n".encode()
    return f"{data},\n".encode() if form == "array" else f"{data}\n".encode()


RequestCheck: TypeAlias = Callable[[str, dict[str, Any]], object]
"""Looks at the API's name and the body of a request; raises to refuse it."""


def replay_api_at(path: str) -> Api | None:
    """Return the API that a path belongs to, with any prefix.

    >>> replay_api_at("/openai/deployments/d/chat/completions").name
    'openai-chat'
    """
    return next((api for api in APIS if api.served.path.search(path)), None)


def model_in(api: Api, path: str, body: dict[str, Any]) -> str:
    """Return the model that a request names in its path or its body; empty if it names none."""
    found = api.served.path.search(path)
    model = found.groupdict().get("model") if found else None
    if not model:
        model = body.get("model")
    return without_halves(model[:200]) if isinstance(model, str) else ""


def error_in_band(api: Api, form: BodyForm, message: str) -> bytes:
    """Return the event by which this provider reports an error in the middle of a stream."""
    event, data = api.served.error_event(message)
    return framed(form, json.dumps(data), event)


RecordingSource: TypeAlias = str | PathLike[str] | Mapping[str, bytes]
_SUFFIXES = frozenset({".sse", ".jsonl", ".ndjson", ".json", ".txt"})
_TIMING = ".timing.json"
_INDEX = "index.json"
_SHOWN = 20


class Timing(NamedTuple):
    """The network chunks of a body: their sizes, and their arrival times in seconds if known."""

    sizes: tuple[int, ...]
    times: tuple[float, ...] | None


class Recording(NamedTuple):
    """A recorded body; `name` is its path below the folder, with `/`."""

    name: str
    api: str
    body: bytes
    timing: Timing | None = None

    def is_named(self, name: str) -> bool:
        """Return whether this is its path, its path without the suffix, or its stem."""
        path, _, _ = self.name.rpartition(".")
        return name in (self.name, path or self.name, (path or self.name).rpartition("/")[2])


class Recordings:
    """The recordings of a folder and its subfolders, or of a dictionary; used in turn if several match a request.

    `api`: the API of all of them, as in `from_wire`; without it each one's API is detected. `left_out`: the files whose
    body is not a stream, or does not show its provider. `UsageError` if no recording remains.
    """

    def __init__(self, source: RecordingSource, api: str | None = None) -> None:
        self.all: list[Recording] = []
        self.left_out: list[str] = []
        given = None if api is None else api_of(api).name
        bodies = source.items() if isinstance(source, Mapping) else _files(Path(source))
        timings = {} if isinstance(source, Mapping) else _timings(Path(source))
        for name, content in bodies:
            body, recorded = _played(content)
            found = _stream_of(body) if given is None else given
            if found:
                timing = recorded or _checked(timings.get(name), name, body)
                self.all.append(Recording(without_halves(name), found, body, timing))
            else:
                self.left_out.append(without_halves(name))
        self._turns: dict[tuple[str, ...], int] = {}
        if not self.all:
            where = "the dictionary" if isinstance(source, Mapping) else str(source)
            unread = f"; not recognised: {', '.join(self.left_out[:_SHOWN])}" if self.left_out else ""
            message = f"no recording in {where} (wanted: {', '.join(sorted(_SUFFIXES))}){unread}"
            raise UsageError(message)

    def of(self, api: str) -> list[Recording]:
        return [recording for recording in self.all if recording.api == api]

    def choose(self, api: str, *, model: str = "", name: str | None = None, strict: bool = False) -> Recording:
        """Return the recording with a name, else one named like the model, else the next; `UsageError` lists them.

        `strict`: a model that no recording is named like is a `UsageError`, too.
        A name is only compared with those found at the start, and never used as a path.
        """
        own = self.of(api)
        if name is not None:
            fitting = [recording for recording in own if recording.is_named(name)]
            if not fitting:
                raise UsageError(_nothing(f"no recording {name[:200]!r} of {api}", own))
        elif not own:
            raise UsageError(_nothing(f"no recording of {api}", self.all))
        else:
            fitting = [recording for recording in own if model and recording.is_named(model)]
            if strict and not fitting:
                raise UsageError(_nothing(f"no recording named like the model {model[:200]!r} of {api}", own))
            fitting = fitting or own
        key = tuple(recording.name for recording in fitting)
        turn = self._turns.get(key, 0)
        self._turns[key] = turn + 1
        return fitting[turn % len(fitting)]


def _played(content: bytes) -> tuple[bytes, Timing | None]:
    """Return the body of a file, and its times if `record` wrote it."""
    if not is_recording(content):
        return content, None
    try:
        _, pieces, times = wire_of(read_recording(content))
    except UsageError:  # of text, say: told as not recognised
        return content, None
    return b"".join(pieces), Timing(tuple(map(len, pieces)), times) if pieces else None


def _stream_of(body: bytes) -> str:
    """Return the name of a stream's API; an empty string if the body is not a stream, or its API is not recognised."""
    try:
        api = recognised_api(body)
    except UsageError:
        return ""
    return api if is_stream(api, form_of(body)) else ""


def _nothing(said: str, there: Sequence[Recording]) -> str:
    names = ", ".join(recording.name for recording in there[:_SHOWN])
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    return f"{said}; there is {names or 'none'}{more}"


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    if not folder.is_dir():
        message = f"no folder of recordings: {folder}"
        raise UsageError(message)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix in _SUFFIXES and not name.endswith(_TIMING) and name != _INDEX and path.is_file():
            try:
                with path.open("rb") as file:
                    yield name, read_bounded(file)
            except (OSError, UsageError) as error:
                message = f"cannot read the recording {name}: {error}"
                raise UsageError(message) from error


def _timings(folder: Path) -> dict[str, Timing]:
    """Read `index.json`, a list of objects that each name their `file`, and each `NAME.timing.json` beside a body."""
    given: dict[str, Any] = {}
    index = folder / _INDEX
    if index.is_file():
        content = _json(index)
        for entry in cast("Iterable[Any]", content if isinstance(content, list) else ()):
            if isinstance(entry, dict) and "network_chunk_sizes" in entry:
                fields = cast("dict[str, Any]", entry)
                given[str(fields.get("file"))] = fields
    for path in sorted(folder.rglob(f"*{_TIMING}")):
        stem = path.with_name(path.name.removesuffix(_TIMING))
        for suffix in _SUFFIXES:
            body = stem.with_name(stem.name + suffix)
            if body.is_file():
                given[body.relative_to(folder).as_posix()] = _json(path)
    return {name: _timing(name, entry) for name, entry in given.items()}


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        message = f"cannot read {path}: {error}"
        raise UsageError(message) from error


def _timing(name: str, entry: Any) -> Timing:
    try:
        sizes = tuple(int(size) for size in entry["network_chunk_sizes"])
        times = entry.get("network_chunk_times")
        return Timing(sizes, None if times is None else tuple(float(time) for time in times))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = f"the timing of {name} needs the lists network_chunk_sizes and network_chunk_times: {error!r}"
        raise UsageError(message) from error


def _checked(timing: Timing | None, name: str, body: bytes) -> Timing | None:
    if timing is None:
        return None
    if min(timing.sizes, default=1) < 1 or sum(timing.sizes) != len(body):
        message = f"the timing of {name} covers {sum(timing.sizes)} bytes, but the body has {len(body)}"
        raise UsageError(message)
    if timing.times is not None and (
        len(timing.times) != len(timing.sizes) or list(timing.times) != sorted(timing.times)
    ):
        message = f"the timing of {name} needs one time for each chunk, in ascending order"
        raise UsageError(message)
    return timing
