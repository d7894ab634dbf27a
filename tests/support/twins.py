"""The methods in Python, where those in C took their place, and what both must read alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final

import msgspec
from strategies.json_texts import some_pieces

from penstock.operators.engine.limits import Limits
from penstock.operators.machines.json_machine import JsonMachine, pure_feed
from penstock.operators.machines.native_readers import TWINS

_READ: Final = {"number": ("_start", "_number_state", "_word"), "word": ("_start", "_word"), "key_text": ("_start",)}
"""What a machine keeps of what it is reading; behind it, it may still have any."""


def told_of(state: Any) -> Any:
    """Return a dumped state without what its machines have left of what they have read."""
    if isinstance(state, list):
        return [told_of(each) for each in state]
    if not isinstance(state, dict):
        return state
    kept = _READ.get(state["_state"], ()) if "_number_state" in state else state
    past = {"_start", "_number_state", "_word"}.difference(kept)
    return {key: None if key in past else told_of(value) for key, value in state.items()}


@contextmanager
def in_python() -> Iterator[None]:
    """Run what is within as where nothing was compiled."""
    in_c = {key: getattr(*key) for key in TWINS}
    for (kind, name), twin in TWINS.items():
        setattr(kind, name, twin)
    try:
        yield
    finally:
        for (kind, name), method in in_c.items():
            setattr(kind, name, method)


SHORT: Final = Limits(depth=3, key_length=4, number_length=5, arguments_length=40)
LIMITS: Final = (Limits(), Limits(), Limits(depth=2, number_length=1), SHORT)


class Pure(JsonMachine):
    """The machine as it is where nothing was compiled."""

    __slots__ = ()
    feed = pure_feed


def observed(machine: JsonMachine) -> list[Any]:
    """Return all that can be seen of a machine."""
    state = told_of(machine.dump())
    seen = [state, machine.path, machine.around, machine.open_path, machine.held(("a", "key")), machine.ahead()]
    return [*seen, machine.bare, machine.error and (machine.read, machine.excess)]


def moved(state: Any, machine: JsonMachine) -> JsonMachine:
    machine.load(msgspec.json.decode(msgspec.json.encode(state)))
    return machine


def assert_text_alike(random: Random, text: str, looks: float = 0.3) -> None:
    """Feed a text to both, which now and then take over the state of each other.

    `looks`: behind how many of the pieces all that can be seen is compared.
    """
    limits, control_characters = random.choice(LIMITS), random.random() < 0.2
    twins: list[JsonMachine] = [kind(limits, control_characters=control_characters) for kind in (JsonMachine, Pure)]
    read: list[str] = []
    for piece in some_pieces(random, text):
        read.append(piece)
        here, there = (each.feed(piece) for each in twins)
        assert (type(here), list(here)) == (type(there), list(there)), read
        assert [repr(each) for each in here] == [repr(each) for each in there], read
        if random.random() < looks:
            here, there = map(observed, twins)
            assert here == there, read
        if random.random() < 0.05:
            states = [each.dump() for each in twins]
            twins = [
                moved(state, kind(limits, control_characters=control_characters))
                for state, kind in zip(states, (Pure, JsonMachine), strict=True)
            ][::-1]
    ends = [(observed(each), list(each.close())) for each in twins]
    assert ends[0] == ends[1], read
