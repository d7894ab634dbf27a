"""What `make fuzz` asks holds for the inputs that are kept of it and some others, and it says what it finds."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from random import Random

import checkout
import pytest
from depth import scaled
from fuzzing import run_fuzzing
from fuzzing.run_fuzzing import FAMILIES, MOST_KEPT, TARGETS, Finder, kept_inputs, target_of
from hypothesis import settings

LENGTHS = (0, 5, 20, 80)


@pytest.mark.laws
@pytest.mark.parametrize("name", TARGETS)
def test_a_target_finds_nothing_in_what_is_kept_and_in_some_bytes(name: str):
    target, random = target_of(name), Random(0)
    kept = kept_inputs(name)
    for data in kept if settings.get_current_profile_name() != "quick" else kept[:: max(1, len(kept) // 20)]:
        target(data)
    for _ in range(scaled(100)):
        target(random.randbytes(random.choice(LENGTHS)))


def test_a_family_has_the_targets_of_its_file():
    for file, family in FAMILIES.items():
        assert tuple(import_module(f"fuzzing.{file}").TARGETS) == family.targets


def test_of_what_is_found_the_shortest_input_is_kept_with_the_way_to_run_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    def broken(data: bytes) -> None:
        assert b"x" not in data, "has an x"
        int(data[:1] or b"0")

    finder = Finder("json_texts", broken, tmp_path)
    for data in (b"1ax", b"2", b"1x", b"1abx", b"a"):
        finder(data)
    first, second = sorted(tmp_path.iterdir())
    assert (first.read_bytes(), second.read_bytes()) == (b"1x", b"a")
    said = capsys.readouterr().out
    assert said.count("found: AssertionError") == said.count("found: ValueError") == 1
    assert f"run_fuzzing.py again json_texts {first}" in said


def test_what_is_kept_is_small():
    kept = [path.stat().st_size for path in run_fuzzing.CORPORA.iterdir()]
    assert sum(kept) < 2 * MOST_KEPT * len(TARGETS)


@pytest.mark.slow
@pytest.mark.tooling
def test_a_run_prints_a_table_and_an_input_runs_again(tmp_path: Path):
    pytest.importorskip("atheris", reason="there is atheris for Linux alone")

    command = [sys.executable, "-W", "ignore", run_fuzzing.__file__, "0.02", "requests"]
    done = subprocess.run(command, cwd=checkout.ROOT, capture_output=True, text=True, check=True)
    *_, heading, row, last = done.stdout.splitlines()
    assert heading.split() == ["target", "inputs", "places", "reached", "found"]
    name, inputs, reached, found = row.replace(",", "").split()
    assert (name, found) == ("requests", "0")
    assert int(inputs) > 10
    assert int(reached) > 10
    assert last.split()[0] == "all"
    (tmp_path / "input").write_bytes(b"")
    assert run_fuzzing.main(["again", "requests", str(tmp_path / "input")]) == 0
