"""Print which lines and branches of each room the tests have run, after `coverage json`; end with 1 if fewer than before.

What was measured last stands in docs/evidence.md, in the row `all` of the table under "Coverage".
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
_BEFORE: Final = re.compile(r"^\| all \| ([\d.]+) % \| ([\d.]+) % \|$", re.MULTILINE)


class Figures(NamedTuple):
    """How many percent of lines and of branches have run."""

    lines: float
    branches: float


def figures(summaries: Iterable[Mapping[str, int]]) -> Figures:
    """Return the figures of some files, cut to a tenth."""
    rows = [*summaries]

    def percent(part: str, whole: str) -> float:
        covered, every = (sum(each[key] for each in rows) for key in (part, whole))
        return 1000 * covered // max(1, every) / 10

    return Figures(percent("covered_lines", "num_statements"), percent("covered_branches", "num_branches"))


def table(report: Mapping[str, Any]) -> dict[str, Figures]:
    """Return the figures of each room of a report, and of `all`."""
    rooms: defaultdict[str, list[Mapping[str, int]]] = defaultdict(list)
    for file, said in report["files"].items():
        rooms[file.partition("/")[0]].append(said["summary"])
        rooms["all"].append(said["summary"])
    last = rooms.pop("all")
    return {name: figures(each) for name, each in [*sorted(rooms.items()), ("all", last)]}


def before(page: str) -> Figures | None:
    """Return what was measured last; None if nothing was yet."""
    found = _BEFORE.search(page)
    return None if found is None else Figures(*map(float, found.groups()))


def main(path: str) -> int:
    rows = table(json.loads(Path(path).read_text()))
    for name, each in rows.items():
        sys.stdout.write(f"| {name} | {each.lines} % | {each.branches} % |\n")
    last = before((ROOT / "docs" / "evidence.md").read_text())
    if last is None or (rows["all"].lines >= last.lines and rows["all"].branches >= last.branches):
        return 0
    sys.stdout.write(f"fewer than before: {last.lines} % of the lines, and {last.branches} % of the branches\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
