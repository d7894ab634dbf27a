"""Raw text becomes the values that a schema says."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from looped import looped

from penstock.operators.machines.json_machine import JsonMachine
from penstock.operators.machines.json_values import FragmentAggregator
from penstock.operators.machines.literal_machine import python_literal
from penstock.operators.schemas.schema_kinds import kinds_of
from penstock.operators.schemas.value_typing import TypingRules, convert, may_be_null, may_stream, value_fragments

ROOT: dict[str, Any] = {
    "$defs": {
        "Point": {"type": "object", "properties": {"x": {"type": "integer"}}},
        "Speed": {"enum": ["slow", "fast"]},
        "a/b": {"type": "boolean"},
        "Loop": {"$ref": "#/$defs/Loop"},
        "Tree": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]},
    },
    "definitions": [{"type": "integer"}],
}
STRING, INTEGER, NUMBER, BOOLEAN = ({"type": each} for each in ("string", "integer", "number", "boolean"))
ARRAY, OBJECT = {"type": "array"}, {"type": "object"}


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


CONVERTED: list[tuple[str, Any, Any]] = [
    # strings: as they are, whatever they look like
    ("12", STRING, "12"),
    (" a ", STRING, " a "),
    ('"a"', STRING, '"a"'),
    ("null", STRING, "null"),
    ("", STRING, ""),
    ("true", {"type": ["boolean", "string"]}, "true"),
    ("[1]", {"anyOf": [ARRAY, STRING]}, "[1]"),
    # integers
    ("42", INTEGER, 42),
    (" 42\n", INTEGER, 42),
    ("-007", INTEGER, -7),
    ("+5", INTEGER, 5),
    ("3.0", INTEGER, 3),
    ("1e3", INTEGER, 1000),
    ("9007199254740993", INTEGER, 9007199254740993),
    # numbers
    ("3", NUMBER, 3),
    ("3.0", NUMBER, 3.0),
    ("-.5", NUMBER, -0.5),
    ("5.", NUMBER, 5.0),
    ("1.5E-3", NUMBER, 0.0015),
    ("2.5", {"type": ["integer", "number"]}, 2.5),
    ("3.14", {"type": "float"}, 3.14),
    ("3", {"type": "INTEGER"}, 3),
    # booleans
    ("true", BOOLEAN, True),
    ("True", BOOLEAN, True),
    (" FALSE ", {"type": "bool"}, False),
    # null
    ("null", nullable(STRING), None),
    ("NULL", nullable(INTEGER), None),
    ("None", nullable(INTEGER), None),
    ("None", nullable(STRING), "None"),
    ("null", {"type": ["null", "array"]}, None),
    ("null", {"type": "integer", "nullable": True}, None),
    ("null", {"type": "null"}, None),
    # arrays and objects: JSON, Python's literals, JSON as if inside a string
    ("[1, 2.5, null]", ARRAY, [1, 2.5, None]),
    ("\n{}\n", OBJECT, {}),
    ("{'a': True, 'b': (1, None)}", OBJECT, {"a": True, "b": [1, None]}),
    ('[{\\"a\\": \\"b\\\\\\\\n\\"}]', ARRAY, [{"a": "b\\n"}]),
    ('{"a": 1}', {"properties": {"a": INTEGER}}, {"a": 1}),
    ("[1]", {"items": INTEGER}, [1]),
    # references, alternatives, all of several
    ('{"x": 1}', {"$ref": "#/$defs/Point"}, {"x": 1}),
    ("true", {"$ref": "#/$defs/a~1b"}, True),
    ("true", {"$ref": "#/%24defs/a~1b"}, True),
    ("4", {"$ref": "#/definitions/0"}, 4),
    ('{"x": 1}', nullable({"allOf": [{"$ref": "#/$defs/Point"}], "description": "Where."}), {"x": 1}),
    ("7", {"allOf": [NUMBER, {"type": ["integer", "string"]}]}, 7),
    ("7", {"oneOf": [INTEGER, OBJECT]}, 7),
    ('{"max": 7}', {"oneOf": [INTEGER, OBJECT]}, {"max": 7}),
    ('["a"]', {"anyOf": [{"anyOf": [{"type": "null"}, nullable(ARRAY)]}, {"type": "null"}]}, ["a"]),
    # what is listed
    ("fast", {"$ref": "#/$defs/Speed"}, "fast"),
    ("5", {"enum": ["5", 5]}, "5"),
    ("5", {"enum": ["auto", 5]}, 5),
    ("auto", {"enum": ["auto", 5]}, "auto"),
    ("true", {"const": True}, True),
    ("null", {"enum": ["a", None]}, None),
    ("5", {"anyOf": [{"enum": ["auto"]}, INTEGER]}, 5),
    ("other", {"anyOf": [{"enum": ["auto"]}, INTEGER]}, "other"),
    ("1.5", {"enum": ["1", 1.5]}, 1.5),
    # nothing is known
    ("12", None, "12"),
    ("12", {}, "12"),
    ("null", {}, "null"),
    ("12", {"type": "file"}, "12"),
    ("12", True, "12"),
    ("12", {"$ref": "#/nowhere"}, "12"),
    ("12", {"$ref": "https://example.org"}, "12"),
    ("12", {"$ref": "#/$defs/Loop"}, "12"),
    ("12", {"$ref": "#/$defs/Tree"}, "12"),
    ("12", {"allOf": [STRING, INTEGER]}, "12"),
    ("12", {"type": 7, "enum": "a", "anyOf": None, "allOf": {}}, "12"),
]
FLAGGED: list[tuple[str, Any]] = [
    ("many", INTEGER),
    ("", INTEGER),
    ("3.5", INTEGER),
    ("1e400", INTEGER),
    ("1e400", NUMBER),
    ("1_000", INTEGER),
    ("٣", INTEGER),
    ("1" * 5000, INTEGER),
    ("nan", NUMBER),
    ("Infinity", NUMBER),
    ("3.14.159", NUMBER),
    ("0x10", INTEGER),
    ("yes", BOOLEAN),
    ("1", BOOLEAN),
    ("null", INTEGER),
    ("None", INTEGER),
    ("nil", nullable(INTEGER)),
    ("[1, 2", ARRAY),
    ("{'a': f(x)}", OBJECT),
    ("{'a': {1, 2}}", OBJECT),
    ("1], [2", ARRAY),
    ("{}", ARRAY),
    ("[" * 100_000, ARRAY),
    ("{" * 100_000, OBJECT),
    ("", OBJECT),
    ("other", {"enum": [1, 2]}),
]


def strictly(value: Any) -> str:
    return json.dumps(value)


@looped("text, schema, value", CONVERTED)
def test_a_text_is_the_value_that_its_schema_says(text: str, schema: Any, value: Any):
    typed = convert(text, schema, ROOT)
    assert (strictly(typed.value), typed.flagged) == (strictly(value), False)


@looped("text, schema", FLAGGED)
def test_what_is_no_value_of_its_type_stays_text_and_is_flagged(text: str, schema: Any):
    assert convert(text, schema, ROOT) == (text, True)


def test_the_choices_of_peers():
    assert convert("42.5", {"type": ["string", "number"]}, None, TypingRules(strings="last")) == (42.5, False)
    assert convert("hello", {"type": ["string", "number"]}, None, TypingRules(strings="last")) == ("hello", False)
    assert convert(" NULL ", STRING, None, TypingRules(null="always")) == (None, False)
    assert convert("yes", BOOLEAN, None, TypingRules(not_boolean="false")) == (False, True)
    assert convert("yes", {"type": ["boolean", "string"]}, None, TypingRules(not_boolean="false")) == ("yes", False)
    untyped = TypingRules(untyped="json")
    assert convert('{"a": [1]}', None, None, untyped) == ({"a": [1]}, False)
    assert convert("5", {}, None, untyped) == (5, False)
    assert convert("a < b", None, None, untyped) == ("a < b", False)
    assert convert("5", STRING, None, untyped) == ("5", False)


@looped(
    "schema, streams, null",
    [
        (STRING, True, False),
        (None, True, False),
        ({}, True, False),
        ({"type": ["integer", "string"]}, True, False),
        (nullable(STRING), True, True),
        (INTEGER, False, False),
        (nullable(INTEGER), False, True),
        ({"enum": ["a", "b"]}, True, False),
        ({"enum": ["a", None]}, True, True),
        ({"enum": ["a", 1]}, False, False),
        ({"anyOf": [{"const": "a"}, INTEGER]}, False, False),
        ({"anyOf": [{"const": "a"}, STRING]}, True, False),
        ({"$ref": "#/$defs/Speed"}, True, False),
        ({"$ref": "#/$defs/Point"}, False, False),
    ],
)
def test_a_string_streams_where_the_schema_allows_one(schema: Any, streams: bool, null: bool):
    assert (may_stream(kinds_of(schema, ROOT)), may_be_null(kinds_of(schema, ROOT))) == (streams, null)


def test_with_strings_last_only_what_can_be_nothing_else_streams():
    rules = TypingRules(strings="last", untyped="json", null="always")
    assert may_stream(kinds_of(STRING), rules)
    assert may_stream(kinds_of(nullable(STRING)), rules)
    assert not may_stream(kinds_of({"type": ["string", "integer"]}), rules)
    assert not may_stream(kinds_of(None), rules)
    assert may_be_null(kinds_of(STRING), rules)


SCHEMAS = st.recursive(
    st.one_of(
        st.none(),
        st.just({}),
        st.fixed_dictionaries(
            {"type": st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", "x"])}
        ),
        st.fixed_dictionaries(
            {"type": st.lists(st.sampled_from(["string", "integer", "boolean", "null"]), max_size=3)}
        ),
        st.fixed_dictionaries(
            {"enum": st.lists(st.one_of(st.text("a1", max_size=2), st.integers(0, 3), st.none()), max_size=3)}
        ),
        st.fixed_dictionaries({"$ref": st.sampled_from(["#/$defs/Tree", "#/$defs/Speed", "#", "#/x"])}),
    ),
    lambda inner: st.dictionaries(
        st.sampled_from(["anyOf", "oneOf", "allOf"]), st.lists(inner, max_size=3), max_size=2
    ),
    max_leaves=6,
)
TEXTS = st.one_of(
    st.text(),
    st.text("0123456789.eE+-", max_size=8),
    st.sampled_from(["null", "true", "[1]", "{'a': 1}", '{"a": [{}]}', "1", "a"]),
)


@given(TEXTS, SCHEMAS)
def test_it_never_raises_and_what_streams_is_the_text_or_null(text: str, schema: Any):
    for rules in (TypingRules(), TypingRules(strings="last", untyped="json", null="always", not_boolean="false")):
        value, flagged = convert(text, schema, ROOT, rules)
        if may_stream(kinds_of(schema, ROOT), rules):
            assert value == text or (value is None and may_be_null(kinds_of(schema, ROOT), rules))
            assert not flagged
        if flagged:
            assert value in (text, False)


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=8,
)


@given(JSON_VALUES)
def test_a_value_written_as_json_or_by_python_comes_back(value: Any):
    schema = {"type": sorted(kinds_of({"const": value}).names) if value is not None else ["null"]}
    text = value if isinstance(value, str) else json.dumps(value)
    assert strictly(convert(text, schema).value) == strictly(value)
    if isinstance(value, list | dict):
        assert strictly(convert(repr(value), schema).value) == strictly(value)


@given(JSON_VALUES)
def test_the_fragments_of_a_value_are_those_of_its_json(value: Any):
    machine = JsonMachine()
    pieces = [*machine.feed(json.dumps(value)), *machine.close()]
    expected = [(("k", *piece.path), piece.kind, piece.value) for piece in pieces]  # type: ignore[union-attr]
    fragments = value_fragments(value, ("k",), 7)
    assert [(each.path, each.kind, each.value) for each in fragments] == expected
    assert {each.at for each in fragments} == {7}
    aggregator = FragmentAggregator()
    aggregator.feed_all(fragments)
    assert strictly(aggregator.value) == strictly(value)


@looped("text", ["", "1, b=2", "1) (", "f(x)", "a", "1 + 1", "[1", "{'a'}", "None"])
def test_what_is_no_single_literal_gives_none(text: str):
    assert python_literal(text) is None
