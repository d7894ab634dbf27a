"""`from_openai_chat`: a chat completion stream of the OpenAI SDK, as ChunkResponses."""

from __future__ import annotations

from functools import partial

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from .machine.choices import Choices
from .recognition.checked_machine import checked_machine
from .streams.stream_bridge import bridge
from .streams.stream_check import check_stream


def from_openai_chat(
    source: object,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
) -> Observable[ChunkResponse]:
    """Stream a chat completion of the OpenAI SDK or of a compatible one.

        SDK chunks          --"Hel"----"lo"-----f {"a"------: 1}--finish--|
        from_openai_chat    --"Hel"----"lo"-----f {"a"------: 1}--finish--|

    >>> chunks = [{"choices": [{"delta": {"content": "Hi"}}]}]
    >>> from_openai_chat(lambda: chunks).subscribe(lambda chunk: print(chunk.content)) and None
    Hi

    - `source`: what `create(stream=True)` returned, sync or async, or a zero-argument callable (also async) that starts
      the request at subscription. An open stream has one subscriber. Anything else raises a `UsageError`.
    - `choices`: which of n answers: a number, or "all", where each chunk has its `choice`.
    - `turn_id`: used to make ids for calls without one; else the response's id, else a random one.
    - `keep_message`: whether the last chunk of each choice has the assistant's `message`, in the form in which the API
      takes it back.
    - `logprobs`: pass log probabilities as provider events of the kind `logprobs`; else they are left out.
    - `dispose()` cancels and closes the HTTP response: async at once, sync at the next chunk.
    - Errors of the provider and of the connection are a chunk with `error`, then `on_error(ProviderError)`.

    Follows the Chat Completions streaming reference.
    """
    check_choices(choices)
    check_chat_stream(source)
    new_machine = partial(
        checked_machine,
        "openai-chat",
        choices=choices,
        turn_id=turn_id,
        limits=limits,
        keep_message=keep_message,
        logprobs=logprobs,
    )
    return bridge(source, new_machine, check_chat_stream)


def check_choices(choices: object) -> None:
    """Raise `UsageError` for anything but a number from 0 and "all"."""
    if choices != "all" and (isinstance(choices, bool) or not isinstance(choices, int) or choices < 0):
        message = f'choices= must be an index from 0 or "all", got {choices!r}'
        raise UsageError(message)


check_chat_stream = partial(
    check_stream,
    name="from_openai_chat",
    create="client.chat.completions.create(..., stream=True)",
    helpers="openai.lib.streaming",
    whole="choices",
)
