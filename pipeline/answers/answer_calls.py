"""The calls of a message, each with its result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ...events.errors import UsageError
from ...events.tool_invocation import InvocationFailed
from ...events.tool_result import ToolResult
from .answer_parts import AnswerCall
from .message_form import CallResult, MessageCall, result_text


class CallsOfMessage:
    """Pairs the calls of a message with results; `UsageError` for a call without one, and for one without a call.

    - `answered`: the calls of the message in order, with their results.
    - `in_text`: the calls that are in the answer but not in the message, because the model wrote them as text.
    """

    def __init__(
        self, in_message: Sequence[MessageCall], calls: Sequence[AnswerCall], results: Mapping[str, ToolResult]
    ) -> None:
        self._results = results
        self._check(calls)
        rest = list(calls)
        self.answered: list[CallResult] = []
        for each in in_message:
            # Providers without ids, and ids that came twice, are known by their order.
            call = next((known for known in rest if known.id == each.id), None) or (rest[0] if rest else None)
            if call is None:
                lost = ToolResult(each.id, error="the call was not run: it is no call of this answer")
                self.answered.append(CallResult(each, lost))
            else:
                rest.remove(call)
                self.answered.append(CallResult(each, self._result_of(call)))
        self.in_text = [CallResult(MessageCall(call.id, call.name), self._result_of(call)) for call in rest]

    def _check(self, calls: Sequence[AnswerCall]) -> None:
        known = {call.id for call in calls}
        missing = [
            call.id
            for call in calls
            if call.id not in self._results and call.failure is None and call.duplicate_of is None and call.is_whole
        ]
        if missing:
            message = (
                f"no result for the call {missing[0]!r}; pass ToolResult({missing[0]!r}, value=...), or error= or "
                "denied= if it was not run"
            )
            raise UsageError(message)
        unknown = [each for each in self._results if each not in known]
        if unknown:
            names = ", ".join(map(repr, sorted(known))) or "none"
            message = f"a result for {unknown[0]!r}, which is no call of this answer; its calls are {names}"
            raise UsageError(message)

    def _result_of(self, call: AnswerCall) -> ToolResult:
        found = self._results.get(call.id) or self._results.get(call.duplicate_of or "")
        return found or ToolResult(call.id, error=_why(call.failure))


def _why(failure: InvocationFailed | None) -> str:
    """Return why a call was not run, for the model."""
    if failure is None:
        return "the call was not run: it was cut"
    details = "; ".join(_detail(error) for error in failure.errors)
    return f"the call was not run: {failure.reason}" + (f" ({details})" if details else "")


def _detail(error: Mapping[str, object]) -> str:
    place = error.get("loc")
    where = ".".join(map(str, place)) if isinstance(place, list | tuple) else ""
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
