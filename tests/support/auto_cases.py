"""What a text is for a dialect alone and for several together, and which of them explains a difference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from answered import answered
from dialect_cases import merged
from segment_events import payload_of

from penstock.events.segment_event import Fragment, SegmentEvent
from penstock.events.tool_invocation import Notice
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.grammar.dialect import Dialect
from penstock.operators.parse_text import parse_text

CALLS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("look_up", {}),
    ("function_x", {"path": "a.py", "content": " x = 1\n"}),
    ("f", {"a": 1, "b": [1, "x"], "c": {"d": None}, "e": True}),
    ("write_file", {"content": "x y"}),
    ("f", {"input": "x"}),
    ("functions.f", {"city": "Paris, (TX)", "note": "[1] {2} <3>"}),
    ("search_replace", {"search": "a\n", "replace": "b\n"}),
)
"""Enough that every dialect can write one of them."""
NOT_IN_AUTO: Final = {name: each.not_in_auto for name, each in DIALECTS.items() if each.not_in_auto}


class Seen(NamedTuple):
    """A segment, whatever pieces it came in: where a START comes depends on what else is possible."""

    type: str
    at: int
    """Where in the text it begins."""
    raw: str
    text: str
    """Of anything but a call."""
    fragments: tuple[tuple[Any, ...], ...]
    end: dict[str, Any]

    @property
    def start(self) -> tuple[str, int, Any]:
        """What it is and where it begins."""
        return self.type, self.at, self.end.get("metadata", {}).get("tool_name")


def reading(text: str, dialects: Iterable[str | Dialect], options: dict[str, Any]) -> list[Seen]:
    """Return what a text is for some dialects together."""
    return seen(answered([text], parse_text(*dialects, turn_id="t", **options)))


def seen(events: Iterable[Any]) -> list[Seen]:
    """Return the segments of some events."""
    raws: dict[str, str] = {}
    texts: dict[str, str] = {}
    types: dict[str, str] = {}
    fragments: dict[str, list[Fragment]] = {}
    ends: dict[str, dict[str, Any]] = {}
    for event in events:
        if isinstance(event, Notice):
            continue
        assert isinstance(event, SegmentEvent)
        key = event.segment_id
        types.setdefault(key, event.segment_type or "")
        raws[key] = raws.get(key, "") + event.raw
        is_call = event.segment_type == "tool_call"
        texts[key] = texts.get(key, "") + ("" if is_call else getattr(event, "delta", ""))
        fragments.setdefault(key, []).extend(event.fragments or ())
        if event.type == "SEGMENT_END":
            ends[key] = dict(payload_of(event))
    found: list[Seen] = []
    at = 0
    for key, type_ in types.items():
        found.append(Seen(type_, at, raws[key], texts[key], merged(fragments[key]), _without_places(ends[key])))
        at += len(raws[key])
    return found


def explained_by(
    text: str,
    own: Sequence[Seen],
    together: Sequence[Seen],
    others: Iterable[Dialect],
    options: dict[str, Any],
) -> list[str]:
    """Return those of the others who, alone, find a call or reasoning where the readings part, or close reasoning."""
    at = next((theirs.at for ours, theirs in zip(own, together, strict=False) if ours != theirs), 0)
    parted = next((each for each in together if each.at >= at and each.type != "text"), None)
    if parted is None:
        raw = next((each.raw for each in together if each.at == at), "")
        return [
            other.name for other in others if raw.endswith(tuple(closer for _, closer in other.reasoning if closer))
        ]
    rest = text[parted.at :]
    if parted.at:
        options = {**options, "starts_in_reasoning": False}
    wanted = parted.start[::2]
    return [
        other.name
        for other in others
        if any(each.at == 0 and each.start[::2] == wanted for each in reading(rest, [other], options))
    ]


def is_cut_short(own: Sequence[Seen], together: Sequence[Seen]) -> bool:
    """Return whether the readings part in a call that failed in both, which another dialect's opener then ended."""
    ours, theirs = next(both for both in zip(own, together, strict=False) if both[0] != both[1])
    return ours.start == theirs.start and ours.raw.startswith(theirs.raw) and theirs.end["status"] == "failed"


def _without_places(end: dict[str, Any]) -> dict[str, Any]:
    """Leave out where in its JSON, and beside what else, a call is wrong."""
    metadata = {key: value for key, value in end.get("metadata", {}).items() if key != "error"}
    return {**end, "metadata": metadata} if "metadata" in end else end
