from __future__ import annotations

import json
from typing import Any

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from redaction_oracle import AWS, OBJECTS, SETS, redacted_value, written
from strategies.cuts import cuts, every_cut_in_two

from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.machines.json_machine import decode_json
from penstock.operators.redaction.detectors import KEYS, Detector
from penstock.operators.redaction.redacted_json import RedactedJson
from penstock.operators.redaction.rules import Rules, rules_of


def read(rules: Rules, pieces: list[str]) -> str:
    text = RedactedJson(rules)
    return "".join([*map(text.feed, pieces), text.close()])


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted(SETS)), OBJECTS, st.data())
def test_what_is_read_again_is_the_value_redacted(name: str, value: dict[str, Any], data: st.DataObject):
    source = data.draw(written(value))
    rules = rules_of(SETS[name])
    shown = read(rules, data.draw(cuts(source)))
    assert shown == read(rules, [source]) == read(rules, list(source))
    again, error = decode_json(shown, DEFAULT_LIMITS)
    assert error is None
    assert again == redacted_value(SETS[name], value)


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted(SETS)), OBJECTS, st.data())
def test_the_cutting_of_broken_json_does_not_matter(name: str, value: dict[str, Any], data: st.DataObject):
    source = data.draw(written(value))
    place = data.draw(st.integers(0, len(source)))
    put_in = data.draw(st.sampled_from(("x", '"', "\\", "\n", "}", "4111 1111 1111 1111", "&#65;KIA", "\\u00g")))
    broken = source[:place] + put_in + source[place:]
    rules = rules_of(SETS[name])
    whole = read(rules, [broken])
    assert read(rules, list(broken)) == whole
    here = RedactedJson(rules)
    out: list[str] = []
    for piece in data.draw(cuts(broken)):
        there = RedactedJson(rules)
        there.load(json.loads(json.dumps(here.dump())))
        out.append(here.feed(piece))
        assert there.feed(piece) == out[-1]
    assert "".join([*out, here.close()]) == whole


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (f'{{"a": "{AWS}", {AWS}', '{"a": "[redacted:aws key]", [redacted:aws key]'),
        (f'{{"a": "x\\q \\u0041{AWS[1:]}"}}', '{"a": "x\\q [redacted:aws key]"}'),
        (f'{{"a": "{AWS[:9]}\n{AWS}', f'{{"a": "{AWS[:9]}\n[redacted:aws key]'),
        (f"password {AWS}", "password [redacted:aws key]"),
        (f'"\\u0041{AWS[1:]}"', '"[redacted:aws key]"'),
        (f'{{"{AWS}": [{{"\\u0041{AWS[1:]}": null}}]}}', '{"[redacted:aws key]": [{"[redacted:aws key]": null}]}'),
    ],
)
def test_broken_json_is_redacted_as_it_stands(source: str, shown: str):
    rules = rules_of(KEYS)
    for pieces in every_cut_in_two(source):
        assert read(rules, pieces) == shown


def test_from_the_first_wrong_character_on_a_match_may_go_over_quotes():
    rules = rules_of((Detector("password", r'password="\w{1,40}"'),))
    source = 'use password="hunter2" here'
    for pieces in every_cut_in_two(source):
        assert read(rules, pieces) == "use [redacted:password] here"
    assert read(rules, ['{"a": "password=\\"hunter2\\""}']) == '{"a": "[redacted:password]"}'
