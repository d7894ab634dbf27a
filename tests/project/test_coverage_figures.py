"""`make coverage` counts lines and branches of each room, and fails where fewer have run than before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import coverage_figures
import pytest
from coverage_figures import Figures, before, main, table


def summary(*numbers: int) -> dict[str, Any]:
    names = ("covered_lines", "num_statements", "covered_branches", "num_branches")
    return {"summary": dict(zip(names, numbers, strict=True))}


REPORT = {
    "files": {
        "sinks/a.py": summary(2, 3, 1, 2),
        "sinks/b/c.py": summary(1, 1, 0, 0),
        "events/d.py": summary(0, 2, 0, 0),
    }
}


def test_the_figures_are_those_of_all_lines_of_a_room_cut_to_a_tenth():
    assert table(REPORT) == {"events": Figures(0.0, 0.0), "sinks": Figures(75.0, 50.0), "all": Figures(50.0, 50.0)}
    assert table({"files": {"a.py": summary(2, 3, 0, 1)}})["all"] == Figures(66.6, 0.0)


@pytest.mark.parametrize(
    ("page", "status", "said"),
    [
        ("| all | 50.0 % | 50.0 % |", 0, ""),
        ("| all | 49.9 % | 50.0 % |", 0, ""),
        ("# Evidence", 0, ""),
        ("| all | 50.1 % | 50.0 % |", 1, "fewer than before: 50.1 % of the lines, and 50.0 % of the branches"),
        ("| all | 50.0 % | 50.1 % |", 1, "fewer than before"),
    ],
)
def test_fewer_than_the_page_says_is_a_failure(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    page: str,
    status: int,
    said: str,
):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "evidence.md").write_text(f"# Evidence\n\n{page}\n")
    (tmp_path / "report.json").write_text(json.dumps(REPORT))
    monkeypatch.setattr(coverage_figures, "ROOT", tmp_path)
    assert main(str(tmp_path / "report.json")) == status
    assert said in capsys.readouterr().out


def test_what_the_page_says_is_read():
    assert before("x\n| all | 96.1 % | 93.0 % |\n") == Figures(96.1, 93.0)
