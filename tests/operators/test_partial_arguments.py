from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from operator import ne
from typing import Any, NamedTuple

import pytest
from answered import answered, before_the_end
from calls_made import calls_made
from depth import is_deep
from hypothesis import given
from hypothesis import strategies as st
from operator_contract import (
    FROM_CALLS,
    FROM_FIELDS,
    SIDE_BY_SIDE,
    STOP,
    TROUBLE,
    TURN,
    Case,
    call,
    frozen,
    read_back,
    thawed,
)
from strategies.answers import answers
from strategies.cuts import cuts
from strategies.json_texts import SAMPLE, in_words, json_texts, loads

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
)
from penstock.operators import (
    Completed,
    Interrupted,
    compose,
    drive,
    holdback,
    stage,
    stream_fields,
    to_invocations,
    to_segments,
    within,
)
from penstock.operators.machines.json_values import MANY
from penstock.operators.partial_arguments import PartialArguments, partial_arguments

CONTRACT = (
    Case("partial_arguments", partial_arguments(keep_segments=True), (*FROM_CALLS, *FROM_FIELDS)),
    Case("partial_arguments read back", partial_arguments(), (*read_back(FROM_CALLS), *read_back(FROM_FIELDS))),
)

Path = tuple[str | int, ...]

CALLS = compose(to_segments(turn_id=TURN), partial_arguments())
FIELDS = compose(to_segments(turn_id=TURN), stream_fields(), partial_arguments())
by_operator = pytest.mark.parametrize("operator", [CALLS, FIELDS], ids=["calls", "fields"])


# An oracle that reads the beginning of a JSON text anew, without the machine.

_BLANKS = re.compile(r"[ \t\n\r]*")
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_HIGH_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_CUT_LOW_ESCAPE = re.compile(r"\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?\Z")
_NOTHING = object()


class Read(NamedTuple):
    value: Any
    end: int
    is_whole: bool


def _is_escape(text: str, place: int) -> bool:
    """Whether the backslash at a place begins an escape rather than ending one."""
    return (place - len(text[:place].rstrip("\\"))) % 2 == 0


def _open_string(body: str) -> str:
    """Return what is certain of the inside of a string that goes on."""
    cut = _CUT_ESCAPE.search(body)
    tail = ""
    if cut is not None and _is_escape(body, cut.start()):
        body, tail = body[: cut.start()], body[cut.start() :]
    high = _HIGH_ESCAPE.search(body)
    if high is not None and _is_escape(body, high.start()) and (not tail or _CUT_LOW_ESCAPE.match(tail)):
        body = body[: high.start()]
    return in_words(json.loads(f'"{body}"', strict=False))


def begun(text: str, at: int, path: Path, finished: set[Path]) -> Read:
    """Read the value that begins at a place, as far as it has come; note the paths of what is whole."""
    at = _BLANKS.match(text, at).end()  # type: ignore[union-attr]
    char = text[at : at + 1]
    former = {each for each in finished if each[: len(path)] == path}  # of a key that is repeated
    if char in ("{", "["):
        finished -= former
        return _container(text, at, path, finished)
    try:
        value, end = json.JSONDecoder().raw_decode(text, at)
    except ValueError:
        if char != '"':
            return Read(_NOTHING, at, False)
        finished -= former
        return Read(_open_string(text[at + 1 :]), len(text), False)
    if isinstance(value, int | float) and not isinstance(value, bool) and text[end : end + 1] not in set(" \t\n\r,]}"):
        return Read(_NOTHING, at, False)
    finished -= former
    finished.add(path)
    return Read(in_words(value), end, True)


def _container(text: str, at: int, path: Path, finished: set[Path]) -> Read:
    is_object = text[at] == "{"
    value: Any = {} if is_object else []
    at += 1
    while True:
        at = _BLANKS.match(text, at).end()  # type: ignore[union-attr]
        if text[at : at + 1] in ("}", "]"):
            finished.add(path)
            return Read(value, at + 1, True)
        if text[at : at + 1] == ",":
            at = _BLANKS.match(text, at + 1).end()  # type: ignore[union-attr]
        key: Any = len(value)
        if is_object:
            try:
                key, at = json.JSONDecoder().raw_decode(text, at)
            except ValueError:
                return Read(value, at, False)
            key = in_words(key)
            at = _BLANKS.match(text, at).end()  # type: ignore[union-attr]
            if text[at : at + 1] != ":":
                return Read(value, at, False)
            at += 1
        read = begun(text, at, (*path, key), finished)
        if read.value is not _NOTHING:
            if is_object:
                value[key] = read.value
            else:
                value.append(read.value)
        if not read.is_whole:
            return Read(value, read.end, False)
        at = read.end


def oracle(text: str) -> tuple[Any, set[Path]]:
    """Return the arguments of which a text is the beginning, and the paths of what is finished in them."""
    finished: set[Path] = set()
    value = begun(text, 0, (), finished).value
    return (value if isinstance(value, dict) else {}), finished


def paths_in(value: Any, path: Path = ()) -> list[Path]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, each in entries for inner in paths_in(each, (*path, key)))]


objects = json_texts().filter(lambda text: isinstance(loads(text), dict))


def test_the_oracle_knows_what_has_come_of_a_value():
    cases: dict[str, tuple[Any, set[Path]]] = {
        "": ({}, set()),
        '{"a': ({}, set()),
        '{"a": "x\\': ({"a": "x"}, set()),
        '{"a": "\\ud83d\\ude0': ({"a": ""}, set()),
        '{"a": "\\ud83d\\u004': ({"a": "\ufffd"}, set()),
        '{"a": "\\\\ud83d': ({"a": "\\ud83d"}, set()),
        '{"a": [1, 2': ({"a": [1]}, {("a", 0)}),
        '{"a": [1, 2], "a": "x': ({"a": "x"}, set()),
        '{"a": "x", "a": ': ({"a": "x"}, {("a",)}),
        '{"a": {"b": tru': ({"a": {}}, set()),
        '{"a": {"b": true}}': ({"a": {"b": True}}, {("a", "b"), ("a",), ()}),
    }
    for text, expected in cases.items():
        assert oracle(text) == expected, text


@given(objects)
def test_the_oracle_reads_a_whole_text_as_json_loads_does(text: str):
    assert repr(oracle(text)[0]) == repr(loads(text))


# The operator


def partial(chunks: Iterable[ChunkResponse], operator: Any = CALLS) -> list[PartialArguments]:
    return [each for each in drive(chunks, operator) if isinstance(each, PartialArguments)]


def seen(pieces: Sequence[str], tool: str = "f") -> list[tuple[Any, Any, Any]]:
    """Return the arguments, what is finished of them and what the text so far says of both, after each piece."""
    chain = stage(to_segments(turn_id=TURN), stream_fields(), partial_arguments())
    given: list[tuple[Any, Any, Any]] = []
    text = ""
    last: PartialArguments | None = None
    for chunk in call(0, "c", tool, *pieces):
        text += chunk.tool_calls[0].arguments_delta
        for event in chain.feed(chunk):
            last = event if isinstance(event, PartialArguments) else last
        now = {} if last is None else last.snapshot()
        finished = set() if last is None else {path for path in paths_in(now) if last.is_finished(path)}
        given.append((now, finished, oracle(text)))
    return given


@given(st.data())
def test_after_each_piece_the_arguments_are_what_the_text_so_far_says(data: st.DataObject):
    pieces = data.draw(cuts(data.draw(objects)))
    for now, finished, (expected, expected_finished) in seen(pieces):
        assert repr(now) == repr(expected)
        assert finished == expected_finished


def test_after_each_character_of_the_sample_the_arguments_are_what_the_text_so_far_says():
    for now, finished, (expected, expected_finished) in seen(SAMPLE):
        assert now == expected
        assert finished == expected_finished


@given(st.data())
def test_whatever_is_read_between_in_the_end_it_is_the_invocation(data: st.DataObject):
    answer = data.draw(answers())
    operator = data.draw(st.sampled_from([CALLS, FIELDS]))
    last: dict[str, PartialArguments] = {}
    chain = stage(operator)
    for chunk in answer:
        for event in chain.feed(chunk):
            if isinstance(event, PartialArguments):
                last[event.tool_call_id] = event
                if data.draw(st.booleans()):
                    event.snapshot()
    last |= {event.tool_call_id: event for event in chain.close() if isinstance(event, PartialArguments)}
    for invocation in drive(answer, to_segments(turn_id=TURN), stream_fields(), to_invocations()):
        if isinstance(invocation, ToolInvocation):
            event = last[invocation.id]
            assert event.snapshot() == invocation.arguments
            assert (event.is_complete, event.status, event.tool_name) == (True, "complete", invocation.name)


@given(st.data())
def test_frozen_after_any_piece_it_shows_the_same_from_there_on(data: st.DataObject):
    chunks = call(0, "c", "f", *data.draw(cuts(data.draw(objects))))
    chain, whole = stage(CALLS), stage(CALLS)
    for chunk in chunks:
        chain = thawed(CALLS, frozen(chain))
        given, expected = chain.feed(chunk), whole.feed(chunk)
        assert given == expected
        assert [repr(each.snapshot()) for each in given] == [repr(each.snapshot()) for each in expected]
    (last, _), (expected_last, _) = chain.close(), whole.close()
    assert repr(last.arguments) == repr(expected_last.arguments)


def test_each_event_says_what_it_changed_and_finished():
    chunks = call(0, "c", "f", '{"a": [1, "x', "y", '"], "b": {', '"c": 1', "2", "}", "}", done=True)
    said = [(each.changed, each.finished, each.is_complete, each.status) for each in partial(chunks)]
    assert said == [
        (((), ("a",), ("a", 0), ("a", 1)), (("a", 0),), False, None),
        ((("a", 1),), (), False, None),
        ((("b",),), (("a", 1), ("a",)), False, None),
        ((("b", "c"),), (("b", "c"), ("b",)), False, None),
        ((), ((),), True, None),
        ((), (), True, "complete"),
    ]


def test_an_event_comes_only_when_something_changed_and_at_the_end():
    chunks = call(0, "c", "f", "{", " ", '"a"', ": 1", "2", " ")
    assert [(each.changed, each.status) for each in partial(chunks)] == [
        (((),), None),
        ((("a",),), None),
        ((), "truncated"),
    ]


def test_a_field_is_finished_as_it_closes_and_behind_stream_fields_with_the_next_event_of_its_segment():
    chunks = call(0, "c", "write_file", '{"path": "a.py", "content": "x', "y", '"', ', "mode": "z"}')
    paths = (("path",), ("content",), ("mode",))

    def finished(operator: Any) -> list[list[Path]]:
        chain = stage(operator)
        events = before_the_end([each for chunk in chunks for each in chain.feed(chunk)] + chain.close())
        return [[path for path in paths if path in each.finished] for each in events]

    assert finished(CALLS) == [[("path",)], [], [("content",)], [("mode",)], []]
    assert finished(FIELDS) == [[("path",)], [], [("content",), ("mode",)]]


@by_operator
def test_the_arguments_of_an_event_live_on_and_a_snapshot_does_not(operator: Any):
    chain = stage(operator)
    chunks = call(0, "c", "write_file", '{"path": "a", "content": "x', "y", 'z"}')
    first = chain.feed(chunks[0])[0]
    snapshot = first.snapshot()
    for chunk in chunks[1:]:
        chain.feed(chunk)
    assert snapshot == {"path": "a", "content": "x"}
    assert first.arguments == first.snapshot() == {"path": "a", "content": "xyz"}
    assert not first.is_complete
    assert first.is_finished(())


@pytest.mark.parametrize(("how", "status"), [(Completed(), "truncated"), (Interrupted("Ctrl-C"), "interrupted")])
@by_operator
def test_a_call_that_is_cut_shows_what_came_and_is_not_complete(operator: Any, how: Any, status: str):
    chain = stage(operator)
    for chunk in call(0, "c", "write_file", '{"path": "a", "content": "x', "y"):
        chain.feed(chunk)
    end, answer_end = chain.close(how)
    assert answer_end.status == status
    assert (end.status, end.is_complete, end.changed) == (status, False, ())
    assert end.arguments == {"path": "a", "content": "xy"}
    assert end.is_finished(("path",))
    assert not end.is_finished(("content",))


def test_a_free_form_text_is_the_argument_input_and_cut_it_is_not_finished():
    for done, status in ((True, "complete"), (False, "truncated")):
        delta = ToolCallDelta(0, "c", "free", "some text", kind="text")
        last = partial([ChunkResponse(tool_calls=(delta,)), *(STOP if done else ())])[-1]
        assert (last.snapshot(), last.status, last.is_complete) == ({"input": "some text"}, status, done)
        assert last.is_finished(("input",)) == done


def test_a_call_without_arguments_gives_one_event_at_its_end():
    (only,) = partial([*call(0, "c", "look", "", done=True), *STOP])
    assert (only.snapshot(), only.is_complete, only.status) == ({}, True, "complete")


def test_malformed_arguments_show_what_was_certain():
    bad = [each for each in partial(TROUBLE) if each.tool_call_id == "bad"]
    assert (bad[-1].snapshot(), bad[-1].status, bad[-1].is_complete) == ({}, "failed", False)


def test_of_a_repeated_key_the_last_value_shows():
    chunks = call(0, "c", "f", '{"a": {"b": 1}, "a": "x')
    (event, end) = partial(chunks)
    assert event.snapshot() == {"a": "x"}
    assert not event.is_finished(("a",))
    assert end.status == "truncated"


def test_a_call_that_the_provider_runs_gives_none():
    delta = ToolCallDelta(0, "c", "web_search", '{"query": "x"}', executed_by="provider", done=True)
    assert partial([ChunkResponse(tool_calls=(delta,)), *STOP]) == []


def test_parallel_calls_have_each_their_arguments():
    last = {each.tool_call_id: each for each in partial(SIDE_BY_SIDE, FIELDS)}
    invoked = drive(SIDE_BY_SIDE, to_segments(turn_id=TURN), stream_fields(), to_invocations())
    assert {key: each.snapshot() for key, each in last.items()} == {
        each.id: each.arguments for each in invoked if isinstance(each, ToolInvocation)
    }


def test_two_events_are_equal_when_they_say_the_same():
    def events() -> list[PartialArguments]:
        return partial(call(0, "c", "f", '{"a": "x', "y", "y"))

    first, second = events(), events()
    assert first == second
    assert not any(map(ne, first, second))
    assert first[1] == first[2] != first[0]
    assert len(set(first)) == 3
    assert first[0] != "anything"


def test_an_event_cannot_be_changed_and_is_matched_by_its_arguments():
    (event, _) = partial(call(0, "c", "f", '{"path": "a"'))
    with pytest.raises(AttributeError):
        event.status = "complete"  # type: ignore[misc]
    match event:
        case PartialArguments(tool_name="f", arguments={"path": path}):
            assert path == "a"
        case _:
            pytest.fail("no match")


def test_the_segments_pass_if_wanted():
    chunks = [*call(0, "c", "f", '{"a": 1}', done=True), *STOP]
    given = list(drive(chunks, to_segments(turn_id=TURN), partial_arguments(keep_segments=True)))
    assert [type(each) for each in given] == [
        *(SegmentStart, SegmentContent, PartialArguments),
        *(PartialArguments, SegmentEnd, AnswerEnd),
    ]


# What it costs


def file_by_characters(length: int) -> tuple[ChunkResponse, ...]:
    return call(0, "c", "write_file", '{"path": "a", "content": "', *("x" * length))


@pytest.mark.laws
@by_operator
def test_a_character_costs_the_same_however_much_came_before(operator: Any):
    step = 160 * 64 if is_deep() else 16 * 64
    small, middle, large = (
        calls_made(operator, file_by_characters(length)) for length in (100, 100 + step, 100 + 10 * step)
    )
    assert (middle - small) * 9 == large - middle


def test_a_hundred_thousand_characters_unread_are_neither_joined_nor_shown():
    chain = stage(FIELDS)
    joins: list[str] = []
    for chunk in file_by_characters(100_000):
        for event in chain.feed(chunk):
            values = event.arguments._values
            joins.append(values._open)
    assert len(joins) >= 100_000
    assert {len(block) for block in values.text.blocks} == {MANY}
    assert values.value == {"path": "a"}
    assert event.arguments["content"] == "x" * 100_000


def test_of_a_malformed_field_call_what_was_certain_stays_wherever_it_is_cut():
    text = '{"command": "ls"; "a": 1}'
    for place in range(1, len(text)):
        events = drive(call(0, "c", "run_bash", text[:place], text[place:], done=True), FIELDS)
        *_, last = (event for event in events if isinstance(event, PartialArguments))
        assert (last.snapshot(), last.status, last.is_complete) == ({"command": "ls"}, "failed", False)


def test_arguments_that_came_whole_are_all_there_behind_within():
    chunks = call(0, "c", "f", '{"command": "ls <end>", "cwd": "/x"}', done=True)
    operators = to_segments(), within("tool_call", holdback("<end>")), partial_arguments()
    *_, last = answered(chunks, *operators)
    assert (last.snapshot(), last.is_complete) == ({"command": "ls <end>", "cwd": "/x"}, True)
