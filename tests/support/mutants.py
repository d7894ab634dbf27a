"""Break the library on purpose, in copies of the checkout, and see that the tests notice: `make mutants`.

These are the mutants that have a name, beside the tests that must notice them; `mutation.py` draws those without one.
Prints a table; ends with 1 if a mutant survives, if the unbroken copy fails, or if a text to be replaced does not
stand in its file exactly once.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from setuptools import Distribution, Extension  # type: ignore[import-untyped]

from penstock import ROOMS

ROOT = Path(__file__).parents[2]
PARTS = (*ROOMS, "penstock", "tests")

# Few examples, none made smaller: it is enough to know that one fails.
PROFILE = """
from hypothesis import Phase, settings
settings.register_profile(
    "mutants", max_examples=50, deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile("mutants")
"""


class Edit(NamedTuple):
    file: str
    old: str
    new: str


class Mutant(NamedTuple):
    name: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]
    """Files, and with a blank and a word the tests whose name has that word."""


READER = "tests/laws/test_native_reader.py"
NATIVE_LANES = "tests/laws/test_native_lanes.py"
NATIVE = "operators/machines/_native.c"


def named_mutants() -> Iterator[Mutant]:
    """Yield the mutants of the tables `MUTANTS` of the test files.

    Each row has a name, the word that is in the names of the tests which must notice it (empty for all of the file; or
    a list of words, or of other files with a word), and the edits: a file, a text in it, and what takes its place.
    """
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        code = path.read_text(encoding="utf-8")
        if "\nMUTANTS = {" not in code:
            continue
        file = path.relative_to(ROOT).as_posix()
        for name, (asked, *edits) in _table(code).items():
            words = [asked] if isinstance(asked, str) else asked
            tests = (each if each.startswith("tests/") else f"{file} {each}".strip() for each in words)
            yield Mutant(name, tuple(Edit(*each) for each in edits), tuple(tests))


def _table(code: str) -> dict[str, Any]:
    """Return the table of a file, which is not imported: what it tests may be broken."""
    tables = (
        each.value
        for each in ast.parse(code).body
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "MUTANTS"
    )
    found: dict[str, Any] = ast.literal_eval(next(tables))
    return found


def copied(folder: Path) -> Path:
    """Copy what the tests need."""
    for part in PARTS:
        shutil.copytree(
            ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", "*.so", "*.pyd")
        )
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "tests" / "support" / "mutants_profile.py").write_text(PROFILE)
    return folder


def build(source: Path) -> None:
    """Build a module in C beside its source, as setup.py does; `CFLAGS` may add to the compiler's options."""
    distribution = Distribution({"ext_modules": [Extension(source.stem, [str(source)])]})
    command: Any = distribution.get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(source.parent), str(source.parent / "build")
    command.force = True
    command.ensure_finalized()
    command.run()
    shutil.rmtree(source.parent / "build")


def passes(folder: Path, tests: tuple[str, ...]) -> bool:
    """Run the tests in a copy; whether all pass. Tests that cannot run at all are nobody's success.

    A copy reads in Python, unless the tests compare that with what is built in C.
    """
    if any(each.startswith((READER, NATIVE_LANES)) for each in tests):
        build(folder / NATIVE)
    environment = {key: value for key, value in os.environ.items() if key != "SHARED"}
    environment["PYTHONPATH"] = str(folder / "tests" / "support")
    for each in tests:
        file, _, word = each.partition(" ")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "mutants_profile", "-p", "no:cacheprovider", file]
        command += ["-k", word] if word else []
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode == 1:
            return False
        if done.returncode != 0:
            message = f"pytest {each} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
            raise RuntimeError(message)
    return True


def wrong_edits(mutant: Mutant) -> list[str]:
    """Name the files in which a text to be replaced does not stand exactly once."""
    return [edit.file for edit in mutant.edits if (ROOT / edit.file).read_text().count(edit.old) != 1]


def verdict(mutant: Mutant) -> str:
    if files := wrong_edits(mutant):
        return f"NOT MADE: the text stands not exactly once in {', '.join(files)}"
    with tempfile.TemporaryDirectory(prefix="penstock-mutant-") as name:
        folder = copied(Path(name))
        for edit in mutant.edits:
            path = folder / edit.file
            path.write_text(path.read_text().replace(edit.old, edit.new))
        return "SURVIVED" if passes(folder, mutant.tests) else "caught"


def unbroken(mutants: Sequence[Mutant]) -> str:
    """Run each test that a mutant needs in a copy where nothing is broken."""
    words: dict[str, dict[str, None]] = {}
    for each in (each for mutant in mutants for each in mutant.tests):
        file, _, word = each.partition(" ")
        words.setdefault(file, {})[word] = None
    tests = [file if "" in some else f"{file} {' or '.join(some)}" for file, some in words.items()]
    with tempfile.TemporaryDirectory(prefix="penstock-mutant-") as name:
        folder = copied(Path(name))
        failing = [each for each in tests if not passes(folder, (each,))]
    return f"FAILS: {', '.join(failing)}" if failing else "passes"


def main(words: list[str]) -> int:
    """Run all mutants, or those whose name has one of the words."""
    chosen = [mutant for mutant in named_mutants() if not words or any(word in mutant.name for word in words)]
    names = [*(mutant.name for mutant in chosen), "(nothing broken)"]
    width = max(map(len, names))
    wrong = 0
    with ThreadPoolExecutor(max_workers=2) as pool:
        runs = [*(pool.submit(verdict, mutant) for mutant in chosen), pool.submit(unbroken, chosen)]
        for name, run in zip(names, runs, strict=True):
            said = run.result()
            wrong += said not in ("caught", "passes")
            sys.stdout.write(f"{name:{width}}  {said}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen)} mutants, {wrong} not as they should be\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
