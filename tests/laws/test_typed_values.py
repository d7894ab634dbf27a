"""Values that fit a schema, written raw, come back; a JSON Schema validator says what fits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from strategies.typed_values import DEFINITIONS, TEXTS, Fitting, fitting
from untyped import drive

from penstock.events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from penstock.events.tool_invocation import Notice, ToolInvocation
from penstock.operators.schemas.argument_schema import inner_schema, xml_value
from penstock.operators.schemas.schema_kinds import kinds_of
from penstock.operators.schemas.value_typing import convert, may_be_null, may_stream
from penstock.operators.to_invocations import to_invocations

ROOT: dict[str, Any] = {"$defs": DEFINITIONS}


def fits(value: Any, schema: Any) -> bool:
    return Draft202012Validator({"allOf": [schema], **ROOT}).is_valid(value)


def raw(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@given(fitting)
@settings(max_examples=scaled(400), deadline=None)
def test_a_value_that_fits_comes_back_or_stays_text(drawn: Fitting):
    schema, value = drawn
    assert fits(value, schema), "a fault of the strategy"
    text = raw(value)
    typed = convert(text, schema, ROOT)
    if typed.flagged:
        assert typed.value == text
    elif isinstance(typed.value, str):
        assert typed.value == text
        assert value == text or fits(text, schema), "a string wins only where the schema allows it"
    else:
        assert fits(typed.value, schema)
        # The one text that has two meanings where a schema allows both.
        assert typed.value == value or (typed.value is None and text.strip().casefold() == "null")
    kinds = kinds_of(schema, ROOT)
    if may_stream(kinds):
        assert typed.value == text or (typed.value is None and may_be_null(kinds))


@given(fitting)
@settings(max_examples=scaled(200), deadline=None)
def test_where_no_string_is_allowed_every_value_comes_back(drawn: Fitting):
    schema, value = drawn
    if "string" in kinds_of(schema, ROOT).names or isinstance(value, float):
        return
    typed = convert(raw(value), schema, ROOT)
    assert (typed.value, typed.flagged) == (value, False)


@given(TEXTS | st.text("0123456789.eE+-truefalsn[]{}\"'a: ,", max_size=12), fitting)
@settings(max_examples=scaled(200), deadline=None)
def test_a_text_becomes_nothing_but_a_value_of_a_type_that_is_allowed(text: str, drawn: Fitting):
    typed = convert(text, drawn.schema, ROOT)
    if isinstance(typed.value, str):
        assert typed.value == text
    else:
        assert not typed.flagged
        kinds = kinds_of(drawn.schema, ROOT)
        of_value = kinds_of({"const": typed.value}).names
        assert of_value & kinds.names or (of_value == {"integer"} and "number" in kinds.names)


@given(st.text(max_size=20), fitting)
@settings(max_examples=scaled(200), deadline=None)
def test_elements_never_raise_and_what_is_not_flagged_has_the_type(text: str, drawn: Fitting):
    for written in (text, f"<item>{text}</item>", f"<a>{text}</a><b><a>{raw(drawn.value)}</a></b>"):
        typed = xml_value(written, drawn.schema, ROOT)
        names = kinds_of(drawn.schema, ROOT).names
        assert typed.flagged or not isinstance(typed.value, str) or "string" in names


PARAMETERS: dict[str, Any] = {
    "$ref": "#/$defs/Params",
    "properties": {"own": {"type": "integer"}},
    "$defs": {
        "Params": {
            "allOf": [{"properties": {"a": {"type": "integer"}}}, {"$ref": "#/$defs/Base"}],
            "oneOf": [
                {"properties": {"kind": {"const": "circle"}, "size": {"type": "number"}}},
                {"properties": {"kind": {"const": "box"}, "size": {"type": "array"}}},
            ],
        },
        "Base": {
            "type": "object",
            "properties": {"self": {"$ref": "#/$defs/Params"}},
            "patternProperties": {"^n_": {"type": "number"}, "[": {"type": "null"}},
            "additionalProperties": {"type": "boolean"},
        },
    },
}


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("own", "7", 7),
        ("a", "7", 7),
        ("n_1", "1.5", 1.5),
        ("size", "1.5", 1.5),
        ("size", "[1]", [1]),
        ("kind", "box", "box"),
        ("self", '{"a": 1}', {"a": 1}),
        ("other", "TRUE", True),
    ],
)
def test_the_schema_of_a_parameter_is_found_wherever_it_is_said(key: str, text: str, value: Any):
    assert convert(text, inner_schema(PARAMETERS, key, PARAMETERS), PARAMETERS) == (value, False)


@pytest.mark.parametrize(
    ("schema", "place", "said"),
    [
        ({"items": {"type": "null"}}, 5, {"type": "null"}),
        ({"prefixItems": [{"type": "null"}, {}], "items": {"type": "integer"}}, 0, {"type": "null"}),
        ({"prefixItems": [{"type": "null"}], "items": {"type": "integer"}}, 1, {"type": "integer"}),
        ({"items": [{"type": "null"}], "additionalItems": {"type": "integer"}}, 1, {"type": "integer"}),
        ({"prefixItems": [{"type": "null"}], "items": False}, 1, None),
        ({"type": "array"}, 0, None),
        (True, 0, None),
        ({"anyOf": [{"type": "null"}, {"items": {"type": "string"}}]}, 0, {"type": "string"}),
    ],
)
def test_the_schema_of_an_item(schema: Any, place: int, said: Any):
    assert inner_schema(schema, place) == said


def test_the_schema_of_a_property_that_several_say():
    integer, positive, text = {"type": "integer"}, {"minimum": 1}, {"type": "string"}
    both = {"properties": {"a": integer}, "allOf": [{"properties": {"a": positive}}]}
    either = {"anyOf": [{"properties": {"a": integer}}, {"properties": {"a": text}}, {"required": ["b"]}]}
    assert inner_schema(both, "a") == {"allOf": [integer, positive]}
    assert inner_schema(either, "a") == {"anyOf": [integer, text]}
    assert inner_schema({"anyOf": [both, either]}, "a") == {
        "anyOf": [{"allOf": [integer, positive]}, {"anyOf": [integer, text]}]
    }


def test_references_in_circles_and_many_alternatives_cost_little():
    definitions: dict[str, Any] = {
        f"d{number}": {"anyOf": [{"$ref": f"#/$defs/d{number + 1}"}] * 3} for number in range(40)
    }
    definitions["d40"] = {"anyOf": [{"$ref": "#/$defs/d0"}, {"properties": {"a": {"type": "integer"}}}]}
    root = {"$ref": "#/$defs/d0", "$defs": definitions}
    assert inner_schema(root, "a", root) in (None, {"type": "integer"})
    assert convert("1", {"$ref": "#/$defs/d0"}, root) == ("1", False)
    deep: Any = {"type": "integer"}
    for _ in range(5000):
        deep = {"allOf": [deep]}
    assert convert("1", deep) == ("1", False)
    assert inner_schema(deep, "a") is None


@pytest.mark.parametrize(
    ("text", "schema", "value", "flagged"),
    [
        ("<x>1</x>", {"$ref": "#/$defs/Point"}, {"x": 1}, False),
        ("<x>one</x>", {"$ref": "#/$defs/Point"}, {"x": "one"}, True),
        ("<item>1</item><item>a</item>", {"items": {"type": "integer"}}, [1, "a"], True),
        (
            "<left><left>null</left></left><of>5</of>",
            {"$ref": "#/$defs/Tree"},
            {"left": {"left": None}, "of": "5"},
            False,
        ),
        ("<t>1</t><t>2</t>", {"properties": {"t": {"items": {"type": "integer"}}}}, {"t": [1, 2]}, False),
        ("<t>1</t><t>2</t>", {"properties": {"t": {"type": "integer"}}}, {"t": [1, 2]}, False),
        ("<k>7</k>", {"type": "object", "additionalProperties": {"type": "integer"}}, {"k": 7}, False),
    ],
)
def test_elements_are_typed_by_a_schema_that_refers(text: str, schema: Any, value: Any, flagged: bool):
    assert xml_value(text, schema, ROOT) == (value, flagged)


@pytest.mark.parametrize(
    ("mistyped", "codes"), [(["n"], ["mistyped_argument"]), (["n", "p"], ["mistyped_argument"] * 2), ("n", []), (7, [])]
)
def test_a_call_that_is_invoked_with_a_text_of_the_wrong_type_has_a_notice_before_it(mistyped: Any, codes: list[str]):
    start = SegmentStart("c", "tool_call", {"tool_name": "f"}, turn_id="t")
    content = SegmentContent("c", "tool_call", '{"n": "many"}', turn_id="t", raw='{"n": "many"}')
    metadata = {"tool_name": "f", "mistyped": mistyped}
    end = SegmentEnd("c", "tool_call", "complete", metadata=metadata, turn_id="t")
    *notices, call = drive([start, content, end], to_invocations())
    assert isinstance(call, ToolInvocation)
    assert call.arguments == {"n": "many"}
    assert [each.code for each in notices if isinstance(each, Notice)] == codes
    for ends in ("truncated", "failed"):
        broken = replace(end, status=ends)
        assert len(list(drive([start, content, broken], to_invocations()))) == 1
