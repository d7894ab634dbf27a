"""The scenario `batch` of `make scale`: `read_dataset` over recordings and bodies.

Costs are CPU time of one process, all of it: files read, streams decoded, tables made and written. They are told as
multiples of `json.loads` of the same data lines, which are taken out of the files before, as text. The quickest of
three rounds, taken in turns, counts. A data line has a delta of four characters. The speed of the command with two
workers is told beside that with one, by the clock, twice in turns; other programs on the machine spoil it, and `busy`
says how much of the time of the one worker was not its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from shutil import rmtree
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
import checkout  # noqa: F401 - first of all

from penstock import Pipeline
from penstock.scale import read_dataset
from penstock.scale.batch.batch_tables import tables_of, write_part
from penstock.scale.batch.input_parts import Columns, input_of, parts_of, records_of
from penstock.scale.batch.record_reader import RecordReader
from penstock.sources.recordings.recording_format import recording_of_body

MOST: Final = {"openai-chat": 6.0}
MOST_OF_OTHERS: Final = 4.0
ROUNDS: Final = 3
LEAST_OF_TWO: Final = 1.6
DISTURBED: Final = 0.1
"""The share of the time that others had the core, above which nothing is said of a second core."""


class Cost(NamedTuple):
    """What one kind of answers costs: seconds of CPU, for so many records, data lines and bytes of the input."""

    name: str
    api: str
    records: int
    lines: int
    size: int
    loads: float
    read: float


def batch(streams: int = 2000) -> list[tuple[str, bool]]:
    """Print the tables of the scenario, and return its bounds."""
    with TemporaryDirectory(prefix="penstock-batch-") as folder:
        root = Path(folder)
        costs = [cost_of(root, work, max(1, streams // 8)) for work in works()]
        print(f"{'answers':26} records    lines     MB  json.loads s  read s  times")
        for each in costs:
            print(
                f"{each.name:26} {each.records:7} {each.lines:8} {each.size / 1e6:6.1f}  {each.loads:12.2f}"
                f"  {each.read:6.2f}  {each.read / each.loads:5.2f}"
            )
        bounds = [
            (f"{each.name}: at most {most:.0f} times json.loads, here {each.read / each.loads:.2f}", ratio <= most)
            for each in costs
            for most, ratio in [(MOST.get(each.api, MOST_OF_OTHERS), each.read / each.loads)]
        ]
        print_throughput(costs, root)
        bounds += second_core(root)
    return bounds


def works() -> list[tuple[str, str, bytes]]:
    """Return the name, the API and the body of each kind of answer."""
    from wire import WORKS  # noqa: PLC0415 - which imports all SDKs, as no worker has to

    return [(f"{each.api}, {each.what}", each.api, b"".join(each.pieces())) for each in WORKS]


def cost_of(root: Path, work: tuple[str, str, bytes], count: int) -> Cost:
    """Write so many answers, every other as a recording, and measure what reading them costs."""
    name, api, body = work
    folder = root / "in" / name.replace(", ", "_")
    folder.mkdir(parents=True)
    recording = recording_of_body(body, api)
    for number in range(count):
        path = folder / f"{number:06}"
        if number % 2:
            path.with_suffix(".jsonl").write_bytes(recording)
        else:
            path.with_suffix(".sse").write_bytes(body)
    data = [line.removeprefix(b"data: ").decode() for line in body.splitlines() if line.startswith(b"data: {")]
    loads, read = float("inf"), float("inf")
    out = root / "out"
    for _ in range(ROUNDS):
        loads = min(loads, seconds(lambda: load(data, count)))
        read = min(read, seconds(lambda: checked(folder, out, count)))
        rmtree(out)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return Cost(name, api, count, len(data) * count, size, loads, read)


def load(data: list[str], count: int) -> None:
    for _ in range(count):
        for each in data:
            json.loads(each)


def seconds(work: Callable[[], object]) -> float:
    begin = process_time()
    work()
    return process_time() - begin


def checked(folder: Path, out: Path, count: int) -> None:
    result = read_dataset(folder, out, workers=1)
    assert result.rows["records"] == count, result
    assert result.statuses == {"complete": count}, result


def print_throughput(costs: list[Cost], root: Path) -> None:
    """Print what one core reads in a second, and on what its time is spent."""
    read = sum(each.read for each in costs)
    records, lines, size = (sum(each) for each in zip(*(each[2:5] for each in costs), strict=True))
    print(
        f"\na core reads {records / read:.0f} records, {lines / read:,.0f} lines, {size / read / 1e6:.0f} MB a second"
    )
    spent = dict.fromkeys(("files", "decoding and parsing", "rows and columns", "Parquet"), 0.0)
    (root / "spent").mkdir()
    for phase, took in phases(root):
        spent[phase] += took
    total = sum(spent.values())
    told = ", ".join(f"{phase} {took / total:.0%}" for phase, took in sorted(spent.items(), key=lambda each: -each[1]))
    print(f"its time: {told}")


def phases(root: Path) -> Iterator[tuple[str, float]]:
    """Yield the seconds of CPU of each step over all parts, one step after the other."""
    reader, given = RecordReader(Pipeline(keep_answer=False)), input_of(root / "in", without=root)
    out = root / "spent"
    kept: list[Any] = []
    for number, part in enumerate(parts_of(given, Columns())):
        yield "files", seconds(lambda: kept.append([*records_of(part, given.folder, Columns())]))  # noqa: B023 - called at once
        yield "decoding and parsing", seconds(lambda: kept.append([*map(reader.read, kept[0])]))
        yield "rows and columns", seconds(lambda: kept.append(tables_of(kept[1])))
        if number == 0:
            for name in kept[2]:
                (out / name).mkdir()
        yield "Parquet", seconds(lambda: write_part(out, number, kept[2]))  # noqa: B023 - called at once
        kept.clear()


def second_core(root: Path) -> list[tuple[str, bool]]:
    """Print how fast `penstock batch` is with two workers beside one, and return the bound."""
    took: dict[int, float] = {1: float("inf"), 2: float("inf")}
    busy = 1.0
    for workers in (1, 2, 1, 2):
        out = root / "out"
        command = [sys.executable, "-m", "penstock", "batch", str(root / "in"), str(out), "--workers", str(workers)]
        begin, before = perf_counter(), getrusage(RUSAGE_CHILDREN)
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        spent, after = perf_counter() - begin, getrusage(RUSAGE_CHILDREN)
        if workers == 1:
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            busy = min(busy, 1 - used / spent)
        took[workers] = min(took[workers], spent)
        rmtree(out)
    gain = took[1] / took[2]
    print(f"\none worker {took[1]:.1f} s, two {took[2]:.1f} s: {gain:.2f} times as fast; busy {busy:.0%}")
    if busy > DISTURBED:
        print(f"DISTURBED: for {busy:.0%} of the time the one worker had no core, or waited for the disk")
    return [(f"a second core gives at least {LEAST_OF_TWO} times, here {gain:.2f}", gain >= LEAST_OF_TWO)]
