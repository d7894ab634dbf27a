from __future__ import annotations

import json

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from redaction_oracle import AWS, SETS, TEXTS, redacted_whole
from strategies.cuts import cuts, every_cut_in_two

from penstock.operators.redaction.detectors import CARD, EMAIL, KEYS, Detector
from penstock.operators.redaction.escapes import ANY_ESCAPES, JSON_ESCAPES
from penstock.operators.redaction.redacted_text import RedactedText
from penstock.operators.redaction.rules import rules_of


def read(text: RedactedText, pieces: list[str]) -> list[str]:
    return [*map(text.feed, pieces), text.close()]


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted(SETS)), TEXTS, st.data())
def test_in_every_cutting_it_is_the_whole_text_redacted(name: str, text: str, data: st.DataObject):
    rules = rules_of(SETS[name])
    expected = redacted_whole(SETS[name], text)
    for pieces in ([text], list(text), data.draw(cuts(text))):
        assert "".join(read(RedactedText(rules), pieces)) == expected


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted(SETS)), TEXTS, st.data())
def test_what_waits_is_bounded_and_goes_on_elsewhere(name: str, text: str, data: st.DataObject):
    rules = rules_of(SETS[name])
    here = RedactedText(rules)
    for piece in data.draw(cuts(text)):
        there = RedactedText(rules)
        there.load(json.loads(json.dumps(here.dump())))
        assert there.feed(piece) == here.feed(piece)
        assert len(here.waiting) <= rules.width
    there = RedactedText(rules)
    there.load(json.loads(json.dumps(here.dump())))
    assert there.close() == here.close()


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted(SETS)), TEXTS, st.sampled_from((JSON_ESCAPES, ANY_ESCAPES)), st.data())
def test_escapes_are_cut_like_all_else(name: str, text: str, escapes: object, data: st.DataObject):
    rules = rules_of(SETS[name])
    spelled = "".join(f"\\u{ord(each):04x}" if data.draw(st.booleans()) and each < "\uffff" else each for each in text)
    whole = read(RedactedText(rules, escapes), [spelled])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    for pieces in (list(spelled), data.draw(cuts(spelled))):
        again = RedactedText(rules, escapes)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        assert "".join(read(again, pieces)) == "".join(whole)


def test_a_tail_is_dropped_as_it_comes_and_its_match_is_shown_once():
    text = RedactedText(rules_of(KEYS))
    pieces = read(text, ["a xoxb-", "0123456789", "0" * 5000, "-1", "!", " b"])
    assert pieces == ["a ", "[redacted:slack token]", "", "", "!", " b", ""]


@pytest.mark.parametrize(
    "spelled",
    [
        "\\u0041KIA0123456789ABCDEF",
        "AKI\\x410123456789ABCDEF",
        "A\\113IA0123456789ABCDEF",
        "&#65;KIA0123456789ABCDEF",
        "AK&#x49;A0123456789ABCDEF",
        "\\U00000041KIA0123456789ABCDEF",
        "\\nAKIA0123456789ABCDEF",
    ],
)
def test_a_spelling_with_escapes_is_found(spelled: str):
    rules = rules_of(KEYS)
    begin = "\\n" if spelled.startswith("\\n") else ""
    for pieces in every_cut_in_two(f"key: {spelled} & so on"):
        read_so = "".join(read(RedactedText(rules, ANY_ESCAPES), pieces))
        assert read_so == f"key: {begin}[redacted:aws key] & so on"
    if begin:
        return
    assert AWS not in spelled
    assert "".join(read(RedactedText(rules), [spelled])) == spelled


def test_a_surrogate_pair_is_one_character_and_a_lone_one_stays():
    rules = rules_of((Detector("face", "\U0001f600x"),))
    for pieces in every_cut_in_two("a\\ud83d\\ude00xb \\ud83d x\\ud83d"):
        assert "".join(read(RedactedText(rules, JSON_ESCAPES), pieces)) == "a[redacted:face]b \\ud83d x\\ud83d"


def test_a_number_stays_a_number():
    rules = rules_of((CARD, EMAIL))
    for pieces in every_cut_in_two("[-4111111111111111.5e3, 4111111111111111, 17]"):
        assert "".join(read(RedactedText(rules, is_json=True), pieces)) == "[-0, 0, 17]"
