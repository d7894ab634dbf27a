"""`from_openai_responses`: a Responses stream of the OpenAI SDK, as ChunkResponses."""

from __future__ import annotations

from functools import partial

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from .recognition.checked_machine import checked_machine
from .streams.stream_bridge import bridge
from .streams.stream_check import check_stream


def from_openai_responses(
    source: object,
    *,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
) -> Observable[ChunkResponse]:
    """Stream a Response of the OpenAI SDK or of a compatible one.

        SDK events               --"Hel"----"lo"-----f--{"a"--: 1}--item done--completed--|
        from_openai_responses    --"Hel"----"lo"-----f--{"a"--: 1}--done-------finish-----|

    >>> events = [{"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hi"}]
    >>> from_openai_responses(lambda: events).subscribe(lambda chunk: print(chunk.content)) and None
    Hi

    - `source`: what `responses.create(stream=True)` returned, sync or async, or a zero-argument callable (also async)
      that starts the request at subscription. An open stream has one subscriber. Anything else raises a `UsageError`.
    - `turn_id`: used to make ids for calls without one; else the response's id, else a random one.
    - `keep_message`: whether the last chunk has the assistant's `message`, in the form in which the API takes it back.
    - `logprobs`: pass log probabilities as provider events of the kind `logprobs`; else they are left out.
    - `dispose()` cancels and closes the HTTP response: async at once, sync at the next event.
    - Errors of the provider and of the connection are a chunk with `error`, then `on_error(ProviderError)`.

    Custom tools, code and shell commands are calls of kind `text`. What the provider runs itself (MCP, the code
    interpreter, a shell in its container) has `executed_by="provider"`; patches, computer use and a local shell are
    the client's. Follows the Responses streaming reference.
    """
    check_responses_stream(source)
    new_machine = partial(
        checked_machine,
        "openai-responses",
        turn_id=turn_id,
        limits=limits,
        keep_message=keep_message,
        logprobs=logprobs,
    )
    return bridge(source, new_machine, check_responses_stream)


def check_responses_stream(source: object) -> None:
    """Raise `UsageError` for anything but a stream of response events."""
    check_stream(
        source,
        name="from_openai_responses",
        create="client.responses.create(..., stream=True)",
        helpers="openai.lib.streaming",
        whole="output",
    )
