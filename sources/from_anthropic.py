"""`from_anthropic`: a stream of the Anthropic SDK, as ChunkResponses."""

from __future__ import annotations

from functools import partial

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from .recognition.checked_machine import checked_machine
from .streams.stream_bridge import bridge
from .streams.stream_check import check_stream


def from_anthropic(
    source: object,
    *,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
) -> Observable[ChunkResponse]:
    """Stream a message of the Anthropic SDK, also of its beta, Bedrock and Vertex clients.

        SDK events        --"Hel"----"lo"-----f--{"a"--: 1}--stop--|
        from_anthropic    --"Hel"----"lo"-----f--{"a"--: 1}--done--|

    >>> events = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}]
    >>> from_anthropic(lambda: events).subscribe(lambda chunk: print(chunk.content)) and None
    Hi

    - `source`: what `messages.create(stream=True)` returned, sync or async, or a zero-argument callable (also async)
      that starts the request at subscription. An open stream has one subscriber. Anything else raises a `UsageError`.
    - `turn_id`: used to make ids for calls without one; else the message's id, else a random one.
    - `keep_message`: whether the last chunk has the assistant's `message`, in the form in which the API takes it back.
    - `logprobs`: without effect; this API has none.
    - `dispose()` cancels and closes the HTTP response: async at once, sync at the next event.
    - Errors of the provider and of the connection are a chunk with `error`, then `on_error(ProviderError)`.

    Calls that the provider runs itself (`server_tool_use`, `mcp_tool_use`) have `executed_by="provider"`. The input of
    a fine-grained or cut call passes as it came, valid or not. Follows the Messages streaming reference.
    """
    check_anthropic_stream(source)
    new_machine = partial(
        checked_machine,
        "anthropic-messages",
        turn_id=turn_id,
        limits=limits,
        keep_message=keep_message,
        logprobs=logprobs,
    )
    return bridge(source, new_machine, check_anthropic_stream)


def check_anthropic_stream(source: object) -> None:
    """Raise `UsageError` for anything but a stream of message events."""
    check_stream(
        source,
        name="from_anthropic",
        create="client.messages.create(..., stream=True)",
        helpers="anthropic.lib.streaming",
        whole="stop_reason",
    )
