"""The law of the earliest emission, for text with calls in it, by brute force over small grammars of each kind.

What has been given after a text is what all ways on have in common. Two things may come later: a call's START, which is
deferred until its name and the opening of its arguments are there, and its END, which comes with its closer: what is
before that is the call's own, even where it has failed or its arguments are whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, product
from typing import Any

import pytest
from answered import answered
from depth import is_deep, some_of
from text_kinds import CLOSER, KINDS, REASONING

from penstock.events.segment_event import SegmentEvent
from penstock.operators.engine.stage import stage
from penstock.operators.grammar.dialect import Dialect
from penstock.operators.grammar.outside_markers import END_TOKENS
from penstock.operators.parse_text import parse_text

LONGEST = 2
"""Characters of the longest marker."""
MOST = LONGEST + 2 if is_deep() else LONGEST
"""Characters that are tried behind the beginning of a text."""


@pytest.mark.laws
@pytest.mark.parametrize("name", some_of(KINDS, 5))
def test_what_was_given_is_what_all_ways_on_have_in_common(name: str) -> None:
    kind = KINDS[name]
    dialect = Dialect("tiny", kind.grammar, reasoning=REASONING)
    others = [Dialect("other", kind.beside)] if kind.beside else []
    operator = parse_text(dialect, *others, turn_id="t", blanks="keep")
    # A token that ends the answer may come anywhere, too.
    tokens = (END_TOKENS[0], *(each for each in END_TOKENS if each.startswith(REASONING[0][0])))
    endings = [whole[at:] for whole in (*kind.whole, *tokens) for at in range(len(whole))]
    ways = dict.fromkeys(("", "x", " x", "\nx", "<t", "t>x", ">", "><t", *endings))
    for begin, letters in kind.begins.items():
        for more in chain.from_iterable(product(letters, repeat=length) for length in range(MOST + 1)):
            text = begin + "".join(more)
            given = list(said(stage(operator).feed(text)))
            common = in_common([list(said(answered([text + way], operator))) for way in ways])
            assert given == common[: len(given)], text
            assert given == common or is_deferred(text, common[len(given) :]), (text, given, common)


def said(events: Iterable[Any]) -> Iterable[tuple[Any, ...]]:
    """Yield what the events say, a character at a time, without where they were cut."""
    for event in events:
        assert isinstance(event, SegmentEvent)
        of = event.segment_type
        if event.type != "SEGMENT_CONTENT":
            yield event.type, of, getattr(event, "status", None)
        if of != "tool_call":
            yield from ((of, letter) for letter in getattr(event, "delta", ""))
        for piece in event.fragments or ():
            letters = piece.value if piece.kind == "TEXT" else (piece.value,)
            yield from ((piece.kind, piece.path, letter) for letter in letters)


def in_common(runs: list[list[Any]]) -> list[Any]:
    return [each[0] for each in _while_same(zip(*runs, strict=False))]


def _while_same(rows: Iterable[tuple[Any, ...]]) -> Iterable[tuple[Any, ...]]:
    for row in rows:
        if any(each != row[0] for each in row):
            return
        yield row


def is_deferred(text: str, rest: list[Any]) -> bool:
    """Return whether a call begins there, after the END of what was before it, or ends where its closer has not come."""
    if rest[0][:2] == ("SEGMENT_END", "tool_call"):
        return not text.endswith((CLOSER, "]"))
    while rest and rest[0][0] == "SEGMENT_END":
        rest = rest[1:]
    return bool(rest) and rest[0][:2] == ("SEGMENT_START", "tool_call")
