"""`from_ollama`: a stream of Ollama's SDK, as ChunkResponses."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Iterable
from functools import partial

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from .ollama.ollama_exception import ollama_exception
from .recognition.checked_machine import checked_machine
from .streams.sdk_stream import translated
from .streams.stream_bridge import bridge


def from_ollama(
    source: object,
    *,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
) -> Observable[ChunkResponse]:
    """Stream an answer of Ollama's own `chat(..., stream=True)`.

        SDK responses   --"Hel"----"lo"-----f {"a":1}----done-------|
        from_ollama     --"Hel"----"lo"-----f {"a":1}----finish-----|

    >>> responses = [{"message": {"role": "assistant", "content": "Hi"}, "done": False}]
    >>> from_ollama(lambda: responses).subscribe(lambda chunk: print(chunk.content)) and None
    Hi

    - `source`: what `client.chat(..., stream=True)` returned, or `await AsyncClient().chat(...)` of it, or a
      zero-argument callable (also async) that calls it at subscription. An open stream has one subscriber. Anything
      else raises a `UsageError`.
    - `turn_id`: used to make ids for calls, because the SDK has none; else a random one.
    - `keep_message`: whether the last chunk has the assistant's `message`, in the form in which the API takes it back.
    - `logprobs`: pass log probabilities as provider events of the kind `logprobs`; else they are left out.
    - `dispose()` cancels and closes the HTTP response: async at once, sync at the next item.
    - Errors of the server and of the connection are a chunk with `error`, then `on_error(ProviderError)`.

    Ollama's OpenAI-compatible stream is for `from_openai_chat`. Follows Ollama's API document.
    """
    new_machine = partial(
        checked_machine, "ollama", turn_id=turn_id, limits=limits, keep_message=keep_message, logprobs=logprobs
    )
    return bridge(translated(source, check_ollama_stream, ollama_exception), new_machine, _is_checked)


def check_ollama_stream(source: object) -> None:
    """Raise `UsageError` for anything but a stream of Ollama's responses."""
    wanted = "pass client.chat(..., stream=True), or a lambda that calls it"
    kind = type(source).__name__
    if inspect.iscoroutine(source):
        source.close()
        message = f"from_ollama got a coroutine that was not awaited; await it, or {wanted}"
    elif hasattr(source, "message") and hasattr(source, "__pydantic_fields_set__"):
        message = f"from_ollama got a whole {kind}, not a stream; {wanted}"
    elif isinstance(source, str | bytes | dict) or hasattr(source, "__pydantic_fields_set__"):
        message = f"from_ollama got a {kind}, not a stream; {wanted}"
    elif callable(source) or isinstance(source, Iterable | AsyncIterable):
        return
    elif inspect.isawaitable(source):
        message = f"from_ollama got a {kind} that was not awaited; await it, or {wanted}"
    else:
        message = f"from_ollama got a {kind}, which is not a stream; {wanted}"
    raise UsageError(message)


def _is_checked(_: object) -> None:
    """Accept every value, because streams are checked when they are opened."""
