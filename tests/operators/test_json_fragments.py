from __future__ import annotations

import asyncio
import pickle
from typing import Any

import msgspec
import pytest
import reactivex
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_contract import JSON_TEXTS, Case
from reactivex.subject import Subject
from strategies.cuts import cuts
from strategies.json_texts import SAMPLE, nearly_json_texts
from untyped import drive, stage

from penstock.events.segment_event import Fragment, JsonError
from penstock.operators.engine.drive import adrive
from penstock.operators.engine.limits import Limits
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted
from penstock.operators.json_fragments import json_fragments
from penstock.operators.machines.json_machine import JsonMachine

CONTRACT = (Case("json_fragments", json_fragments(), JSON_TEXTS),)


async def collected(pieces: list[str]) -> list[Any]:
    return [item async for item in adrive(pieces, json_fragments())]


@given(st.data())
@settings(deadline=None)
def test_all_four_ways_to_run_it_give_what_the_machine_gives(data: st.DataObject):
    pieces = data.draw(cuts(data.draw(st.one_of(nearly_json_texts(), st.just(SAMPLE)))))
    machine = JsonMachine()
    expected = [item for piece in pieces for item in machine.feed(piece)]
    expected += machine.close()
    observed: list[Any] = []
    reactivex.from_iterable(pieces).pipe(json_fragments()).subscribe(observed.append)
    chain = stage(json_fragments())
    assert observed == expected
    assert list(drive(pieces, json_fragments())) == expected
    assert asyncio.run(collected(pieces)) == expected
    assert [*(item for piece in pieces for item in chain.feed(piece)), *chain.close()] == expected


@pytest.mark.parametrize("how", [Failed(OSError()), Interrupted("stop")], ids=["failed", "interrupted"])
@pytest.mark.parametrize("text", ["", '{"a": "x', "12", "[1"])
def test_a_text_that_was_broken_off_is_truncated(text: str, how: How):
    chain = stage(json_fragments())
    chain.feed(text)
    given = chain.close(how)
    assert [(type(item), item.reason, item.at) for item in given] == [(JsonError, "truncated", len(text))]


@pytest.mark.parametrize("how", [Completed(), Failed(OSError()), Interrupted()], ids=["completed", "failed", "stopped"])
def test_a_text_that_was_whole_ends_without_a_word(how: How):
    chain = stage(json_fragments())
    chain.feed('{"a": 1}')
    assert chain.close(how) == []


def test_a_root_number_ends_with_the_text():
    chain = stage(json_fragments())
    assert chain.feed("12") == []
    assert chain.close() == [Fragment((), "SCALAR", 12, 0), Fragment((), "DONE", None, 2)]


def test_a_source_error_comes_after_the_truncation():
    source: Subject[str] = Subject()
    given: list[Any] = []
    source.pipe(json_fragments()).subscribe(given.append, given.append)
    source.on_next("[")
    error = OSError("gone")
    source.on_error(error)
    assert given == [Fragment((), "OPEN", "[", 0), JsonError("truncated", 1, "a value or ']'"), error]


def test_two_subscribers_have_a_machine_each():
    source: Subject[str] = Subject()
    operator = json_fragments()
    early: list[Any] = []
    late: list[Any] = []
    source.pipe(operator).subscribe(early.append)
    source.on_next("[")
    source.pipe(operator).subscribe(late.append)
    source.on_next("1]")
    assert [item.kind for item in early] == ["OPEN", "SCALAR", "DONE", "DONE"]
    assert late == [
        Fragment((), "SCALAR", 1, 0),
        Fragment((), "DONE", None, 1),
        JsonError("malformed", 1, "the end of the text", "]"),
    ]


def test_the_limits_are_an_option_that_pickles():
    operator = pickle.loads(pickle.dumps(json_fragments(limits=Limits(depth=1))))
    assert [getattr(item, "reason", "") for item in drive(["[[1]]"], operator)] == ["", "limit"]
    assert [getattr(item, "reason", "") for item in drive(["[[1]]"], json_fragments())] == [""] * 6


def test_a_frozen_chain_goes_on_elsewhere_after_any_character():
    expected = list(drive(list(SAMPLE), json_fragments()))
    chain = stage(json_fragments())
    given: list[Any] = []
    for letter in SAMPLE:
        given += chain.feed(letter)
        state = msgspec.json.decode(msgspec.json.encode(chain.dump()))
        chain = stage(json_fragments())
        chain.load(state)
    assert given + chain.close() == expected
