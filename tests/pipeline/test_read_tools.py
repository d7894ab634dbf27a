"""Tools with a parameter that is read while the model writes it: their schema, their calls, and what is refused."""

from __future__ import annotations

import asyncio
import pickle
import typing
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from typing import Annotated, Any

import pytest
from looped import looped
from pydantic import AfterValidator, Field, ValidationError

from penstock.events import ToolInvocation, UsageError
from penstock.pipeline import Streamed, tool, tool_schemas
from penstock.pipeline.tool_from_function import opening_of


@tool
async def save(path: str, content: AsyncIterator[str], mode: str = "w") -> str:
    """Save a text.

    Args:
        path: Where to.
        content: What.
    """
    return f"{path} {mode} {[piece async for piece in content]}"


def save_in_thread(content: Iterator[str], path: str) -> str:
    return f"{path} {[*content]}"


def call(**arguments: Any) -> ToolInvocation:
    return ToolInvocation("c", "t", "save", arguments)


def test_the_model_writes_a_string_and_writes_it_last():
    assert save.parameters == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where to."},
            "mode": {"type": "string", "default": "w"},
            "content": {"type": "string", "description": "What."},
        },
        "required": ["path", "content"],
        "additionalProperties": False,
    }
    assert [*save.parameters["properties"]] == ["path", "mode", "content"]
    assert (save.streamed, save.read_while_written) == (("content",), "content")
    assert tool_schemas([save], "anthropic")[0]["eager_input_streaming"] is True


def test_a_tool_without_one_reads_nothing():
    def plain(path: str) -> None: ...

    assert tool(plain).read_while_written is None
    assert tool({"type": "object", "properties": {}}, name="now").read_while_written is None


@looped(
    "annotation",
    [
        AsyncIterator[str],
        AsyncIterable[str],
        typing.AsyncIterator[str],
        typing.AsyncIterable[str],
        Annotated[AsyncIterator[str], Field(description="What.", alias="text")],
        Annotated[AsyncIterator[str], Streamed()],
        Annotated[typing.AsyncIterator[str], AfterValidator(str.upper)],
    ],
)
def test_the_annotations_of_an_async_function(annotation: Any):
    async def write(content):
        return [piece async for piece in content]

    write.__annotations__["content"] = annotation
    made = tool(write)
    name = made.read_while_written
    assert name in ("content", "text")
    assert made.parameters["properties"][name]["type"] == "string"
    assert made.streamed == (name,)
    arguments: dict[str, Any] = {name: "ab"}
    [piece] = asyncio.run(made.run(ToolInvocation("c", "t", "write", arguments)))
    assert piece.lower() == "ab"
    with pytest.raises(ValidationError):
        made.validate({name: 5})


def test_the_annotations_of_a_plain_function():
    made = tool(save_in_thread, name="save")
    assert [*made.parameters["properties"]] == ["path", "content"]
    assert made.run(call(path="a", content="bc")) == "a ['bc']"
    assert made.run(call(path="a", content="")) == "a []"
    assert asyncio.run(made.arun(call(path="a", content="bc"))) == "a ['bc']"
    assert made(iter("bc"), "a") == "a ['b', 'c']"


def test_a_list_of_texts_stays_one():
    def add(tags: Iterable[str]) -> list[str]:
        return [*tags]

    made = tool(add)
    assert made.parameters["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}
    assert (made.streamed, made.read_while_written) == ((), None)


def test_a_whole_call_has_its_text_in_one_piece():
    assert asyncio.run(save.run(call(path="a", content="bc"))) == "a w ['bc']"
    assert asyncio.run(save.arun(call(path="a", content="bc", mode="x"))) == "a x ['bc']"


def test_methods_partials_callable_objects_and_positional_parameters_can_read():
    class Saver:
        async def save(self, content: AsyncIterator[str], /, path: str = "a") -> str:
            return path + "".join([piece async for piece in content])

        async def __call__(self, content: AsyncIterator[str]) -> str:
            return "".join([piece async for piece in content])

    async def with_prefix(prefix: str, content: AsyncIterator[str]) -> str:
        return prefix + "".join([piece async for piece in content])

    makers: list[Callable[..., Any]] = [Saver().save, Saver(), partial(with_prefix, "a")]
    for made in (tool(each, name="save") for each in makers):
        assert asyncio.run(made.run(call(content="bc"))) in ("abc", "bc")
        assert opening_of(made).validate({}) is not None


def test_a_tool_is_pickled_and_made_again():
    again = pickle.loads(pickle.dumps(save))
    assert (again, again.read_while_written) == (save, "content")
    other = tool(save, name="store", coerce=False)
    assert (other.read_while_written, other.name) == ("content", "store")


def test_what_a_call_has_before_the_text_is_validated_as_the_whole_would_be():
    async def write(
        kind: Annotated[int, Field(ge=1)], content: AsyncIterator[str], note: str | None = None, at: Any = None
    ) -> None: ...

    for made in (tool(write), tool(write, coerce=False)):
        opening = opening_of(made)
        assert "content" not in opening.parameters["properties"]
        assert "content" not in opening.parameters["required"]
        assert vars(opening.validate({"kind": 2, "note": None})) == {"kind": 2, "note": None, "at": None}
        for wrong in ({}, {"kind": 0}, {"kind": 1, "content": "x"}, {"kind": 1, "more": 1}):
            with pytest.raises(ValidationError):
                opening.validate(wrong)
    assert vars(opening_of(tool(write)).validate({"kind": "2"}))["kind"] == 2
    with pytest.raises(ValidationError):
        opening_of(tool(write, coerce=False)).validate({"kind": "2"})


NOTHING: Any = None
WHAT: Any = Field(description="What.")


async def bytes_read(content: AsyncIterator[bytes]) -> None: ...
async def bare(content: AsyncIterator) -> None: ...
def not_async(content: AsyncIterator[str]) -> None: ...
async def blocking(content: Iterator[str]) -> None: ...
async def with_default(content: AsyncIterator[str] = NOTHING) -> None: ...
async def with_field(content: Annotated[AsyncIterator[str], Field(default="x")]) -> None: ...
async def two(content: AsyncIterator[str], more: AsyncIterable[str]) -> None: ...
async def optional(content: AsyncIterator[str] | None) -> None: ...
async def several(content: list[AsyncIterator[str]]) -> None: ...
async def text(content: AsyncIterator[str]) -> None: ...


@looped(
    "function, message",
    [
        (bytes_read, r"parameter 'content' of bytes_read\(\) is an AsyncIterator, .*; write AsyncIterator\[str\]"),
        (bare, r"write AsyncIterator\[str\]"),
        (not_async, r"which only an async function can read; write async def, or Iterator\[str\]"),
        (blocking, r"is an Iterator, which would block the event loop; write AsyncIterator\[str\]"),
        (with_default, "cannot have a default"),
        (with_field, "cannot have a default"),
        (two, r"two\(\) reads two arguments while they arrive, 'content' and 'more'; annotate one of them as str"),
        (optional, "cannot be turned into a pydantic model"),
        (several, "cannot be turned into a pydantic model"),
        (text, "this tool cannot stream; rename the tool"),
    ],
)
def test_what_cannot_be_read_is_refused_when_the_tool_is_made(function: Any, message: str):
    with pytest.raises(UsageError, match=message):
        tool(function)


def test_a_field_without_a_default_may_stand_in_its_place():
    async def write(content: AsyncIterator[str] = WHAT) -> None: ...

    assert tool(write).parameters["properties"]["content"] == {"type": "string", "description": "What."}
    assert tool(write).parameters["required"] == ["content"]


def test_other_arguments_may_stream_beside_it():
    async def write(title: Annotated[str, Streamed()], content: AsyncIterator[str]) -> None: ...

    assert tool(write).streamed == ("title", "content")
    assert tool(write, streamed="title").streamed == ("title",)
    assert tool(write, streamed="title").read_while_written == "content"
