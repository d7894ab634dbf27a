"""How many live streams one core carries, from the provider's bytes to invocations, beside the same loop doing nothing.

    make live-streams                                       2,000 streams, then the search for the most; two minutes
    python benchmarks/live_streams.py --streams 500 --seconds 5 --no-search
    python benchmarks/live_streams.py --profile             what limits it: the functions that take the time
    python benchmarks/live_streams.py --gc on               with the garbage collector as Python has it
    python benchmarks/live_streams.py --pauses              what a full collection takes, without any load

Each stream is one call of write_file after the other, as the server-sent events of an API, one event a chunk, a number
of chunks a second. All run in one asyncio loop of one thread, on one core. A chunk that is due is handed to its stream
as a socket would: streams that were not read meanwhile get all of their chunks in one piece.

The added delay of a chunk is the time from when it is due until all of its events have been delivered to an async loop,
which asks for more. `nothing` does the same without the library: the bytes are read and dropped. `uvloop` is the
library in that event loop, if it is installed. `cpu` is the share of the core that was used, `us/chunk` the CPU time
for each chunk; a high `waited` means that other programs had the core, and the delays are not the loop's. `gc ms` is
the longest pause of the garbage collector in CPU time, `chunks/read` how many chunks came in one piece.

The collector is off unless told, because no stream here needs it; `gc on` is the same with it, for comparison.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import json
import os
import platform
import pstats
import random
import signal
import sys
import tempfile
import time
from array import array
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from peers.wires import WIRES

from penstock.events import ToolInvocation
from penstock.operators import adrive, stage, stream_fields, to_invocations, to_segments
from penstock.sources import decode_wire

BOUND = 0.1
"""The most that the p99 of the added delay may be, in seconds."""
SLOTS = 50
"""Into how many moments of a period the streams are spread."""
SETTLE = 1.0
"""Seconds until delays count."""
STEPS = 4
"""Halvings of the search."""
MOST = 20_000
PIECES = 400
LENGTHS = 20
FUNCTIONS = 20
REPEATS = 3

Reader = Callable[["Stream"], Any]


class Seen:
    """What all streams of a run saw together."""

    def __init__(self) -> None:
        self.begin = 0.0
        self.delays = array("d")
        self.reads = 0
        self.chunks = 0
        self.calls = 0
        self.wrong = 0
        self.pauses = array("d")
        self._pause_began = 0.0

    def note(self, due: list[float]) -> None:
        """Note the delays of chunks that were read in one piece."""
        now = time.monotonic()
        if due and due[0] > self.begin:
            self.reads += 1
            self.delays.extend([now - each for each in due])

    def note_pause(self, phase: str, _: dict[str, int]) -> None:
        now = time.thread_time()
        if phase == "start":
            self._pause_began = now
        elif time.monotonic() > self.begin:
            self.pauses.append(now - self._pause_began)


class Body(NamedTuple):
    """The frames of a call, and its arguments."""

    api: str
    frames: list[bytes]
    arguments: dict[str, Any]


class Stream:
    """One connection: chunks are handed in when they are due, and read as one piece."""

    def __init__(self, body: Body, seen: Seen) -> None:
        self.body, self.seen, self.place = body, seen, 0
        self.inbox: list[bytes] = []
        self.due: list[float] = []
        self.waiter: asyncio.Future[None] | None = None
        self.is_over = False

    def hand_in(self, due: float) -> None:
        if self.is_over:
            return
        self.inbox.append(self.body.frames[self.place])
        self.due.append(due)
        self.seen.chunks += 1
        self.place += 1
        self.is_over = self.place == len(self.body.frames)
        if self.waiter is not None:
            self.waiter.set_result(None)
            self.waiter = None

    async def read(self) -> AsyncIterator[bytes]:
        """Yield what has come, and note the delays when the reader asks for more."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                if not self.inbox:
                    if self.is_over:
                        return
                    self.waiter = loop.create_future()
                    await self.waiter
                piece, due = b"".join(self.inbox), self.due
                self.inbox, self.due = [], []
                yield piece
                self.seen.note(due)
        finally:
            self.seen.note(self.due)  # what is unread when the time is over has waited at least so long


@cache
def operators(api: str) -> tuple[Any, ...]:
    """Return a chain, made once: what is the same for all streams is then there once."""
    return decode_wire(api), to_segments(), stream_fields(), to_invocations(keep_segments=True)


async def with_penstock(stream: Stream) -> None:
    events = adrive(stream.read(), *operators(stream.body.api))
    calls = [event.arguments async for event in events if type(event) is ToolInvocation]
    stream.seen.calls += 1
    stream.seen.wrong += calls != [stream.body.arguments]


async def with_nothing(stream: Stream) -> None:
    async for _ in stream.read():
        pass
    stream.seen.calls += 1


READERS: dict[str, Reader] = {"penstock": with_penstock, "nothing": with_nothing}
try:
    from uvloop import new_event_loop as new_uvloop
except ModuleNotFoundError:  # as on Windows
    new_uvloop = None


class Row(NamedTuple):
    """What one run measured: delays, pauses and the cost of a chunk in seconds, shares of one core."""

    loop: str
    streams: int
    p50: float
    p99: float
    cpu: float
    cost: float
    waited: float
    pause: float
    pieces: float
    calls: int
    wrong: int


def bodies_of(api: str, size: int) -> list[Body]:
    """Return calls of all lengths up to that of PIECES chunks, the longest last."""
    source = Path(tempfile.__file__).read_text(encoding="utf-8")
    source *= size * PIECES // len(source) + 1
    bodies: list[Body] = []
    for length in range(1, LENGTHS + 1):
        arguments = {"path": "src/app.py", "content": source[: size * PIECES * length // LENGTHS]}
        text = json.dumps(arguments)
        deltas = [(0, text[place : place + size]) for place in range(0, len(text), size)]
        bodies.append(Body(api, WIRES[api](deltas, "write_file"), arguments))
    return bodies


async def run(reader: Reader, bodies: list[Body], streams: int, rate: float, seconds: float, seen: Seen) -> None:
    """Hand in what is due, slot by slot, until the time is over; a call that is over is followed by a new one."""
    dice = random.Random(streams)
    slots: list[list[Stream]] = [[] for _ in range(SLOTS)]
    tasks: set[asyncio.Task[None]] = set()

    def begin(number: int, body: Body) -> None:
        stream = Stream(body, seen)
        slots[number % SLOTS].append(stream)
        task = asyncio.create_task(reader(stream))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    seen.begin = time.monotonic() + SETTLE
    for number in range(streams):
        begin(number, dice.choice(bodies))  # so that calls end at all times
    await asyncio.sleep(0)
    first = time.monotonic()
    last = first + SETTLE + seconds
    turn = 0
    while (due := first + turn / rate / SLOTS) < last:
        if (early := due - time.monotonic()) > 0:
            await asyncio.sleep(early)
        slot = slots[turn % SLOTS]
        ended = 0
        for stream in slot:
            stream.hand_in(due)
            ended += stream.is_over
        if ended:
            slot[:] = [stream for stream in slot if not stream.is_over]
            for _ in range(ended):
                begin(turn, bodies[-1])
        turn += 1
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def percentile(values: array[float], part: float) -> float:
    return sorted(values)[int(part * len(values))] if values else 0.0


def waited() -> float:
    path = Path("/proc/self/schedstat")
    return int(path.read_text(encoding="ascii").split()[1]) / 1e9 if path.exists() else 0.0


def measured(loop: str, bodies: list[Body], streams: int, given: argparse.Namespace) -> Row:
    seen = Seen()
    gc.collect()
    gc.callbacks.append(seen.note_pause)
    begin, cpu, others = time.monotonic(), time.process_time(), waited()
    try:
        with asyncio.Runner(loop_factory=new_uvloop if loop == "uvloop" else None) as runner:
            runner.run(run(READERS.get(loop, with_penstock), bodies, streams, given.rate, given.seconds, seen))
    finally:
        gc.callbacks.remove(seen.note_pause)
    spent = time.monotonic() - begin
    return Row(
        loop,
        streams,
        percentile(seen.delays, 0.5),
        percentile(seen.delays, 0.99),
        (used := time.process_time() - cpu) / spent,
        used / max(1, seen.chunks),
        (waited() - others) / spent,
        max(seen.pauses, default=0.0),
        len(seen.delays) / max(1, seen.reads),
        seen.calls,
        seen.wrong,
    )


HEADER = ("loop", "streams", "p50 ms", "p99 ms", "cpu", "us/chunk", "waited", "gc ms", "chunks/read", "calls")


def line(row: Row) -> str:
    cells = (
        str(row.streams),
        f"{1000 * row.p50:.1f}",
        f"{1000 * row.p99:.1f}",
        f"{row.cpu:.0%}",
        f"{1e6 * row.cost:.1f}",
        f"{row.waited:.0%}",
        f"{1000 * row.pause:.1f}",
        f"{row.pieces:.2f}",
        str(row.calls),
    )
    wrong = f"   {row.wrong} WRONG" if row.wrong else ""
    return aligned(row.loop, *cells) + wrong


def aligned(first: str, *others: str) -> str:
    return " ".join(
        (first.ljust(10), *(word.rjust(max(8, len(name))) for word, name in zip(others, HEADER[1:], strict=True)))
    )


def search(loop: str, bodies: list[Body], given: argparse.Namespace) -> Row | None:
    """Find the most streams with a p99 below the bound: double, then halve the gap."""
    low, high, best, steps, streams = 0, 0, None, STEPS, given.streams // 2 or 1
    while steps and streams <= MOST:
        row = measured(loop, bodies, streams, given)
        passes = row.p99 < BOUND and not row.wrong
        print(line(row) + ("" if passes else "   too much"), flush=True)
        if passes:
            low, best = streams, row
        else:
            high = streams
        steps -= high > 0
        streams = (low + high) // 2 if high else 2 * streams
    return best


def profiled(bodies: list[Body], given: argparse.Namespace) -> str:
    """Return the functions that took most of a run of a quarter of the streams: a profiler doubles what calls cost."""
    profiler = cProfile.Profile()
    seen = Seen()
    streams = max(1, given.streams // 4)
    profiler.enable()
    asyncio.run(run(with_penstock, bodies, streams, given.rate, given.seconds, seen))
    profiler.disable()
    entries = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    chunks = max(1.0, streams * given.rate * (given.seconds + SETTLE))
    idle = ("poll", "select")
    busy = {key: value for key, value in entries.items() if not any(word in key[2] for word in idle)}
    total = sum(value[2] for value in busy.values())
    lines = [f"{streams} streams; share of the busy time, own microseconds and calls for each chunk"]
    for (path, number, name), (_, calls, own, *_) in sorted(busy.items(), key=lambda each: -each[1][2])[:FUNCTIONS]:
        place = f"{Path(path).name}:{number} {name}" if number else name
        lines.append(f"{own / total:6.1%} {1e6 * own / chunks:7.2f} us {calls / chunks:7.2f} calls  {place}")
    lines.append(f"{1e6 * total / chunks:14.1f} us in all, with the profiler's own")
    return "\n".join(lines)


def pauses(bodies: list[Body], streams: int) -> Iterator[str]:
    """Yield what a full collection takes with streams in the middle of a call: of everything, and of the streams alone.

    For the latter, what was there before is frozen: what is imported, and the frames.
    """
    chain = operators(bodies[-1].api)
    gc.disable()
    gc.collect()
    before = len(gc.get_objects())
    yield f"{'streams':>8} {'objects':>9} {'a stream':>9} {'full collection ms':>19} {'after gc.freeze() ms':>21}"
    for count in (0, *(part for part in (streams // 100, streams // 10, streams) if part)):
        gc.collect()
        gc.freeze()
        runs = [stage(*chain) for _ in range(count)]
        for run_ in runs:
            for frame in bodies[-1].frames[: PIECES // 2]:
                run_.feed(frame)
        frozen = min(collection() for _ in range(REPEATS))
        gc.unfreeze()
        whole = min(collection() for _ in range(REPEATS))
        objects = len(gc.get_objects())
        each = f"{(objects - before) / count:9.0f}" if count else " " * 9
        yield f"{count:8} {objects:9} {each} {1000 * whole:19.1f} {1000 * frozen:21.1f}"
        del runs
    gc.enable()


def collection() -> float:
    begin = time.thread_time()
    gc.collect()
    return time.thread_time() - begin


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=2000, help="how many at once; 2000 unless told")
    parser.add_argument("--rate", type=float, default=20, help="chunks a second of each; 20 unless told")
    parser.add_argument("--size", type=int, default=4, help="characters of a delta; 4 unless told")
    parser.add_argument("--seconds", type=float, default=8, help="how long each run takes; 8 unless told")
    parser.add_argument("--api", choices=sorted(WIRES), default="openai-chat", help="openai-chat unless told")
    parser.add_argument("--no-search", action="store_true", help="measure --streams alone, not the most")
    parser.add_argument("--profile", action="store_true", help="show what limits it, and measure nothing")
    parser.add_argument("--gc", choices=("on", "freeze", "off"), default="off", help="off unless told")
    parser.add_argument("--pauses", action="store_true", help="show what a full collection takes, without a load")
    given = parser.parse_args()
    for name in ("streams", "rate", "size", "seconds"):
        if getattr(given, name) <= 0:
            parser.error(f"--{name} must be above 0")
    return given


def main() -> int:
    given = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    core = ""
    if hasattr(os, "sched_setaffinity"):
        chosen = max(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {chosen})
        core = f", core {chosen}"
    bodies = bodies_of(given.api, given.size)
    load = f"{given.rate:g} chunks/s of {given.size} characters"
    print(f"Python {platform.python_version()}{core}; {given.api}, {load}; gc {given.gc}")
    if given.profile:
        print(profiled(bodies, given))
        return 0
    if given.pauses:
        for text in pauses(bodies, given.streams):
            print(text, flush=True)
        return 0
    print(aligned(*HEADER))
    if given.gc == "freeze":
        gc.collect()
        gc.freeze()
    elif given.gc == "off":
        print(line(measured("penstock", bodies, given.streams, given)._replace(loop="gc on")), flush=True)
        gc.disable()
    loops = [*READERS, *["uvloop"] * (new_uvloop is not None)]
    rows = [measured(loop, bodies, given.streams, given) for loop in loops]
    for row in rows:
        print(line(row), flush=True)
    found = {}
    if not given.no_search:
        print(f"\nthe most with a p99 below {1000 * BOUND:.0f} ms:")
        found = {loop: search(loop, bodies, given) for loop in READERS}
    wrong = sum(row.wrong for row in rows)
    print()
    own = rows[0]
    verdict = "PASS" if own.p99 < BOUND else "FAIL"
    print(f"{verdict} {own.streams} streams: p99 {1000 * own.p99:.1f} ms of added delay, bound {1000 * BOUND:.0f} ms")
    for loop, row in found.items():
        print(f"highest: {loop} {row.streams if row else 0} streams")
    if any(row.waited > 0.1 for row in rows):
        print("DISTURBED: other programs had the core for more than 10% of a run.")
    print("PASS every call is right" if not wrong else f"FAIL {wrong} calls are wrong")
    return int(bool(wrong) or own.p99 >= BOUND)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
