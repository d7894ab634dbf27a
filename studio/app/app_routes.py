"""The app: its server until Ctrl-C, its page and the endpoints of its runs, guarded from all other pages."""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...events.errors import PenstockError, UsageError
from ...sinks.resume.stream_routes import stream_routes
from ...sources.base.request import listen
from ...sources.base.served_hosts import ServedHosts
from ..explorer.explored_runs import ExploredStreams, RunChoice
from ..explorer.explored_stream import ExploredStream
from ..replay.replay_recordings import Recording
from ..run_provider import SDKS
from .app_session import AppRun, AppSession, describe_error
from .app_sources import AppSources, Playable, playable_in
from .app_steps import AppSteps

API = "/api/"
LONGEST_REQUEST = 1024 * 1024
"""The most bytes of a request's body."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Scripts run from the app's own files only, and no script can turn text into HTML."""
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class AppGuard:
    """An ASGI application in front of another, which gets only what the page of this server asked.

    - `Host` must name this machine: else a name on the web could point here (DNS rebinding).
    - `Origin` and `Sec-Fetch-Site`, which browsers add and pages cannot change, must be this server's.
    - Paths below `/api/` need the token, in the header `Authorization: Bearer TOKEN`. No cookie has it, so a browser
      never sends it for another page.
    - A body must say its length, and be short.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token
        self._hosts = ServedHosts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        app = self._app if refusal is None else JSONResponse({"error": refusal[1]}, refusal[0])
        await app(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the message for a request that is refused, None for one that is not."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._hosts.has(hosts[0]):
            return 403, self._hosts.refusal(hosts[0] if len(hosts) == 1 else None)
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{hosts[0]}":
            return 403, "this server answers its own page only, and the request's Origin is another"
        is_api = scope["path"].startswith(API)
        # A link from elsewhere may open the page; only the page itself may ask for the rest.
        if headers.get("sec-fetch-site", "same-origin") not in (("same-origin", "none") if is_api else _ANY):
            return 403, "this server answers its own page only, and the request comes from another"
        if is_api and not self._is_authorized(headers.get("authorization", "")):
            return 401, "the token is missing or of an earlier start; open the address that penstock app printed"
        if scope["type"] != "http":
            return 403, "this server has no WebSockets"
        if scope["method"] not in ("GET", "HEAD", "DELETE") and not _is_short(headers.get("content-length", "")):
            return 413, f"a request must say its length, and have {LONGEST_REQUEST} bytes at most"
        return None

    def _is_authorized(self, header: str) -> bool:
        return hmac.compare_digest(header.encode(), f"Bearer {self._token}".encode())


_ANY = ("same-origin", "same-site", "cross-site", "none")


def _is_short(length: str) -> bool:
    return length.isascii() and length.isdecimal() and int(length[:15]) <= LONGEST_REQUEST


STATIC = Path(__file__).with_name("static")
EXPLORER = Path(__file__).parents[1] / "explorer" / "static"
RUNS = f"{API}runs"


def app_of(session: AppSession, token: str) -> ASGIApp:
    """Return the application; everything below `/api/` needs the token. Whoever serves it closes the session.

    GET    /                                the page
    GET    /explore                         the page of the explorer, whose routes `explorer_routes` has
    GET    /api/session                     what can be played and asked, and the runs so far
    POST   /api/runs                        starts a run and streams it: `Play` or `Ask` as JSON
    GET    /api/runs/{id}/stream            the run again, or behind `Last-Event-ID`
    DELETE /api/runs/{id}/stream            stops it
    POST   /api/runs/{id}/decisions         approves or denies a call: `Decision` as JSON
    GET    /api/runs/{id}/calls/{call}      what is known of the effect of a call that waits
    GET    /api/runs/{id}/edits/{call}      the counts of an edit that streams, and what of it does not match
    GET    /api/file?path=...               the text that a file has on the disk, or null
    """

    async def start(request: Any) -> AppRun:
        try:
            return await session.start(request)
        except UsageError as error:
            raise HTTPException(400, str(error)) from error

    async def show_session(_: Request) -> Response:
        return JSONResponse(session.listed())

    async def decide(request: Request) -> Response:
        try:
            session.decide(request.path_params["run_id"], await request.body())
        except UsageError as error:
            raise HTTPException(409, str(error)) from error
        return Response(status_code=204)

    async def preview(request: Request) -> Response:
        try:
            shown = await session.preview(request.path_params["run_id"], request.path_params["call_id"])
        except UsageError as error:
            raise HTTPException(404, str(error)) from error
        return JSONResponse({"preview": shown})

    async def show_edit(request: Request) -> Response:
        try:
            return JSONResponse(session.edit(request.path_params["run_id"], request.path_params["call_id"]))
        except UsageError as error:
            raise HTTPException(404, str(error)) from error

    async def show_file(request: Request) -> Response:
        return JSONResponse({"text": await session.on_disk(request.query_params.get("path", ""))})

    async def show_page(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def show_explorer(_: Request) -> Response:
        return FileResponse(STATIC / "explore.html")

    served = Starlette(
        routes=[
            Route("/", show_page, methods=["GET"]),
            Route("/explore", show_explorer, methods=["GET"]),
            *explorer_routes(session.explored, API),
            Mount("/static", StaticFiles(directory=STATIC)),
            Route(f"{API}session", show_session, methods=["GET"]),
            Route(f"{API}file", show_file, methods=["GET"]),
            Route(RUNS + "/{run_id}/decisions", decide, methods=["POST"]),
            Route(RUNS + "/{run_id}/calls/{call_id:path}", preview, methods=["GET"]),
            Route(RUNS + "/{run_id}/edits/{call_id:path}", show_edit, methods=["GET"]),
            *stream_routes(RUNS, start, runs=session.runs, describe_error=describe_error),
        ],
        exception_handlers={HTTPException: _as_json},
    )
    return AppGuard(served, token)


async def _as_json(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return JSONResponse({"error": error.detail}, error.status_code)


def explorer_routes(streams: ExploredStreams, api: str) -> list[BaseRoute]:
    """Return the routes; those of the data are below the path `api`.

    GET    /explorer/explorer.js            the module, which the notebook's widget has, too
    GET    /api/explored                    the names of the streams
    GET    /api/explored/data?name=...      one of them, run with `strategy=` and `chunk_size=`; packed with gzip
    """
    one_at_a_time = asyncio.Lock()

    async def show_names(_: Request) -> Response:
        return JSONResponse({"streams": streams.listed()})

    async def show_data(request: Request) -> Response:
        asked = request.query_params
        try:
            choice = RunChoice(asked.get("strategy", ""), _size(asked.get("chunk_size") or "0"))
            async with one_at_a_time:
                data = await asyncio.to_thread(streams.data, asked.get("name", ""), choice)
        except PenstockError as error:
            raise HTTPException(400, str(error)) from error
        return Response(data, media_type="application/gzip")

    return [
        Mount("/explorer", StaticFiles(directory=EXPLORER)),
        Route(f"{api}explored", show_names, methods=["GET"]),
        Route(f"{api}explored/data", show_data, methods=["GET"]),
    ]


def _size(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        message = f"the size of a chunk must be a whole number, got {text!r:.200}"
        raise UsageError(message) from error


def serve_app(session: AppSession, *, port: int, ready: Callable[[str], object], page: str = "/") -> None:
    """Serve until Ctrl-C; `ready` gets the address of a page, with the token behind `#`, which no server is sent."""
    token = token_urlsafe(32)
    with listen("127.0.0.1", port) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}{page}#token={token}"
        server = _Server(app_of(session, token), session, lambda: ready(address))
        asyncio.run(server.serve(sockets=[listening]))


class _Server(uvicorn.Server):
    """Closes the runs before it waits for its connections, because their readers would wait for the runs."""

    def __init__(self, app: ASGIApp, session: AppSession, ready: Callable[[], object]) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=3,
        )
        super().__init__(config)
        self._session = session
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._session.aclose()
        await super().shutdown(sockets)


def run_app(
    recordings: Iterable[tuple[str, Recording, str]],
    *,
    folder: str | None,
    root: Path | None,
    commands: bool,
    demo: bool,
    port: int,
    ready: Callable[[str], object],
) -> None:
    """Serve until Ctrl-C. `recordings`: titles, recordings and what is said below, before those of the folder."""
    if commands and root is None and not demo:
        message = "--commands run in a folder; name it with --root DIR"
        raise UsageError(message)
    playable = [Playable(*each) for each in recordings]
    if folder is not None:
        playable += playable_in(folder)
    with _root(root, demo=demo) as place:
        serve_app(new_session(playable, place, commands=commands or demo, demo=demo), port=port, ready=ready)


def run_explorer(streams: Mapping[str, ExploredStream], *, port: int, ready: Callable[[str], object]) -> None:
    """Serve the explorer of some streams until Ctrl-C; the app plays those of them that an SDK can play."""
    playable = [
        Playable(name, Recording(name, each.api or "", b"".join(each.items)))
        for name, each in streams.items()
        if each.form == "wire" and each.api in SDKS
    ]
    session = new_session(playable, None, commands=False, explored=ExploredStreams(streams))
    serve_app(session, port=port, ready=ready, page="/explore")


def new_session(
    playable: Sequence[Playable],
    root: Path | None,
    *,
    commands: bool,
    demo: bool = False,
    explored: ExploredStreams | None = None,
) -> AppSession:
    steps = AppSteps(root, commands=commands)
    can = {"root": None if root is None else str(root), "commands": commands, "demo": demo}
    return AppSession(AppSources(playable, steps.pipeline), steps.steps, can, root, explored)


@contextmanager
def _root(root: Path | None, *, demo: bool) -> Generator[Path | None, None, None]:
    if root is None and demo:
        with TemporaryDirectory(prefix="penstock-demo-") as made:
            yield Path(made)
        return
    if root is not None and not root.is_dir():
        message = f"--root must be a folder that exists, got {root}"
        raise UsageError(message)
    yield None if root is None else root.resolve()
