"""What holds for every text that goes through `parse_text`, as one question."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from operator_contract import frozen, rest_of_run, wrong_segments

from penstock.events.fragment import Fragment
from penstock.events.segment_event import SegmentEvent
from penstock.operators.parse_text import parse_text
from penstock.operators.stage import drive, stage


def joined(events: Sequence[Any]) -> list[Any]:
    """Give events with adjacent CONTENT of a segment as one, and adjacent TEXT in it as one."""
    out: list[list[Any]] = []
    for event in events:
        assert isinstance(event, SegmentEvent)
        delta = event.payload.get("delta", "")
        if event.type == "SEGMENT_CONTENT" and out and out[-1][:2] == [event.type, event.segment_id]:
            out[-1][3] += delta
            out[-1][4] += event.raw
            out[-1][5] += event.fragments or ()
        else:
            rest = {key: value for key, value in event.payload.items() if key != "delta"}
            out.append([event.type, event.segment_id, rest, delta, event.raw, tuple(event.fragments or ())])
    for each in out:
        pieces: list[Fragment] = []
        for piece in each[5]:
            last = pieces[-1] if pieces else None
            if last is not None and last.kind == piece.kind == "TEXT" and last.path == piece.path:
                pieces[-1] = Fragment(last.path, "TEXT", last.value + piece.value, last.at)
            else:
                pieces.append(piece)
        each[5] = [(piece.path, piece.kind, piece.value, piece.at) for piece in pieces]
    return out


def cut(text: str, places: Sequence[int]) -> list[str]:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[begin:end] for begin, end in pairwise(edges)]


def check(dialects: Sequence[str], text: str, places: Sequence[int], options: dict[str, Any]) -> None:
    operator = parse_text(*dialects, turn_id="t", **options)
    whole = list(drive([text], operator))
    assert "".join(event.raw for event in whole) == text
    assert wrong_segments(whole) == []
    expected = joined(whole)
    assert joined(list(drive(list(text), operator))) == expected
    pieces = cut(text, places)
    assert joined(list(drive(pieces, operator))) == expected
    chain = stage(operator)
    events: list[Any] = []
    for number, piece in enumerate(pieces):
        state = frozen(chain)
        rest = rest_of_run(operator, state, pieces[number:])
        assert joined([*events, *(each for more in rest for each in more)]) == expected
        events += chain.feed(piece)
