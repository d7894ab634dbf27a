"""`Answers`: the HTTP responses with answers, streamed or whole, and the upstream's stream behind each of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final
from uuid import uuid4

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from ...events.errors import ProviderError
from ...events.segment_event import SegmentEnd, SegmentStart
from ...operators.engine.stage import Completed
from ...sinks.remote_readers import sse_headers, to_sse
from ...sinks.web.protocols import Encoder, encoder_of
from ..neutral import ANSWER_IDS, Api, NeutralRequest
from ..operating.kept_answers import (
    DiskStore,
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
    gateway finds them.
    """

    def __init__(self, keep_alive: float, recorder: Recorder | None = None) -> None:
        self._keep_alive = keep_alive
        self._recorder = recorder
        self._open: set[AnswerRun] = set()
        self._store: Store = MemoryStore() if recorder is None else DiskStore(recorder.folder / _CONVERSATIONS)

    @property
    def open_streams(self) -> int:
        """How many answers are on their way."""
        return len(self._open)

    def close(self) -> None:
        """Close what keeps the conversations."""
        self._store.close()

    def remembered(self, asked: NeutralRequest, owner: str) -> NeutralRequest:
        """Return a request with the conversation that it goes on from, and what was thought before its calls.

        - `owner`: whose conversations those are.

        `RequestError` if that conversation is not kept.
        """
        store = OwnStore(self._store, owner)
        return with_reasoning(store, with_previous(store, asked))

    def stop(self, reason: str) -> None:
        """End all answers, with an error that has the reason. Call it from any thread."""
        for run in list(self._open):
            run.cancel(reason)

    async def response(self, answer: Answer) -> Response:
        """Return the response when the first piece of the answer is there, or is so late that a client needs a sign.

        `ProviderError` for what failed before, while it still has a status.
        """
        asked, api = answer.asked, answer.asked.api
        answer_id = f"{ANSWER_IDS[api]}{uuid4().hex}"
        run = AnswerRun(answer, answer_id, self._recorder)
        self._open.add(run)
        noted = self._noted(run, answer, answer_id)
        told = noted if api == "openai-chat" else calls_at_the_end(noted, api)
        stream = _Stream(run, named_for_client(told, asked.names), partial(self._open.discard, run), answer_id)
        options = _options(asked)
        try:
            if not asked.stream:
                body = await _whole(stream, api, options)
                return JSONResponse(body, headers=run.headers)
            await stream.begin(self._keep_alive)
        except ProviderError as error:
            await stream.aclose()
            if not (answer.is_codex and asked.stream and (error.status == 429 or error.code == CONTEXT)):
                raise
        except BaseException:
            await stream.aclose()
            raise
        frames = to_sse(stream, protocol=api, heartbeat=self._keep_alive, describe_error=in_stream, **options)
        return _Streamed(frames, {**sse_headers(api), **run.headers})

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
            keep_reasoning(store, said)
            if answer.asked.api == "openai-responses":
                keep_answer(store, answer_id, answer.asked, said)


class _Stream:
    """The events of an answer, whose first ones are read before anything is sent."""

    def __init__(
        self, run: AnswerRun, events: AsyncGenerator[Any, None], left: Callable[[], None], turn_id: str
    ) -> None:
        self._run, self._events, self._left, self._turn_id = run, events, left, turn_id
        self._first: asyncio.Future[list[Any]] | None = None

    async def begin(self, timeout: float) -> None:  # noqa: ASYNC109 - what is late is no error here
        """Wait for the first output; after `timeout` seconds it is left to whoever reads the events."""
        self._first = asyncio.ensure_future(begun(self._events))
        await asyncio.wait({self._first}, timeout=timeout)
        if self._first.done():
            self._first.result()

    async def __aiter__(self) -> AsyncIterator[Any]:
        if self._first is not None:
            if not self._first.done():  # clients take no sign of life before the beginning of the answer
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
