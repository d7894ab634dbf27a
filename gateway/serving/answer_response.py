"""`Answers`: the HTTP responses with answers, streamed or whole, and the upstream's stream behind each of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final
from uuid import uuid4
from weakref import WeakValueDictionary

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from ...events.errors import ProviderError
from ...events.segment_event import SegmentEnd, SegmentStart
from ...operators.engine.stage import Completed
from ...sinks.log.stream_log import StreamLog
from ...sinks.remote_readers import sse_headers, to_sse
from ...sinks.resume.stream_runs import StreamRuns
from ...sinks.web.protocols import Encoder, encoder_of
from ..neutral import ANSWER_IDS, Api, NeutralRequest
from ..operating.kept_answers import (
    DiskStore,
    LogStore,
    MemoryStore,
    OwnStore,
    Store,
    keep_answer,
    keep_reasoning,
    with_previous,
    with_reasoning,
)
from ..operating.recorder import Recorder
from .answer_events import AnswerNotes, begun, calls_at_the_end, named_for_client
from .answer_run import Answer, AnswerRun
from .api_errors import CONTEXT, in_stream
from .whole_answer import failure_in, whole_answer

_CONVERSATIONS: Final = "conversations.sqlite"


class Answers:
    """Makes the responses, and knows the streams that are open.

    With a recorder all streams are recorded, and conversations are kept in its folder, where a further start of the
    gateway finds them. With a log they are kept there, and so are the answers that have a name.
    """

    def __init__(self, keep_alive: float, recorder: Recorder | None = None, log: StreamLog | None = None) -> None:
        self._keep_alive = keep_alive
        self._recorder = recorder
        self._open: set[AnswerRun] = set()
        self._runs = None if log is None else StreamRuns(log=log)
        self._store = _store(recorder, log)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._deciding: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Held by who looks whether an answer is kept, until it is: the same request may come twice at once."""

    @property
    def open_streams(self) -> int:
        """How many answers are on their way."""
        return len(self._open)

    @property
    def lag(self) -> float | None:
        """Seconds for which the oldest piece of an answer waits for the log; None without a log."""
        return None if self._runs is None else self._runs.lag

    async def aclose(self) -> None:
        """Leave the answers that are kept to other gateways, and close what keeps the conversations."""
        if self._runs is not None:
            await self._runs.aclose()
        self._store.close()

    async def remembered(self, asked: NeutralRequest, owner: str) -> NeutralRequest:
        """Return a request with the conversation that it goes on from, and what was thought before its calls.

        - `owner`: whose conversations those are.

        `RequestError` if that conversation is not kept.
        """
        store = OwnStore(self._store, owner)
        return await with_reasoning(store, await with_previous(store, asked))

    def stop(self, reason: str) -> None:
        """End all answers, with an error that has the reason. Call it from any thread.

        Those that are kept break off instead: another gateway goes on with them.
        """
        for run in list(self._open):
            if not run.is_kept:
                run.cancel(reason)
        if self._runs is not None and self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._runs.aclose(), self._loop)

    async def response(self, answer: Answer) -> Response:
        """Return the response when the first piece of the answer is there, or is so late that a client needs a sign.

        `ProviderError` for what failed before, while it still has a status.
        """
        asked, api, options = answer.asked, answer.asked.api, _options(answer.asked)
        if self._runs is not None and answer.kept and asked.stream:
            return await self._kept_response(self._runs, answer, options)
        stream = self._stream(answer)
        try:
            if not asked.stream:
                body = await _whole(stream, api, options)
                return JSONResponse(body, headers=stream.headers)
            await stream.begin(self._keep_alive)
        except ProviderError as error:
            await stream.aclose()
            if not (answer.is_codex and asked.stream and (error.status == 429 or error.code == CONTEXT)):
                raise
        except BaseException:
            await stream.aclose()
            raise
        frames = to_sse(stream, protocol=api, heartbeat=self._keep_alive, describe_error=in_stream, **options)
        return _Streamed(frames, {**sse_headers(api), **stream.headers})

    async def _kept_response(self, runs: StreamRuns, answer: Answer, options: dict[str, Any]) -> Response:
        """Return the response with an answer that is kept, and perhaps already on its way or at its end.

        `ProviderError` as in `response`.
        """
        api: Api = answer.asked.api
        self._loop = asyncio.get_running_loop()

        async def again(_: object) -> _Stream:
            return self._stream(answer)

        headers: dict[str, str] = {}
        lock = self._deciding.setdefault(answer.kept, asyncio.Lock())
        async with lock:
            run = await runs.find(answer.kept, again, describe_error=in_stream)
            if run is None:
                stream = self._stream(answer)
                try:
                    await stream.begin(self._keep_alive)
                    how: dict[str, Any] = {"describe_error": in_stream, "replays": True, **options}
                    run = runs.start(stream, id=answer.kept, protocol=api, **how)
                except BaseException:
                    await stream.aclose()
                    raise
                headers = stream.headers
        frames = run.sse(answer.after, heartbeat=self._keep_alive)
        return _Streamed(frames, {**sse_headers(api), **headers})

    def _stream(self, answer: Answer) -> _Stream:
        """Return the events of an answer. What is kept has the id of its stream, and so the same each time it comes."""
        asked, api = answer.asked, answer.asked.api
        answer_id = f"{ANSWER_IDS[api]}{answer.kept[:32] or uuid4().hex}"
        run = AnswerRun(answer, answer_id, self._recorder)
        self._open.add(run)
        noted = self._noted(run, answer, answer_id)
        told = noted if api == "openai-chat" else calls_at_the_end(noted, api)
        return _Stream(run, named_for_client(told, asked.names), partial(self._open.discard, run), answer_id)

    async def _noted(self, run: AnswerRun, answer: Answer, answer_id: str) -> AsyncGenerator[Any, None]:
        """Yield what the client gets; log how the answer ended, and keep what the next request may refer to."""
        notes = AnswerNotes(answer.log, answer.log["_begin"])
        try:
            async for event in run.events:
                notes.feed(event)
                yield event
        except ProviderError as error:
            answer.log["error"] = error
            raise
        if notes.is_whole:
            said, store = notes.message(), OwnStore(self._store, answer.owner)
            await keep_reasoning(store, said)
            if answer.asked.api == "openai-responses":
                await keep_answer(store, answer_id, answer.asked, said)


def _store(recorder: Recorder | None, log: StreamLog | None) -> Store:
    if log is not None:
        return LogStore(log)
    return MemoryStore() if recorder is None else DiskStore(recorder.folder / _CONVERSATIONS)


class _Stream:
    """The events of an answer, whose first ones are read before anything is sent."""

    def __init__(
        self, run: AnswerRun, events: AsyncGenerator[Any, None], left: Callable[[], None], turn_id: str
    ) -> None:
        self._run, self._events, self._left, self._turn_id = run, events, left, turn_id
        self._first: asyncio.Future[list[Any]] | None = None

    @property
    def headers(self) -> dict[str, str]:
        """Who answers, as far as that is certain."""
        return self._run.headers

    async def begin(self, timeout: float) -> None:  # noqa: ASYNC109 - what is late is no error here
        """Wait for the first output; after `timeout` seconds it is left to whoever reads the events."""
        self._first = asyncio.ensure_future(begun(self._events))
        await asyncio.wait({self._first}, timeout=timeout)
        if self._first.done():
            self._first.result()

    async def __aiter__(self) -> AsyncIterator[Any]:
        if self._first is None and self._run.is_kept:
            self._first = asyncio.ensure_future(begun(self._events))
        if self._first is not None:
            # Clients take no sign of life before the beginning of the answer. One that is kept always has the same.
            if self._run.is_kept or not self._first.done():
                yield SegmentStart("begin", "gateway", turn_id=self._turn_id)
                yield SegmentEnd("begin", "gateway", "complete", turn_id=self._turn_id)
            for event in await asyncio.shield(self._first):
                yield event
        async for event in self._events:
            yield event

    def cancel(self, reason: str) -> None:
        self._run.cancel(reason)

    async def aclose(self) -> None:
        if self._first is not None:
            self._first.cancel()
            await asyncio.wait({self._first})
            if not self._first.cancelled():
                self._first.exception()
        await self._events.aclose()
        await self._run.aclose()
        self._left()


class _Streamed(Response):
    """Closes its frames in every case, and with them the upstream's response."""

    def __init__(self, frames: AsyncGenerator[bytes, None], headers: Mapping[str, str]) -> None:
        super().__init__(headers=dict(headers))
        del self.headers["content-length"]
        self._frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - an ASGI app
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for frame in self._frames:
                await send({"type": "http.response.body", "body": frame, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await self._frames.aclose()


async def _whole(stream: _Stream, api: Api, options: Mapping[str, Any]) -> dict[str, Any]:
    try:
        events = [event async for event in stream]
    finally:
        await stream.aclose()
    return whole_answer(api, _frames(encoder_of(api, options), events))


def _frames(encoder: Encoder, events: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the frames of an answer, each when it is asked for: all of them cost more than the answer."""
    for event in events:
        yield from encoder.feed(event)
    for frame in encoder.close(Completed(), {}):
        if (failure := failure_in(frame)) is not None:
            raise ProviderError(failure["message"], status=502)
        yield frame


def _options(asked: NeutralRequest) -> dict[str, Any]:
    """Return the options of the API's protocol for a request."""
    of_api: dict[Api, dict[str, Any]] = {
        "openai-chat": {"include_usage": asked.include_usage or not asked.stream},
        "openai-responses": {},
        "anthropic-messages": {"interleave": False, "for_agents": True},
    }
    return {"model": asked.model, **of_api[asked.api]}
