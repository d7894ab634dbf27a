"""`drive` and `stage` for tests that assert what comes out instead of declaring it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.operators import Operator
from penstock.operators import drive as typed_drive
from penstock.operators import stage as typed_stage
from penstock.operators.engine.stage import StageChain


def drive(items: Iterable[Any], *operators: Operator[Any, Any]) -> Iterator[Any]:
    return typed_drive(items, *operators)


def stage(*operators: Operator[Any, Any]) -> StageChain[Any, Any]:
    return typed_stage(*operators)
