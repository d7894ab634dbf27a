"""`for_browsers`: an event without what a browser must not get or does not need."""

from __future__ import annotations

from typing import Any, Final, cast

from msgspec.structs import replace

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import ProviderEvent
from ...events.segment_event import SegmentEnd, SegmentStart
from ...events.tool_invocation import ToolInvocation

_SIGNATURES: Final = frozenset(("signature", "thoughtSignature"))


def for_browsers(event: Any) -> Any:
    """Return an event as a browser gets it: without the whole message, the error, and what only its provider reads.

    >>> for_browsers(AnswerEnd("t", error={"detail": "secret"}, api="openai-chat", message={"role": "assistant"}))
    AnswerEnd(turn_id='t')
    >>> for_browsers(ProviderEvent("tool_result", {"results": [{"title": "a", "encrypted_content": "x"}]}))
    ProviderEvent(kind='tool_result', data={'results': [{'title': 'a'}]})
    >>> for_browsers(SegmentEnd("s", "reasoning", "complete", metadata={"native": {"signature": "x"}}))
    SegmentEnd(segment_id='s', segment_type='reasoning', status='complete')
    """
    if isinstance(event, AnswerEnd):
        # An exception's text may have secrets: `describe_error` says what is told of the one that broke the stream.
        return replace(event, error=None, api=None, message=None)
    if isinstance(event, ProviderEvent):
        return replace(event, data=_readable(event.data))
    if isinstance(event, SegmentStart | SegmentEnd) and "native" in event.metadata:
        return replace(event, metadata={key: value for key, value in event.metadata.items() if key != "native"})
    if isinstance(event, ToolInvocation) and event.native is not None:
        return replace(event, native=None)
    return event


def _readable(value: Any) -> Any:
    """Return a JSON value without signatures and what is encrypted."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {
            key: _readable(each) for key, each in members if not key.startswith("encrypted_") and key not in _SIGNATURES
        }
    if isinstance(value, list | tuple):
        return [_readable(each) for each in cast("list[Any]", value)]
    return value
