"""`MessageForm`: how one provider wants an answer and the results of its calls back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from pydantic_core import to_json

from ...events.errors import UsageError
from ...events.tool_invocation import Notice
from ...events.tool_result import ToolResult
from .answer_parts import AnswerPart

Notices: TypeAlias = list[Notice]


class MessageCall(NamedTuple):
    """A call of the client in a message."""

    id: str
    name: str
    type: str = ""
    """The type of its block or item, where that decides the form of the result."""


class CallResult(NamedTuple):
    """A call of the client in a message, and its result."""

    call: MessageCall
    result: ToolResult


class MessageForm(NamedTuple):
    """The messages of one provider."""

    name: str
    api: str
    """The API in whose form sources keep the message."""
    sendable: Callable[[Any, Notices], Any]
    """Makes the message of a request from the kept one; what the provider refuses is left out, with a Notice."""
    plain: Callable[[Sequence[AnswerPart], Notices], Any]
    """Makes the message of a request from the parts of an answer, which may be another provider's."""
    calls: Callable[[Any], list[MessageCall]]
    """Returns the client's calls of a message in order."""
    entries: Callable[[Any], list[Any]]
    """Returns a message as the request's next entries; none if it says nothing, which providers refuse."""
    results: Callable[[list[CallResult]], list[Any]]
    """Returns the results of a message's calls as the request's next entries."""
    user: Callable[[str], Any]
    """Makes a message of the user, for the results of calls that were written as text."""


def result_text(result: ToolResult) -> str:
    """Return a result as text for the model: a text as it is, any other value as JSON.

    >>> result_text(ToolResult("c", value={"celsius": 21})), result_text(ToolResult("c", denied="not on Sundays"))
    ('{"celsius":21}', 'The call was denied: not on Sundays')
    """
    if result.denied is not None:
        return f"The call was denied: {result.denied}"
    if result.error is not None:
        return f"Error: {result.error}"
    return result.value if isinstance(result.value, str) else plain_text(result.value, result.id)


def plain_text(value: Any, call_id: str) -> str:
    """Return a value as JSON; pydantic's models, dataclasses, dates and the like have the form that pydantic gives."""
    try:
        return to_json(value).decode()
    except ValueError as error:
        message = (
            f"the result of call {call_id!r} cannot be written as JSON ({error}); pass text, or plain data, as value="
        )
        raise UsageError(message) from error


def left_out(notices: Notices, what: str, provider: str) -> None:
    """Add the Notice that something of the answer does not go into the message; once for each kind of thing."""
    notice = Notice("not_sent", f"{provider} takes no {what}, so the message is without it")
    if notice not in notices:
        notices.append(notice)
