"""`stream_routes`: ready endpoints for Starlette and FastAPI. Needs `pip install ".[server]"`."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from typing_extensions import Unpack

from ...events.errors import UsageError, how_to_install
from ..web.protocols import (
    DescribeError,
    ProtocolOptions,
    Select,
    UiProtocol,
    checked_heartbeat,
    describe_error,
    encoder_of,
)
from .stream_runs import StreamRuns

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection
    from starlette.routing import BaseRoute

EventStream: TypeAlias = AsyncIterable[Any]
FrameForm: TypeAlias = Literal["sse", "json_lines"]


def id_in_request(request: Any) -> str | None:
    """Return the `id` of a request if it is a string of at most 200 characters, as that of `useChat` is.

    >>> id_in_request({"id": "chat_1", "messages": []}), id_in_request([])
    ('chat_1', None)
    """
    value: object = cast("dict[str, Any]", request).get("id") if isinstance(request, dict) else None
    return value if isinstance(value, str) and 0 < len(value) <= 200 else None


def stream_routes(  # noqa: PLR0913 - each has a default that serves most
    path: str,
    start: Callable[[Any], EventStream | Awaitable[EventStream]],
    *,
    runs: StreamRuns | None = None,
    protocol: UiProtocol = "segments",
    form: FrameForm = "sse",
    id_of: Callable[[Any], str | None] = id_in_request,
    options_of: Callable[[Any], ProtocolOptions] | None = None,
    owner: Callable[[HTTPConnection[Any]], str] | None = None,
    heartbeat: float | None = 15.0,
    replays: bool = False,
    select: Select | None = None,
    describe_error: DescribeError = describe_error,
    **options: Unpack[ProtocolOptions],
) -> list[BaseRoute]:
    """Return the routes that start a stream, resume it and stop it, over HTTP and WebSockets.

        app = FastAPI()
        app.routes.extend(stream_routes("/chat", lambda request: pipeline.astream(ask(request["messages"]))))

        POST   /chat               the JSON of the body goes to `start`; the answer is the stream
        GET    /chat/{id}/stream   the stream from the start, or behind the event of the header `Last-Event-ID`
        DELETE /chat/{id}/stream   cancels the stream
        WS     /chat               the first message is the JSON; the answer is the stream; a reader may cancel
        WS     /chat/{id}/stream   as GET

    A reader that leaves has the `grace` time of `runs` to come back; then the stream is cancelled. The id of a run is
    in the header `x-run-id`. The number of the last event may also be given as `?last_event_id=`. Where there is
    nothing to resume, the status is 204 (404 if the clients of the protocol refuse that); a WebSocket is closed.

    - `start`: a function, also an async one, from the request's JSON to an async stream of events. Its exceptions go to
      the app, such as an `HTTPException`.
    - `runs`: by default a new `StreamRuns()`.
    - `form`: what POST and GET send, server-sent events or lines of JSON (without heartbeats).
    - `id_of`: a function from the request's JSON to the id of its run, None for a random one; by default the key `id`.
    - `options_of`: a function from the request's JSON to options of the protocol that differ from request to request.
    - `owner`: a function from the connection to whose it is, such as `lambda connection: connection.user.identity`; a
      run is found only by its owner. By default, whoever knows the id can read.
    - `replays`: whether `start` returns the same events again for the same request, as behind `penstock buffer`. Where
      `runs` has a log, another process then goes on with the runs of one that is gone.
    - `protocol`, `heartbeat`, `select`, `describe_error` and further options: as in `to_sse`.

    Listening, CORS and who may ask are the app's. `UsageError` if starlette is not installed, and for wrong arguments.
    """
    if form not in get_args(FrameForm):
        message = f"form= must be 'sse' or 'json_lines', got {form!r}"
        raise UsageError(message)
    if not path.startswith("/"):
        message = f"path must begin with a slash, got {path!r}"
        raise UsageError(message)
    encoder_of(protocol, options)  # wrong options are told now, not at the first request
    checked_heartbeat(heartbeat)
    try:
        from .run_endpoints import RunEndpoints  # noqa: PLC0415 - what it imports is an extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "starlette":
            raise
        message = f"stream_routes needs starlette; {how_to_install('server')}"
        raise UsageError(message) from error
    runs = StreamRuns() if runs is None else runs
    how: dict[str, Any] = {"protocol": protocol, "select": select, "describe_error": describe_error, **options}
    return RunEndpoints(
        runs,
        start,
        form=form,
        id_of=id_of,
        options_of=options_of,
        owner=owner,
        heartbeat=heartbeat,
        replays=replays,
        how=how,
    ).routes(path)
