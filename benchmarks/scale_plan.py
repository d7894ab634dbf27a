"""What 10,000, 100,000 and 1,000,000 live streams take, on paper: a small simulation with measured costs.

    python benchmarks/scale_plan.py
    python benchmarks/scale_plan.py --rate 60 --machine 16

Streams come at random, each as long as a recorded one may be: the number of events and the bytes of an event are drawn
from the log-normal distributions that fit 199 recorded answers of 20 providers. The events of a stream come at random
times, on average `--rate` a second; the buffer and the replicas put together what comes within their times. The costs
are CPU time of one part for one thing, as `make load` and `make scale` print them; see `COSTS`.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from typing import NamedTuple

EVENTS, BYTES = (3.24, 1.40), (5.78, 0.62)
"""Of the logarithms: mean and standard deviation. The median stream has 26 events of 324 bytes, one in 20 has 255."""
LIVE = (10_000, 100_000, 1_000_000)
RAW, FRAMES = 0.050, 0.050
"""Seconds within which a buffer joins bytes, and a replica collects frames."""
HEADROOM = 0.5
"""The part of a core that is planned with: the rest is for bursts, and for machines that are away."""


class Costs(NamedTuple):
    """Microseconds of CPU time, and KB of memory.

    - `buffer`, `replica`: for an event. `redis`, `jetstream`: of the server, for an append. `read`: of the server, for
      what one follower gets of an append.
    - `held`: KB of a live stream in a buffer and in a replica.
    """

    buffer: float
    replica: float
    redis: float
    jetstream: float
    read: float
    held: float


COSTS = Costs(buffer=105, replica=168, redis=15, jetstream=15, read=15, held=180)


class Mean(NamedTuple):
    """Of a live stream, in a second: events, bytes, appends of the buffer and the replica; and the seconds it lives."""

    events: float
    bytes: float
    raw: float
    frames: float
    life: float


def stream(rate: float) -> Iterator[tuple[float, int]]:
    """Yield when each event of a stream comes, and its bytes."""
    now = 0.0
    for _ in range(max(2, round(random.lognormvariate(*EVENTS)))):
        now += random.expovariate(rate)
        yield now, max(60, round(random.lognormvariate(*BYTES)))


def appends(times: list[float], every: float) -> int:
    """Return how often is written: the first at once, and what comes within `every` seconds together."""
    number, free = 0, 0.0
    waiting = False
    for time in times:
        if waiting and time >= free:
            number, waiting, free = number + 1, False, free + every
        if time >= free:
            number, free = number + 1, time + every
        else:
            waiting = True
    return number + waiting


def simulated(rate: float, streams: int = 20_000) -> Mean:
    """Return what a live stream does in a second: long ones count as long as they live."""
    life = events = size = raw = frames = 0.0
    for _ in range(streams):
        came = list(stream(rate))
        times = [time for time, _ in came]
        life += times[-1]
        events += len(came)
        size += sum(length for _, length in came)
        raw += appends(times, RAW)
        frames += appends(times, FRAMES)
    return Mean(events / life, size / life, raw / life, frames / life, life / streams)


def rows(live: int, mean: Mean, costs: Costs, machine: int) -> Iterator[tuple[str, str]]:
    """Yield what so many live streams take."""
    events = live * mean.events
    written = live * (mean.raw + mean.frames)
    cores = {
        "buffers": events * costs.buffer,
        "replicas": events * costs.replica,
        "Redis": written * costs.redis + live * (mean.raw + mean.frames) * costs.read,
        "or JetStream": written * costs.jetstream,
    }
    yield "starts a second", f"{live / mean.life:,.0f}"
    yield "events a second", f"{events:,.0f}"
    yield "appends a second, raw and frames", f"{written:,.0f}"
    for name, used in cores.items():
        needed = used / 1e6 / HEADROOM
        yield f"cores of {name}", f"{needed:,.1f} ({-(-needed // machine):,.0f} machines of {machine})"
    yield "memory of buffers and replicas, GB", f"{2 * live * costs.held / 1e6:,.1f}"
    yield "into the log, MB/s", f"{2 * live * mean.bytes / 1e6:,.0f}"
    yield "kept for an hour, GB", f"{2 * live * mean.bytes * 3600 / 1e9:,.0f}"


def most_of_one(mean: Mean, costs: Costs) -> Iterator[tuple[str, float]]:
    """Yield how many live streams one process of each part carries, without headroom: the least breaks first."""
    a_stream = mean.raw + mean.frames
    yield "one replica, a core", 1e6 / (mean.events * costs.replica)
    yield "one buffer, a core", 1e6 / (mean.events * costs.buffer)
    yield "one Redis, a core", 1e6 / (a_stream * (costs.redis + costs.read))
    yield "one JetStream, four cores", 4e6 / (a_stream * costs.jetstream)
    yield "one network card of 10 Gbit/s at the log", 1.25e9 / (4 * mean.bytes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=30.0, help="events a second of a live stream")
    parser.add_argument("--machine", type=int, default=8, help="cores of a machine")
    for name, value in COSTS._asdict().items():
        parser.add_argument(f"--{name}", type=float, default=value)
    given = parser.parse_args()
    random.seed(1)
    costs = Costs(*(getattr(given, name) for name in Costs._fields))
    mean = simulated(given.rate)
    print(f"a live stream: {mean.events:.1f} events, {mean.bytes:,.0f} bytes, {mean.raw:.1f} appends of the buffer and")
    print(f"{mean.frames:.1f} of the replica a second; it lives {mean.life:.1f} seconds on average")
    table = {live: dict(rows(live, mean, costs, given.machine)) for live in LIVE}
    for name in table[LIVE[0]]:
        print(f"{name:36}" + "".join(f"{table[live][name]:>28}" for live in LIVE))
    print("\nlive streams that one carries")
    for name, number in sorted(most_of_one(mean, costs), key=lambda row: row[1]):
        print(f"{name:44}{number:>12,.0f}")


if __name__ == "__main__":
    main()
