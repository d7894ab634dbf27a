"""`AnswerRun`: the events of one answer, from the first upstream that gives any."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, NamedTuple

from ...events.answer_end import AnswerEnd
from ...events.errors import ProviderError, UsageError, shown_url
from ...events.tool_invocation import Notice
from ...pipeline.async_run import AsyncRun
from ...pipeline.pipeline import Pipeline
from ...sinks.log.stream_log import STREAM_HEADER, stream_name
from ...sinks.parts.event_words import printable
from ...sources.streams.bounded_read import too_long
from ..neutral import NeutralRequest
from ..operating.recorder import ClientRequest, Recorder
from ..operating.request_turns import StoppingError
from .answer_events import LONGEST_ANSWER, begun, finished, length_of
from .answer_guards import AnswerGuards
from .upstream import Upstream, source_of

_LOGGER: Final = logging.getLogger("penstock.gateway")


class Way(NamedTuple):
    """How one upstream is asked, and how its answer is read.

    - `path`, `body`: where, and with what. `api`: in which form it answers.
    - `lane`: what is said of the lane, the dialect and the server.
    """

    pipeline: Pipeline
    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    api: str
    lane: str


class Answer(NamedTuple):
    """One request on its way.

    - `upstreams`: whom to ask, one after the other. `way`: says how.
    - `request`: what the client sent. `log`: what its line of the log will say.
    - `owner`: what the client sent as its key, if that is its own.
    - `kept`: the name under which the answer is kept; empty if it is not. `after`: the last event that the client has.
    """

    asked: NeutralRequest
    upstreams: Sequence[Upstream]
    way: Callable[[Upstream], Awaitable[Way]]
    guards: AnswerGuards
    request: ClientRequest
    log: dict[str, Any]
    owner: str = ""
    is_codex: bool = False
    kept: str = ""
    after: int = 0


class AnswerRun:
    """One answer, whose upstream may change until its first output; of a whole answer, until its end."""

    def __init__(self, answer: Answer, answer_id: str, recorder: Recorder | None = None) -> None:
        self._answer = answer
        self._id = answer_id
        self._guards = answer.guards
        self._recorder = recorder
        self._run: AsyncRun | None = None
        self._stopped: str | None = None
        self.headers: dict[str, str] = {}
        """Who answers, as far as that is certain."""
        self.events = self._answered()
        """The events of the first upstream that answers; the error of the last one is raised if none does."""

    @property
    def is_kept(self) -> bool:
        """Whether another gateway can go on with the answer."""
        return self._answer.kept != ""

    def cancel(self, reason: str) -> None:
        """End the answer with an error that has the reason. Call it from any thread."""
        self._stopped = reason
        if self._run is not None:
            self._run.cancel(reason)

    async def aclose(self) -> None:
        """Close the upstream's answer."""
        await self.events.aclose()

    async def _answered(self) -> AsyncGenerator[Any, None]:
        asked, upstreams = self._answer.asked, self._answer.upstreams
        for upstream, following in zip(upstreams, (*upstreams[1:], None), strict=True):
            async with aclosing(self._of(upstream)) as events:
                try:
                    first = await begun(events, until_end=not asked.stream)
                except ProviderError as error:
                    self._guards.hide(error)
                    if following is None or self._stopped is not None or not _is_for_another(error):
                        raise
                    log_change(upstream, following, error)
                    continue
                self._note(upstream)
                for event in first:
                    yield event
                async for event in events:
                    yield event
                return

    async def _of(self, upstream: Upstream) -> AsyncGenerator[Any, None]:
        """Yield what the client gets of the answer of one upstream."""
        way = self._way = await self._answer.way(upstream)
        headers = {**way.headers, **({STREAM_HEADER: self._kept_as(way)} if self._answer.kept else {})}
        if len(self._answer.upstreams) == 1:
            self._note(upstream)

        async def asked_for() -> Any:
            return await source_of(await upstream.stream(way.body, headers, way.path))

        async def opened() -> Any:
            if self._recorder is None:
                return await asked_for()
            request, log, rules = self._answer.request, self._answer.log, self._guards.rules
            return await self._recorder.recorded(asked_for, self._id, request, log, api=way.api, rules=rules)

        run = self._run = way.pipeline.astream(self._guards.timed(opened), turn_id=self._id)
        calls = self._guards.new_calls(self._answer.asked.api)
        too_slow: str | None = None
        end: AnswerEnd | None = None
        length = 0
        try:
            if self._stopped is not None:
                run.cancel(self._stopped)
            async for event in run:
                length += length_of(event)
                _check_length(length)
                if isinstance(event, Notice) and event.code == "idle":
                    too_slow = event.detail
                told = finished(event)
                for each in (told,) if calls is None else calls.feed(told):
                    end = each if isinstance(each, AnswerEnd) else end
                    yield each
        except UsageError as error:  # of the source: an item that is no chunk, with advice for a program
            message = f"the upstream did not send an answer: {str(error).partition(';')[0]}"
            failed = ProviderError(message, status=502)
            self._guards.hide(failed)
            raise failed from error
        except ProviderError as error:
            if error.transport and end is not None and end.status == "complete" and end.finish_reason is not None:
                return  # all that may be lost behind a finish is the count of tokens
            self._guards.hide(error)
            raise
        finally:
            await run.aclose()
        why = self._stopped or too_slow
        if why is not None and (end is None or end.status == "interrupted"):
            message = f"the answer was broken off: {why}"
            raise (ProviderError if self._stopped is None else StoppingError)(message, status=503)

    def _kept_as(self, way: Way) -> str:
        """Return the name under which a buffer keeps the upstream's stream: another request has another."""
        return stream_name(self._answer.kept, way.path, json.dumps(way.body, sort_keys=True))

    def _note(self, upstream: Upstream) -> None:
        """Note who answers."""
        self.headers = {"x-penstock-lane": self._way.lane, "x-penstock-upstream": shown_url(upstream.url)}
        self._answer.log["upstream"] = shown_url(upstream.url)


def _check_length(length: int) -> None:
    """Raise `ProviderError` for an answer that is too long: much of it is kept, such as a call that has not ended."""
    if length > LONGEST_ANSWER:
        message = f"the answer has no end: {too_long(LONGEST_ANSWER)}"
        raise ProviderError(message, status=502)


def log_change(upstream: Upstream, following: Upstream, error: ProviderError) -> None:
    """Log that another upstream is asked, and why."""
    names = shown_url(following.url), shown_url(upstream.url)
    _LOGGER.warning("%s is asked, for %s failed before its first output: %s", *names, printable(str(error)))


def _is_for_another(error: ProviderError) -> bool:
    """Return whether another upstream may do better: this one is not there, too slow, too busy, or broken."""
    return error.status is None or error.status == 429 or error.status >= 500
