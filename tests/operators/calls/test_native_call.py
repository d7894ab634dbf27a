from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from strategies.cuts import cuts

from penstock.events.segment_event import Fragment, JsonError
from penstock.operators.calls.native_call import NativeCall
from penstock.operators.engine.limits import Limits
from penstock.operators.machines.json_machine import JsonMachine


def new(kind: Any = "json", executed_by: Any = "client", limits: Limits | None = None) -> NativeCall:
    return NativeCall(0, "c", "c", "f", kind, executed_by, limits or Limits())


def pieces_of(text: str) -> list[Fragment]:
    machine = JsonMachine()
    return [each for each in (*machine.feed(text), *machine.close()) if isinstance(each, Fragment)]


def test_arguments_that_come_whole_have_no_fragments_and_are_closed() -> None:
    call = new()
    assert call.feed(' {"a": 1}\n') is None
    assert call.closed
    assert call.end() is None
    assert call.error is None


def test_arguments_in_pieces_have_their_fragments() -> None:
    call = new()
    given = [*(call.feed('{"a"') or ()), *(call.feed(": 1}") or ())]
    assert given == pieces_of('{"a": 1}')
    assert call.closed


@pytest.mark.parametrize(("rest", "closed"), [(" \n", True), ("x", False), ('{"b": 2}', False)])
def test_what_comes_after_whole_arguments_is_read_after_them(rest: str, closed: bool) -> None:
    call = new()
    call.feed('{"a": 1}')
    assert call.feed(rest) == ()
    assert call.closed is closed
    assert (call.error is None) is closed
    if call.error is not None:
        assert (call.error.reason, call.error.at) == ("malformed", 8)


def test_blanks_before_the_arguments_are_no_arguments() -> None:
    call = new()
    assert call.feed(" \t\r\n") == ()
    assert not call.has_text
    assert not call.closed
    assert call.feed("{}") == (Fragment((), "OPEN", "{", 4), Fragment((), "DONE", None, 5))
    assert call.has_text
    assert call.closed


@looped(
    "pieces, given, rest",
    [
        (['{"a": 1}'], '{"a": 1}', ""),
        (['{"a": 1} \n'], '{"a": 1}', " \n"),
        (['{"a": 1}x'], '{"a": 1}', "x"),
        (['{"a"', ": 1} x"], ": 1}", " x"),
        (["[[]", "]]"], "]", "]"),
        (['"a', 'b"c'], 'b"', "c"),
        (['{"a"', ": 1"], ": 1", ""),
        (["{", "]x"], "]x", ""),
        (["", ' {"a": "}"} {}'], ' {"a": "}"}', " {}"),
    ],
)
def test_text_is_taken_up_to_where_the_root_closes(pieces: list[str], given: str, rest: str) -> None:
    call = new()
    for piece in pieces[:-1]:
        call.feed_to_root(piece)
    text, _, left = call.feed_to_root(pieces[-1])
    assert (text, left) == (given, rest)
    assert call.closed is (pieces[-1] not in (": 1", "]x"))


def test_free_form_text_has_no_root() -> None:
    text, fragments, rest = new("text").feed_to_root("{} {}")
    assert (text, len(fragments or ()), rest) == ("{} {}", 3, "")


def test_nothing_is_closed_before_anything_came_nor_after_an_error() -> None:
    call = new()
    assert not call.closed
    assert call.end() is None
    call.feed("{]")
    assert not call.closed
    assert isinstance(call.error, JsonError)
    assert call.feed("}") == ()
    assert call.end() is None
    assert call.error.at == 1


def test_a_root_number_is_known_at_the_end() -> None:
    call = new()
    assert call.feed("12") == ()
    assert not call.closed
    assert [piece.kind for piece in call.end() or ()] == ["SCALAR", "DONE"]
    assert call.error is None


def test_what_did_not_close_is_truncated_at_the_end() -> None:
    call = new()
    call.feed('{"a": "x')
    assert call.end() is None
    assert call.error is not None
    assert (call.error.reason, call.error.at, call.error.path) == ("truncated", 8, ("a",))


def test_only_too_much_text_is_over_the_limit_and_what_is_wrong_already_counts_too() -> None:
    malformed, deep = new(limits=Limits(arguments_length=4)), new(limits=Limits(depth=1))
    malformed.feed("{]")
    deep.feed('{"a": []}')
    assert [malformed.over_limit, deep.over_limit, new().over_limit] == [False, False, False]
    malformed.feed("abc")
    assert (malformed.over_limit, malformed.excess) == (True, 1)


@pytest.mark.parametrize("size", [1, 4, 12])
def test_the_length_of_all_arguments_is_limited_however_they_come(size: int) -> None:
    text = '{"a": "bcd"}'
    for length, over in ((len(text), False), (len(text) - 1, True)):
        call = new(limits=Limits(arguments_length=length))
        for start in range(0, len(text), size):
            call.feed(text[start : start + size])
        assert call.over_limit is over


def test_free_form_text_is_the_field_input_of_an_object() -> None:
    call = new("text")
    assert call.feed("{") == (
        Fragment((), "OPEN", "{"),
        Fragment(("input",), "OPEN", '"'),
        Fragment(("input",), "TEXT", "{", 0),
    )
    assert call.feed("é\n") == (Fragment(("input",), "TEXT", "é\n", 1),)
    assert call.end() == (Fragment(("input",), "DONE", None, 3), Fragment((), "DONE", None, 3))
    assert not call.closed


def test_free_form_without_text_has_no_fragments() -> None:
    assert new("text").end() is None


def test_free_form_text_beyond_the_limit_is_an_error_once() -> None:
    call = new("text", limits=Limits(arguments_length=3))
    call.feed("abc")
    assert call.feed("d") == call.feed("e") == ()
    assert call.over_limit
    assert call.end() is None


def test_the_metadata_says_what_is_not_usual() -> None:
    assert new().metadata() == {"tool_name": "f"}
    assert new("text", "provider").metadata() == {"tool_name": "f", "kind": "text", "executed_by": "provider"}
    call = new()
    call.native = {"a": 1}
    assert call.metadata() == {"tool_name": "f", "native": {"a": 1}}


TEXTS = ['{"a": "x\\ud83d\\ude00", "b": [-1.5, null]}', ' {"a": {}} ', "12 ", '{"a": 1} x', '{"a"', "  ", "{]"]


@settings(deadline=None)
@given(st.data(), st.sampled_from(TEXTS), st.sampled_from(("json", "text")))
def test_dumped_and_loaded_after_any_piece_it_goes_on_the_same(data: st.DataObject, text: str, kind: str) -> None:
    unbroken, frozen = new(kind), new(kind)
    for piece in data.draw(cuts(text)):
        assert frozen.feed(piece) == unbroken.feed(piece)
        state = msgspec.json.decode(msgspec.json.encode(frozen.dump()))
        frozen = new(kind)
        frozen.load(state)
        assert (frozen.closed, frozen.error, frozen.metadata()) == (
            unbroken.closed,
            unbroken.error,
            unbroken.metadata(),
        )
    assert frozen.end() == unbroken.end()
    assert frozen.error == unbroken.error
