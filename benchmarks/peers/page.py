"""docs/benchmarks.md: the tables, and sentences that are made of their figures."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from math import log
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from load_scenarios import Row

from penstock.studio.cli.installed_version import installed_version

from .contest import LIMIT, Measured
from .engine_peers import version_of
from .workloads import Work

EVEN = 1.05
"""Costs that differ by less are called even."""
GROWS = 1.15
"""The exponent above which a cost is said to grow."""
BUSY = 0.1
"""The most time in which others may have had the core, for figures that are not called provisional."""
PACKAGES = (
    "penstock", "reactivex", "msgspec", "openai", "anthropic", "google-genai", "httpx2", "jiter", "pydantic_core",
    "jsonriver", "streaming-json-parser", "streaming-json-parser-native", "ijson", "pydantic-ai-slim", "ag-ui-protocol",
    "starlette", "uvicorn", "uvloop", "httptools",
)  # fmt: skip
ENGINES = ("vllm", "sglang")


class Result(NamedTuple):
    """What a group of readers was measured at: a list for each size, in the order of the group."""

    work: Work
    title: str
    sizes: list[list[Measured]]

    @property
    def picture(self) -> str:
        return f"benchmarks-{self.work.name}-{'-'.join(self.title.split()[2:])}.svg".lower()

    @property
    def lines(self) -> list[list[Measured]]:
        """Return what a plot has: the sizes at which each reader has a cost."""
        by_peer = zip(*self.sizes, strict=True)
        return [points for each in by_peer if len(points := [one for one in each if one.cost]) > 1]


class About(NamedTuple):
    """How the page came to be."""

    command: str
    call: float
    """The nanoseconds of a plain call."""
    waited: float
    seconds: float
    delta: int
    absent: list[str]


def references(rows: list[Measured]) -> list[Measured]:
    """Return Penstock's readers of a group as they are by default, with which the others are compared."""
    return [each for each in rows if each.peer.is_own and not each.peer.is_pure]


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def exponent(points: list[Measured]) -> float | None:
    """Return the slope of log time over log size, 1 where the cost of a delta does not grow."""
    known = [(log(each.items), log(each.cost * each.items)) for each in points if each.cost]
    if len(known) < 2:
        return None
    xs, ys = zip(*known, strict=True)
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum((x - x_mean) * (y - y_mean) for x, y in known)
    return above / sum((x - x_mean) ** 2 for x in xs)


def table(result: Result) -> Iterator[str]:
    labels = [rows[0].case.label for rows in result.sizes]
    growth = ["growth"] if len(labels) > 1 else []
    own = references(result.sizes[compared(result)])
    ratios = [f"times {short(each)}" for each in own]
    header = ["reader", *labels, *growth, *ratios, "pieces seen", "characters behind", "result"]
    yield "| " + " | ".join(header) + " |"
    yield "|" + " --- |" + " ---: |" * (len(header) - 2) + " --- |"
    for points in zip(*result.sizes, strict=True):
        at = points[compared(result)]
        name = f"**{at.peer.name}**" if at.peer.is_own else at.peer.name
        slope = [number(exponent(list(points)))] if growth else []
        times = [number(at.times(each)) for each in own]
        cells = [name, *(number(each.cost) for each in points), *slope, *times, pieces(at), behind(at), verdict(points)]
        yield "| " + " | ".join(cells) + " |"


def compared(result: Result) -> int:
    """Return which size readers are compared at: 20 KB, or the middle one."""
    return min(1, len(result.sizes) - 1)


def pieces(row: Measured) -> str:
    if not row.seconds or not (row.peer.pieces or row.peer.snapshot) or not row.case.content:
        return "-"
    return f"{row.pieces}" if row.sees_content else "at its end"


def behind(row: Measured) -> str:
    if not row.behind:
        return "-"
    mean, most = row.behind
    return f"{number(mean)} ({most})" if most else "0"


def verdict(points: tuple[Measured, ...]) -> str:
    words = [each.verdict for each in points]
    if len(set(words)) == 1:
        text = words[0]
    else:
        text = "; ".join(f"{each.verdict} at {each.case.label}" for each in points if not each.is_right)
    return text + (f" ({points[0].peer.note})" if points[0].peer.note else "")


def sentences(result: Result) -> Iterator[str]:
    """Say who is cheaper and who costs more at one size, and whose results are not right."""
    rows = result.sizes[compared(result)]
    for own in references(rows):
        yield from compared_with(own, rows)
    every = list(zip(*result.sizes, strict=True))
    grown = [each[0] for each in every if (exponent(list(each)) or 1) > GROWS]
    if grown:
        yield f"The cost of a delta grows with the size for {listed(short(each) for each in grown)}."
    wrong = [each for points in every for each in points if not each.is_right]
    if wrong:
        yield f"Not right: {listed(f'{short(each)} at {each.case.label} ({each.verdict})' for each in wrong)}."


def compared_with(own: Measured, rows: list[Measured]) -> Iterator[str]:
    others = [each for each in rows if not (each.peer.is_own or each.peer.is_floor)]
    ratios = [(each, ratio) for each in others if (ratio := each.times(own))]
    cheaper = sorted((pair for pair in ratios if pair[1] < 1 / EVEN), key=itemgetter(1))
    costlier = sorted((pair for pair in ratios if pair[1] > EVEN), key=itemgetter(1))
    even = [each for each, ratio in ratios if 1 / EVEN <= ratio <= EVEN]
    twin = next(
        (each.times(own) for each in rows if each.peer.is_pure and each.peer.name.startswith(own.peer.name)), None
    )
    in_python = f", and {number(twin)} times that in Python" if twin else ""
    yield f"At {own.case.label}, {own.peer.name} takes {number(own.cost)} µs a delta{in_python}."
    if cheaper:
        lost = (f"{short(each)} ({number(1 / ratio)} times cheaper{how(each)})" for each, ratio in cheaper)
        yield f"It loses to {listed(lost)}."
    if even:
        yield f"It is even with {listed(map(short, even))}."
    if costlier:
        won = (f"{short(each)} ({number(ratio)} times its cost)" for each, ratio in costlier)
        yield f"It beats {listed(won)}."


def how(row: Measured) -> str:
    """Say what a cheaper reader does not do."""
    if row.case.content and not row.sees_content:
        return ", content only at its end"
    if row.behind and row.behind[0] >= 1:
        return f", {number(row.behind[0])} characters behind"
    return ""


def short(row: Measured) -> str:
    return row.peer.name.removeprefix("Penstock: ")


def listed(words: Iterable[str]) -> str:
    every = list(words)
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} and {every[-1]}"


def machine() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.processor() or platform.machine()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, {python}"


def versions() -> Iterator[str]:
    for package in PACKAGES:
        try:
            yield f"{package} {installed_version() if package == 'penstock' else version(package)}"
        except PackageNotFoundError:
            continue
    for package in ENGINES:
        if found := version_of(package):
            yield f"{package} {found}"


HEAD = """# Benchmarks

<!-- This page is written by `make bench-peers`, all of it. Change benchmarks/peers, not the page. -->

What reading a stream costs with Penstock, and with other packages that read the same: SDKs, JSON parsers, and the
parsers of inference engines. `{command}` measures it anew and writes this page.
{provisional}
| | |
| --- | --- |
| machine | {machine} |
| date | {date} |
| took | {minutes:.0f} minutes |
| c, a plain Python call | {call:.0f} ns |
| versions | {versions} |
{absent}
## How to read the tables

- All figures are CPU microseconds for each delta of {delta} characters, the median of up to seven rounds. The readers
  of a table run in turns within one process, each the same input; the garbage collector is off. Trust the ratios: the
  times of a shared machine move by half within minutes, ratios hardly do. They are medians of the rounds' ratios.
- A reader gets the format that it is made for, calls one plain function with each new piece of the content, and returns
  the arguments at its end. Making the input, and an SDK's request, is not measured; the parser's own start is.
- *growth* is the exponent of the total time over the size: 1 means that a delta costs the same in a long answer, 2 that
  twice the answer takes four times as long. Readers that parse everything again, or copy the whole string, grow.
- *pieces seen* is how often there was more of the content to show. "At its end" means that the reader shows nothing
  of a string before it is closed, which is not streaming.
- *characters behind* is how much of the content had come and was not yet shown, after a delta on average, and in
  brackets at most: what a user sees later than it came. It is a count, and no machine changes it.
- *result* says whether the final arguments, and all that was shown on the way, equal the input. A run is stopped after
  {limit:.0f} CPU seconds, and is then not tried with longer inputs.
- Penstock's readers run twice: with what was compiled in C, and *in Python*, as they are with `PENSTOCK_PURE=1`.
- *floors* parse nothing, or nothing until the end. No streaming reader can be below them.
"""


FRAMES = """## Frames: events on their way out

CPU microseconds for each delta, from the events of an answer to the server-sent events of a protocol; an answer is
{size} characters of text, or a call with them, in deltas of 4. Penstock's and pydantic-ai's events come from an async
generator that never waits; `to_sse` has what a served stream needs besides: it reads ahead, sends signs of life, and
joins frames that are ready together. *The frames alone* are the encoder. ag-ui-protocol makes one of its models for
each delta, and writes it. The AI SDK's own encoder gets the chunks of its protocol, in Node, which compiles code while
it runs; its time is that of its process. Nothing of Penstock's is compiled here.
"""
SERVED = """## Serving: a frame on its way to a browser

The CPU time of a server's process for each frame: uvicorn with 50 clients that get 50 frames a second each, for each
delta of a call one. *bare* is a generator in the same app that yields the same bytes, and does nothing else; *h11* has
Python's own event loop and the HTTP parser h11 in place of uvloop and httptools; *pure* is Penstock with
`PENSTOCK_PURE=1`. More of this, with delays and memory: `make load`, [many readers](serving.md#many-readers).
"""
STARTS = """## Cold start: from the imports to the end of the first answer

CPU milliseconds of a fresh process above those of an empty one, the best of {processes} in turns. The answer is one
call of two deltas; the SDKs read it from a transport in the same process.
"""


def served_part(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of the page for the rows of a load."""
    every = {row.app: row.measured for row in rows}
    yield "| app | CPU µs a frame | times bare | p50 ms | p99 ms | not whole |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for app, seen in every.items():
        bare = every["bare, h11" if app.endswith(", h11") else "bare"]
        cells = number(seen.cost), number(seen.cost / bare.cost), number(seen.p50), number(seen.p99)
        yield f"| {app} | {' | '.join(cells)} | {seen.lost + seen.late} of {seen.calls} |"


def starts_part(milliseconds: dict[str, float]) -> Iterator[str]:
    """Yield the lines of the page for what first answers take."""
    own = next(iter(milliseconds.values()))
    yield "| program | CPU ms | times the first |"
    yield "| --- | ---: | ---: |"
    for name, took in milliseconds.items():
        yield f"| {f'**{name}**' if name.startswith('Penstock') else name} | {took:.0f} | {number(took / own)} |"


def page(results: list[Result], about: About, parts: Iterable[str] = ()) -> str:
    provisional = ""
    if about.waited > BUSY:
        provisional = (
            f"\n**Provisional:** other programs had the core for {about.waited:.0%} of the time of this run. "
            "Run the command on a quiet machine.\n"
        )
    absent = "".join(f"| not measured | {text} |\n" for text in about.absent)
    text = [
        HEAD.format(
            command=about.command,
            call=about.call,
            provisional=provisional,
            machine=machine(),
            date=datetime.now(UTC).date().isoformat(),
            minutes=max(1, about.seconds / 60),
            versions=", ".join(versions()),
            absent=absent,
            delta=about.delta,
            limit=LIMIT,
        )
    ]
    works: list[Work] = []
    for result in results:
        if result.work not in works:
            works.append(result.work)
            text.append(f"## {result.work.name}: {result.work.title}\n")
        text.append(f"### {result.work.name}, {result.title}\n")
        text.append(" ".join(sentences(result)) + "\n")
        text.append("\n".join(table(result)) + "\n")
        if result.lines and len(result.sizes) > 1:
            text.append(f"![{result.work.name}, {result.title}: cost over size](images/{result.picture})\n")
    return "\n".join([*text, *parts])
