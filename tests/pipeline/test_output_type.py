from __future__ import annotations

import json
import pickle
import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import pytest
from answered import before_the_end
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from partial_answers import chunks_of, grows
from pydantic import BaseModel, Field, TypeAdapter, ValidationError, field_validator
from strategies.cuts import cuts
from strategies.output_types import Typed, output_types, written
from typing_extensions import TypedDict

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    Output,
    OutputFailed,
    SegmentEvent,
    ToolCallDelta,
    ToolInvocation,
    UsageError,
)
from penstock.operators import PartialOutput, partial_output, to_segments
from penstock.pipeline import OutputType, Pipeline, Settings


class Step(BaseModel):
    title: str
    minutes: int = 3


class Recipe(BaseModel):
    """What to cook."""

    name: str
    steps: list[Step] = Field(min_length=1)
    next: Recipe | None = None


@dataclass
class Point:
    x: int
    y: int


class Named(TypedDict):
    name: str


class Odd(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def odd(cls, number: int) -> int:
        if number == 0:
            raise KeyError(number)
        if number % 2 == 0:
            message = "this is even"
            raise ValueError(message)
        return number


SCHEMA: dict[str, Any] = {
    "title": "A point",
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
    "required": ["x"],
}


def results(output_type: Any, texts: list[str], **options: Any) -> list[Output | OutputFailed]:
    events = Pipeline(output_type=output_type, turn_id="t", **options).stream(chunks_of(texts))
    return [each for each in events if isinstance(each, Output | OutputFailed)]


def result(output_type: Any, *texts: str) -> Output | OutputFailed:
    (only,) = results(output_type, list(texts))
    return only


def value(output_type: Any, *texts: str) -> Any:
    made = result(output_type, *texts)
    assert isinstance(made, Output), made
    return made.value


def failure(output_type: Any, *texts: str) -> OutputFailed:
    made = result(output_type, *texts)
    assert isinstance(made, OutputFailed), made
    return made


# The value is pydantic's


@given(st.data())
def test_the_value_is_that_of_pydantic_for_the_whole_text_and_grows_to_it(data: st.DataObject):
    typed: Typed = data.draw(output_types)
    text = data.draw(written(typed))
    stream = Pipeline(output_type=typed.type).stream(chunks_of(data.draw(cuts(text))))
    seen = [each.snapshot() if isinstance(each, PartialOutput) else each for each in stream]
    *seen, end = seen
    assert isinstance(end, AnswerEnd)
    made = seen[-1]
    assert isinstance(made, Output)
    assert made.value == TypeAdapter(typed.type).validate_json(text)
    partials = [each for each in seen if not isinstance(each, SegmentEvent | Output)]
    for before, after in pairwise([*partials, json.loads(text)]):
        assert grows(before, after)


@given(st.data())
def test_what_pydantic_refuses_is_invalid_and_nothing_else_is(data: st.DataObject):
    asked: Typed = data.draw(output_types)
    text = data.draw(written(data.draw(output_types)))
    made = result(asked.type, *data.draw(cuts(text)))
    expected, places = validated(asked.type, text)
    if isinstance(made, Output):
        assert made.value == expected or "null" in text  # which was left out
    else:
        assert (made.reason, made.raw) == ("invalid", text)
        assert [each["loc"] for each in made.errors] == places


def validated(output_type: Any, text: str) -> tuple[Any, list[Any]]:
    """Return pydantic's value of a text, or the places of its errors."""
    try:
        return TypeAdapter(output_type).validate_json(text), []
    except ValidationError as error:
        return None, [each["loc"] for each in error.errors()]


@looped(
    "output_type, text, expected",
    [
        (Recipe, '{"name": "a", "steps": [{"title": "b"}]}', Recipe(name="a", steps=[Step(title="b")])),
        (Point, '{"x": 1, "y": 2}', Point(1, 2)),
        (Named, '{"name": "a"}', {"name": "a"}),
        (list[int], "[1, 2]", [1, 2]),
        (int | Point, '{"x": 1, "y": 2}', Point(1, 2)),
        (int, "12", 12),
        (bool, "true", True),
        (None.__class__, "null", None),
        (Any, '{"a": 1, "a": 2}', {"a": 2}),
        (Annotated[int, Field(gt=1)], "```json\n2\n```", 2),
    ],
)
def test_any_type_of_pydantics_will_do(output_type: Any, text: str, expected: Any):
    assert value(output_type, text) == expected
    made = failure(output_type, text[: len(text) // 2 + 1] + "{")
    assert made.reason in ("malformed", "truncated")


def test_errors_are_pydantics():
    made = failure(Recipe, '{"name": "a", "st', 'eps": [{"minutes": "x"}]}')
    assert (made.reason, made.raw) == ("invalid", '{"name": "a", "steps": [{"minutes": "x"}]}')
    assert [(each["loc"], each["type"]) for each in made.errors] == [
        (("steps", 0, "title"), "missing"),
        (("steps", 0, "minutes"), "int_parsing"),
    ]


def test_whatever_a_validator_raises_the_output_is_invalid():
    assert value(Odd, '{"number": 3}') == Odd(number=3)
    assert failure(Odd, '{"number": 2}').errors[0]["msg"] == "Value error, this is even"
    assert failure(Odd, '{"number": 0}').errors[0]["type"] == "KeyError"


def test_nulls_of_what_is_optional_count_as_not_given():
    text = '{"name": "a", "steps": [{"title": "b", "minutes": null}], "next": null}'
    assert value(Recipe, text) == Recipe(name="a", steps=[Step(title="b")])
    assert failure(Recipe, '{"name": null, "steps": []}').errors[0]["loc"] == ("name",)
    assert value(list[Step], '[{"title": "b", "minutes": null}]') == [Step(title="b")]


# Text


@pytest.mark.parametrize("output_type", [str, Annotated[str, Field(max_length=20)]])
def test_of_a_str_the_text_itself_is_the_value(output_type: Any):
    assert value(output_type, '"Once" ', "upon") == '"Once" upon'


def test_a_text_can_have_constraints():
    assert failure(Annotated[str, Field(max_length=3)], "Once").errors[0]["type"] == "string_too_long"


# JSON Schemas


def test_a_json_schema_gives_plain_data_that_fits_it():
    assert value(SCHEMA, '{"x": 1, ', '"y": 2}') == {"x": 1, "y": 2}
    assert value(SCHEMA, '{"x": 1, "y": null}') == {"x": 1}
    made = failure(SCHEMA, '{"x": "1"}')
    assert (made.reason, made.errors[0]["loc"], made.errors[0]["type"]) == ("invalid", ("x",), "type")
    assert value({"type": "array", "items": {"type": "integer"}}, "[1]") == [1]


def test_a_json_schema_needs_jsonschema(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    monkeypatch.setitem(sys.modules, "jsonschema.exceptions", None)
    with pytest.raises(UsageError, match=r'^a JSON Schema as output_type= needs .*pip install "\.\[jsonschema\]"$'):
        Pipeline(output_type=SCHEMA)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (5, "output_type= must be a type that pydantic can validate, or a JSON Schema, got 5"),
        ("Recipe", "must be a type that pydantic can validate"),
        (Point(1, 2), "must be a type that pydantic can validate"),
        ({"type": "text"}, "the contents of output_type=: 'text' is not a JSON Schema type"),
        ({"type": "string", "pattern": 5}, "the contents of output_type= are not a JSON Schema"),
        ({"$ref": "#/$defs/None"}, "is not in the schema"),
    ],
)
def test_what_is_no_type_is_refused_when_the_pipeline_is_made(wrong: Any, words: str):
    with pytest.raises(UsageError) as raised:
        Pipeline(output_type=wrong)
    assert words in str(raised.value)


# In a pipeline


def test_calls_in_the_same_answer_are_invoked():
    def look(at: str) -> str:
        return at

    call = ToolCallDelta(0, "c", "look", '{"at": "x"}', done=True)
    chunks = [ChunkResponse(tool_calls=(call,)), *chunks_of(['{"x": 1}'])]
    events = list(Pipeline(tools=[look], output_type=SCHEMA).stream(chunks))
    assert sum(isinstance(each, ToolInvocation) for each in events) == 1
    assert isinstance(before_the_end(events)[-1], Output)


def test_text_without_a_provider_is_read_too():
    made = before_the_end(Pipeline(output_type=list[int]).stream(["[1, ", "2]"]))[-1]
    assert isinstance(made, Output)
    assert made.value == [1, 2]


def test_limits_hold():
    settings = Settings(limits={"depth": 1})
    (made,) = results(list[list[int]], ["[[1]]"], settings=settings)
    assert isinstance(made, OutputFailed)
    assert made.reason == "limit"


def test_the_chain_shows_it_and_the_code_has_the_type():
    pipeline = Pipeline([to_segments()], output_type=list[int] | None)
    assert str(pipeline) == "Pipeline([\n    to_segments(),\n], output_type=list[int] | None)"
    assert [each.steps[0].name for each in pipeline.chain] == ["to_segments", "partial_output"]  # type: ignore[union-attr]
    made = eval(pipeline.code(), {"Pipeline": Pipeline, "to_segments": to_segments})
    assert made.chain == pipeline.chain != Pipeline([to_segments()], output_type=list[int]).chain


@pytest.mark.parametrize("output_type", [Recipe, list[int], SCHEMA, str])
def test_pipelines_and_types_pickle(output_type: Any):
    pipeline = Pipeline(output_type=output_type)
    assert pickle.loads(pickle.dumps(pipeline)).chain == pipeline.chain
    copy = pickle.loads(pickle.dumps(OutputType(output_type)))
    assert (copy, hash(copy)) == (OutputType(output_type), hash(OutputType(output_type)))
    assert copy != OutputType(int)


def test_a_pipeline_that_is_changed_keeps_its_output():
    changed = Pipeline(output_type=list[int]).replace("to_segments", to_segments(eager=True))
    assert isinstance(before_the_end(changed.stream(chunks_of(["[1]"])))[-1], Output)


def test_it_is_either_the_pipelines_or_the_chains():
    with pytest.raises(UsageError, match=r"has partial_output\(\.\.\.\) already; leave output_type= out"):
        Pipeline([to_segments(), partial_output()], output_type=list[int])
    with pytest.raises(UsageError, match="'partial_output' comes from output_type=; leave that out"):
        Pipeline(output_type=list[int]).replace("partial_output", partial_output(fenced=False))
    listed = Pipeline([to_segments(), partial_output()])
    assert isinstance(before_the_end(listed.stream(chunks_of(["[1]"])))[-1], Output)


MUTANTS = {
    "pydantic validates the fence, too": ("any_type", ("operators/partial_output.py", "self._validated(raw[reader.span])", "self._validated(raw)")),
}  # fmt: skip
