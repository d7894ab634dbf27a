"""`from_wire` and `decode_wire`: decode the bytes of a provider's answer to ChunkResponses, without its SDK."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from functools import partial
from typing import Any, cast

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import PenstockError, ProviderError, UsageError
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from ..operators.engine.public_operator import public_operator
from ..operators.engine.stage import Completed, Failed, How, Operator, lift
from ..operators.engine.state import EMPTY, Stateful
from .base.answers import Choices
from .base.endings import invalid_data, raise_again
from .base.machine import Machine, WireLane, closed_as_stage, json_value, lane_of, merged
from .framing.sse import ServerSentEvent, SseDecoder, is_done, is_noise
from .recognition.apis import Decoder, api_of
from .recognition.checked_machine import CheckedMachine, checked_machine
from .sdk_sources import check_choices
from .streams.bounded_read import LONGEST, too_long
from .streams.stream_bridge import bridge

_KEPT = 64 * 1024
"""The most bytes that are kept of a body, to describe it in an error."""
LONGEST_EVENT = LONGEST
"""The most bytes of one event: those of a whole recording."""


@public_operator
def decode_wire(
    api: str,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
    merge: bool = False,
) -> Operator[bytes, ChunkResponse]:
    r"""Decode a provider's server-sent events, cut anywhere, without its SDK.

        bytes               b'data: {"choic'------b'es":[{"delta":{"content":"Hi"}}]}\n\n'--|
        decode_wire("chat") --------------------- ChunkResponse(content="Hi")-------------|

    >>> from penstock.operators import drive
    >>> body = b'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\n'
    >>> [chunk.content for chunk in drive([body], decode_wire("openai-chat"))]
    ['Hi']

    `api` is `openai-chat`, `openai-responses`, `anthropic-messages`, `gemini`, `ollama`, `bedrock-converse`, `cohere`,
    `gemini-interactions` or `openai-assistants` (or an alias); `UsageError` for another. The other options
    are those of `from_wire`. A fatal error of the stream is a chunk with `error`, then a `ProviderError` at the next
    item or at the end. Follows the WHATWG event-stream format and the providers' other framings; the bytes and the
    SDK's objects are decoded to equal ChunkResponses.
    """
    name = api_of(api).name
    new_machine = partial(
        checked_machine,
        name,
        choices=choices,
        turn_id=turn_id,
        limits=limits,
        keep_message=keep_message,
        logprobs=logprobs,
    )
    return lift(partial(_stage, name, new_machine, merge=merge))


class WireMachine(Stateful):
    """Decode the bytes of one answer with the machine of its provider.

    While a `CheckedMachine` has understood nothing, the beginning of the body is kept to describe it in an error.
    """

    STATE = ("_decoder", "_failure", "_is_done", "_machine", "_unread")

    def __init__(
        self, machine: Machine, decoder: Decoder | None = None, *, raises: bool = False, merge: bool = False
    ) -> None:
        self._merge = merge
        """Whether the deltas that a read has for one segment become one."""
        self._raises = raises
        """Whether `feed` raises the failure of a stream that has stopped, as a stage does."""
        self._decoder = decoder or SseDecoder()
        self._whole: Callable[[Any, bytes], str | None] = getattr(type(self._decoder), "whole", _no_event)
        self._machine = machine
        self._unread = _Unread(machine) if isinstance(machine, CheckedMachine) else None
        self._failure: ProviderError | None = None
        self._is_done = False
        self._lane: WireLane | None = lane_of(machine)

    @property
    def stopped(self) -> bool:
        return self._is_done or self._machine.stopped

    @property
    def failure(self) -> PenstockError | None:
        return self._failure or self._machine.failure

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        piece = item if isinstance(item, bytes) else _as_bytes(item)
        if self._decoder.held + len(piece) > LONGEST_EVENT:
            return self._in_parts(piece)
        data = self._whole(self._decoder, piece)
        if data is None:
            responses = self._events(self._decoder.feed(piece), self._lane)
        else:
            told = self._lane(data) if self._lane is not None and not self._is_done else None
            responses = self._events([ServerSentEvent("", data)]) if told is None else told
        if self._unread is not None and not self._unread.note(piece):
            self._unread, self._lane = None, lane_of(self._machine)
        if not responses and self._raises and self.failure is not None and (self._failure or self._machine.stopped):
            raise_again(self.failure)
        return merged(responses) if self._merge else responses

    def _in_parts(self, piece: bytes) -> list[ChunkResponse]:
        """Take a piece so long that an event in it may be too long; fail at the byte that is one too many."""
        responses: list[ChunkResponse] = []
        while piece and not self.stopped:
            room = LONGEST_EVENT - self._decoder.held
            part, piece = piece[: room or 1], piece[room or 1 :]
            responses += self.feed(part) if room else self._events(self._decoder.feed(part), self._lane)
            if self._decoder.held > LONGEST_EVENT and not self.stopped:
                detail = f"an event of the stream has no end: {too_long(LONGEST_EVENT)}; look at what the server sends"
                self._failure = ProviderError(detail, type="too_long")
                responses += self._machine.close(Failed(self._failure))
        return responses

    def close(self, how: How, /) -> list[ChunkResponse]:
        if self._unread is not None:
            self._unread.is_at_end = True
        last = self._events(self._decoder.close()) if isinstance(how, Completed) and not self.stopped else []
        if self._unread is not None and self.failure is None:
            self._unread.settle()
        return last + self._machine.close(how)

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._lane = lane_of(self._machine)

    def new_part(self, _name: str, _state: Any, /) -> _Unread:
        return _Unread(cast("CheckedMachine", self._machine))

    def _events(self, events: list[ServerSentEvent], lane: WireLane | None = None) -> list[ChunkResponse]:
        responses: list[ChunkResponse] = []
        for _, data in events:
            if lane is not None and not self._is_done and (chunks := lane(data)) is not None:
                responses += chunks
                continue
            if self.stopped:
                break
            if data.startswith("[DONE]"):
                self._is_done = True
            elif data:
                self._take(data, responses)
        return responses

    def _take(self, data: str, responses: list[ChunkResponse]) -> None:
        try:
            event = json_value(data)
        except (ValueError, RecursionError) as error:
            if is_done(data):
                self._is_done = True
                return
            if is_noise(data):
                return
            if self._unread is not None and self._unread.is_text(data, self._decoder):
                responses += self._machine.feed(data)
                return
            self._failure = invalid_data(error)
            self._failure.__cause__ = error.with_traceback(None)  # whose frames are of this, which keeps it
            responses += self._machine.close(Failed(self._failure))
        else:
            if isinstance(event, str) and is_done(event):
                self._is_done = True
            else:
                responses += self._machine.feed(event)


def wire_machine(api: str, *, merge: bool = False, **options: Any) -> WireMachine:
    """Return the machine for the bytes of an API, with the options of `decode_wire`."""
    known = api_of(api)
    return WireMachine(checked_machine(known.name, **options), known.new_decoder(), merge=merge)


class _Unread(Stateful):
    """The beginning of a body, kept while no item of it has been understood."""

    STATE = ("_room",)
    PIECES = ("_pieces",)

    def __init__(self, machine: CheckedMachine) -> None:
        self._machine = machine
        self._pieces: list[bytes] = []
        self._room = _KEPT
        self.is_at_end = False

    def note(self, piece: bytes) -> bool:
        """Keep a piece that was fed to the machine; return whether nothing has been understood yet."""
        if self._room > 0:
            self._pieces.append(piece[: self._room])
            self._room -= len(piece)
        return not self._machine.is_understood

    def is_text(self, line: str, decoder: Decoder) -> bool:
        """Return whether a line belongs to another kind of body, rather than being cut or malformed JSON."""
        is_other = line[:1] != "{" or (line == "{" and not self.is_at_end)
        return is_other and getattr(decoder, "is_rows", False) and not self._machine.is_understood

    def settle(self) -> None:
        self._machine.look_at(b"".join(self._pieces))


def _no_event(_: Decoder, __: bytes) -> None:
    """Stand for the `whole` of a decoder that has none."""


def _as_bytes(item: object) -> bytes:
    if not isinstance(item, bytearray | memoryview):
        message = f"the wire must be bytes, got {type(item).__name__}; encode text with .encode()"
        raise UsageError(message)
    return bytes(cast("bytes", item))


class _WireStage(WireMachine):
    """The machine as a stage, without a call of its own for each item."""

    last_words: list[ChunkResponse] = EMPTY

    def close(self, how: How, /) -> list[ChunkResponse]:
        return closed_as_stage(self, super().close, how)


def _stage(api: str, new_machine: Callable[[], CheckedMachine], *, merge: bool) -> _WireStage:
    return _WireStage(new_machine(), api_of(api).new_decoder(), raises=True, merge=merge)


def from_wire(
    api: str,
    byte_chunks: object,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
    merge: bool = False,
) -> Observable[ChunkResponse]:
    r"""Decode an HTTP response's body, cut anywhere, from any client.

        bytes      b'data: {"choic'------b'es":[{"delta":{"content":"Hi"}}]}\n\n'--|
        from_wire  --------------------- ChunkResponse(content="Hi")-------------|

    >>> body = [b'data: {"choices": [{"delta": {"cont', b'ent": "Hi"}}]}\n\n']
    >>> from_wire("openai-chat", body).subscribe(lambda chunk: print(chunk.content)) and None
    Hi

    - `api`: `openai-chat`, `openai-responses`, `anthropic-messages`, `gemini` or `ollama`;
      aliases are `chat`, `responses`, `anthropic`, `google` and the like; `UsageError` for another, and at the end of a
      body of which nothing was understood: it says what the body looks like.
    - `byte_chunks`: bytes, an iterable or async iterable of them, or a zero-argument callable that returns one. An
      iterator has one subscriber; a list any number.
    - `merge`: whether the deltas that one piece of bytes has for the same text or call become one: fewer events, the
      same content, and nothing waits. What has more than text, such as a finish reason, stays as it is and in its
      place; between calls, or answers, whose deltas come in turns, only the order within each stays.
    - The rest is as with `from_openai_chat`; both ways yield equal ChunkResponses, except where an SDK fails: on bytes
      that are not UTF-8 (U+FFFD here), and on events without data and a byte order mark (both skipped here).
    """
    known = api_of(api)
    check_choices(choices)
    new_machine = partial(
        wire_machine,
        known.name,
        choices=choices,
        turn_id=turn_id,
        limits=limits,
        keep_message=keep_message,
        logprobs=logprobs,
        merge=merge,
    )
    if isinstance(byte_chunks, bytes | bytearray):
        byte_chunks = [bytes(byte_chunks)]
    _check_bytes(byte_chunks)
    return bridge(byte_chunks, new_machine, _check_bytes)


def _check_bytes(byte_chunks: object) -> None:
    if isinstance(byte_chunks, str):
        message = "from_wire takes bytes, got a str; encode it with .encode()"
        raise UsageError(message)
    if not (callable(byte_chunks) or isinstance(byte_chunks, Iterable | AsyncIterable)):
        kind = type(byte_chunks).__name__
        message = f"from_wire takes an iterable or async iterable of bytes, got {kind}; try response.iter_bytes()"
        raise UsageError(message)
