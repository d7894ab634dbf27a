"""`data_frame`: rows as a data frame of pandas or polars, whichever is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

from ..errors import UsageError, how_to_install
from ..json_form import whole_characters

Columns: TypeAlias = Mapping[str, type[str] | type[int] | type[float] | type[bool]]
"""The type of each column by its name; any cell may be None."""


def data_frame(columns: Columns, rows: Iterable[Sequence[Any]], library: str | None = None) -> Any:
    """Return rows as a data frame, with the same types in both libraries, also where there are no rows.

        data_frame({"id": str, "pieces": int}, [("call_1", 3), ("call_2", None)], "polars")

    `library`: "pandas" or "polars"; by default the installed one, pandas if both are. None becomes the library's
    missing value. Halves of a surrogate pair are joined, and one that is alone becomes U+FFFD.

    `UsageError` if the library is not installed, or is another one.
    """
    name = library or next(filter(find_spec, _MAKERS), None)
    if name is None:
        message = f"to_frame needs pandas or polars; {how_to_install('frames')}"
        raise UsageError(message)
    if name not in _MAKERS:
        message = f"library must be {' or '.join(map(repr, _MAKERS))}, got {library!r}"
        raise UsageError(message)
    if find_spec(name) is None:
        message = f"{name} is not installed; pip install {name}"
        raise UsageError(message)
    clean = [tuple(map(whole_characters, row)) for row in rows]
    return _MAKERS[name](columns, clean)


def _pandas(columns: Columns, rows: list[tuple[Any, ...]]) -> Any:
    frame = import_module("pandas").DataFrame(rows, columns=[*columns], dtype=object)
    return frame.astype({name: _WITH_MISSING[kind] for name, kind in columns.items()})


def _polars(columns: Columns, rows: list[tuple[Any, ...]]) -> Any:
    return import_module("polars").DataFrame(rows, schema=dict(columns), orient="row")


_MAKERS: Mapping[str, Callable[[Columns, list[tuple[Any, ...]]], Any]] = {"pandas": _pandas, "polars": _polars}
_WITH_MISSING: Mapping[type, str] = {str: "string", int: "Int64", float: "Float64", bool: "boolean"}
"""The types of pandas whose columns may have missing values."""
