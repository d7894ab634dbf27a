"""What the ends of answers say: why they ended or failed, and the model and tokens of the stream (`StreamTotals`).

`missing_arguments` gives the arguments of a call that ended without any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ....events.answer_end import AnswerEnd
from ....events.chunk_response import FinishReason, TokenUsage
from ....operators.engine.stage import Failed, How
from ...parts.answer_parts import CallEnd


def missing_arguments(end: CallEnd) -> str:
    """Return the text that makes the arguments of a call JSON if no character of them came; empty for any other call.

    Some providers send nothing where a call has no arguments; readers of other APIs parse what they receive. A call
    that must not be run gets nothing: it may have been cut before its first character.
    """
    has_none = end.arguments is not None and end.call.form == "json" and not end.text.strip()
    return "{}" if has_none else ""


def finish_of(end: AnswerEnd | None) -> FinishReason | None:
    """Return why an answer ended; None for one that was broken off without a word of its provider.

    >>> finish_of(AnswerEnd(finish_reason="length", status="truncated")), finish_of(AnswerEnd(status="interrupted"))
    ('length', None)

    Plain text has no word for its end: if it is complete, it stopped.
    """
    if end is None or (end.finish_reason in (None, "other") and end.status not in ("complete", "paused")):
        return None
    return end.finish_reason or "stop"


_MESSAGES = ("message", "detail", "class")
"""Where the description of an error has its text, best first."""


class Failure(NamedTuple):
    message: str
    type: str | None = None
    code: str | None = None


def failure_of(how: How, error: Mapping[str, Any], ends: Iterable[AnswerEnd | None]) -> Failure | None:
    """Return why a stream failed, or one of its answers by the provider's word; None if none did.

    `error` is the description of the exception that ended the stream.
    """
    if isinstance(how, Failed):
        message = next((str(error[key]) for key in _MESSAGES if error.get(key)), "the stream failed")
        return Failure(message, *(str(error[key]) if error.get(key) else None for key in ("type", "code")))
    for end in ends:
        if end is not None and end.finish_reason == "error":
            return Failure(f"the provider ended the answer with {end.finish_reason_raw or 'an error'}")
    return None


class StreamTotals:
    """What the ends of all answers say of the stream as a whole.

    - `model`: the model to be shown: the one given, else the last one known; empty until then.
    """

    def __init__(self, model: str | None) -> None:
        self.model = model or ""
        self._is_given = model is not None
        self._usages: dict[str | None, TokenUsage] = {}
        """The tokens of each turn; all answers of a turn have the same."""

    def note(self, end: AnswerEnd) -> None:
        if end.usage is not None:
            self._usages[end.turn_id] = end.usage
        if end.model and not self._is_given:
            self.model = end.model

    @property
    def usage(self) -> TokenUsage | None:
        """The tokens of all turns together; None if no answer says any."""
        if not self._usages:
            return None
        usages = self._usages.values()
        return TokenUsage(*(sum(getattr(each, name) for each in usages) for name in TokenUsage.__struct_fields__))
