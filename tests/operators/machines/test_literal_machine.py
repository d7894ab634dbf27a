from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Any

import msgspec
import pytest
from depth import is_deep
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from strategies.cuts import cuts, every_cut_in_two
from strategies.literal_texts import call_arguments, loads, nearly_call_arguments

from penstock.events.errors import UsageError
from penstock.events.segment_event import Fragment, JsonError, Path
from penstock.operators.engine.limits import Limits
from penstock.operators.machines import literal_machine, value_machine
from penstock.operators.machines.json_values import FragmentAggregator
from penstock.operators.machines.literal_machine import LiteralMachine
from penstock.operators.machines.literal_parts import StringForm, string_form

Item = Fragment | JsonError

PYTHON: dict[str, Any] = {}
LENIENT: dict[str, Any] = {"lenient_quotes": True}
MARKED: dict[str, Any] = {"open": "{", "close": "}", "assign": ":", "quotes": ('<|"|>', '"')}
ESCAPED: dict[str, Any] = {"open": "{", "close": "}", "assign": ":", "quotes": ("<escape>",), "escapes": False}
FORMS = {"python": PYTHON, "lenient": LENIENT, "marked": MARKED, "escaped": ESCAPED}


MORE_THAN_PYTHON = (
    ("(a=07)", {"a": 7}),
    ("(a=-007, b=00.5)", {"a": -7, "b": 0.5}),
    ("(a={'x', 'y'})", {"a": ["x", "y"]}),
    ("(a={'x',}, b=[{'it's'}, {}, {'k': 1}])", {"a": ["x"], "b": [["it's"], {}, {"k": 1}]}),
    ("(a={'' , \"\\n\"})", {"a": ["", "\n"]}),
)


@pytest.mark.parametrize(("text", "value"), MORE_THAN_PYTHON)
def test_zeros_in_front_and_sets_of_strings_are_read_where_quotes_are_lenient(text: str, value: Any):
    for pieces in ([text], [*text], *([text[:at], text[at:]] for at in range(len(text)))):
        assert value_of(run(pieces, LENIENT)) == value
        assert joined(frozen_after_each(pieces, LENIENT)) == joined(run([text], LENIENT))
    assert isinstance(run([text])[-1], JsonError)


@pytest.mark.parametrize("said", ["'x'", "r'x'", "'''x'''", "'''x''' '''y'''", "''", "'\\n'"])
def test_the_first_string_of_a_set_is_where_it_is_in_a_list(said: str):
    a_set, a_list = (joined(run([f"(a={opener}{said}, 'b'{closer})"], LENIENT)) for opener, closer in ("{}", "[]"))
    places = [[(each.kind, each.at) for each in items if isinstance(each, Fragment)] for items in (a_set, a_list)]
    assert places[0] == places[1]


@pytest.mark.parametrize("text", ["(a={1, 2})", "(a={None})", "(a=0_7)", "(a=08x)"])
def test_other_sets_and_numbers_are_malformed(text: str):
    assert shown(run([text], LENIENT))[-1].startswith("malformed")


def run(pieces: Iterable[str], form: dict[str, Any] = PYTHON) -> list[Item]:
    machine = LiteralMachine(**form)
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


def value_of(items: Iterable[Item]) -> Any:
    aggregator = FragmentAggregator()
    for item in items:
        assert isinstance(item, Fragment), item
        aggregator.feed(item)
    assert aggregator.done
    return aggregator.value


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


def frozen_after_each(pieces: Iterable[str], form: dict[str, Any] = PYTHON) -> list[Item]:
    """Run, with the state taken through JSON into a new machine after every piece."""
    machine = LiteralMachine(**form)
    given: list[Item] = []
    for piece in pieces:
        given += machine.feed(piece)
        state = msgspec.json.decode(msgspec.json.encode(machine.dump()))
        machine = LiteralMachine(**form)
        machine.load(state)
    return [*given, *machine.close()]


LINES: list[tuple[dict[str, Any], str, list[str]]] = [
    (PYTHON, "()", ["OPEN  '{' @0", "DONE  @1"]),
    (PYTHON, " (\n) ", ["OPEN  '{' @1", "DONE  @3"]),
    (PYTHON, "(a=-1.5)", ["OPEN  '{' @0", "SCALAR a -1.5 @3", "DONE a @7", "DONE  @7"]),
    (PYTHON, "(a=None )", ["OPEN  '{' @0", "SCALAR a None @3", "DONE a @7", "DONE  @8"]),
    (PYTHON, "(a='')", ["OPEN  '{' @0", "OPEN a '\"' @3", "DONE a @4", "DONE  @5"]),
    (PYTHON, "(a='x\\ty' ,)", ["OPEN  '{' @0", "OPEN a '\"' @3", "TEXT a 'x\\ty' @4", "DONE a @8", "DONE  @11"]),
    (PYTHON, "(a='x' r'y')", ["OPEN  '{' @0", "OPEN a '\"' @3", "TEXT a 'xy' @4", "DONE a @10", "DONE  @11"]),
    (PYTHON, "(a=r'''x''')", ["OPEN  '{' @0", "OPEN a '\"' @3", "TEXT a 'x' @7", "DONE a @8", "DONE  @11"]),
    (PYTHON, "(a='\\\n\\\r\nx')", ["OPEN  '{' @0", "OPEN a '\"' @3", "TEXT a 'x' @9", "DONE a @10", "DONE  @11"]),
    (
        PYTHON,
        "(a=({'k': [1]}))",
        [
            *("OPEN  '{' @0", "OPEN a '{' @4", "OPEN a.k '[' @10", "SCALAR a.k.0 1 @11", "DONE a.k.0 @12"),
            *("DONE a.k @12", "DONE a @13", "DONE  @15"),
        ],
    ),
    (PYTHON, "(a=(1))", ["OPEN  '{' @0", "SCALAR a 1 @4", "DONE a @5", "DONE  @6"]),
    (
        PYTHON,
        "(a=(1,))",
        ["OPEN  '{' @0", "OPEN a '[' @3", "SCALAR a.0 1 @4", "DONE a.0 @5", "DONE a @6", "DONE  @7"],
    ),
    (
        PYTHON,
        "(a=[{'k': True}, ()])",
        [
            *("OPEN  '{' @0", "OPEN a '[' @3", "OPEN a.0 '{' @4", "SCALAR a.0.k True @10", "DONE a.0.k @14"),
            *("DONE a.0 @14", "OPEN a.1 '[' @17", "DONE a.1 @18", "DONE a @19", "DONE  @20"),
        ],
    ),
    (LENIENT, "(a='x'y' )", ["OPEN  '{' @0", "OPEN a '\"' @3", 'TEXT a "x\'y" @4', "DONE a @7", "DONE  @9"]),
    (MARKED, '{a:<|"|>x<|"|>}', ["OPEN  '{' @0", "OPEN a '\"' @3", "TEXT a 'x' @8", "DONE a @9", "DONE  @14"]),
]


@looped("form, text, lines", LINES, ids=[case[1] for case in LINES])
def test_each_value_is_opened_filled_and_done_at_its_offsets(form: dict[str, Any], text: str, lines: list[str]):
    for pieces in ([text], list(text), *every_cut_in_two(text)):
        assert shown(joined(run(pieces, form))) == lines


VALUES: list[tuple[dict[str, Any], str, Any]] = [
    (PYTHON, "(location='New York', days=3)", {"location": "New York", "days": 3}),
    (PYTHON, "(a=true, b=false, c=null)", {"a": True, "b": False, "c": None}),
    (PYTHON, "(a=True, b=False, c=None)", {"a": True, "b": False, "c": None}),
    (PYTHON, "(max-results=1, a.b = 2)", {"max-results": 1, "a.b": 2}),
    (PYTHON, "(a=1, a=2)", {"a": 2}),
    (PYTHON, "(a=[1, [2, (3, 4)],], b={'x': {},},)", {"a": [1, [2, [3, 4]]], "b": {"x": {}}}),
    (PYTHON, "(a={k: 1, 2: 'x', -1.5: []})", {"a": {"k": 1, "2": "x", "-1.5": []}}),
    (PYTHON, "(a=((1)), b=(('x' \"y\")), c=((1,), 2), d=(((1, 2))), e=([1], {}))", {"a": 1, "b": "xy", "c": [[1], 2], "d": [1, 2], "e": [[1], {}]}),
    (PYTHON, "(a=({'k': ('v')}), b=([(1), (2,)]))", {"a": {"k": "v"}, "b": [1, [2]]}),
    (PYTHON, "(a='it\\'s \\\"q\\\"', b=\"it's\")", {"a": "it's \"q\"", "b": "it's"}),
    (PYTHON, "(a='''it's ''two'' \\''' ''', b=\"\"\"\"q\" \"\"\")", {"a": "it's ''two'' ''' ", "b": '"q" '}),
    (PYTHON, "(a='' '', b=''\n\"x\" '''y''', c='x''y'\"z\" r'\\n')", {"a": "", "b": "xy", "c": "xyz\\n"}),
    (PYTHON, "(a=r'\\d\\'\\\\', b=R\"\\\" \", c=u'\\n', d={r'\\n': u'', U'k' 'ey': 1, r: 2})", {"a": "\\d\\'\\\\", "b": '\\" ', "c": "\n", "d": {"\\n": "", "key": 1, "r": 2}}),
    (PYTHON, "(a='\\a\\b\\f\\n\\r\\t\\v\\\\')", {"a": "\a\b\f\n\r\t\v\\"}),
    (PYTHON, "(a='\\0\\7\\18\\101\\777\\x41\\u00e9\\U0001F600')", {"a": "\0\7\x018A\u01ffAé😀"}),
    (PYTHON, "(a='\\N{BULLET}\\N{dollar sign}')", {"a": "•$"}),
    (PYTHON, "(a='\\d\\/\\é\\ \\8\\%')", {"a": "\\d\\/\\é\\ \\8\\%"}),
    (PYTHON, "(a='x\\\ny\\\r\nz\\\rq')", {"a": "xyzq"}),
    (PYTHON, "(a='two\nlines', b='\x00')", {"a": "two\nlines", "b": "\x00"}),
    (PYTHON, "(a='\\ud83d\\ude00\\ud83d \\uDE00\ud83d')", {"a": "😀\ufffd \ufffd\ufffd"}),
    (PYTHON, "(a={'\\ud83d\\ude00': '', \"k\" 'ey': 1, 'it\\'s': 2})", {"a": {"😀": "", "key": 1, "it's": 2}}),
    (PYTHON, "(a=0x1F, b=-0b1_1, c=+0o17, d=1_000, e=.5, f=1., g=1_0.5e-1_0)", {"a": 31, "b": -3, "c": 15, "d": 1000, "e": 0.5, "f": 1.0, "g": 10.5e-10}),
    (PYTHON, "(a=0, b=-0.0, c=1E400, d=12345678901234567890)", {"a": 0, "b": -0.0, "c": float("inf"), "d": 12345678901234567890}),
    (PYTHON, "(a=\"x)y]z}\", b='[1, (2)]')", {"a": "x)y]z}", "b": "[1, (2)]"}),
    (PYTHON, "\t( é =\r\n1 )\n", {"é": 1}),
    (LENIENT, "(command='sed -n '360,450p' /x.py')", {"command": "sed -n '360,450p' /x.py"}),
    (LENIENT, "(a='it's', b=[ 'don't' , 'x'y' ], c={'it's' : 'a:b' })", {"a": "it's", "b": ["don't", "x'y"], "c": {"it's": "a:b"}}),
    (LENIENT, "(a='', b='\\'', c=''x'', d='x' \n 'y' z')", {"a": "", "b": "'", "c": "'x'", "d": "x' \n 'y' z"}),
    (LENIENT, "(a='x]', b=['y)'], c=\"say \"hi\" :)\", d=r'\\'a'b')", {"a": "x]", "b": ["y)"], "c": 'say "hi" :)', "d": "\\'a'b"}),
    (LENIENT, "(a='''x'y''' 'z'', b='\\n'\\n'')", {"a": "x'yz'", "b": "\n'\n'"}),
    (MARKED, '{key:<|"|>te"x\\t\n<|"|>, n : 1,o:{a:true,b:[<|"|><|"|>,null]}}', {"key": 'te"x\\t\n', "n": 1, "o": {"a": True, "b": ["", None]}}),
    (MARKED, '{<|"|>k<|"|>:{"x":1.5e10},q:"raw \\"quoted\\"",r:<|"|><|"<|<|"|>}', {"k": {"x": 15000000000.0}, "q": 'raw "quoted"', "r": '<|"<|'}),
    (MARKED, "{}", {}),
    (ESCAPED, "{a:<escape>it's \"q\" <esc \\<escape>,$b/c:<escape><<escape>}", {"a": "it's \"q\" <esc \\", "$b/c": "<"}),
    ({"quotes": ("'",), "escapes": False}, "(a='x\\', b=r'\\'')", {"a": "x\\", "b": "\\'"}),
    ({"open": "[", "close": "]", "assign": ":"}, "[a: {'k': 'v'}]", {"a": {"k": "v"}}),
    ({"open": "<", "close": ">", "assign": "~", "quotes": ("aab",), "escapes": False}, "<k~aabaaaab,l~aab-aaaab>", {"k": "aa", "l": "-aa"}),
]  # fmt: skip


@looped("form, text, value", VALUES, ids=[case[1] for case in VALUES])
def test_a_text_says_its_value_however_it_is_cut(form: dict[str, Any], text: str, value: Any):
    whole = run([text], form)
    assert repr(value_of(whole)) == repr(value)
    for pieces in (list(text), *every_cut_in_two(text)):
        assert joined(run(pieces, form)) == joined(whole)
        assert joined(frozen_after_each(pieces, form)) == joined(whole)


AFTER_INTEGER = "a digit, '.', 'e' or the end of the number"
ERRORS: list[tuple[dict[str, Any], str, str, int, str, str, Path]] = [
    (PYTHON, "", "truncated", 0, "'('", "", ()),
    (PYTHON, " x", "malformed", 1, "'('", "x", ()),
    (PYTHON, "(", "truncated", 1, "a key or ')'", "", ()),
    (PYTHON, "(ab", "truncated", 3, "a key, then '='", "", ()),
    (PYTHON, "(a ", "truncated", 3, "'='", "", ()),
    (PYTHON, "(a=", "truncated", 3, "a value", "", ()),
    (PYTHON, "(a=1", "truncated", 4, AFTER_INTEGER, "", ("a",)),
    (PYTHON, "(a=1 ", "truncated", 5, "',' or ')'", "", ()),
    (PYTHON, "(a='", "truncated", 4, 'the closing "\'" of a string', "", ("a",)),
    (PYTHON, "(a='x\\", "truncated", 6, 'the closing "\'" of a string', "", ("a",)),
    (PYTHON, "(a='''x''", "truncated", 9, "the closing \"'''\" of a string", "", ("a",)),
    (PYTHON, "(a='x' ", "truncated", 7, "',' or ')'", "", ("a",)),
    (LENIENT, "(a='x' ", "truncated", 7, "',' or ')'", "", ("a",)),
    (PYTHON, "(a=r", "truncated", 4, "the opening quote of a string", "", ("a",)),
    (PYTHON, "(a=Tru", "truncated", 6, "True", "", ("a",)),
    (PYTHON, "(a=[", "truncated", 4, "a value or ']'", "", ("a",)),
    (PYTHON, "(a=(1, 2", "truncated", 8, AFTER_INTEGER, "", ("a", 1)),
    (PYTHON, "(a=('x'", "truncated", 7, "',' or ')'", "", ("a", 0)),
    (PYTHON, "(a={", "truncated", 4, "a key or '}'", "", ("a",)),
    (PYTHON, "(a={'k", "truncated", 6, 'the closing "\'" of a string', "", ("a",)),
    (PYTHON, "(a={'k'", "truncated", 7, "':'", "", ("a",)),
    (MARKED, '{a:<|"', "truncated", 6, "a value", "", ()),
    (PYTHON, "('x')", "malformed", 1, "a key or ')'", "'", ()),
    (PYTHON, "(1, 2)", "malformed", 2, "'='", ",", ()),
    (PYTHON, "(x)", "malformed", 2, "'='", ")", ()),
    (PYTHON, "(https://x.org)", "malformed", 6, "'='", ":", ()),
    (PYTHON, "(**a)", "malformed", 1, "a key or ')'", "*", ()),
    (PYTHON, "(,)", "malformed", 1, "a key or ')'", ",", ()),
    (PYTHON, "(a=1,,)", "malformed", 5, "a key or ')'", ",", ()),
    (PYTHON, "(a==1)", "malformed", 3, "a value", "=", ()),
    (PYTHON, "(a=,)", "malformed", 3, "a value", ",", ()),
    (PYTHON, "(a=)", "malformed", 3, "a value", ")", ()),
    (PYTHON, "(a=1]", "malformed", 4, AFTER_INTEGER, "]", ("a",)),
    (PYTHON, "(a=[1)", "malformed", 5, AFTER_INTEGER, ")", ("a", 0)),
    (PYTHON, "(a=[,])", "malformed", 4, "a value or ']'", ",", ("a",)),
    (PYTHON, "(a=(,))", "malformed", 4, "a value or ')'", ",", ("a",)),
    (PYTHON, "(a=1) x", "malformed", 6, "the end of the text", "x", ()),
    (PYTHON, "(a=f(x))", "malformed", 4, "false", "(", ("a",)),
    (PYTHON, "(a=x)", "malformed", 3, "a value", "x", ()),
    (PYTHON, "(a=1+2)", "malformed", 4, AFTER_INTEGER, "+", ("a",)),
    (PYTHON, "(a='x' + 'y')", "malformed", 7, "',' or ')'", "+", ()),
    (PYTHON, "(a='x'.y)", "malformed", 6, "',' or ')'", ".", ()),
    (PYTHON, "(a=('x') 'y')", "malformed", 9, "',' or ')'", "'", ()),
    (PYTHON, "(a={1, 2})", "malformed", 5, "':'", ",", ("a",)),
    (PYTHON, "(a=b'x')", "malformed", 3, "a value", "b", ()),
    (PYTHON, "(a=f'x')", "malformed", 4, "false", "'", ("a",)),
    (PYTHON, "(a=rb'x')", "malformed", 4, "the opening quote of a string", "b", ("a",)),
    (PYTHON, "(a='x' r)", "malformed", 8, "the opening quote of a string", ")", ("a",)),
    (PYTHON, "(a=nan)", "malformed", 4, "null", "a", ("a",)),
    (PYTHON, "(a=inf)", "malformed", 3, "a value", "i", ()),
    (PYTHON, "(a=-inf)", "malformed", 4, "a digit", "i", ("a",)),
    (PYTHON, "(a=Truex)", "malformed", 7, "',' or ')'", "x", ()),
    (PYTHON, "(a=1j)", "malformed", 4, AFTER_INTEGER, "j", ("a",)),
    (PYTHON, "(a=007)", "malformed", 4, "'.', 'e', 'x', 'o', 'b' or the end of the number", "0", ("a",)),
    (PYTHON, "(a=1__0)", "malformed", 5, "a digit", "_", ("a",)),
    (PYTHON, "(a=1_)", "malformed", 5, "a digit", ")", ("a",)),
    (PYTHON, "(a=0x)", "malformed", 5, "a hexadecimal digit", ")", ("a",)),
    (PYTHON, "(a=0b12)", "malformed", 6, "a binary digit or the end of the number", "2", ("a",)),
    (PYTHON, "(a=.)", "malformed", 4, "a digit", ")", ("a",)),
    (PYTHON, "(a=1e)", "malformed", 5, "a digit or a sign", ")", ("a",)),
    (PYTHON, "(a=1._0)", "malformed", 5, "a digit, 'e' or the end of the number", "_", ("a",)),
    (PYTHON, "(a='\\x4z')", "malformed", 7, "two hex digits", "z", ("a",)),
    (PYTHON, "(a='C:\\Users')", "malformed", 8, "eight hex digits, at most 0010ffff", "s", ("a",)),
    (PYTHON, "(a='\\U00110000')", "malformed", 9, "eight hex digits, at most 0010ffff", "1", ("a",)),
    (PYTHON, "(a='\\ud83d\\u+')", "malformed", 12, "four hex digits", "+", ("a",)),
    (PYTHON, "(a='\\N')", "malformed", 6, "the name of a character in braces", "'", ("a",)),
    (PYTHON, "(a='\\N{NO SUCH}')", "malformed", 14, "the name of a character in braces", "}", ("a",)),
    (PYTHON, "(a='\\N{KEYCAP DIGIT ONE}')", "malformed", 23, "the name of a character in braces", "}", ("a",)),
    (PYTHON, "(a={'k\\x': 1})", "malformed", 8, "two hex digits", "'", ("a",)),
    (MARKED, "{a:<|x}", "malformed", 5, "the rest of a quote", "x", ()),
    (MARKED, "{a:Paris}", "malformed", 3, "a value", "P", ()),
    (MARKED, '{a:<|"|>x<|"|><|"|>y<|"|>}', "malformed", 14, "',' or '}'", "<", ()),
    (MARKED, "{a:r<|", "malformed", 4, "the opening quote of a string", "<", ("a",)),
    (ESCAPED, "{a:r", "malformed", 3, "a value", "r", ()),
    (PYTHON, "(\ud83d=1)", "malformed", 1, "a key or ')'", "\ufffd", ()),
]


@looped("form, text, reason, at, expected, found, path", ERRORS, ids=[repr(case[1]) for case in ERRORS])
def test_an_error_names_the_offending_character(
    form: dict[str, Any], text: str, reason: Any, at: int, expected: str, found: str, path: Path
):
    error = JsonError(reason, at, expected, found, path)
    for pieces in ([text], list(text), *every_cut_in_two(text)):
        *before, last = run(pieces, form)
        assert last == error
        assert not any(isinstance(item, JsonError) for item in before)
        assert joined(before) == joined(run([text], form)[:-1])


def test_what_was_certain_comes_before_the_error_and_nothing_after_it():
    machine = LiteralMachine()
    items = machine.feed("(a='b\\x')")
    assert shown(items) == ["OPEN  '{' @0", "OPEN a '\"' @3", "TEXT a 'b' @4", "malformed 7"]
    assert machine.error == items[-1]
    assert not machine.root_closed
    assert (machine.at, machine.read) == (7, 9)
    assert list(machine.feed("')")) == []
    assert list(machine.close()) == []


def test_the_arguments_are_closed_as_soon_as_that_is_certain():
    for text in ("()", "(a=1)", "(a=('x'))", "(a='')"):
        machine = LiteralMachine()
        assert machine.is_blank
        machine.feed(text[:-1])
        assert not machine.root_closed
        assert not machine.is_blank
        machine.feed(text[-1])
        assert machine.root_closed
        assert machine.at == len(text)
        assert list(machine.close(cut=True)) == []


def test_text_that_was_closed_takes_no_more():
    machine = LiteralMachine()
    machine.feed("(a='b")
    assert shown(machine.close()) == ["truncated 5"]
    assert list(machine.feed("c')")) == []
    assert list(machine.close()) == []


def test_an_empty_piece_gives_nothing_wherever_it_comes():
    machine = LiteralMachine()
    for letter in "(a='x\\n' 'y', b=(1, [True]), c={'k': ('''z''')})":
        machine.feed(letter)
        at = machine.at
        assert list(machine.feed("")) == []
        assert machine.at == at
    assert machine.root_closed


def test_only_what_the_next_character_decides_waits():
    machine = LiteralMachine()
    given = [shown(machine.feed(piece)) for piece in ("(a='x", "\\", "n'", " ", ",b=tru", "e", ",c=1", "2", ")")]
    assert given == [
        ["OPEN  '{' @0", "OPEN a '\"' @3", "TEXT a 'x' @4"],
        [],
        ["TEXT a '\\n' @5"],
        [],
        ["DONE a @7"],
        ["SCALAR b True @12", "DONE b @16"],
        [],
        [],
        ["SCALAR c 12 @19", "DONE c @21", "DONE  @21"],
    ]


def test_text_stands_behind_the_lines_that_were_joined_before_it():
    machine = LiteralMachine()
    machine.feed("(a='-")
    assert shown(machine.feed("\\\nx")) == ["TEXT a 'x' @7"]


def test_what_stands_in_parentheses_waits_for_the_first_comma():
    machine = LiteralMachine()
    given = [shown(machine.feed(piece)) for piece in ("(a=(", "('x'", ")", ",", "'y", "'))")]
    assert given == [
        ["OPEN  '{' @0"],
        [],
        [],
        ["OPEN a '[' @3", "OPEN a.0 '\"' @5", "TEXT a.0 'x' @6", "DONE a.0 @7"],
        ["OPEN a.1 '\"' @10", "TEXT a.1 'y' @11"],
        ["DONE a.1 @12", "DONE a @13", "DONE  @14"],
    ]


@given(st.data())
def test_the_value_is_what_python_reads_however_the_text_is_cut(data: st.DataObject):
    text = data.draw(call_arguments())
    items = run(data.draw(cuts(text)))
    assert repr(value_of(items)) == repr(loads(text))
    assert joined(items) == joined(run([text]))


PLAIN_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.tuples(inner),
        st.dictionaries(st.text(max_size=4), inner, max_size=3),
    ),
    max_leaves=6,
)


@given(st.data())
def test_the_repr_of_a_value_is_read_as_the_value(data: st.DataObject):
    value = data.draw(PLAIN_VALUES)
    text = f"(value={value!r})"
    expected = msgspec.to_builtins({"value": value}, builtin_types=())
    for form in (PYTHON, LENIENT):
        items = run(data.draw(cuts(text)), form)
        assert value_of(items) == value_of(run([text])) == with_lists(expected)


def with_lists(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [with_lists(each) for each in value]
    return {key: with_lists(each) for key, each in value.items()} if isinstance(value, dict) else value


@given(st.data())
def test_marked_strings_hold_any_text_but_their_marker(data: st.DataObject):
    pieces = st.sampled_from(["a", "<", "|", '"', ">", '<|"', "|>", "\\", "\\n", "\n", "}", ",", "😀", "<escape"])
    said = [
        re.sub(r'<\|"\|>|<escape>', "", "".join(each))
        for each in data.draw(st.lists(st.lists(pieces, max_size=6), max_size=3))
    ]
    for form in (MARKED, ESCAPED):
        quote = form["quotes"][0]
        # What ends as the marker begins would run into it.
        texts = [text for text in said if (text + quote).find(quote) == len(text)]
        text = "{a:[" + ",".join(f"{quote}{text}{quote}" for text in texts) + "]}"
        assert value_of(run(data.draw(cuts(text)), form)) == {"a": texts}


@given(st.data())
def test_any_text_gives_the_same_however_it_is_cut_and_wherever_it_is_frozen(data: st.DataObject):
    text = data.draw(st.one_of(call_arguments(), nearly_call_arguments()))
    form = FORMS[data.draw(st.sampled_from(sorted(FORMS)))]
    if form in (MARKED, ESCAPED):
        text = text.replace("(", "{", 1).replace("'", form["quotes"][0]).replace("=", ":")
    pieces = data.draw(cuts(text))
    items = run(pieces, form)
    assert joined(items) == joined(run([text], form))
    assert frozen_after_each(pieces, form) == items


@given(st.data())
def test_nothing_is_wrong_before_the_place_of_the_error(data: st.DataObject):
    text = data.draw(nearly_call_arguments())
    error = run([text])[-1]
    if isinstance(error, JsonError) and error.reason == "malformed":
        assert error.found in (text[error.at], "\ufffd")
        assert [item.reason for item in run([text[: error.at]]) if isinstance(item, JsonError)] in ([], ["truncated"])


@given(st.data())
def test_every_fragment_stands_where_it_says(data: st.DataObject):
    text = data.draw(call_arguments())
    items = [item for item in run(data.draw(cuts(text))) if isinstance(item, Fragment)]
    for item in items:
        here = text[item.at]
        if item.kind == "OPEN":
            assert here in {"{": "({", "[": "[(", '"': "'\"rRuU"}[item.value]
        elif item.kind == "TEXT":
            assert here in ("\\", item.value[0]) or item.value[0] == "\ufffd"
        elif item.kind == "SCALAR":
            assert here in "+-.0123456789TFN"
    assert [item.at for item in items] == sorted(item.at for item in items)


@given(st.data())
def test_the_fragments_of_one_value_share_one_path_object(data: st.DataObject):
    text = data.draw(call_arguments())
    open_paths: list[Path] = []
    for item in run(data.draw(cuts(text))):
        assert isinstance(item, Fragment)
        if item.kind in ("OPEN", "SCALAR"):
            open_paths.append(item.path)
        assert item.path is open_paths[-1]
        if item.kind == "DONE":
            open_paths.pop()


ESCAPES = re.compile(
    r"\\(?:u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|N\{(BULLET)\}|([0-7]{1,3})|(\r\n|[^xuUN]))",
)


def without_halves(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def said_slowly(raw: str, quote: str, *, reads: str, lenient: bool) -> tuple[str, str]:
    """Say what a string says, character by character, and what stopped it: `end` (of the text), `quote` or `wrong`."""
    said: list[str] = []
    at = 0
    while at < len(raw):
        if raw.startswith(quote, at):
            after = raw[at + len(quote) :].lstrip(" \t\n\r")
            if not lenient or not after or after[0] in ",)":
                return without_halves("".join(said)), "quote"
            said.append(quote)
            at += len(quote)
        elif raw[at] != "\\" or reads == "plain":
            said.append(raw[at])
            at += 1
        elif reads == "guards":
            said.append(raw[at : at + 2])
            at += 2
        else:
            match = ESCAPES.match(raw, at)
            if match is None:
                return without_halves("".join(said)), "wrong"
            high, low, *codes, name, octal, other = match.groups()
            code = next(filter(None, codes), None)
            if high:
                said.append((bytes.fromhex(high) + bytes.fromhex(low)).decode("utf-16-be"))
            elif code:
                said.append(chr(int(code, 16)))
            elif octal:
                said.append(chr(int(octal, 8)))
            elif name:
                said.append({"BULLET": "•"}[name])
            else:
                shorts = {"a": "\a", "n": "\n", "\\": "\\", "'": "'", '"': '"', "\n": "", "\r": "", "\r\n": ""}
                said.append(shorts.get(other, f"\\{other}"))
            at = match.end()
    return without_halves("".join(said)), "end"


SUFFIXES = [
    *(whole[start:] for whole in ("\\ude00", "\\u0041", "\\n", "\\ud83d", "\\N{BULLET}") for start in range(len(whole))),
    *("", "x", "'", "''", "'''", '"|>', "|>", ">", '|"|>', ",", " ,", "7", "77", "\n", "\r", "1", "41", "00e9", "0041"),
    *("00000041", "0000041", "000041", "0de00", "d\\ude00", "3d\\ude00", "83d\\ude00", "d83d\\ude00"),
]  # fmt: skip

FLAVOURS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "short": ("(a='-", "'", "escapes", PYTHON),
    "triple": ("(a='''-", "'''", "escapes", PYTHON),
    "raw": ("(a=r'-", "'", "guards", PYTHON),
    "lenient": ("(a='-", "'", "escapes", LENIENT),
    "marker": ('{a:<|"|>-', '<|"|>', "plain", MARKED),
}
RAW_PIECES = [
    *("a", "é", "😀", "\\n", "\\'", "\\\\", "\\u0041", "\\ud83d", "\\ude00", "\\101", "\\1", "\\d", "\\x41", "\n"),
    *("\\\n", "\\\r", "\\N{BULLET}", "\\U00000041", " ", ",", "'", "''", '"', "<", "<|", '<|"|', "\\", "\\u00", "\\x"),
]


@pytest.mark.parametrize("name", FLAVOURS)
@given(data=st.data())
def test_text_of_a_string_is_given_as_soon_as_it_is_certain(name: str, data: st.DataObject):
    start, quote, reads, form = FLAVOURS[name]

    def said(raw: str) -> tuple[str, str]:
        return said_slowly(raw, quote, reads=reads, lenient=form is LENIENT)

    raw = "".join(data.draw(st.lists(st.sampled_from(RAW_PIECES), max_size=5)))
    machine = LiteralMachine(**form)
    machine.feed(start)
    given = ""
    for at, letter in enumerate(raw, 1):
        items = [item for item in machine.feed(letter) if isinstance(item, Fragment)]
        given += "".join(item.value for item in items if item.kind == "TEXT")
        if machine.error is not None or said(raw[:at] + "-")[1] == "quote":
            break
        futures = [said(raw[:at] + suffix)[0] for suffix in SUFFIXES]
        agreed = takewhile(lambda letters: len(set(letters)) == 1, zip(*futures, strict=False))
        assert given == "".join(letters[0] for letters in agreed)


SMALL = Limits(depth=3, key_length=4, number_length=5, arguments_length=60)
LIMITED: list[tuple[str, int | None]] = [
    ("(a=[[1]])", None),
    ("(a=[[[1]]])", 5),
    ("(a=(([1])))", 5),
    ("(a={'k': {'l': {}}})", 15),
    ("(abcd=1, b={'abcd': 1, r'ab\\d': 2, '\\x41': 3})", None),
    ("(abcde=1)", 5),
    ("(abcde", 5),
    ("(a={'abcde': 1})", 9),
    ("(a={'''abcde''': 1})", 11),
    ("(a={'abc\\x41': 1})", 9),
    ("(a={'ab' 'cde': 1})", 12),
    ("(a={r'abc\\'': 1})", 10),
    ("(a={'ab\\N{BULLET}': 1})", 9),
    ("(a=12345)", None),
    ("(a=123456)", 8),
    ("(a=-0x1F_)", 8),
    ("(a='" + "x" * 54 + "')", None),
    ("(a='" + "x" * 55 + "')", 60),
    ("(a=1)" + " " * 56, 60),
]


@looped("text, at", LIMITED, ids=[text for text, _ in LIMITED])
def test_what_exceeds_a_limit_fails_at_the_first_character_beyond_it(text: str, at: int | None):
    form = {"limits": SMALL}
    whole = run([text], form)
    error = whole[-1]
    if at is None:
        assert isinstance(error, Fragment)
    else:
        assert isinstance(error, JsonError)
        assert (error.reason, error.at) == ("limit", at)
    for pieces in (list(text), *every_cut_in_two(text)):
        assert joined(run(pieces, form)) == joined(whole)


def test_what_stood_beyond_the_limit_is_counted():
    machine = LiteralMachine(limits=SMALL)
    machine.feed("(a='" + "x" * 50)
    assert machine.excess == 0
    machine.feed("y" * 10)
    assert (machine.excess, machine.read) == (4, 60)


def test_an_integer_beyond_the_interpreters_own_limit_is_a_limit_error_too():
    limit = sys.get_int_max_str_digits()
    items = run(["(a=" + "1" * (limit + 1) + ")"], {"limits": Limits(number_length=10 * limit)})
    assert shown(items) == ["OPEN  '{' @0", f"limit {limit + 4}"]


def test_depth_costs_no_recursion():
    depth = 2 * sys.getrecursionlimit()
    for bracket, end in ("[]", "()"):
        text = "(a=" + bracket * depth + "1" + end * depth + ")"
        items = run([text], {"limits": Limits(depth=depth + 1)})
        assert len(items) == (2 * depth if bracket == "[" else 0) + 4


@pytest.mark.parametrize(
    "form",
    [
        {"open": "(("},
        {"close": ""},
        {"assign": "=>"},
        {"quotes": ("'", "'''")},
        {"quotes": ("'", "")},
        {"quotes": ("",)},
        {"quotes": ()},
    ],
)
def test_a_grammar_that_cannot_be_read_is_refused(form: dict[str, Any]):
    with pytest.raises(UsageError):
        LiteralMachine(**form)


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


UNITS: dict[str, tuple[dict[str, Any], str, str]] = {
    "plain text": (PYTHON, "(a='", "it was the best of times " * 4),
    "source text": (PYTHON, "(a='", "if a:\\n    say(\\'b\\\\\\', 1)\\n" * 4),
    "unicode escapes": (PYTHON, "(a='", "gr\\u00f6\\u00dfe \\ud83d\\ude00 \\N{BULLET}" * 4),
    "triple": (PYTHON, '(a="""', 'say "hi" and ""\n' * 4),
    "lenient": (LENIENT, "(a='", "it's 'here' \n" * 4),
    "marked": (MARKED, '{a:<|"|>', "a < b || c <|\n" * 4),
    "objects": (PYTHON, "(a=[", "{'id': 12, 'tags': ('x', True)}," * 3),
}


@looped("size", [1, 4, 100])
@looped("name", UNITS)
def test_the_calls_for_a_delta_do_not_grow_with_what_came_before(name: str, size: int):
    form, start, unit = UNITS[name]
    unit *= size  # then every round has the same pieces
    pieces = [unit[at : at + size] for at in range(0, len(unit), size)]
    machine = LiteralMachine(**form)
    machine.feed(start)
    rounds = [calls_of(machine.feed, pieces) for _ in range(20)]
    assert machine.error is None
    assert len(set(rounds[1:])) == 1


class Counting:
    """A pattern that counts the characters at which it looks."""

    looked_at = 0

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._match = pattern.match

    def match(self, text: str, position: int = 0) -> re.Match[str] | None:
        found = self._match(text, position)
        Counting.looked_at += (len(found[0]) if found else 0) + 12
        return found


LONG_TEXTS = {
    "text": "(a='" + "x" * 30_000 + "')",
    "escapes": "(a='" + "\\'" * 15_000 + "')",
    "pairs": "(a='" + "\\ud83d\\ude00" * 2500 + "')",
    "triple": "(a=(('''" + "''-" * 10_000 + "''')))",
    "key": "(a={'" + "k" * 30_000 + "': 1})",
    "bare key": "(" + "k" * 30_000 + "=1)",
    "blanks": "(a='x'" + " " * 30_000 + ")",
}


@pytest.mark.laws
@pytest.mark.parametrize("name", LONG_TEXTS)
@pytest.mark.parametrize("form", [PYTHON, LENIENT], ids=["python", "lenient"])
def test_each_character_is_looked_at_a_constant_number_of_times(
    form: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
):
    def counted(quote: str, reads: Any) -> StringForm:
        found = string_form(quote, reads)
        return found._replace(pattern=Counting(found.pattern))  # type: ignore[arg-type]

    monkeypatch.setattr(literal_machine, "string_form", counted)
    for module, matcher in ((value_machine, "_match_blanks"), (literal_machine, "_match_bare_key")):
        monkeypatch.setattr(module, matcher, Counting(getattr(module, matcher).__self__).match)
    text = LONG_TEXTS[name]
    for size in (1, 4, 1000, len(text)) if is_deep() else (7, 1000):
        Counting.looked_at = 0
        items = run((text[at : at + size] for at in range(0, len(text), size)), form)
        assert not isinstance(items[-1], JsonError)
        assert Counting.looked_at <= 24 * len(text)


MUTANTS = {
    "any first key of braces is that of a set": ("malformed", ("operators/machines/literal_machine.py", "            self._end_key()\n            self._note_dict()\n", "            self._end_key()\n")),
}  # fmt: skip
