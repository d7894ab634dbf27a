"""References that come back without having taken anything in are refused; recursive schemas are welcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from looped import looped
from pydantic import BaseModel

from penstock.events import UsageError
from penstock.operators.catalogue.dialect_for import dialects_named
from penstock.operators.engine.drive import drive
from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.parse_text import parse_text
from penstock.operators.schemas.argument_schema import inner_schema, xml_value
from penstock.operators.schemas.schema_kinds import example_arguments, kinds_of, plain_schema
from penstock.operators.schemas.schema_references import reference_cycle
from penstock.operators.schemas.strict_schema import accepts_null, without_nulls
from penstock.operators.schemas.value_typing import DEFAULT_RULES, convert
from penstock.operators.writing.dialect_instructions import dialect_instructions
from penstock.pipeline import Pipeline, as_tools, tool
from penstock.pipeline.tool import Tool
from penstock.pipeline.tool_schemas import tool_schemas

IN_PLACE: dict[str, Callable[[Any], Any]] = {
    "$ref": lambda each: each["$ref"],
    "allOf": lambda each: [{}, each],
    "anyOf": lambda each: [{"type": "string"}, each],
    "oneOf": lambda each: [each],
    **dict.fromkeys(("not", "if", "then", "else"), lambda each: each),
    "dependentSchemas": lambda each: {"x": each},
    "dependencies": lambda each: {"x": each, "y": ["x"]},
}
INSIDE: dict[str, Callable[[Any], Any]] = {
    "properties": lambda each: {"x": each},
    "patternProperties": lambda each: {"^x": each},
    "prefixItems": lambda each: [each],
    **dict.fromkeys(
        (
            *("items", "contains", "additionalProperties", "unevaluatedProperties", "unevaluatedItems"),
            *("propertyNames", "additionalItems", "contentSchema"),
        ),
        lambda each: each,
    ),
}


def to(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def of_definitions(**definitions: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": to(next(iter(definitions)))}, "$defs": definitions}


def forms(schema: dict[str, Any]) -> list[Callable[[], Any]]:
    """Return every way in which a tool comes in."""
    function = {"name": "f", "parameters": schema}
    return [
        lambda: tool(schema, name="f"),
        lambda: tool({**schema, "title": "f"}),
        lambda: tool({"type": "function", "function": function}),
        lambda: tool({"type": "function", **function}),
        lambda: tool({"name": "f", "input_schema": schema}),
        lambda: tool({"name": "f", "inputSchema": schema}),
        lambda: tool({"name": "f", "parametersJsonSchema": schema}),
        lambda: tool(schema, name="f", validate=True),
        lambda: Tool(name="f", parameters=schema),
        lambda: as_tools([function]),
        lambda: Pipeline(tools=[{**schema, "title": "f"}]),
        lambda: Pipeline("hermes", tools=[function]),
        lambda: tool_schemas([function], "openai-chat"),
    ]


CYCLES: list[Any] = [
    *(of_definitions(A={word: around(to("A"))}) for word, around in IN_PLACE.items()),
    *(of_definitions(A={word: around(to("B"))}, B={"anyOf": [to("A")]}) for word, around in IN_PLACE.items()),
    {"$ref": "#"},
    {"type": "object", "allOf": [{"$ref": "#"}]},
    {"type": "object", "properties": {"a": {"allOf": [{"$ref": "#/properties/a"}]}}},
    {"type": "object", "properties": {"a": {"allOf": [{"not": {"$ref": "#/properties/a/allOf/0"}}]}}},
    {"type": "object", "definitions": {"a/b ": {"$ref": "#/definitions/a~1b%20"}}},
    {"type": "object", "mine": {"A": {"$ref": "#/mine/A"}}, "properties": {"a": {"$ref": "#/mine/A"}}},
    {"type": "object", "$dynamicAnchor": "me", "$dynamicRef": "#me"},
    {"type": "object", "$recursiveAnchor": True, "$recursiveRef": "#"},
    {"type": "object", "$defs": {"A": {"$anchor": "A", "anyOf": [{"$ref": "#A"}]}}},
    {"type": "object", "$defs": {"A": {"$id": "urn:a", "$ref": "#/$defs/B", "$defs": {"B": {"$ref": "#"}}}, "B": {}}},
    of_definitions(A=to("B"), B=to("C"), C=to("D"), D={"if": to("A")}),
]
RECURSIVE: list[Any] = [
    *(of_definitions(A={word: around(to("A"))}) for word, around in INSIDE.items()),
    *(
        of_definitions(A={"anyOf": [{word: around(to("B"))}]}, B={"allOf": [to("A")]})
        for word, around in INSIDE.items()
    ),
    {"type": "object", "properties": {"a": {"$ref": "#"}}},
    {"type": "object", "properties": {"a": {"$dynamicRef": "#me"}}, "$dynamicAnchor": "me"},
    of_definitions(A={"allOf": [to("B"), to("B")], "anyOf": [to("B")]}, B={"oneOf": [to("C"), to("C")]}, C={}),
    of_definitions(A={"const": {"$ref": "#/$defs/A"}, "default": {"$ref": "#"}, "examples": [{"$ref": "#"}]}),
    of_definitions(A={"properties": {"$ref": to("A"), "allOf": to("A")}}),
]


@looped("schema", CYCLES, ids=str)
def test_a_cycle_is_a_usage_error_in_whatever_form_the_tool_comes(schema: dict[str, Any]) -> None:
    assert reference_cycle(schema) is not None
    for make in forms(schema):
        with pytest.raises(UsageError, match=r"the parameters of tool 'f': the references '#.* -> '#"):
            make()


@looped("schema", RECURSIVE, ids=str)
def test_what_takes_input_in_is_welcome(schema: dict[str, Any]) -> None:
    assert reference_cycle(schema) is None
    made = tool(schema, name="f", validate=True)
    made.validate({})


def test_the_message_names_the_cycle_and_not_the_way_to_it() -> None:
    definitions = {"A": {"allOf": [to("B")]}, "B": {"anyOf": [to("C")]}, "C": {"not": to("B")}}
    schema = {"type": "object", **to("A"), "$defs": definitions}
    with pytest.raises(UsageError) as raised:
        tool(schema, name="f")
    assert str(raised.value) == (
        "the parameters of tool 'f': the references '#/$defs/B' -> '#/$defs/C' -> '#/$defs/B' form a cycle "
        "without a property or an item between them; remove one"
    )


def test_a_model_whose_schema_is_a_cycle() -> None:
    class Odd(BaseModel):
        @classmethod
        def model_json_schema(cls, **_: Any) -> dict[str, Any]:  # type: ignore[override]
            return of_definitions(A=to("A"))

    with pytest.raises(UsageError, match="the parameters of Odd: the references '#/"):
        tool(Odd)


def test_recursive_models_stay_welcome() -> None:
    class Tree(BaseModel):
        below: list[Tree] = []
        left: Tree | None = None

    Tree.model_rebuild(_types_namespace={"Tree": Tree})
    assert tool(Tree).validate({"below": [{"left": {}}]}) == Tree(below=[Tree(left=Tree())])


def test_a_schema_without_an_end_is_a_usage_error() -> None:
    holds_itself: dict[str, Any] = {"type": "object"}
    holds_itself["properties"] = {"a": holds_itself}
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"items": deep}
    for schema in (holds_itself, {"properties": {"a": deep}}):
        with pytest.raises(UsageError, match="the parameters of tool 'f' are nested too deeply, or contain themselves"):
            tool(schema, name="f")


def test_long_chains_are_searched_without_recursion() -> None:
    definitions: dict[str, Any] = {f"A{number}": to(f"A{number + 1}") for number in range(5000)}
    assert reference_cycle({"$defs": definitions}) is None
    assert len(reference_cycle({"$defs": definitions | {"A5000": to("A0")}}) or ()) == 5002


# Any schema at all

names = st.sampled_from("ABCD")
edges = st.lists(
    st.tuples(st.one_of(st.sampled_from(sorted(IN_PLACE)), st.sampled_from(sorted(INSIDE))), names), max_size=3
)
graphs = st.fixed_dictionaries(dict.fromkeys("ABCD", edges))


def described(graph: dict[str, list[tuple[str, str]]]) -> dict[str, Any]:
    ways = {**IN_PLACE, **INSIDE}
    # Each edge stands in an `allOf` of its own, so that one keyword may come twice.
    definitions: dict[str, Any] = {
        name: {"allOf": [{word: ways[word](to(target))} for word, target in edges]} if edges else {}
        for name, edges in graph.items()
    }
    return {"type": "object", "properties": {"a": to("A")}, "$defs": definitions}


def is_cyclic(graph: dict[str, list[tuple[str, str]]]) -> bool:
    """Take out what leads to nothing, until nothing is left to take out."""
    left = {name: {target for word, target in edges if word in IN_PLACE} for name, edges in graph.items()}
    while ends := [name for name, targets in left.items() if not targets]:
        for end in ends:
            del left[end]
        for targets in left.values():
            targets.difference_update(ends)
    return bool(left)


@given(graphs, st.recursive(st.none() | st.booleans() | st.text(max_size=2), lambda inner: st.lists(inner, max_size=2)))
def test_refused_are_exactly_the_cycles_that_take_nothing_in(
    graph: dict[str, list[tuple[str, str]]], value: Any
) -> None:
    schema = described(graph)
    if is_cyclic(graph):
        with pytest.raises(UsageError, match="form a cycle"):
            tool(schema, name="f")
        return
    made = tool(schema, name="f")
    # jsonschema is the oracle: for what is accepted it never recurs without an end.
    Draft202012Validator(made.parameters).is_valid({"a": value})
    without_nulls({"a": value}, made.parameters)


@given(graphs)
def test_where_no_tool_is_made_nothing_runs_in_circles(graph: dict[str, list[tuple[str, str]]]) -> None:
    schema = described(graph)
    kinds_of(schema, schema)
    convert("[1]", schema["properties"]["a"], schema)
    plain_schema(schema["properties"]["a"], schema)
    example_arguments(schema)
    accepts_null(schema, schema)
    without_nulls({"a": {"x": [None]}}, schema)
    (dialect,) = dialects_named("qwen3_coder")
    dialect_instructions(dialect, {"f": schema})
    text = "<tool_call>\n<function=f>\n<parameter=a>\n12\n</parameter>\n</function>\n</tool_call>"
    list(drive([text], parse_text("qwen3_coder", tools={"f": schema})))


# Schemas that double their size at each step, if one lets them


def choice(*targets: str) -> dict[str, Any]:
    return {"anyOf": [{"properties": {"x": to(target)}} for target in targets]}


RING = [choice(*pair) for pair in ("AB", "BC", "CD", "DA")]


@pytest.mark.parametrize(
    ("definitions", "is_said"),
    [
        ({"A": {"allOf": [choice("A", "B"), choice("A", "B")]}, "B": {}}, True),
        ({name: {"allOf": [*RING[number:], choice("A", "C")]} for number, name in enumerate("ABCD")}, False),
        ({name: {"allOf": [to(each) for each in "ABCD"] * 4, "properties": {"x": to("A")}} for name in "ABCD"}, True),
    ],
    ids=["one", "four", "cycle"],
)
def test_what_is_said_of_a_deep_value_stays_small(definitions: dict[str, Any], is_said: bool) -> None:
    root = {**to("A"), "$defs": definitions}
    described: Any = root
    for _ in range(60):
        described = inner_schema(described, "x", root)
    assert len(str(described)) < 100_000
    assert (described is not None) is is_said
    typed = xml_value("<x>" * 60 + "1" + "</x>" * 60, root, root, DEFAULT_RULES, DEFAULT_LIMITS)
    assert str(typed.value).count("x") == 60


def test_references_that_fan_out_are_each_looked_up_once() -> None:
    definitions: dict[str, Any] = {
        f"A{number}": {"allOf": [to(f"A{number + 1}")] * 3, "anyOf": [to(f"A{number + 1}")] * 2} for number in range(60)
    }
    root = {**to("A0"), "$defs": {**definitions, "A60": {"type": "object", "properties": {"x": {"type": "string"}}}}}
    assert not accepts_null(root, root)
    kinds_of(root, root)
    example_arguments(root)
    made = tool({"type": "object", "properties": {"a": to("A0")}, "$defs": root["$defs"]}, name="f")
    assert made.validate({"a": {"x": None}}) is None
    assert without_nulls({"a": {"x": None}}, made.parameters) == {"a": {}}


MUTANTS = {
    "reference cycles are made tools of": ("", ("operators/schemas/schema_references.py", "if cycle := reference_cycle(schema):", "if cycle := list[str]():")),
    "recursion through items is a reference cycle": ("welcome", ("operators/schemas/schema_references.py", '"if", "then", "else")', '"if", "then", "else", "items")')),
    "reference cycles through dependentSchemas are not seen": ("whatever_form", ("operators/schemas/schema_references.py", '("dependentSchemas", "dependencies")', '("dependencies",)')),
    "reference cycles through $dynamicRef are not seen": ("whatever_form", ("operators/schemas/schema_references.py", '("$ref", "$dynamicRef", "$recursiveRef")', '("$ref", "$recursiveRef")')),
    "a reference cycle is named with the way to it": ("names_the_cycle", ("operators/schemas/schema_references.py", "path[on_path[id(step[0])] + 1 :]", "path")),
    "what a schema says of a deep value is put together anew at each step": ("stays_small", ("operators/schemas/argument_schema.py", "{_identity(each, 0): each", "{id(each): each")),
}  # fmt: skip
