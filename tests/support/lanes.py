"""The lanes of the wire against the general one: an event at a time, and the state after each."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from provider_client import cut_at_random

from penstock.events.chunk_response import ChunkResponse
from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.engine.stage import Completed
from penstock.sources.base.machine import json_value, lane_of
from penstock.sources.from_wire import WireMachine
from penstock.sources.recognition.apis import api_of, machine_of

STREAMS = Path(__file__).parents[1] / "streams"
APIS = {
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic-messages": "anthropic_messages",
    "gemini": "gemini",
}
MOST = 120
"""The most events of a stream that are mutated; the own ones are shorter."""


def machine(api: str, *, logprobs: bool = False) -> Any:
    known = api_of(api)
    return machine_of(known, choices=_choices(api), turn_id="t", limits=DEFAULT_LIMITS, logprobs=logprobs)


def _choices(api: str) -> Any:
    return "all" if api in ("openai-chat", "gemini") else 0


def data_of(api: str, body: bytes) -> list[str]:
    """Return the data of the events of a body."""
    decoder = api_of(api).new_decoder()
    events = [*decoder.feed(body), *decoder.close()]
    return [event.data for event in events if event.data and not event.data.startswith("[DONE]")]


@cache
def own_streams(api: str) -> tuple[list[str], ...]:
    return tuple(data_of(api, path.read_bytes()) for path in sorted((STREAMS / APIS[api]).glob("*.sse")))


Outcome = tuple[str, list[ChunkResponse], Any]


def generally(machine: Any, data: str) -> Outcome:
    """Feed an event as `json.loads` reads it."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        return type(error).__name__, [], machine.dump()
    return "", machine.feed(value), machine.dump()


def read_in_lane(machine: Any, data: str) -> tuple[Outcome, bool]:
    """Feed an event in the lane where it fits; return also whether it did."""
    lane = lane_of(machine)
    assert lane is not None
    chunks = lane(data)
    if chunks is not None:
        return ("", chunks, machine.dump()), True
    try:
        value = json_value(data)
    except (ValueError, RecursionError) as error:
        return (type(error).__name__, [], machine.dump()), False
    return ("", machine.feed(value), machine.dump()), False


def assert_both_ways(api: str, stream: list[str], *, logprobs: bool = False) -> int:
    """Assert that each event gives the same chunks and leaves the same state; return how many had one."""
    fast, general = machine(api, logprobs=logprobs), machine(api, logprobs=logprobs)
    count = 0
    for data in stream:
        outcome, fits = read_in_lane(fast, data)
        assert repr(outcome) == repr(generally(general, data)), data
        count += fits
    return count


def lane_counts(api: str, body: bytes) -> tuple[int, int]:
    """Return how many events of a body have a lane, and how many there are."""
    reading, events = machine(api), data_of(api, body)
    return sum(read_in_lane(reading, data)[1] for data in events), len(events)


class General:
    """A machine without its lane."""

    def __init__(self, machine: Any) -> None:
        self._machine = machine
        self.feed, self.close, self.dump = machine.feed, machine.close, machine.dump

    @property
    def stopped(self) -> bool:
        return bool(self._machine.stopped)

    @property
    def failure(self) -> Any:
        return self._machine.failure


def assert_recut(api: str, body: bytes, random: Random) -> None:
    """Assert that a body cut at random gives the chunks, the failure and the state that the general way gives."""
    both: tuple[Any, Any] = (machine(api), General(machine(api)))
    fast, general = (WireMachine(each, api_of(api).new_decoder()) for each in both)
    for piece in cut_at_random(body, random):
        assert fast.feed(piece) == general.feed(piece)
    assert fast.close(Completed()) == general.close(Completed())
    assert str(fast.failure) == str(general.failure)
    assert fast.dump() == general.dump()


class Places(NamedTuple):
    """A stream, and the machine's state before each of its events."""

    events: list[str]
    states: list[Any]


@cache
def places(api: str) -> tuple[Places, ...]:
    found: list[Places] = []
    for events in own_streams(api):
        reading = machine(api)
        states: list[Any] = []
        for data in events[:MOST]:
            states.append(json.dumps(reading.dump()))
            generally(reading, data)
        found.append(Places(events, states))
    return tuple(found)


def assert_mutated(api: str, random: Random) -> None:
    """Assert that a mutated event, and the one after it, are read the same both ways."""
    events, states = random.choice(places(api))
    at = random.randrange(len(states))
    other = random.choice(random.choice(own_streams(api)))
    data = mutated(events[at], other, random)
    fast, general = machine(api), machine(api)
    fast.load(json.loads(states[at]))
    general.load(json.loads(states[at]))
    for each in (data, *events[at : at + 2]):
        outcome, _ = read_in_lane(fast, each)
        assert repr(outcome) == repr(generally(general, each)), data


VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 1.0, 0.5, -0.0, 1e300, float("inf"), float("nan"), 2**63, 2**200, 10**400),
    *("", "x", "0", "null", "\ud83d", "\ude00", "a\ud83d", "é😀", "\x00\u2028", "stop", "text", "[DONE]"),
    *([], {}, [{}], [None], [1, "a"], {"a": 1}, {"type": "text", "text": "T"}, {"text": "t"}, [[]]),
]
_TEXTS = (
    "1e999",
    "NaN",
    "-",
    "\x01",
    "\\ud83d",
    "\\",
    '"',
    ",",
    "}",
    "]",
    " ",
    "\ufeff",
    '"a":1,',
    "0",
    ".",
    "e5",
    "true",
)


def mutated(data: str, other: str, random: Random) -> str:
    """Return an event's JSON text changed in one to three places; some changes leave its value as it is."""
    try:
        value, donor = json.loads(data), json.loads(other)
    except (ValueError, RecursionError):
        return other
    for _ in range(random.choice((1, 1, 2, 3))):
        value = _changed(value, donor, random)
    text = json.dumps(value, ensure_ascii=random.random() < 0.7)
    way = random.random()
    place = random.randrange(len(text) + 1)
    if way < 0.1:
        return text[:place] + text[place + random.randrange(1, 4) :]
    if way < 0.2:
        return text[:place] + random.choice(_TEXTS) + text[place:]
    if way < 0.3 and text.startswith("{") and text != "{}":  # a repeated key, of which the last counts
        key, again = random.choice([*value.items()])
        first, last = random.sample([again, random.choice(VALUES)], 2)
        return f"{{{json.dumps(key)}: {json.dumps(first)}, {text[1:-1]}, {json.dumps(key)}: {json.dumps(last)}}}"
    return text


def _changed(value: Any, donor: Any, random: Random) -> Any:
    spots = [*_spots(value, [])]
    path = random.choice(spots)
    parent = _at(value, path[:-1]) if path else None
    way = random.random()
    new = random.choice(VALUES) if way < 0.6 else _at(donor, random.choice([*_spots(donor, [])]))
    new = json.loads(json.dumps(new))
    if parent is None:
        if isinstance(value, dict) and way < 0.9 and isinstance(donor, dict):
            key = random.choice([*donor, "new"])
            return {**value, key: donor.get(key, new)}
        return new
    key = path[-1]
    if way < 0.15 and isinstance(parent, dict):
        del parent[key]
    elif way > 0.9 and isinstance(parent, dict):
        keys = [*parent]
        random.shuffle(keys)
        ordered = {each: parent[each] for each in keys}
        parent.clear()
        parent.update(ordered)
    elif way > 0.8 and isinstance(_at(value, path), dict):
        _at(value, path)[random.choice(("new", "type", "index", "text", "error", "name", "id"))] = new
    elif way > 0.75 and isinstance(parent, list):
        parent.insert(key, json.loads(json.dumps(parent[key])))
    else:
        parent[key] = new
    return value


def _spots(value: Any, path: list[Any]) -> Any:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from _spots(each, [*path, key])


def _at(value: Any, path: list[Any]) -> Any:
    for key in path:
        value = value[key]
    return value
