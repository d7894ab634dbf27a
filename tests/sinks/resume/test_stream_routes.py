"""`stream_routes`: real uvicorn, real clients; Starlette and FastAPI."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from app_server import serving
from away_log import Away
from fastapi import APIRouter, FastAPI
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Mount, Router
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from penstock.events import ChunkResponse, Notice, ToolCallDelta, UsageError
from penstock.operators import adrive, to_segments
from penstock.scale import MemoryLog
from penstock.sinks import StreamRuns, stream_routes
from penstock.sinks.web.protocols import PROTOCOLS

CALL = [ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "f", "{}", done=True),), finish_reason="tool_calls")]


class Provider:
    """Streams of so many notices, of which `allow` lets some go; `closed` is set when one of them is closed."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.loop: Any = None
        self._gate = asyncio.Semaphore(0)
        self.closed = asyncio.Event()

    def start(self, request: Any) -> AsyncIterator[Any]:
        self.asked.append(request)
        if request.get("refuse"):
            raise HTTPException(402, "no money")
        return self._events(request)

    async def start_later(self, request: Any) -> AsyncIterator[Any]:
        await asyncio.sleep(0)
        return self.start(request)

    async def _events(self, request: Any) -> AsyncIterator[Any]:
        self.loop = asyncio.get_running_loop()
        try:
            for number in range(request.get("events", 5)):
                if number >= request.get("free", 1000):
                    await self._gate.acquire()
                yield Notice("n", str(number))
        finally:
            self.closed.set()

    def allow(self, events: int = 1) -> None:
        for _ in range(events):
            self.loop.call_soon_threadsafe(self._gate.release)

    def wait_until_closed(self) -> None:
        asyncio.run_coroutine_threadsafe(asyncio.wait_for(self.closed.wait(), 20), self.loop).result()


def whole(events: int = 5) -> list[Any]:
    return [*({"type": "NOTICE", "code": "n", "detail": str(n)} for n in range(events)), {"type": "STREAM_END"}]


def objects(body: str) -> list[Any]:
    return [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: ")]


def starlette(routes: list[Any]) -> Any:
    return Starlette(routes=routes)


def extended(routes: list[Any]) -> Any:
    app = FastAPI()
    app.routes.extend(routes)
    return app


def included(routes: list[Any]) -> Any:
    app = FastAPI()
    app.include_router(APIRouter(routes=routes))
    return app


def mounted(routes: list[Any]) -> Any:
    app = FastAPI()
    app.mount("/api", Router(routes))
    return app


def mounted_in_starlette(routes: list[Any]) -> Any:
    return Starlette(routes=[Mount("/api", routes=routes)])


APPS: list[tuple[Callable[[list[Any]], Any], str]] = [
    (starlette, ""),
    (extended, ""),
    (included, ""),
    (mounted, "/api"),
    (mounted_in_starlette, "/api"),
]


@pytest.mark.parametrize(("app", "prefix"), APPS)
def test_an_app_starts_resumes_and_stops_streams(app: Callable[[list[Any]], Any], prefix: str):
    provider = Provider()
    start = provider.start if prefix else provider.start_later
    with serving(app(stream_routes("/chat", start))) as address, httpx.Client(base_url=f"http://{address}") as client:
        url = f"{prefix}/chat"
        started = client.post(url, json={"id": "a/b ü"})
        assert (started.status_code, objects(started.text)) == (200, whole())
        assert started.headers["content-type"] == "text/event-stream"
        again = f"{url}/{started.headers['x-run-id']}/stream"
        resumed = client.get(again, headers={"Last-Event-ID": "4"})
        assert (resumed.text[:6], objects(resumed.text)) == ("id: 5\n", whole()[4:])
        assert objects(client.get(f"{again}?last_event_id=5").text) == whole()[5:]
        assert objects(client.get(again).text) == whole()
        assert client.get(again, headers={"Last-Event-ID": "6"}).status_code == 204
        assert client.get(f"{url}/other/stream").status_code == 204
        assert client.get(again, headers={"Last-Event-ID": "x"}).status_code == 400
        assert client.post(url, content=b"{").status_code == 400
        assert client.post(url, json={"refuse": True}).status_code == 402
        with client.stream("POST", url, json={"free": 1}) as stopped:
            assert client.delete(f"{url}/{stopped.headers['x-run-id']}/stream").status_code == 204
            assert objects(stopped.read().decode())[-1] == {"type": "STREAM_END"}
        assert client.delete(f"{url}/other/stream").status_code == 204
        assert len(started.headers["x-run-id"]) < len(stopped.headers["x-run-id"]) == 22
        asyncio.run(by_websocket(f"ws://{address}{url}"))
    assert provider.asked[0] == {"id": "a/b ü"}


async def by_websocket(url: str) -> None:
    async def read(path: str, *said: str) -> list[Any]:
        async with connect(url + path) as connection:
            for each in said:
                await connection.send(each)
            read = [json.loads(text) async for text in connection]
            assert connection.close_code == 1000
            return read

    assert await read("", '{"id": "w"}') == whole()
    assert await read("/w/stream?last_event_id=3") == whole()[3:]
    assert (await read("", '{"free": 0}', '{"type": "cancel"}')) == whole(0)
    for path, said, code in (
        ("", b"\xff", 1007),
        ("", '{"refuse": true}', 4402),
        ("/other/stream", None, 4404),
        ("/w/stream?last_event_id=x", None, 4400),
    ):
        async with connect(url + path) as connection:
            if said:
                await connection.send(said)
            with pytest.raises(ConnectionClosed):
                await connection.recv()
            assert connection.close_code == code


@pytest.mark.parametrize("form", ["sse", "json_lines"])
def test_a_client_whose_connection_breaks_at_each_event_gets_the_whole(form: Any):
    provider = Provider()
    routes = stream_routes("/chat", provider.start, form=form)
    with serving(Starlette(routes=routes)) as address, httpx.Client(base_url=f"http://{address}") as client:
        got: list[Any] = []
        while not got or got[-1]["type"] != "STREAM_END":
            asked = (
                ("GET", "/chat/c/stream", {"headers": {"Last-Event-ID": str(len(got))}})
                if got
                else ("POST", "/chat", {"json": {"id": "c", "events": 8, "free": 1}})
            )
            with client.stream(asked[0], asked[1], **asked[2]) as response:
                provider.allow()
                line = next(line for line in response.iter_lines() if "{" in line)
                got.append(json.loads(line.removeprefix("data: ")))
    assert got == whole(8)
    assert len(provider.asked) == 1


def test_a_websocket_that_breaks_at_each_event_is_resumed():
    provider = Provider()

    async def main(address: str) -> list[Any]:
        got: list[Any] = []
        while not got or got[-1]["type"] != "STREAM_END":
            path = f"/c/stream?last_event_id={len(got)}" if got else ""
            async with connect(f"ws://{address}/chat{path}") as connection:
                if not got:
                    await connection.send('{"id": "c", "events": 8, "free": 1}')
                else:
                    provider.allow()
                got.append(json.loads(await connection.recv()))
        return got

    with serving(Starlette(routes=stream_routes("/chat", provider.start))) as address:
        assert asyncio.run(main(address)) == whole(8)


@pytest.mark.parametrize("how", ["sse", "json_lines", "websocket"])
def test_a_client_that_leaves_for_good_closes_the_providers_stream_after_the_grace_time(how: Any):
    provider = Provider()
    form: Any = "sse" if how == "websocket" else how
    routes = stream_routes("/chat", provider.start, runs=StreamRuns(grace=0.05), form=form, heartbeat=None)

    async def leave(address: str) -> None:
        async with connect(f"ws://{address}/chat") as connection:
            await connection.send('{"free": 1}')
            await connection.recv()

    with serving(FastAPI(routes=routes)) as address:
        if how == "websocket":
            asyncio.run(leave(address))
        else:
            with httpx.stream("POST", f"http://{address}/chat", json={"free": 1}) as response:
                next(response.iter_lines())
        provider.wait_until_closed()


def test_a_run_is_found_only_by_its_owner():
    provider = Provider()
    routes = stream_routes("/chat", provider.start, owner=lambda connection: connection.headers["user"])
    with serving(Starlette(routes=routes)) as address, httpx.Client(base_url=f"http://{address}") as client:
        client.post("/chat", json={"id": "c"}, headers={"user": "mia"})
        assert client.get("/chat/c/stream", headers={"user": "leo"}).status_code == 204
        assert objects(client.get("/chat/c/stream", headers={"user": "mia"}).text) == whole()


def test_the_protocol_says_what_there_is_to_resume(monkeypatch: pytest.MonkeyPatch):
    row = PROTOCOLS["segments"]._replace(resumes_ended=False, nothing_to_resume=404, headers={"x-mine": "v1"})
    monkeypatch.setitem(PROTOCOLS, "segments", row)
    provider = Provider()
    routes = stream_routes("/", provider.start)
    with serving(Starlette(routes=routes)) as address, httpx.Client(base_url=f"http://{address}") as client:
        started = client.stream("POST", "/", json={"id": "c", "free": 4})
        with started as running, client.stream("GET", "/c/stream") as again:
            assert (again.status_code, again.headers["x-mine"]) == (200, "v1")
            provider.allow()
            assert objects(again.read().decode()) == objects(running.read().decode()) == whole()
        assert client.get("/c/stream").status_code == 404
        assert client.get("/c/stream", headers={"Last-Event-ID": "5"}).status_code == 200
        assert client.get("/d/stream").status_code == 404


def test_ids_and_options_may_come_from_the_request():
    def start(request: Any) -> AsyncIterator[Any]:
        return adrive(CALL, to_segments(turn_id="t"))

    routes = stream_routes(
        "/chat",
        start,
        protocol="tool_call_updates",
        id_of=lambda request: request["chat"],
        options_of=lambda request: {"message_id": request["message"]},
        form="json_lines",
    )
    with serving(Starlette(routes=routes)) as address, httpx.Client(base_url=f"http://{address}") as client:
        first = client.post("/chat", json={"chat": "c", "message": "m"})
        assert first.headers["content-type"] == "application/x-ndjson"
        assert "m" in [json.loads(line).get("messageId") for line in first.text.splitlines()]
        assert client.get("/chat/c/stream").text == first.text


def test_what_the_server_does_not_route_is_refused():
    async def refused(address: str) -> None:
        with pytest.raises(InvalidStatus):
            async with connect(f"ws://{address}/other"):
                pass

    with serving(Starlette(routes=stream_routes("/chat", Provider().start))) as address:
        asyncio.run(refused(address))
        assert httpx.get(f"http://{address}/chat").status_code == 405


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        ("chat", {}, "begin with a slash"),
        ("/chat", {"form": "xml"}, "form="),
        ("/chat", {"protocol": "xml"}, "protocol="),
        ("/chat", {"message_id": "m"}, "message_id= is not an option"),
        ("/chat", {"heartbeat": 0}, "above 0"),
    ],
)
def test_wrong_arguments_are_told_at_the_call(path: str, options: Any, words: str):
    with pytest.raises(UsageError, match=words):
        stream_routes(path, Provider().start, **options)


def test_without_starlette_the_error_says_what_to_install():
    program = """
import sys
sys.path.insert(0, "tests/support")
import checkout
sys.modules["starlette"] = None
from penstock.sinks import stream_routes
try:
    stream_routes("/chat", print)
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("UsageError stream_routes needs starlette"), done.stderr
    assert ".[server]" in done.stdout


def test_a_request_that_is_refused_asks_no_provider_and_what_was_opened_is_closed():
    provider = Provider()

    def refusing(connection: Any) -> str:
        raise HTTPException(401, "who are you?")

    def id_in(request: Any) -> Any:
        return request["chat"]

    for options, status in (({"owner": refusing}, 401), ({"options_of": refusing}, 401)):
        with serving(starlette(stream_routes("/chat", provider.start, **options))) as address:  # type: ignore[arg-type]
            assert httpx.post(f"http://{address}/chat", json={}).status_code == status
    assert provider.asked == []
    runs = StreamRuns()
    with serving(starlette(stream_routes("/chat", provider.start, runs=runs, id_of=id_in))) as address:
        assert httpx.post(f"http://{address}/chat", json={"chat": ["no", "key"]}).status_code == 500
    assert (len(provider.asked), len(runs)) == (1, 0)


def test_with_a_log_the_routes_of_every_process_serve_a_run_and_cancel_it():
    provider, log = Provider(), MemoryLog()
    routes = [
        *stream_routes("/here", provider.start, runs=StreamRuns(log=log)),
        *stream_routes("/there", provider.start, runs=StreamRuns(log=log)),
    ]
    with serving(starlette(routes)) as address, httpx.Client(base_url=f"http://{address}", timeout=20) as client:
        assert objects(client.post("/here", json={"id": "a/b ü"}).text) == whole()
        again = f"/there/{quote('a/b ü')}/stream"
        resumed = client.get(again, headers={"Last-Event-ID": "4"})
        assert (resumed.text[:6], objects(resumed.text)) == ("id: 5\n", whole()[4:])
        assert objects(client.get(again).text) == whole()
        assert client.get(again, headers={"Last-Event-ID": "6"}).status_code == 204
        assert client.get("/there/other/stream").status_code == 204
        with (
            client.stream("POST", "/here", json={"id": "b", "free": 1}) as mine,
            client.stream("GET", "/there/b/stream") as other,
        ):
            assert client.delete("/there/b/stream").status_code == 204
            shown = objects(other.read().decode())
            assert shown[0] == whole()[0]
            assert shown[1]["error"]["detail"] == "cancelled by the reader"
            assert objects(mine.read().decode()) == shown
    assert len(provider.asked) == 2


def test_with_a_log_another_process_asks_the_same_again_where_one_is_gone():
    provider, log = Provider(), MemoryLog()
    gone = StreamRuns(log=log, lease=0.3)
    routes = [
        *stream_routes("/here", provider.start, runs=gone, replays=True, protocol="ai-sdk"),
        *stream_routes("/there", provider.start, runs=StreamRuns(log=log, lease=0.3), replays=True, protocol="ai-sdk"),
    ]
    with serving(starlette(routes)) as address, httpx.Client(base_url=f"http://{address}", timeout=20) as client:
        with client.stream("POST", "/here", json={"id": "b", "events": 3, "free": 1}) as mine:
            first = next(mine.iter_lines())
        asyncio.run_coroutine_threadsafe(gone.aclose(), provider.loop).result(20)
        with client.stream("GET", "/there/b/stream") as other:
            lines = other.iter_lines()
            assert next(lines) == first
            provider.allow(2)
            shown = objects("\n".join(line for line in lines if line != "data: [DONE]"))
    assert [each["data"]["detail"] for each in shown if each["type"] == "data-notice"] == ["0", "1", "2"]
    assert [each["type"] for each in shown][-1] == "finish"
    assert provider.asked == [{"id": "b", "events": 3, "free": 1}] * 2


def test_while_the_log_is_away_a_reader_is_told_to_come_later():
    log = Away()
    log.is_away = True
    with serving(starlette(stream_routes("/chat", Provider().start, runs=StreamRuns(log=log)))) as address:
        for method in ("GET", "DELETE"):
            response = httpx.request(method, f"http://{address}/chat/b/stream")
            assert (response.status_code, response.headers["retry-after"]) == (503, "1")
            assert response.text == "the log is away; ask again later"


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"id": "\xff"}', b"{"])
def test_a_body_that_cannot_be_read_is_the_clients_fault(body: bytes):
    with serving(starlette(stream_routes("/chat", Provider().start))) as address:
        assert httpx.post(f"http://{address}/chat", content=body).status_code == 400


def test_a_websocket_of_somebody_else_is_closed_with_the_status_of_the_refusal():
    def refusing(connection: Any) -> str:
        raise HTTPException(401, "who are you?")

    async def closing_code(url: str) -> int | None:
        async with connect(url) as connection:
            with pytest.raises(ConnectionClosed) as closed:
                await connection.recv()
            return closed.value.rcvd.code if closed.value.rcvd else None

    with serving(starlette(stream_routes("/chat", Provider().start, owner=refusing))) as address:
        assert asyncio.run(closing_code(f"ws://{address}/chat/a/stream")) == 4401
