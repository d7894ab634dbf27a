"""pyarrow, which comes with an extra and has no types."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

from ...events.errors import UsageError, how_to_install

try:
    pa: Any = import_module("pyarrow")
    compute: Any = import_module("pyarrow.compute")
    parquet: Any = import_module("pyarrow.parquet")
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "pyarrow":
        raise
    message = f"read_dataset(...) needs pyarrow; {how_to_install('scale')}"
    raise UsageError(message) from error

Schema: TypeAlias = Any
Table: TypeAlias = Any
