"""`for_browsers`: an event without what a browser must not get or does not need."""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from ...events.answer_end import AnswerEnd
from ...events.provider_event import ProviderEvent


def for_browsers(event: Any) -> Any:
    """Return an event as it is sent to a browser: without the whole message, the error and encrypted data.

    >>> for_browsers(AnswerEnd("t", error={"detail": "secret"}, api="openai-chat", message={"role": "assistant"}))
    AnswerEnd(turn_id='t')
    >>> for_browsers(ProviderEvent("tool_result", {"results": [{"title": "a", "encrypted_content": "x"}]}))
    ProviderEvent(kind='tool_result', data={'results': [{'title': 'a'}]})
    """
    if isinstance(event, AnswerEnd):
        # An exception's text may have secrets: `describe_error` says what is told of the one that broke the stream.
        return replace(event, error=None, api=None, message=None)
    if isinstance(event, ProviderEvent):
        return replace(event, data=_readable(event.data))
    return event


def _readable(value: Any) -> Any:
    """Return a JSON value without the members whose names begin with `encrypted_`."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {key: _readable(each) for key, each in members if not key.startswith("encrypted_")}
    if isinstance(value, list | tuple):
        return [_readable(each) for each in cast("list[Any]", value)]
    return value
