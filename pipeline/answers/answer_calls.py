"""The calls of a message, each with its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ...events.errors import UsageError
from ...events.tool_invocation import InvocationFailed, ToolResult
from ...sinks.wording.result_text import result_text
from .answer_parts import AnswerCall
from .message_form import CallResult, MessageCall


class CallsOfMessage:
    """Pairs the calls of a message with results; `UsageError` for a call without one, and for one without a call.

    - `call_id`: returns the id that a call of the answer has in the message.
    - `answered`: the calls of the message in order, with their results.
    - `in_text`: the calls that are in the answer but not in the message, because the model wrote them as text.
    """

    def __init__(
        self,
        in_message: Sequence[MessageCall],
        calls: Sequence[AnswerCall],
        results: Mapping[str, ToolResult],
        call_id: Callable[[str], str] = str,
    ) -> None:
        self._results = results
        self._call_id = call_id
        self._ids = {each.id for each in in_message}
        self._check(calls)
        rest = list(calls)
        self.answered: list[CallResult] = []
        for each in in_message:
            call = self._find(each, rest)
            if call is None:
                lost = ToolResult(each.id, error="the call was not run: it is not a call of this answer")
                self.answered.append(CallResult(each, lost))
            else:
                rest.remove(call)
                self.answered.append(CallResult(each, self._result_of(call)))
        self.in_text = [CallResult(MessageCall(call.id, call.name), self._result_of(call)) for call in rest]

    def _find(self, wanted: MessageCall, rest: Sequence[AnswerCall]) -> AnswerCall | None:
        """Return the call of the answer that is meant by one of the message."""
        if wanted.id:
            for call in rest:
                if wanted.id in (call.id, self._call_id(call.id)):
                    return call
            for call in rest:
                if call.id.startswith(f"{wanted.id}#"):  # the id came again
                    return call
        # Without an id, or with one that came too late for the answer, it is the first of its name.
        named = (call for call in rest if wanted.name in (call.name, ""))
        return next((call for call in named if self._ids.isdisjoint((call.id, self._call_id(call.id)))), None)

    def _check(self, calls: Sequence[AnswerCall]) -> None:
        known = {call.id for call in calls}
        unknown = [each for each in self._results if each not in known]
        if unknown:
            names = ", ".join(map(repr, sorted(known))) or "none"
            message = f"a result for {unknown[0]!r}, which is not a call of this answer; its calls are {names}"
            raise UsageError(message)
        for call in calls:
            if self._found(call) is None and call.failure is None and call.is_whole:
                message = (
                    f"no result for the call {call.id!r}; pass ToolResult({call.id!r}, value=...), or error= or "
                    "denied= if it was not run"
                )
                raise UsageError(message)

    def _found(self, call: AnswerCall) -> ToolResult | None:
        return self._results.get(call.id) or self._results.get(call.duplicate_of or "")

    def _result_of(self, call: AnswerCall) -> ToolResult:
        return self._found(call) or ToolResult(call.id, error=_why(call.failure))


def _why(failure: InvocationFailed | None) -> str:
    """Return why a call was not run, for the model."""
    if failure is None:
        return "the call was not run: it was cut"
    details = "; ".join(_detail(error) for error in failure.errors)
    return f"the call was not run: {failure.reason}" + (f" ({details})" if details else "")


def _detail(error: Mapping[str, Any]) -> str:
    place: Any = error.get("loc")
    where = ".".join(map(str, cast("list[object]", place))) if isinstance(place, list | tuple) else ""
    said = str(error.get("msg") or ", ".join(f"{key} {value}" for key, value in error.items()))
    return f"{where}: {said}" if where else said


def in_text(results: Sequence[CallResult]) -> str:
    """Return the results of calls that were written as text, as a text of the user.

    >>> print(in_text([CallResult(MessageCall("c", "now"), ToolResult("c", value="12:00"))]))
    <tool_response>
    {"name": "now", "content": "12:00"}
    </tool_response>
    """
    said = ({"name": call.name, "content": result_text(result)} for call, result in results)
    return "\n".join(f"<tool_response>\n{json.dumps(each, ensure_ascii=False)}\n</tool_response>" for each in said)
