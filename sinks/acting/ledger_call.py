"""`LedgerCall`: one call on its way through a ledger, from the question whether it may run to its outcome."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from secrets import token_hex
from typing import Any, Final

from ...events.errors import without_credentials
from ...events.tool_invocation import Notice, ToolInvocation, ToolResult
from ..running.event_pump import apart
from .approval import StatusMaker, message_of
from .ledger import (
    Change,
    Ledger,
    LedgerEntry,
    LedgerUnavailableError,
    call_digest,
    call_key,
    deny,
    finish,
    intend,
    kept_result,
    lose,
    outcome_of,
    release,
    renew,
    start,
)

_LOGGER = logging.getLogger("penstock")
_PAUSES: Final = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds between looks at a call that another worker runs; the last again and again."""


class LedgerCall:
    """What a step asks before, while and after it runs a call.

        known()  None        start()  None        tool runs   settle(result, ...)
        known()  ToolResult                                                         # it ran before, here or elsewhere
        known()  None        start()  ToolResult                                    # another worker was faster

    - `beginning`: the arguments by which the call is known again before its end.
    - `again`: whether a call of which it is unknown whether it ran may run again.
    - `emit`: gets the statuses and notices of a call that is not run. `timeout`: seconds to wait for another worker.
    """

    def __init__(
        self,
        ledger: Ledger,
        call: ToolInvocation,
        beginning: dict[str, Any],
        *,
        again: bool,
        emit: Callable[[Any], None],
        timeout: float | None,
    ) -> None:
        self.key = call_key(call.turn_id, call.id)
        self._ledger = ledger
        self._call = call
        self._digest = call_digest(call.name, beginning)
        self._whole: str | None = None
        self._again = again
        self._emit = emit
        self._timeout = timeout
        self._owner = token_hex(16)
        self._beat: asyncio.Task[None] | None = None

    def sealed(self, arguments: dict[str, Any]) -> None:
        """Take the arguments of the whole call."""
        self._whole = call_digest(self._call.name, arguments)

    async def known(self) -> ToolResult | None:
        """Return the result of a call that is not to be run; None for one that may be.

        It waits for a worker that runs the call.
        """
        if self._call.turn_id is None:
            return self._refused("the call has no turn id by which the ledger could know it again; pass turn_id=")
        try:
            return await self._settled(await self._change(self._intend()))
        except LedgerUnavailableError as error:
            return self._away(error)

    async def start(self) -> ToolResult | None:
        """Return None if this worker is the one that runs the call, else the result, as `known` does."""
        try:
            while not self._is_ours(entry := await self._started()):
                if (result := await self._settled(entry)) is not None:
                    return result
        except LedgerUnavailableError as error:
            return self._away(error)
        return None

    async def is_new(self) -> bool:
        """Return whether a call that is still written may begin, without waiting; else its end decides."""
        if self._call.turn_id is None:
            return False
        try:
            entry = await self._change(self._intend())
        except LedgerUnavailableError:
            return False
        return (entry.state, entry.digest) == ("intended", self._digest)

    async def starts(self) -> bool:
        """Return whether this worker is the one that runs the call, without waiting."""
        try:
            return self._is_ours(await self._started())
        except LedgerUnavailableError:
            return False

    async def refuse(self, refused: object) -> None:
        """Keep the denial of a call, if it is one, and no worker has started the call."""
        if not isinstance(refused, ToolResult) or refused.denied is None:
            return
        try:
            await self._change(deny(outcome_of(refused, self._whole)))
        except LedgerUnavailableError as error:
            self._not_kept(error)

    async def settle(self, result: ToolResult, *, has_answered: bool) -> None:
        """Keep the result of the tool; if it has not answered, what it did is unknown."""
        if not has_answered:
            await self.lose(result.error or "the tool did not answer")
            return
        try:
            await self._change(finish(self._owner, outcome_of(result, self._whole)))
        except LedgerUnavailableError as error:
            self._not_kept(error)
        finally:
            self._rest()

    async def lose(self, reason: str) -> None:
        """Note that it is unknown what the tool did."""
        await self._leave(lose(self._owner, reason))

    def _intend(self) -> Change:
        return intend(self.key, self._call.name, self._digest)

    async def _started(self) -> LedgerEntry:
        lease = self._ledger.lease
        try:
            entry = await self._change(start(self._intend(), self._digest, self._owner, lease, again=self._again))
        except asyncio.CancelledError:  # it may be started, and its tool will not begin
            await self._leave(release(self._owner))
            raise
        if self._is_ours(entry):
            self._beat = asyncio.get_running_loop().create_task(self._renew(lease))
        return entry

    def _is_ours(self, entry: LedgerEntry) -> bool:
        return entry.state == "started" and entry.owner == self._owner

    async def _settled(self, entry: LedgerEntry) -> ToolResult | None:
        """Return the result of a call that is done or unknown; None for one that may run. Wait for one that runs."""
        clock = asyncio.get_running_loop().time
        since, looks = clock(), 0
        while entry.digest == self._digest and entry.state == "started":
            if self._timeout is not None and clock() - since >= self._timeout:
                return self._refused(
                    f"another worker runs this call, and has not answered within {self._timeout:g} seconds"
                )
            await asyncio.sleep(_PAUSES[min(looks, len(_PAUSES) - 1)])
            looks += 1
            entry = await self._ledger.entry(self.key) or await self._change(self._intend())
        result: ToolResult | None = None
        if entry.state == "done":
            result = kept_result(entry, self._call, self._whole)
        if entry.digest != self._digest or (entry.state == "done" and result is None):
            return self._refused("a call with the same id and other arguments is in the ledger, so this one is not run")
        if entry.state == "unknown" and not self._again:
            return self._unknown(entry.reason)
        return result

    async def _change(self, change: Change) -> LedgerEntry:
        """Return the entry that the ledger has then; a cancellation waits for it, since it may be written already."""
        task = apart(self._ledger.change(self.key, change))
        try:
            entry = await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # somebody has to look at it
            raise
        if entry is None:
            message = "the ledger has forgotten the call while it ran"
            raise LedgerUnavailableError(message)
        return entry

    async def _leave(self, change: Change) -> None:
        try:
            await self._ledger.change(self.key, change)
        except LedgerUnavailableError as error:  # its lease will end
            _LOGGER.warning("the ledger was not told of a call that ended: %s", _shown(error))
        finally:
            self._rest()

    async def _renew(self, lease: float) -> None:
        is_ours = True
        while is_ours:
            await asyncio.sleep(lease / 3)
            try:
                is_ours = self._is_ours(await self._change(renew(self._owner, lease)))
            except LedgerUnavailableError as error:
                _LOGGER.debug("the lease of a call was not renewed: %s", _shown(error))

    def _rest(self) -> None:
        if self._beat is not None:
            self._beat.cancel()

    def _unknown(self, reason: str | None) -> ToolResult:
        call = self._call
        self._emit(Notice("unknown_call", f"call {call.id!r} of {call.name} may have run; its key is {self.key}"))
        return self._refused(f"it is unknown whether this call did its work, so it is not run again: {reason}")

    def _away(self, error: LedgerUnavailableError) -> ToolResult:
        _LOGGER.warning("a call is not run without the ledger: %s", _shown(error))
        return self._refused("the call was not run: the ledger that keeps it from running twice cannot be reached")

    def _not_kept(self, error: LedgerUnavailableError) -> None:
        _LOGGER.warning("the result of a call is not in the ledger: %s", _shown(error))
        call = self._call
        self._emit(Notice("result_not_kept", f"the ledger has no result of call {call.id!r} of {call.name}"))

    def _refused(self, words: str) -> ToolResult:
        self._emit(StatusMaker(self._call)("failed", words))
        return ToolResult(self._call.id, turn_id=self._call.turn_id, error=words)


def interruption(error: BaseException) -> str:
    """Return why it is unknown what a tool did that was left by an exception."""
    if isinstance(error, asyncio.CancelledError):
        return "the call was cancelled while it ran"
    return f"the call was interrupted: {type(error).__name__}"


def _shown(error: LedgerUnavailableError) -> str:
    return without_credentials(message_of(error))
