from __future__ import annotations

import pytest
from pydantic import BaseModel

from penstock.events import ToolResult, UsageError, from_json, to_dict, to_json


def test_it_is_an_error_if_it_has_one():
    assert not ToolResult("c").is_error
    assert not ToolResult("c", value=0).is_error
    assert ToolResult("c", error="").is_error
    assert ToolResult("c", denied="no").is_error


@pytest.mark.parametrize(
    "said", [{"value": 1, "error": "a"}, {"error": "a", "denied": "b"}, {"value": "", "denied": "b"}]
)
def test_value_error_and_denied_exclude_each_other(said: dict[str, object]):
    with pytest.raises(UsageError, match="a ToolResult has one of value=, error= and denied=; 'c' has several"):
        ToolResult("c", **said)  # type: ignore[arg-type]


def test_a_value_is_never_taken_for_a_turn():
    with pytest.raises(TypeError):
        ToolResult("c", "12:00")  # type: ignore[call-arg]


@pytest.mark.parametrize("result", [ToolResult("c", turn_id="t", value={"a": [1, None]}), ToolResult("c", denied="no")])
def test_it_goes_through_json(result: ToolResult):
    assert from_json(to_json(result)) == result
    assert to_dict(result)["type"] == "TOOL_RESULT"


def test_a_value_that_is_a_model_goes_into_json_too():
    class Weather(BaseModel):
        celsius: int

    result = ToolResult("c", value=[Weather(celsius=21)])
    assert to_dict(result)["value"] == [{"celsius": 21}]
    assert from_json(to_json(result)) == ToolResult("c", value=[{"celsius": 21}])


def test_a_value_without_a_json_form_is_refused_with_its_event():
    with pytest.raises(UsageError, match=r"a value in a ToolResult cannot be written as JSON: .*object"):
        to_json(ToolResult("c", value=object()))
