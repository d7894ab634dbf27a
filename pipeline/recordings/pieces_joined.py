"""`pieces_joined`: fewer, larger chunks, which give the same answer."""

from __future__ import annotations

from msgspec import structs
from reactivex import Observable, abc

from ...events.chunk_response import ChunkResponse, ToolCallDelta

MOST = 1000
"""The most chunks that become one."""


def pieces_joined(chunks: Observable[ChunkResponse]) -> Observable[ChunkResponse]:
    """Join neighbours that have nothing but pieces of one text, or of the arguments of one call.

        chunks         "He"-"l"-"lo"---------finish-|
        pieces_joined  --------------"Hello"-finish-|

    For readers of whole answers: what waits comes late, and a chunk that is joined costs the operators nothing.
    """

    def subscribe(
        observer: abc.ObserverBase[ChunkResponse], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        waiting: list[ChunkResponse] = []

        def flush() -> None:
            if waiting:
                joined = _joined(waiting)
                waiting.clear()
                observer.on_next(joined)

        def on_next(chunk: ChunkResponse) -> None:
            if not _is_piece(chunk):
                flush()
                observer.on_next(chunk)
                return
            if waiting and (len(waiting) == MOST or not _is_beside(waiting[0], chunk)):
                flush()
            waiting.append(chunk)

        def on_error(error: Exception) -> None:
            flush()
            observer.on_error(error)

        def on_completed() -> None:
            flush()
            observer.on_completed()

        return chunks.subscribe(on_next, on_error, on_completed, scheduler=scheduler)

    return Observable(subscribe)


def _is_piece(chunk: ChunkResponse) -> bool:
    calls = chunk.tool_calls
    if calls:
        (first, *others) = calls
        if others or chunk.content or first != ToolCallDelta(first.index, arguments_delta=first.arguments_delta):
            return False
    return chunk == ChunkResponse(
        chunk.content, tool_calls=calls, response_id=chunk.response_id, model=chunk.model, choice=chunk.choice
    )


def _is_beside(one: ChunkResponse, other: ChunkResponse) -> bool:
    if one.choice != other.choice or one.model != other.model or one.response_id != other.response_id:
        return False
    if one.tool_calls and other.tool_calls:
        return one.tool_calls[0].index == other.tool_calls[0].index
    return not (one.tool_calls or other.tool_calls)


def _joined(chunks: list[ChunkResponse]) -> ChunkResponse:
    first = chunks[0]
    if not first.tool_calls:
        return structs.replace(first, content="".join([chunk.content for chunk in chunks]))
    text = "".join([chunk.tool_calls[0].arguments_delta for chunk in chunks])
    return structs.replace(first, tool_calls=(structs.replace(first.tool_calls[0], arguments_delta=text),))
