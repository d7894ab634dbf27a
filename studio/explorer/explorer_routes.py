"""`explorer_routes`: the explorer's files, and the data of its streams, for the app's server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from ...events.errors import PenstockError, UsageError
from .explored_runs import Choice, ExploredStreams

STATIC = Path(__file__).with_name("static")


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
            choice = Choice(asked.get("strategy", ""), _size(asked.get("chunk_size") or "0"))
            async with one_at_a_time:
                data = await asyncio.to_thread(streams.data, asked.get("name", ""), choice)
        except PenstockError as error:
            raise HTTPException(400, str(error)) from error
        return Response(data, media_type="application/gzip")

    return [
        Mount("/explorer", StaticFiles(directory=STATIC)),
        Route(f"{api}explored", show_names, methods=["GET"]),
        Route(f"{api}explored/data", show_data, methods=["GET"]),
    ]


def _size(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        message = f"the size of a chunk must be a whole number, got {text!r:.200}"
        raise UsageError(message) from error
