"""What the logs carry: real servers on the loopback, which write to their disks before they acknowledge.

    make scale                                              all scenarios on all logs, five minutes
    python benchmarks/scale.py --scenario lag --log redis   one of them
    python benchmarks/scale.py --quick                      each a second, with few streams: whether all of it runs

    appends   1,000 writers, each of a stream, append one item of 200 bytes after the other, as fast as the log can
    lag       200 streams get an item each 50 ms in one process; another one follows all, as on another machine
    readers   one process follows 2,000 streams, each of which gets an item twice a second in another one
    chain     2,000 streams of every provider are written and read by a pipeline at once: the events of a single process
    replay    among 10,000 streams of 100 items, 300 are read from the beginning by a process that has just started
    state     among 10,000 kept answers, the state of 300 chains is made again by a process that has just started: of
              answers of 300 events, in items of 6, from the log to the last event of a pipeline
    batch     recordings and bodies of four APIs are read into tables, without a log: see scale_batch.py

`us` are microseconds of CPU time for each append, of the process that appends and of the server. A delay is that from
the call of `append` until another process has the item; what waits in the writer to be joined with others is not in it.
Where others had the core for more than a few per cent of the time, delays are not those of the log. Needs Linux, where
all processes have the same clock.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/support"))
import checkout  # noqa: F401 - first of all
import psutil
from logged_streams import differing
from nats_server import NatsServer
from valkey_server import ValkeyServer

from penstock import Pipeline, SegmentContent
from penstock.scale import LogWriter, StreamLog, from_log, open_log, stream_name
from penstock.scale.buffer.kept_answer import COMPLETE, Asked, Head, frame

ITEM = 200
"""Bytes of an item: what a model writes in 50 ms, in the events of its API."""
EVENTS, JOINED = 300, 6
"""Of a long answer, and of an item: what comes within 50 ms at 120 a second."""
LAG, REPLAY = 50.0, 200.0
"""The most milliseconds that a reader may be behind at p99, and that the longest replay may take."""


class Plan(NamedTuple):
    """How much is asked: `size` is 1, or less for a quick run."""

    seconds: float
    size: float

    def of(self, number: int) -> int:
        return max(4, int(number * self.size))


class Server(NamedTuple):
    """A log that is asked: its address, and the process that keeps it, if it has one."""

    name: str
    address: str
    process: psutil.Process | None


class Figure(NamedTuple):
    """One thing that was measured, and what it may be at most."""

    what: str
    value: float
    unit: str
    most: float | None = None

    @property
    def holds(self) -> bool:
        return self.most is None or self.value <= self.most


Scenario = Callable[[Server, Plan], list[Figure]]


@contextmanager
def started(name: str) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="penstock-scale-") as made:
        folder = Path(made)
        if name == "sqlite":
            yield Server(name, f"sqlite:{folder / 'streams.sqlite'}", None)
            return
        server: ValkeyServer | NatsServer = ValkeyServer(folder) if name == "redis" else NatsServer(folder)
        server.start()
        try:
            yield Server(name, server.url, psutil.Process(server.pid))
        finally:
            server.kill()


LOGS = ("sqlite", "redis", "jetstream")


@asynccontextmanager
async def opened(address: str) -> AsyncGenerator[StreamLog, None]:
    log = open_log(address)
    try:
        yield log
    finally:
        await log.aclose()


def appends(server: Server, plan: Plan) -> list[Figure]:
    return asyncio.run(_appends(server, plan))


async def _appends(server: Server, plan: Plan) -> list[Figure]:
    async with opened(server.address) as log:
        done = 0

        async def write(stream: str) -> None:
            nonlocal done
            state = await log.claim(stream)
            last, item = state.last, os.urandom(ITEM)
            while time.monotonic() < until:
                last = await log.append(stream, [item], state.fence, after=last)
                done += 1

        begun, own, others, waited = time.monotonic(), time.process_time(), _cpu(server), _waited()
        until = begun + plan.seconds
        await asyncio.gather(*(write(stream_name("appends", number)) for number in range(plan.of(1000))))
        seconds, own, others = time.monotonic() - begun, time.process_time() - own, _cpu(server) - others
        waited = _waited() - waited
    return [
        Figure("appends", done / seconds, "/s"),
        Figure("of this process", 1e6 * own / done, "us"),
        Figure("of its core", 100 * own / seconds, "%"),
        Figure("while others had it", 100 * waited / seconds, "%"),
        *([Figure("of the server", 1e6 * others / done, "us")] if server.process else []),
        *([Figure("of the server's core", 100 * others / seconds, "%")] if server.process else []),
    ]


def lag(server: Server, plan: Plan) -> list[Figure]:
    return _behind(server, plan, streams=plan.of(200), pause=0.05)


def readers(server: Server, plan: Plan) -> list[Figure]:
    return _behind(server, plan, streams=plan.of(2000), pause=0.5)


def _behind(server: Server, plan: Plan, *, streams: int, pause: float) -> list[Figure]:
    """Return how far a process is behind another one that writes."""
    follower = _beside("follow", server.address, streams)
    assert follower.stdout is not None
    assert follower.stdout.readline() == "ready\n"
    with _beside("write", server.address, streams, pause, plan.seconds) as writer:
        output, _ = writer.communicate()
    wrote = json.loads(output)
    followed = json.loads(follower.communicate()[0])
    delays = sorted(followed["delays"])
    return [
        Figure("appends", len(delays) / plan.seconds, "/s"),
        Figure("behind, p50", _at(delays, 0.5), "ms"),
        Figure("behind, p99", _at(delays, 0.99), "ms", LAG),
        Figure("lost or doubled", float(abs(wrote["items"] - len(delays))), "", 0.0),
        Figure("of the writer's core", wrote["cpu"], "%"),
        Figure("of the reader's core", followed["cpu"], "%"),
        Figure("while others had it", followed["waited"], "%"),
    ]


async def _write(address: str, streams: str, pause: str, seconds: str) -> None:
    """Append the time to each stream again and again, say how many items that were, and close them."""
    loop, every, items = asyncio.get_running_loop(), float(pause), 0

    async def write(stream: str, begin: float) -> None:
        nonlocal items
        state = await log.claim(stream)
        for step in range(int(float(seconds) / every)):
            await asyncio.sleep(begin + step * every - loop.time())
            data = str(time.monotonic()).encode().ljust(ITEM)
            items = items + 1
            await log.append(stream, [data], state.fence, after=step)
        await log.close(stream, state.fence)

    async with opened(address) as log:
        begin, count, cpu = loop.time() + 1, int(streams), time.process_time()
        names = [stream_name("behind", number) for number in range(count)]
        await asyncio.gather(*(write(name, begin + every * at / count) for at, name in enumerate(names)))
    used = 100 * (time.process_time() - cpu) / (time.monotonic() - begin)
    print(json.dumps({"items": items, "cpu": used}))


async def _follow(address: str, streams: str) -> None:
    """Follow all streams to their ends, and say how late each item came."""
    delays: list[float] = []

    async def follow(stream: str) -> None:
        expected = 1
        async for items in log.follow(stream):
            now = time.monotonic()
            for item in items:
                if item.number == expected:  # what comes twice or is left out changes the sum
                    delays.append(1000 * (now - float(item.data)))
                expected += 1

    async with opened(address) as log:
        following = [asyncio.ensure_future(follow(stream_name("behind", number))) for number in range(int(streams))]
        await log.state(stream_name("behind"))  # behind the first looks
        print("ready", flush=True)
        begun, cpu, waited = time.monotonic(), time.process_time(), _waited()
        await asyncio.gather(*following)
        seconds = time.monotonic() - begun
        used, waited = 100 * (time.process_time() - cpu) / seconds, 100 * (_waited() - waited) / seconds
    print(json.dumps({"delays": delays, "cpu": used, "waited": waited}))


def replay(server: Server, plan: Plan) -> list[Figure]:
    streams, items = plan.of(10_000), plan.of(100)
    asyncio.run(_fill(server.address, streams, items))
    with _beside("read", server.address, streams, plan.of(300), items) as reader:
        output, _ = reader.communicate()
    times = sorted(json.loads(output))
    return [
        Figure("a whole stream, p50", _at(times, 0.5), "ms"),
        Figure("a whole stream, p99", _at(times, 0.99), "ms"),
        Figure("a whole stream, most", times[-1], "ms", REPLAY),
    ]


async def _fill(address: str, streams: int, items: int) -> None:
    """Write all streams side by side, some at a time, so that their items lie between each other."""
    turns = asyncio.Semaphore(1000)

    async def write(stream: str) -> None:
        async with turns:
            state = await log.claim(stream)
            for number in range(0, items, 10):
                several = [b"%d" % (number + each + 1) for each in range(min(10, items - number))]
                await log.append(stream, [each.ljust(ITEM) for each in several], state.fence, after=number)

    async with opened(address) as log:
        await asyncio.gather(*(write(stream_name("replay", number)) for number in range(streams)))


async def _read(address: str, streams: str, reads: str, items: str) -> None:
    times: list[float] = []
    async with opened(address) as log:
        for number in Random(7).sample(range(int(streams)), int(reads)):
            begun = time.perf_counter()
            found = await log.read(stream_name("replay", number))
            times.append(1000 * (time.perf_counter() - begun))
            assert [int(item.data) for item in found] == [*range(1, int(items) + 1)]
    print(json.dumps(times))


def state(server: Server, plan: Plan) -> list[Figure]:
    streams, reads = plan.of(10_000), plan.of(300)
    asyncio.run(_keep(server.address, streams, reads))
    with _beside("fold", server.address, reads) as reader:
        output, _ = reader.communicate()
    times = sorted(json.loads(output))
    return [
        Figure("a whole chain, p50", _at(times, 0.5), "ms"),
        Figure("a whole chain, p99", _at(times, 0.99), "ms"),
        Figure("a whole chain, most", times[-1], "ms", REPLAY),
    ]


async def _keep(address: str, streams: int, long: int) -> None:
    """Keep so many answers as a buffer does; the first `long` have ten times the events of the others."""
    turns = asyncio.Semaphore(100)

    async def write(number: int) -> None:
        async with turns:
            writer = await LogWriter.claimed(log, stream_name("state", number))
            for item in _kept_answer(EVENTS if number < long else EVENTS // 10):
                writer.put(item)
            await writer.close()

    async with opened(address) as log:
        await asyncio.gather(*map(write, range(streams)))


def _kept_answer(events: int) -> Iterator[bytes]:
    """Yield the items of an answer of so many words."""
    asked = Asked(method="POST", path="/v1/chat/completions", digest="d", owner="b1", at="2026-01-01T00:00:00Z")
    yield frame(asked) + frame(Head(200, [("content-type", "text/event-stream")]))
    of = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    said = [{"index": 0, "delta": {"content": f"word {number} "}, "finish_reason": None} for number in range(events)]
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    frames = [frame(b"data: %b\n\n" % json.dumps({**of, "choices": [each]}).encode()) for each in (*said, end)]
    for begin in range(0, len(frames), JOINED):
        yield b"".join(frames[begin : begin + JOINED])
    yield frame(COMPLETE)


async def _fold(address: str, reads: str) -> None:
    """Make the state of chains again, and say how long each took."""
    times: list[float] = []
    async with opened(address) as log, opened("memory:") as warm:
        for at, number in enumerate((0, *Random(7).sample(range(int(reads)), int(reads)))):
            stream = stream_name("state", number)
            if at == 0:  # what is imported at first use is no cost of a log
                claimed = await warm.claim(stream)
                await warm.append(stream, [*_kept_answer(EVENTS)], claimed.fence, after=0)
            begun = time.perf_counter()
            run = Pipeline().astream(from_log(warm if at == 0 else log, stream))
            text = "".join([event.delta async for event in run if isinstance(event, SegmentContent)])
            times.append(1000 * (time.perf_counter() - begun))
            assert text.endswith(f"word {EVENTS - 1} ")
    print(json.dumps(times[1:]))


def chain(server: Server, plan: Plan) -> list[Figure]:
    async def main() -> tuple[int, float]:
        async with opened(server.address) as log:
            streams, begun = plan.of(2000), time.monotonic()
            return len(await differing(log, streams)), streams / (time.monotonic() - begun)

    wrong, speed = asyncio.run(main())
    return [Figure("streams", speed, "/s"), Figure("differ", float(wrong), "", 0.0)]


SCENARIOS: dict[str, Scenario] = {
    "appends": appends,
    "lag": lag,
    "readers": readers,
    "chain": chain,
    "replay": replay,
    "state": state,
}
BATCH = "batch"
BESIDE: dict[str, Callable[..., Any]] = {"write": _write, "follow": _follow, "read": _read, "fold": _fold}
"""What runs in a process of its own: `scale.py beside NAME ARGUMENTS`."""


def _beside(name: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "beside", name, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _cpu(server: Server) -> float:
    if server.process is None:
        return 0.0
    used = server.process.cpu_times()
    return float(used.user + used.system)


def _waited() -> float:
    """Return the seconds for which threads of this process could have run while others did."""
    tasks = Path("/proc/self/task").glob("*/schedstat")
    return sum(int(each.read_text(encoding="ascii").split()[1]) for each in tasks) / 1e9


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--scenario", action="append", choices=(*SCENARIOS, BATCH), help="only this one; may be repeated"
    )
    parser.add_argument("--log", action="append", choices=LOGS, help="only this one; may be repeated")
    parser.add_argument("--records", type=int, default=2000, help="how many records are read in bulk")
    parser.add_argument("--quick", action="store_true", help="a second each, with few streams, without bounds of time")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    plan = Plan(1.0, 0.01) if given.quick else Plan(15.0, 1.0)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load of the machine {os.getloadavg()[0]:.1f}\n")
    holds = True
    for scenario in given.scenario or (*SCENARIOS, BATCH):
        if scenario == BATCH:
            import scale_batch  # noqa: PLC0415 - Arrow, which a process beside need not load

            for said, fits in scale_batch.batch(streams=given.records):
                print("PASS" if fits else "FAIL", said)
                holds = holds and fits
            continue
        for name in given.log or LOGS:
            with started(name) as server:
                for figure in SCENARIOS[scenario](server, plan):
                    fits = figure.holds or (given.quick and figure.unit == "ms")
                    told = "" if figure.most is None else f"{'PASS' if fits else 'FAIL'} at most {figure.most:g}"
                    row = f"{scenario:9}{name:11}{figure.what:22}{figure.value:10,.1f} {figure.unit:3} {told}"
                    print(row.rstrip(), flush=True)
                    holds = holds and fits
    return int(not holds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["beside"]:
        asyncio.run(BESIDE[sys.argv[2]](*sys.argv[3:]))
        sys.exit()
    sys.exit(main())
