"""`from_stream`: a stream of any provider's SDK, as ChunkResponses; the provider is detected from the first item."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from json import JSONDecodeError
from traceback import walk_tb
from typing import Any, Literal, TypeAlias

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import ProviderError, UsageError
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from .bedrock.bedrock_stream import bedrock_events
from .from_gemini import check_gemini_stream
from .from_openai_chat import check_choices
from .machine.choices import Choices
from .machine.machine import Machine
from .machine.provider_error import provider_error
from .recognition.apis import APIS
from .sdk_or_wire import SdkOrWire
from .streams.response_bytes import bytes_of_stream, raw_bytes
from .streams.sdk_stream import translated
from .streams.stream_bridge import bridge
from .streams.stream_check import check_stream

Decode: TypeAlias = Literal["sdk", "wire"]
"""Who decodes the events of an SDK's stream."""

_HELPERS = ("openai.lib.streaming", "anthropic.lib.streaming")
_SDKS = frozenset(name for api in APIS for name in api.sdks)


def from_stream(
    source: object,
    api: str | None = None,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
    decode: Decode = "sdk",
) -> Observable[ChunkResponse]:
    """Stream the answer of any provider.

        any SDK's items    --"Hel"----"lo"-----f {"a"------: 1}--finish--|
        from_stream        --"Hel"----"lo"-----f {"a"------: 1}--finish--|

    >>> events = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}]
    >>> from_stream(lambda: events).subscribe(lambda chunk: print(chunk.content)) and None
    Hi

    - `source`: what the streamed call of an SDK (OpenAI, Anthropic, Google, Mistral, Ollama, Cohere, boto3 for Bedrock)
      returned, sync or async, or a zero-argument callable (also async) that makes the call at subscription; or an
      iterable of the wire's JSON as dicts, of texts, or of ChunkResponses. An open stream has one subscriber. Anything
      else raises a `UsageError`.
      The raw responses of OpenAI's and Anthropic's clients (`with_streaming_response`, `with_raw_response`), and that
      of Google's transport, are read as `from_wire` reads them, without the SDK's decoding.
    - `api`: as in `from_wire`; without it the provider is detected from the first item, and `UsageError` is raised if
      that fails. Leading keep-alives are skipped. If the named API understands no item, the stream ends with a
      `UsageError` that describes the items.
    - `decode`: "wire" reads the bytes of what `create(..., stream=True)` of OpenAI's, Anthropic's or Mistral's client
      returned in place of its objects: equal ChunkResponses but for `raw`, for a fraction of the time. `UsageError` for
      a stream that was read before, and for one without a response, as Google's and Ollama's are.
    - `choices`, `turn_id`, `limits`, `keep_message`, `logprobs`, `dispose()` and errors: as with the provider's source.
    """
    new_machine = any_machine(
        api, choices=choices, turn_id=turn_id, limits=limits, keep_message=keep_message, logprobs=logprobs
    )
    return stream_through(opened(source, decode=decode), new_machine)


def opened(source: Any, *, decode: Decode = "sdk", name: str = "from_stream") -> Any:
    """Return a source whose streams are read in the right place and raise our errors; `name`: the function that got it.

    `UsageError` for anything but a stream, now or when it is opened.
    """
    return translated(source, partial(stream_to_read, decode=decode, name=name), any_exception)


def stream_through(source: object, new_machine: Callable[[], Machine]) -> Observable[ChunkResponse]:
    """Feed what `opened` returned to a new machine for each subscription."""
    return bridge(source, new_machine, _is_checked)


def any_machine(
    api: str | None = None,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
) -> Callable[..., SdkOrWire]:
    """Return a function that makes the machine of an API; without a name, a machine that detects the API.

    It may be called with another `turn_id=`. The machines take an SDK's items, or the bytes of a response.
    """
    check_choices(choices)
    new_machine = partial(
        SdkOrWire,
        api,
        choices=choices,
        turn_id=turn_id,
        limits=limits,
        keep_message=keep_message,
        logprobs=logprobs,
    )
    new_machine()  # options that the API refuses raise now, not in mid-stream
    return new_machine


def stream_to_read(source: Any, *, decode: Decode = "sdk", name: str = "from_stream") -> Any:
    """Return the stream to read of what was passed or opened; raises `UsageError` for anything but a stream."""
    check_decode(decode)
    if (within := stream_within(source)) is not None:
        return within
    check_any_stream(source, name=name)
    return source if decode == "sdk" or callable(source) else bytes_of_stream(source, name=name)


def stream_within(answer: Any) -> Any:
    """Return the stream in a client's answer that is not a stream itself, raw or boto3's; None for anything else."""
    return raw_bytes(answer) or bedrock_events(answer)


def check_decode(decode: object) -> None:
    """Raise `UsageError` for anything but the two ways to decode."""
    if decode not in ("sdk", "wire"):
        message = f'decode= must be "sdk" or "wire", got {decode!r}'
        raise UsageError(message)


def check_any_stream(source: object, *, name: str = "from_stream") -> None:
    """Raise `UsageError` for anything but a stream; `name`: the function that got it."""
    if isinstance(source, Observable):
        message = f"{name} got an Observable, which needs no source; use source.pipe(...), or subscribe to it"
        raise UsageError(message)
    if isinstance(source, str):
        message = f"{name} got a bare str; pass [text], or an iterable of str"
        raise UsageError(message)
    if isinstance(source, bytes | bytearray):
        message = f"{name} got {type(source).__name__}; use from_wire(api, ...) for the bytes of a body"
        raise UsageError(message)
    helpers = next((each for each in _HELPERS if type(source).__module__.startswith(each)), _HELPERS[0])
    # Whole answers are pydantic objects, and streams are not.
    check_stream(source, name=name, create="create(..., stream=True)", helpers=helpers, whole="__pydantic_fields_set__")
    check_gemini_stream(source)  # of what is left it refuses the streams in which functions would be run


def any_exception(error: Exception) -> ProviderError | None:
    """Translate an exception of any SDK or transport; None for any other, and for a `ProviderError`.

    Exceptions that any code may raise (invalid JSON, a failed validation) count as the provider's only if an SDK raised
    them.
    """
    if isinstance(error, ProviderError):
        return None
    may_be_anybodys = isinstance(error, JSONDecodeError | UnicodeDecodeError | RecursionError)
    if (may_be_anybodys or type(error).__module__.startswith("pydantic_core")) and not _came_out_of_an_sdk(error):
        return None
    for translate in (*(api.exception for api in APIS if api.exception), provider_error):
        if ours := translate(error):
            ours.__cause__ = error
            return ours
    return None


def _came_out_of_an_sdk(error: Exception) -> bool:
    names = (str(frame.f_globals.get("__name__", "")) for frame, _ in walk_tb(error.__traceback__))
    return any(name.partition(".")[0] in _SDKS for name in names)


def _is_checked(_: object) -> None:
    """Accept every value, because streams are checked when they are opened."""
