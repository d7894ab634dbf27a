"""The cells of a frame, of pandas or polars."""

from __future__ import annotations

from importlib import import_module
from typing import Any

pd: Any = import_module("pandas")
pl: Any = import_module("polars")


def cells(frame: Any) -> list[tuple[Any, ...]]:
    """Return the rows of either library's frame as plain values."""
    if isinstance(frame, pl.DataFrame):
        return frame.rows()
    return [tuple(None if cell is pd.NA else cell for cell in row) for row in frame.itertuples(index=False)]
