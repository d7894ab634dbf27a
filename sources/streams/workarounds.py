"""What reaches into SDKs because they lack something.

- google-genai (3.6.1) and ollama (0.6.3): their sync streams are plain generators. Other SDKs' streams have their
  `response`; here it is a variable of a generator, or of one inside it, and only found by looking there: `values_in`.
- google-genai: its async stream is four generators, each of which loops over the next with `async for`. Closing one
  does not close the one that it loops over, and none of them does: the response at the bottom stays open until
  it is collected. A cancellation where they wait goes through all of them: `cancel_inside`.
- google-genai: `generate_content_stream` runs Python functions that are passed as tools, and says so nowhere; the
  variables of its generator do: `runs_functions`.
- boto3 passes on what Python's HTTP client raises for a chunk of a negative size, a plain ValueError: `raised_in`.
- ollama: the exception for an error reads its text as JSON, and raises TypeError or AttributeError where the error, or
  what its text is as JSON, is no object. google-genai raises TypeError for an error without a code. What the server
  said is only in their frames: `unread_error`.
- OpenAI's, Anthropic's and Mistral's streams, and boto3's, are objects around a generator; one that is over yields
  nothing and says nothing: `is_over`. A closed httpx client raises a plain RuntimeError: `is_of_closed_client`.
- LiteLLM (1.110): its streams can be looped over in both ways, whichever call made them: `goes_async`.
- openai (3.57) and anthropic (2.14): what `with_streaming_response.create(...)` of an async client returns holds the
  request as a coroutine, which only `async with` awaits. Python warns of one that is dropped: `close_request`.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import sys
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Iterator
from types import FrameType
from typing import Any

from ...operators.engine.pump import is_async_stream, loop_here
from ..base.sdk_fields import entries_of, fields_of

_SDKS = ("google", "ollama")
# A generator that runs is looked into in one way, one that waits in another, and it may change between the two.
_LOOKS = 3


def is_generator_stream(stream: object) -> bool:
    """Return whether this is such a sync stream, which is not over."""
    return inspect.isgenerator(stream) and sdk_of(stream) in _SDKS


def sdk_of(generator: Any) -> str:
    """Return the package whose code a generator runs; "" for one that is over, and for anything else."""
    frame = frame_of(generator)
    return "" if frame is None else str(frame.f_globals.get("__name__", "")).partition(".")[0]


def frame_of(generator: Any) -> FrameType | None:
    """Return the frame of a generator, sync or async, that is not over."""
    return getattr(generator, "gi_frame", None) or getattr(generator, "ag_frame", None)


def is_over(stream: object) -> bool:
    """Return whether a stream was read to its end, or closed."""
    around = (getattr(stream, name, None) for name in ("_iterator", "generator", "_event_generator"))
    return any(
        (inspect.isgenerator(each) or inspect.isasyncgen(each)) and frame_of(each) is None for each in (stream, *around)
    )


def is_of_closed_client(error: BaseException) -> bool:
    """Return whether a request failed because its client was closed; OpenAI's and Anthropic's pass the error on."""
    raised = (error, error.__cause__)
    return any(type(each) is RuntimeError and "client" in str(each) and "closed" in str(each) for each in raised)


_UNREAD = {
    ("ollama._types", "__init__"): "error",
    ("google.genai.errors", "raise_error"): "response_json",
    ("google.genai.errors", "raise_error_async"): "response_json",
}
"""The functions of SDKs that fail at the form of an error, and which variable has it."""


def unread_error(error: Exception) -> Any:
    """Return the error of a server whose form an SDK cannot read; None for what was raised elsewhere."""
    if not isinstance(error, TypeError | AttributeError):
        return None
    said: Any = None
    trace = error.__traceback__
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        if (name := _UNREAD.get((str(frame.f_globals.get("__name__")), frame.f_code.co_name))) is not None:
            said = frame.f_locals.get(name)
    return said


def raised_in(error: BaseException) -> str:
    """Return the package whose code raised an error; "" for one that was not raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]


def values_in(stream: object) -> Iterator[object]:
    """Yield what such a stream, and the generators within it, have in their variables; nothing for any other."""
    if not is_generator_stream(stream) or (frame := frame_of(stream)) is None:
        return
    for _ in range(_LOOKS):
        for each in _frames_above(frame):
            yield from list(each.f_locals.values())
        yield from _held_by(stream)


def _frames_above(frame: FrameType) -> list[FrameType]:
    """Return the frames from a running frame to its innermost call, innermost first; none if it is not running."""
    for last in _innermost_frames():
        frames: list[FrameType] = []
        each: FrameType | None = last
        while each is not None:
            frames.append(each)
            if each is frame:
                return frames
            each = each.f_back
    return []


def _innermost_frames() -> list[FrameType]:
    """Return the innermost frame of each thread.

    Python before 3.13 waits for itself for ever where its garbage collector runs meanwhile (gh-106883).
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        # Documented, in spite of its name.
        return list(sys._current_frames().values())  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    finally:
        if collects:
            gc.enable()


def _held_by(generator: object) -> Iterator[object]:
    """Yield the objects that a suspended generator holds, also on its stack, such as one that it loops over."""
    for value in gc.get_referents(generator):
        yield value
        if inspect.isgenerator(value):
            yield from _held_by(value)


_ITEMS_IN_ONE_READ = 10_000


async def cancel_inside(stream: Any) -> None:
    """Run Google's generator to its next await and cancel it there, without cancelling this task; leave any other."""
    if sdk_of(stream) == "google":
        await _Cancelled(stream)


class _Cancelled:
    def __init__(self, stream: AsyncGenerator[Any, None]) -> None:
        self._stream = stream

    def __await__(self) -> Generator[Any, Any, None]:
        try:
            step = self._waiting()
            waits = step.throw(asyncio.CancelledError())
            while True:
                try:
                    sent = yield waits
                except BaseException as error:  # noqa: BLE001 - whatever comes belongs to who waits
                    waits = step.throw(error)
                else:
                    waits = step.send(sent)
        except (asyncio.CancelledError, StopAsyncIteration, StopIteration):
            return

    def _waiting(self) -> Any:
        """Return the awaitable that it waits for; items that have arrived are skipped, at most one read of them."""
        for _ in range(_ITEMS_IN_ONE_READ):
            step = self._stream.__anext__().__await__()
            try:
                step.send(None)
            except StopIteration:
                continue
            return step
        raise StopAsyncIteration


def runs_functions(stream: Any) -> bool:
    """Return whether the SDK will call the user's functions in this generator, which has not started."""
    frame = frame_of(stream)
    if frame is None or sdk_of(stream) != "google":
        return False
    known: dict[str, Any] = frame.f_locals
    configs = [known.get("config"), known.get("parsed_config"), getattr(known.get("self"), "_config", None)]
    return bool(known.get("function_map")) or any(map(_has_functions, configs))


def _has_functions(config: Any) -> bool:
    fields = fields_of(config) or {}
    automatic = fields_of(fields.get("automatic_function_calling")) or {}
    calls_at_most = automatic.get("maximum_remote_calls")
    if automatic.get("disable") or (isinstance(calls_at_most, int) and calls_at_most < 2):
        return False  # the last of the allowed calls leaves its functions to the caller
    return any(callable(tool) for tool in entries_of(fields.get("tools")))


def goes_async(stream: Any) -> bool:
    """Return whether a stream is to be read with `async for`.

    What LiteLLM's streams read tells which way is meant; where nothing is open yet, a running event loop does.
    """
    if not is_async_stream(stream):
        return False
    if not isinstance(stream, Iterable):
        return True
    inner = getattr(stream, "completion_stream", None)
    return loop_here() is not None if inner is None else isinstance(inner, AsyncIterable)


def close_request(manager: object) -> None:
    """Close the request of a response that was to be opened, and now never will be."""
    request = getattr(manager, "_api_request", None)
    if inspect.iscoroutine(request):
        request.close()
