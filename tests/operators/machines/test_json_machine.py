from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from strategies.cuts import cuts, every_cut_in_two
from strategies.json_texts import SAMPLE, in_words, json_texts, loads, nearly_json_texts

from penstock.events.segment_event import Fragment, JsonError, Path
from penstock.operators.engine.limits import Limits
from penstock.operators.machines import json_machine, value_machine
from penstock.operators.machines.json_machine import JsonMachine, pure_feed
from penstock.operators.machines.json_values import FragmentAggregator

Item = Fragment | JsonError


def run(pieces: Iterable[str], limits: Limits | None = None) -> list[Item]:
    machine = JsonMachine(limits or Limits())
    given = [item for piece in pieces for item in machine.feed(piece)]
    return [*given, *machine.close()]


def joined(items: Iterable[Item]) -> list[Item]:
    """Join adjacent TEXT of one string, so that outputs of different cuttings can be compared."""
    given: list[Item] = []
    for item in items:
        before = given[-1] if given else None
        if isinstance(item, Fragment) and isinstance(before, Fragment) and item.kind == before.kind == "TEXT":
            given[-1] = msgspec.structs.replace(before, value=before.value + item.value)
        else:
            given.append(item)
    return given


def shown(items: Iterable[Item]) -> list[str]:
    """Return fragments as short lines."""
    lines: list[str] = []
    for item in items:
        if isinstance(item, JsonError):
            lines.append(f"{item.reason} {item.at}")
        else:
            path = ".".join(map(str, item.path))
            value = "" if item.kind == "DONE" else f" {item.value!r}"
            lines.append(f"{item.kind} {path}{value} @{item.at}")
    return lines


def frozen_after_each(pieces: Iterable[str]) -> list[Item]:
    """Run, with the state taken through JSON into a new machine after every piece."""
    machine = JsonMachine()
    given: list[Item] = []
    for piece in pieces:
        given += machine.feed(piece)
        state = msgspec.json.decode(msgspec.json.encode(machine.dump()))
        machine = JsonMachine()
        machine.load(state)
    return [*given, *machine.close()]


CASES: list[tuple[str, list[str]]] = [
    ('""', ["OPEN  '\"' @0", "DONE  @1"]),
    ("{}", ["OPEN  '{' @0", "DONE  @1"]),
    (" [ ] ", ["OPEN  '[' @1", "DONE  @3"]),
    ("12", ["SCALAR  12 @0", "DONE  @2"]),
    ("-0 ", ["SCALAR  0 @0", "DONE  @2"]),
    ("1.5e3\n", ["SCALAR  1500.0 @0", "DONE  @5"]),
    ("1E400", ["SCALAR  inf @0", "DONE  @5"]),
    (" true", ["SCALAR  True @1", "DONE  @5"]),
    ("[null,false]", ["OPEN  '[' @0", "SCALAR 0 None @1", "DONE 0 @5", "SCALAR 1 False @6", "DONE 1 @11", "DONE  @11"]),
    ('"a\\nb"', ["OPEN  '\"' @0", "TEXT  'a\\nb' @1", "DONE  @5"]),
    (
        '{"a":"x","a":1}',
        ["OPEN  '{' @0", "OPEN a '\"' @5", "TEXT a 'x' @6", "DONE a @7", "SCALAR a 1 @13", "DONE a @14", "DONE  @14"],
    ),
    (
        '{"a": [{}, "b"]}',
        [
            "OPEN  '{' @0",
            "OPEN a '[' @6",
            "OPEN a.0 '{' @7",
            "DONE a.0 @8",
            "OPEN a.1 '\"' @11",
            "TEXT a.1 'b' @12",
            "DONE a.1 @13",
            "DONE a @14",
            "DONE  @15",
        ],
    ),
]


@looped("text, lines", CASES, ids=[text for text, _ in CASES])
def test_each_value_is_opened_filled_and_done_at_its_offsets(text: str, lines: list[str]):
    assert shown(run([text])) == lines
    assert shown(joined(run(text))) == lines
    for pieces in every_cut_in_two(text):
        assert shown(joined(run(pieces))) == lines


WHAT_FOLLOWS = ("'.', 'e' or the end of the number", "a digit, '.', 'e' or the end of the number")
ERRORS: list[tuple[str, str, int, str, str, Path]] = [
    ("", "truncated", 0, "a value", "", ()),
    (" \n", "truncated", 2, "a value", "", ()),
    ("{", "truncated", 1, "a key or '}'", "", ()),
    ('{"a"', "truncated", 4, "':'", "", ()),
    ('{"a', "truncated", 3, "the closing '\"' of a key", "", ()),
    ('{"a":', "truncated", 5, "a value", "", ()),
    ('{"a":1', "truncated", 6, WHAT_FOLLOWS[1], "", ("a",)),
    ('{"a":1 ', "truncated", 7, "',' or '}'", "", ()),
    ("[", "truncated", 1, "a value or ']'", "", ()),
    ("[1,", "truncated", 3, "a value", "", ()),
    ('["a\\', "truncated", 4, "the closing '\"' of a string", "", (0,)),
    ("tru", "truncated", 3, "true", "", ()),
    ("-", "truncated", 1, "a digit", "", ()),
    ("1.", "truncated", 2, "a digit", "", ()),
    ("1e", "truncated", 2, "a digit or a sign", "", ()),
    ("01", "malformed", 1, WHAT_FOLLOWS[0], "1", ()),
    ("[-01]", "malformed", 3, WHAT_FOLLOWS[0], "1", (0,)),
    ("1.]", "malformed", 2, "a digit", "]", ()),
    (".5", "malformed", 0, "a value", ".", ()),
    ("+1", "malformed", 0, "a value", "+", ()),
    ("- 1", "malformed", 1, "a digit", " ", ()),
    ("1e+x", "malformed", 3, "a digit", "x", ()),
    ("1.5.", "malformed", 3, "a digit, 'e' or the end of the number", ".", ()),
    ("1e5e", "malformed", 3, "a digit or the end of the number", "e", ()),
    ("1x", "malformed", 1, WHAT_FOLLOWS[1], "x", ()),
    ('[1"', "malformed", 2, WHAT_FOLLOWS[1], '"', (0,)),
    ("1\x00", "malformed", 1, WHAT_FOLLOWS[1], "\x00", ()),
    ("\u0661", "malformed", 0, "a value", "\u0661", ()),
    ("NaN", "malformed", 0, "a value", "N", ()),
    ("Infinity", "malformed", 0, "a value", "I", ()),
    ("-Infinity", "malformed", 1, "a digit", "I", ()),
    ("nul1", "malformed", 3, "null", "1", ()),
    ('["a", trua', "malformed", 9, "true", "a", (1,)),
    ("truee", "malformed", 4, "the end of the text", "e", ()),
    ("True", "malformed", 0, "a value", "T", ()),
    ("{}x", "malformed", 2, "the end of the text", "x", ()),
    ("1,", "malformed", 1, "the end of the text", ",", ()),
    ('"" ""', "malformed", 3, "the end of the text", '"', ()),
    ("\ufeff1", "malformed", 0, "a value", "\ufeff", ()),
    ("\xa01", "malformed", 0, "a value", "\xa0", ()),
    ("[1\v]", "malformed", 2, WHAT_FOLLOWS[1], "\v", (0,)),
    ("[,]", "malformed", 1, "a value or ']'", ",", ()),
    ("[1,]", "malformed", 3, "a value", "]", ()),
    ("[1}", "malformed", 2, "',' or ']'", "}", ()),
    ('["a" "b"]', "malformed", 5, "',' or ']'", '"', ()),
    ("{,}", "malformed", 1, "a key or '}'", ",", ()),
    ("{1:2}", "malformed", 1, "a key or '}'", "1", ()),
    ('{"a":1,}', "malformed", 7, "a key", "}", ()),
    ('{"a" 1}', "malformed", 5, "':'", "1", ()),
    ('{"a":}', "malformed", 5, "a value", "}", ()),
    ('{"a":{"b":1]', "malformed", 11, "',' or '}'", "]", ("a",)),
    ("{'a':1}", "malformed", 1, "a key or '}'", "'", ()),
    ('"a\nb"', "malformed", 2, "control characters must be escaped", "\n", ()),
    ('["\x1f"]', "malformed", 2, "control characters must be escaped", "\x1f", (0,)),
    ('{"a\tb":1}', "malformed", 3, "control characters must be escaped", "\t", ()),
    ('"\\x"', "malformed", 2, 'one of " \\ / b f n r t u', "x", ()),
    ('"\\\n"', "malformed", 2, 'one of " \\ / b f n r t u', "\n", ()),
    ('{"\\a":1}', "malformed", 3, 'one of " \\ / b f n r t u', "a", ()),
    ('"\\u12G4"', "malformed", 5, "four hex digits", "G", ()),
    ('"\\u"', "malformed", 3, "four hex digits", '"', ()),
    ('"\\ud83d\\u+123"', "malformed", 9, "four hex digits", "+", ()),
    ('{"\\u00e":1}', "malformed", 7, "four hex digits", '"', ()),
    ("[\ud83d]", "malformed", 1, "a value or ']'", "\ufffd", ()),
]


@looped("text, reason, at, expected, found, path", ERRORS, ids=[repr(case[0]) for case in ERRORS])
def test_an_error_names_the_offending_character(text: str, reason: Any, at: int, expected: str, found: str, path: Path):
    error = JsonError(reason, at, expected, found, path)
    for pieces in ([text], list(text), *every_cut_in_two(text)):
        *before, last = run(pieces)
        assert last == error
        assert not any(isinstance(item, JsonError) for item in before)
        assert joined(before) == joined(run([text])[:-1])


def test_what_was_certain_comes_before_the_error_and_nothing_after_it():
    machine = JsonMachine()
    items = machine.feed('{"a": "b\\ud83d\x00"}')
    assert shown(items) == ["OPEN  '{' @0", "OPEN a '\"' @6", "TEXT a 'b\ufffd' @7", "malformed 14"]
    assert machine.error == items[-1]
    assert not machine.root_closed
    assert machine.at == 14
    assert list(machine.feed('"}')) == []
    assert list(machine.close()) == []


def test_a_text_that_was_closed_takes_no_more():
    machine = JsonMachine()
    machine.feed('"a')
    assert shown(machine.close()) == ["truncated 2"]
    assert list(machine.feed("b")) == []
    assert list(machine.close()) == []


def test_a_broken_off_root_number_is_not_a_number():
    machine = JsonMachine()
    machine.feed("12")
    assert shown(machine.close(cut=True)) == ["truncated 2"]
    machine = JsonMachine()
    assert shown(machine.feed("12 ")) == ["SCALAR  12 @0", "DONE  @2"]
    assert list(machine.close(cut=True)) == []


def test_the_root_is_closed_as_soon_as_that_is_certain():
    for text in ('{"a":1}', "[]", '"x"', "true"):
        machine = JsonMachine()
        machine.feed(text[:-1])
        assert not machine.root_closed
        machine.feed(text[-1])
        assert machine.root_closed
        assert list(machine.close()) == []
    machine = JsonMachine()
    machine.feed("1")
    assert not machine.root_closed
    machine.feed(" ")
    assert machine.root_closed
    machine = JsonMachine()
    machine.feed("1")
    machine.close()
    assert machine.root_closed


def test_an_empty_piece_gives_nothing_wherever_it_comes():
    machine = JsonMachine()
    for letter in SAMPLE:
        machine.feed(letter)
        at = machine.at
        assert list(machine.feed("")) == []
        assert machine.at == at


def test_a_literal_needs_no_delimiter_and_a_number_does():
    machine = JsonMachine()
    assert shown(machine.feed("[nul")) == ["OPEN  '[' @0"]
    assert shown(machine.feed("l")) == ["SCALAR 0 None @1", "DONE 0 @5"]
    assert shown(machine.feed(",1")) == []
    assert shown(machine.feed("2")) == []
    assert shown(machine.feed("]")) == ["SCALAR 1 12 @6", "DONE 1 @8", "DONE  @8"]


@given(st.data())
@settings(deadline=None)
def test_the_value_is_what_json_loads_gives_however_the_text_is_cut(data: st.DataObject):
    text = data.draw(json_texts())
    items = run(data.draw(cuts(text)))
    aggregator = FragmentAggregator()
    aggregator.feed_all(items)
    assert aggregator.done
    assert repr(aggregator.value) == repr(loads(text))
    assert joined(items) == joined(run([text]))


@given(st.data())
@settings(deadline=None)
def test_a_text_is_accepted_if_and_only_if_json_loads_accepts_it(data: st.DataObject):
    text = data.draw(nearly_json_texts())
    try:
        loads(text)
    except ValueError:
        accepted = False
    else:
        accepted = True
    whole = run([text])
    assert isinstance(whole[-1], JsonError) != accepted
    assert joined(run(data.draw(cuts(text)))) == joined(whole)


@given(st.data())
@settings(deadline=None)
def test_control_characters_may_stand_bare_where_that_is_asked_for(data: st.DataObject):
    values = data.draw(st.lists(st.text('a"\\\n\t\x00\x1fé', max_size=6), max_size=4))
    escaped = json.dumps(values, ensure_ascii=False)
    bare = escaped.replace("\\\\", "\\u005c").replace("\\n", "\n").replace("\\t", "\t").replace("\\u001f", "\x1f")
    for pieces in ([bare], list(bare), data.draw(cuts(bare))):
        machine, read, places = JsonMachine(control_characters=True), FragmentAggregator(), list[int]()
        for piece in pieces:
            read.feed_all([item for item in machine.feed(piece) if isinstance(item, Fragment)])
            places += machine.bare if machine.bare[:1] > places[-1:] else []
        assert (read.value, read.done, machine.error) == (values, True, None)
        first_of_runs = [at for at, char in enumerate(bare) if char < " " and (pieces != [bare] or bare[at - 1] >= " ")]
        assert set(places) <= set(first_of_runs)
        assert places[:1] == first_of_runs[:1]


class Pure(JsonMachine):
    """The machine in Python, wherever this runs."""

    __slots__ = ()
    feed = pure_feed


class Stepwise(Pure):
    """The machine without its fast loop and its straight way for escapes."""

    __slots__ = ()

    def read_inside(self, _text: str, _if_held: tuple[()] | None = None) -> None:
        return None

    def _read_plain(self, text: str, _end: int, out: list[Item]) -> None:
        self._feed(text, out)


# Numbers, words, keys and strings of the plainest kind, which the fast loop reads itself, and what it must not take.
PLAIN_PIECES = [
    '{"',
    '"',
    "a",
    "key",
    '": ',
    ", ",
    "[",
    "]",
    "{",
    "}",
    "1",
    "12",
    "0",
    ".5",
    "e3",
    "-",
    "true",
    "nul",
    "l",
    "\\u00",
    "e9",
    "\\ud83d",
    "\\ude00",
]
PLAIN_PIECES += ["fals", "e", ":", ",", " ", "\n", "\n", "\\", "é", "\x7f", "\ud83d", "9" * 9]


@given(st.data())
@settings(deadline=None)
def test_the_fast_loop_gives_what_the_steps_give(data: st.DataObject):
    plain = st.lists(st.sampled_from(PLAIN_PIECES), max_size=30).map("".join)
    text = data.draw(st.one_of(plain, plain.map('[{"k": 1, "a": '.__add__), json_texts(), nearly_json_texts()))
    text += data.draw(st.sampled_from(["", "", "`", " x", " \n", ","]))
    limits = data.draw(st.sampled_from([Limits(), Limits(key_length=4, number_length=5, depth=2, arguments_length=40)]))
    fast, stepwise = data.draw(st.sampled_from([JsonMachine, Pure]))(limits), Stepwise(limits)
    for piece in data.draw(st.one_of(st.just(list(text)), cuts(text))):
        assert list(fast.feed(piece)) == list(stepwise.feed(piece))
        assert (fast.error, fast.root_closed, fast.at) == (stepwise.error, stepwise.root_closed, stepwise.at)
        assert (fast.read, fast.excess) == (stepwise.read, stepwise.excess) or fast.error is None
        passing = {"_start", "_number_state", "_word"} if fast._state not in ("key_text", "number", "word") else set()
        here, there = fast.dump(), stepwise.dump()
        assert {name for name in here if here[name] != there[name]} <= passing
    assert list(fast.close()) == list(stepwise.close())


ANY_TEXT = st.text(st.one_of(st.sampled_from('ab"\\\n\t/\x7f\u2028é日😀\ud83d\ude00'), st.characters()), max_size=12)


@given(st.data())
@settings(deadline=None)
def test_escapes_cut_anywhere_give_what_one_piece_gives(data: st.DataObject):
    value = {"a": [data.draw(ANY_TEXT)], "b": data.draw(ANY_TEXT)}
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    kind = data.draw(st.sampled_from([JsonMachine, Pure]))
    machine, stepwise, items = kind(), Stepwise(), list[Item]()
    pieces = data.draw(
        st.one_of(cuts(text), st.integers(1, 5).map(lambda size: re.findall(f"(?s).{{1,{size}}}", text)))
    )
    for piece in pieces:
        given = machine.feed(piece)
        assert list(given) == list(stepwise.feed(piece))
        items += given
        state = machine.dump()
        assert (state["pending"], state["at"]) == (stepwise.pending, stepwise.at)
        if data.draw(st.booleans()):
            machine = kind()
            machine.load(msgspec.json.decode(msgspec.json.encode(state)))
    aggregator = FragmentAggregator()
    aggregator.feed_all(items)
    assert aggregator.value == loads(text)
    assert joined(items) == joined(run([text]))


@looped("text", [json.dumps('grün\n日本 😀\\"\x7f/')[1:-1], "\\uD83D\\uDE00\\u00E9\\/", "\\\\" * 9])
def test_every_piece_of_an_escaped_text_has_a_straight_way(text: str):
    for size in range(1, len(text) + 1):
        machine = JsonMachine()
        machine.feed('"')
        for place in range(0, len(text), size):
            held = machine.withheld_length
            pieces = machine.read_inside(text[place : place + size], ())
            assert pieces is not None
            assert pieces or machine.withheld_length > held
        assert machine.withheld_length == 0


def test_a_text_that_is_all_held_is_read_only_where_that_is_asked_for():
    machine = JsonMachine()
    machine.feed('"')
    for piece, held in (("\\", 1), ("ud83", 5), ("d\\", 7), ("ude", 10)):
        before = machine.dump()
        assert machine.read_inside(piece) is None
        assert machine.dump() == before
        assert machine.read_inside(piece, ()) == ()
        assert machine.withheld_length == held
    assert shown(machine.read_inside("00") or ()) == ["TEXT  '😀' @1"]


@given(st.data())
@settings(deadline=None)
def test_nothing_is_wrong_before_the_place_of_the_error(data: st.DataObject):
    text = data.draw(nearly_json_texts())
    error = run([text])[-1]
    if isinstance(error, JsonError) and error.reason == "malformed":
        assert error.found == in_words(text[error.at])
        assert [item.reason for item in run([text[: error.at]]) if isinstance(item, JsonError)] in ([], ["truncated"])


@given(st.data())
@settings(deadline=None)
def test_every_fragment_stands_where_it_says(data: st.DataObject):
    text = data.draw(json_texts())
    ends = [item for item in run(data.draw(cuts(text))) if isinstance(item, Fragment)]
    for item in ends:
        if item.kind == "OPEN":
            assert text[item.at] == item.value
        elif item.kind == "TEXT":
            assert text[item.at] in ("\\", item.value[0]) or item.value[0] == "\ufffd"
        elif item.kind == "SCALAR":
            number = re.match(r"[-+.0-9eE]+|[a-z]+", text[item.at :])
            assert number is not None
            assert repr(loads(number[0])) == repr(item.value)
    assert [item.at for item in ends] == sorted(item.at for item in ends)


@given(st.data())
@settings(deadline=None)
def test_the_fragments_of_one_value_share_one_path_object(data: st.DataObject):
    text = data.draw(json_texts())
    open_paths: list[Path] = []
    for item in run(data.draw(cuts(text))):
        assert isinstance(item, Fragment)
        if item.kind in ("OPEN", "SCALAR"):
            open_paths.append(item.path)
        assert item.path is open_paths[-1]
        if item.kind == "DONE":
            open_paths.pop()


@given(st.data())
@settings(deadline=None)
def test_a_frozen_machine_goes_on_elsewhere_after_any_piece(data: st.DataObject):
    text = data.draw(st.one_of(json_texts(), nearly_json_texts()))
    pieces = data.draw(cuts(text))
    assert frozen_after_each(pieces) == run(pieces)


def test_a_frozen_machine_stays_broken():
    machine = JsonMachine()
    machine.feed("[\ud800")
    state = msgspec.json.decode(msgspec.json.encode(machine.dump()))
    other = JsonMachine()
    other.load(state)
    assert other.error == machine.error is not None
    assert list(other.feed("1]")) == []
    assert list(other.close()) == []


def test_every_cut_of_a_rich_text_gives_the_same():
    whole = joined(run([SAMPLE]))
    assert not isinstance(whole[-1], JsonError)
    assert joined(run(SAMPLE)) == whole
    for pieces in every_cut_in_two(SAMPLE):
        assert joined(run(pieces)) == whole
        assert joined(frozen_after_each(pieces)) == whole


@looped(
    "raw, text",
    [
        ("\\ud83d\\ude00", "😀"),
        ("\\uD83D\\uDE00!", "😀!"),
        ("\\ud83d", "\ufffd"),
        ("\\ude00", "\ufffd"),
        ("\\ude00\\ud83d", "\ufffd\ufffd"),
        ("\\ud83dx", "\ufffdx"),
        ("\\ud83d\\n", "\ufffd\n"),
        ("\\ud83d\\u0041", "\ufffdA"),
        ("\\ud83d\\ud83d\\ude00", "\ufffd😀"),
        ("\\ud83d\\ude00\\ude00", "😀\ufffd"),
        ("\\\\ud83d\\ude00", "\\ud83d\ufffd"),
        ("\ud83d", "\ufffd"),
        ("\ud83d\ude00", "\ufffd\ufffd"),
        ("\\ud83d\ude00", "\ufffd\ufffd"),
        ("\ud83d\\ude00", "\ufffd\ufffd"),
        ("a\ud83db", "a\ufffdb"),
        ("😀", "😀"),
        ("\\uDBFF\\uDFFF", "\U0010ffff"),
    ],
)
def test_surrogates_become_one_character_as_an_escaped_pair_and_ufffd_alone(raw: str, text: str):
    for quoted in (f'"{raw}"', f'{{"{raw}":"{raw}"}}'):
        path = () if quoted[0] == '"' else (text,)
        for pieces in ([quoted], list(quoted), *every_cut_in_two(quoted)):
            texts = [item for item in run(pieces) if isinstance(item, Fragment) and item.kind == "TEXT"]
            assert "".join(item.value for item in texts) == text
            assert {item.path for item in texts} == {path}


def certain_text(raw: str) -> str:
    """Return what a string's raw text surely says, whatever follows: the agreement of all that may follow."""
    suffixes = [whole[start:] for whole in ("\\ude00", "\\u0041", "\\n", "\\ud83d") for start in range(len(whole) + 1)]
    suffixes += ["x", '"', "\x00", *(f"{first}\\ude00" for first in ("0", "d", "3d", "83d", "d83d", "ud83d"))]
    decoded = [decoded_slowly(raw + suffix) for suffix in suffixes]
    agreed = takewhile(lambda letters: len(set(letters)) == 1, zip(*decoded, strict=False))
    return "".join(letters[0] for letters in agreed)


def decoded_slowly(raw: str) -> str:
    """Decode character by character up to the closing quote, the first error or the end of the text."""
    letters: list[str] = []
    at = high = 0  # high: the escaped high surrogate that was the last letter
    while at < len(raw) and raw[at] not in '"\x00':
        match = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))|[^\\]').match(raw, at)
        if match is None:
            break
        at = match.end()
        unit = int(match[1], 16) if match[1] else 0
        if high and 0xDC00 <= unit < 0xE000:
            letters[-1] = chr(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00))
        elif match[1]:
            letters.append(chr(unit))
        else:
            letters.append({"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}.get(match[2], match[2]) or match[0])
        high = unit if 0xD800 <= unit < 0xDC00 else 0
    return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in letters)


RAW_PIECES = [
    "a",
    "é",
    "😀",
    "\\n",
    '\\"',
    "\\\\",
    "\\u0041",
    "\\u00e9",
    "\\ud83d",
    "\\ude00",
    "\\ud83d\\ude00",
    "\ud83d",
    "ude",
]


@given(st.lists(st.sampled_from(RAW_PIECES), max_size=6), st.integers(1, 5))
@settings(deadline=None)
def test_text_appears_with_the_character_that_makes_it_certain(raw_pieces: list[str], size: int):
    raw = "".join(raw_pieces)
    machine = JsonMachine()
    machine.feed('{"k":["')
    given = ""
    for start in range(0, len(raw), size):
        items = machine.feed(raw[start : start + size])
        assert [item.kind for item in items if isinstance(item, Fragment)] in ([], ["TEXT"])
        given += "".join(item.value for item in items if isinstance(item, Fragment))
        assert given == certain_text(raw[: start + size])


def test_text_and_escapes_of_one_feed_are_one_fragment():
    assert shown(JsonMachine().feed('"a\\n\\u0041\\ud83d\\ude00\x7fé\\"b')) == [
        "OPEN  '\"' @0",
        "TEXT  'a\\nA😀\\x7fé\"b' @1",
    ]


def test_a_text_piece_begins_where_its_escape_began():
    machine = JsonMachine()
    machine.feed('"a\\')
    assert shown(machine.feed("nb")) == ["TEXT  '\\nb' @2"]
    assert shown(machine.feed("\\ud83d")) == []
    assert shown(machine.feed("\\u")) == []
    assert shown(machine.feed("de00")) == ["TEXT  '😀' @5"]
    assert shown(machine.feed("\\\\\\")) == ["TEXT  '\\\\' @17"]
    assert shown(machine.feed('""')) == ["TEXT  '\"' @19", "DONE  @21"]


LIMITS = Limits(depth=3, key_length=4, number_length=5, arguments_length=40)


@looped(
    "text, at, path",
    [
        ("[[[[", 3, (0, 0)),
        ('{"a":{"b":[{', 11, ("a", "b")),
        ('{"abcde":1}', 6, ()),
        ('{"\\u0041":1}', 6, ()),
        ('{"abc\\n":1}', 6, ()),
        ('{"abcd\x00":1}', 6, ()),
        ("123456", 5, ()),
        ("[-1.5e1]", 6, (0,)),
        ("[123456]", 6, (0,)),
        (" " * 41, 40, ()),
        ('["' + "x" * 60, 40, (0,)),
        ('"' + "x" * 38 + '" ', 40, ()),
        ('"' + "x" * 37 + "\\u00e9", 40, ()),
    ],
)
def test_what_passes_a_limit_fails_at_the_first_character_beyond_it(text: str, at: int, path: Path):
    expected = joined(run([text], LIMITS))
    for pieces in ([text], list(text), *every_cut_in_two(text)):
        items = run(pieces, LIMITS)
        error = items[-1]
        assert isinstance(error, JsonError)
        assert (error.reason, error.at, error.found, error.path) == ("limit", at, text[at], path)
        assert joined(items) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[[[1]]]",
        '{"abcd":1}',
        '{"\\n\\n":1}',
        "12345",
        "[-1.25]",
        '"' + "x" * 38 + '"',
        '{"abcd" : "' + "x" * 20 + '"}',
    ],
)
def test_what_just_fits_a_limit_is_accepted(text: str):
    for pieces in ([text], list(text), *every_cut_in_two(text)):
        assert not isinstance(run(pieces, LIMITS)[-1], JsonError)


@pytest.mark.parametrize(("text", "at"), [('{"a\\x', 4), ('{"a\x00bcdef', 3), ("12.x56789", 3), ("[[}[[", 2)])
def test_an_error_before_a_limit_is_that_error(text: str, at: int):
    for pieces in ([text], list(text)):
        error = run(pieces, LIMITS)[-1]
        assert isinstance(error, JsonError)
        assert (error.reason, error.at) == ("malformed", at)


def test_ten_thousand_containers_are_refused_at_the_one_that_is_too_deep():
    for text in ("[" * 10_000, '{"a":' * 10_000):
        error = run([text])[-1]
        assert isinstance(error, JsonError)
        assert (error.reason, text[: error.at].count(text[0])) == ("limit", 256)


def test_depth_costs_no_recursion():
    depth = 2 * sys.getrecursionlimit()
    items = run(["[" * depth, "]" * depth], Limits(depth=depth))
    assert len(items) == 2 * depth
    assert not isinstance(items[-1], JsonError)


@pytest.mark.parametrize("size", [1, 1000, 100_000])
def test_a_hundred_thousand_digits_are_refused_as_soon_as_there_are_too_many(size: int):
    machine = JsonMachine()
    fed = 0
    while machine.error is None:
        items = machine.feed("1" * size)
        fed += size
    assert shown(items) == ["limit 4300"]
    assert fed - size <= 4300


def test_an_integer_beyond_the_interpreters_own_limit_is_a_limit_error_too():
    limit = sys.get_int_max_str_digits()
    text = "[" + "1" * (limit + 1) + ", 2]"
    for pieces in ([text], [text[:9], text[9:]]):
        items = run(pieces, Limits(number_length=10 * limit))
        assert shown(items) == ["OPEN  '[' @0", f"limit {limit + 2}"]
    assert shown(run(["1" * (limit + 1)], Limits(number_length=10 * limit))) == [f"limit {limit + 1}"]


def test_a_hundred_megabytes_are_refused_at_sixteen_mebibytes_without_being_kept():
    machine = JsonMachine()
    machine.feed('"')
    chunk = "x" * 65_536
    given = chunks = 0
    for _ in range(1600):
        for item in machine.feed(chunk):
            if isinstance(item, Fragment):
                given += len(item.value)
        chunks += machine.error is None
    assert given == 16 * 1024 * 1024 - 1
    assert chunks == 255
    assert machine.error is not None
    assert machine.error.reason == "limit"
    assert machine.error.at == 16 * 1024 * 1024
    assert len(msgspec.json.encode(machine.dump())) < 1000


def calls_of(feed: Callable[[str], object], pieces: Sequence[str]) -> int:
    """Count the calls, of Python and of C, that the pieces cost."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        for piece in pieces:
            feed(piece)
    finally:
        sys.setprofile(None)
    return count


UNITS = {
    "plain text": '"' + "it was the best of times " * 4,
    "source text": '"' + 'if a:\\n    say(\\"b\\\\\\\\\\", 1)\\n' * 4,
    "unicode escapes": '"' + "gr\\u00f6\\u00dfe \\ud83d\\ude00" * 4,
    "objects": "[" + '{"id": 12, "tags": ["x", true]},' * 3,
}


@looped("size", [1, 4, 100])
@looped("name", UNITS)
def test_the_calls_for_a_delta_do_not_grow_with_what_came_before(name: str, size: int):
    start, unit = UNITS[name][0], UNITS[name][1:]
    unit *= size  # then every round has the same pieces
    pieces = [unit[at : at + size] for at in range(0, len(unit), size)]
    machine = JsonMachine()
    machine.feed(start)
    rounds = [calls_of(machine.feed, pieces) for _ in range(20)]
    assert machine.error is None
    assert len(set(rounds[1:])) == 1


@pytest.mark.parametrize(
    "text",
    [
        '["' + "x" * 30_000 + '"]',
        '["' + '\\"' * 15_000 + '"]',
        '["' + "\\ud83d\\ude00" * 2500 + '"]',
        '{"' + "k" * 30_000 + '": 1}',
        '{"' + "\\u00e9" * 5000 + '": 1}',
        "[" + "7" * 4000 + ", -" + "1" * 4000 + ".5]",
        "[" + " " * 30_000 + "]",
    ],
    ids=["text", "escapes", "pairs", "key", "escaped key", "numbers", "blanks"],
)
def test_each_character_is_looked_at_a_constant_number_of_times(text: str, monkeypatch: pytest.MonkeyPatch):
    looked_at = 0

    def counted(match: Callable[[str, int], re.Match[str] | None]) -> Callable[[str, int], re.Match[str] | None]:
        def counting(given: str, position: int) -> re.Match[str] | None:
            nonlocal looked_at
            found = match(given, position)
            looked_at += len(found[0]) + 1 if found else min(len(given) - position, 12)
            return found

        return counting

    def scan(given: str, position: int) -> tuple[str, int]:
        nonlocal looked_at
        decoded, end = original_scan(given, position)
        looked_at += end - position
        return decoded, end

    monkeypatch.setattr(JsonMachine, "feed", pure_feed)
    original_scan = json_machine._scan
    for name in ("number", "digits", "text", "cut_escape", "cut_low", "hex", "inside"):
        monkeypatch.setattr(json_machine, f"_match_{name}", counted(getattr(json_machine, f"_match_{name}")))
    monkeypatch.setattr(value_machine, "_match_blanks", counted(value_machine._match_blanks))
    monkeypatch.setattr(json_machine, "_scan", scan)
    for size in (1, 4, 1000, len(text)):
        looked_at = 0
        items = run(text[at : at + size] for at in range(0, len(text), size))
        assert not isinstance(items[-1], JsonError)
        assert looked_at <= 24 * len(text)


MUTANTS = {
    "the fast loop does not look at the length of keys": ("", ("operators/machines/json_machine.py", "if base + after - self._start <= self._longest_key:", "if True:")),
    "the fast loop ends a number where its chunk ends": ("", ("operators/machines/json_machine.py", "                    if after == length:\n                        break\n", "")),
    "the fast loop takes control characters": ("", ("operators/machines/json_machine.py", 'if "\\\\" not in piece and piece.isprintable():', 'if "\\\\" not in piece:')),
    "the fast loop takes an escaped quote for the end": ("", ("operators/machines/json_machine.py", 'if "\\\\" not in piece and piece.isprintable():', "if piece.isprintable():")),
    "escaped text is read past its closing quote": ("", ("operators/machines/json_machine.py", "            if stop <= len(raw):\n", "            if not stop:\n")),
    "the straight way takes half a surrogate pair for a whole one": ("", ("operators/machines/json_machine.py", "[89abAB][0-9A-Fa-f]{2}\\\\u[dD][c-fC-F]))", "[89abAB]))")),
    "surrogate halves decoded alone": ("", ("operators/machines/json_machine.py", "raw[-1] != last and _match_cut_low(text, end)", "not last")),
    "a number ends where its chunk ends": ("", ("operators/machines/json_machine.py", "(?=[ \\t\\n\\r,\\]}])", "(?=[ \\t\\n\\r,\\]}]|\\Z)")),
    "the dump forgets a pending escape": ("", ("operators/machines/value_machine.py", 'super().dump(), "brackets"', 'super().dump(), "pending": "", "brackets"')),
}  # fmt: skip
