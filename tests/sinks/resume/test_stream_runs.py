"""`StreamRuns`: readers beside each other, the time without readers, and how runs end. All in virtual time."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
import virtual_time
from every_sdk import all_have_ended
from sse_stream import EVENTS, START, Stream, one_by_one
from websocket_peer import CANCEL, Cancellable, Peer

from penstock.events import Notice, ProviderError, UsageError
from penstock.sinks import StreamRuns
from penstock.sinks.resume.kept_stream import CLOSING, FIRST_READER, PATIENCE
from penstock.sinks.resume.stream_runs import StreamRun

END = {"type": "STREAM_END"}


async def ticks(number: int, seconds: float = 1) -> AsyncIterator[Any]:
    """Yield so many events, one each second."""
    for each in range(number):
        await asyncio.sleep(seconds)
        yield Notice("n", str(each))


async def objects(run: StreamRun, after: int = 0) -> list[Any]:
    return [json.loads(line) async for line in one_by_one(run.json_lines(after))]


async def types(run: StreamRun) -> list[str]:
    return [each["type"] for each in await objects(run)]


def now() -> float:
    return asyncio.get_running_loop().time()


async def read_one(run: StreamRun) -> Any:
    """Take one frame and leave."""
    lines = one_by_one(run.json_lines())
    frame = await anext(lines)
    await lines.aclose()
    return json.loads(frame)


async def ended(run: StreamRun) -> None:
    """Wait until a run has ended, without a reader."""
    while not run.has_ended:  # noqa: ASYNC110 - virtual time
        await asyncio.sleep(PATIENCE / 10)


# Readers


def test_two_readers_at_once_get_each_event_when_it_comes():
    async def read(run: StreamRun) -> list[float]:
        return [now() async for _ in one_by_one(run.sse())]

    async def main() -> None:
        run = StreamRuns().start(ticks(3))
        one, other = await asyncio.gather(read(run), read(run))
        assert one == other == [1, 2, 3, 3]

    virtual_time.run(main())


@pytest.mark.parametrize("size", [{"max_frames": 20}, {"max_bytes": 20 * 40}])
def test_a_reader_that_never_reads_costs_the_others_nothing_and_then_has_a_gap(size: Any):
    async def main() -> None:
        run = StreamRuns(**size).start(ticks(1000))
        idle = one_by_one(run.json_lines())
        first = await anext(idle)
        got = [json.loads(first), *await objects(run, 1)]
        assert now() == 1000
        assert [each.get("detail") for each in got] == [*map(str, range(1000)), None]
        gap, *rest = [json.loads(line) async for line in idle]
        assert gap == {"type": "STREAM_GAP", "after": 1, "next": 1001 - len(rest) + 1}
        assert rest == got[-len(rest) :]
        assert 10 < len(rest) <= 20

    virtual_time.run(main())


def test_events_that_all_come_at_once_reach_a_reader_however_small_the_buffer():
    async def main() -> None:
        run = StreamRuns(max_frames=1).start(ticks(500, 0))
        assert len(await objects(run)) == 501
        assert now() == 0

    virtual_time.run(main())


def test_a_slow_reader_slows_the_stream_if_it_is_the_fastest():
    async def main() -> None:
        run = StreamRuns(max_frames=5).start(ticks(50, 0))
        got = 0
        async for chunk in run.json_lines():
            got += chunk.count(b"\n")
            await asyncio.sleep(PATIENCE / 2)
        assert got == 51

    virtual_time.run(main())


def test_readers_that_stand_still_hold_the_stream_up_once():
    async def main() -> None:
        stream = Stream([Notice("n", str(each)) for each in range(100)])
        run = StreamRuns(max_frames=5).start(stream)
        idle = [run.json_lines(), run.json_lines()]
        for each in idle:
            await anext(each)
        await ended(run)
        assert now() <= 2 * PATIENCE
        assert stream.closed == 1
        for each in idle:
            assert [json.loads(line)["type"] async for line in one_by_one(each)] == [
                "STREAM_GAP",
                *["NOTICE"] * 4,
                "STREAM_END",
            ]

    virtual_time.run(main())


def test_without_readers_nothing_is_waited_for():
    async def main() -> None:
        run = StreamRuns(max_frames=5).start(ticks(100, 0))
        await ended(run)
        assert now() < PATIENCE
        assert (await objects(run))[0] == {"type": "STREAM_GAP", "after": 0, "next": 97}

    virtual_time.run(main())


def test_a_number_that_the_run_does_not_have_is_a_gap():
    async def main() -> None:
        run = StreamRuns().start(ticks(1))
        assert await types(run) == ["NOTICE", "STREAM_END"]
        assert await objects(run, 7) == [{"type": "STREAM_GAP", "after": 7, "next": 1}, *await objects(run)]

    virtual_time.run(main())


def test_heartbeats_come_while_there_is_nothing_else():
    async def main() -> None:
        run = StreamRuns().start(ticks(1, 40))
        assert [(now(), chunk[:5]) async for chunk in one_by_one(run.sse(heartbeat=15))][:3] == [
            (15, b": \n\n"),
            (30, b": \n\n"),
            (40, b"id: 1"),
        ]
        assert [line async for line in one_by_one(run.json_lines(2, heartbeat=15))] == []

    virtual_time.run(main())


# The time without readers


@pytest.mark.parametrize("grace", [0, 3, 30.0])
def test_the_stream_goes_on_for_the_grace_time_and_is_then_cancelled(grace: float):
    async def main() -> None:
        stream = Stream([START], endless=True)
        runs = StreamRuns(grace=grace, keep=5)
        run = runs.start(stream)
        await read_one(run)
        await asyncio.sleep(grace - 0.1 if grace else 0)
        assert stream.closed == 0 or not grace
        await asyncio.sleep(0.2)
        assert stream.closed == 1
        assert run.has_ended
        _, end, terminal = await objects(run)
        assert (end["payload"], terminal) == ({"status": "interrupted", "reason": "no reader"}, END)
        assert runs.get(run.id) is run
        await asyncio.sleep(5)
        assert (runs.get(run.id), len(runs)) == (None, 0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    virtual_time.run(main())


def test_a_reader_that_comes_back_in_time_stops_the_clock():
    async def main() -> None:
        runs = StreamRuns(grace=10)
        run = runs.start(ticks(100))
        for _ in range(9):
            assert (await read_one(run))["detail"] == "0"
            await asyncio.sleep(9.5)
        last = await objects(run, run.last_event_id)
        assert [each.get("detail") for each in last] == [*map(str, range(86, 100)), None]
        assert now() == 100

    virtual_time.run(main())


def test_one_of_two_readers_that_leaves_starts_no_clock():
    async def main() -> None:
        run = StreamRuns(grace=1).start(ticks(50))
        stays = asyncio.create_task(objects(run))
        await read_one(run)
        assert len(await stays) == 51

    virtual_time.run(main())


@pytest.mark.parametrize(("grace", "closed_at"), [(0, FIRST_READER), (60, 60), (None, None)])
def test_a_run_that_nobody_reads_has_ten_seconds_at_least(grace: float | None, closed_at: float | None):
    async def main() -> None:
        stream = Stream([START], endless=True)
        runs = StreamRuns(grace=grace)
        run = runs.start(stream)
        await asyncio.sleep(1000 if closed_at is None else closed_at - 0.1)
        assert (stream.closed, run.has_ended) == (0, False)
        await asyncio.sleep(0.2)
        assert stream.closed == (closed_at is not None)
        await runs.aclose()

    virtual_time.run(main())


def test_an_ended_run_is_kept_for_late_readers_and_then_forgotten():
    async def main() -> None:
        runs = StreamRuns(keep=60)
        run = runs.start(ticks(2))
        await asyncio.sleep(61)
        assert await types(run) == ["NOTICE", "NOTICE", "STREAM_END"]
        assert runs.get(run.id) is run
        await asyncio.sleep(2)
        assert runs.get(run.id) is None

    virtual_time.run(main())


def test_a_stream_that_its_own_cancel_does_not_end_is_closed():
    class Deaf(Cancellable):
        def _told(self, reason: str) -> None:
            self.reasons.append(reason)

    class Broken(Cancellable):
        def _told(self, reason: str) -> None:
            self.reasons.append(reason)
            raise KeyError(reason)

    async def main() -> None:
        for kind, seconds in ((Deaf, CLOSING), (Broken, 0)):
            stream = kind(waits=True)
            run = StreamRuns(grace=0).start(stream)
            before = now()
            await read_one(run)
            await ended(run)
            assert (stream.reasons, stream.closed) == (["no reader"], 1)
            assert now() - before == pytest.approx(seconds, abs=0.2)
            assert await types(run) == ["SEGMENT_START"]  # it is cut off, so there is no last object

    virtual_time.run(main())


# Cancelling, closing, replacing


def test_a_reader_that_cancels_ends_the_run_for_all():
    async def main() -> None:
        peer, stream = Peer(CANCEL), Stream([START], endless=True)
        run = StreamRuns().start(stream)
        other = asyncio.create_task(objects(run))
        await run.websocket(peer.send, peer.receive)
        assert peer.objects == await other
        assert peer.objects[1]["payload"] == {"status": "interrupted", "reason": "enough"}
        await run.cancel("too late")
        assert stream.closed == 1

    virtual_time.run(main())


@pytest.mark.parametrize("cancellations", [1, 3])
def test_readers_that_are_cancelled_leave_no_task_and_the_run_ends(cancellations: int):
    async def main() -> None:
        stream = Stream([START], endless=True)
        run = StreamRuns(grace=1, keep=0).start(stream)
        readers = [asyncio.create_task(objects(run)), asyncio.create_task(run.websocket(Peer().send, Peer().receive))]
        await asyncio.sleep(1)
        for _ in range(cancellations):
            for reader in readers:
                reader.cancel()
            await asyncio.sleep(0)
        await asyncio.wait(readers)
        assert stream.closed == 0
        await asyncio.sleep(2)
        await all_have_ended()
        assert stream.closed == 1

    virtual_time.run(main())


def test_closing_all_runs_closes_their_events_and_leaves_no_task():
    async def main() -> None:
        runs = StreamRuns()
        streams = [Stream([START], endless=True) for _ in range(4)]
        for stream in streams:
            runs.start(stream, id=min(2, streams.index(stream)))
        reader = asyncio.create_task(types(next(run for run in [runs.get(0)] if run)))
        await asyncio.sleep(1)
        await runs.aclose()
        assert await reader == ["SEGMENT_START"]
        assert [stream.closed for stream in streams] == [1] * 4
        assert len(runs) == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    virtual_time.run(main())


def test_a_run_that_is_replaced_is_read_to_its_end_and_found_no_more():
    async def main() -> None:
        runs = StreamRuns(grace=30)
        old = runs.start(ticks(10), id="chat")
        reader = asyncio.create_task(objects(old))
        await asyncio.sleep(2.5)
        new = runs.start(ticks(1), id="chat")
        assert runs.get("chat") is new
        assert len(await reader) == 11
        await asyncio.sleep(30)
        assert runs.get("chat") is new

    virtual_time.run(main())


def test_a_run_that_is_replaced_ends_with_its_last_reader():
    async def main() -> None:
        runs = StreamRuns(grace=30)
        streams = [Stream([START], endless=True) for _ in range(3)]
        read, _, _ = (runs.start(stream, id="chat") for stream in streams)
        lines = one_by_one(read.json_lines())
        await anext(lines)
        await asyncio.sleep(1)
        assert [stream.closed for stream in streams] == [1, 1, 0]
        await lines.aclose()
        await runs.aclose()

    virtual_time.run(main())


def test_the_end_of_the_loop_ends_a_run():
    async def main() -> Stream:
        stream = Stream([START], endless=True)
        await read_one(StreamRuns().start(stream))
        return stream

    assert virtual_time.run(main()).closed == 1


# Errors


@pytest.mark.parametrize(
    ("error", "told", "level"),
    [
        (ProviderError("busy"), {"class": "ProviderError", "detail": "busy"}, logging.WARNING),
        (KeyError("secret"), {"class": "KeyError"}, logging.ERROR),
    ],
)
def test_an_error_is_told_to_late_readers_too_and_logged_once(
    error: Exception, told: Any, level: int, caplog: pytest.LogCaptureFixture
):
    async def main() -> None:
        run = StreamRuns().start(Stream([START], error))
        for _ in range(3):
            _, end, terminal = await objects(run)
            assert (end["type"], terminal) == ("SEGMENT_END", {"type": "STREAM_ERROR", "error": told})

    caplog.set_level(logging.INFO, "penstock")
    virtual_time.run(main())
    [record] = caplog.records
    assert (record.name, record.levelno) == ("penstock", level)
    assert "secret" not in caplog.text


def test_what_has_no_json_form_ends_the_run_with_an_error():
    async def main() -> None:
        run = StreamRuns().start(Stream([START, object(), START]))
        assert await types(run) == ["SEGMENT_START", "SEGMENT_END", "STREAM_ERROR"]

    virtual_time.run(main())


@pytest.mark.parametrize("is_whole", [False, True])
def test_the_last_data_of_a_protocol_follows_its_last_object_and_no_cut(is_whole: bool):
    async def main() -> None:
        runs = StreamRuns()
        run = runs.start(Stream(EVENTS, endless=not is_whole), protocol="openai-chat")
        chunks = one_by_one(run.sse())
        seen = [await anext(chunks)]
        if not is_whole:
            await runs.aclose()
        seen += [chunk async for chunk in chunks]
        assert (seen[-1] == b"data: [DONE]\n\n") == is_whole

    virtual_time.run(main())


def test_wrong_arguments_are_told_at_the_call():
    async def main() -> None:
        for options in (
            {"grace": -1},
            {"keep": -0.1},
            {"max_bytes": 0},
            {"max_frames": 0},
            {"grace": float("nan")},
            {"keep": "60"},
            {"max_bytes": None},
        ):
            with pytest.raises(UsageError, match="must be at least"):
                StreamRuns(**options)
        runs = StreamRuns()
        with pytest.raises(UsageError, match=r"StreamRuns.start.*got list"):
            runs.start(EVENTS)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="protocol="):
            runs.start(Stream([]), protocol="xml")  # type: ignore[arg-type]
        assert len(runs) == 0
        run = runs.start(Stream([]))
        for wrong in ("x", "1.5", "-1", "²", "9" * 16, -1, 1.5):
            with pytest.raises(UsageError, match="number of an event"):
                run.sse(wrong)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="above 0"):
            run.json_lines(heartbeat=0)
        assert [len(runs.start(Stream([])).id) for _ in range(2)] == [22, 22]  # type: ignore[arg-type]
        await runs.aclose()

    virtual_time.run(main())


MUTANTS = {
    "a stream that nobody reads goes on for ever": ("", ("sinks/resume/kept_stream.py", "            self._call_later(self._lifetime.grace, self._stop)\n", "            pass\n")),
}  # fmt: skip
