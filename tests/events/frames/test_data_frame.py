"""Rows become the same frame in pandas and in polars."""

from __future__ import annotations

import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from frame_cells import cells, pd, pl
from hypothesis import given
from hypothesis import strategies as st

from penstock.events import UsageError
from penstock.events.frames import data_frame as file_of_data_frame
from penstock.events.frames.data_frame import Columns, data_frame

ROOT = Path(__file__).parents[3]
COLUMNS: Columns = {"text": str, "count": int, "share": float, "open": bool}
ROWS: list[tuple[Any, ...]] = [("a\nb", 1, 0.5, True), (None, None, None, None), ("🌱", 2**60, 1.0, False)]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_every_cell_comes_back_as_it_was(library: str):
    frame = data_frame(COLUMNS, ROWS, library)
    assert type(frame).__module__.partition(".")[0] == library
    assert list(frame.columns) == [*COLUMNS]
    assert cells(frame) == ROWS


@pytest.mark.parametrize("rows", [[], ROWS[1:2], ROWS[:1], ROWS], ids=["none", "missing", "one", "all"])
def test_the_types_do_not_depend_on_the_rows(rows: list[tuple[Any, ...]]):
    assert [str(each) for each in data_frame(COLUMNS, rows, "pandas").dtypes] == [
        "string",
        "Int64",
        "Float64",
        "boolean",
    ]
    assert data_frame(COLUMNS, rows, "polars").dtypes == [pl.String, pl.Int64, pl.Float64, pl.Boolean]


@given(st.lists(st.tuples(st.none() | st.text(), st.none() | st.integers(-(2**63), 2**63 - 1))))
def test_both_libraries_have_the_same_cells(rows: list[tuple[Any, ...]]):
    columns: Columns = {"text": str, "count": int}
    assert cells(data_frame(columns, rows, "pandas")) == cells(data_frame(columns, iter(rows), "polars")) == rows


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_half_of_a_surrogate_pair_can_be_stored(library: str):
    assert cells(data_frame({"text": str}, [("a\ud83d",), ("\ud83c\udf31",)], library)) == [("a\ufffd",), ("🌱",)]


def test_the_installed_library_is_taken_and_pandas_if_both_are(monkeypatch: pytest.MonkeyPatch):
    assert isinstance(data_frame(COLUMNS, ROWS), pd.DataFrame)
    monkeypatch.setattr(
        file_of_data_frame, "find_spec", lambda name: None if name == "pandas" else util.find_spec(name)
    )
    assert isinstance(data_frame(COLUMNS, ROWS), pl.DataFrame)
    with pytest.raises(UsageError, match="pandas is not installed; pip install pandas"):
        data_frame(COLUMNS, ROWS, "pandas")


def test_without_either_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(file_of_data_frame, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"needs pandas or polars; from a clone, pip install \"\.\[frames\]\""):
        data_frame(COLUMNS, ROWS)


def test_another_library_is_told_at_once():
    with pytest.raises(UsageError, match="library must be 'pandas' or 'polars', got 'numpy'"):
        data_frame(COLUMNS, ROWS, "numpy")


def test_neither_is_imported_before_there_is_a_frame():
    code = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests/support")!r})
import checkout
from penstock.events.frames.data_frame import data_frame
import penstock.sinks.collect
print(sorted({{"pandas", "polars"}} & set(sys.modules)))
data_frame({{"a": str}}, [("b",)], "polars")
print(sorted({{"pandas", "polars"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["[]", "['polars']"], done.stderr
