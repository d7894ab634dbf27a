"""`Gateway`: the paths of OpenAI's and Anthropic's APIs in front of one server of open models, as an ASGI app."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, Final, NamedTuple

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ...events.errors import ProviderError
from ...operators.catalogue.dialect_for import dialect_for
from ...pipeline.pipeline import Pipeline
from ..chat_template import ChatTemplate
from ..completion_body import completion_body
from ..neutral import Api, NeutralRequest, RequestError
from ..read_request import read_request
from ..upstream_body import upstream_body
from .answer_events import pipeline_for
from .answer_response import Answer, Answers
from .api_errors import ApiError, api_error, told
from .upstream import CHAT, Found, Upstream

_LOGGER: Final = logging.getLogger("penstock.gateway")
PATHS: Final[Mapping[str, Api]] = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/messages": "anthropic-messages",
}
_COUNTING: Final = "/v1/messages/count_tokens"
_CLIENT_LEFT: Final = 499
"""What the log has as the status of a request whose client has left before the answer began."""
_LETTERS_A_TOKEN: Final = 4


class GatewayOptions(NamedTuple):
    """How a gateway works.

    - `model`: the upstream's model for all requests. By default the only model that the upstream has answers to every
      name, and of several each to its own.
    - `dialect`: in which the model writes calls; by default what its name says.
    - `template`: the model's chat template: the upstream gets the prompt that it makes, and its text is read raw.
    - `key`: what clients must send; it is not passed on. Without it the client's own goes to the upstream.
    - `most_at_once`: requests at the same time; further ones are refused. `longest_body`: of a request, in bytes.
    - `keep_alive`: seconds of silence after which a client gets a sign of life.
    - `change`: a function that changes the pipeline of a request, such as by `insert` of an operator.
    """

    model: str | None = None
    dialect: str | None = None
    template: ChatTemplate | None = None
    key: str | None = None
    most_at_once: int = 64
    longest_body: int = 64 * 1024 * 1024
    keep_alive: float = 10.0
    change: Callable[[Pipeline, NeutralRequest], Pipeline] | None = None


class Gateway:
    """The endpoints in front of one upstream: `Gateway(Upstream("http://127.0.0.1:8080")).app()` is an ASGI app."""

    def __init__(self, upstream: Upstream, options: GatewayOptions | None = None) -> None:
        self._upstream = upstream
        self._options = options or GatewayOptions()
        self._answers = Answers(upstream, self._options.keep_alive)
        self._count = 0
        self._is_stopping = False

    def app(self) -> Starlette:
        """Return the app; it closes the connections to the upstream when it ends."""

        @asynccontextmanager
        async def lifespan(_: Any) -> AsyncGenerator[None, None]:
            async with self._upstream:
                yield

        posts: dict[str, Api] = {**PATHS, _COUNTING: PATHS["/v1/messages"]}
        routes = [Route(path, _Endpoint(self, path, api), methods=["POST"]) for path, api in posts.items()]
        routes += [Route("/v1/models", self._models), Route("/", self._root)]
        return Starlette(routes=routes, lifespan=lifespan)

    def stop(self) -> None:
        """Refuse new requests, and end all answers with an error that says why. Call it from any thread."""
        self._is_stopping = True
        self._answers.stop("the gateway is stopping")

    def enter(self, api: Api) -> ApiError | None:
        """Count a request; return why it is refused, if it is."""
        if self._is_stopping or self._count >= self._options.most_at_once:
            why = "the gateway is stopping" if self._is_stopping else "the gateway answers too many requests at once"
            error = api_error(api, 529 if api == "anthropic-messages" else 503, why)
            return error._replace(headers={"retry-after": "1"})
        self._count += 1
        return None

    def leave(self) -> None:
        self._count -= 1

    async def respond(self, request: Request, api: Api, log: dict[str, Any]) -> Response:
        """Return the response to a request, when its first piece is there or it has failed."""
        try:
            body = await self._checked_body(request, api)
            asked = self._answers.remembered(read_request(api, body))
            log |= {"asked": asked.model, "stream": asked.stream}
            found = await self._upstream.find()
            model = self._model_for(asked, found)
            dropped = [*asked.dropped]
            question = self._question(asked, found, model, dropped)
            log["dropped"] = ",".join(dropped)
            headers = self._passed_on(request)
            if request.url.path == _COUNTING:
                return await self._counted(question, headers)
            lane, pipeline = question.lane, question.pipeline
            if self._options.change is not None:
                pipeline = self._options.change(pipeline, asked)
            log |= {"model": model, "lane": lane}
            is_codex = request.headers.get("originator", "").startswith("codex")
            answer = Answer(asked, pipeline, question.body, headers, log, is_codex=is_codex, path=question.path)
            return await self._answers.response(answer, {"x-penstock-lane": f"{lane}; {found.server}"})
        except _RefusedError as refused:
            error = refused.error
        except RequestError as wrong:
            error = api_error(api, wrong.status, str(wrong), code=wrong.code)
        except ProviderError as failed:
            log["error"] = str(failed)
            error = told(api, failed)
        return as_response(error)

    def _question(self, asked: NeutralRequest, found: Found, model: str, dropped: list[str]) -> _Question:
        dialect, template = self._options.dialect or model, self._options.template
        names = dialect_names(dialect)
        if template is None:
            body = upstream_body(asked, lane=found.lane, server=found.server, model=model, dropped=dropped)
            lane = found.lane if found.lane == "parsed" else f"raw; {'+'.join(names)}"
            return _Question(CHAT, body, lane, pipeline_for(asked, found.lane, dialect, body))
        read = dialect_for(dialect).names
        completion = completion_body(asked, template, server=found.server, model=model, dialects=read, dropped=dropped)
        pipeline = pipeline_for(
            asked, "raw", dialect, api=completion.api, starts_in_reasoning=completion.starts_in_reasoning
        )
        return _Question(completion.path, completion.body, f"raw by template; {'+'.join(names)}", pipeline)

    async def _counted(self, question: _Question, headers: Mapping[str, str]) -> Response:
        number = await self._upstream.count_tokens(question.body, headers) if question.path == CHAT else None
        how = "estimated" if number is None else "counted"
        if number is None:
            number = len(json.dumps(question.body, ensure_ascii=False)) // _LETTERS_A_TOKEN
        return JSONResponse({"input_tokens": number}, headers={"x-penstock-tokens": how})

    async def _models(self, request: Request) -> Response:
        api: Api = "anthropic-messages" if "anthropic-version" in request.headers else "openai-chat"
        try:
            self._check_client(request, api)
            found = await self._upstream.find()
        except _RefusedError as refused:
            return as_response(refused.error)
        except ProviderError as error:
            return as_response(told(api, error))
        names = [self._options.model] if self._options.model else [each["id"] for each in found.models]
        return JSONResponse(_models(names))

    async def _root(self, _: Request) -> Response:
        return JSONResponse({"name": "penstock gateway", "paths": [*PATHS, _COUNTING, "/v1/models"]})

    async def _checked_body(self, request: Request, api: Api) -> bytes:
        self._check_client(request, api)
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > self._options.longest_body:
                message = f"the request is longer than {self._options.longest_body} bytes"
                raise _RefusedError(api_error(api, 413, message))
        request.state.has_body.set()
        return bytes(body)

    def _check_client(self, request: Request, api: Api) -> None:
        if "origin" in request.headers:  # any page that a browser shows could else ask on this machine
            raise _RefusedError(api_error(api, 403, "pages in a browser are not answered"))
        key = self._options.key
        if key is not None and not hmac.compare_digest(_key_of(request).encode(), key.encode()):
            raise _RefusedError(api_error(api, 401, "the key is missing or wrong", code="invalid_api_key"))

    def _passed_on(self, request: Request) -> dict[str, str]:
        key = _key_of(request) if self._options.key is None else ""
        return {"authorization": f"Bearer {key}"} if key else {}

    def _model_for(self, asked: NeutralRequest, found: Found) -> str:
        if self._options.model is not None:
            return self._options.model
        return found.models[0]["id"] if len(found.models) == 1 else asked.model


class _Question(NamedTuple):
    """What the upstream is asked, where, and how its answer is read."""

    path: str
    body: Mapping[str, Any]
    lane: str
    pipeline: Pipeline


class _RefusedError(Exception):
    def __init__(self, error: ApiError) -> None:
        self.error = error


class _Endpoint:
    """One path. What is on its way to the upstream is given up as soon as the client has left."""

    def __init__(self, gateway: Gateway, path: str, api: Api) -> None:
        self._gateway, self._path = gateway, path
        self._api: Api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        log: dict[str, Any] = {}
        begin, status = monotonic(), _CLIENT_LEFT
        try:
            if (refused := self._gateway.enter(self._api)) is not None:
                status = refused.status
                await as_response(refused)(scope, receive, send)
                return
            try:
                status = await self._answered(scope, receive, send, log)
            finally:
                self._gateway.leave()
        finally:
            said = " ".join(f"{key}={value}" for key, value in log.items() if value not in ("", None))
            _LOGGER.info("POST %s %d %.2fs %s", self._path, status, monotonic() - begin, said)

    async def _answered(self, scope: Scope, receive: Receive, send: Send, log: dict[str, Any]) -> int:
        request = Request(scope, receive)
        request.state.has_body = has_body = asyncio.Event()

        async def answered() -> int:
            try:
                response = await self._gateway.respond(request, self._api, log)
            except ClientDisconnect:
                return _CLIENT_LEFT
            except Exception:
                _LOGGER.exception("a request failed")
                response = as_response(api_error(self._api, 500, "the gateway failed; its log says why"))
            await response(scope, _never, send)
            return response.status_code

        async def left() -> None:
            await has_body.wait()
            while (await receive())["type"] != "http.disconnect":
                pass

        work, gone = asyncio.ensure_future(answered()), asyncio.ensure_future(left())
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            work.cancel()
            gone.cancel()
            await asyncio.wait({work, gone})
        return _CLIENT_LEFT if work.cancelled() else work.result()


async def _never() -> Any:
    await asyncio.Event().wait()


def as_response(error: ApiError) -> Response:
    return JSONResponse(error.body, error.status, headers=error.headers)


def _key_of(request: Request) -> str:
    given = request.headers.get("x-api-key") or request.headers.get("authorization", "")
    return given.removeprefix("Bearer ").strip()


def dialect_names(dialect: str) -> list[str]:
    """Return the names of the dialects that a model, or a dialect, stands for."""
    return [each if isinstance(each, str) else each.name for each in dialect_for(dialect).names]


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
