"""The laws about `parse_text`, as one question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any

from counted_calls import counted
from operator_contract import frozen, thawed, wrong_answers, wrong_segments
from segment_events import payload_of
from strategies.text_flows import Flow, cut_by

from penstock.events import AnswerEnd, SegmentEnd
from penstock.events.segment_event import Fragment, SegmentEvent
from penstock.events.tool_invocation import InvocationFailed, ToolInvocation
from penstock.operators.engine.stage import Operator, compose, stage
from penstock.operators.grammar.dialect import Dialect
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations


def joined(events: Sequence[Any]) -> list[Any]:
    """Return events with adjacent CONTENT of a segment as one, and adjacent TEXT in it as one."""
    out: list[Any] = []
    last: list[Any] = []
    for event in events:
        if not isinstance(event, SegmentEvent):
            last = []
            out.append(event)
            continue
        delta = getattr(event, "delta", "")
        if event.type == "SEGMENT_CONTENT" and last[:2] == [event.type, event.segment_id]:
            last[3].append(delta)
            last[4].append(event.raw)
            last[5] += event.fragments or ()
        else:
            rest = {key: value for key, value in payload_of(event).items() if key != "delta"}
            last = [event.type, event.segment_id, rest, [delta], [event.raw], list(event.fragments or ())]
            out.append(last)
    return [_flat(each) if isinstance(each, list) else each for each in out]


def _flat(event: list[Any]) -> list[Any]:
    *head, deltas, raws, fragments = event
    return [*head, "".join(deltas), "".join(raws), _joined_fragments(fragments)]


def _joined_fragments(pieces: Sequence[Fragment]) -> list[tuple[Any, ...]]:
    out: list[tuple[Any, ...]] = []
    texts: list[str] = []
    for piece in pieces:
        last = out[-1] if out else None
        if piece.kind == "TEXT" and last is not None and last[1] == "TEXT" and last[0] == piece.path:
            texts.append(str(piece.value))
            continue
        if texts and last is not None:
            out[-1] = (*last[:2], "".join((last[2], *texts)), last[3])
            texts.clear()
        out.append((piece.path, piece.kind, piece.value, piece.at))
    if texts:
        out[-1] = (*out[-1][:2], "".join((out[-1][2], *texts)), out[-1][3])
    return out


def run(operator: Operator[Any, Any], items: Sequence[Any], flow: Flow, freeze_at: int = -1) -> tuple[list[Any], str]:
    """Return all events, and the raw text of those that text and the end brought; freeze before an item."""
    chain = stage(operator)
    events: list[Any] = []
    raw: list[str] = []
    for number, item in enumerate([*items, None]):
        if number == freeze_at:
            chain = thawed(operator, frozen(chain))
        given = chain.close(flow.how) if item is None else chain.feed(item)
        events += given
        if item is None or isinstance(item, str) or item.content:
            raw += [event.raw for event in given if isinstance(event, SegmentEvent)]
    return events, "".join(raw)


def check(dialects: Sequence[str | Dialect], flow: Flow, options: dict[str, Any], random: Random) -> None:
    """Ask whether the laws hold: what fails says with which text."""
    about = dialects, flow, options
    operator = compose(parse_text(*dialects, turn_id="t", **options), to_invocations(keep_segments=True))
    events, raw = run(operator, flow.items(lambda text: [text]), flow)
    assert raw == flow.text, about
    assert wrong_segments(events) == [], about
    assert wrong_answers(events) == [], about
    assert isinstance(events[-1], AnswerEnd), about
    assert all(status == "complete" or not invoked for status, invoked in outcomes_of(events)), about
    expected = joined(events)
    for cut in (list, partial(cut_by, random)):
        items = flow.items(cut)
        freeze_at = random.randint(-len(items), len(items))
        assert joined(run(operator, items, flow, freeze_at)[0]) == expected, (items, freeze_at, about)


def outcomes_of(events: Sequence[Any]) -> list[tuple[str, bool]]:
    """Return for each call how it ended and whether it was invoked; that each has one outcome is asked here."""
    statuses: dict[str, str] = {}
    invoked: dict[str, bool] = {}
    for event in events:
        if isinstance(event, SegmentEvent):
            if event.segment_type == "tool_call" and isinstance(event, SegmentEnd):
                statuses[event.segment_id] = str(event.status)
        elif isinstance(event, ToolInvocation | InvocationFailed):
            assert event.id in statuses, event
            assert event.id not in invoked, event
            invoked[event.id] = isinstance(event, ToolInvocation)
    assert statuses.keys() == invoked.keys(), (statuses, invoked)
    return [(status, invoked[segment_id]) for segment_id, status in statuses.items()]


def work_of(operator: Operator[Any, Any], pieces: Sequence[Any]) -> int:
    """Count the calls of functions with which pieces are read."""
    chain = stage(operator)

    def read() -> None:
        for piece in pieces:
            chain.feed(piece)
        chain.close()

    return counted(read)
