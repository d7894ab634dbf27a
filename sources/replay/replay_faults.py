"""Faults of a stream on demand: parse a fault, and apply it to a body."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

from ...events.errors import UsageError
from ..recognition.apis import Api
from .replay_apis import error_in_band
from .replay_forms import form_of, framed
from .replay_pieces import is_whole_event, split_events

Kind: TypeAlias = Literal["cut", "stall", "reset", "status", "error", "garbage", "duplicate"]
Ending: TypeAlias = Literal["finished", "cut", "stall", "reset"]
ERROR_MESSAGE = "The server had an error while it was streaming (as the fault demands)"
_FAULT = re.compile(r"([a-z]+):([0-9]{1,12})")
_ENDINGS: dict[str, Ending] = {"cut": "cut", "stall": "stall", "reset": "reset"}


class Fault(NamedTuple):
    """One fault: `cut:N`, `stall:N`, `reset:N`, `status:CODE`, `error:N`, `garbage:N` or `duplicate:K`."""

    kind: Kind
    number: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}"


class Answer(NamedTuple):
    """A faulty body: the events, how it ends, and which bytes were inserted."""

    events: tuple[bytes, ...]
    ending: Ending = "finished"
    inserted_at: int = 0
    inserted: int = 0


def parse_fault(text: str) -> Fault:
    """Parse a fault; `UsageError` lists the known ones.

    >>> parse_fault("cut:120")
    Fault(kind='cut', number=120)
    """
    found = _FAULT.fullmatch(text.strip())
    if found is None or found[1] not in get_args(Kind):
        message = f"unknown fault {text[:80]!r}; known are {', '.join(f'{kind}:N' for kind in get_args(Kind))}"
        raise UsageError(message)
    fault = Fault(cast("Kind", found[1]), int(found[2]))
    if fault.kind == "status" and not 400 <= fault.number <= 599:
        message = f"status:{fault.number} is not an error status; use 400 to 599"
        raise UsageError(message)
    if fault.kind == "duplicate" and fault.number < 1:
        message = "duplicate:K needs K of at least 1"
        raise UsageError(message)
    return fault


def answer_with(fault: Fault | None, body: bytes, api: Api) -> Answer:
    """Apply a fault to a body; `UsageError` if the body has no such event.

    - `cut`, `stall`, `reset`: send the first N bytes; then close the connection, send nothing more, or reset it.
    - `error`, `garbage`: insert an event at the first boundary between events after N bytes, at the latest at the end
      of the body; after an error nothing follows.
    - `duplicate`: send event K, counted from 1, twice.
    """
    events = split_events(body)
    if fault is None or fault.kind == "status":
        return Answer(tuple(events))
    if ending := _ENDINGS.get(fault.kind):
        return Answer(tuple(_first(events, fault.number)), ending)
    form = form_of(body)
    if fault.kind == "duplicate":
        if fault.number > len(events):
            message = f"{fault} needs that many events, but the recording has {len(events)} events"
            raise UsageError(message)
        more, before = events[fault.number - 1], fault.number
        if form == "array":
            more = framed(form, more.strip(b"[], \t\r\n").decode())
    else:
        before, at = 0, 0
        while before < len(events) and at < fault.number:
            at += len(events[before])
            before += 1
        more = framed(form, "{not JSON", api.served.garbage_event)
        if fault.kind == "error":
            more = error_in_band(api, form, ERROR_MESSAGE)
    if before and form != "frames" and not is_whole_event(form, events[before - 1]):
        more = b"\n\n" + more
    after = [] if fault.kind == "error" else events[before:]
    at = sum(map(len, events[:before]))
    return Answer((*events[:before], more, *after), "finished", at, len(more))


def _first(events: list[bytes], size: int) -> list[bytes]:
    first: list[bytes] = []
    for event in events:
        if size <= 0:
            break
        first.append(event[:size])
        size -= len(event)
    return first
