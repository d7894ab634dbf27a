"""`from_log`: an answer that `penstock buffer` keeps in a log, as ChunkResponses, while it is written and later."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import aclosing
from typing import Final

from ..events.chunk_response import ChunkResponse
from ..events.errors import ProviderError
from ..events.tool_invocation import Notice
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from ..operators.engine.stage import Completed, Interrupted
from ..sinks.log.stream_log import LogGapError, StreamLog, checked_name
from ..sources.base.answers import Choices
from ..sources.base.machine import Machine, MachineStage
from ..sources.framing.served import WireBody
from ..sources.from_stream import decoder_factory
from ..sources.streams.response_bytes import status_error
from ..sources.streams.time_limits import interruption, note_choice
from .buffer.kept_answer import COMPLETE, LEASE, Asked, End, Head, parts_of

_WORDS: Final = {
    "cancelled": "the request was cancelled",
    "connection_lost": "the connection to the provider broke",
    "failed": "the buffer failed",
    "gap": "the beginning of the answer is no longer kept",
    "owner_lost": "the buffer that owned the request has died",
    "stopped": "the buffer was stopped",
    "timeout": "the provider has said nothing for too long",
}


def from_log(  # noqa: PLR0913 - where it is kept, how it is decoded, and what every source has
    log: StreamLog,
    stream: str,
    api: str | None = None,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
    merge: bool = False,
    lease: float = LEASE,
) -> AsyncIterable[ChunkResponse]:
    r"""Read an answer that a buffer keeps, from its beginning; it may still be written.

        async for event in Pipeline().astream(from_log(log, stream)): ...

        the log     asked, head, b'data: {"choic'-----b'es":[{"delta":{"content":"Hi"}}]}\n\n'--complete|
        from_log    ---------------------------------- ChunkResponse(content="Hi")---------------------|

    - `stream`: what the request had in its header `x-penstock-stream`; it may come later.
    - `api`: as in `from_wire`; without it, the one whose path was asked, and `UsageError` if several have that path.
    - `lease`: seconds for which the owner of the request may say nothing; then it counts as dead.
    - The rest is as with `from_wire`, and so are the chunks. Each loop reads anew.

    An answer that broke off ends as interrupted, with a `Notice` that says why: `cancelled`, `connection_lost`,
    `failed`, `owner_lost`, `stopped`, `timeout`, or `gap` if its beginning is no longer kept. A refusal of the provider
    is a `ProviderError` with its status. `UsageError` for a stream that no buffer wrote, or one of another version;
    `LogUnavailableError` if the log stays away.
    """
    new_machine = decoder_factory(
        api, choices=choices, turn_id=turn_id, limits=limits, keep_message=keep_message, logprobs=logprobs, merge=merge
    )
    return _KeptAnswer(log, checked_name(stream), new_machine, lease)


class _KeptAnswer:
    def __init__(self, log: StreamLog, stream: str, new_machine: Callable[[], Machine], lease: float) -> None:
        self._log, self._stream, self._new_machine, self._lease = log, stream, new_machine, lease

    async def __aiter__(self) -> AsyncGenerator[ChunkResponse, None]:
        reader = MachineStage(self._new_machine())
        ended: dict[int, bool] = {}
        end = COMPLETE
        try:
            async with aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    if isinstance(piece, End):
                        end = piece
                        continue
                    for chunk in reader.feed(piece):
                        note_choice(ended, chunk)
                        yield chunk
        except LogGapError:
            end = End("interrupted", "gap")
        if end.end == "complete":
            try:
                last = reader.close(Completed())
            except ProviderError:
                for chunk in reader.last_words:
                    yield chunk
                raise
            for chunk in last:
                yield chunk
            return
        reason = end.reason or "failed"
        for chunk in reader.close(Interrupted(reason)):
            note_choice(ended, chunk)
            yield chunk
        for chunk in interruption(ended, Notice(reason, _WORDS.get(reason, reason))):
            yield chunk

    async def _pieces(self) -> AsyncGenerator[WireBody | bytes | End, None]:
        """Yield what the decoder reads, then how the answer ended; `ProviderError` for an answer that is none."""
        path = WireBody("", "")
        refusal: int | None = None
        body = bytearray()
        async with aclosing(parts_of(self._log, self._stream, lease=self._lease)) as parts:
            async for part in parts:
                match part:
                    case Asked():
                        path = WireBody("", part.path)
                    case Head():
                        if encoding := part.value("content-encoding"):
                            detail = f"the answer is compressed as {encoding}, which is not read"
                            raise ProviderError(detail, status=part.status)
                        if part.status >= 300:
                            refusal = part.status
                        else:
                            yield path
                    case bytes() if refusal is not None:
                        body += part
                    case End() if refusal is not None:
                        raise status_error(refusal, bytes(body))
                    case _:
                        yield part
