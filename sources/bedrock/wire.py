"""Bedrock's answer on the wire and from boto3: fields, errors, AWS's binary event stream, server-sent events."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from binascii import crc32
from collections.abc import Iterator, Mapping
from importlib import import_module
from struct import pack
from typing import Any, Self, cast

from ...events.errors import ProviderError, UsageError, how_to_install
from ...operators.engine.state import Stateful
from ..base.endings import error_in_body
from ..base.response import COUNTS, FRAME, PADDING, SERVER, SUMS, TIMES, WireKeys, rows
from ..base.sdk_fields import Fields, fields_of, plain_json, plain_object
from ..framing.served import Served
from ..framing.sse import ServerSentEvent, SseDecoder, is_done
from ..streams.workarounds import raised_in

_SHAPES = {
    "contentBlockStart": "contentBlockIndex p start(toolUse toolResult image(format source error))",
    "contentBlockDelta": (
        "contentBlockIndex p delta(text citation toolResult toolUse(input) image(source(bytes s3Location) error)"
        " reasoningContent(text signature redactedContent data reasoningText(text signature)))"
    ),
    "metadata": "* usage(inputTokens outputTokens totalTokens cacheReadInputTokens cacheWriteInputTokens)",
}

KEYS = WireKeys(
    "bedrock-converse",
    left_out=(
        *rows(FRAME, "messageStart", "contentBlockStop", "*contentBlockIndex"),
        *rows(PADDING, "p", "*.p", "initial-response", "messageStop.p", "metadata.p"),
        *rows(SUMS, "metadata.usage.inputTokens", "metadata.usage.cacheWriteInputTokens"),
        *rows(COUNTS, "metadata.usage.cacheDetails", "metadata.usage.serverToolUsage"),
        *rows(TIMES, "metadata.metrics"),
        *rows(SERVER, "metadata.performanceConfig", "metadata.serviceTier"),
    ),
    shapes=_SHAPES,
)

STATUSES = {
    "validationException": 400,
    "accessDeniedException": 403,
    "resourceNotFoundException": 404,
    "modelTimeoutException": 408,
    "modelStreamErrorException": 424,
    "throttlingException": 429,
    "modelNotReadyException": 429,
    "internalServerException": 500,
    "serviceUnavailableException": 503,
}
"""The HTTP status of each exception, from the API's description; in a stream it comes without one."""
FRAMING = "eventStreamError"
"""The key of an error in the framing itself."""


def is_error_key(kind: str) -> bool:
    """Return whether the type of an event is that of an error.

    >>> is_error_key("throttlingException"), is_error_key("messageStop")
    (True, False)
    """
    return kind in STATUSES or kind in (FRAMING, "error")


def converse_error(kind: str, body: Any) -> ProviderError:
    """Return the error of an event, by its type and its value.

    >>> error = converse_error("throttlingException", {"message": "slow down"})
    >>> error.detail, error.type, error.status
    ('slow down', 'throttlingException', 429)
    """
    found = error_in_body(plain_json(body))
    status = STATUSES.get(kind) or found.status
    if kind in STATUSES:
        return ProviderError(found.detail, code=kind, type=kind, status=status)
    return ProviderError(found.detail, code=found.code, type=found.type or found.code or kind, status=status)


def base64_of(value: Any) -> Any:
    """Return bytes, of which boto3 makes the wire's base64, as base64 again.

    >>> base64_of(b"a"), base64_of("YQ==")
    ('YQ==', 'YQ==')
    """
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode("ascii")
    return plain_json(value)


def reasoning_fields(given: Fields) -> Fields:
    """Return the fields of reasoning, which proxies nest as in a whole message, or name as Anthropic does.

    >>> reasoning_fields({"reasoningText": {"text": "So.", "signature": "s"}}), reasoning_fields({"data": "eA=="})
    ({'text': 'So.', 'signature': 's'}, {'redactedContent': 'eA=='})
    """
    nested = fields_of(given.get("reasoningText"))
    given = {
        **{name: each for name, each in given.items() if name != "reasoningText" or nested is None},
        **(nested or {}),
    }
    redacted = given.pop("data", None)
    return {"redactedContent": redacted, **given} if redacted is not None else given


def plain_fields(value: Any) -> Fields:
    """Return plain JSON of an object, bytes in it as base64."""
    fields = fields_of(value)
    if fields is None:
        return plain_object(value)
    return {
        str(name): plain_fields(each) if fields_of(each) is not None else base64_of(each)
        for name, each in fields.items()
    }


_HTTP = frozenset({"http", "urllib3"})
_TRANSPORT = frozenset({"HTTPClientError", "ConnectionError", "IncompleteReadError", "ReadTimeoutError"})


def bedrock_events(answer: Any) -> Iterator[Any] | None:
    """Return the events of what boto3 returned, the whole answer or the stream in it; None for anything else."""
    fields = fields_of(answer) if isinstance(answer, dict) else None
    stream: Any = cast("Any", answer) if fields is None else fields.get("stream")
    return _Events(stream) if str(type(stream).__module__) == "botocore.eventstream" else None


def bedrock_exception(error: Exception) -> ProviderError | None:
    """Translate an exception of boto3; None for any other."""
    root = type(error).__module__.partition(".")[0]
    if root == "urllib3" or (isinstance(error, ValueError) and raised_in(error) in _HTTP):  # which botocore stands on
        return ProviderError(str(error) or type(error).__name__, type=type(error).__name__, transport=True)
    if root not in ("boto3", "botocore"):
        return None
    response: Any = getattr(error, "response", None)
    if not isinstance(response, Mapping):
        names = {kind.__name__ for kind in type(error).__mro__}
        return ProviderError(str(error), type=type(error).__name__, transport=bool(names & _TRANSPORT))
    answer = cast("Mapping[str, Any]", response)
    body: Any = answer.get("Error") or answer
    code = str(body.get("Code") or "")
    metadata: dict[str, Any] = answer.get("ResponseMetadata") or {}
    status: Any = metadata.get("HTTPStatusCode")
    code = "" if code.isdigit() else code
    kind = next((name for name in STATUSES if name.lower() == code.lower()), code) or None
    is_status = isinstance(status, int) and 400 <= status < 600
    detail = str(body.get("Message") or body.get("message") or error)
    return ProviderError(detail, code=kind, type=kind, status=status if is_status else STATUSES.get(kind or ""))


class _Events:
    """The iterator that a stream of botocore's is not itself."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._events: Iterator[Any] = iter(stream)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return next(self._events)

    def close(self) -> None:
        self._stream.close()


_LEAST = 16
"""The length of an empty frame."""
_TEXT = 7
"""The number of the type of headers that are texts."""


def event_stream(body: bytes) -> bytes:
    r"""Return named server-sent events as the frames in which Bedrock sends them; frames as they are.

    >>> event_stream(b'event: messageStop\ndata: {"stopReason": "end_turn"}\n\n')[:4]
    b'\x00\x00\x00{'
    """
    if body.startswith(b"\0"):
        return body
    return b"".join(frame(event, data.encode()) for event, data in SseDecoder().feed(body) if event)


def frame(kind: str, payload: bytes) -> bytes:
    """Return one frame: an event or an exception of this type."""
    word = "exception" if is_error_key(kind) else "event"
    headers = {":content-type": "application/json", f":{word}-type": kind, ":message-type": word}
    return framed(headers, payload)


def frame_ends(body: bytes) -> list[int]:
    """Return where the frames of a body end; what follows the last whole one belongs to none."""
    ends: list[int] = []
    at = 0
    while at + _LEAST <= len(body):
        at += max(int.from_bytes(body[at : at + 4]), _LEAST)
        if at <= len(body):
            ends.append(at)
    return ends


def framed(headers: dict[str, str], payload: bytes) -> bytes:
    """Return a frame: its lengths, their checksum, the headers, the payload and the checksum of it all."""
    head = b"".join(_header(name, value) for name, value in headers.items())
    prelude = pack("!II", len(head) + len(payload) + _LEAST, len(head))
    whole = prelude + pack("!I", crc32(prelude)) + head + payload
    return whole + pack("!I", crc32(whole))


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return pack("!B", len(key)) + key + pack("!BH", _TEXT, len(text)) + text


_ERROR_KINDS = {status: kind for kind, status in reversed(STATUSES.items())}


def _served_error(status: int, message: str) -> Any:
    return {"message": message, "__type": _ERROR_KINDS.get(status, "ValidationException")}


def _served_event(message: str) -> tuple[str, Any]:
    return "serviceUnavailableException", {"message": message}


def _wants_stream(path: str, _: dict[str, Any]) -> bool:
    return path.endswith("/converse-stream")


BEDROCK_SERVED = Served(
    re.compile(r"/model/(?P<model>[^/]+)/converse(?:-stream)?\Z"),
    "/model/{model}/converse-stream",
    'boto3.client("bedrock-runtime", endpoint_url="{url}")',
    _served_error,
    _served_event,
    _wants_stream,
    garbage_event="contentBlockDelta",
    forms=frozenset({"sse", "frames"}),
    as_sent=event_stream,
)


_BEFORE = b" \t\r\n\xef\xbb\xbf"
_BINARY = b"\0"
"""The first byte of a frame: the highest one of its length."""


class BedrockDecoder(Stateful):
    r"""Decode AWS's event stream, or server-sent events that are named as its events, as recorders and proxies write.

        b'\0\0\0...'                                                [ServerSentEvent('', '{"messageStart": {...}}')]
        b'event: messageStop\ndata: {"stopReason": "end_turn"}\n\n' [ServerSentEvent('', '{"messageStop": {...}}')]

    Each becomes an object of one key, as boto3 has it. Frames are decoded by botocore; `UsageError` without it.
    """

    STATE = __slots__ = ("_decoder",)

    def __init__(self) -> None:
        self._decoder: _Frames | _NamedEvents | None = None

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that this piece completes."""
        if self._decoder is None:
            if not piece.startswith(_BINARY):
                piece = piece.lstrip(_BEFORE)
            if not piece:
                return []
            self._decoder = _Frames() if piece.startswith(_BINARY) else _NamedEvents()
        return self._decoder.feed(piece)

    @property
    def held(self) -> int:
        """How many bytes are held of an event that has not come to its end."""
        return self._decoder.held if self._decoder else 0

    def close(self) -> list[ServerSentEvent]:
        """Return the event that the end completes; a frame that it cuts off does not count."""
        return self._decoder.close() if self._decoder else []

    def new_part(self, _name: str, state: Any, /) -> _Frames | _NamedEvents:
        return _Frames() if "_rest" in state else _NamedEvents()


class _NamedEvents(SseDecoder):
    __slots__ = ()

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        return [event if event.event == "error" else _named(*event) for event in super().feed(piece)]

    def close(self) -> list[ServerSentEvent]:
        return [event if event.event == "error" else _named(*event) for event in super().close()]


class _Frames(Stateful):
    STATE = ("_is_broken",)
    PIECES = ("_rest",)
    __slots__ = (*STATE, *PIECES, "_buffer", "_errors", "held")

    def __init__(self) -> None:
        try:
            found: Any = import_module("botocore.eventstream")
        except ImportError:
            message = f"Bedrock's binary event stream needs botocore; {how_to_install('bedrock')}"
            raise UsageError(message) from None
        self._buffer: Any = found.EventStreamBuffer()
        self._errors: tuple[type[Exception], ...] = (found.ParserError, KeyError, ValueError)
        self._rest: list[bytes] = []
        self._is_broken = False
        self.held = 0

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        if self._is_broken:
            return []
        self._rest.append(piece)
        self.held += len(piece)
        self._buffer.add_data(piece)
        events: list[ServerSentEvent] = []
        read = 0
        try:
            for frame in self._buffer:
                read += frame.prelude.total_length
                events.append(_event(frame.headers, frame.payload))
        except self._errors as error:
            self._is_broken = True
            said = {"message": f"the event stream is broken: {error}", "type": type(error).__name__}
            events.append(_named(FRAMING, json.dumps(said)))
        if read:
            self._rest = [b"".join(self._rest)[read:]]
            self.held -= read
        return events

    def close(self) -> list[ServerSentEvent]:
        return []

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._buffer = type(self._buffer)()
        self.held = sum(map(len, self._rest))
        for piece in self._rest:
            self._buffer.add_data(piece)


def _event(headers: dict[str, Any], payload: bytes) -> ServerSentEvent:
    if headers.get(":message-type") == "error":
        said = {"message": headers.get(":error-message"), "code": headers.get(":error-code")}
        return _named("error", json.dumps(said))
    kind = headers.get(":exception-type") or headers.get(":event-type")
    return _named(str(kind), payload.decode("utf-8", "replace") or "{}")


def _named(event: str, data: str) -> ServerSentEvent:
    if not event or is_done(data):
        return ServerSentEvent("", data)
    return ServerSentEvent("", f"{{{json.dumps(event)}: {data}}}")
