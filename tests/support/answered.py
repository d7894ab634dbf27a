"""Running a chain over one answer, for tests that are about what is in it and not about how it ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.events import AnswerEnd
from penstock.operators.engine.drive import drive


def answered(items: Iterable[Any], *operators: Any) -> list[Any]:
    """Return what a chain makes of one answer, without its end."""
    return before_the_end(drive(items, *operators))


def before_the_end(events: Iterable[Any]) -> list[Any]:
    """Return the events of one answer without its `AnswerEnd`, which must be the last one and the only one."""
    *rest, last = events
    assert isinstance(last, AnswerEnd), last
    assert not any(isinstance(each, AnswerEnd) for each in rest), rest
    return rest
