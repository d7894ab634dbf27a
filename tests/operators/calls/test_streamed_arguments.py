"""Calls with several streamed arguments, or nested ones: the laws, asked through `stream_fields`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from answered import answered
from hypothesis import given, settings
from hypothesis import strategies as st
from law_oracles import content_by_segment, loaded, raw_by_segment, verdict
from operator_contract import wrong_segments
from strategies.answers import string_bodies
from strategies.cuts import cuts
from untyped import drive, stage

from penstock.events import (
    ChunkResponse,
    InvocationFailed,
    Notice,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    from_json,
    to_json,
)
from penstock.operators import (
    FieldSpec,
    Interrupted,
    argument_progress,
    parse_text,
    partial_arguments,
    stream_fields,
    to_invocations,
    to_segments,
    tool_call_updates,
)

EDITS = FieldSpec(
    "edit", metadata=("file", "deep"), paths=("summary", "edits[*].new_text", "files.*.text", "deep[1][0]")
)
FIELDS = stream_fields([EDITS])
SEGMENTS = to_segments(turn_id="t")
TEXT = '{"file": "a.py", "edits": [{"old_text": "x", "new_text": "a\\nb"}, {"new_text": ""}], "summary": "s"}'


def chunks_of(pieces: Iterable[str], name: str = "edit", finish: Any = "tool_calls") -> list[ChunkResponse]:
    first = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", name),))
    rest = [ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=piece),)) for piece in pieces]
    return [first, *rest, *([ChunkResponse(finish_reason=finish)] if finish else [])]


def run(*pieces: str, finish: str | None = "tool_calls") -> list[Any]:
    return answered(chunks_of(pieces, finish=finish), SEGMENTS, FIELDS, to_invocations(keep_segments=True))


def arguments_of(events: Iterable[Any]) -> list[Any]:
    return [event for event in events if getattr(event, "segment_id", "").startswith("c/")]


def by_segment(events: Iterable[Any]) -> dict[str, list[Any]]:
    """Return each segment's START, text and END, and what else there is."""
    found: dict[str, list[Any]] = {}
    for event in events:
        if isinstance(event, SegmentContent):
            said = found[event.segment_id]
            if isinstance(said[-1], str):
                said[-1] += event.delta
            elif event.delta:
                said.append(event.delta)
        elif isinstance(event, SegmentEvent):
            found.setdefault(event.segment_id, []).append(msgspec.structs.replace(event, raw="", fragments=None))
        else:
            found.setdefault("", []).append(event.code if isinstance(event, Notice) else event)
    return found


def borders(events: Iterable[Any]) -> list[tuple[str, str]]:
    return [(event.type, event.segment_id) for event in events if isinstance(event, SegmentStart | SegmentEnd)]


def streamed(value: Any, path: tuple[str | int, ...] = ()) -> dict[str, str]:
    """Return the texts that `EDITS` streams of whole arguments, by segment id; said independently of the tree."""
    if isinstance(value, str):
        match path:
            case ("summary",) | ("edits", int(), "new_text") | ("files", _, "text") | ("deep", 1, 0):
                steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
                return {"/".join(("c", *steps)): value}
        return {}
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: dict[str, str] = {}
    for step, each in entries:
        found |= streamed(each, (*path, step))
    return found


KEYS = st.sampled_from(("summary", "edits", "new_text", "files", "text", "deep", "file", "a/b", "~", "0", ""))


@st.composite
def written(draw: st.DrawFn, depth: int = 3) -> str:
    """Draw a JSON value; among its objects are those with the streamed keys."""
    kind = draw(st.sampled_from(("string", "string", "scalar", "array", "object") if depth else ("string", "scalar")))
    if kind == "string":
        return f'"{draw(string_bodies())}"'
    if kind == "scalar":
        return draw(st.sampled_from(("1", "-2.5e3", "true", "null")))
    if kind == "array":
        return f"[{', '.join(draw(st.lists(written(depth - 1), max_size=3)))}]"
    keys = draw(st.lists(KEYS, max_size=3, unique=True))
    return "{" + ", ".join(f"{json.dumps(key)}: {draw(written(depth - 1))}" for key in keys) + "}"


@st.composite
def argument_texts(draw: st.DrawFn) -> str:
    new_texts = st.lists(st.one_of(written(2), string_bodies().map('{{"new_text": "{}"}}'.format)), max_size=3)
    entries = {
        "edits": st.one_of(written(2), new_texts.map(lambda items: f"[{', '.join(items)}]")),
        "files": written(2),
        "summary": written(1),
        "deep": st.one_of(written(2), string_bodies().map('[0, ["{}", ""]]'.format)),
        "file": written(1),
    }
    keys = draw(st.permutations(list(entries)))[: draw(st.integers(0, 5))]
    return "{" + ",\n".join(f'"{key}" : {draw(entries[key])}' for key in keys) + "}"


def test_a_call_keeps_its_segment_and_each_argument_is_one_beside_it():
    events = run(*TEXT)
    call = [event for event in events if getattr(event, "segment_id", None) == "c"]
    assert {event.segment_type for event in call} == {"tool_call"}
    assert "".join(event.delta for event in call if isinstance(event, SegmentContent)) == TEXT
    about = {"call_id": "c", "tool_name": "edit"}
    start, *contents, end = (event for event in events if getattr(event, "segment_id", None) == "c/edits/0/new_text")
    metadata = {**about, "path": ["edits", 0, "new_text"]}
    assert start == SegmentStart(
        "c/edits/0/new_text", "edit", {**metadata, "arguments": {"file": "a.py"}}, turn_id="t", fragments=()
    )
    assert [event.delta for event in contents] == ["a", "\n", "b"]
    assert end == SegmentEnd("c/edits/0/new_text", "edit", "complete", metadata=metadata, turn_id="t", fragments=())
    assert content_by_segment(arguments_of(events)) == {
        "c/edits/0/new_text": "a\nb",
        "c/edits/1/new_text": "",
        "c/summary": "s",
    }
    assert isinstance(events[-1], ToolInvocation)
    assert events[-2].segment_id == "c"


def test_each_piece_comes_with_the_delta_that_brought_it():
    chain = stage(SEGMENTS, FIELDS)
    given = [
        chain.feed(chunk) for chunk in chunks_of(['{"edits": [{"new_text": ', '"a', "b", '", "old', '_text": 1}]}'])
    ]
    assert [[(event.type, event.segment_id) for event in arguments_of(step)] for step in given] == [
        [],
        [],
        [("SEGMENT_START", "c/edits/0/new_text"), ("SEGMENT_CONTENT", "c/edits/0/new_text")],
        [("SEGMENT_CONTENT", "c/edits/0/new_text")],
        [("SEGMENT_END", "c/edits/0/new_text")],
        [],
        [],
    ]


@settings(deadline=None)
@given(st.data(), argument_texts())
def test_any_cutting_gives_the_same_segments_and_the_texts_of_json_loads(data: st.DataObject, text: str):
    whole, cut = run(text), run(*data.draw(cuts(text)))
    assert by_segment(cut) == by_segment(whole)
    assert borders(cut) == borders(whole)
    assert content_by_segment(arguments_of(cut)) == streamed(loaded(text))
    assert isinstance(cut[-1], ToolInvocation)
    assert cut[-1].arguments == loaded(text)


@settings(deadline=None)
@given(st.data(), argument_texts(), st.booleans())
def test_the_raw_of_all_events_is_the_input_and_the_calls_own_are_as_without_it(
    data: st.DataObject, text: str, is_cut: Any
):
    pieces = data.draw(cuts(text[: data.draw(st.integers(0, len(text)))] if is_cut else text))
    events = run(*pieces, finish=None if is_cut else "tool_calls")
    assert "".join(raw_by_segment(events).values()) == "".join(pieces)
    others = [event for event in events if event not in arguments_of(events)]
    plain = answered(
        chunks_of(pieces, finish=None if is_cut else "tool_calls"), SEGMENTS, to_invocations(keep_segments=True)
    )
    assert others == plain


@settings(deadline=None)
@given(st.data(), argument_texts(), st.sampled_from((None, "length", "error", "tool_calls")))
def test_a_cut_call_ends_its_open_argument_first_and_with_its_own_status(
    data: st.DataObject, text: str, finish: str | None
):
    begun = text[: data.draw(st.integers(0, len(text)))]
    events = run(*data.draw(cuts(begun)), finish=finish)
    assert wrong_segments(events) == []
    assert len([event for event in events if isinstance(event, ToolInvocation | InvocationFailed)]) == 1
    if verdict(begun) == "beginning":
        whole = streamed(loaded(text))
        assert all(
            whole[name].startswith(content) for name, content in content_by_segment(arguments_of(events)).items()
        )
    ends = [event for event in events if isinstance(event, SegmentEnd)]
    assert ends[-1].segment_id == "c"
    assert all(end.status == "complete" for end in ends[:-2])
    if len(ends) > 1:
        assert ends[-2].status in ("complete", ends[-1].status)


@settings(deadline=None)
@given(st.data(), argument_texts(), st.booleans())
def test_dumped_and_loaded_after_any_item_it_goes_on_the_same(data: st.DataObject, text: str, reads_back: Any):
    text = text[: data.draw(st.integers(0, len(text)))]
    events = list(drive(chunks_of(data.draw(cuts(text)), finish=None), SEGMENTS))
    if reads_back:
        events = [from_json(to_json(event)) for event in events]
    unbroken, frozen = stage(FIELDS), stage(FIELDS)
    for event in events[:-1]:
        assert frozen.feed(event) == unbroken.feed(event)
        state = msgspec.json.decode(msgspec.json.encode(frozen.dump()))
        frozen = stage(FIELDS)
        frozen.load(state)
    assert frozen.close(Interrupted("Ctrl-C")) == unbroken.close(Interrupted("Ctrl-C"))


@settings(deadline=None)
@given(st.data(), argument_texts())
def test_segments_read_back_give_the_same_arguments(data: st.DataObject, text: str):
    events = [from_json(to_json(event)) for event in drive(chunks_of(data.draw(cuts(text))), SEGMENTS)]
    again = answered(events, FIELDS, to_invocations(keep_segments=True))
    assert by_segment(arguments_of(again)) == by_segment(arguments_of(run(text)))
    assert isinstance(again[-1], ToolInvocation)


@settings(deadline=None)
@given(argument_texts())
def test_what_comes_out_can_be_read_back_and_has_the_same_result(text: str):
    events = [from_json(to_json(event)) for event in drive(chunks_of([text]), SEGMENTS, FIELDS)]
    (result,) = answered(events, to_invocations(fields=[EDITS]))
    assert result.arguments == loaded(text)


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ('{"summary": "a", "summary": "b"}', {"c/summary": "a"}),
        ('{"summary": null, "summary": "b"}', {}),
        ('{"edits": [{"new_text": "a"}], "edits": [{"new_text": "b"}]}', {"c/edits/0/new_text": "a"}),
        ('{"edits": [{"new_text": "a", "new_text": "b"}, {"new_text": "c"}]}', {"c/edits/0/new_text": "a"}),
        ('{"files": {"x": {"text": "a"}, "x": {"text": "b"}}}', {"c/files/x/text": "a"}),
    ],
)
def test_a_key_repeated_on_a_streamed_path_fails_the_call(text: str, contents: dict[str, str]):
    for pieces in ([text], list(text)):
        *events, end, failed = run(*pieces)
        assert content_by_segment(arguments_of(events)) == contents
        assert (end.segment_id, end.status, end.reason) == ("c", "failed", "duplicate_key")
        assert isinstance(failed, InvocationFailed)
        assert failed.reason == "duplicate_key"


def test_a_key_that_is_repeated_after_it_was_shown_fails_the_call():
    text = '{"file": "a", "file": "b", "summary": "x", "file": "c"}'
    for pieces in ([text], list(text)):
        *events, end, failed = run(*pieces)
        (start, *_) = arguments_of(events)
        assert start.metadata["arguments"] == {"file": "b"}
        assert (end.status, end.reason) == ("failed", "duplicate_key")
        assert failed.reason == "duplicate_key"


def test_other_keys_may_be_repeated():
    text = '{"file": 1, "file": 2, "edits": [{"old_text": 1, "old_text": 2, "new_text": "a"}, {"new_text": "b"}]}'
    events = run(text)
    assert events[-1].arguments == json.loads(text)
    assert content_by_segment(arguments_of(events)) == {"c/edits/0/new_text": "a", "c/edits/1/new_text": "b"}


def test_keys_with_slashes_do_not_share_an_id():
    text = '{"files": {"a/b": {"text": "x"}, "a~1b": {"text": "y"}}}'
    assert content_by_segment(arguments_of(run(text))) == {"c/files/a~1b/text": "x", "c/files/a~01b/text": "y"}


def test_a_malformed_text_that_nobody_had_parsed_ends_the_argument_as_failed():
    start, end = SegmentStart("c", "tool_call", {"tool_name": "edit"}), SegmentEnd("c", "tool_call", "complete")
    for text, status, reason in (('{"summary": "a\x01', "failed", "malformed"), ('{"summary": "a', "truncated", None)):
        events = list(
            drive([start, SegmentContent("c", "tool_call", text), end], FIELDS, to_invocations(keep_segments=True))
        )
        ended = next(event for event in events if isinstance(event, SegmentEnd))
        assert (ended.segment_id, ended.status, ended.reason) == ("c/summary", status, reason)
        assert isinstance(events[-1], InvocationFailed)


def test_calls_at_once_do_not_mix():
    one, other = '{"summary": "one"}', '{"edits": [{"new_text": "other"}]}'
    chunks = [ChunkResponse(tool_calls=(ToolCallDelta(n, f"c{n}", "edit"),)) for n in range(2)]
    for a, b in zip(one.ljust(len(other)), other, strict=True):
        chunks += [ChunkResponse(tool_calls=(ToolCallDelta(n, arguments_delta=x),)) for n, x in enumerate((a, b))]
    events = list(drive([*chunks, ChunkResponse(finish_reason="tool_calls")], SEGMENTS, FIELDS, to_invocations()))
    assert [event.arguments for event in events if isinstance(event, ToolInvocation)] == [
        json.loads(one),
        json.loads(other),
    ]
    contents = content_by_segment(drive([*chunks, ChunkResponse(finish_reason="tool_calls")], SEGMENTS, FIELDS))
    assert {name: text for name, text in contents.items() if "/" in name} == {
        "c0/summary": "one",
        "c1/edits/0/new_text": "other",
    }


@pytest.mark.parametrize("operator", [tool_call_updates(), argument_progress(), partial_arguments()])
def test_other_operators_do_not_take_arguments_for_calls(operator: Any):
    events = list(drive(chunks_of([TEXT]), SEGMENTS))
    wanted = list(drive(events, operator))
    assert list(drive(events, FIELDS, operator)) == wanted


def test_a_call_written_as_text_streams_the_same():
    text = f'<tool_call>{{"name": "EDIT", "arguments": {TEXT}}}</tool_call>'
    fields = stream_fields([EDITS], ignore_case=True)
    events = list(drive(list(text), parse_text("hermes", turn_id="t"), fields))
    contents = [text for name, text in content_by_segment(events).items() if "/" in name]
    assert contents == ["a\nb", "", "s"]


def test_an_argument_named_as_the_library_names_things_stays_an_argument():
    text = '{"call_id": "c", "streamed": "x", "path": "p", "content": "y"}'
    events = list(drive(chunks_of([text], "write_file"), SEGMENTS, stream_fields()))
    assert events[-2].metadata["arguments"] == {"call_id": "c", "streamed": "x"}
    (result,) = answered([from_json(to_json(event)) for event in events], to_invocations())
    assert result.arguments == json.loads(text)


@settings(deadline=None)
@given(st.integers(1, 50))
def test_the_work_for_a_delta_does_not_grow_with_what_came(number: int):
    chain = stage(FIELDS)
    events = list(
        drive(chunks_of(['{"edits": [', *['{"new_text": "x"},'] * number, '{"new_text": "'], finish=None), SEGMENTS)
    )
    for event in events[:-1]:
        chain.feed(event)
    assert len(msgspec.json.encode(chain.dump())) < 2_000


def test_the_arguments_of_a_call_belong_to_its_choice():
    call = ChunkResponse(choice=1, tool_calls=(ToolCallDelta(0, "c", "edit", TEXT),))
    events = list(drive([call, ChunkResponse(choice=1, finish_reason="tool_calls")], SEGMENTS, FIELDS))
    starts = [each for each in events if isinstance(each, SegmentStart)]
    assert len(starts) == 4
    assert {each.metadata["choice"] for each in starts} == {1}
