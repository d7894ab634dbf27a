"""`from_recording`: the recorded body of a provider's answer, as ChunkResponses."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from .from_wire import from_wire
from .machine.choices import Choices
from .recognition.recognised_api import recognised_api


def from_recording(
    path: str | PathLike[str],
    api: str | None = None,
    *,
    chunk_size: int | None = None,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
) -> Observable[ChunkResponse]:
    """Replay a file with the body of a streamed HTTP response, for any number of subscribers.

        from_recording("answer.sse").pipe(to_segments()).subscribe(print)

    `api` as in `from_wire`; without it the provider is detected from the body. `UsageError` if that fails or the file
    cannot be read. `chunk_size`: the bytes per chunk, by default the whole body. The rest is as with `from_wire`.
    """
    try:
        body = Path(path).read_bytes()
    except OSError as error:
        message = f"cannot read the recording: {error}"
        raise UsageError(message) from error
    if chunk_size is not None and chunk_size < 1:
        message = f"chunk_size= must be at least 1, got {chunk_size}"
        raise UsageError(message)
    size = chunk_size or max(len(body), 1)
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return from_wire(
        api or recognised_api(body),
        pieces,
        choices=choices,
        turn_id=turn_id,
        limits=limits,
        keep_message=keep_message,
        logprobs=logprobs,
    )
