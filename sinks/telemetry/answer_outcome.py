"""How an answer ended, from the ends of its choices and from the error that ended its stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...events.answer_end import AnswerEnd, AnswerStatus
from ...events.errors import ProviderError, error_fields
from ..running.channel import StreamCutError

_WORST: tuple[AnswerStatus, ...] = ("failed", "interrupted", "truncated", "paused", "complete")
REGULAR = (None, "complete", "paused")
"""The statuses of an answer without an error; None if its stream ended regularly and said nothing of it."""


def is_left(error: BaseException | None) -> bool:
    """Return whether a stream was left early: by a `break`, a close, a cancellation or Ctrl-C.

    >>> is_left(GeneratorExit()), is_left(StreamCutError()), is_left(OSError()), is_left(None)
    (True, True, False, False)
    """
    return isinstance(error, StreamCutError) or not (error is None or isinstance(error, Exception))


def first_known(ends: Sequence[AnswerEnd], field: str) -> Any:
    """Return the first value of a field that a choice has."""
    return next((value for each in ends if (value := getattr(each, field))), None)


def answer_status(ends: Sequence[AnswerEnd], error: BaseException | None) -> AnswerStatus | None:
    """Return the worst status of the choices; without any, the one that the error means.

    >>> answer_status([AnswerEnd(), AnswerEnd(choice=1, status="truncated")], None)
    'truncated'
    """
    if ends:
        told = {each.status for each in ends}
        return next(status for status in _WORST if status in told)
    if error is None:
        return None
    return "interrupted" if is_left(error) or getattr(error, "transport", False) else "failed"


def error_type(ends: Sequence[AnswerEnd], error: BaseException | None) -> str | None:
    """Return what went wrong, in one word: what the provider calls it, or the exception's class, else the status.

    >>> error_type([AnswerEnd(status="failed", error={"detail": "try later", "type": "overloaded_error"})], None)
    'overloaded_error'
    """
    status = answer_status(ends, error)
    if status in REGULAR:
        return None
    if status != "failed":
        return status
    fields: dict[str, Any] = first_known(ends, "error") or {}
    if not ends and isinstance(error, Exception):
        fields = error_fields(error) if isinstance(error, ProviderError) else {"type": type(error).__qualname__}
    known = (fields.get(name) for name in ("type", "code", "status"))
    return str(next((each for each in known if each is not None), status))


def finish_reason(end: AnswerEnd) -> str:
    """Return the finish reason; `stop` for text that ended regularly, `error` if one should have come and did not."""
    return end.finish_reason or ("stop" if end.status in REGULAR else "error")


def finish_reasons(ends: Sequence[AnswerEnd], error: BaseException | None) -> list[str]:
    """Return the finish reason of each choice."""
    if not ends:
        return [] if error is None else ["error"]
    return [finish_reason(each) for each in ends]
