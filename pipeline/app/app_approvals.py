"""`AppApprovals`: the calls of one run that wait for somebody's yes or no."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from ...events.errors import UsageError
from ...sinks.acting.approval import ApprovalRequest, Denied
from .app_request import Decision


class _Question(NamedTuple):
    request: ApprovalRequest
    answer: asyncio.Future[bool | Denied]


class AppApprovals:
    """Questions by the id of their call. `ask` is the `approve=` of the steps; all of it runs in one event loop."""

    def __init__(self) -> None:
        self._open: dict[str, _Question] = {}
        self._changed = asyncio.Condition()

    async def ask(self, request: ApprovalRequest) -> bool | Denied:
        """Wait for the decision of a call."""
        answer: asyncio.Future[bool | Denied] = asyncio.get_running_loop().create_future()
        async with self._changed:
            self._open[request.id] = _Question(request, answer)
            self._changed.notify_all()
        try:
            return await answer
        finally:
            del self._open[request.id]

    def decide(self, decision: Decision) -> None:
        """Answer a question; `UsageError` if it is not open, or the call that was shown is another one."""
        question = self._open.get(decision.call_id)
        if question is None or question.answer.done():
            message = "this call does not wait for an answer any more"
            raise UsageError(message)
        if decision.sha256 != question.request.sha256:
            message = "the call that waits is not the one that was shown; load the page again"
            raise UsageError(message)
        question.answer.set_result(True if decision.approve else Denied(decision.reason or "the user said no"))

    async def preview(self, call_id: str, patience: float = 5.0) -> Any:
        """Return what the step knows of a call's effect; wait until the question is open, or it is too late."""
        try:
            async with asyncio.timeout(patience), self._changed:
                await self._changed.wait_for(lambda: call_id in self._open)
        except TimeoutError:
            return None
        question = self._open.get(call_id)
        return None if question is None else question.request.preview
