from __future__ import annotations

import dataclasses
import json
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Final, Literal

import pytest
from answered import answered
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from operator_contract import FROM_CALLS, FROM_FIELDS, Case, frozen, read_back, thawed
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    StrictInt,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WrapValidator,
    field_validator,
    model_validator,
)
from strategies.cuts import cuts
from typing_extensions import TypedDict

from penstock.events import ChunkResponse, InvocationFailed, SegmentEnd, ToolCallDelta, ToolInvocation
from penstock.operators import Completed, stage, stream_fields, to_invocations, to_segments
from penstock.operators.calls.field_checker import FieldVerdict
from penstock.operators.validate import validate
from penstock.pipeline import Pipeline, tool


class Hunk(BaseModel):
    model_config = ConfigDict(extra="forbid")

    line: int = Field(ge=1, le=500)
    text: str = ""


class Edit(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: str = Field(max_length=12)
    mode: Literal["add", "replace"] = "add"
    hunks: list[Hunk] = Field(default=[], max_length=2)


class WriteFile(BaseModel):
    path: str
    content: str = ""


CONTRACT = (
    Case("validate", validate({"write_file": WriteFile, "read": None, "a": Edit}), (*FROM_CALLS, *FROM_FIELDS)),
    Case("validate read back", validate({"write_file": WriteFile}), (*read_back(FROM_CALLS), *read_back(FROM_FIELDS))),
    Case("validate an answer", validate(Edit), FROM_CALLS),
)


def chunks_of(pieces: list[str], name: str) -> list[ChunkResponse]:
    head = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", name),))
    deltas = [ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=each),)) for each in pieces]
    return [head, *deltas, ChunkResponse(finish_reason="tool_calls")]


def told(events: list[Any]) -> list[tuple[Any, ...]]:
    verdicts = (each for each in events if isinstance(each, FieldVerdict))
    return [(each.path, each.is_valid, each.is_early, [error["type"] for error in each.errors]) for each in verdicts]


def of_call(pieces: list[str], wanted: Any = Edit) -> list[Any]:
    tools = {"f": wanted}
    operators = to_segments(turn_id="t"), validate(tools), to_invocations(tools, keep_segments=True)
    return answered(chunks_of(pieces, "f"), *operators)


def of_answer(pieces: list[str], wanted: Any) -> list[Any]:
    chunks = [*(ChunkResponse(content=each) for each in pieces), ChunkResponse(finish_reason="stop")]
    return answered(chunks, to_segments(turn_id="t"), validate(wanted))


def early(events: list[Any]) -> list[tuple[Any, ...]]:
    return [(path, *kinds) for path, _, is_early, kinds in told(events) if is_early]


def test_each_field_is_told_when_it_closes_and_the_whole_at_the_end():
    assert told(of_call(['{"path": "a', '.py", "hunks": [{"line": 1', "}]}"])) == [
        (("path",), True, False, []),
        (("hunks", 0, "line"), True, False, []),
        (("hunks", 0), True, False, []),
        (("hunks",), True, False, []),
        ((), True, False, []),
    ]


@looped(
    "text, path, kind",
    [
        ('{"path": [', ("path",), "type"),
        ('{"path": 1', ("path",), "type"),
        ('{"path": n', ("path",), "type"),
        ('{"path": "0123456789abc', ("path",), "string_too_long"),
        ('{"mode": "rem', ("mode",), "enum"),
        ('{"mode": "addx', ("mode",), "enum"),
        ('{"paths":', ("paths",), "extra_forbidden"),
        ('{"hunks": [{"line": 1}, {"line": 2}, {', ("hunks",), "too_long"),
        ('{"hunks": [1', ("hunks", 0), "type"),
        ('{"hunks": [{"line": -', ("hunks", 0, "line"), "out_of_range"),
        ('{"hunks": [{"line": 1e9', ("hunks", 0, "line"), "out_of_range"),
        ('{"hunks": [{"line": 1e-1', ("hunks", 0, "line"), "out_of_range"),
        ('{"path": "a", "path":', ("path",), "duplicate_key"),
        ('{"hunks": [{"line": 1, "line":', ("hunks", 0, "line"), "duplicate_key"),
        ("[", (), "type"),
    ],
)
def test_the_first_character_that_contradicts_the_type_is_told_and_none_before_it(
    text: str, path: tuple[Any, ...], kind: str
):
    assert early(of_call(list(text))) == early(of_call([text])) == [(path, kind)]
    assert early(of_call(list(text[:-1]))) == []
    assert early(of_answer(list(text), Edit)) == early(of_answer([f"```json\n{text}"], Edit)) == [(path, kind)]


def test_a_key_that_comes_twice_fails_the_call_and_the_answer():
    text = '{"path": "a", "path": "b"}'
    events = of_call([text])
    (failed,) = (each for each in events if isinstance(each, InvocationFailed))
    (end,) = (each for each in events if isinstance(each, SegmentEnd))
    assert (end.status, end.reason) == ("failed", "duplicate_key")
    assert (failed.reason, failed.errors[0]["found"], failed.errors[0]["path"]) == ("duplicate_key", "path", ["path"])
    (end,) = (each for each in of_answer([text], Edit) if isinstance(each, SegmentEnd))
    assert (end.status, end.reason) == ("failed", "duplicate_key")


def test_what_has_closed_is_an_instance_with_those_fields_only():
    chain = stage(to_segments(), validate({"f": Edit}))
    fed = [each for chunk in chunks_of(['{"path": "a", "mo'], "f")[:-1] for each in chain.feed(chunk)]
    (verdict,) = (each for each in fed if isinstance(each, FieldVerdict))
    assert (verdict.path, verdict.closed.path, verdict.closed.model_fields_set) == (("path",), "a", {"path"})
    with pytest.raises(AttributeError, match="mode"):
        _ = verdict.closed.mode
    (*_, last) = (each for each in of_call(['{"path": "a"}']) if isinstance(each, FieldVerdict))
    assert last.closed == Edit(path="a")


def test_a_value_as_the_mode_of_the_field_allows_it_is_no_contradiction():
    class Loose(BaseModel):
        number: int
        exact: StrictInt

    assert early(of_call(['{"number": "5'], Loose)) == []
    assert early(of_call(['{"exact": "'], Loose)) == [(("exact",), "type")]


def test_a_tool_is_judged_as_it_validates_itself_with_nulls_for_what_is_not_given():
    @tool
    def save(path: str, times: int = 1) -> None:
        """Save."""

    events = of_call(['{"path": "a", "times": null}'], save)
    assert told(events) == [(("path",), True, False, []), ((), True, False, [])]
    assert any(isinstance(each, ToolInvocation) for each in events)


def test_a_tool_with_a_json_schema_is_judged_by_it():
    schema = {
        "properties": {"mode": {"enum": ["add", "remove"]}, "n": {"type": "integer", "minimum": 0}},
        "additionalProperties": False,
    }
    given = tool({"name": "f", "parameters": schema}, validate=True)
    assert early(of_call(list('{"mode": "x'), given)) == [(("mode",), "enum")]
    assert early(of_call(list('{"o":'), given)) == [(("o",), "extra_forbidden")]
    assert told(of_call(['{"n": -1}'], given)) == [
        (("n",), False, False, ["minimum"]),
        ((), False, False, ["minimum"]),
    ]
    assert told(of_call(['{"n": 1, "mode": "add"}'], given))[-1] == ((), True, False, [])


def test_calls_of_tools_without_a_model_pass_unjudged():
    assert told(of_call(['{"a": 1, "a": 2}'], None)) == []


def test_a_field_behind_stream_fields_and_a_call_in_text_are_judged_too():
    tools = [tool(WriteFile, name="write_file")]
    text = '{"path": 1, "content": "x"}'
    events = answered(
        chunks_of([text], "write_file"),
        to_segments(turn_id="t"),
        stream_fields(),
        validate(tools),
        to_invocations(tools),
    )
    assert ((), False, False, ["string_type"]) in told(events)
    call = f'<tool_call>{{"name": "write_file", "arguments": {text}}}</tool_call>'
    found = list(Pipeline("hermes", tools=tools).insert(validate(), before="to_invocations").stream([call]))
    assert ((), False, False, ["string_type"]) in told(found)


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Loud(Enum):
    RED = "RED"

    @classmethod
    def _missing_(cls, value: object) -> Loud | None:
        return cls.RED if value == "red" else None


class Tree(BaseModel):
    name: Annotated[str, Field(max_length=3)]
    kids: list[Tree] = []


class Stripped(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True, extra="forbid")

    a: Annotated[str, Field(max_length=2)]


class Renamed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    a: int = Field(alias="b", ge=0)


class Choices(BaseModel):
    model_config = ConfigDict(extra="forbid")

    a: int = Field(validation_alias=AliasChoices("a", "b"))


class ByName(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True)

    a: int = Field(alias="b")


class Before(BaseModel):
    a: Annotated[int, BeforeValidator(lambda value: 1 if value == "one" else value)]


class BeforeAll(BaseModel):
    model_config = ConfigDict(extra="forbid")

    a: int = 0

    @model_validator(mode="before")
    @classmethod
    def _list(cls, value: Any) -> Any:
        return {"a": 1} if isinstance(value, list) else {"a": 2} if value == {"b": 1} else value


class Wrapped(BaseModel):
    a: Annotated[Literal["x"], WrapValidator(lambda value, validate: "x" if value == [] else validate(value))]


class Others(BaseModel):
    low: int = 0
    high: int = 1

    @field_validator("high")
    @classmethod
    def _above(cls, value: int, info: ValidationInfo) -> int:
        if value < info.data.get("low", 0):
            message = "below low"
            raise ValueError(message)
        return value


def _or_zero(value: Any, check: Any) -> Any:
    try:
        return check(value)
    except ValidationError:
        return 0


class Replaced(BaseModel):
    a: Annotated[int, Field(gt=3), WrapValidator(_or_zero)]


class Named(TypedDict):
    a: Annotated[float, Field(lt=0)]


@dataclasses.dataclass
class Point:
    a: int
    b: Annotated[int, AfterValidator(abs)] = 0


class AsText(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    a: Annotated[str, Field(max_length=2)]


class Numbers(RootModel[list[Annotated[int, Field(gt=0)]]]):
    pass


SHAPES: Final[dict[str, Any]] = {
    "hunk": Hunk,
    "edit": Edit,
    "tree": Tree,
    "stripped": Stripped,
    "renamed": Renamed,
    "choices": Choices,
    "by name": ByName,
    "before": Before,
    "before all": BeforeAll,
    "wrapped": Wrapped,
    "others": Others,
    "replaced": Replaced,
    "typed dict": Named,
    "dataclass": Point,
    "as text": AsText,
    "root": Numbers,
    "enums": dict[str, Colour | None],
    "missing": dict[str, Loud],
    "union": dict[str, int | Literal["x", "yy"] | list[bool]],
    "tuple": tuple[int, Annotated[str, Field(max_length=1)]],
    "set": Annotated[set[int], Field(max_length=1)],
    "dates": dict[str, date | Decimal],
    "strict": Annotated[list[Annotated[float, Field(strict=True, ge=0.5)]], Field(max_length=2)],
}
KEYS: Final = ("a", "b", "line", "text", "path", "mode", "hunks", "name", "kids", "low", "high")
SCALARS: Final = (
    *("0", "1", "-1", "-0", "5", "501", "0.5", "-0.0", "1e2", "1E+9", "5e-1", "-1e-400", "1e999", "2.0"),
    *("true", "false", "null", '""', '"5"', '" 5 "', '"x"', '"yy"', '"add"', '"add "', '"red"', '"RED"', '"one"'),
    *('"  ab  "', '"abc"', '"abcd"', '"2020-01-01"', '"\\u0061"', '"\\ud83d\\ude00"', '"replace"'),
)
scalars = st.sampled_from(SCALARS)
blanks = st.sampled_from(("", " ", "\n", " " * 3))


def _array(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda items, gap: f"[{gap}{f',{gap}'.join(items)}{gap}]", st.lists(inner, max_size=3), blanks)


def _object(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    entries = st.lists(st.tuples(st.sampled_from(KEYS), inner), max_size=3)
    return st.builds(
        lambda rows, gap: f"{{{gap}{f',{gap}'.join(f'{json.dumps(key)}{gap}:{gap}{value}' for key, value in rows)}}}",
        entries,
        blanks,
    )


texts = st.recursive(scalars, lambda inner: _array(inner) | _object(inner), max_leaves=6)


def _whole(wanted: Any, text: str, *, is_json: bool) -> list[str]:
    adapter = TypeAdapter(wanted)
    try:
        if is_json:
            adapter.validate_json(text)
        else:
            adapter.validate_python(json.loads(text))
    except ValidationError as error:
        return [each["type"] for each in error.errors()]
    return []


def assert_right(verdicts: list[tuple[Any, ...]], expected: list[str]) -> None:
    """Assert that the last verdict is that of pydantic, and that none of a valid value was early."""
    kinds = [kind for *_, each in verdicts for kind in each]
    if "duplicate_key" not in kinds:
        assert verdicts[-1] == ((), not expected, False, expected)
        assert expected or not any(is_early for _, _, is_early, _ in verdicts)


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted(SHAPES)), st.data())
def test_the_last_verdict_is_that_of_pydantic_and_what_was_told_early_was_true(shape: str, data: st.DataObject):
    wanted, text = SHAPES[shape], data.draw(texts)
    assert_right(told(of_answer(data.draw(cuts(text)), wanted)), _whole(wanted, text, is_json=True))


MODELS: Final = [name for name, each in SHAPES.items() if isinstance(each, type) and issubclass(each, BaseModel)]


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(MODELS), st.data())
def test_so_is_that_of_a_call(shape: str, data: st.DataObject):
    wanted, text = SHAPES[shape], data.draw(_object(texts))
    assert_right(told(of_call(data.draw(cuts(text)), wanted)), _whole(wanted, text, is_json=False))


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted(SHAPES)), texts, st.data())
def test_the_verdicts_do_not_depend_on_the_cutting(shape: str, text: str, data: st.DataObject):
    place = data.draw(st.integers(0, len(text)))
    put_in = data.draw(st.sampled_from(("", *'x,:]}1"-e')))
    broken = text[:place] + put_in + text[place:] if data.draw(st.booleans()) else text[:place]
    for read in (of_answer, of_call) if shape in MODELS else (of_answer,):
        ways = [told(read(each, SHAPES[shape])) for each in ([broken], list(broken), data.draw(cuts(broken)))]
        assert all(each == ways[0] for each in ways), ways


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted(SHAPES)), texts, st.data())
def test_it_goes_on_elsewhere_after_any_piece(shape: str, text: str, data: st.DataObject):
    operator = validate(SHAPES[shape])
    chunks = [*(ChunkResponse(content=each) for each in data.draw(cuts(text))), ChunkResponse(finish_reason="stop")]
    segments = answered(chunks, to_segments(turn_id="t"))
    place = data.draw(st.integers(0, len(segments)))
    chain = stage(operator)
    for each in segments[:place]:
        chain.feed(each)
    copy = thawed(operator, frozen(chain))
    for each in segments[place:]:
        assert told(copy.feed(each)) == told(chain.feed(each))
    assert copy.close(Completed()) == chain.close(Completed())


def test_a_type_stays_where_a_pipeline_passes_its_tools():
    pipeline = Pipeline("api_tool_call", tools=[Edit]).insert(validate(list[int]), before="to_invocations")
    chunks = [ChunkResponse(content="[1]"), *chunks_of(['{"path": "a"}'], "Edit")]
    assert "validate(tools=list[int])" in str(pipeline)
    events = [*pipeline.stream(chunks)]
    assert told(events)[-1] == ((), True, False, [])
    assert [each.arguments for each in events if isinstance(each, ToolInvocation)] == [{"path": "a"}]
