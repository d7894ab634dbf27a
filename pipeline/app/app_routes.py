"""The app as an ASGI application: the page, its session, and the endpoints of its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from ...events.errors import UsageError
from ...sinks.resume.stream_routes import stream_routes
from ..explorer.explorer_routes import explorer_routes
from .app_guard import API, AppGuard
from .app_run import AppRun
from .app_session import AppSession, describe_error

STATIC = Path(__file__).with_name("static")
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
            *stream_routes(RUNS, start, runs=session.runs, describe_error=describe_error),
        ],
        exception_handlers={HTTPException: _as_json},
    )
    return AppGuard(served, token)


async def _as_json(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return JSONResponse({"error": error.detail}, error.status_code)
