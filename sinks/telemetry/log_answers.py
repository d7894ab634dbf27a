"""`log_answers`: one line of the log for each answer, and how each went."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from ...events.answer_end import AnswerEnd, AnswerStatus
from ...events.errors import ProviderError, UsageError, error_fields
from ...events.segment_event import SegmentContent, SegmentStart
from ...events.tool_invocation import FileResult, InvocationFailed, ToolInvocation, ToolResult
from ...operators.engine.where_raised import where_raised
from ..parts.event_words import printable
from ..running.channel import StreamCutError
from ..running.sink import TwinSink, each_event

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


def log_answers(
    logger: logging.Logger | str = "penstock", *, clock: Callable[[], float] = time.monotonic
) -> TwinSink[None]:
    """Log one line for each answer and for each call, with the same facts as fields of the record.

    >>> import sys
    >>> logger = logging.getLogger("example")
    >>> logger.setLevel("INFO")
    >>> logger.addHandler(handler := logging.StreamHandler(sys.stdout))
    >>> call = ToolInvocation("call_1", name="look_up", arguments={"word": "tide"})
    >>> log_answers(logger, clock=lambda: 0.0)([call, AnswerEnd("t", model="gpt-5", finish_reason="tool_calls")])
    call look_up (call_1) is complete
    answer of gpt-5 is complete: tool_calls, 0.00 s
    >>> logger.removeHandler(handler)

    - `logger`: a logger, or its name.
    - `clock`: returns the time in seconds.

    INFO are complete calls and answers that are complete or paused, and what your own code cut: an answer that was
    cancelled or left. WARNING are failed calls, errors of tools, and all other answers. The arguments of a call, the
    text of a failed one and the words of errors are logged at DEBUG only. `extra` has `event` ("call", "failed_call",
    "tool_error", "answer"), `turn_id`, and as far as they are known: `call_id`, `tool_name`, `reason`, `choice`,
    `status`, `finish_reason`, `finish_reason_raw`, `model`, `response_id`, `seconds` since the request or the answer
    before, `input_tokens`, `output_tokens`, `cached_tokens`, `reasoning_tokens`, `error_type`, `error_code` and
    `error_status`.
    """
    if not isinstance(cast("object", logger), logging.Logger | str):
        message = f"log_answers takes a logger or its name, got {logger!r}"
        raise UsageError(message)
    return each_event(partial(_LogAnswers, logging.getLogger(logger) if isinstance(logger, str) else logger, clock))


class _LogAnswers:
    def __init__(self, logger: logging.Logger, clock: Callable[[], float]) -> None:
        self._logger = logger
        self._clock = clock
        self._asked_at = clock()
        self._is_open = False
        """Whether something of an answer came, and not its end."""

    def feed(self, event: Any) -> None:
        kind: Any = event.__class__
        if kind is SegmentContent or kind is SegmentStart:
            self._is_open = True
        elif kind is ToolInvocation:
            self._is_open = True
            self._call(event)
        elif kind is InvocationFailed:
            self._failed_call(event)
        elif kind is ToolResult or kind is FileResult:
            self._result(event)
        elif kind is AnswerEnd:
            self._answer(event)

    def close(self, error: BaseException | None) -> None:
        if error is None or not self._is_open:
            return
        level = logging.INFO if is_left(error) else logging.WARNING
        status = "interrupted" if is_left(error) else "failed"
        how = "was left before its end" if is_left(error) else f"failed: {where_raised(error)}"
        self._tell(level, f"answer {how}", "answer", status=status, error_type=type(error).__name__, **self._seconds())

    def _call(self, call: ToolInvocation) -> None:
        self._tell(logging.INFO, f"call {_named(call)} is complete", "call", **_of_call(call))
        self._detail("arguments of call %s: %r", _named(call), call.arguments)

    def _failed_call(self, call: InvocationFailed) -> None:
        message = f"call {_named(call)} is not run: {call.reason}"
        self._tell(logging.WARNING, message, "failed_call", reason=call.reason, **_of_call(call))
        self._detail("failed call %s: %r, %r", _named(call), call.errors, call.raw)

    def _result(self, result: ToolResult) -> None:
        self._asked_at = self._clock()
        if not result.is_error:
            return
        reason = "error" if result.denied is None else "denied"
        message = f"call {printable(result.id)} returned no result: {reason}"
        self._tell(logging.WARNING, message, "tool_error", turn_id=result.turn_id, call_id=result.id, reason=reason)
        self._detail("result of call %s: %r", printable(result.id), result.error or result.denied)

    def _answer(self, end: AnswerEnd) -> None:
        self._is_open = False
        error = end.error or {}
        is_cut_here = end.status == "interrupted" and not error
        level = logging.INFO if end.status in REGULAR or is_cut_here else logging.WARNING
        usage = end.usage
        fields: dict[str, Any] = {
            "turn_id": end.turn_id,
            "choice": end.choice,
            "status": end.status,
            "finish_reason": end.finish_reason,
            "finish_reason_raw": end.finish_reason_raw,
            "model": end.model,
            "response_id": end.response_id,
            **self._seconds(),
            "input_tokens": None if usage is None else usage.prompt,
            "output_tokens": None if usage is None else usage.completion,
            "cached_tokens": None if usage is None else usage.cached,
            "reasoning_tokens": None if usage is None else usage.reasoning,
            **{f"error_{name}": error.get(name) for name in ("type", "code", "status")},
        }
        self._tell(level, _answer_line(end, fields), "answer", **fields)
        if error:
            self._detail("error of answer %s: %r", printable(str(end.turn_id)), error)
        self._asked_at = self._clock()

    def _seconds(self) -> dict[str, float]:
        return {"seconds": self._clock() - self._asked_at}

    def _tell(self, level: int, message: str, event: str, **fields: Any) -> None:
        if self._logger.isEnabledFor(level):
            known = {name: value for name, value in fields.items() if value is not None}
            self._logger.log(level, "%s", message, extra={"event": event, **known})

    def _detail(self, message: str, *values: object) -> None:
        self._logger.debug(message, *values)


def _of_call(call: ToolInvocation | InvocationFailed) -> dict[str, Any]:
    return {"turn_id": call.turn_id, "call_id": call.id, "tool_name": call.name}


def _named(call: ToolInvocation | InvocationFailed) -> str:
    return f"{printable(call.name) or 'without a name'} ({printable(call.id)})"


def _answer_line(end: AnswerEnd, fields: dict[str, Any]) -> str:
    whose = f" of {printable(end.model)}" if end.model else ""
    choice = f" {end.choice}" if end.choice else ""
    why = fields["error_type"] or fields["error_code"] or fields["error_status"]
    facts = [printable(str(each)) for each in (end.finish_reason_raw or end.finish_reason, why) if each is not None]
    facts.append(f"{fields['seconds']:.2f} s")
    if end.usage is not None:
        facts.append(f"{end.usage.prompt} + {end.usage.completion} tokens")
    return f"answer{choice}{whose} is {end.status}: {', '.join(facts)}"
