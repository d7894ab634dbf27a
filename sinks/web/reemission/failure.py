"""`failure_of`: what a reader is told of a stream that failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ....events.answer_end import AnswerEnd
from ....operators.engine.stage import Failed, How

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
