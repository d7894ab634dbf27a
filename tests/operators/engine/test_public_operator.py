"""An operator knows the call that made it."""

from __future__ import annotations

import inspect
import pickle
from functools import partial
from typing import Any

from looped import looped

from penstock import operators
from penstock.operators import (
    FieldSpec,
    Limits,
    Operator,
    compose,
    drive,
    holdback,
    lift,
    parse_text,
    split_reasoning,
    stream_fields,
    strip_markers,
    to_invocations,
    to_segments,
    within,
)
from penstock.operators.calls.field_spec import KNOWN_FILE_TOOLS
from penstock.operators.dialects.hermes import HERMES
from penstock.operators.schemas.value_typing import TypingRules


class Louder:
    def feed(self, item: str) -> list[str]:
        return [item.upper()]

    def close(self, how: object) -> list[str]:
        return []

    def dump(self) -> None:
        return None

    def load(self, state: object) -> None:
        assert state is None


def log(_number: int) -> Louder:
    return Louder()


@looped(
    "operator, written",
    [
        (to_segments(), "to_segments()"),
        (to_segments(turn_id=None, eager=True), "to_segments(eager=True)"),
        (stream_fields(KNOWN_FILE_TOOLS), "stream_fields()"),
        (stream_fields([FieldSpec("f", "a")]), 'stream_fields(specs=[FieldSpec("f", …)])'),
        (stream_fields(each for each in KNOWN_FILE_TOOLS), "stream_fields()"),
        (strip_markers("<a>", end="</a>"), 'strip_markers("<a>", "</a>")'),
        (split_reasoning(("<a>", "</a>"), blanks="drop"), 'split_reasoning(["<a>", "</a>"], blanks="drop")'),
        (parse_text(HERMES, calls=False), 'parse_text("hermes", calls=False)'),
        (within("text", holdback("x")), 'within("text", holdback("x"))'),
        (to_invocations({"f": None}), "to_invocations(tools={'f': None})"),
        (lift(Louder), "lift(Louder)"),
        (lift(partial(log, 1)), "lift(partial(log, …))"),
        (compose(holdback("x"), lift(Louder)), 'compose(holdback("x"), lift(Louder))'),
        (holdback("x" * 99), f'holdback("{"x" * 60}…")'),
    ],
)
def test_it_shows_the_arguments_that_are_not_the_defaults(operator: Operator[Any, Any], written: str):
    assert repr(operator) == written


def test_operators_of_equal_calls_are_equal():
    same = [
        to_segments(eager=True),
        to_segments(eager=True, turn_id=None),
        pickle.loads(pickle.dumps(to_segments(eager=True))),
    ]
    assert all(each == same[0] and hash(each) == hash(same[0]) for each in same)
    others: list[Any] = [
        to_segments(),
        to_segments(eager=True, limits=Limits(depth=3)),
        compose(*same),
        lift(Louder),
        "x",
    ]
    assert [each for each in others if each == same[0]] == []
    assert parse_text(HERMES) == parse_text("hermes")
    assert lift(Louder) == pickle.loads(pickle.dumps(lift(Louder)))
    assert compose(compose(same[0], lift(Louder)), holdback("x")) == compose(
        same[0], compose(lift(Louder), holdback("x"))
    )


def test_what_can_be_read_once_serves_every_stream_and_a_list_may_change_later():
    specs = [FieldSpec("f", "a")]
    operator = stream_fields(specs)
    specs.clear()
    assert operator == stream_fields(each for each in [FieldSpec("f", "a")])
    tools = iter(["a", "b"])
    assert repr(parse_text("hermes", typing=TypingRules(), tools=[])) == 'parse_text("hermes", tools=[])'
    assert list(tools) == ["a", "b"]


def test_every_public_operator_knows_its_name_and_keeps_its_signature():
    made = [
        function
        for name in operators.__all__
        if inspect.isfunction(function := getattr(operators, name))
        and str(inspect.signature(function).return_annotation).startswith("Operator")
        and name not in ("compose", "lift")
    ]
    assert len(made) >= 16
    assert [function.__name__ for function in made if not hasattr(function, "__wrapped__")] == []
    assert list(inspect.signature(to_segments).parameters) == [
        *("tools", "text_calls", "turn_id", "eager", "end_arguments", "limits")
    ]


def test_it_runs_as_before():
    assert list(drive(["a<b", ">c"], holdback("<b>"), lift(Louder))) == ["A", "<B>", "C"]
