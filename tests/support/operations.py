"""Count the operations with which texts are read: calls of functions, and the characters that searches scan.

Run as a program, because searches must be counted from the first import on:

    python operations.py SIZE NAME...            prints JSON: for each dialect, the most operations a character, and the text
    python operations.py SIZE,LONGEST NAME...    and of the costliest of these dialects, what a text of that length costs
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

SCANNED = [0]
_COMPILE = re.compile


class CountedPattern:
    """A pattern that counts the characters that it scans."""

    __slots__ = ("_pattern", "flags", "pattern")

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self.pattern = pattern.pattern
        self.flags = pattern.flags

    def search(self, text: str, *bounds: int) -> re.Match[str] | None:
        return self._counted(self._pattern.search(text, *bounds), text, *bounds)

    def match(self, text: str, *bounds: int) -> re.Match[str] | None:
        found = self._pattern.match(text, *bounds)
        SCANNED[0] += 1 if found is None else found.end() - found.start()
        return found

    def fullmatch(self, text: str, *bounds: int) -> re.Match[str] | None:
        return self._counted(self._pattern.fullmatch(text, *bounds), text, *bounds)

    def finditer(self, text: str, *bounds: int) -> Iterator[re.Match[str]]:
        SCANNED[0] += len(text[slice(*bounds)]) if len(bounds) == 2 else len(text)
        return self._pattern.finditer(text, *bounds)

    def findall(self, text: str) -> list[Any]:
        SCANNED[0] += len(text)
        return self._pattern.findall(text)

    def split(self, text: str, *given: int) -> list[Any]:
        SCANNED[0] += len(text)
        return self._pattern.split(text, *given)

    def sub(self, how: Any, text: str, *given: int) -> str:
        SCANNED[0] += len(text)
        return self._pattern.sub(how, text, *given)

    @staticmethod
    def _counted(
        found: re.Match[str] | None, text: str, begin: int = 0, end: int = sys.maxsize
    ) -> re.Match[str] | None:
        SCANNED[0] += (min(end, len(text)) if found is None else found.end()) - begin
        return found


def _compile(pattern: Any, flags: Any = 0) -> Any:
    compiled = _COMPILE(pattern, flags)
    return CountedPattern(compiled) if isinstance(pattern, str) else compiled


def operations(read: Callable[[], None]) -> int:
    """Return how many operations a function takes."""
    calls = 0

    def note(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    SCANNED[0] = 0
    sys.setprofile(note)
    try:
        read()
    finally:
        sys.setprofile(None)
    return calls + SCANNED[0]


def units_of(dialect: Any) -> list[str]:
    """Return what is repeated against a dialect: its markers, brackets, quotes, and mixtures of them."""
    from strategies.dialect_texts import markers  # noqa: PLC0415 - imports what is counted

    own = markers(dialect)
    openers = own[:6]
    brackets = ["[", "{", '"', "\\", "'", "`", "<", '{"a":', "[{", '{"name": "f", ', '["', "[f(", "x ` "]
    mixed = [
        "".join(openers),
        "".join(reversed(openers)),
        *(f"{each}{bracket}" for each in openers[:3] for bracket in ("{", "[", '"')),
    ]
    half_said = (*(f"{each}f" for each in openers[:3]), *(f"{each}\n" for each in own[:3]))
    return [each for each in dict.fromkeys((*own, *brackets, *mixed, *half_said)) if each]


def main(size: int, names: Sequence[str], longest: int = 0) -> dict[str, Any]:
    """Return what a character costs: with the unit that costs most, and with a text of it that is eight times as long."""
    found = {name: _worst(name, size) for name in names}
    if longest:
        name = max(found, key=lambda each: found[each]["most"])
        found[name] |= _at_the_end(name, found[name]["unit"], longest, found[name]["width"])
    return found


def _worst(name: str, size: int) -> dict[str, Any]:
    from penstock.operators.catalogue.dialect_for import dialects_named  # noqa: PLC0415

    units = list(dict.fromkeys(unit for each in dialects_named(name)[:12] for unit in units_of(each)))[:60]
    for unit in units:
        _cost(name, unit, 200, 7)  # what is compiled once is no work of the text
    costs = {(unit, width): _cost(name, unit, size, width) for unit in units for width in (size, 7)}
    unit, width = max(costs, key=lambda key: costs[key])
    return {
        "most": round(_cost(name, unit, size, width), 1),
        "longer": round(_cost(name, unit, 8 * size, width if width == 7 else 8 * size), 1),
        "unit": unit,
        "width": width,
    }


def _cost(name: str, unit: str, size: int, width: int) -> float:
    from penstock.operators.engine.stage import Completed, stage  # noqa: PLC0415
    from penstock.operators.parse_text import parse_text  # noqa: PLC0415

    text = unit * (size // len(unit) + 1)
    reader = stage(parse_text(name, tools={"f": None}, turn_id="t"))

    def read() -> None:
        for at in range(0, len(text), width):
            reader.feed(text[at : at + width])
        reader.close(Completed())

    return operations(read) / len(text)


def _at_the_end(name: str, unit: str, size: int, width: int) -> dict[str, float]:
    """Return what is scanned for a character of a long text, and the operations for one of its last 4,000.

    Calls are counted at the end only, because counting takes ten times as long as reading.
    """
    from penstock.operators.engine.stage import Completed, stage  # noqa: PLC0415
    from penstock.operators.parse_text import parse_text  # noqa: PLC0415

    text = unit * (size // len(unit) + 1)
    reader = stage(parse_text(name, tools={"f": None}, turn_id="t"))
    end = len(text) - 4000
    SCANNED[0] = 0
    for at in range(0, end, 1 << 14):
        reader.feed(text[at : min(end, at + (1 << 14))])
    scanned = SCANNED[0] / end

    def read() -> None:
        for at in range(end, len(text), width):
            reader.feed(text[at : at + width])
        reader.close(Completed())

    return {"scanned": round(scanned, 1), "at_the_end": round(operations(read) / 4000, 1)}


if __name__ == "__main__":
    re.compile = _compile
    sys.path.insert(0, str(Path(__file__).parent))
    sizes = [int(each) for each in sys.argv[1].split(",")]
    sys.stdout.write(json.dumps(main(sizes[0], sys.argv[2:], *sizes[1:])))
