"""The sources of one SDK's streams each: OpenAI's chat and Responses, Anthropic's, Google's and Ollama's."""

from __future__ import annotations

from functools import partial

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from .base.answers import Choices
from .gemini.machine import RUNS_FUNCTIONS
from .gemini.wire import gemini_exception
from .ollama.machine import ollama_exception
from .recognition.checked_machine import checked_machine
from .streams.sdk_stream import translated
from .streams.stream_bridge import bridge, check_stream
from .streams.workarounds import runs_functions


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
    return bridge(translated(source, check_ollama_stream, ollama_exception), new_machine, _is_checked_when_opened)


def check_ollama_stream(source: object) -> None:
    """Raise `UsageError` for anything but a stream of Ollama's responses."""
    whole = ("message", "__pydantic_fields_set__")
    check_stream(source, name="from_ollama", create="client.chat(..., stream=True)", whole=whole)


def _is_checked_when_opened(_: object) -> None:
    """Accept every value, because streams are checked when they are opened."""


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
        helpers=("anthropic.lib.streaming",),
        whole=("stop_reason",),
    )


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
        helpers=("openai.lib.streaming",),
        whole=("output",),
    )


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
    helpers=("openai.lib.streaming",),
    whole=("choices",),
)


def from_gemini(
    source: object,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
) -> Observable[ChunkResponse]:
    """Stream an answer of `generate_content_stream`, of the Developer API or Vertex AI.

        SDK responses   --"Hel"----"lo"-----f {"a":1}----STOP-------|
        from_gemini     --"Hel"----"lo"-----f {"a":1}----finish-----|

    >>> responses = [{"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}]
    >>> from_gemini(lambda: responses).subscribe(lambda chunk: print(chunk.content)) and None
    Hi

    - `source`: what `client.models.generate_content_stream(...)` returned, or `await client.aio.models...` of it, or a
      zero-argument callable (also async) that calls it at subscription. An open stream has one subscriber. Anything
      else raises a `UsageError`, and so does a stream in which the SDK would run Python functions itself.
    - `choices`: which of several candidates: a number, or "all", where each chunk has its `choice`.
    - `turn_id`: used for the ids of calls without one; else the response's id, else a random one.
    - `keep_message`: whether the last chunk of each choice has the assistant's `message`, in the form in which the API
      takes it back.
    - `logprobs`: pass log probabilities as provider events of the kind `logprobs`; else they are left out.
    - `dispose()` cancels and closes the HTTP response: async at once, sync at the next item. An async generator of
      your own around the SDK's closes it only when it is collected.
    - Errors of the provider and of the connection are a chunk with `error`, then `on_error(ProviderError)`.

    Arguments streamed on Vertex AI come as they are, `PartialArgs` says how. Follows the generateContent reference.
    """
    check_choices(choices)
    new_machine = partial(
        checked_machine,
        "gemini",
        choices=choices,
        turn_id=turn_id,
        limits=limits,
        keep_message=keep_message,
        logprobs=logprobs,
    )
    return bridge(translated(source, check_gemini_stream, gemini_exception), new_machine, _is_checked_when_opened)


def check_gemini_stream(source: object) -> None:
    """Raise `UsageError` for anything but a stream of Gemini's responses."""
    create = "client.models.generate_content_stream(...)"
    check_stream(source, name="from_gemini", create=create, whole=("candidates",))
    if runs_functions(source):
        raise UsageError(RUNS_FUNCTIONS)
