"""Read what a file holds: a recording, up to its last whole line, events or a body, also in a cassette; `wire_of`."""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import json
import zlib
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from ...events.errors import ProviderError, UsageError, how_to_install
from ...events.json_form import Event, from_json
from ..base.sdk_fields import fields_of
from ..recognition.apis import api_of
from ..recognition.recognised_api import recognised_api
from ..streams.bounded_read import LONGEST
from .recording_format import FORMAT, Nanoseconds, RecordedItem, RecordingEnd, RecordingMeta

_BEGINNING = 1024 * 1024
"""As much of each response is read to see whether it is a stream."""
_MARK_OF_CASSETTE = b"interactions:"


def recorded_content(
    content: bytes, interaction: int | None = None, *, may_be_events: bool = True
) -> StreamRecording | list[Event] | bytes:
    """Return what a file holds: a recording, stored events, or a body, which may be that of a cassette.

    `interaction` chooses a response of a cassette, from 0. `UsageError` for what cannot be read, `ValueError` for a
    line behind the first that is no event.
    """
    body = out_of_cassette(content, interaction)
    if is_cassette(content):
        return body
    if is_recording(body):
        return read_recording(body)
    return (_events(body) if may_be_events else []) or body


NOT_CHUNKS = "it holds the events of a strategy, which no other one can read; pass what the provider sent"


def _events(body: bytes) -> list[Event]:
    """Read lines of events; return none if the first line is not an event."""
    events: list[Event] = []
    lines = body.split(b"\n") if body.lstrip()[:1] == b"{" else []
    for number, line in enumerate(lines, 1):
        try:
            events += [from_json(line)] if line.strip() else []
        except UsageError as error:
            if not events:
                return []
            message = f"line {number}: {error}"
            raise ValueError(message) from error
    return events


def out_of_cassette(content: bytes, interaction: int | None) -> bytes:
    """Return a cassette's response, and what is no cassette as it is.

    `UsageError` where `interaction` chooses nothing that is there.
    """
    if is_cassette(content):
        return body_in_cassette(content, interaction)
    if interaction is not None:
        message = "interaction= chooses from a cassette of VCR.py; leave it out"
        raise UsageError(message)
    return content


def is_cassette(body: bytes) -> bool:
    """Return whether this is the YAML of a cassette, judging by its beginning."""
    return any(line.startswith(_MARK_OF_CASSETTE) for line in body[:1000].splitlines())


def body_in_cassette(body: bytes, interaction: int | None = None) -> bytes:
    """Return the body of one interaction, or of the only one that streamed an answer of a known API.

    `interaction` counts from 0. `UsageError` if it does not exist, or if several fit and none is chosen.
    """
    responses = _responses(body)
    if not responses:
        message = "the cassette has no interactions; record it again"
        raise UsageError(message)
    if interaction is not None:
        if not 0 <= interaction < len(responses):
            message = f"the cassette has {len(responses)} interactions, so interaction= must be less than that"
            raise UsageError(message)
        return _body_of(responses[interaction])
    streamed = [number for number, each in enumerate(responses) if _is_stream(each)]
    if len(streamed) != 1:
        what = f"interactions {', '.join(map(str, streamed))} are" if streamed else "no interaction is"
        message = f"{what} the stream of a known API; choose one with interaction=, from 0 to {len(responses) - 1}"
        raise UsageError(message)
    return _body_of(responses[streamed[0]])


def _is_stream(response: Any) -> bool:
    try:
        recognised_api(_body_of(response, most=_BEGINNING, is_cut=True))
    except UsageError:
        return False
    return True


def _responses(cassette: bytes) -> list[Any]:
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = f"a cassette needs PyYAML; {how_to_install('cassettes')}"
        raise UsageError(message) from error
    try:
        content = yaml.safe_load(cassette)
        return [each["response"] for each in cast("list[Any]", content["interactions"])]
    except RecursionError as error:
        message = "it is not a cassette of VCR.py: it is nested too deeply"
        raise UsageError(message) from error
    except (yaml.YAMLError, ValueError, KeyError, TypeError) as error:  # ValueError: a date that does not exist
        message = f"it is not a cassette of VCR.py: {' '.join(str(error).split())}"
        raise UsageError(message) from error


def _body_of(response: Any, *, most: int = LONGEST, is_cut: bool = False) -> bytes:
    """Return at most so many bytes of a response's body; `UsageError` for a longer one that is not to be cut."""
    try:
        body: object = response["body"]["string"]
        headers: dict[str, Any] = response.get("headers") or {}
        coding = str({key.casefold(): value for key, value in headers.items()}.get("content-encoding", "")).casefold()
        packed = body.encode() if isinstance(body, str) else body if isinstance(body, bytes) else b""
        unpacked = _unpacked(packed, coding, most + 1)
    except (KeyError, TypeError, AttributeError, ValueError, OSError, EOFError, zlib.error) as error:
        message = f"the response of the cassette cannot be read: {error}"
        raise UsageError(message) from error
    if len(unpacked) <= most or is_cut:
        return unpacked[:most]
    message = f"the response of the cassette is longer than {most // 1024**2} MiB, the most that is read"
    raise UsageError(message)


def _unpacked(body: bytes, coding: str, most: int) -> bytes:
    """Return a body without its coding, up to a maximum size, because a small one may fill the memory."""
    if body.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=io.BytesIO(body)).read(most)
    if not body or "deflate" not in coding:
        return body
    unpacker = zlib.decompressobj()
    try:
        return unpacker.decompress(body, most)
    except zlib.error:
        return body  # some clients hand over what they have unpacked, with its headers


_MARK = b"penstock_recording"
_CUT = "the recording ends here, before the end of the stream"
_NANOSECONDS = 1_000_000_000
_LineT = TypeVar("_LineT", RecordingMeta, RecordedItem, RecordingEnd)


class TimedItem(NamedTuple):
    """An item as its source yielded it, and the seconds since the stream was opened."""

    at: float
    item: Any


class StreamRecording(NamedTuple):
    """One recorded stream; `end` is None if the recording was broken off."""

    meta: RecordingMeta
    items: list[TimedItem]
    end: RecordingEnd | None

    @property
    def has_times(self) -> bool:
        """Whether the times of the items are known; of a converted body they are not."""
        return self.meta.start is not None

    @property
    def ends_at(self) -> float:
        """The seconds until the end; of a recording that was broken off, until the last item."""
        last = self.items[-1].at if self.items else 0.0
        return last if self.end is None else max(self.end.t_ns / _NANOSECONDS, last)

    @property
    def error(self) -> ProviderError | None:
        """What the stream raised; a text that was cut raises, too, because only its end shows that it is whole."""
        error = None if self.end is None else self.end.exception()
        if error is None and self.meta.form == "texts" and (self.end is None or self.end.end == "closed"):
            return ProviderError(_CUT, transport=True)
        return error


def is_recording(body: bytes) -> bool:
    """Return whether these are the lines of a recording, judging by the first."""
    first, _, _ = body.lstrip(b"\xef\xbb\xbf").partition(b"\n")
    return first.startswith(b"{") and _MARK in first[:100]


def read_recording(body: bytes) -> StreamRecording:
    """Read the lines of a recording.

    A last line that was broken off is left out. `UsageError`, with the number of the line, for another wrong line, and
    for a recording of a later format.
    """
    lines = body.split(b"\n")
    whole = lines[:-1]  # what no newline follows was not written to its end
    meta: RecordingMeta | None = None
    items: list[TimedItem] = []
    end: RecordingEnd | None = None
    for number, line in enumerate(whole, 1):
        if end is None and meta is not None and meta.form == "wire" and (text := _text_line(line)) is not None:
            at = text.t_ns / _NANOSECONDS
            if not items or at >= items[-1].at:  # else it is told below
                items.append(TimedItem(at, text.raw.encode()))
                continue
        if not line.strip():
            continue
        try:
            plain = json.loads(line)
            if meta is None:
                meta = _meta(plain)
            elif end is not None:
                message = "it comes after the end"
                raise ValueError(message)  # noqa: TRY301 - told with the number of the line
            elif isinstance(plain, dict) and "end" in plain:
                end = _line(plain, RecordingEnd)
            else:
                item = _line(plain, RecordedItem)
                at = item.t_ns / _NANOSECONDS
                if items and at < items[-1].at:
                    message = "its time is before that of the line above"
                    raise ValueError(message)  # noqa: TRY301
                items.append(TimedItem(at, _item_of(item.raw, meta)))
        except (ValueError, RecursionError, UsageError) as error:  # msgspec's and json's are ValueErrors
            message = f"line {number} of the recording is wrong: {error}"
            raise UsageError(message) from error
    if meta is None:
        message = "the recording has no whole line"
        raise UsageError(message)
    return StreamRecording(meta, items, end)


class _TextLine(msgspec.Struct, frozen=True):
    """The line of nearly every event of the wire."""

    t_ns: Nanoseconds
    raw: str
    end: Any = msgspec.UNSET


_TEXT_LINE = msgspec.json.Decoder(_TextLine)


def _text_line(line: bytes) -> _TextLine | None:
    """Return a line with a text, read the short way; None for any other line, which is read and told the long way."""
    try:
        found = _TEXT_LINE.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found.end is msgspec.UNSET else None


def _meta(plain: Any) -> RecordingMeta:
    found = fields.get(_MARK.decode()) if (fields := fields_of(plain)) is not None else None
    if found != FORMAT:
        message = f"its format is {found!r}, and this version reads {FORMAT}"
        raise ValueError(message)
    return _line(plain, RecordingMeta)


def _line(plain: Any, kind: type[_LineT]) -> _LineT:
    return msgspec.convert(plain, kind)


def _item_of(raw: Any, meta: RecordingMeta) -> Any:
    match meta.form:
        case "wire":
            return _bytes_of(raw)
        case "texts":
            return msgspec.convert(raw, str)
        case "chunks":
            return from_json(json.dumps(raw))
        case "items":
            return raw


def _bytes_of(raw: Any) -> bytes:
    if isinstance(raw, str):
        return raw.encode()
    try:
        return base64.b64decode(raw["base64"], validate=True)
    except (KeyError, TypeError, binascii.Error) as error:
        message = "an event of the wire must be a string, or an object with base64"
        raise ValueError(message) from error


_END_OF_CHAT = "data: [DONE]\n\n"


class RecordedBody(NamedTuple):
    """A body in pieces, and the seconds at which each arrived."""

    api: str
    pieces: tuple[bytes, ...]
    times: tuple[float, ...]


def wire_of(recording: StreamRecording, api: str | None = None) -> RecordedBody:
    """Return what a server would have sent; items of an SDK are framed anew as its API frames them.

    `UsageError` for a recording of texts or chunks, which no provider sent, and for one whose API is not known.
    """
    meta, items, end = recording
    if meta.form in ("texts", "chunks"):
        message = f"a recording of {meta.form} is not the body of a provider's response"
        raise UsageError(message)
    times = tuple(each.at for each in items)
    known = api_of(api or api_of_recording(recording))
    if meta.form == "wire":
        return RecordedBody(known.name, tuple(each.item for each in items), times)
    if not known.served.forms & {"sse", "rows"}:
        message = f"items of {known.name} cannot be framed as its wire; use from_recording, or record its bytes"
        raise UsageError(message)
    pieces = tuple(_framed(each.item, is_rows="rows" in known.served.forms) for each in items)
    if known.name == "openai-chat" and pieces and end is not None and end.end == "complete":
        pieces = (*pieces[:-1], pieces[-1] + _END_OF_CHAT.encode())
    return RecordedBody(known.name, pieces, times)


def api_of_recording(recording: StreamRecording) -> str:
    """Return the API that a recording names, else the one detected from what was sent; `UsageError` if that fails."""
    items = (each.item for each in recording.items)
    is_wire = recording.meta.form == "wire"
    return recording.meta.api or recognised_api(
        b"".join(items if is_wire else (_framed(each, is_rows=False) for each in items))
    )


def _framed(item: Any, *, is_rows: bool) -> bytes:
    data = json.dumps(item, separators=(",", ":"))
    if is_rows:
        return f"{data}\n".encode()
    kind = (fields_of(item) or {}).get("type")
    event = f"event: {kind}\n" if isinstance(kind, str) and kind.isprintable() else ""
    return f"{event}data: {data}\n\n".encode()
