from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from looped import looped
from pydantic import BaseModel

from penstock.events import ToolResult, UsageError
from penstock.events.tool_invocation import result_data, result_text


class Weather(BaseModel):
    celsius: float
    day: date


@dataclass
class Place:
    name: str


CASES: list[tuple[Any, str]] = [
    ("plain é", "plain é"),
    ("", ""),
    (None, "null"),
    (True, "true"),
    (2**80, "1208925819614629174706176"),
    (float("nan"), '"NaN"'),
    ({"a": float("-inf")}, '{"a":"-Infinity"}'),
    ([1, {"é": "🔧"}], '[1,{"é":"🔧"}]'),
    ({1: {2}}, '{"1":[2]}'),
    (Weather(celsius=21.5, day=date(2026, 1, 2)), '{"celsius":21.5,"day":"2026-01-02"}'),
    (Place("Oslo"), '{"name":"Oslo"}'),
    (b"bytes", '"bytes"'),
]


@looped("value, text", CASES)
def test_a_text_is_itself_and_any_other_value_json(value: Any, text: str):
    assert result_text(ToolResult("c", value=value)) == text


@pytest.mark.parametrize("value", [object(), b"\xff", "\ud800", ["\ud800"], ValueError("x"), open, lambda: 1])
def test_what_json_cannot_represent_is_refused_with_the_calls_id(value: Any):
    with pytest.raises(
        UsageError, match=r"the result of call 'c' cannot be written as JSON .* pass text, or plain data"
    ):
        result_text(ToolResult("c", value=value))


def test_a_value_that_contains_itself_or_is_too_deep_is_refused():
    deep: list[Any] = []
    circle: list[Any] = []
    circle.append(circle)
    for _ in range(5_000):
        deep = [deep]
    for value in (deep, circle):
        with pytest.raises(UsageError):
            result_text(ToolResult("c", value=value))


def test_errors_and_refusals_are_told_in_words():
    assert result_text(ToolResult("c", error="no disk")) == "Error: no disk"
    assert result_text(ToolResult("c", denied="not on Sundays")) == "The call was denied: not on Sundays"


def test_data_is_read_once():
    def numbers() -> Iterator[int]:
        yield from (1, 2)

    assert result_data(ToolResult("c", value=numbers())) == [1, 2]
    assert result_data(ToolResult("c", value="[1]")) == "[1]"
    assert result_data(ToolResult("c", value=Weather(celsius=1, day=date(2026, 1, 2)))) == {
        "celsius": 1.0,
        "day": "2026-01-02",
    }
