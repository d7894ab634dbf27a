from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, Field, ValidationError

from penstock import tool
from penstock.events import UsageError
from penstock.operators.schemas.schema_validation import model_schema
from penstock.pipeline import CallKey
from penstock.pipeline.tool_from_function import (
    function_arguments,
    function_description,
    function_model,
    function_name,
)

if TYPE_CHECKING:
    from decimal import Decimal


class Point(BaseModel):
    x: int
    y: int = 0


def plot(points: list[Point], color: Literal["red", "blue"] = "red", *, size: Annotated[float, Field(gt=0)]) -> Decimal:
    raise NotImplementedError


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    return model_schema(function_model(function, function_name(function)), "f")


def test_parameters_become_fields_with_their_types_defaults_and_constraints():
    assert schema_of(plot) == {
        "type": "object",
        "properties": {
            "points": {"items": {"$ref": "#/$defs/Point"}, "type": "array"},
            "color": {"default": "red", "enum": ["red", "blue"], "type": "string"},
            "size": {"exclusiveMinimum": 0, "type": "number"},
        },
        "required": ["points", "size"],
        "$defs": {
            "Point": {
                "properties": {"x": {"type": "integer"}, "y": {"default": 0, "type": "integer"}},
                "required": ["x"],
                "title": "Point",
                "type": "object",
            }
        },
        "additionalProperties": False,
    }


def test_values_are_validated_and_nested_models_are_models():
    given: Any = function_model(plot, "plot").model_validate({"points": [{"x": "1"}], "size": 2})
    assert (given.points, given.color, given.size) == ([Point(x=1)], "red", 2.0)


def test_a_parameter_without_an_annotation_takes_anything():
    def loose(a, b=3): ...

    with pytest.warns(UserWarning, match=r"parameter '[ab]' of loose\(\) has no annotation") as said:
        assert schema_of(loose)["properties"] == {"a": {}, "b": {"default": 3}}
    assert {(each.filename, str(each.message).rpartition("; ")[2]) for each in said} == {
        (__file__, "Any takes anything")
    }
    assert schema_of(lambda a: a)["properties"] == {"a": {}}


def test_a_function_without_parameters_takes_none():
    assert schema_of(lambda: None) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_parameters_named_as_what_pydantic_has_keep_their_names_outside():
    def odd(schema: str, model_config: int, json: int, _private: int, __: int, field: int, field_: int): ...

    names = ["schema", "model_config", "json", "_private", "__", "field", "field_"]
    values = {name: str(number) if name == "schema" else number for number, name in enumerate(names)}
    model = function_model(odd, "odd")
    assert list(schema_of(odd)["properties"]) == names
    assert model.model_validate(values).model_dump(by_alias=True) == values
    assert len(model.model_fields) == len(names)


def sent(
    from_: Annotated[int, Field(alias="from", description="d")],
    to: Annotated[int, Field(validation_alias="to-")] = 1,
    at: int = Field(2, alias="class"),
    by: Annotated[int, Field(serialization_alias="x")] = 3,
): ...


def test_an_alias_is_what_the_model_says_for_a_parameter():
    schema = schema_of(sent)
    assert schema["properties"] == {
        "from": {"description": "d", "type": "integer"},
        "to-": {"default": 1, "type": "integer"},
        "class": {"default": 2, "type": "integer"},
        "by": {"default": 3, "type": "integer"},
    }
    assert schema["required"] == ["from"]
    model = function_model(sent, "sent")
    given = model.model_validate({"from": "5", "class": 6})
    assert function_arguments(sent, model, given, CallKey()) == ([], {"from_": 5, "to": 1, "at": 6, "by": 3})
    with pytest.raises(ValidationError):
        model.model_validate({"from_": 5})


def test_an_alias_with_several_names_and_one_that_is_taken_are_usage_errors():
    def several(a: Annotated[int, Field(validation_alias=AliasChoices("b", "c"))]): ...

    def path(a: int = Field(validation_alias=AliasPath("b", 0))): ...

    def taken(a: Annotated[int, Field(alias="b")], b: int): ...

    for function in (several, path):
        with pytest.raises(UsageError, match=r"parameter 'a' of f\(\) needs one name with Field\(alias=\.\.\.\), got"):
            function_model(function, "f")
    with pytest.raises(UsageError, match=r"two parameters of f\(\) are named 'b'"):
        function_model(taken, "f")


def test_the_arguments_of_a_model_made_by_hand_are_its_fields_by_their_aliases():
    class Given(BaseModel):
        b: int = Field(alias="a")

    def positional(a: int, /): ...

    assert function_arguments(sent, Given, Given(a=1), CallKey()) == ([], {"a": 1})
    assert function_arguments(positional, Given, Given(a=1), CallKey()) == ([1], {})


def test_a_default_may_stand_in_the_annotation():
    def defaulted(a: Annotated[int, Field(default=3)], b: Annotated[list[int], Field(default_factory=list)]): ...

    model = function_model(defaulted, "defaulted")
    assert "required" not in schema_of(defaulted)
    assert function_arguments(defaulted, model, model(), CallKey()) == ([], {"a": 3, "b": []})


def test_a_field_may_be_the_default():
    def defaulted(a: int = Field(default=2, description="d"), b: int = Field(description="e", le=3)): ...

    assert schema_of(defaulted) == {
        "type": "object",
        "properties": {
            "a": {"default": 2, "description": "d", "type": "integer"},
            "b": {"description": "e", "maximum": 3, "type": "integer"},
        },
        "required": ["b"],
        "additionalProperties": False,
    }


class Shop:
    def buy(self, item: str, *, number: int = 1) -> None:
        """Buy something."""

    @classmethod
    def open(cls, name: str) -> None: ...

    @staticmethod
    def tax(amount: float) -> float:
        return amount

    def __call__(self, what: str) -> None:
        """Visit it."""


async def fetch(url: str) -> bytes:
    return url.encode()


@functools.cache
def wrapped(a: int) -> int:
    """Wrapped."""
    return a


@pytest.mark.parametrize(
    ("function", "name", "parameters"),
    [
        (Shop().buy, "buy", ["item", "number"]),
        (Shop.open, "open", ["name"]),
        (Shop.tax, "tax", ["amount"]),
        (fetch, "fetch", ["url"]),
        (functools.partial(plot, [], size=1.0), "plot", ["color", "size"]),
        (functools.partial(functools.partial(Shop().buy, "x")), "buy", ["number"]),
        (wrapped, "wrapped", ["a"]),
    ],
)
def test_methods_partials_wrappers_and_coroutines_are_functions(
    function: Callable[..., Any], name: str, parameters: list[str]
):
    assert function_name(function) == name
    assert list(schema_of(function)["properties"]) == parameters


def test_what_is_called_without_being_a_function_needs_a_name():
    model = function_model(Shop(), "visit")
    assert list(model.model_fields) == ["what"]
    with pytest.raises(UsageError, match=r"has no name; pass one with tool\(..., name=...\)"):
        function_name(Shop())


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda *words: None, r"f\(\) takes \*words, but a tool needs named parameters"),
        (lambda **options: None, r"f\(\) takes \*\*options, but"),
        (Shop.buy, r"f\(\) is unbound; pass a bound method: tool\(thing.f\)"),
        (print, r"f\(\) takes \*args"),
        (max, r"f\(\) has no signature to read; wrap it in a function that has one"),
    ],
)
def test_what_no_model_can_call_by_name_is_a_usage_error(function: Callable[..., Any], said: str):
    with pytest.raises(UsageError, match=said):
        function_model(function, "f")


@pytest.mark.parametrize("kind", [range, list[range], Callable[[int], int], 3])
def test_an_impossible_annotation_names_the_parameter_and_what_to_write(kind: Any):
    def f(well: int, wrong: Any): ...

    f.__annotations__["wrong"] = kind

    said = r"of f\(\) cannot be .*; for 'wrong', which is .*, write a type that JSON has: str, int, list"
    with pytest.raises(UsageError, match=said):
        tool(f)


def test_a_model_with_an_impossible_field_names_it():
    class Timed(BaseModel):
        hours: int
        every: Callable[[], int]

    with pytest.raises(
        UsageError, match=r"of Timed cannot be .*; for 'every', which is .*, write a type that JSON has"
    ):
        tool(Timed)


def test_an_async_generator_is_told_to_return_a_list():
    async def lines(path: str) -> AsyncIterator[str]:
        yield path

    with pytest.raises(UsageError, match=r"lines\(\) is an async generator, .* collect the items and return the list"):
        tool(lines)


def test_an_annotation_that_cannot_be_resolved_or_validated_is_a_usage_error():
    def unknown(a: Nothing): ...  # type: ignore[name-defined]  # noqa: F821

    def odd(a: range): ...

    with pytest.raises(
        UsageError, match=r"of f\(\) cannot be resolved: name 'Nothing' is not defined; import those names"
    ):
        function_model(unknown, "f")
    with pytest.raises(
        UsageError,
        match=r"the parameters of f\(\) cannot be turned into a pydantic model: Unable to generate pydantic-core",
    ) as raised:
        function_model(odd, "f")
    assert "\n" not in str(raised.value)


# docstrings


def documented(
    path: str, pieces: list[str], mode: Annotated[str, Field(description="By hand.")] = "x", last: int = 0
) -> str:
    """Write pieces.

    More of it: with a colon,
    on two lines.

    Args:
        path: Where it goes.
        pieces (list[str], optional): What is written,
            one after the other: in order.

            And a paragraph.
        mode: Not this.
        *ignored: There is none.
        last:

    Returns:
        path: Nothing of a parameter.
    """
    return f"{path}{pieces}{mode}{last}"


def test_the_description_ends_where_the_sections_begin():
    assert function_description(documented) == "Write pieces.\n\nMore of it: with a colon,\non two lines."
    assert function_description(Shop().buy) == "Buy something."
    assert function_description(functools.partial(documented, "x")).startswith("Write pieces.")
    assert function_description(lambda: None) == ""


def test_parameters_are_described_by_the_docstring_unless_they_describe_themselves():
    properties = schema_of(documented)["properties"]
    assert {name: each.get("description") for name, each in properties.items()} == {
        "path": "Where it goes.",
        "pieces": "What is written, one after the other: in order. And a paragraph.",
        "mode": "By hand.",
        "last": None,
    }


@pytest.mark.parametrize(
    "documentation",
    ["", "Args:", "Args:\n", "Args:\n\n    nothing here", "Returns:\n    path: x", "Args: path: on the same line"],
)
def test_a_docstring_that_describes_no_parameter_does_no_harm(documentation: str):
    def silent(path: str): ...

    silent.__doc__ = documentation
    assert schema_of(silent)["properties"] == {"path": {"type": "string"}}
