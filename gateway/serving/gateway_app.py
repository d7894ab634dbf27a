"""`Gateway`: the paths of OpenAI's and Anthropic's APIs in front of servers of open models, as an ASGI app."""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from traceback import format_exc
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ...events.errors import ProviderError, UsageError, without_credentials
from ...sinks.log.stream_log import STREAM_HEADER, LogUnavailableError, stream_name
from ...sinks.resume.stream_runs import event_number
from ...sources.base.served_hosts import ServedHosts
from ..neutral import Api, RequestError
from ..operating.listening import while_there
from ..operating.recorder import ClientRequest, Recorder
from ..operating.request_log import CLIENT_LEFT, METRICS, RequestLog
from ..operating.request_turns import STOPPING, BusyError, Turns
from ..read_request import read_request
from .answer_guards import AnswerGuards
from .answer_response import Answers
from .answer_run import Answer
from .api_errors import ApiError, api_error, busy_error, told
from .served_model import GatewayOptions, ServedModel
from .upstream import Upstream

__all__ = ["PATHS", "Gateway", "GatewayOptions"]

_LOGGER: Final = logging.getLogger("penstock.gateway")
PATHS: Final[Mapping[str, Api]] = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/messages": "anthropic-messages",
}
_BEARER: Final = re.compile("(?i)^bearer ")
_COUNTING: Final = "/v1/messages/count_tokens"
_MODELS: Final = "/v1/models"
HEALTH: Final = "/health"


class Gateway:
    """The endpoints in front of a server: `Gateway(Upstream("http://127.0.0.1:8080")).app()` is an ASGI app.

    - `upstreams`: one or several, of which the next is asked where one fails before its first output; or the models
      that clients can ask for.

    `UsageError` for guards that cannot work, and for a folder in which nothing can be recorded.
    """

    def __init__(
        self, upstreams: Upstream | Sequence[Upstream] | Sequence[ServedModel], options: GatewayOptions | None = None
    ) -> None:
        self._options = options or GatewayOptions()
        given = [upstreams] if isinstance(upstreams, Upstream) else [*upstreams]
        models = [each for each in given if isinstance(each, ServedModel)]
        self.models = models or [ServedModel([each for each in given if isinstance(each, Upstream)], self._options)]
        self._hosts = ServedHosts(names=self._options.hosts)
        record = self._options.record
        recorder = None if record is None else Recorder(record)
        self._answers = Answers(self._options.keep_alive, recorder, self._options.log)
        self._turns = Turns(self._options.most_at_once, self._options.most_waiting, self._options.longest_wait)
        paths = (*PATHS, _COUNTING, _MODELS, HEALTH, "/")
        self._log = RequestLog(paths, self._turns, lambda: self._answers.open_streams, self.shown_text)

    def app(self) -> Starlette:
        """Return the app; it closes the connections to the servers when it ends."""

        @asynccontextmanager
        async def lifespan(_: Any) -> AsyncGenerator[None, None]:
            async with AsyncExitStack() as stack:
                stack.push_async_callback(self._answers.aclose)
                for upstream in {upstream for each in self.models for upstream in each.upstreams}:
                    await stack.enter_async_context(upstream)
                yield

        posts: dict[str, Api] = {**PATHS, _COUNTING: PATHS["/v1/messages"]}
        routes = [Route(path, _Endpoint(self, api), methods=["POST"]) for path, api in posts.items()]
        routes += [Route(_MODELS, self._listed), Route("/", self._root), Route(METRICS, self._metrics)]
        routes.append(Route(HEALTH, self._health))
        return Starlette(
            routes=routes,
            lifespan=lifespan,
            middleware=[Middleware(self._log.around)],
            exception_handlers={HTTPException: _not_served},
        )

    def refuse(self) -> None:
        """Refuse new requests from now on, and those that wait; the others are answered. Call it from any thread."""
        self._turns.is_over = True

    def stop(self) -> None:
        """Refuse new requests, and end all answers with an error that says why. Call it from any thread."""
        self.refuse()
        self._answers.stop(STOPPING)

    async def respond(self, request: Request, api: Api, held: AsyncExitStack) -> Response:
        """Return the response to a request, when its first piece is there or it has failed.

        - `held`: what is to be closed when the response has been sent.
        """
        notes = request.state.notes
        try:
            self._check_client(request, api)
            held.enter_context(self._turns.place())
            body = await self._body_of(request, api)
            headers = self._passed_on(request)
            owner = headers.get("authorization", "")
            asked = await self._answers.remembered(read_request(api, body), owner)
            notes |= {"asked": asked.model, "stream": asked.stream}
            served = self._served(asked.model)
            await held.enter_async_context(self._turns.turn(notes))
            offered = served.guards.allowed(asked)
            if request.url.path == _COUNTING:
                number, how = await served.counted(offered, headers, notes)
                return JSONResponse({"input_tokens": number}, headers={"x-penstock-tokens": how})
            is_codex = request.headers.get("originator", "").startswith("codex")
            way = partial(served.way, asked, offered, headers, notes)
            came = ClientRequest(request.url.path, body)
            there = served.upstreams_there()
            answer = Answer(asked, there, way, served.guards, came, notes, owner, is_codex=is_codex)
            if (name := request.headers.get(STREAM_HEADER)) is not None:
                answer = answer._replace(kept=self._kept_as(request.url.path, owner, name, body), after=_after(request))
            return await self._answers.response(answer)
        except _RefusedError as refused:
            error = refused.error
            notes["error"] = refused
        except BusyError as busy:
            error = busy_error(api, str(busy))
            notes["error"] = busy
        except LogUnavailableError as away:
            error = busy_error(api, "the log is away; ask again later")
            notes["error"] = f"the log is away: {without_credentials(str(away))}"
        except RequestError as wrong:
            error = api_error(api, wrong.status, str(wrong), code=wrong.code)
            notes["error"] = wrong
        except ProviderError as failed:
            error = self._told(api, failed)
            notes["error"] = failed
        return as_response(error._replace(body=self._shown_data(error.body)))

    def _kept_as(self, path: str, owner: str, name: str, body: bytes) -> str:
        """Return the name under which an answer is kept: another client and another request have another."""
        if self._options.log is None:
            detail = f"this gateway keeps no streams; start it with --log, or leave out {STREAM_HEADER}"
            raise RequestError(detail, field=STREAM_HEADER)
        return stream_name("answer", owner, path, name, body)

    def _told(self, api: Api, error: ProviderError) -> ApiError:
        """Return an upstream's error as a client and the log may have it."""
        for guards in self._guards:
            guards.hide(error)
        return told(api, error)

    @property
    def _guards(self) -> list[AnswerGuards]:
        return [each.guards for each in self.models]

    def shown_text(self, text: str) -> str:
        """Return a text as a log may have it, whichever model it is of."""
        for guards in self._guards:
            text = guards.shown_text(text)
        return text

    def _shown_data(self, data: Any) -> Any:
        for guards in self._guards:
            data = guards.shown_data(data)
        return data

    def _served(self, name: str) -> ServedModel:
        """Return the model that has a name, else the first that has a pattern for it."""
        for each in self.models:
            if name in each.names:
                return each
        for each in self.models:
            if each.fits(name):
                return each
        detail = f"unknown {name!r:.80}; known are {', '.join(each.names[0] for each in self.models)}"
        raise RequestError(detail, field="model", status=404, code="model_not_found")

    async def _listed(self, request: Request) -> Response:
        api = _api_of(request)
        try:
            self._check_client(request, api)
            names = [name for each in self.models for name in await each.listed()]
        except _RefusedError as refused:
            request.state.notes["error"] = refused
            return as_response(refused.error)
        except ProviderError as error:
            request.state.notes["error"] = error
            return as_response(self._told(api, error))
        return JSONResponse(_models([*dict.fromkeys(names)]))

    async def _metrics(self, request: Request) -> Response:
        try:
            self._check_client(request, _api_of(request))
        except _RefusedError as refused:
            return as_response(refused.error)
        return self._log.exposed(request)

    async def _health(self, _: Request) -> Response:
        """Return how the gateway is, without a key: for a balancer, and for what adds gateways."""
        state = {
            "status": "draining" if self._turns.is_over else "ok",
            "open_streams": self._answers.open_streams,
            "waiting_requests": self._turns.waiting,
            "log_lag_seconds": self._answers.lag,
        }
        return JSONResponse(state, 503 if self._turns.is_over else 200)

    async def _root(self, _: Request) -> Response:
        return JSONResponse({"name": "penstock gateway", "paths": [*PATHS, _COUNTING, _MODELS, HEALTH, METRICS]})

    async def _body_of(self, request: Request, api: Api) -> bytes:
        """Return the body. Of one that is too long as much again is read: some clients read no error before its end."""
        body, longest, length = bytearray(), self._options.longest_body, 0
        wait, loop = self._options.longest_wait, asyncio.get_running_loop()
        try:
            async with asyncio.timeout(wait) as limit:
                async for piece in request.stream():
                    limit.reschedule(loop.time() + wait)
                    length += len(piece)
                    if length <= longest:
                        body += piece
                    elif length > 2 * longest:
                        break
        except TimeoutError:  # it has a place, which others wait for
            silent = api_error(api, 408, f"no more of the request came within {wait:g} seconds")
            raise _RefusedError(silent) from None
        if length > longest:
            raise _RefusedError(api_error(api, 413, f"the request is longer than {longest} bytes"))
        request.state.has_body.set()
        return bytes(body)

    def _check_client(self, request: Request, api: Api) -> None:
        if "origin" in request.headers:  # any page that a browser shows could else ask on this machine
            raise _RefusedError(api_error(api, 403, "pages in a browser are not answered"))
        key = self._options.key
        hosts = request.headers.getlist("host")
        if key is None and not (len(hosts) == 1 and self._hosts.has(hosts[0])):  # such a page needs no origin to read
            refusal = self._hosts.refusal(hosts[0] if len(hosts) == 1 else None)
            raise _RefusedError(
                api_error(api, 403, f"{refusal}; with a key, which clients then send, it answers to any")
            )
        if key is not None and not hmac.compare_digest(_key_of(request).encode("latin-1"), key.strip().encode()):
            raise _RefusedError(api_error(api, 401, "the key is missing or wrong", code="invalid_api_key"))

    def _passed_on(self, request: Request) -> dict[str, str]:
        key = _key_of(request) if self._options.key is None else ""
        return {"authorization": f"Bearer {key}"} if key else {}


class _RefusedError(Exception):
    def __init__(self, error: ApiError) -> None:
        super().__init__(error.body["error"]["message"])
        self.error = error


class _Endpoint:
    """One path. What is on its way to the upstream is given up as soon as the client has left."""

    def __init__(self, gateway: Gateway, api: Api) -> None:
        self._gateway = gateway
        self._api: Api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        request.state.has_body = has_body = asyncio.Event()

        async def answered() -> None:
            async with AsyncExitStack() as held:
                try:
                    response = await self._gateway.respond(request, self._api, held)
                except ClientDisconnect:
                    request.state.notes["_status"] = CLIENT_LEFT
                    return
                except Exception:  # noqa: BLE001 - logged as a text, which is redacted
                    shown = self._gateway.shown_text(format_exc())
                    _LOGGER.error("a request failed\n%s", shown)  # noqa: TRY400 - the exception is in it
                    response = as_response(api_error(self._api, 500, "the gateway failed; its log says why"))
                await response(scope, _never, send)

        work = await while_there(answered(), receive, has_body)
        if work.cancelled():
            request.state.notes["_status"] = CLIENT_LEFT
        else:
            work.result()


async def _never() -> Any:
    await asyncio.Event().wait()


def as_response(error: ApiError) -> Response:
    return JSONResponse(error.body, error.status, headers=error.headers)


def _key_of(request: Request) -> str:
    given = request.headers.get("x-api-key") or request.headers.get("authorization", "")
    return _BEARER.sub("", given).strip()


def _api_of(request: Request) -> Api:
    """Return the API of a client that asks for a path which several have."""
    return "anthropic-messages" if "anthropic-version" in request.headers else "openai-chat"


def _after(request: Request) -> int:
    """Return the number of the last event that a client has; `RequestError` if it is none."""
    try:
        return event_number(request.headers.get("last-event-id"))
    except UsageError as error:
        raise RequestError(str(error), field="last-event-id") from error


async def _not_served(request: Request, error: Exception) -> Response:
    """Return the response for a path or a method that is not served."""
    assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for no other
    served = ", ".join((*PATHS, _COUNTING, _MODELS))
    message = f"{request.method} {request.url.path:.80} is not served; the paths are {served}"
    request.state.notes["error"] = message
    said = api_error(_api_of(request), error.status_code, message)
    return as_response(said._replace(headers=dict(error.headers or {})))


def _models(names: list[str]) -> dict[str, Any]:
    """Return the list of models, in which clients of both providers find what they look for."""
    listed = [
        {
            "id": name,
            "object": "model",
            "created": 0,
            "owned_by": "penstock",
            "type": "model",
            "display_name": name,
            "created_at": "1970-01-01T00:00:00Z",
        }
        for name in names
    ]
    ends = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
    return {"object": "list", "data": listed, "has_more": False, **ends}
