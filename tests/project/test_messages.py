"""Error messages are plain: `python tests/support/error_messages.py` prints them all, to be read."""

from __future__ import annotations

import re
from functools import cache

import pytest
from error_messages import Message, error_messages

messages = cache(error_messages)
RIDDLES = re.compile(
    r"\b(is|are|make|makes) no\b|\bis none\b|\bwho\b|\bnobody\b|\bwhose \w+ it is\b|\bgave\b|\ba text\b|\btexts\b|\b1 at least\b"
)
"""Words that a reader has to think about twice."""
SLOT = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")


def plain(message: Message) -> str:
    """Return a message without what is filled in, which may be anything."""
    return SLOT.sub("X", message.text)


def shown(messages: list[Message]) -> list[str]:
    return [f"{message.path}:{message.line}: {message.text}" for message in messages]


def test_messages_are_found():
    assert len(messages()) > 200
    assert any("must be at least 1" in message.text for message in messages())


def test_a_message_begins_in_lower_case_or_with_a_name():
    names = re.compile(r"[A-Z]\w*[A-Z(']|Gemini|Ollama|X|HTTP")
    wrong = [message for message in messages() if plain(message)[:1].isupper() and not names.match(plain(message))]
    assert shown(wrong) == []


def test_a_message_is_one_sentence_without_a_period():
    wrong = [m for m in messages() if re.search(r"\.$|[^.]\. [A-Za-z]|[!?] ", plain(m).replace(" - . ", " "))]
    assert shown([message for message in wrong if not message.text.endswith("...")]) == []


def test_a_message_has_no_riddles():
    assert shown([message for message in messages() if RIDDLES.search(plain(message))]) == []


@pytest.mark.parametrize(
    "riddle", ["'a' is no name of a tool", "the name of an attribute, which is none", "it gave 5, which nobody runs"]
)
def test_a_riddle_is_found(riddle: str):
    assert RIDDLES.search(riddle)
