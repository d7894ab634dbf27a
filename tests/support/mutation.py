"""Run the tests against a sample of all small changes of the engines, each of which some test must notice.

    python tests/support/mutation.py 1000 0                  a thousand mutants, drawn with the seed 0
    python tests/support/mutation.py operators/text/x.py:12  the mutants of a line, or of a file

The changes are those of mutmut: an operator, a comparison, a number, an argument, a branch. Its own runner puts each
function behind another one, which counts as a call where the laws count calls, and cannot take the place of what is in
C; so each mutant is a module of its own here, in a fork of this process that runs the tests which reach its line.
Which do is measured once, by coverage.py, and kept in build/mutation. Those with the fewest lines of their own come
first, and the laws last. A mutant is caught if a test fails, or has no end within `SECONDS` of computing.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.machinery import ModuleSpec
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, Final, NamedTuple

import hypothesis  # noqa: F401 - imported once for all forks, as what follows
import libcst as cst
import pydantic  # noqa: F401
import pytest
import reactivex  # noqa: F401
from coverage import CoverageData
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.file_mutation import create_mutations

ROOT: Final = Path(__file__).parents[2]
BUILD: Final = ROOT / "build" / "mutation"
FOLDERS: Final = (
    *("operators/engine", "operators/machines", "operators/calls", "operators/text", "operators/grammar"),
    *("sources/base", "sources/framing"),
)
"""The engines."""
TESTS: Final = ("tests/operators", "tests/sources", "tests/contract")
LAWS: Final = "tests/laws"
"""They reach nearly every line, and take long: they are asked of the mutants that the other tests let pass."""
SECONDS: Final = 40
SECONDS_OF_LAWS: Final = 600
MOST_TESTS: Final = 60
"""Of the tests that reach a line, so many are run."""
LEAST_CAUGHT: Final = 0.9
PYTEST: Final = (
    *("-q", "-p", "no:cacheprovider", "-W", "ignore:Module already", "--hypothesis-profile=quick"),
    *("-m", "not tooling and not deep"),
)


class Mutant(NamedTuple):
    """A change of a file, within a function."""

    file: str
    line: int
    old: str
    new: str
    code: str
    """The whole file with the change."""

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}: {_short(self.old)} -> {_short(self.new)}"


def _short(code: str) -> str:
    text = " ".join(code.split())
    return text if len(text) <= 60 else f"{text[:57]}..."


class Changes:
    """The changes of a file."""

    def __init__(self, file: str) -> None:
        self._file = file
        code = (ROOT / file).read_text(encoding="utf-8")
        self._module, changes, *_ = create_mutations(file, code)
        self._changes = [each for each in changes if isinstance(each.contained_by_top_level_function, cst.FunctionDef)]
        self._places: Any = MetadataWrapper(self._module, unsafe_skip_copy=True).resolve(PositionProvider)

    def __len__(self) -> int:
        return len(self._changes)

    def line(self, number: int) -> int:
        return int(self._places[self._changes[number].original_node].start.line)

    def mutant(self, number: int) -> Mutant:
        change = self._changes[number]
        old, new = map(cst.Module([]).code_for_node, (change.original_node, change.mutated_node))
        changed = self._module.deep_replace(change.original_node, change.mutated_node)
        assert isinstance(changed, cst.Module)
        return Mutant(self._file, self.line(number), old, new, changed.code)


def sample(count: int, seed: int) -> list[Mutant]:
    """Draw mutants of the engines, each of all with the same chance."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.py")) if path.stem != "__init__"]
    every = [(changes, number) for path in paths for changes in [_changes_of(path)] for number in range(len(changes))]
    drawn = Random(seed).sample(every, min(count, len(every)))
    sys.stdout.write(f"{len(drawn)} of {len(every)} mutants, drawn with the seed {seed}\n")
    return [changes.mutant(number) for changes, number in drawn]


def _changes_of(path: Path) -> Changes:
    return Changes(path.relative_to(ROOT).as_posix())


def chosen(words: Sequence[str]) -> list[Mutant]:
    """Return the mutants of files, or of lines of them."""
    found: list[Mutant] = []
    for word in words:
        file, _, line = word.partition(":")
        changes = Changes(file)
        found += [changes.mutant(each) for each in range(len(changes)) if not line or changes.line(each) == int(line)]
    return found


# ---- which tests reach a line


def measure() -> None:
    """Run the tests once, and keep which of them reach which lines."""
    BUILD.mkdir(parents=True, exist_ok=True)
    settings = BUILD / "coverage.ini"
    folders = ", ".join(str(ROOT / folder) for folder in FOLDERS)
    settings.write_text(f"[run]\ndynamic_context = test_function\nsource = {folders}\ndata_file = {BUILD / 'lines'}\n")
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", *PYTEST, *TESTS]
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        message = f"the tests do not run: {shlex.join(command)}"
        raise SystemExit(message)


class Reached:
    """The tests that reach each line."""

    def __init__(self) -> None:
        self._data = CoverageData(str(BUILD / "lines"))
        self._data.read()
        self._files = {path.stem: path for path in (ROOT / "tests").rglob("test_*.py")}
        self._lines: Counter[str] = Counter()
        self._by_file: dict[str, dict[int, list[str]]] = {}
        for file in self._data.measured_files():
            by_line: dict[int, list[str]] = defaultdict(list)
            for line, contexts in self._data.contexts_by_lineno(file).items():
                by_line[line] = [each for each in contexts if each]
                self._lines.update(by_line[line])
            self._by_file[file] = by_line

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests to run, those of few lines first."""
        by_line = self._by_file.get(str(ROOT / mutant.file), {})
        # A statement of several lines is known by its first one.
        line = next((at for at in range(mutant.line, max(0, mutant.line - 12), -1) if by_line.get(at)), mutant.line)
        tests = map(self._node, sorted(by_line.get(line, ()), key=self._of))
        return [each for each in tests if each is not None][:MOST_TESTS]

    def _of(self, test: str) -> tuple[int, str]:
        return self._lines[test], test

    def _node(self, test: str) -> str | None:
        """Return the id that pytest has for a test function."""
        module, _, name = test.rpartition(".")
        path = self._files.get(module)
        return f"{path.relative_to(ROOT)}::{name}" if path is not None and name.startswith("test_") else None


# ---- a mutant


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads a mutant in place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._name = f"penstock.{mutant.file.removesuffix('.py').replace('/', '.')}"

    def find_spec(self, fullname: str, _path: Any = None, _target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, ROOT / self._mutant.file, loader=self)

    def create_module(self, _spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._mutant.code, str(ROOT / self._mutant.file), "exec"), module.__dict__)


class _Failures:
    """Notes the tests that fail, as a plugin of pytest."""

    def __init__(self) -> None:
        self.tests: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tests.add(report.nodeid.partition("[")[0])


def run_tests(tests: Sequence[str], mutant: Mutant | None, seconds: int = SECONDS) -> tuple[int, set[str]]:
    """Run tests in a fork, up to the first that fails if there is a mutant; return pytest's status, and which failed."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.close(receiver)
            signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background has not
            if mutant is not None:
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
                resource.setrlimit(resource.RLIMIT_AS, (8 * 1024**3,) * 2)
                sys.meta_path.insert(0, _Changed(mutant))
            failures = _Failures()
            with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
                status = int(pytest.main([*PYTEST, *(["-x"] if mutant else []), *tests], plugins=[failures]))
            os.write(sender, "\n".join(failures.tests).encode())
        finally:
            os._exit(status)
    os.close(sender)
    with os.fdopen(receiver) as said:
        failed = {*said.read().split()}
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), failed


def verdict(mutant: Mutant, tests: Sequence[str], laws: Sequence[str] = (LAWS,)) -> str:
    """Return what becomes of a mutant: `caught`, `caught by the laws`, or `survived`."""
    if tests and run_tests(tests, mutant)[0] != pytest.ExitCode.OK:
        return "caught"
    is_law_abiding = run_tests(laws, mutant, SECONDS_OF_LAWS)[0] == pytest.ExitCode.OK
    return "survived" if is_law_abiding else "caught by the laws"


def verdicts(mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, str]]:
    """Yield what becomes of each mutant; tests that fail without one are said, and not asked."""
    reached = Reached()
    tests = [reached.tests(mutant) for mutant in mutants]
    status, failing = run_tests(sorted({each for some in tests for each in some}), None)
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        message = (
            f"pytest ends with {status} without a mutant; remove {BUILD}, so that it is measured which tests there are"
        )
        raise SystemExit(message)
    for each in sorted(failing):
        sys.stdout.write(f"fails without a mutant, and is left out: {each}\n")
    for mutant, some in zip(mutants, tests, strict=True):
        yield mutant, verdict(mutant, [each for each in some if each not in failing])


def main(words: list[str]) -> int:
    if not (BUILD / "lines").exists():
        measure()
    os.chdir(ROOT)
    mutants = sample(*map(int, words)) if all(word.isdigit() for word in words) else chosen(words)
    begun, counts = time.monotonic(), Counter[str]()
    for number, (mutant, said) in enumerate(verdicts(mutants), 1):
        counts[said.partition(" ")[0]] += 1
        if said != "caught":
            sys.stdout.write(f"{said}: {mutant.name}\n")
        if number % 25 == 0 or number == len(mutants):
            took = time.monotonic() - begun
            rate = 100 * counts["caught"] / number
            sys.stdout.write(f"{number} of {len(mutants)} mutants in {took:.0f} s: {rate:.1f} % caught\n")
        sys.stdout.flush()
    return int(counts["caught"] < LEAST_CAUGHT * len(mutants))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
