"""What a start costs: imports in processes of their own, and making a pipeline and a tool, in plain calls."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import thread_time
from typing import Any

from penstock.pipeline import Pipeline, tool

TESTS = Path(__file__).parents[1] / "tests"
PROCESSES = 7
CALLS = 20_000
MADE = 200
# The checkout is found without the tests' own imports, which would have loaded half of it.
BEGIN = "import sys; sys.path.insert(0, sys.argv[1])\n"
NATIVE = "from penstock.operators import drive, stream_fields, to_invocations, to_segments"
BASE = "import reactivex, msgspec, pydantic"


def _seconds(code: str) -> float:
    """Return the CPU seconds of a fresh process that runs some code."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", BEGIN + code, str(TESTS.parent)], check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_seconds(*codes: str) -> list[float]:
    """Return the CPU seconds of each code beyond those of an empty process: the best of several, which take turns."""
    rounds = [[_seconds(code) for code in ("", *codes)] for _ in range(PROCESSES)]
    empty, *best = map(min, zip(*rounds, strict=True))
    return [each - empty for each in best]


def _sample(path: str, content: str = "", *, lines: list[int] | None = None) -> str:
    """Write a file.

    Args:
        path: where
        content: what
    """
    return f"{path} {content} {lines}"


def _nothing(_: Any) -> None:
    """Stand for one plain Python call."""


def _in_calls(make: Callable[[], object]) -> float:
    """Return what making something costs at best, in plain calls; the two take turns."""
    costs: list[float] = []
    floors: list[float] = []
    for number in range(MADE):
        begin = thread_time()
        make()
        costs.append(thread_time() - begin)
        if number % 10 == 0:
            begin = thread_time()
            for each in range(CALLS):
                _nothing(each)
            floors.append((thread_time() - begin) / CALLS)
    return min(costs) / min(floors)


def start_rows() -> list[tuple[str, float, float]]:
    """Return a row for each: its name, what it costs, and the bound.

    A plain call takes 25 to 40 ns: 0.3 ms are 9,000 calls, and 1 ms is 30,000.
    """
    reactivex, package, native, base, pipeline = import_seconds(
        "import reactivex",
        "import penstock.operators",
        NATIVE,
        BASE,
        f"{BASE}\nfrom penstock.pipeline import Pipeline",
    )
    return [
        ("import penstock.operators, in imports of reactivex", package / reactivex, 3),
        ("import of the operators of native calls, in imports of reactivex", native / reactivex, 3.5),
        (f"from penstock.pipeline import Pipeline, s over {BASE[7:]}", pipeline - base, 0.35),
        ("Pipeline(), in plain calls", _in_calls(Pipeline), 9_000),
        ("a function's tool with its schema, in plain calls", _in_calls(lambda: tool(_sample)), 30_000),
    ]
