"""Run the targets: each for a time with inputs that atheris makes out of those which reached something new before.

    python tests/support/fuzzing/run_fuzzing.py 10                        ten minutes, all targets one after another
    python tests/support/fuzzing/run_fuzzing.py 10 json_texts lanes       these alone
    python tests/support/fuzzing/run_fuzzing.py again json_texts FILE     the input of a file once more

What is found is a file each, in build/fuzzing/found; the exit status is 1 if there is one. `--keep` behind the minutes
writes the shortest inputs anew that reach the most, which are kept in the repository.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Any, Final, NamedTuple

SUPPORT: Final = Path(__file__).parents[1]
if str(SUPPORT) not in sys.path:
    sys.path.insert(0, str(SUPPORT))
import checkout  # noqa: E402 - first of all of Penstock


class Family(NamedTuple):
    """A file of targets: which it has, and the modules in which it counts what an input reaches."""

    targets: tuple[str, ...]
    watched: tuple[str, ...]


FAMILIES: Final = {
    "json_targets": Family(("json_texts", "json_calls"), ("penstock.operators",)),
    "wire_targets": Family(("framings", "lanes", "bodies"), ("penstock.sources",)),
    "dialect_targets": Family(("answers", "marked_texts", "grammars"), ("penstock.operators",)),
    "request_targets": Family(("requests",), ("penstock.gateway",)),
    "edit_targets": Family(("patches", "edits", "diffs"), ("penstock.sinks.edits", "penstock.sinks.files")),
}
TARGETS: Final = tuple(name for family in FAMILIES.values() for name in family.targets)
CORPORA: Final = Path(__file__).with_name("corpora")
BUILD: Final = checkout.ROOT / "build" / "fuzzing"
LONGEST: Final = 1024
"""Bytes of an input."""
MOST_KEPT: Final = 24 * 1024
"""Bytes that are kept of the inputs of a target."""
SECONDS_BETWEEN_LINES: Final = 15
Target = Callable[[bytes], None]


def file_of(name: str) -> str:
    """Return the file that has a target."""
    for file, family in FAMILIES.items():
        if name in family.targets:
            return file
    message = f"no target is named {name!r}; there are {', '.join(TARGETS)}"
    raise SystemExit(message)


def target_of(name: str) -> Target:
    """Import the file of a target, and return it."""
    target: Target = import_module(f"fuzzing.{file_of(name)}").TARGETS[name]
    return target


def kept_inputs(name: str) -> list[bytes]:
    """Return the inputs that the repository has for a target."""
    path = CORPORA / f"{name}.txt"
    return [b64decode(line) for line in path.read_text().splitlines()] if path.exists() else []


class Finder:
    """Asks a target, and keeps of each kind of failure the shortest input as a file."""

    def __init__(self, name: str, target: Target, folder: Path) -> None:
        self._name = name
        self._target = target
        self._folder = folder
        self._found: dict[str, int] = {}

    def __call__(self, data: bytes) -> None:
        try:
            self._target(data)
        except Exception as error:  # noqa: BLE001 - whatever a target raises was found
            self._keep(data, error)

    def _keep(self, data: bytes, error: Exception) -> None:
        kind = kind_of(error)
        if len(data) >= self._found.get(kind, sys.maxsize):
            return
        is_new = kind not in self._found
        self._found[kind] = len(data)
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{self._name}-{kind}"
        path.write_bytes(data)
        if is_new:
            sys.stdout.write(f"found: {kind}: {str(error)[:200]}\n  once more: {once_more(self._name, path)}\n")
            sys.stdout.flush()


def kind_of(error: Exception) -> str:
    """Return what failures with one cause mostly share: the exception, and the last lines that it came from."""
    frames = extract_tb(error.__traceback__)[1:][-2:]
    return "-".join((type(error).__name__, *(f"{Path(each.filename).stem}.{each.lineno}" for each in frames)))


def once_more(name: str, path: Path) -> str:
    """Return the command that runs an input again."""
    program = Path(__file__).relative_to(checkout.ROOT)
    return f"{Path(sys.executable)} {program} again {name} {path}"


def fuzz_one(name: str, seconds: str, *options: str) -> None:
    """Run one target in this process, which libFuzzer ends."""
    import atheris  # type: ignore[import-untyped]  # noqa: PLC0415 - only fuzzing needs it

    with atheris.instrument_imports(include=[*FAMILIES[file_of(name)].watched]):
        target = target_of(name)
    for each in kept_inputs(name):
        target(each)  # what is made once is no coverage of an input
    corpus = BUILD / "corpus" / name
    arguments = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=60", "-rss_limit_mb=4096"]
    arguments += ["-print_final_stats=1", "-reload=0", f"-artifact_prefix={BUILD}/found/{name}-"]
    atheris.Setup([sys.argv[0], *arguments, *options, str(corpus)], Finder(name, target, BUILD / "found"))
    atheris.Fuzz()


class Line(NamedTuple):
    """What a line of libFuzzer says."""

    inputs: int
    reached: int


_SAID: Final = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+)")
_RUN: Final = re.compile(r"stat::number_of_executed_units: (\d+)")


def lines_of(process: subprocess.Popen[str]) -> Iterator[Line]:
    """Yield what a run says of itself; pass on what is found, and what ends it before its time."""
    reached = 0
    assert process.stdout is not None
    for line in process.stdout:
        if said := _SAID.match(line):
            reached = int(said[2])
            yield Line(int(said[1]), reached)
        elif run := _RUN.match(line):
            yield Line(int(run[1]), reached)
        elif line.startswith(("found: ", "  once more: ", "Traceback", "ALARM", "==")) or "Error" in line:
            sys.stdout.write(line)


def run(name: str, seconds: float, *options: str) -> tuple[str, Line, int]:
    """Run one target in a process of its own; return its name, what it did, and how many kinds of failures it found."""
    corpus, found = BUILD / "corpus" / name, BUILD / "found"
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    for path in found.glob(f"{name}-*"):
        path.unlink()
    for number, each in enumerate(kept_inputs(name)):
        (corpus / f"kept-{number}").write_bytes(each)
    command = [sys.executable, "-W", "ignore", __file__, "one", name, str(max(1, int(seconds))), *options]
    last, said_at = Line(0, 0), time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for last in lines_of(process):
            if time.monotonic() - said_at > SECONDS_BETWEEN_LINES:
                said_at = time.monotonic()
                sys.stdout.write(f"{name}: {last.inputs:,} inputs, {last.reached:,} places reached\n")
                sys.stdout.flush()
    kinds = len([*found.glob(f"{name}-*")])
    return name, last, max(kinds, int(process.returncode != 0))


def keep(name: str) -> None:
    """Write the corpus of a target anew: of the inputs that reached something new the shortest."""
    inputs = sorted(
        {path.read_bytes() for path in (BUILD / "corpus" / name).iterdir()}, key=lambda each: (len(each), each)
    )
    size = 0
    lines: list[str] = []
    for each in inputs:
        size += len(each)
        if size > MOST_KEPT:
            break
        lines.append(b64encode(each).decode())
    CORPORA.mkdir(exist_ok=True)
    (CORPORA / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))


def main(words: list[str]) -> int:
    if words[:1] == ["again"]:
        target_of(words[1])(Path(words[2]).read_bytes())
        sys.stdout.write("nothing was found\n")
        return 0
    if words[:1] == ["one"]:
        fuzz_one(*words[1:])
    minutes, *rest = words or ["10"]
    names = [each for each in rest if each != "--keep"] or [*TARGETS]
    rows = [run(name, float(minutes) * 60 / len(names)) for name in names]
    if "--keep" in rest:
        for name in names:
            keep(name)
    return report(rows)


def report(rows: list[tuple[str, Any, int]]) -> int:
    """Print a table of what each target did; return 1 if something was found."""
    sys.stdout.write(f"\n{'target':14} {'inputs':>12} {'places reached':>15} {'found':>6}\n")
    for name, last, found in (*rows, ("all", Line(sum(row[1].inputs for row in rows), 0), sum(row[2] for row in rows))):
        sys.stdout.write(f"{name:14} {last.inputs:12,} {last.reached or '':>15} {found:6}\n")
    return int(any(row[2] for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
