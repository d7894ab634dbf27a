from __future__ import annotations

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from redaction_oracle import SETS, TEXTS

from penstock.operators.redaction.detectors import EMAIL, Detector
from penstock.operators.redaction.rules import Rules, rules_of

OTHERS = {
    "a run that need not be whole": (Detector("x", r"(?<![a-z])[a-z]{1,3}@"), EMAIL),
    "a run in which the sign stands": (Detector("x", r"(?<![\w@])[\w@]{1,9}@b"),),
    "a run that anything precedes": (Detector("x", r"[\w.]{1,9}@b"),),
    "heads of three characters": (Detector("x", "sk-"), Detector("y", "a[bc]."), Detector("z", r"\Bxo")),
    "a head that is optional": (Detector("x", "(?:a|b{0,2})c@"),),
}


def exactly(rules: Rules, text: str, at: int) -> int:
    place = rules.begin(text, at)
    return len(text) if place < 0 else place if rules.is_cut(text, place) is not None else -1


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted({**SETS, **OTHERS})), TEXTS, st.data())
def test_the_quick_way_tells_what_the_exact_one_does(name: str, text: str, data: st.DataObject):
    rules = rules_of({**SETS, **OTHERS}[name])
    begin = data.draw(st.integers(0, len(text)))
    text = text[begin : data.draw(st.integers(begin, len(text)))]
    at = data.draw(st.integers(0, len(text)))
    assert rules.certain_to(text, at) == exactly(rules, text, at)


@pytest.mark.parametrize(
    ("name", "text", "certain"),
    [
        ("keys", "a ask- sk", 7),
        ("keys", "a sk-x", 2),
        ("keys", "see xo", 4),
        ("keys", "a some text", 11),
        ("people", "to joe", 3),
        ("people", "to jos\xe9", 3),
        ("people", "to joe.", 3),
        ("people", "to joe ", 7),
        ("people", "to joe@", 3),
        ("people", "to " + "j" * 64, 3),
        ("people", "to " + "j" * 65, 68),
        ("people", "to joe@x.io", 3),
        ("people", "room 12, 4", 9),
        ("keys", "sk-ant-" + "a" * 25, -1),
        ("people", "4111111111111111 a", -1),
    ],
)
def test_up_to_where_a_text_is_certain(name: str, text: str, certain: int):
    assert rules_of(SETS[name]).certain_to(text, 0) == certain
