"""What it takes to go beyond one process, scenario by scenario; exits with 1 if a bound is missed.

    make scale                                  all scenarios
    python benchmarks/scale.py --scenario batch

    batch   recordings and bodies of four APIs are read into tables: the cost beside `json.loads`, a core's throughput
            and what it is spent on, and what a second core gives

Each scenario prints a table, and a line PASS or FAIL for each bound.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

SCENARIOS: Final = {"batch": ("scale_batch", "batch")}
"""The file and the function of each; what it takes is an option, and it returns its bounds as (said, is held)."""


def scenario(name: str) -> Callable[..., list[tuple[str, bool]]]:
    file, function = SCENARIOS[name]
    found: Any = getattr(import_module(file), function)  # a worker imports this file, and needs none of those
    return found  # type: ignore[no-any-return]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="only this one; may be repeated")
    parser.add_argument("--streams", type=int, default=2000, help="how many streams a scenario has")
    given = parser.parse_args()
    if given.streams < 1:
        parser.error("--streams must be at least 1")
    busy = "/".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load of the machine {busy}")
    bounds: list[tuple[str, bool]] = []
    for name in given.scenario or SCENARIOS:
        print(f"\n== {name}\n")
        bounds += scenario(name)(streams=given.streams)
    print()
    for said, is_held in bounds:
        print("PASS" if is_held else "FAIL", said)
    return 0 if all(is_held for _, is_held in bounds) else 1


if __name__ == "__main__":
    sys.exit(main())
