"""Texts of JSON, and of calls: read by C as by Python, and as `json.loads` reads them."""

from __future__ import annotations

from fuzzing.drawn_bytes import ByteRandom, text_by
from lane_chains import NAMES, assert_calls_alike, some_chunks
from law_oracles import loaded, verdict
from strategies.json_texts import SIGNS, some_pieces
from twins import assert_text_alike

from penstock.events.segment_event import Fragment, JsonError
from penstock.operators.machines.json_machine import JsonMachine
from penstock.operators.machines.json_values import FragmentAggregator

TOKENS = tuple(dict.fromkeys(each for each in SIGNS if len(each) > 1 or each > "\x7f"))
VERDICTS = {"malformed": "wrong", "truncated": "beginning"}


def json_texts(data: bytes) -> None:
    random, text = text_by(data, TOKENS)
    assert_text_alike(random, text, looks=0.03)
    machine, value, errors = JsonMachine(), FragmentAggregator(), list[JsonError]()
    for piece in some_pieces(random, text):
        given = machine.feed(piece)
        value.feed_all([each for each in given if isinstance(each, Fragment)])
        errors += [each for each in given if isinstance(each, JsonError)]
    last = list(machine.close())
    value.feed_all([each for each in last if isinstance(each, Fragment)])
    errors += [each for each in last if isinstance(each, JsonError)]
    if not errors:
        assert repr(value.value) == repr(loaded(text)), text
    elif errors[0].reason in VERDICTS:
        assert verdict(text) == VERDICTS[errors[0].reason], (text, errors)


def json_calls(data: bytes) -> None:
    random = ByteRandom(data)
    assert_calls_alike(random, random.choice(NAMES), some_chunks(random))


TARGETS = {"json_texts": json_texts, "json_calls": json_calls}
