"""`coerce=False`: a value of another type than the tool says is refused; what JSON has no type for is welcome."""

from __future__ import annotations

import enum
import json
import pickle
from collections import deque
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    Field,
    RootModel,
    ValidationError,
    create_model,
    model_validator,
)
from typing_extensions import TypedDict

from penstock.events import ChunkResponse, InvocationFailed, ToolCallDelta, ToolInvocation, UsageError
from penstock.pipeline import Pipeline, Tool, tool, tool_schemas

OF_KIND = {int: "integer", bool: "boolean", float: "number", str: "string"}
REFUSED: list[tuple[Any, str]] = [
    *((int, each) for each in ("true", "false", '"12"', '"1_000"', '" 1 "', "1.5", "null", '"1.0"', "[1]")),
    *((bool, each) for each in ("1", "0", "1.0", '"yes"', '"true"', '"on"', '"f"', "null")),
    *((float, each) for each in ("true", '"nan"', '"inf"', '"1.5"', '"1_000"', "null")),
    *((str, each) for each in ("1", "true", "1.5")),
]


def function_of(kind: Any) -> Any:
    def take(it: Any) -> Any:
        return it

    take.__annotations__["it"] = kind
    return take


def own_init(kind: Any) -> Any:
    class Own(BaseModel):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)

    return create_model("take", __base__=Own, it=(kind, ...))


def tools_of(kind: Any) -> list[Tool]:
    """Return a tool of each sort that takes `it`."""
    schema = {"type": "object", "properties": {"it": {"type": OF_KIND[kind]}}, "required": ["it"]}
    made_of: list[Any] = [function_of(kind), create_model("take", it=(kind, ...)), own_init(kind)]
    return [
        *(tool(each, name="take", coerce=False) for each in made_of),
        tool(tool(made_of[0]), coerce=False),
        tool(schema, name="take", coerce=False),
        tool({"name": "take", "parameters": schema}, coerce=False),
    ]


def called(made: Tool, text: str) -> Any:
    """Return what becomes of a call with these arguments."""
    call = ToolCallDelta(0, "c", made.name, text, done=True)
    events = Pipeline(tools=[made]).stream([ChunkResponse(tool_calls=(call,), finish_reason="tool_calls")])
    (result,) = (each for each in events if isinstance(each, ToolInvocation | InvocationFailed))
    return result


@looped("kind, text", REFUSED, ids=str)
def test_another_type_is_refused_by_tools_of_every_sort(kind: Any, text: str) -> None:
    for made in tools_of(kind):
        failed = called(made, f'{{"it": {text}}}')
        assert isinstance(failed, InvocationFailed), made
        assert failed.reason == "invalid"
        assert tuple(failed.errors[0]["loc"]) == ("it",)


def test_a_whole_float_is_no_integer_but_to_a_json_schema() -> None:
    for made_of in (function_of(int), create_model("take", it=(int, ...))):
        assert called(tool(made_of, name="take", coerce=False), '{"it": 2.0}').reason == "invalid"
    assert isinstance(called(tools_of(int)[-1], '{"it": 2.0}'), ToolInvocation)


def test_a_value_under_another_of_its_names_is_looked_at_too() -> None:
    made = tool(create_model("take", it=(int, Field(validation_alias=AliasChoices("it", "that")))), coerce=False)
    assert called(made, '{"that": 1}').model.it == 1
    assert called(made, '{"that": "1"}').reason == "invalid"


WELCOME = {int: ("12", "-1", "1" + "0" * 60), bool: ("true", "false"), float: ("1.5", "1", "1e3"), str: ('"1"', '""')}


@pytest.mark.parametrize("kind", OF_KIND, ids=str)
def test_its_own_type_is_welcome_to_tools_of_every_sort(kind: Any) -> None:
    for made in tools_of(kind):
        for text in WELCOME[kind]:
            given = called(made, f'{{"it": {text}}}')
            assert isinstance(given, ToolInvocation), (made, text)
            if made.model is not None:
                assert given.model.it == json.loads(text)
                assert type(given.model.it) is kind


class Color(enum.Enum):
    RED = "red"
    ONE = 1


class Level(enum.IntEnum):
    LOW = 1


class Pair(NamedTuple):
    a: int
    b: date = date(2000, 1, 1)


class Kind(TypedDict):
    a: int


@dataclass
class Data:
    a: datetime
    b: bytes = b""


class Tree(BaseModel):
    value: Decimal = Decimal(1)
    below: list[Tree] = []


NOT_IN_JSON: list[tuple[Any, Any, Any]] = [
    (date, "2031-05-04", date(2031, 5, 4)),
    (datetime, "2031-05-04T10:00:00", datetime(2031, 5, 4, 10)),  # noqa: DTZ001
    (time, "10:00", time(10)),
    (timedelta, "PT1M", timedelta(minutes=1)),
    (UUID, "123e4567-e89b-42d3-a456-426614174000", UUID("123e4567-e89b-42d3-a456-426614174000")),
    (Decimal, "1.5", Decimal("1.5")),
    (Decimal, 2, Decimal(2)),
    (bytes, "ab", b"ab"),
    (Path, "a/b", Path("a/b")),
    (Color, "red", Color.RED),
    (Color, 1, Color.ONE),
    (Level, 1, Level.LOW),
    (Literal[1, "x"], "x", "x"),
    (set[int], [1, 1], {1}),
    (frozenset[date], ["2031-05-04"], frozenset((date(2031, 5, 4),))),
    (tuple[int, str], [1, "x"], (1, "x")),
    (deque[int], [1], deque([1])),
    (dict[int, float], {"1": 2}, {1: 2.0}),
    (Pair, {"a": 1, "b": "2031-05-04"}, Pair(1, date(2031, 5, 4))),
    (Kind, {"a": 1}, {"a": 1}),
    (Data, {"a": "2031-05-04T00:00:00"}, Data(datetime(2031, 5, 4))),  # noqa: DTZ001
    (Tree, {"below": [{"value": "2.5"}]}, Tree(below=[Tree(value=Decimal("2.5"))])),
    (RootModel[date], "2031-05-04", RootModel[date](date(2031, 5, 4))),
    (int | None, None, None),
    (int | str, "1", "1"),
    (int | bool, True, True),
    (date | int, "2031-05-04", date(2031, 5, 4)),
    (Any, [True, 1, "1", None], [True, 1, "1", None]),
    (float, float("inf"), float("inf")),
]


def in_json(arguments: Any) -> str:
    return json.dumps(arguments).replace("Infinity", "1e999")


@looped("kind, said, value", NOT_IN_JSON, ids=str)
def test_what_json_has_no_type_for_arrives_as_what_it_is(kind: Any, said: Any, value: Any) -> None:
    made = tool(function_of(kind), coerce=False)
    given = called(made, in_json({"it": said}))
    assert isinstance(given, ToolInvocation), given
    assert given.model.it == value
    assert type(given.model.it) is type(value)
    assert made.run(given) == value


INSIDE: list[tuple[Any, Any]] = [
    (list[int], ["1"]),
    (set[int], [True]),
    (dict[str, int], {"a": "1"}),
    (tuple[int, bool], [1, 1]),
    (Kind, {"a": True}),
    (Pair, {"a": "1"}),
    (Tree, {"below": [{"below": "x"}]}),
    (int | None, "1"),
    (Literal[1], True),
    (Literal[True], 1),
    (Level, True),
    (Color, True),
    (date, 5),
    (timedelta, 60),
    (Annotated[int, Field(strict=False)], "1"),
    (own_init(int), {"it": "1"}),
    (list[own_init(int)], [{"it": 1}, {"it": True}]),  # type: ignore[misc]
    (float, 10**400),
]


@looped("kind, said", INSIDE, ids=str)
def test_another_type_is_refused_wherever_it_stands(kind: Any, said: Any) -> None:
    failed = called(tool(function_of(kind), coerce=False), json.dumps({"it": said}))
    assert isinstance(failed, InvocationFailed)
    assert failed.reason == "invalid"
    assert failed.errors[0]["loc"][0] == "it"


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@given(plain, st.sampled_from((int, bool, float, str)))
def test_a_value_passes_unchanged_or_not_at_all(value: Any, kind: Any) -> None:
    for of_kind, holds in ((Any, True), (kind, type(value) is kind or (kind is float and type(value) is int))):
        made = tool(function_of(of_kind), coerce=False)
        if not holds:
            with pytest.raises(ValidationError):
                made.validate({"it": value})
            continue
        model: Any = made.validate({"it": value})
        assert model.it == value


def test_by_default_pydantic_coerces() -> None:
    made = tool(function_of(int))
    assert made.coerce
    for said in (True, "12", "1_000", 1.0):
        assert made.validate({"it": said}) is not None
    assert tool(tool(made, coerce=False), coerce=True).validate({"it": "12"}) is not None


def test_a_converter_that_says_what_it_takes_still_converts() -> None:
    def flag(value: Any) -> Any:
        return value == "yes" if isinstance(value, str) else value

    said = Annotated[bool, BeforeValidator(flag, json_schema_input_type=bool | str)]
    given = called(tool(function_of(said), coerce=False), '{"it": "yes"}')
    assert given.model.it is True
    silent = Annotated[bool, BeforeValidator(flag)]
    assert called(tool(function_of(silent), coerce=False), '{"it": "yes"}').reason == "invalid"


def unchanged(value: Any) -> Any:
    return value


class Before(BaseModel):
    day: date = date(2000, 1, 1)
    several: set[int] = set()
    count: int = 0

    @model_validator(mode="before")
    @classmethod
    def look(cls, value: Any) -> Any:
        return dict(value)


class Around(BaseModel):
    day: date = date(2000, 1, 1)
    several: set[int] = set()
    count: int = 0

    @model_validator(mode="wrap")
    @classmethod
    def look(cls, value: Any, handler: Any) -> Any:
        return handler(value)


@pytest.mark.parametrize("model", [Before, Around])
def test_validators_before_and_around_pydantics_change_nothing(model: Any) -> None:
    made = tool(model, coerce=False)
    expected = model(day=date(2031, 5, 4), several={1}, count=2)
    assert made.validate({"day": "2031-05-04", "several": [1], "count": 2}) == expected
    assert made.validate({"count": 2}) == model(count=2)
    for refused in (
        {"several": ["1"]},
        {"day": 5},
        {"day": "2031-05-04", "count": "2"},
        {"several": [1], "count": True},
    ):
        with pytest.raises(ValidationError):
            made.validate(refused)
    for kind, said, value in NOT_IN_JSON:
        if kind not in (dict[int, float], date | int):  # keys and unions, whose faults are not told apart
            behind: Any = Annotated[kind, BeforeValidator(unchanged)]
            assert called(tool(function_of(behind), coerce=False), in_json({"it": said})).model.it == value


def test_nulls_that_mean_not_given_are_left_out_as_ever() -> None:
    def take(it: int = 3) -> int:
        return it

    made = tool(take, coerce=False)
    assert made.run(called(made, '{"it": null}')) == 3


def test_running_a_call_that_was_read_back_validates_the_same() -> None:
    made = tool(function_of(int), coerce=False)
    assert made.run(ToolInvocation("c", None, "take", {"it": 1})) == 1
    with pytest.raises(ValidationError):
        made.run(ToolInvocation("c", None, "take", {"it": "1"}))
    with_schema = Tool(
        name="f", parameters={"properties": {"it": {"type": "integer"}}}, function=lambda it: it, coerce=False
    )
    assert with_schema.run(ToolInvocation("c", None, "f", {"it": 1})) == 1
    with pytest.raises(ValidationError):
        with_schema.run(ToolInvocation("c", None, "f", {"it": "1"}))


def plainly(it: int) -> int:
    return it


def test_the_tool_is_the_same_elsewhere() -> None:
    for made_of in (plainly, Tree, {"name": "f", "parameters": {"properties": {"it": {"type": "integer"}}}}):
        loose, exact = tool(made_of), tool(made_of, coerce=False)
        assert exact.parameters == loose.parameters
        for provider in ("openai-chat", "anthropic", "gemini", "ollama"):
            if made_of is not Tree or provider != "ollama":  # a recursive schema
                assert tool_schemas([exact], provider) == tool_schemas([loose], provider)
        again = pickle.loads(pickle.dumps(exact))
        assert (again.coerce, again.validates, again.parameters) == (False, True, exact.parameters)


def test_it_decorates() -> None:
    @tool(coerce=False)
    def take(it: int) -> int:
        return it

    assert called(take, '{"it": "1"}').reason == "invalid"
    assert take(1) == 1


def test_without_jsonschema_it_is_told_when_the_tool_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jsonschema.exceptions", None)
    with pytest.raises(
        UsageError,
        match=r'coerce=False for a JSON Schema: pip install "penstock\[jsonschema\]", or in a clone pip install "\.\[jsonschema\]"',
    ):
        tool({"name": "f"}, coerce=False)
    tool(plainly, coerce=False)


def test_a_long_list_costs_little_more_than_its_length() -> None:
    looked: list[Any] = []
    made = tool(function_of(list[Kind]), coerce=False)
    with pytest.MonkeyPatch.context() as patch:
        from penstock.operators.schemas import schema_validation  # noqa: PLC0415
        from penstock.operators.schemas.argument_schema import inner_schema  # noqa: PLC0415

        def counted(*given: Any) -> Any:
            looked.append(given)
            return inner_schema(*given)

        patch.setattr(schema_validation, "inner_schema", counted)
        made.validate({"it": [{"a": 1}] * 10_000})
    assert len(looked) < 300


MUTANTS = {
    "coerce=False coerces": ("", ("operators/schemas/schema_validation.py", "(json.dumps(arguments), strict=True)", "(json.dumps(arguments), strict=False)")),
    "coerce=False leaves all to pydantic's strict mode": ("", ("operators/schemas/schema_validation.py", "    if faults:\n        raise ValidationError.from_exception_data(model.", "    if faults == [()]:\n        raise ValidationError.from_exception_data(model.")),
    "coerce=False makes a whole number infinite": ("wherever", ("operators/schemas/schema_validation.py", "value.bit_length() > _MOST_BITS", "value.bit_length() < 0")),
    "coerce=False refuses dates behind a validator": ("around", ("operators/schemas/schema_validation.py", "        if faults or any(", "        if True or any(")),
    "coerce=False takes sets of anything behind a validator": ("around", ("operators/schemas/schema_validation.py", "        if faults or any(", "        if any(")),
    "coerce=False accepts everything for a JSON Schema": ("every_sort", ("pipeline/tool.py", "        if not self.coerce:\n", "        if self.coerce is None:\n")),
    "a tool that is made again coerces": ("elsewhere", ("pipeline/tool.py", '("name", "description", "strict", "coerce", ', '("name", "description", "strict", ')),
    "a function beside a JSON Schema runs without validation": ("read_back", ("pipeline/tool_from_function.py", "        tool.validate(arguments)\n        return", "        return")),
}  # fmt: skip
