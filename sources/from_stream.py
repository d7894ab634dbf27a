"""`from_stream`, `decode_sdk`: a stream of any SDK; its first item shows whose it is. `from_text`: text in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from json import JSONDecodeError
from os import PathLike
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import PenstockError, ProviderError, UsageError
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from ..operators.engine.public_operator import public_operator
from ..operators.engine.stage import Failed, How, Operator, lift
from .base.answers import Choices
from .base.endings import provider_error, raise_ours
from .base.machine import Machine, MachineStage, Texts, of_machine
from .bedrock.wire import bedrock_events
from .framing.served import WireBody
from .from_wire import wire_machine
from .recognition.apis import APIS
from .recognition.checked_machine import checked_machine
from .recognition.recognised_api import KNOWN_APIS, DetectingDecoder
from .sdk_sources import check_choices, check_gemini_stream
from .streams.response_bytes import bytes_of_stream, raw_bytes
from .streams.sdk_stream import translated
from .streams.stream_bridge import bridge, check_stream


def from_text(chunks: object) -> Observable[ChunkResponse]:
    """Return text, whole or in pieces, as the content of ChunkResponses.

        pieces      --"Hel"---""---"lo"----|
        from_text   --"Hel"--------"lo"--stop|

    >>> from_text(["Hel", "lo"]).subscribe(lambda chunk: print(chunk.content or chunk.finish_reason)) and None
    Hel
    lo
    stop

    `chunks`: a text, an iterable or async iterable of texts, or a zero-argument callable that returns one; an iterator
    has one subscriber. At its end the text counts as complete, with the finish reason `stop`. Split surrogate pairs
    are joined, a lone surrogate becomes U+FFFD. Anything but text raises a `UsageError`.
    """
    source = [chunks] if isinstance(chunks, str) else chunks
    _check_text(source)
    return bridge(source, Texts, _check_text)


def _check_text(chunks: object) -> None:
    if isinstance(chunks, bytes | bytearray) or not (callable(chunks) or isinstance(chunks, Iterable | AsyncIterable)):
        message = f"from_text takes a str or an iterable of str, got {type(chunks).__name__}"
        raise UsageError(message)


class AutoDecoder:
    """The machine for what an SDK streams, or for the bytes of its response, after a `WireBody`.

    {"type": "message_start", ...}         the machine of the SDK's items, from here on
    WireBody("openai", "/v1/responses")    the wire's, which takes bytes
    """

    stopped: bool = of_machine("stopped")
    failure: PenstockError | None = of_machine("failure")
    if TYPE_CHECKING:

        def feed(self, item: Any, /) -> list[ChunkResponse]: ...
    else:  # which the machines change
        feed = of_machine("feed")

    def __init__(
        self,
        api: str | None = None,
        *,
        choices: Choices = 0,
        turn_id: str | None = None,
        limits: Limits = DEFAULT_LIMITS,
        keep_message: bool = False,
        logprobs: bool = False,
        merge: bool = False,
    ) -> None:
        self._api = api
        self._merge = merge
        self._options: dict[str, Any] = {
            "choices": choices,
            "turn_id": turn_id,
            "limits": limits,
            "keep_message": keep_message,
            "logprobs": logprobs,
        }
        self._wire: str | None = None
        self._of_items: Machine = (
            DetectingDecoder(**self._options) if api is None else checked_machine(api, **self._options)
        )
        self._machine: Machine = _First(self, self._of_items)

    @property
    def is_text(self) -> bool:
        """Whether the stream is plain text, in which no native call can come."""
        return isinstance(self._machine, DetectingDecoder) and self._machine.is_text

    def close(self, how: How, /) -> list[ChunkResponse]:
        responses = self._machine.close(how)
        if isinstance(self._machine, _First):  # which refers to this
            self.become_sdk()
        return responses

    def dump(self) -> Any:
        """Return the state as plain data."""
        return [self._wire, self._machine is not self._of_items, self._machine.dump()]

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        wire, is_first, machine = state
        self._wire = None
        if wire is not None:
            self.become_wire(wire)
        elif is_first:
            self._machine = _First(self, self._of_items)
        else:
            self.become_sdk()
        self._machine.load(machine)

    def become_sdk(self) -> None:
        self._machine = self._of_items

    def become_wire(self, api: str) -> None:
        self._wire = api
        self._machine = wire_machine(api, merge=self._merge, **self._options)

    def api_of_body(self, body: WireBody) -> str:
        return self._api or _api_of(body)


class _First:
    """The machine before the first item; it hands over to the one that reads it."""

    stopped = False
    failure = None

    def __init__(self, owner: AutoDecoder, of_items: Machine) -> None:
        self._owner = owner
        self.close, self.dump, self.load = of_items.close, of_items.dump, of_items.load

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        if isinstance(item, WireBody):
            self._owner.become_wire(self._owner.api_of_body(item))
            return []
        self._owner.become_sdk()
        return self._owner.feed(item)


def _api_of(body: WireBody) -> str:
    """Return the API that a request went to; `UsageError` where neither the SDK nor the path shows it."""
    of_sdk = [api for api in APIS if body.sdk in api.sdks]
    found = of_sdk if len(of_sdk) == 1 else [api for api in of_sdk or APIS if api.served.path.search(body.path)]
    if len(found) == 1:
        return found[0].name
    message = f"the request went to {body.path}, which does not show the API; pass api=, one of {KNOWN_APIS}"
    raise UsageError(message)


Decode: TypeAlias = Literal["sdk", "wire"]
"""Who decodes the events of an SDK's stream."""

_PLAIN = (list, tuple)
_HELPERS = ("openai.lib.streaming", "anthropic.lib.streaming")
_SDKS = frozenset(name for api in APIS for name in api.sdks)


def from_stream(  # noqa: PLR0913 - which API, how it is decoded, and what every source has
    source: object,
    api: str | None = None,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
    decode: Decode = "sdk",
    merge: bool = False,
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
    - `merge`: with `decode="wire"`, as in `from_wire`; `UsageError` without, because objects come one by one.
    - `choices`, `turn_id`, `limits`, `keep_message`, `logprobs`, `dispose()` and errors: as with the provider's source.
    """
    check_decode(decode, merge=merge)
    new_machine = decoder_factory(
        api, choices=choices, turn_id=turn_id, limits=limits, keep_message=keep_message, logprobs=logprobs, merge=merge
    )
    return stream_through(opened(source, decode=decode), new_machine)


def opened(source: Any, *, decode: Decode = "sdk", name: str = "from_stream") -> Any:
    """Return a source whose streams are read in the right place and raise our errors; `name`: the function that got it.

    `UsageError` for anything but a stream, now or when it is opened.
    """
    return translated(source, partial(stream_to_read, decode=decode, name=name), any_exception)


class _Loops:
    def __init__(self, source: Any) -> None:
        self._source = source

    def __iter__(self) -> Iterator[Any]:
        return iter(self._source)

    def __aiter__(self) -> AsyncIterator[Any]:
        return aiter(self._source)


def without_await(source: Any) -> Any:
    """Return what loops over an Observable that can be looped over, such as a recording; anything else as it is.

    Every Observable can be awaited, too, as the answer of an async client can.
    """
    first, second = _LOOPED
    return _Loops(source) if isinstance(source, first) and isinstance(source, second) else source


_LOOPED: tuple[type, type] = (Observable, Iterable)


def stream_through(source: object, new_machine: Callable[[], Machine]) -> Observable[ChunkResponse]:
    """Feed what `opened` returned to a new machine for each subscription."""
    return bridge(source, new_machine, _is_checked)


def decoder_factory(
    api: str | None = None,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
    merge: bool = False,
) -> Callable[..., AutoDecoder]:
    """Return a function that makes the machine of an API; without a name, a machine that detects the API.

    It may be called with another `turn_id=`. The machines take an SDK's items, or the bytes of a response.
    """
    check_choices(choices)
    new_machine = partial(
        AutoDecoder,
        api,
        choices=choices,
        turn_id=turn_id,
        limits=limits,
        keep_message=keep_message,
        logprobs=logprobs,
        merge=merge,
    )
    new_machine()  # options that the API refuses raise now, not in mid-stream
    return new_machine


def stream_to_read(source: Any, *, decode: Decode = "sdk", name: str = "from_stream") -> Any:
    """Return the stream to read of what was passed or opened; raises `UsageError` for anything but a stream."""
    check_decode(decode)
    if decode == "sdk" and type(source) in _PLAIN:
        return source
    if (within := stream_within(source)) is not None:
        return within
    check_any_stream(source, name=name)
    return source if decode == "sdk" or callable(source) else bytes_of_stream(source, name=name)


def stream_within(answer: Any) -> Any:
    """Return the stream in a client's answer that is not a stream itself, raw or boto3's; None for anything else."""
    return raw_bytes(answer) or bedrock_events(answer)


def check_decode(decode: object, *, merge: bool = False) -> None:
    """Raise `UsageError` for anything but the two ways to decode, and for merging objects, which come one by one."""
    if decode not in ("sdk", "wire"):
        message = f'decode= must be "sdk" or "wire", got {decode!r}'
        raise UsageError(message)
    if merge and decode == "sdk":
        message = 'merge=True joins what a read of bytes has, and objects come one by one; pass decode="wire", too'
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
    if isinstance(source, PathLike):
        message = f"{name} got a path; from_recording(path) reads it, as stream(path) of a Pipeline does"
        raise UsageError(message)
    # Whole answers are pydantic objects, and streams are not.
    whole = ("__pydantic_fields_set__",)
    check_stream(source, name=name, create="create(..., stream=True)", whole=whole, helpers=_HELPERS)
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


@public_operator
def decode_sdk(
    api: str | None = None,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
) -> Operator[Any, ChunkResponse]:
    """Decode the objects of an SDK's stream, or the wire's JSON as dicts: for loops, with real backpressure.

        stream = await client.chat.completions.create(..., stream=True)
        async for event in adrive(stream, decode_sdk(), to_segments(), to_invocations()): ...

    >>> from penstock.operators import drive
    >>> chunks = [{"choices": [{"delta": {"content": "Hi"}}]}]
    >>> [chunk.content for chunk in drive(chunks, decode_sdk())]
    ['Hi']

    The next item is read when the loop asks for it, so a slow loop slows the provider down. `api` and the other
    options are those of `from_stream`: without `api` the provider is detected from the first item. An exception of the
    SDK, and a fatal error inside the stream, is raised as `ProviderError` after the END of each open segment; other
    exceptions pass unchanged.
    """
    return decode_through(
        decoder_factory(
            api, choices=choices, turn_id=turn_id, limits=limits, keep_message=keep_message, logprobs=logprobs
        )
    )


def decode_through(new_machine: Callable[[], Machine]) -> Operator[Any, ChunkResponse]:
    """Return `decode_sdk` with a given function that makes the machine of each stream."""
    return lift(partial(_stage, new_machine))


class _SdkStage(MachineStage):
    def close(self, how: How, /) -> list[ChunkResponse]:
        if isinstance(how, Failed):
            raise_ours(how.error, any_exception)
        return super().close(how)


def _stage(new_machine: Callable[[], Machine]) -> MachineStage:
    return _SdkStage(new_machine())
