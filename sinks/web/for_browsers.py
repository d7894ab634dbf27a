"""`for_browsers`: an event without what only the next request needs."""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import ChunkResponse
from ...events.provider_event import ProviderEvent
from ...events.segment_event import SegmentEnd, SegmentStart
from ...events.tool_invocation import ToolInvocation

_NATIVE = "native"


def for_browsers(event: Any) -> Any:
    """Return an event as it is sent to a browser: without messages, `native` data, and encrypted data.

    >>> for_browsers(AnswerEnd("t", api="openai-chat", message={"role": "assistant"}))
    AnswerEnd(turn_id='t')
    >>> for_browsers(ProviderEvent("tool_result", {"results": [{"title": "a", "encrypted_content": "x"}]}))
    ProviderEvent(kind='tool_result', data={'results': [{'title': 'a'}]})
    >>> for_browsers(SegmentEnd("r", "reasoning", "complete", metadata={"native": {"signature": "x"}}))
    SegmentEnd(segment_id='r', segment_type='reasoning', status='complete')
    """
    if isinstance(event, SegmentStart | SegmentEnd):
        if _NATIVE not in event.metadata:
            return event
        return replace(event, metadata={key: each for key, each in event.metadata.items() if key != _NATIVE})
    if isinstance(event, ToolInvocation):
        return event if event.native is None else replace(event, native=None)
    if isinstance(event, AnswerEnd):
        return replace(event, api=None, message=None)
    if isinstance(event, ProviderEvent):
        return replace(event, data=_readable(event.data))
    return _chunk(event) if isinstance(event, ChunkResponse) else event


def _chunk(chunk: ChunkResponse) -> ChunkResponse:
    return replace(
        chunk,
        tool_calls=tuple(replace(each, native=None) for each in chunk.tool_calls),
        provider_events=tuple(replace(each, data=_readable(each.data)) for each in chunk.provider_events),
        raw=tuple(_readable(each) for each in chunk.raw),
        native=None,
        api=None,
        message=None,
    )


def _readable(value: Any) -> Any:
    """Return a JSON value without the members whose names begin with `encrypted_`."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {key: _readable(each) for key, each in members if not key.startswith("encrypted_")}
    if isinstance(value, list | tuple):
        return [_readable(each) for each in cast("list[Any]", value)]
    return value
