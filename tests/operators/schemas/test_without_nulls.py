from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from looped import looped
from strategies.schemas import NULL, fitting, parameters

from penstock.operators.schemas.strict_schema import accepts_null, strict_schema, without_nulls
from penstock.sources.openai_chat.request import STRICT as OPENAI

TEXT = {"type": "string"}
INNER = {"type": "object", "properties": {"x": TEXT, "y": TEXT}, "required": ["y"]}


def described(schema: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    return {
        "properties": {"a": schema},
        "required": ["a"] if required else [],
        "$defs": {"Null": NULL, "Text": TEXT, "Loop": {"$ref": "#/$defs/Loop"}, "Inner": INNER},
    }


NO_NULL: list[Any] = [
    TEXT,
    {"type": ["string", "integer"]},
    {"enum": ["a"]},
    {"const": "a"},
    {"anyOf": [TEXT, {"type": "integer"}]},
    {"oneOf": [TEXT]},
    {"allOf": [TEXT, {}]},
    {"$ref": "#/$defs/Text"},
    {"anyOf": [{"$ref": "#/$defs/Text"}], "description": "d"},
    {"type": "string", "anyOf": [NULL, {}]},
    {"$ref": "#/$defs/Null", "type": "string"},
]
NULLS: list[Any] = [
    {},
    True,
    NULL,
    {"type": ["string", "null"]},
    {"enum": ["a", None]},
    {"const": None},
    {"anyOf": [TEXT, NULL]},
    {"anyOf": [TEXT, True]},
    {"$ref": "#/$defs/Null"},
    {"oneOf": [TEXT, {"$ref": "#/$defs/Null"}]},
    {"$ref": "#/$defs/Loop"},
    {"description": "anything"},
]


@looped("schema", NO_NULL, ids=str)
def test_a_null_of_what_is_optional_and_cannot_be_null_is_not_given(schema: dict[str, Any]):
    root = described(schema)
    assert not accepts_null(schema, root)
    assert without_nulls({"a": None, "b": None}, root) == {"b": None}
    assert without_nulls({"a": "x"}, root) == {"a": "x"}


@looped("schema", NULLS, ids=str)
def test_a_null_that_is_allowed_stays(schema: Any):
    assert without_nulls({"a": None}, described(schema)) == {"a": None}


def test_a_null_of_what_is_required_stays_to_be_told_as_a_fault():
    assert without_nulls({"a": None}, described(TEXT, required=True)) == {"a": None}


@pytest.mark.parametrize(
    "schema",
    [
        INNER,
        {"$ref": "#/$defs/Inner"},
        {"anyOf": [{"$ref": "#/$defs/Inner"}, NULL]},
        {"oneOf": [TEXT, {"properties": {"z": TEXT}}, {"allOf": [INNER]}]},
    ],
    ids=str,
)
def test_nulls_at_any_depth_go(schema: dict[str, Any]):
    value = {"x": None, "y": None, "z": "z"}
    assert without_nulls({"a": value}, described(schema)) == {"a": {"y": None, "z": "z"}}
    listed = described({"type": "array", "items": schema})
    assert without_nulls({"a": [value, None, [None]]}, listed) == {"a": [{"y": None, "z": "z"}, None, [None]]}


def test_in_a_union_a_null_stays_where_one_alternative_takes_it():
    schema = {"anyOf": [{"properties": {"x": TEXT}}, {"properties": {"x": NULL}}]}
    assert without_nulls({"a": {"x": None}}, described(schema)) == {"a": {"x": None}}


def test_what_is_given_stays_as_it_was():
    value = {"a": {"x": None, "list": [{"x": None}]}}
    without_nulls(value, described(INNER))
    assert value == {"a": {"x": None, "list": [{"x": None}]}}


@given(st.data(), parameters)
def test_what_fits_the_strict_schema_fits_the_tools_own_without_its_nulls(data: st.DataObject, schema: dict[str, Any]):
    strict = strict_schema(schema, OPENAI, "f")
    value = data.draw(fitting(strict, strict))
    judge = Draft202012Validator(_with_any_of(schema))
    assert [error.message for error in judge.iter_errors(without_nulls(value, schema))] == []


def _with_any_of(schema: Any) -> Any:
    """Strict modes know anyOf only: a value may fit two alternatives of which oneOf would take one."""
    if isinstance(schema, list):
        return [_with_any_of(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {("anyOf" if key == "oneOf" else key): _with_any_of(value) for key, value in schema.items()}
