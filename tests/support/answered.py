"""Running a chain over an answer, for tests that are about what is in it and not about how it ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from operator_contract import wrong_answers

from penstock.events import AnswerEnd
from penstock.operators.engine.drive import drive


def answered(items: Iterable[Any], *operators: Any) -> list[Any]:
    """Return what a chain makes of an answer, without its end."""
    return before_the_end(drive(items, *operators))


def before_the_end(events: Iterable[Any]) -> list[Any]:
    """Return events without the `AnswerEnd`s: one for each choice, the last event of its choice, and of all."""
    given = list(events)
    assert wrong_answers(given) == [], given
    assert isinstance(given[-1], AnswerEnd), given[-1]
    return [each for each in given if not isinstance(each, AnswerEnd)]
