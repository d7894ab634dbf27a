"""`from_wire`: decode the bytes of a provider's answer to ChunkResponses, without its SDK."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from functools import partial

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from .decode_wire import WireMachine
from .from_openai_chat import check_choices
from .machine.choices import Choices
from .recognition.apis import api_of
from .recognition.checked_machine import checked_machine
from .streams.stream_bridge import bridge


def from_wire(
    api: str,
    byte_chunks: object,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
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
    - The rest is as with `from_openai_chat`; both ways yield equal ChunkResponses, except where an SDK fails: on bytes
      that are not UTF-8 (U+FFFD here), and on events without data and a byte order mark (both skipped here).
    """
    known = api_of(api)
    check_choices(choices)
    new_machine = partial(
        checked_machine,
        known.name,
        choices=choices,
        turn_id=turn_id,
        limits=limits,
        keep_message=keep_message,
        logprobs=logprobs,
    )
    if isinstance(byte_chunks, bytes | bytearray):
        byte_chunks = [bytes(byte_chunks)]
    _check_bytes(byte_chunks)
    return bridge(byte_chunks, lambda: WireMachine(new_machine(), known.new_decoder()), _check_bytes)


def _check_bytes(byte_chunks: object) -> None:
    if isinstance(byte_chunks, str):
        message = "from_wire takes bytes, got a str; encode it with .encode()"
        raise UsageError(message)
    if not (callable(byte_chunks) or isinstance(byte_chunks, Iterable | AsyncIterable)):
        kind = type(byte_chunks).__name__
        message = f"from_wire takes an iterable or async iterable of bytes, got {kind}; try response.iter_bytes()"
        raise UsageError(message)
