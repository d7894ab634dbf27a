"""`OpenCall`: when the tool may begin, with what, and what makes a call one that must not run."""

from __future__ import annotations

from typing import Any

import pytest
from looped import looped
from read_calls import LAST, pieces_of

from penstock.events import SegmentEnd, SegmentEvent, SegmentStart, ToolInvocation
from penstock.operators import drive, to_segments
from penstock.operators.engine.limits import Limits
from penstock.sinks.acting.open_call import OpenCall, cut_reason, wanted_by

WANTED = wanted_by("content", ("path", "content", "mode"), ("path", "content"))


def read(*pieces: str, limit: int = 65_536) -> tuple[OpenCall, list[Any]]:
    """Return the call of some arguments, and what it said after each event: the opening, and the pieces of the text."""
    call: OpenCall | None = None
    said: list[Any] = []
    for event in drive([*pieces_of(*pieces), LAST], to_segments(turn_id="t")):
        if isinstance(event, SegmentStart):
            call = OpenCall(event, "save", WANTED, {}, Limits(deferred_length=limit))
        if isinstance(event, SegmentEvent):
            assert call is not None
            text = call.read(event)
            said.append((call.opening, text))
    assert call is not None
    return call, said


def test_it_opens_with_the_text_if_all_that_is_needed_is_there():
    _, said = read('{"path": "a", "content"', ': "', "x", '"}')
    assert said == [
        (None, []),
        (None, []),
        ({"path": "a"}, []),
        ({"path": "a"}, ["x"]),
        ({"path": "a"}, []),
        ({"path": "a"}, []),
    ]


@looped(
    "pieces, at",
    [
        (('{"content": "x", "path": "a"', "}"), 1),
        (('{"content": "x", "path": "a"', ', "mode": "r"', "}"), 1),
        (('{"content": "x", "mode": "r"', ', "path": "a"', "}"), 1),
        (('{"content": "x"', ', "path": "a"}', " "), 1),
    ],
)
def test_behind_the_text_it_waits_for_what_is_not_needed(pieces: tuple[str, ...], at: int):
    call, said = read(*pieces)
    openings = [opening for opening, _ in said[1:]]
    assert openings[:at] == [None] * at
    assert openings[at] == call.others
    assert (call.fault, call.is_late) == (None, False)


def test_what_is_needed_must_have_closed():
    call, _ = read('{"content": "x", "path": ["a"')
    assert call.opening is None


@looped("pieces", [('{"path": "a"}',), ('{"path": "a", "content": 5}',), ("[1]",), ("",), ('"content"',)])
def test_without_a_text_it_never_opens(pieces: tuple[str, ...]):
    call, said = read(*pieces)
    assert (call.opening, call.fault) == (None, None)
    assert [text for _, text in said if text] == []


@looped("text, reason", [("x" * 5, None), ("x" * 6, "limit")])
def test_a_text_that_comes_first_has_a_limit(text: str, reason: str | None):
    for pieces in ((f'{{"content": "{text}", "path": "a"}}',), ('{"content": "', *text, '", "path": "a"}')):
        call, _ = read(*pieces, limit=5)
        assert (call.fault and call.fault.reason) == reason
        assert (call.opening is None) == (reason is not None)
    call, _ = read(f'{{"path": "a", "content": "{text}"}}', limit=5)
    assert call.fault is None


def test_a_text_that_comes_twice_is_a_fault():
    call, said = read('{"path": "a", "content": "x"', ', "content": "y"}')
    assert call.fault is not None
    assert call.fault.errors() == ({"type": "duplicate_key", "loc": ["content"], "msg": "it came twice"},)
    assert [text for _, text in said if text] == [["x"]]


def test_an_argument_behind_the_text_is_late_and_may_be_a_fault():
    call, _ = read('{"path": "a", "content": "x", "mode": "r"}')
    assert (call.opening, call.others, call.is_late) == ({"path": "a"}, {"path": "a", "mode": "r"}, True)
    call.fail_as_late(is_valid=True)
    assert call.fault is not None
    assert (call.fault.reason, call.fault.argument) == ("contradiction", "mode")
    call, _ = read('{"path": "a", "content": "x", "path": "b"}')
    call.fail_as_late(is_valid=False)
    assert call.fault is not None
    assert (call.fault.reason, call.fault.argument) == ("invalid", "path")


@looped(
    "arguments, is_same",
    [
        ({"path": "a", "content": "x"}, True),
        ({"path": "a", "content": "xx"}, False),
        ({"path": "a"}, False),
        ({"path": "a", "content": ["x"]}, False),
        ({"path": "b", "content": "x"}, False),
        ({"path": "a", "content": "x", "mode": "r"}, False),
    ],
)
def test_an_invocation_must_be_the_call_that_was_read(arguments: dict[str, Any], is_same: bool):
    call, _ = read('{"path": "a", "content": "x', '"}')
    call.check(ToolInvocation("c", "t", "save", arguments))
    assert (None if call.fault is None else call.fault.reason) == (None if is_same else "contradiction")


@looped(
    "end, reason",
    [
        (("complete", None, {}), None),
        ((None, None, {}), None),
        (("complete", None, {"duplicate_of": "c"}), "duplicate_call"),
        (("truncated", "length", {}), "truncated"),
        (("interrupted", "Ctrl-C", {"guard": "x"}), "interrupted"),
        (("failed", "invalid", {}), "invalid"),
        (("failed", None, {}), "malformed"),
    ],
)
def test_an_end_says_why_the_call_is_not_run(end: Any, reason: str | None):
    status, why, metadata = end
    assert cut_reason(SegmentEnd("c", "save", status, why, metadata)) == reason


def test_the_read_argument_is_none_of_the_others():
    assert WANTED.required == {"path"}
    assert WANTED.others == {"path", "mode"}
    with pytest.raises(AttributeError):
        WANTED.read = "other"  # type: ignore[misc]
