"""A kept request: asked once, written into the log, and sent to whoever asks for it again, at any buffer."""

from __future__ import annotations

import asyncio
from pathlib import Path

from away_log import Away
from buffers import BODY, KEY, NAME, PATH, Answer, ask, buffer, client, fake, in_loop, until, where
from log_backends import BACKENDS
from looped import looped

from penstock.scale import FencedError, LogState, MemoryLog, Retention, stream_name
from penstock.scale.buffer.kept_answer import Asked, End, Frames, Head, Part, frame, settle
from penstock.sinks.log.stream_log import KEPT

PIECES = (b"data: 1\n\n", b"data: 2\n\n", b"data: 3\n\n")
WHOLE = b"".join(PIECES)


async def parts(log: MemoryLog, name: str = NAME) -> list[Part]:
    frames = Frames()
    return [part for item in await log.read(name) for part in frames.feed(item.data)]


def body_in(found: list[Part]) -> bytes:
    return b"".join(part for part in found if isinstance(part, bytes))


async def closed(log: MemoryLog, name: str = NAME) -> None:
    async def is_closed() -> bool:
        state = await log.state(name)
        return state is not None and state.is_closed

    await until(is_closed)


async def bytes_kept(log: MemoryLog, body: bytes) -> None:
    async def are_kept() -> bool:
        return body_in(await parts(log)) == body

    await until(are_kept)


@in_loop
async def test_an_answer_comes_at_once_and_the_log_has_all_of_it_between_its_head_and_its_end():
    go, log = asyncio.Event(), MemoryLog()
    headers = ((b"content-type", b"text/event-stream"), (b"request-id", b"r1"), (b"set-cookie", b"c=secret"))
    async with (
        fake(Answer((PIECES[0], go, *PIECES[1:]), headers=headers)) as (url, provider),
        buffer(url, log, name="b1", every=1000) as running,
        client(running.url) as http,
        http.stream("POST", PATH, content=BODY, headers={"x-penstock-stream": NAME, "x-api-key": KEY}) as response,
    ):
        assert (response.status_code, response.headers["x-penstock-stream"]) == (200, NAME)
        assert response.headers["set-cookie"] == "c=secret"
        pieces = response.aiter_bytes()
        assert await anext(pieces) == PIECES[0]
        go.set()
        assert b"".join([each async for each in pieces]) == b"".join(PIECES[1:])
        await closed(log)
        asked, head, *body, end = await parts(log)
        assert isinstance(asked, Asked)
        assert (asked.method, asked.path, asked.owner) == ("POST", PATH, "b1")
        assert head == Head(200, [("content-type", "text/event-stream"), ("request-id", "r1")])
        assert (body_in(body), end) == (WHOLE, End("complete"))
        got = provider.got[0]
        assert (got.method, got.path, got.body) == ("POST", PATH, BODY)
        assert ("x-api-key", KEY) in got.headers
        assert ("accept-encoding", "identity") in got.headers
        assert not any(name.startswith("x-penstock") for name, _ in got.headers)


@in_loop
async def test_a_client_may_leave_and_whoever_asks_again_gets_all_of_the_same_answer_at_any_buffer():
    go, log = asyncio.Event(), MemoryLog()
    async with (
        fake(Answer((PIECES[0], go, *PIECES[1:]))) as (url, provider),
        buffer(url, log, name="b1") as first,
        buffer(url, log, name="b2") as second,
        client(first.url) as at_first,
        client(second.url) as at_second,
    ):
        async with at_first.stream("POST", PATH, content=BODY, headers={"x-penstock-stream": NAME}) as response:
            assert await anext(response.aiter_bytes()) == PIECES[0]
        again = [asyncio.create_task(ask(each)) for each in (at_first, at_second, at_second)]
        await bytes_kept(log, PIECES[0])
        said = await where(at_second)
        assert (said["state"], said["owner"], said["status"], said["bytes"]) == ("open", "b1", 200, len(PIECES[0]))
        go.set()
        assert [await each for each in again] == [(200, WHOLE, True)] * 3
        await closed(log)
        assert await ask(at_first) == await ask(at_second) == (200, WHOLE, True)
        said = await where(at_second)
        assert (said["state"], said["reason"], said["bytes"]) == ("complete", None, len(WHOLE))
        assert len(provider.got) == 1
        assert not provider.left.is_set()


@in_loop
async def test_requests_for_one_stream_at_the_same_time_are_asked_once():
    go, log = asyncio.Event(), MemoryLog()
    async with (
        fake(Answer(PIECES, begin=go)) as (url, provider),
        buffer(url, log) as running,
        client(running.url) as http,
    ):
        asked = [asyncio.create_task(ask(http)) for _ in range(5)]
        await until(lambda: provider.got)
        go.set()
        assert [await each for each in asked] == [(200, WHOLE, True)] * 5
        assert len(provider.got) == 1


class Racing(MemoryLog):
    """A log in which two look for a stream before either claims it."""

    def __init__(self) -> None:
        super().__init__()
        self._both = asyncio.Barrier(2)

    async def state(self, stream: str) -> LogState | None:
        state = await super().state(stream)
        if state is None and stream == NAME:
            await self._both.wait()
        return state


@in_loop
async def test_two_buffers_that_are_asked_at_the_same_moment_send_one_answer():
    log, go = Racing(), asyncio.Event()
    async with (
        fake(Answer((b"1",), begin=go), Answer((b"2",), begin=go)) as (url, provider),
        buffer(url, log, name="b1") as first,
        buffer(url, log, name="b2") as second,
        client(first.url) as at_first,
        client(second.url) as at_second,
    ):
        asked = [asyncio.create_task(ask(each)) for each in (at_first, at_second)]
        await until(lambda: provider.got)
        go.set()
        one, other = [await each for each in asked]
        assert one == other
        assert one in [(200, b"1", True), (200, b"2", True)]
        assert body_in(await parts(log)) == one[1]


@in_loop
async def test_another_request_under_the_same_name_is_refused_and_is_not_to_be_repeated():
    log = MemoryLog()
    async with (
        fake(Answer(PIECES)) as (url, provider),
        buffer(url, log) as running,
        client(running.url) as http,
    ):
        await ask(http)
        for target, body in ((PATH, b"{}"), ("/v1/responses", BODY), (f"{PATH}?alt=sse", BODY)):
            response = await http.post(target, content=body, headers={"x-penstock-stream": NAME})
            assert (response.status_code, response.headers["x-should-retry"]) == (409, "false")
            assert "belongs to another request" in response.json()["error"]["message"]
        for name in ("a/b", "x" * 65, ""):
            response = await http.post(PATH, content=BODY, headers={"x-penstock-stream": name})
            assert response.status_code == 400
            assert "use stream_name" in response.json()["error"]["message"]
        assert len(provider.got) == 1


@in_loop
async def test_no_key_is_in_the_log_wherever_it_came_from():
    log = MemoryLog()
    answers = [
        Answer(
            (b'{"error": {"message": "wrong key: ', b"%b" % KEY[:9].encode(), b"%b." % KEY[9:].encode(), b'"}}'),
            status=401,
        )
    ]
    names = [stream_name(each) for each in range(3)]
    async with (
        fake(*answers) as (url, provider),
        buffer(url, log) as running,
        client(running.url) as http,
    ):
        for name, target, headers in zip(
            names,
            (PATH, PATH, "/v1beta/models/m:streamGenerateContent?alt=sse&key=" + KEY),
            ({"authorization": f"Bearer {KEY}"}, {"x-api-key": KEY}, {}),
            strict=True,
        ):
            response = await http.post(target, content=BODY, headers={"x-penstock-stream": name, **headers})
            assert response.status_code == 401
            assert KEY in response.text
            await closed(log, name)
        items = b"".join([item.data for name in names for item in await log.read(name)])
        assert b"wrong key: ***." in items
        assert KEY.encode() not in items
        assert [got.query for got in provider.got] == ["", "", f"alt=sse&key={KEY}"]


@looped(
    "answer, status, state",
    [
        (Answer((b'{"error": {"message": "slow down"}}',), 429, ((b"retry-after", b"3"),)), 429, "complete"),
        (Answer((b"oops",), 500), 500, "complete"),
        (Answer((), 302, ((b"location", b"https://elsewhere.example/"),)), 302, "complete"),
        (Answer((None,)), 200, "interrupted"),
    ],
)
def test_what_has_no_answer_in_it_is_asked_again_under_the_same_name(answer: Answer, status: int, state: str):
    async def main() -> None:
        log = MemoryLog()
        async with (
            fake(answer, Answer(PIECES)) as (url, provider),
            buffer(url, log) as running,
            client(running.url) as http,
        ):
            assert (await ask(http))[0] == status
            await closed(log)
            assert (await where(http))["state"] == state
            assert await ask(http) == (200, WHOLE, True)
            assert len(provider.got) == 2

    asyncio.run(main())


@in_loop
async def test_a_broken_answer_breaks_off_for_the_client_and_for_each_that_comes_later_and_is_not_asked_again():
    log = MemoryLog()
    async with (
        fake(Answer((PIECES[0], None))) as (url, provider),
        buffer(url, log) as running,
        client(running.url) as http,
    ):
        for _ in range(2):
            assert await ask(http) == (200, PIECES[0], False)
            await closed(log)
        assert (await where(http))["reason"] == "connection_lost"
        assert len(provider.got) == 1


@in_loop
async def test_an_upstream_that_cannot_be_reached_is_a_502_that_clients_repeat():
    log = MemoryLog()
    async with fake(Answer(PIECES)) as (url, _):
        gone = url
    async with buffer(gone, log) as running, client(running.url) as http:
        for headers in ({"x-penstock-stream": NAME}, {}):
            response = await http.post(PATH, content=BODY, headers=headers)
            assert response.status_code == 502
            assert "x-should-retry" not in response.headers
        assert (await where(http))["reason"] == "connection_lost"


@in_loop
async def test_a_request_can_be_cancelled_where_it_is_owned_and_from_elsewhere():
    for number in range(2):
        log, never = MemoryLog(), asyncio.Event()
        async with (
            fake(Answer((PIECES[0], never))) as (url, provider),
            buffer(url, log, name="b1", beat=0.05) as first,
            buffer(url, log, name="b2") as second,
            client((first, second)[number].url) as http,
            client(first.url) as owner,
        ):
            asked = asyncio.create_task(ask(owner))
            await until(lambda: first.buffer.kept.owned)
            await until(lambda: first.buffer.kept.owned[NAME].size)
            response = await http.delete(f"/penstock/streams/{NAME}")
            assert (response.status_code, response.json()["state"]) == (200, "interrupted")
            assert response.json()["reason"] == "cancelled"
            await provider.left.wait()
            assert await asked == (200, PIECES[0], False)
            assert (await http.delete(f"/penstock/streams/{NAME}")).json()["reason"] == "cancelled"
            assert (await http.delete(f"/penstock/streams/{stream_name(9)}")).status_code == 404
            metrics = (await owner.get("/metrics")).text
            assert f"penstock_buffer_fenced_total {float(number)}" in metrics


@in_loop
async def test_a_fenced_owner_stops_and_its_upstream_is_left():
    log, never = MemoryLog(), asyncio.Event()
    async with (
        fake(Answer((PIECES[0], never))) as (url, provider),
        buffer(url, log, beat=0.05) as running,
        client(running.url) as http,
    ):
        asked = asyncio.create_task(ask(http))
        await until(lambda: (owned := running.buffer.kept.owned.get(NAME)) and owned.size)
        await log.claim(NAME)
        await provider.left.wait()
        assert await asked == (200, PIECES[0], False)
        assert End not in [type(each) for each in await parts(log)]


@in_loop
async def test_a_client_of_an_owner_that_is_fenced_before_the_head_gets_the_other_ones_answer():
    log, never = MemoryLog(), asyncio.Event()
    async with (
        fake(Answer(PIECES, begin=never)) as (url, provider),
        buffer(url, log, beat=0.05) as running,
        client(running.url) as http,
    ):
        asked = asyncio.create_task(ask(http))
        await until(lambda: provider.got)
        state = await log.claim(NAME)
        first = (await parts(log))[0]
        written = [frame(each) for each in (first, Head(200, []), WHOLE, End("complete"))]
        await log.append(NAME, written, state.fence, after=state.last)
        assert await asked == (200, WHOLE, True)


@in_loop
async def test_what_a_dead_owner_has_left_is_ended_by_a_reader_after_the_lease_and_by_its_next_process_at_once():
    for owner, options in (("b1", {"lease": 0.2}), ("b2", {"lease": 3600.0})):
        log = MemoryLog()
        async with (
            fake(Answer(PIECES)) as (url, _),
            buffer(url, log, name="b2", **options) as running,
            client(running.url) as http,
        ):
            await ask(http)
            await closed(log)
            asked = (await parts(log))[0]
            assert isinstance(asked, Asked)
            left = stream_name("left")
            state = await log.claim(left)
            dead = Asked(method="POST", path=PATH, digest=asked.digest, owner=owner, at="")
            await log.append(left, [frame(dead), frame(Head(200, [])), frame(PIECES[0])], state.fence, after=0)
            assert await ask(http, left) == (200, PIECES[0], False)
            assert (await where(http, left))["reason"] == "owner_lost"
            assert "penstock_buffer_settled_total 1.0" in (await http.get("/metrics")).text or owner == "b1"


@in_loop
async def test_a_buffer_that_starts_again_ends_what_it_had_left_open_and_nothing_else():
    log = MemoryLog()
    names = {each: stream_name(each) for each in ("own", "other", "foreign")}
    for each, name in names.items():
        state = await log.claim(name)
        first = frame(Asked(method="POST", path=PATH, digest="d", owner="b1" if each == "own" else "b2", at=""))
        await log.append(name, [b"{}" if each == "foreign" else first], state.fence, after=0)
    async with fake(Answer(PIECES)) as (url, _), buffer(url, log, name="b1"):
        await closed(log, names["own"])
    assert sorted(await log.open_streams()) == sorted((names["other"], names["foreign"]))


@in_loop
async def test_without_the_log_kept_requests_are_refused_and_a_running_one_goes_on_and_is_written_later():
    go, log = asyncio.Event(), Away()
    async with (
        fake(Answer((PIECES[0], go, *PIECES[1:]))) as (url, provider),
        buffer(url, log) as running,
        client(running.url) as http,
        http.stream("POST", PATH, content=BODY, headers={"x-penstock-stream": NAME}) as response,
    ):
        pieces = response.aiter_bytes()
        assert await anext(pieces) == PIECES[0]
        assert (await http.get("/penstock/health")).status_code == 200
        log.is_away = True
        go.set()
        assert b"".join([each async for each in pieces]) == b"".join(PIECES[1:])
        refused = await http.post(PATH, content=BODY, headers={"x-penstock-stream": stream_name(2)})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        health = await http.get("/penstock/health")
        assert (health.status_code, health.json()["status"], health.json()["open_streams"]) == (503, "log_away", 1)
        assert health.json()["log_lag_seconds"] > 0
        assert (await http.get(f"/penstock/streams/{NAME}")).status_code == 503
        assert (await http.post(PATH, content=BODY)).status_code == 200
        log.is_away = False
        await closed(log)
        assert body_in(await parts(log)) == WHOLE
        assert len(provider.got) == 2


@looped("stays", [True, False])
def test_a_log_that_stays_away_leaves_the_answer_to_the_client_that_is_there(stays: bool):
    async def main() -> None:
        go, log = asyncio.Event(), Away()
        async with (
            fake(Answer((PIECES[0], go, *PIECES[1:]))) as (url, provider),
            buffer(url, log, patience=0.1, beat=0.02) as running,
            client(running.url) as http,
        ):
            async with http.stream("POST", PATH, content=BODY, headers={"x-penstock-stream": NAME}) as response:
                pieces = response.aiter_bytes()
                assert await anext(pieces) == PIECES[0]
                owned = running.buffer.kept.owned[NAME]
                log.is_away = True
                await until(lambda: not owned.is_kept)
                if stays:
                    go.set()
                    assert b"".join([each async for each in pieces]) == b"".join(PIECES[1:])
            if not stays:
                await provider.left.wait()

    asyncio.run(main())


@in_loop
async def test_a_client_that_is_slow_holds_nothing_up_and_gets_all_the_same():
    log, big = MemoryLog(), [bytes([number]) * 200_000 for number in range(60)]
    async with (
        fake(Answer(big)) as (url, _),
        buffer(url, log) as running,
        client(running.url) as http,
        http.stream("POST", PATH, content=BODY, headers={"x-penstock-stream": NAME}) as response,
    ):
        await closed(log)
        assert await response.aread() == b"".join(big)
        assert "replayed_total 1.0" in (await http.get("/metrics")).text


@in_loop
async def test_a_stream_whose_beginning_is_gone_and_one_of_somebody_else_are_not_sent():
    log = MemoryLog(Retention(items=2))
    foreign = stream_name("foreign")
    state = await log.claim(foreign)
    await log.append(foreign, [b"{}"], state.fence, after=0)
    async with (
        fake(Answer(PIECES)) as (url, _),
        buffer(url, log, every=0) as running,
        client(running.url) as http,
    ):
        await ask(http)
        await closed(log)
        status, said, _ = await ask(http)
        assert (status, b"has dropped the beginning" in said) == (410, True)
        status, said, _ = await ask(http, foreign)
        assert (status, b"not written by penstock buffer" in said) == (409, True)


@in_loop
async def test_to_settle_is_harmless_for_what_has_ended_and_for_what_is_empty():
    log = MemoryLog()
    state = await log.claim(NAME)
    await settle(log, NAME, "owner_lost")
    assert await log.state(NAME) is None
    state = await log.claim(NAME)
    ends = [frame(Asked(method="POST", path=PATH, digest="d", owner="b1", at="")), frame(End("complete"))]
    await log.append(NAME, ends, state.fence, after=0)
    await settle(log, NAME, "owner_lost")
    await settle(log, NAME, "owner_lost")
    assert [type(each) for each in await parts(log)] == [Asked, End]
    try:
        await log.append(NAME, [b"late"], state.fence, after=2)
        raise AssertionError
    except FencedError:
        pass


@looped("name", BACKENDS)
def test_every_log_serves_a_client_that_comes_back_to_another_buffer(name: str, tmp_path: Path):
    async def main() -> None:
        go = asyncio.Event()
        async with (
            BACKENDS[name](tmp_path, KEPT) as log,
            fake(Answer((PIECES[0], go, *PIECES[1:]))) as (url, provider),
            buffer(url, log, name="b1") as first,
            buffer(url, log, name="b2") as second,
            client(first.url) as at_first,
            client(second.url) as at_second,
        ):
            async with at_first.stream("POST", PATH, content=BODY, headers={"x-penstock-stream": NAME}) as response:
                assert await anext(response.aiter_bytes()) == PIECES[0]
            again = asyncio.create_task(ask(at_second))
            go.set()
            assert await again == (200, WHOLE, True)
            await until(lambda: not first.buffer.kept.owned)
            assert await ask(at_first) == (200, WHOLE, True)
            assert (await where(at_first))["state"] == "complete"
            assert len(provider.got) == 1

    asyncio.run(main())
