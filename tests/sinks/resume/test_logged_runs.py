"""`StreamRuns` with a log: any process finds the runs of all, and goes on with those of one that is gone.

Two processes are two `StreamRuns` with one log here; tests/scale has real ones. All in virtual time.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import virtual_time
from away_log import Away
from sse_stream import EVENTS, one_by_one

from penstock.events import Notice, UsageError
from penstock.scale import LogState, MemoryLog, Retention
from penstock.sinks import StreamRuns
from penstock.sinks.log.stream_log import LARGEST_ITEM
from penstock.sinks.resume.logged_run import RunHead, keep_head, newest_head
from penstock.sinks.resume.stream_runs import StreamRun
from penstock.sinks.web import openai_chat_frames, openai_responses_frames, protocols
from penstock.sinks.web.protocols import PROTOCOLS

END = {"type": "STREAM_END"}


class Provider:
    """Notices, one each second; knows how often it was asked, and how many streams are open."""

    def __init__(self, number: int, error: Exception | None = None) -> None:
        self.asked = self.opened = 0
        self._number = number
        self._error = error

    async def again(self, asked: Any) -> AsyncIterator[Any]:
        assert asked == {"id": "chat"}
        return self.events()

    async def events(self) -> AsyncIterator[Any]:
        self.asked += 1
        self.opened += 1
        try:
            for number in range(1, self._number + 1):
                yield Notice("n", str(number))
                await asyncio.sleep(1)
            if self._error is not None:
                raise self._error
        finally:
            self.opened -= 1


def notices(first: int, last: int) -> list[Any]:
    return [{"type": "NOTICE", "code": "n", "detail": str(number)} for number in range(first, last + 1)]


async def found(runs: StreamRuns, again: Any = None) -> StreamRun:
    run = await runs.find("chat", again)
    assert run is not None
    return run


async def objects(run: StreamRun, after: int = 0) -> list[Any]:
    return [json.loads(line) async for line in one_by_one(run.json_lines(after))]


def kill(runs: StreamRuns) -> None:
    """End what a process does, as if it were killed: nothing is closed in the log."""
    assert runs._logged is not None
    for writer in runs._logged._writers.values():
        writer.task.cancel()


def test_any_process_reads_a_run_from_any_event_on_while_it_is_written_and_behind_its_end():
    async def main() -> None:
        log, provider = MemoryLog(), Provider(5)
        here, there = StreamRuns(log=log), StreamRuns(log=log)
        run = here.start(provider.events(), id="chat")
        early = asyncio.ensure_future(objects(run))
        await asyncio.sleep(2.5)
        assert len(here) == 1
        both = [
            asyncio.ensure_future(objects(await found(each), after)) for each in (here, there) for after in (0, 2, 3)
        ]
        whole = [*notices(1, 5), END]
        expected = [whole, whole[2:], whole[3:]]
        assert await asyncio.gather(*both) == [*expected, *expected]
        assert await early == whole
        await asyncio.sleep(1)
        for runs in (here, there):
            late = await found(runs)
            assert (late.has_ended, late.last_event_id, late.protocol) == (True, 6, "segments")
            assert await objects(late, 4) == whole[4:]
            assert await objects(late, 6) == []
        assert (provider.asked, provider.opened, len(here)) == (1, 0, 0)

    virtual_time.run(main())


def test_frames_have_the_same_numbers_in_every_process_and_protocol():
    async def main() -> None:
        for protocol in PROTOCOLS:
            log = MemoryLog()
            here, there = StreamRuns(log=log), StreamRuns(log=log)

            async def events() -> AsyncIterator[Any]:
                for event in EVENTS:
                    yield event

            run = here.start(events(), id="chat", protocol=protocol)
            mine = [chunk async for chunk in one_by_one(run.sse())]
            other = await found(there)
            assert other.protocol == protocol
            assert [chunk async for chunk in one_by_one(other.sse())] == mine
            assert [chunk async for chunk in one_by_one(other.sse("2"))] == mine[2:]
            assert mine[0].startswith(b"id: 1\n")

    virtual_time.run(main())


def test_nobody_is_waited_for_and_the_run_goes_on_to_its_end_without_a_reader():
    async def main() -> None:
        log, provider = MemoryLog(), Provider(100)
        here, there = StreamRuns(log=log, grace=0), StreamRuns(log=log)
        here.start(provider.events(), id="chat")
        await asyncio.sleep(1)
        reader = (await found(there)).json_lines()
        await anext(reader)
        await reader.aclose()
        await asyncio.sleep(200)
        assert await objects(await found(there), 98) == [*notices(99, 100), END]

    virtual_time.run(main())


def test_who_is_not_there_is_not_found_and_a_new_run_takes_the_place_of_the_old():
    async def main() -> None:
        log = MemoryLog()
        here, there = StreamRuns(log=log), StreamRuns(log=log)
        assert await there.find("chat") is None
        old = here.start(Provider(3).events(), id="chat")
        await asyncio.sleep(0.5)
        reader = asyncio.ensure_future(objects(await found(there)))
        await asyncio.sleep(0.5)
        there.start(Provider(1).events(), id="chat")
        await asyncio.sleep(0.5)
        assert await objects(await found(here)) == [*notices(1, 1), END]
        assert await reader == await objects(old) == [*notices(1, 3), END]

    virtual_time.run(main())


def test_ids_of_several_parts_are_kept_apart():
    async def main() -> None:
        runs = StreamRuns(log=MemoryLog())
        runs.start(Provider(1).events(), id=("ann", "chat"))
        await asyncio.sleep(0.1)
        assert await runs.find(("ann", "chat")) is not None
        for other in (("bob", "chat"), ("annc", "hat"), "annchat", ("ann",), "ann"):
            assert await runs.find(other) is None

    virtual_time.run(main())


def test_another_process_goes_on_with_the_run_of_one_that_is_gone_and_nothing_is_lost_or_doubled():
    async def main() -> None:
        log, provider = MemoryLog(), Provider(20)
        here, there, third = (StreamRuns(log=log, lease=3) for _ in range(3))
        here.start(provider.events(), id="chat", asked={"id": "chat"}, replays=True)
        await asyncio.sleep(4.5)
        readers = [
            asyncio.ensure_future(objects(await found(runs, provider.again), after))
            for runs, after in ((here, 0), (there, 0), (third, 2))
        ]
        kill(here)
        await asyncio.sleep(0)
        whole = [*notices(1, 20), END]
        assert await asyncio.gather(*readers) == [whole, whole, whole[2:]]
        assert provider.asked == 2
        assert provider.opened == 0

    virtual_time.run(main())


def test_frames_come_again_in_every_protocol_whenever_they_are_written(monkeypatch: pytest.MonkeyPatch):
    async def again(_: Any) -> AsyncIterator[Any]:
        return events()

    async def events() -> AsyncIterator[Any]:
        for event in EVENTS:
            yield event
            await asyncio.sleep(1)

    async def main() -> None:
        for protocol in PROTOCOLS:
            whole = StreamRuns(log=MemoryLog()).start(events(), protocol=protocol)
            length = len(await objects(whole))
            log = MemoryLog()
            here, there = StreamRuns(log=log, lease=3), StreamRuns(log=log, lease=3)
            here.start(events(), id="chat", asked={}, replays=True, protocol=protocol)
            await asyncio.sleep(len(EVENTS) - 1.5)
            kill(here)
            with monkeypatch.context() as later:
                for frames in (openai_chat_frames, openai_responses_frames, protocols):
                    later.setattr(frames, "time", lambda: 4e9)
                shown = await objects(await found(there, again))
            assert "is not what" not in json.dumps(shown)
            assert len(shown) == length

    virtual_time.run(main())


def test_it_may_be_gone_as_often_as_it_likes():
    async def main() -> None:
        log, provider = MemoryLog(), Provider(40)
        first = StreamRuns(log=log, lease=1)
        first.start(provider.events(), id="chat", asked={"id": "chat"}, replays=True)
        await asyncio.sleep(3)
        kill(first)
        processes = [StreamRuns(log=log, lease=1) for _ in range(3)]
        readers = [asyncio.ensure_future(objects(await found(runs, provider.again))) for runs in processes]
        for _ in range(12):
            await asyncio.sleep(2.2)
            for runs in processes:
                kill(runs)
        assert await asyncio.gather(*readers) == [[*notices(1, 40), END]] * 3

    virtual_time.run(main())


def test_a_run_that_cannot_be_had_again_ends_with_an_error_once_its_process_is_gone():
    async def main() -> None:
        for protocol in PROTOCOLS:
            log = MemoryLog()
            here, there = StreamRuns(log=log, lease=3), StreamRuns(log=log, lease=3)
            here.start(Provider(20).events(), id="chat", protocol=protocol)
            await asyncio.sleep(4.5)
            reader = asyncio.ensure_future(objects(await found(there, Provider(20).again)))
            kill(here)
            shown = await reader
            assert "the process that read the stream is gone" in json.dumps(shown[-1])
            assert await objects(await found(there)) == shown
            assert (await found(there)).has_ended
            if protocol == "segments":
                assert shown == [*notices(1, 5), shown[-1]]
                assert shown[-1]["type"] == "STREAM_ERROR"

    virtual_time.run(main())


def test_a_silent_process_is_not_gone():
    async def main() -> None:
        async def events() -> AsyncIterator[Any]:
            yield Notice("n", "1")
            await asyncio.sleep(1000)
            yield Notice("n", "2")

        log = MemoryLog()
        here, there = StreamRuns(log=log, lease=3), StreamRuns(log=log, lease=3)
        here.start(events(), id="chat")
        await asyncio.sleep(1)
        assert await objects(await found(there)) == [*notices(1, 2), END]

    virtual_time.run(main())


def test_a_run_that_is_started_while_the_log_is_away_is_written_when_it_is_there():
    async def main() -> None:
        log, provider = Away(), Provider(3)
        log.is_away = True
        run = StreamRuns(log=log).start(provider.events(), id="chat")
        reader = asyncio.ensure_future(objects(run))
        await asyncio.sleep(30)
        log.is_away = False
        assert await reader == [*notices(1, 3), END]
        assert await objects(await found(StreamRuns(log=log))) == [*notices(1, 3), END]

    virtual_time.run(main())


def test_a_run_is_found_here_as_soon_as_it_is_started():
    async def main() -> None:
        log, provider = MemoryLog(), Provider(3)
        runs = StreamRuns(log=log)
        runs.start(provider.events(), id="chat")
        assert await objects(await found(runs)) == [*notices(1, 3), END]
        second = runs.start(Provider(2).events(), id="chat")
        assert await objects(await found(runs)) == [*notices(1, 2), END] == await objects(second)

    virtual_time.run(main())


def test_readers_break_off_where_the_log_stays_away_and_nobody_here_can_go_on():
    async def main() -> None:
        for is_begun in (False, True):
            log, provider = Away(), Provider(200)
            runs = StreamRuns(log=log)
            log.is_away = not is_begun
            reader = asyncio.ensure_future(objects(runs.start(provider.events(), id="chat", replays=True)))
            await asyncio.sleep(2.5)
            log.is_away = True
            shown = await reader
            assert shown == (notices(1, 3) if is_begun else [])
            assert (len(runs), provider.opened) == (0, 0)

    virtual_time.run(main())


def test_who_comes_back_goes_on_with_a_run_that_was_started_here_and_is_written_by_nobody():
    async def main() -> None:
        log, provider = MemoryLog(), Provider(20)
        runs = StreamRuns(log=log, lease=3)
        early = asyncio.ensure_future(
            objects(runs.start(provider.events(), id="chat", asked={"id": "chat"}, replays=True))
        )
        await asyncio.sleep(4.5)
        kill(runs)
        late = asyncio.ensure_future(objects(await found(runs, provider.again), 2))
        assert await late == [*notices(3, 20), END]
        assert await early == [*notices(1, 20), END]
        assert provider.asked == 2

    virtual_time.run(main())


def test_frames_that_differ_when_they_come_again_end_the_run(caplog: pytest.LogCaptureFixture):
    async def main() -> None:
        log = MemoryLog()
        here, there = StreamRuns(log=log, lease=3), StreamRuns(log=log, lease=3)
        here.start(Provider(20).events(), id="chat", asked={"id": "chat"}, replays=True)
        await asyncio.sleep(4.5)
        kill(here)
        asked = 0

        async def again(_: Any) -> AsyncIterator[Any]:
            nonlocal asked
            asked += 1
            return others()

        async def others() -> AsyncIterator[Any]:
            yield Notice("n", "1")
            yield Notice("other", "2")

        shown = await objects(await found(there, again))
        assert shown[:5] == notices(1, 5)
        assert shown[5]["type"] == "STREAM_ERROR"
        assert "is not what was shown" in shown[5]["error"]["detail"]
        assert (len(shown), asked) == (6, 5)

    virtual_time.run(main())


def test_what_is_not_there_yet_is_asked_again(caplog: pytest.LogCaptureFixture):
    async def main() -> None:
        log, provider = MemoryLog(), Provider(10)
        here, there = StreamRuns(log=log, lease=3), StreamRuns(log=log, lease=3)
        here.start(provider.events(), id="chat", asked={"id": "chat"}, replays=True)
        await asyncio.sleep(4.5)
        kill(here)
        asked = 0

        async def again(request: Any) -> AsyncIterator[Any]:
            nonlocal asked
            asked += 1
            return Provider(2, ConnectionError("refused")).events() if asked < 4 else await provider.again(request)

        assert await objects(await found(there, again)) == [*notices(1, 10), END]
        assert asked == 4

    with caplog.at_level(logging.CRITICAL):
        virtual_time.run(main())


def test_a_reader_of_any_process_cancels_the_run_for_all():
    async def main() -> None:
        log = MemoryLog()
        here, there = StreamRuns(log=log, lease=3), StreamRuns(log=log, lease=3)
        for canceller in (here, there):
            provider = Provider(1000)
            here.start(provider.events(), id="chat")
            await asyncio.sleep(2.5)
            readers = [asyncio.ensure_future(objects(await found(runs))) for runs in (here, there)]
            await asyncio.sleep(1)
            await (await found(canceller)).cancel("enough")
            mine, other = await asyncio.gather(*readers)
            assert mine == other
            assert mine[:4] == notices(1, 4)
            assert mine[4:] == [END] if canceller is here else "enough" in mine[4]["error"]["detail"]
            await asyncio.sleep(3)
            assert provider.opened == 0

    virtual_time.run(main())


def test_readers_of_two_processes_may_cancel_at_once():
    class Distant(MemoryLog):
        """A log whose answers take a while."""

        async def claim(self, stream: str) -> LogState:
            state = await super().claim(stream)
            await asyncio.sleep(0.1)
            return state

        async def append(self, stream: str, items: Sequence[bytes], fence: int, *, after: int) -> int:
            last = await super().append(stream, items, fence, after=after)
            await asyncio.sleep(0.1)
            return last

    async def main() -> None:
        for pause in (0, 0.05, 0.12):  # the second one comes when the first has claimed, and when it has appended
            log = Distant()
            processes = [StreamRuns(log=log) for _ in range(3)]
            processes[0].start(Provider(20).events(), id="chat")
            await asyncio.sleep(2.5)
            one, other = [await found(each) for each in processes[1:]]
            first = asyncio.ensure_future(one.cancel("enough"))
            await asyncio.sleep(pause)
            await asyncio.gather(first, other.cancel("enough"))
            shown = await objects(await found(processes[0]))
            assert shown[:-1] == notices(1, 3)
            assert shown[-1]["error"]["detail"] == "enough"

    virtual_time.run(main())


def test_the_end_of_a_server_leaves_what_others_can_go_on_with_and_ends_the_rest():
    async def main() -> None:
        log = MemoryLog()
        for replays in (True, False):
            provider = Provider(10)
            here, there = StreamRuns(log=log, lease=3), StreamRuns(log=log, lease=3)
            here.start(provider.events(), id="chat", asked={"id": "chat"}, replays=replays)
            await asyncio.sleep(4.5)
            reader = asyncio.ensure_future(objects(await found(there, provider.again)))
            await here.aclose()
            assert provider.opened == 0
            assert await reader == [*notices(1, 10 if replays else 5), END]
            assert provider.asked == 1 + replays

    virtual_time.run(main())


def test_a_reader_that_comes_too_late_for_what_the_log_keeps_is_told_of_the_gap():
    async def main() -> None:
        log = MemoryLog(Retention(items=4))
        here, there = StreamRuns(log=log), StreamRuns(log=log)
        here.start(Provider(9).events(), id="chat")
        await asyncio.sleep(20)
        gap = {"type": "STREAM_GAP", "after": 2, "next": 7}
        assert await objects(await found(there), 2) == [gap, *notices(7, 9), END]
        assert await objects(await found(there), 7) == [*notices(8, 9), END]
        assert await objects(await found(there), 999) == [{**gap, "after": 999}, *notices(7, 9), END]

    virtual_time.run(main())


def test_a_reader_that_is_ahead_of_the_log_waits_for_what_it_has_not():
    async def main() -> None:
        log = MemoryLog()
        here, there = StreamRuns(log=log), StreamRuns(log=log)
        here.start(Provider(9).events(), id="chat")
        await asyncio.sleep(2.5)
        assert await objects(await found(there), 5) == [*notices(6, 9), END]

    virtual_time.run(main())


def test_a_process_that_keeps_little_reads_again_what_the_log_has():
    async def main() -> None:
        log = MemoryLog()
        here, there = StreamRuns(log=log), StreamRuns(log=log, max_frames=3)
        here.start(Provider(30).events(), id="chat")
        await asyncio.sleep(20.5)
        slow = (await found(there)).json_lines()
        await anext(slow)
        fast = asyncio.ensure_future(objects(await found(there), 15))
        late = asyncio.ensure_future(objects(await found(there), 2))
        assert await fast == [*notices(16, 30), END]
        assert await late == [*notices(3, 30), END]
        await slow.aclose()

    virtual_time.run(main())


def test_an_event_that_no_log_can_hold_ends_the_run_with_an_error():
    async def main() -> None:
        async def events() -> AsyncIterator[Any]:
            yield Notice("n", "1")
            yield Notice("n", "x" * LARGEST_ITEM)
            yield Notice("n", "2")

        runs = StreamRuns(log=MemoryLog())
        runs.start(events(), id="chat")
        await asyncio.sleep(1)
        first, last = await objects(await found(runs))
        assert first == notices(1, 1)[0]
        assert "longer than" in last["error"]["detail"]

    virtual_time.run(main())


def test_a_head_of_another_format_is_not_read(caplog: pytest.LogCaptureFixture):
    async def main() -> None:
        log = MemoryLog()
        runs = StreamRuns(log=log)
        runs.start(Provider(1).events(), id="chat")
        await asyncio.sleep(5)
        head = await newest_head(log, "chat")
        assert head is not None
        await keep_head(log, "chat", RunHead(2, head.run, head.protocol))
        assert await runs.find("chat") is None
        assert "a run of 2 format is not read: this process reads format 1" in caplog.text

    virtual_time.run(main())


def test_wrong_options_are_told():
    async def main() -> None:
        runs = StreamRuns(log=MemoryLog())
        with pytest.raises(UsageError, match=r"await runs\.find"):
            runs.get("chat")
        with pytest.raises(UsageError, match=r"lease= must be at least 0\.1"):
            StreamRuns(log=MemoryLog(), lease=0)

    virtual_time.run(main())
