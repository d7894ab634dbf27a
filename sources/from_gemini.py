"""`from_gemini`: a stream of Google's SDK, as ChunkResponses."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Iterable
from functools import partial
from typing import Any

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from .fields.sdk_fields import entries_of, fields_of
from .from_openai_chat import check_choices
from .gemini.gemini import RUNS_FUNCTIONS
from .gemini.gemini_exception import gemini_exception
from .machine.choices import Choices
from .recognition.checked_machine import checked_machine
from .streams.sdk_stream import translated
from .streams.stream_bridge import bridge


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
    return bridge(translated(source, check_gemini_stream, gemini_exception), new_machine, _is_checked)


def check_gemini_stream(source: object) -> None:
    """Raise `UsageError` for anything but a stream of Gemini's responses."""
    wanted = "pass client.models.generate_content_stream(...), or a lambda that calls it"
    kind = type(source).__name__
    if inspect.iscoroutine(source):
        source.close()
        message = f"from_gemini got a coroutine that was not awaited; await it, or {wanted}"
    elif hasattr(source, "candidates"):
        message = f"from_gemini got a whole {kind}, not a stream; {wanted}"
    elif isinstance(source, str | bytes | dict) or hasattr(source, "__pydantic_fields_set__"):
        message = f"from_gemini got a {kind}, not a stream; {wanted}"
    elif callable(source) or isinstance(source, Iterable | AsyncIterable):
        if not _runs_functions(source):
            return
        message = RUNS_FUNCTIONS
    elif inspect.isawaitable(source):
        message = f"from_gemini got a {kind} that was not awaited; await it, or {wanted}"
    else:
        message = f"from_gemini got a {kind}, which is not a stream; {wanted}"
    raise UsageError(message)


def _is_checked(_: object) -> None:
    """Accept every value, because streams are checked when they are opened."""


def _runs_functions(stream: Any) -> bool:
    """Return whether the SDK will call the user's functions in this generator, which has not started."""
    frame = getattr(stream, "gi_frame", None) or getattr(stream, "ag_frame", None)
    if frame is None or not str(frame.f_globals.get("__name__", "")).startswith("google."):
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
