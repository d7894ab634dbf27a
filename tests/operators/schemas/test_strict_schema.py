from __future__ import annotations

import copy
from typing import Annotated, Any, Literal

import anthropic
import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from looped import looped
from openai.lib._pydantic import to_strict_json_schema
from pydantic import BaseModel, Field
from strategies.schemas import parameters

from penstock.events import UsageError
from penstock.operators.schemas.schema_validation import model_schema
from penstock.operators.schemas.strict_schema import StrictMode, strict_schema
from penstock.sources.anthropic.request import STRICT as ANTHROPIC
from penstock.sources.openai_chat.request import STRICT as OPENAI

TEXT = {"type": "string"}
NULL = {"type": "null"}


def described(schema: Any, *, required: bool = True) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, "required": ["a"] if required else []}


def strict(schema: Any, mode: StrictMode = OPENAI, *, required: bool = True) -> Any:
    """Return what becomes of one property's schema."""
    return strict_schema(described(schema, required=required), mode, "f")["properties"]["a"]


def test_objects_are_closed_and_all_their_properties_required_at_any_depth():
    inner = {"type": "object", "properties": {"x": TEXT}, "required": ["x"]}
    closed = {**inner, "additionalProperties": False}
    root = {
        "type": "object",
        "properties": {"a": inner, "b": {"type": "array", "items": inner}, "c": {"anyOf": [inner, NULL]}},
        "required": ["a", "b", "c"],
        "$defs": {"D": inner},
    }
    assert strict_schema(root, OPENAI, "f") == {
        "type": "object",
        "properties": {"a": closed, "b": {"type": "array", "items": closed}, "c": {"anyOf": [closed, NULL]}},
        "required": ["a", "b", "c"],
        "$defs": {"D": closed},
        "additionalProperties": False,
    }


@looped(
    "schema, nullable",
    [
        (TEXT, {"type": ["string", "null"]}),
        ({"type": ["string", "integer"]}, {"type": ["string", "integer", "null"]}),
        ({"enum": ["x"]}, {"anyOf": [{"enum": ["x"]}, NULL]}),
        ({"type": "string", "const": "x"}, {"anyOf": [{"type": "string", "const": "x"}, NULL]}),
        (
            {"type": "array", "items": TEXT, "description": "d"},
            {"anyOf": [{"type": "array", "items": TEXT}, NULL], "description": "d"},
        ),
        ({"anyOf": [TEXT, {"type": "integer"}]}, {"anyOf": [TEXT, {"type": "integer"}, NULL]}),
        ({"anyOf": [TEXT, NULL], "description": "d"}, {"anyOf": [TEXT, NULL], "description": "d"}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "default": "x"}, {"type": ["string", "null"], "description": '{"default": "x"}'}),
        ({"anyOf": [TEXT, NULL], "default": None}, {"anyOf": [TEXT, NULL]}),
    ],
    ids=str,
)
def test_what_was_optional_becomes_nullable_once_and_stays_optional_where_it_may(schema: Any, nullable: Any):
    assert strict(schema, required=False) == nullable
    assert strict_schema(described(TEXT, required=False), ANTHROPIC, "f")["required"] == []
    assert strict(TEXT, ANTHROPIC, required=False) == TEXT


def test_what_a_mode_does_not_carry_is_told_in_the_description():
    schema = {
        "type": "string",
        "title": "T",
        "description": "d",
        "minLength": 2,
        "pattern": "^a",
        "format": "uri",
        "default": "ab",
    }
    assert strict(schema) == {
        "type": "string",
        "pattern": "^a",
        "description": 'd\n{"minLength": 2, "format": "uri", "default": "ab"}',
    }
    assert strict(schema, ANTHROPIC) == {
        "type": "string",
        "format": "uri",
        "description": 'd\n{"minLength": 2, "pattern": "^a", "default": "ab"}',
    }
    numbers = {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "multipleOf": 2}
    assert strict(numbers) == numbers
    assert strict(numbers, ANTHROPIC) == {
        "type": "integer",
        "description": '{"minimum": 1, "exclusiveMaximum": 9, "multipleOf": 2}',
    }


@pytest.mark.parametrize(("least", "carried"), [(0, True), (1, True), (2, False)])
def test_anthropic_takes_the_least_number_of_items_up_to_one(least: int, carried: bool):
    given = strict({"type": "array", "items": TEXT, "minItems": least}, ANTHROPIC)
    assert ("minItems" in given, "description" in given) == (carried, not carried)


def test_alternatives_are_any_of_and_one_part_of_all_of_is_the_whole():
    assert strict({"oneOf": [TEXT, NULL], "discriminator": {"propertyName": "x"}}) == {"anyOf": [TEXT, NULL]}
    assert strict({"allOf": [{**TEXT, "description": "its"}], "description": "mine"}) == {
        "type": "string",
        "description": "mine",
    }


def test_a_reference_with_something_beside_it_stands_alone_in_an_any_of():
    root = {**described({"$ref": "#/$defs/D", "description": "d"}), "$defs": {"D": TEXT}}
    assert strict_schema(root, OPENAI, "f")["properties"]["a"] == {"anyOf": [{"$ref": "#/$defs/D"}], "description": "d"}
    assert strict_schema({**root, "properties": {"a": {"$ref": "#/$defs/D"}}}, OPENAI, "f")["properties"] == {
        "a": {"$ref": "#/$defs/D"}
    }


REFUSED: list[tuple[Any, str]] = [
    ({"type": "object", "additionalProperties": True}, "an object with any properties at properties/a; name them"),
    ({"type": "object", "additionalProperties": TEXT}, "an object with any properties at properties/a"),
    ({"type": "object"}, "an object with any properties at properties/a"),
    ({"type": ["object", "null"], "properties": {}}, "an object with any properties at properties/a"),
    ({"type": "object", "properties": {"x": TEXT}, "additionalProperties": {}}, "an object with any properties"),
    ({"type": "object", "properties": {"x": TEXT}, "required": ["y"]}, "the required property 'y' without a schema"),
    ({"type": "object", "properties": {"x": TEXT}, "patternProperties": {}}, "'patternProperties' at properties/a"),
    ({"type": "array", "items": {"type": "string", "not": {"const": "x"}}}, "'not' at properties/a/items"),
    ({"anyOf": [NULL, {"allOf": [TEXT, TEXT]}]}, "'allOf' at properties/a/anyOf/1; write one schema"),
    ({"type": "array", "prefixItems": [TEXT]}, "'prefixItems' at properties/a; use an object instead of a tuple"),
    ({"type": "array"}, "a list of anything at properties/a; give its items a type"),
    ({"type": "array", "items": True}, "a list of anything at properties/a"),
    ({"type": "array", "items": {}}, "a value of any type at properties/a/items; give it a type"),
    ({"description": "d"}, "a value of any type at properties/a"),
    ({"enum": [{"x": 1}]}, "an enum of objects or lists at properties/a"),
]


@looped("schema, said", REFUSED, ids=lambda each: each if isinstance(each, str) else "")
@looped("mode", [OPENAI, ANTHROPIC], ids=lambda mode: mode.provider)
def test_what_strict_modes_cannot_carry_is_a_usage_error_that_says_where_and_what_to_do(
    schema: Any, said: str, mode: StrictMode
):
    with pytest.raises(UsageError) as raised:
        strict(schema, mode)
    message = str(raised.value)
    assert message.startswith(f"f: {mode.provider}'s strict mode does not allow {said}")
    assert message.endswith(", or use strict=False")


def test_the_root_may_have_no_properties_but_no_alternatives_and_no_others():
    empty = {"type": "object", "properties": {}}
    assert strict_schema(empty, OPENAI, "f") == {**empty, "required": [], "additionalProperties": False}
    closed = {**empty, "additionalProperties": False}
    assert strict(closed) == {**closed, "required": []}
    with pytest.raises(UsageError, match="an object with any properties; name them"):
        strict_schema({**empty, "additionalProperties": True}, OPENAI, "f")
    with pytest.raises(UsageError, match="'anyOf' at the root; move it into a property"):
        strict_schema({**empty, "oneOf": []}, OPENAI, "f")


def test_recursion_is_openais_alone():
    node = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, NULL]}}, "required": ["next"]}
    root = {**described({"$ref": "#/$defs/Node"}), "$defs": {"Node": node}}
    assert strict_schema(root, OPENAI, "f")["$defs"]["Node"] == {**node, "additionalProperties": False}
    with pytest.raises(UsageError, match=r"does not allow '#/\$defs/Node', which refers to itself; inline it"):
        strict_schema(root, ANTHROPIC, "f")


@given(parameters)
def test_what_comes_out_is_a_schema_and_what_went_in_is_untouched(schema: dict[str, Any]):
    before = copy.deepcopy(schema)
    for mode in (OPENAI, ANTHROPIC):
        given = strict_schema(schema, mode, "f")
        Draft202012Validator.check_schema(given)
        assert strict_schema(given, mode, "f") == given, "a second time changes nothing"
    assert schema == before


# Against what the SDKs do with the same models.


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str] = Field(description="t", min_length=2)


class Pets(BaseModel):
    name: str = Field(description="Whose.", pattern="^a")
    number: int = Field(ge=1, le=9)
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    others: list[Cat | Dog]
    maybe: Cat | None


def without(schema: Any, *keys: str) -> Any:
    if isinstance(schema, list):
        return [without(each, *keys) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        ("anyOf" if key == "oneOf" else key): without(each, *keys) for key, each in schema.items() if key not in keys
    }


def test_where_all_is_required_it_is_what_openais_sdk_makes():
    assert without(strict_schema(model_schema(Pets, "Pets"), OPENAI, "f"), "discriminator") == without(
        to_strict_json_schema(Pets), "title", "discriminator"
    )


def test_it_is_what_anthropics_sdk_makes_but_for_notes_and_the_types_of_constants():
    notes = ("title", "description", "type")
    ours = without(strict_schema(model_schema(Pets, "Pets"), ANTHROPIC, "f"), *notes)
    assert ours == without(anthropic.transform_schema(Pets), *notes)
