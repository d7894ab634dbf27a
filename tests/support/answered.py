"""Running a chain over an answer, for tests that are about what is in it and not about how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from operator_contract import wrong_answers

from penstock.events import AnswerEnd
from penstock.operators.engine.drive import drive
from penstock.pipeline import Pipeline


def answered(items: Iterable[Any], *operators: Any) -> list[Any]:
    """Return what a chain makes of an answer, without its end."""
    return before_the_end(drive(items, *operators))


def before_the_end(events: Iterable[Any]) -> list[Any]:
    """Return events without the `AnswerEnd`s: one for each choice, the last event of its choice, and of all."""
    given = list(events)
    assert wrong_answers(given) == [], given
    assert isinstance(given[-1], AnswerEnd), given[-1]
    return [each for each in given if not isinstance(each, AnswerEnd)]


def read_until_it_fails(source: Any, *, is_async: bool = False) -> tuple[list[Any], Exception]:
    """Return the events of a stream before its error, and the error."""
    events: list[Any] = []

    async def main() -> None:
        async for event in Pipeline().astream(source):
            events.append(event)  # noqa: PERF401 - those before an error count

    try:
        if is_async:
            asyncio.run(main())
        else:
            events.extend(Pipeline().stream(source))
    except Exception as error:  # noqa: BLE001 - what it is, is asked by the test
        return events, error
    raise AssertionError
