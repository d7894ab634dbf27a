"""Whatever a validation raises, the stream goes on: the call is invalid, and each START has its END."""

from __future__ import annotations

import asyncio
import decimal
import logging
import re
from typing import Any

import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model, field_validator, model_validator

from penstock.events import (
    ChunkResponse,
    InvocationFailed,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    to_json,
)
from penstock.operators import adrive, drive, to_invocations, to_segments
from penstock.operators.schemas.schema_validation import validated
from penstock.pipeline import Pipeline, tool


class Raises:
    """A tool whose validation raises."""

    name = "broken"

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def validate(self, arguments: dict[str, Any]) -> BaseModel | None:
        raise self.error


class Fine(BaseModel):
    a: int


def chunks(*names: str, arguments: str = '{"a": 1}') -> list[ChunkResponse]:
    calls = (ToolCallDelta(number, f"c{number}", name, arguments, done=True) for number, name in enumerate(names))
    return [*(ChunkResponse(tool_calls=(call,)) for call in calls), ChunkResponse(finish_reason="tool_calls")]


def events_of(broken: Any, *, arguments: str = '{"a": 1}') -> list[Any]:
    """Return the events of three calls, the second of a tool that breaks."""
    tools = {"fine": Fine, "broken": broken}
    operators = to_segments(turn_id="t"), to_invocations(tools, keep_segments=True)
    return list(drive(chunks("fine", "broken", "fine", arguments=arguments), *operators))


def check(events: list[Any]) -> InvocationFailed:
    """Check that one call failed and nothing else is touched; return it."""
    starts = [each.segment_id for each in events if isinstance(each, SegmentStart)]
    ends = [each for each in events if isinstance(each, SegmentEnd)]
    assert starts == [each.segment_id for each in ends] == ["c0", "c1", "c2"]
    assert [each.status for each in ends] == ["complete", "failed", "complete"]
    assert ends[1].reason == "invalid"
    assert [each.id for each in events if isinstance(each, ToolInvocation)] == ["c0", "c2"]
    (failed,) = (each for each in events if isinstance(each, InvocationFailed))
    assert (failed.id, failed.reason) == ("c1", "invalid")
    to_json(failed)
    return failed


def own(name: str) -> type[Exception]:
    return type(name, (Exception,), {})


errors = st.one_of(
    st.builds(
        lambda kind, said: kind(said),
        st.sampled_from(
            (
                *(KeyError, AttributeError, TypeError, ZeroDivisionError, OverflowError, RecursionError, ValueError),
                *(AssertionError, MemoryError, StopIteration, StopAsyncIteration, LookupError, NotImplementedError),
                *(OSError, TimeoutError, re.error, decimal.InvalidOperation, own("Own"), own("Überraschung")),
            )
        ),
        st.text(st.characters(), max_size=20),
    ),
    st.builds(lambda inner: ExceptionGroup("several", [inner]), st.just(KeyError("x"))),
)


@given(errors)
def test_whatever_a_tools_validation_raises_is_a_failure_and_no_end_of_the_stream(error: Exception) -> None:
    failed = check(events_of(Raises(error)))
    (told,) = failed.errors
    assert (told["type"], told["loc"]) == (type(error).__name__, [])
    assert told["msg"]


@given(errors)
def test_whatever_a_models_validator_raises_is_a_failure_and_no_end_of_the_stream(error: Exception) -> None:
    class Model(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def look(cls, value: int) -> int:
            raise error

    failed = check(events_of(Model))
    if isinstance(error, ValueError | AssertionError):
        assert failed.errors[0]["loc"] == ("a",)  # pydantic's own entry
    else:
        assert failed.errors[0]["type"] == type(error).__name__


def of_factory() -> Any:
    return create_model("M", a=(int, ...), b=(int, Field(default_factory=lambda: 1 // 0)))


class OwnInit(BaseModel):
    a: int

    def __init__(self, **given: Any) -> None:
        raise AttributeError(*given)


def without_end(value: Any) -> Any:
    return without_end(value)


class Deep(BaseModel):
    a: Any

    @model_validator(mode="before")
    @classmethod
    def look(cls, value: Any) -> Any:
        return without_end(value)


class UnsayableError(ValueError):
    def __str__(self) -> str:
        return str(1 // 0)


class UnsayableModel(BaseModel):
    a: int

    @field_validator("a")
    @classmethod
    def look(cls, value: int) -> int:
        raise UnsayableError


BROKEN: list[tuple[Any, str]] = [
    (of_factory(), "ZeroDivisionError"),
    (OwnInit, "AttributeError"),
    (Deep, "RecursionError"),
    (Raises(UnsayableError()), "ZeroDivisionError"),
]


@pytest.mark.parametrize(("broken", "kind"), BROKEN, ids=lambda value: getattr(value, "__name__", None))
def test_the_error_says_the_class_of_what_was_raised(broken: Any, kind: str) -> None:
    tools = {"fine": None, "broken": broken}
    operators = to_segments(turn_id="t"), to_invocations(tools, keep_segments=True)
    failed = check(list(drive(chunks("fine", "broken", "fine", arguments='{"a": "1"}'), *operators)))
    assert failed.errors[0]["type"] == kind


def test_an_exception_whose_text_cannot_be_said_is_one_too() -> None:
    assert check(events_of(UnsayableModel)).reason == "invalid"


def test_a_number_beyond_all_floats_and_multiple_of() -> None:
    schema = {"properties": {"a": {"type": "number", "multipleOf": 0.5}}}
    broken = tool(schema, name="broken", validate=True)
    operators = to_segments(turn_id="t"), to_invocations({"fine": None, "broken": broken}, keep_segments=True)
    failed = check(list(drive(chunks("fine", "broken", "fine", arguments='{"a": 1e999}'), *operators)))
    assert failed.errors[0]["type"] == "OverflowError"


def test_deep_arguments_for_a_schema_that_recurs() -> None:
    node = {"type": "object", "properties": {"a": {"$ref": "#/$defs/N"}}, "additionalProperties": False}
    broken = tool({"$ref": "#/$defs/N", "$defs": {"N": node}}, name="broken", validate=True)
    deep = '{"a": ' * 200 + "1" + "}" * 200
    operators = to_segments(turn_id="t"), to_invocations({"fine": None, "broken": broken}, keep_segments=True)
    check(list(drive(chunks("fine", "broken", "fine", arguments=deep), *operators)))


def test_a_schema_that_allows_nothing_has_an_entry_like_all() -> None:
    broken = tool({"properties": {"a": False}}, name="broken", validate=True)
    (told,) = check(events_of(broken)).errors
    assert (told["type"], told["msg"]) == ("false", "False schema does not allow 1")


@pytest.mark.parametrize("way", ["stream", "astream", "observable", "adrive"])
def test_in_every_way_to_run(way: str) -> None:
    @tool
    def fine(a: int) -> None: ...

    @tool
    def broken(a: OwnInit) -> None: ...

    pipeline = Pipeline(tools=[fine, broken], turn_id="t")
    given = chunks("fine", "broken", "fine")
    given[1] = ChunkResponse(tool_calls=(ToolCallDelta(1, "c1", "broken", '{"a": {}}', done=True),))
    events: list[Any] = []

    async def looped() -> None:
        run = pipeline.astream(given) if way == "astream" else adrive(given, pipeline.operator)
        events.extend([event async for event in run])

    if way == "stream":
        events.extend(pipeline.stream(given))
    elif way == "observable":
        pipeline.observable(reactivex.from_iterable(given)).subscribe(events.append)
    else:
        asyncio.run(looped())
    assert check(events).errors[0]["type"] == "AttributeError"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), asyncio.CancelledError(), GeneratorExit()])
def test_what_is_no_exception_passes(error: BaseException) -> None:
    with pytest.raises(type(error)):
        validated(Raises(error).validate, {})


# What is told, and what is not


def test_only_those_who_raise_to_be_read_are_quoted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "penstock")
    for quoted in (ValueError("secret"), AssertionError("secret"), UnicodeError("secret")):
        (told,) = check(events_of(Raises(quoted))).errors
        assert told["msg"] == "secret"
    assert caplog.records == []
    for silent in (KeyError("secret"), TypeError("secret"), own("Own")("secret")):
        (told,) = check(events_of(Raises(silent))).errors
        assert re.fullmatch(rf"the validation raised {type(silent).__name__} at test_validated\.py:\d+", told["msg"])
    assert [record.levelname for record in caplog.records] == ["DEBUG"] * 3


def test_a_message_does_not_quote_a_whole_file_nor_half_a_pair() -> None:
    class Quotes(BaseModel):
        a: Any

        @field_validator("a")
        @classmethod
        def look(cls, value: Any) -> Any:
            raise ValueError("x" * 100_000)

    for broken in (Quotes, Raises(ValueError("\ud800" + "x" * 100_000))):
        message = check(events_of(broken)).errors[0]["msg"]
        assert len(message) == 1001
        assert "\ud800" not in message


MUTANTS = {
    "what a validator raises ends the stream": ("whatever", ("operators/schemas/schema_validation.py", "    except Exception as error:  # noqa: BLE001 - a", "    except ValueError as error:  # a")),
    "what any exception of a validator says is told": ("quoted", ("operators/schemas/schema_validation.py", "isinstance(error, ValueError | AssertionError)", "isinstance(error, Exception)")),
    "a validator's message is told whole": ("whole_file", ("operators/schemas/schema_validation.py", "if len(message) <= _LONGEST_MESSAGE else", "if message else")),
}  # fmt: skip
