"""`finding`: what is said of an answer, and whose fault it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.gateway.doctor.questions import FINE, MOST_TOKENS, QUESTIONS, TOOLS, Question, dialects_of, finding
from penstock.gateway.doctor.seen_answer import SeenAnswer, SeenCall

BY_NAME = {question.name: question for question in QUESTIONS}
ONE, TWO, NONE = (BY_NAME[name] for name in ("one call", "two calls at once", "no call wanted"))


def called(*arguments: Any, name: str = "weather") -> SeenAnswer:
    calls = tuple(
        SeenCall(f"c{number}", name, each if isinstance(each, str) else json.dumps(each))
        for number, each in enumerate(arguments)
    )
    return SeenAnswer(calls=calls, finish="tool_calls")


def said(text: str, **more: Any) -> SeenAnswer:
    return SeenAnswer(text, finish="stop", **more)


OSLO = {"city": "Oslo"}
CALL = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'


@pytest.mark.parametrize(
    ("question", "seen", "found"),
    [
        (ONE, called(OSLO), FINE),
        (ONE, called({"city": "Oslo, Norway"}), FINE),
        (ONE, called(OSLO, OSLO), FINE),
        (TWO, called(OSLO, {"city": "Lima"}), FINE),
        (NONE, said("5"), FINE),
        (ONE, said(CALL), ("server", "the call is left in the text")),
        (ONE, said("", reasoning=CALL), ("server", "the call is left in the reasoning")),
        (ONE, said('[weather(city="Oslo")]'), ("server", "the call is left in the text")),
        (NONE, said("<think>2 and 3</think>5"), ("server", "the thoughts are left in the text")),
        (NONE, said("5<|im_end|>"), ("server", "<|im_end|> is left in the text")),
        (ONE, called(""), ("server", "arguments are no JSON: ''")),
        (ONE, called("[]"), ("server", "the arguments: an array in place of an object")),
        (ONE, called({"city": 7}), ("server", "city: a whole number in place of a text")),
        (ONE, called({"city": None}), ("server", "city: null in place of a text")),
        (ONE, called('{"city": "Osl\ufffd"}'), ("server", "letters are broken")),
        (ONE, said("", written=30), ("server", "nothing came of 30 tokens")),
        (ONE, SeenAnswer(refused="busy"), ("server", "an error: busy")),
        (ONE, said("It is sunny."), ("model", "called no tool")),
        (ONE, said("", written=1), ("model", "called no tool")),
        (ONE, said("I would use the weather tool."), ("model", "called no tool")),
        (TWO, called(OSLO), ("model", "called 1 of 2 tools")),
        (ONE, called({}, name="time_now"), ("model", "called time_now")),
        (ONE, called({}), ("model", "left out 'city'")),
        (ONE, SeenAnswer("Well, " * 99, finish="length", written=2048), ("model", "was cut at 2048 tokens")),
        (NONE, called(OSLO), ("model", "called weather though no call was wanted")),
        (NONE, said(" "), ("model", "said nothing")),
        (
            BY_NAME["Unicode"],
            called({"title": "Blabar", "text": "東京 🫐"}, name="keep_note"),
            ("model", "wrote other arguments, without 'Blåbær'"),
        ),
        (
            BY_NAME["nested arguments"],
            called({"guests": [{"name": "Ann", "age": "31"}], "place": {"town": "Lima"}}, name="book_table"),
            ("server", "age: a text in place of a whole number"),
        ),
    ],
)
def test_an_answer_is_judged(question: Question, seen: SeenAnswer, found: tuple[str, str]):
    assert finding(question, seen) == found


def test_what_is_wrong_with_the_form_is_told_before_what_the_model_did():
    seen = said("It is sunny.", wrong=("a chunk has no choices", "a chunk is no JSON"))
    assert finding(ONE, seen) == ("server", "a chunk has no choices; a chunk is no JSON")


def test_questions_have_names_of_their_own_and_ask_for_tools_that_there_are():
    assert len(BY_NAME) == len(QUESTIONS)
    assert {name for question in QUESTIONS for name in question.calls} == TOOLS.keys()
    for question in QUESTIONS:
        for way in question.ways:
            body = question.body("m", way)
            assert (body["stream"], body["max_tokens"]) == (way == "streamed", MOST_TOKENS)


def test_the_dialects_of_a_call_are_named_with_auto_before_them():
    assert [*dialects_of("<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>")][:2] == [
        "auto",
        "qwen3_coder",
    ]
    assert [*dialects_of("It is sunny, and no weather is called.")] == []
