from __future__ import annotations

import json
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import BaseModel, Field, RootModel

from penstock.events import UsageError
from penstock.operators.schemas.schema_validation import model_schema


class Inner(BaseModel):
    x: int


class Outer(BaseModel):
    """What it is."""

    model_config = {"title": "A title of its own"}
    inner: Inner = Field(title="Said by hand")
    names: list[str] = Field(default=[], alias="Names")
    odd: Any = object()


def test_it_has_no_titles_that_nobody_wrote_the_aliases_and_no_default_that_json_cannot_say():
    assert model_schema(Outer, "Outer") == {
        "type": "object",
        "properties": {
            "inner": {"$ref": "#/$defs/Inner", "title": "Said by hand"},
            "Names": {"default": [], "items": {"type": "string"}, "type": "array"},
            "odd": {},
        },
        "required": ["inner"],
        "$defs": {
            "Inner": {"properties": {"x": {"type": "integer"}}, "required": ["x"], "title": "Inner", "type": "object"}
        },
        "description": "What it is.",
    }


class Place(NamedTuple):
    x: float
    label: Annotated[str, Field(description="L.")] = ""


class Widest(BaseModel):
    limit: float = float("inf")
    limits: list[float] = Field([1.0, float("-inf")], description="Both.")
    place: Place = Place(1.0)
    far: Place = Place(float("nan"))


def test_no_number_is_in_it_that_json_has_not_and_the_description_says_the_default():
    schema = model_schema(Widest, "Widest")
    assert json.loads(json.dumps(schema, allow_nan=False)) == schema
    properties = schema["properties"]
    assert properties["limit"] == {"type": "number", "description": '{"default": Infinity}'}
    assert properties["limits"]["description"] == 'Both.\n{"default": [1.0, -Infinity]}'
    assert properties["far"]["description"] == '{"default": {"x": NaN, "label": ""}}'


def test_a_named_tuple_is_an_object_with_the_names():
    schema = model_schema(Widest, "Widest")
    assert schema["$defs"]["Place"] == {
        "type": "object",
        "properties": {"x": {"type": "number"}, "label": {"default": "", "description": "L.", "type": "string"}},
        "required": ["x"],
        "additionalProperties": False,
    }
    assert schema["properties"]["place"]["default"] == {"x": 1.0, "label": ""}
    for value in ({"x": 2}, [2]):
        assert Widest.model_validate({"place": value}).place == Place(2.0)


class Tree(BaseModel):
    children: list[Tree] = []


def test_a_model_of_itself_is_an_object_at_the_root():
    schema = model_schema(Tree, "Tree")
    assert schema["type"] == "object"
    assert schema["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}


def test_a_root_that_is_no_object_is_a_usage_error():
    class Many(RootModel[list[int]]):
        pass

    with pytest.raises(UsageError, match=r"the parameters of Many must be .* of type 'array'"):
        model_schema(Many, "Many")


def test_what_json_schema_cannot_say_is_a_usage_error_of_one_line():
    class Odd(BaseModel):
        model_config = {"arbitrary_types_allowed": True}
        a: range

    with pytest.raises(
        UsageError, match="the parameters of Odd cannot be turned into a JSON Schema: Cannot generate a JsonSchema"
    ) as raised:
        model_schema(Odd, "Odd")
    assert "\n" not in str(raised.value)


def test_a_model_that_is_not_complete_is_a_usage_error():
    class Waiting(BaseModel):
        a: Missing  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(UsageError, match="cannot be turned into a JSON Schema: `Waiting` is not fully defined"):
        model_schema(Waiting, "Waiting")
