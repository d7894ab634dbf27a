from __future__ import annotations

import asyncio
import enum
import json
import pickle
import subprocess
import sys
import threading
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import pytest
from looped import looped
from pydantic import BaseModel, Field, ValidationError
from typing_extensions import TypedDict

from penstock.events import InvocationFailed, SegmentStart, ToolInvocation, UsageError
from penstock.pipeline.tool import Tool, as_tools, tool
from penstock.pipeline.tool_schemas import tool_schemas

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


class Point(BaseModel):
    """A place."""

    x: int
    y: int = 0


@tool
def add(a: int, b: int = 0) -> int:
    """Add two numbers.

    Args:
        a: The first.
    """
    return a + b


@tool(name="move-to", description="Go.", strict=True)
def move(point: Point, /, speed: float = 1.0, *, schema: str = "s") -> Any:
    return point, speed, schema


def double(a: int) -> int:
    return 2 * a


@tool
class Decorated(BaseModel):
    a: int


def called(name: str, model: Any = None, **arguments: Any) -> ToolInvocation:
    return ToolInvocation("c", "t", name, arguments, model)


# what it is made of


def test_a_function_says_name_description_and_parameters():
    assert (add.name, add.description, add.strict) == ("add", "Add two numbers.", None)
    assert add.parameters == {
        "type": "object",
        "properties": {
            "a": {"description": "The first.", "type": "integer"},
            "b": {"default": 0, "type": "integer"},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


def test_what_is_said_counts_before_what_the_value_says():
    assert (move.name, move.description, move.strict) == ("move-to", "Go.", True)
    again = tool(move, name="go", strict=False)
    assert (again.name, again.description, again.strict, again.function) == ("go", "Go.", False, move.function)
    assert tool(move) is move


def test_a_decorated_function_is_called_as_before():
    assert add(1, b=2) == 3
    assert move(Point(x=1), 2.0) == (Point(x=1), 2.0, "s")


def test_a_model_is_a_tool_with_its_docstring():
    made = tool(Point)
    assert (made.name, made.description, made.model, made.function) == ("Point", "A place.", Point, None)
    assert "description" not in made.parameters
    assert made(x=1) == Point(x=1)
    assert tool(Decorated).description == ""
    assert Decorated(a=1).a == 1


def test_a_json_schema_is_a_tool_that_cannot_be_called():
    made = tool({"name": "f", "description": "d", "input_schema": SCHEMA, "strict": True})
    assert (made.name, made.description, made.parameters, made.strict) == ("f", "d", SCHEMA, True)
    with pytest.raises(UsageError, match="tool 'f' was made from a JSON Schema, so it has no function to call"):
        made()


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": SCHEMA["properties"], "required": ["a"]},
        {"$ref": "#/$defs/A", "$defs": {"A": SCHEMA}},
        {**SCHEMA, "type": ["object"]},
    ],
    ids=str,
)
def test_a_json_schema_needs_no_type_to_be_one(schema: dict[str, Any]):
    made = tool(schema, name="s")
    assert {key: made.parameters[key] for key in SCHEMA} == SCHEMA


@pytest.mark.parametrize("schema", [{"allOf": [SCHEMA]}, {"anyOf": [SCHEMA]}, {"type": "array"}], ids=str)
def test_a_json_schema_of_no_object_is_a_usage_error(schema: dict[str, Any]):
    with pytest.raises(UsageError, match='the parameters of tool \'s\' must be a JSON Schema with "type": "object"'):
        tool(schema, name="s")


def test_a_function_without_a_name_takes_one():
    assert tool(lambda a: a, name="same").name == "same"

    class Visit:
        def __call__(self, where: str) -> str:
            """Go there."""
            return where

    made = tool(Visit(), name="visit")
    assert (made.description, made("x")) == ("Go there.", "x")


@pytest.mark.parametrize("name", ["", "a b", "é", "a\n", "x" * 129, "<lambda>", "a/b"])
def test_a_name_that_no_provider_takes_is_a_usage_error(name: str):
    with pytest.raises(
        UsageError, match=r"is not a valid tool name; use 1 to 128 letters, digits and _ - \. : only, or pass name="
    ):
        Tool(name=name)
    with pytest.raises(UsageError, match="is not a valid tool name"):
        tool(lambda: None)


@pytest.mark.parametrize("value", [3, "add", int, Path, BaseModel, [add], object()])
def test_what_no_tool_can_be_made_of_is_a_usage_error(value: Any):
    with pytest.raises(UsageError, match="a tool must be a function, a pydantic model or a JSON Schema; got"):
        tool(value)


def test_what_a_tool_was_made_of_may_change_without_the_tool():
    parameters: dict[str, Any] = {"type": "object", "properties": {"a": {"enum": ["x"]}}}
    made = tool({"name": "f", "parameters": parameters})
    parameters["properties"]["a"]["enum"].append("y")
    assert made.parameters["properties"]["a"] == {"enum": ["x"]}
    with pytest.raises(AttributeError):
        made.name = "g"  # type: ignore[misc]


# several


def test_several_values_of_any_kind_become_tools_in_their_order():
    tools = as_tools([add, double, Point, {"name": "f", "parameters": SCHEMA}])
    assert [each.name for each in tools] == ["add", "double", "Point", "f"]
    assert tools[0] is add
    assert as_tools(iter(())) == ()


def test_two_of_one_name_are_a_usage_error():
    with pytest.raises(UsageError, match=r"two tools are named 'double'; rename one with tool\(..., name=...\)"):
        as_tools([double, tool({"name": "double"})])


@pytest.mark.parametrize("value", [add, double, Point, {"name": "f"}, "add", 3])
def test_one_alone_is_a_usage_error(value: Any):
    with pytest.raises(UsageError, match="tools= must be an iterable of tools; put it in a list"):
        as_tools(value)


def test_none_among_them_is_a_usage_error():
    with pytest.raises(UsageError, match="got None"):
        as_tools([None])


# validation


def test_arguments_become_the_models_instance():
    given: Any = add.validate({"a": "1"})
    assert (given.a, given.b) == (1, 0)
    assert tool(Point).validate({"x": 1}) == Point(x=1)


def test_what_does_not_validate_and_what_is_no_parameter_raise_pydantics_error():
    with pytest.raises(ValidationError) as raised:
        add.validate({"b": "x", "c": 1})
    assert [(error["loc"], error["type"]) for error in raised.value.errors()] == [
        (("a",), "missing"),
        (("b",), "int_parsing"),
        (("c",), "extra_forbidden"),
    ]


def test_a_null_of_an_optional_parameter_is_not_given():
    assert add.validate({"a": 1, "b": None}) == add.validate({"a": 1})
    with pytest.raises(ValidationError):
        add.validate({"a": None})


def test_a_json_schema_takes_every_object_unless_asked_to_validate():
    assert tool({"name": "f", "parameters": SCHEMA}).validate({"a": "x"}) is None
    asked = tool({"name": "f", "parameters": SCHEMA}, validate=True)
    assert asked.validate({"a": 1}) is None
    with pytest.raises(ValidationError, match="'x' is not of type 'integer'"):
        asked.validate({"a": "x"})
    optional = tool({"name": "f", "parameters": {**SCHEMA, "required": []}}, validate=True)
    assert optional.validate({"a": None}) is None


def test_a_schema_that_is_none_is_told_when_the_tool_is_made():
    with pytest.raises(UsageError, match="the parameters of tool 'f' are not a JSON Schema"):
        tool({"name": "f", "parameters": {"type": "object", "minProperties": "x"}}, validate=True)


# running


def test_a_function_runs_with_the_validated_values_and_its_defaults():
    arguments = {"point": {"x": "1"}, "schema": "z"}
    model = move.validate(arguments)
    assert move.run(called("move-to", model, **arguments)) == (Point(x=1), 1.0, "z")
    assert move.run(called("move-to", **arguments)) == (Point(x=1), 1.0, "z")


def test_a_parameter_with_an_alias_runs_by_its_own_name():
    @tool
    def between(from_: Annotated[int, Field(alias="from")], /, *, to: Annotated[int, Field(alias="class")] = 3) -> Any:
        return from_, to

    assert between.run(called("between", **{"from": "1", "class": 2})) == (1, 2)
    assert between.run(called("between", **{"from": 1, "class": None})) == (1, 3)
    with pytest.raises(ValidationError):
        between.run(called("between", from_=1))


class Color(enum.Enum):
    RED = "red"


class Kind(TypedDict):
    a: int


class Pair(NamedTuple):
    a: int
    b: Color = Color.RED


@dataclass
class Data:
    a: datetime
    b: bytes = b""


class Tree(BaseModel):
    value: Decimal = Decimal(1)
    below: list[Tree] = []


VALUES: list[tuple[Any, Any, Any]] = [
    (Data, {"a": "2031-05-04T00:00:00"}, Data(datetime(2031, 5, 4))),  # noqa: DTZ001
    (Kind, {"a": "1"}, {"a": 1}),
    (Pair, {"a": 1}, Pair(1)),
    (Color, "red", Color.RED),
    (Literal["x"], "x", "x"),
    (int | None, None, None),
    (Tree, {"below": [{"value": "2.5"}]}, Tree(below=[Tree(value=Decimal("2.5"))])),
    (set[int], [1, 1], {1}),
    (tuple[int, str], [1, "x"], (1, "x")),
    (timedelta, "PT1M", timedelta(minutes=1)),
]


@looped("kind, said, value", VALUES, ids=str)
def test_a_value_of_any_kind_arrives_as_that_kind(kind: Any, said: Any, value: Any):
    def take(it: Any) -> Any:
        return it

    take.__annotations__["it"] = kind
    made = tool(take)
    assert made.run(called("take", it=said)) == value
    for provider in ("openai-chat", "anthropic", "gemini"):
        assert json.dumps(tool_schemas([made], provider), allow_nan=False)


def test_partials_and_objects_run_with_what_they_hold():
    class Adder:
        def __call__(self, a: int, b: int = 1, *, c: int = 0) -> int:
            return a + b + c

        @staticmethod
        def plain(a: int) -> int:
            return a

        @classmethod
        def of_class(cls, a: int) -> str:
            return f"{cls.__name__}{a}"

    assert tool(partial(Adder(), 10, c=5), name="f").run(called("f", b=2)) == 17
    assert tool(partial(Adder(), b=5), name="f").run(called("f", a=1)) == 6
    assert tool(Adder.plain).run(called("plain", a=1)) == 1
    assert tool(vars(Adder)["plain"]).run(called("plain", a=1)) == 1
    assert tool(Adder.of_class).run(called("of_class", a=1)) == "Adder1"
    with pytest.raises(UsageError, match=r"write tool\(TheClass.method\) below it"):
        tool(vars(Adder)["of_class"])


def test_arguments_read_back_from_json_are_validated_again():
    invocation = msgspec.json.decode(msgspec.json.encode(called("add", {"a": 1}, a="1")), type=ToolInvocation)
    assert add.run(invocation) == 1
    with pytest.raises(ValidationError):
        add.run(called("add", a="x"))


def test_an_async_function_gives_its_awaitable():
    async def later(a: int) -> int:
        return a

    async def main() -> Any:
        return await tool(later).run(called("later", a=4))

    assert asyncio.run(main()) == 4


SEEN: ContextVar[str] = ContextVar("SEEN", default="")


def where(a: int) -> tuple[int, str, bool]:
    return a, SEEN.get(), threading.current_thread() is threading.main_thread()


async def later(a: int) -> tuple[int, str, bool]:
    return where(a)


class Later:
    async def __call__(self, a: int) -> tuple[int, str, bool]:
        return where(a)


@pytest.mark.parametrize(
    ("function", "in_loop"),
    [(where, False), (later, True), (partial(later), True), (Later(), True), (lambda a: later(int(a)), True)],
)
def test_arun_awaits_async_functions_and_runs_others_in_a_thread(function: Any, in_loop: bool):
    async def main() -> Any:
        SEEN.set("kept")
        return await tool(function, name="where").arun(called("where", a="4"))

    assert asyncio.run(main()) == (4, "kept", in_loop)


def test_arun_checks_as_run_does_and_raises_what_the_function_raises():
    def fails() -> None:
        raise KeyError

    async def main(made: Tool, invocation: Any) -> Any:
        return await made.arun(invocation)

    with pytest.raises(ValidationError):
        asyncio.run(main(add, called("add", a="x")))
    with pytest.raises(UsageError, match="tool 'add' is not 'sub'"):
        asyncio.run(main(add, called("sub")))
    with pytest.raises(KeyError):
        asyncio.run(main(tool(fails), called("fails")))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (InvocationFailed("c", "t", "add", "{", "truncated", ()), "the call of 'add' failed as 'truncated'"),
        ({"a": 1}, "a tool runs a ToolInvocation, .*; got {'a': 1}"),
        (SegmentStart("c", "tool_call"), "a tool runs a ToolInvocation"),
        (None, "got None"),
    ],
)
def test_what_is_not_an_invocation_does_not_run(given: Any, message: str):
    with pytest.raises(UsageError, match=message):
        add.run(given)
    with pytest.raises(UsageError, match=message):
        asyncio.run(add.arun(given))


def test_a_method_runs_on_its_object():
    class Counter:
        total = 0

        def count(self, by: int = 1) -> int:
            self.total += by
            return self.total

    counter = Counter()
    made = tool(counter.count)
    assert [made.run(called("count")), made.run(called("count", by=2))] == [1, 3]


def test_a_function_beside_a_json_schema_gets_the_arguments_as_they_are():
    made = Tool(name="f", parameters={**SCHEMA, "required": []}, function=lambda **given: given)
    assert made.run(called("f", a=None, b=None)) == {"b": None}


def test_running_another_call_or_nothing_is_a_usage_error():
    with pytest.raises(UsageError, match="tool 'add' is not 'sub'"):
        add.run(called("sub"))
    with pytest.raises(UsageError, match="tool 'Point' has no function to run"):
        tool(Point).run(called("Point", x=1))


# elsewhere


def elsewhere(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def test_tools_pickle():
    assert elsewhere(add) is add
    assert elsewhere(Decorated) is Decorated
    for made in (
        tool(double, name="twice", description="d", strict=False),
        tool(Point),
        tool({"name": "f"}, validate=True),
    ):
        again = elsewhere(made)
        for field in ("name", "description", "parameters", "function", "strict", "validates"):
            assert getattr(again, field) == getattr(made, field)
    assert elsewhere(tool(double)).validate({"a": "3"}).a == 3


def test_a_decorated_function_is_found_in_a_process_that_has_not_imported_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "tools_of_mine.py").write_text(
        "from penstock.pipeline.tool import tool\n@tool\ndef add(a: int) -> int: return a + 1\n"
    )
    start = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(Path(__file__).parents[1] / 'support')!r}]; import checkout, pickle; "
    monkeypatch.syspath_prepend(tmp_path)
    made = pickle.dumps(import_module("tools_of_mine").add)
    monkeypatch.delitem(sys.modules, "tools_of_mine")
    read = f"print(pickle.loads({made!r})(1))"
    done = subprocess.run([sys.executable, "-c", start + read], capture_output=True, text=True, check=True)
    assert done.stdout == "2\n"
