"""Tables whose rows are asked in one test: pytest spends more on a test of its own than such a row costs."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Iterable
from functools import cache, wraps
from pathlib import Path
from typing import Any

import pytest

Test = Callable[..., None]
ROWS_FILE = "PENSTOCK_TESTS_ROWS"
"""The variable of the environment that names the file for the rows that are asked."""
FAILED = (Exception, pytest.fail.Exception)
"""What a row may fail with."""


def looped(
    names: str,
    rows: Iterable[Any] | Callable[[], Iterable[Any]],
    ids: Collection[str] | Callable[[Any], object] | None = None,
) -> Callable[[Test], Test]:
    """Ask a test about every row of a table, as `pytest.mark.parametrize` does, but in a loop of one test.

    Every row is asked, and what fails names its row. If a row is skipped, so is the test, behind the other rows.
    Fixtures are made once for all rows. Rows that take long to make are given as a function, which the test calls:
    every worker imports every file, but runs some tests only.
    """
    columns = [name.strip() for name in names.split(",")]

    @cache
    def table() -> list[tuple[str | None, tuple[Any, ...]]]:
        found = [_named(row, len(columns)) for row in (rows() if callable(rows) else rows)]
        assert found, "a table without rows asks nothing"
        return found

    if not callable(rows):
        table()

    def loop(test: Test) -> Test:
        @wraps(test)
        def of_each_row(**fixtures: Any) -> None:
            failed: list[BaseException] = []
            skipped: list[BaseException] = []
            for at, (name, values) in enumerate(table()):
                try:
                    test(**fixtures, **dict(zip(columns, values, strict=True)))
                    note_row(f"{test.__name__}[{name or _label(values, ids, at)}]")
                except pytest.skip.Exception as skip:
                    skipped.append(skip)
                except FAILED as error:
                    error.add_note(f"in the row {name or _label(values, ids, at)}")
                    failed.append(error)
            if len(failed) == 1:
                raise failed[0]
            if failed:
                message = f"{len(failed)} of {len(table())} rows failed"
                raise BaseExceptionGroup(message, failed)
            if skipped:
                raise skipped[0]

        return asking_for(of_each_row, [name for name in inspect.signature(test).parameters if name not in columns])

    return loop


def note_row(row: str) -> None:
    """Write down a row that was asked, where somebody wants to know which were."""
    if (file := os.environ.get(ROWS_FILE)) is not None:
        with Path(file).open("a", encoding="utf-8") as rows:
            rows.write(f"ROW {row}\n")


def asking_for(test: Test, names: Iterable[str]) -> Test:
    """Tell pytest the names of a test's arguments."""
    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    test.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return test


def _named(row: Any, width: int) -> tuple[str | None, tuple[Any, ...]]:
    """Return the name that a row has by `pytest.param`, and its values."""
    if hasattr(row, "marks") and hasattr(row, "id"):
        assert not row.marks
        return row.id, tuple(row.values)
    return None, (row,) if width == 1 else tuple(row)


def _label(values: tuple[Any, ...], ids: Any, at: int) -> str:
    if callable(ids):
        return "-".join(str(ids(value)) for value in values)
    return f"{at}: {', '.join(map(_shown, values))}" if ids is None else list(ids)[at]


def _shown(value: Any) -> str:
    try:
        return repr(value)[:300]
    except ValueError as error:  # a number may have too many digits
        return f"<{error}>"
