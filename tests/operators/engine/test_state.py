"""Declared state: what is dumped comes back, through JSON and in another object."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar

import msgspec
import pytest
from looped import looped
from msgspec import Struct

from penstock.events.chunk_response import TokenUsage, ToolCallDelta
from penstock.events.errors import ProviderError
from penstock.events.segment_event import Fragment, JsonError, SegmentContent, SegmentEnd, SegmentStart
from penstock.operators import holdback, stage
from penstock.operators.engine.state import Stateful


class Held(Stateful):
    STATE = ("value",)

    def __init__(self, value: Any = None) -> None:
        self.value = value


class Part(Struct):
    number: int
    names: tuple[str, ...] = ()


class Whole(Stateful):
    STATE = ("always", "many", "optional")
    PIECES = ("text",)
    __slots__ = (*STATE, *PIECES, "base")

    def __init__(self, base: int) -> None:
        self.base = base
        self.always = Held()
        self.many: dict[tuple[str | None, int], Held] = {}
        self.optional: Part | None = None
        self.text: list[str] = []

    def new_part(self, name: str, state: Any, /) -> Held | Part:
        return Held() if name == "many" else Part(self.base)


def through_json(state: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(state))


def come_back(value: Any) -> Any:
    other = Held()
    other.load(through_json(Held(value).dump()))
    return other.value


VALUES: list[Any] = [
    *(None, True, False, "", "é😀", "\ud83d", "a\udc00", 0, -1, 2**63 - 1, -(2**63), 2**63, -(10**400), 1.5),
    *(
        float("inf"),
        float("-inf"),
        [],
        [[]],
        (),
        (1, ("a",)),
        {1, 2},
        frozenset(("a",)),
        {},
        {"a": [1, (2,)]},
        {1: "a"},
        {None: 1, "a": 2},
    ),
    *({("t", "s"): {"x": ()}}, {"$tuple": [1]}, {"$tuple": [1], "a": 2}, {"\ud800": 1}, {"$": "$"}, b"", b"\xff\x00"),
    Fragment(("a", 0), "SCALAR", float("inf"), 3),
    JsonError("limit", 3, "no more", "x", ("a", 1)),
    SegmentStart("s", "tool_call", {"a": 1}, turn_id="t"),
    SegmentContent("s", "text", "a", turn_id="t", raw="a", fragments=(Fragment((), "OPEN", "{"),)),
    SegmentEnd("s", "text", "failed", "error", {"error": "x"}),
    ToolCallDelta(0, "id", "f", "{", native={"a": {"b": (1,)}}),
    TokenUsage(1, 2),
]


@looped("value", VALUES, ids=repr)
def test_values_come_back_as_they_were(value: Any) -> None:
    again = come_back(value)
    assert again == value
    assert repr(again) == repr(value)


def test_an_error_of_the_provider_comes_back() -> None:
    error = ProviderError("overloaded", code="c", type="t", status=529, transport=True)
    assert come_back(error).args == error.args


def test_parts_are_made_or_loaded_where_they_are() -> None:
    whole, other = Whole(1), Whole(1)
    whole.always.value, whole.optional = (1, 2), Part(7, ("a", "b"))
    whole.many[None, 3] = Held({4})
    whole.text = ["a", "\ud83d"]
    there = other.always
    other.load(through_json(whole.dump()))
    assert other.always is there
    assert (there.value, other.optional, other.text) == ((1, 2), Part(7, ("a", "b")), ["a\ud83d"])
    assert {key: each.value for key, each in other.many.items()} == {(None, 3): {4}}
    other.load(Whole(1).dump())
    assert (there.value, other.optional, other.many, other.text) == (None, None, {}, [])


class Annotated(Stateful):
    kept: tuple[int, ...] = ()
    PIECES = ("text",)

    def __init__(self) -> None:
        self.text: list[str] = []
        self.derived = 1


class AnnotatedMore(Annotated):
    more: str = ""
    OPTION: ClassVar[int] = 1


def test_what_is_annotated_in_the_class_is_state() -> None:
    assert (Annotated.STATE, AnnotatedMore.STATE, Held.STATE) == (("kept",), ("kept", "more"), ("value",))
    one, other = AnnotatedMore(), AnnotatedMore()
    one.kept, one.more, one.text, one.derived = (1, 2), "a", ["b"], 2
    other.load(through_json(one.dump()))
    assert (other.kept, other.more, other.text, other.derived) == ((1, 2), "a", ["b"], 1)


def test_a_chain_of_stages_is_a_part() -> None:
    chain = stage(holdback("<end>"))
    assert chain.feed("a<e") == ["a"]
    other = Held(stage(holdback("<end>")))
    other.load(through_json(Held(chain).dump()))
    assert other.value.feed("x") == ["<ex"]


def test_what_is_dumped_is_a_copy_and_may_be_loaded_more_than_once() -> None:
    held = Held([{"a": [1]}])
    state = held.dump()
    held.value[0]["a"].append(2)
    first, second = Held(), Held()
    first.load(state)
    first.value[0]["a"].append(3)
    second.load(state)
    assert second.value == [{"a": [1]}]


def test_what_is_no_state_cannot_be_dumped() -> None:
    for value in (object(), {"a": object()}):
        with pytest.raises(TypeError, match="type object is unsupported"):
            Held(value).dump()


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"colour": Colour.RED}, {"colour": "red"}),
        ([datetime(2026, 1, 2, tzinfo=UTC)], ["2026-01-02T00:00:00Z"]),
    ],
)
def test_what_users_put_into_metadata_comes_back_as_its_json_form(value: Any, plain: Any) -> None:
    assert come_back(value) == plain
