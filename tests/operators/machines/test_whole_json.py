from __future__ import annotations

import json
from typing import Any

import pytest
from depth import scaled
from hypothesis import example, given, settings
from hypothesis import strategies as st
from looped import looped

from penstock.events.segment_event import Fragment, JsonError
from penstock.operators.engine.limits import Limits
from penstock.operators.machines.json_machine import JsonMachine, decode_json, decode_whole
from penstock.operators.machines.json_values import FragmentAggregator


def by_machine(text: str, limits: Limits) -> tuple[Any, JsonError | None]:
    machine, values = JsonMachine(limits), FragmentAggregator()
    for piece in (*machine.feed(text), *machine.close()):
        if not isinstance(piece, Fragment):
            return None, piece
        values.feed(piece)
    return values.value, None


@pytest.mark.parametrize(
    "text", ["{}", ' {"a": [1, "é😀\\n"]}\r\n\t', '{"a": 1, "a": 2}', '{"a": 1e999}', '{"a": "\\u0041"}']
)
def test_a_whole_object_is_decoded_at_once(text: str) -> None:
    assert decode_whole(text, Limits()) == json.loads(text)


@looped(
    "text",
    [
        *("", " ", "[1]", "5", "null", '"{}"', "{", '{"a": 1', "}", "{}x", "{}{}", "{'a': 1}", '{"a": 1,}', "x{}"),
        *('{"a": NaN}', '{"a": Infinity}', '{"a": -Infinity}', '{"a": "\n"}', "\ufeff{}", "\x0b{}", "\xa0{}"),
    ],
)
def test_anything_else_is_none(text: str) -> None:
    assert decode_whole(text, Limits()) is None


@pytest.mark.parametrize("text", ['{"a": "\ud800"}', '{"a": "\\ud800"}', '{"a": "\\uDFFF"}', '{"a": "\\ud83d\\ude00"}'])
def test_surrogates_are_left_to_the_machine(text: str) -> None:
    assert decode_whole(text, Limits()) is None


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (Limits(depth=2), '{"a": [[]]}'),
        (Limits(arguments_length=7), '{"a": 1}'),
        (Limits(key_length=3, number_length=99), '{"abcd": 1}'),
        (Limits(number_length=3, key_length=99), '{"a": 1234}'),
    ],
)
def test_what_exceeds_a_limit_is_left_to_the_machine(limits: Limits, text: str) -> None:
    assert decode_whole(text, limits) is None
    assert decode_json(text, limits) == by_machine(text, limits)
    _, error = decode_json(text, limits)
    assert error is not None
    assert error.reason == "limit"


def test_what_only_looks_like_too_much_is_still_decoded() -> None:
    limits = Limits(depth=2, number_length=4, key_length=40)
    for text in ('{"a": "[[[[{{{{"}', '{"a": "123456789"}'):
        assert decode_json(text, limits) == (json.loads(text), None)


def test_nesting_beyond_what_python_can_decode_is_no_exception() -> None:
    deep = '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"
    assert decode_whole(deep, Limits(depth=10**6, key_length=10**6)) is None


@pytest.mark.parametrize("text", ["5", "[1, {}]", '"a"', "null", "true", " -0.5e2 "])
def test_any_root_is_decoded(text: str) -> None:
    assert decode_json(text, Limits()) == (json.loads(text), None)


@pytest.mark.parametrize(
    ("text", "reason", "at"),
    [("", "truncated", 0), ('{"a"', "truncated", 4), ("{]", "malformed", 1), ("{}{", "malformed", 2)],
)
def test_what_is_wrong_is_told_with_its_place(text: str, reason: str, at: int) -> None:
    value, error = decode_json(text, Limits())
    assert value is None
    assert error is not None
    assert (error.reason, error.at) == (reason, at)


json_texts = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
).flatmap(
    lambda value: st.builds(
        lambda ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
        st.booleans(),
        st.none() | st.just(1),
    )
)
broken_texts = st.builds(
    lambda text, start, end: text[start : len(text) - end], json_texts, st.integers(0, 2), st.integers(0, 3)
)
soup = st.text('{}[]:,"\\ue1-+.\ud800aNIn \n', max_size=12)


@settings(deadline=None, max_examples=scaled(200))
@given(
    json_texts | broken_texts | soup | soup.map(lambda text: "{" + text + "}"),
    st.sampled_from((Limits(), Limits(depth=2, key_length=2, number_length=2, arguments_length=20))),
)
@example('{"a":1,"a":{"a":2},"b":1}', Limits())
@example('{"\\ud800":"\\udc00"}', Limits())
def test_it_gives_exactly_what_the_machine_gives(text: str, limits: Limits) -> None:
    value, error = decode_json(text, limits)
    expected, expected_error = by_machine(text, limits)
    assert error == expected_error
    assert repr(value) == repr(expected)


MUTANTS = {
    "the whole-text path does not look for surrogates": (["tests/operators/machines/test_whole_json.py", "tests/laws/test_laws.py json_loads"], ("operators/machines/json_machine.py", " or _SURROGATE.search(text)", "")),
    "the whole-text path does not look at the depth": ("", ("operators/machines/json_machine.py", 'text.count("{") + text.count("[") > limits.depth or ', "")),
}  # fmt: skip
