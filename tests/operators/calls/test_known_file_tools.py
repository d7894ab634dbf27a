from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from answered import answered, before_the_end
from hypothesis import given, settings
from hypothesis import strategies as st
from law_oracles import comparable, content_by_segment, raw_by_segment
from looped import looped
from strategies.cuts import cuts
from untyped import drive, stage

from penstock.events import ChunkResponse, SegmentEvent, SegmentStart, ToolCallDelta, ToolInvocation, from_json, to_json
from penstock.operators import Limits, parse_text, stream_fields, to_invocations, to_segments
from penstock.operators.calls.field_spec import CATALOGUE, FILE_TOOLS, KNOWN_FILE_TOOLS, KnownTool, specs_by_tool
from penstock.pipeline import Pipeline, tool

SEGMENTS = to_segments(turn_id="t")
TEXT = 'a "b"\n'
ROWS = looped("known", CATALOGUE, ids=lambda known: f"{known.tool}-{known.text}")


def arguments_of(known: KnownTool) -> dict[str, Any]:
    others = dict.fromkeys(known.others, "a.py")
    container, nested, key = known.text.partition("[*].")
    return (
        {**others, container: [{"old": "x", key: TEXT}]} if nested else {**others, "old_string": "x", known.text: TEXT}
    )


def schema_of(known: KnownTool) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {} for name in arguments_of(known)}, "additionalProperties": False}


def call(name: str, *pieces: str, kind: Any = "json", finish: Any = "tool_calls") -> list[ChunkResponse]:
    first = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", name, kind=kind),))
    rest = [ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=piece),)) for piece in pieces]
    return [first, *rest, *([ChunkResponse(finish_reason=finish)] if finish else [])]


def types_of(events: Any) -> set[str | None]:
    return {event.segment_type for event in events if isinstance(event, SegmentEvent)}


@ROWS
@pytest.mark.parametrize("is_declared", [False, True])
def test_a_first_attempt_with_a_known_tool_streams_decoded_text(known: KnownTool, is_declared: Any):
    # Without a schema a call of edit_file is taken for one with a single text.
    is_declared = is_declared or (known.tool == "edit_file" and "[" in known.text)
    tools = [tool(schema_of(known), name=known.tool)] if is_declared else None
    events = before_the_end(
        Pipeline(tools=tools, turn_id="t").stream(call(known.tool, *json.dumps(arguments_of(known))))
    )
    streamed = [event for event in events if getattr(event, "segment_type", "tool_call") != "tool_call"]
    assert {event.segment_type for event in streamed} == {known.segment_type}
    assert list(content_by_segment(streamed).values()) == [TEXT]
    assert isinstance(events[-1], ToolInvocation)
    assert events[-1].arguments == arguments_of(known)
    metadata = streamed[0].metadata
    assert set(known.others) <= {*metadata, *metadata.get("arguments", ())}


@ROWS
def test_a_tool_whose_schema_lacks_the_arguments_stays_a_plain_call(known: KnownTool):
    other = tool({"properties": {"a": {"type": "string"}, known.text.partition("[")[0] + "_": {}}}, name=known.tool)
    assert specs_by_tool(KNOWN_FILE_TOOLS, [other]) == specs_by_tool(
        [spec for spec in KNOWN_FILE_TOOLS if spec.tool != known.tool]
    )
    events = list(Pipeline(tools=[other]).stream(call(known.tool, '{"a": "x"}')))
    assert types_of(events) == {"tool_call"}


@looped("name", sorted({known.tool for known in CATALOGUE} - {"write_file", "edit_file"}))
@looped("text", ["{}", '{"a": "b"}', '{"path": "a", "file_path": "a", "filePath": "a"}'])
def test_a_call_without_the_text_is_as_it_was(name: str, text: str):
    for finish in ("tool_calls", "length", None):
        for pieces in ([text], list(text), list(text[:-3])):
            chunks = call(name, *pieces, finish=finish)
            assert list(drive(chunks, SEGMENTS, stream_fields())) == list(drive(chunks, SEGMENTS))


@settings(deadline=None)
@given(st.data(), st.sampled_from(CATALOGUE), st.booleans())
def test_any_cutting_gives_the_same_and_loses_nothing(data: st.DataObject, known: KnownTool, is_cut: Any):
    arguments = arguments_of(known) | data.draw(
        st.dictionaries(st.sampled_from(("path", "content", "n")), st.text(max_size=3))
    )
    names = data.draw(st.permutations(list(arguments)))[data.draw(st.integers(0, 1)) :]
    text = json.dumps({name: arguments[name] for name in names}, ensure_ascii=False)
    text = text[: data.draw(st.integers(0, len(text)))] if is_cut else text
    fields = stream_fields(limits=Limits(deferred_length=data.draw(st.sampled_from((9, 30, 65536)))))
    finish = None if is_cut else "tool_calls"
    chain = SEGMENTS, fields, to_invocations(keep_segments=True)
    whole = list(drive(call(known.tool, text, finish=finish), *chain))
    pieces = data.draw(cuts(text))
    cut = list(drive(call(known.tool, *pieces, finish=finish), *chain))
    if not any(isinstance(event, SegmentEvent) and "/" in event.segment_id for event in whole):
        assert comparable(cut) == comparable(whole)
    assert content_by_segment(cut) == content_by_segment(whole)
    assert "".join(raw_by_segment(cut).values()) == text
    plain = list(drive(call(known.tool, *pieces, finish=finish), SEGMENTS, to_invocations()))
    assert [event for event in cut if not isinstance(event, SegmentEvent)] == plain

    unbroken, frozen = stage(fields), stage(fields)
    for event in drive(call(known.tool, *pieces, finish=finish), SEGMENTS):
        assert frozen.feed(event) == unbroken.feed(event)
        state = msgspec.json.decode(msgspec.json.encode(frozen.dump()))
        frozen = stage(fields)
        frozen.load(state)


@ROWS
def test_what_was_stored_is_read_back_with_the_same_arguments(known: KnownTool):
    text = json.dumps(arguments_of(known))
    stored = [from_json(to_json(event)) for event in drive(call(known.tool, text), SEGMENTS, stream_fields())]
    (result,) = answered(stored, to_invocations())
    assert result.arguments == arguments_of(known)


def test_the_text_editor_writes_or_edits_by_what_it_is_given():
    for key, kind in (("file_text", "write_file"), ("new_str", "edit_file"), ("insert_text", "edit_file")):
        text = json.dumps({"command": "x", "path": "a.py", "old_str": None, key: TEXT})
        start, *_ = drive(call("str_replace_based_edit_tool", text), SEGMENTS, stream_fields())
        assert start.segment_type == kind
        assert start.metadata == {"tool_name": "str_replace_based_edit_tool", "path": "a.py", "streamed": key}


def test_a_free_form_patch_streams_and_is_read_back():
    chunks = call("apply_patch", "*** Begin", " Patch\n", kind="text")
    events = answered(chunks, SEGMENTS, stream_fields(), to_invocations(keep_segments=True))
    assert types_of(events) == {"patch_file"}
    assert content_by_segment(events) == {"c": "*** Begin Patch\n"}
    assert events[-1].arguments == {"input": "*** Begin Patch\n"}
    stored = [from_json(to_json(event)) for event in drive(chunks, SEGMENTS)]
    again = answered(stored, stream_fields(), to_invocations(keep_segments=True))
    assert types_of(again) == {"patch_file"}
    assert again[-1].arguments == {"input": "*** Begin Patch\n"}


def test_a_long_argument_before_the_text_does_not_hold_the_call_for_ever():
    chunks = call("Edit", '{"file_path": "a", "old_string": "', *["x" * 10] * 10, '", "new_string": "y"}')
    chain = stage(SEGMENTS, stream_fields(limits=Limits(deferred_length=50)))
    steps = [len(chain.feed(chunk)) for chunk in chunks]
    assert steps[:3] == [0, 0, 0]
    assert max(steps) > 1
    assert steps[-3:] == [1, 1, 1]
    assert types_of(drive(chunks, SEGMENTS, stream_fields(limits=Limits(deferred_length=50)))) == {"tool_call"}
    assert types_of(drive(chunks, SEGMENTS, stream_fields())) == {"edit_file"}


def test_in_text_the_case_of_a_name_does_not_matter():
    text = '<tool_call>{"name": "WRITE", "arguments": {"file_path": "a", "content": "x"}}</tool_call>'
    start, *_ = drive([text], parse_text("hermes", turn_id="t"), stream_fields(ignore_case=True))
    assert isinstance(start, SegmentStart)
    assert (start.segment_type, start.metadata["file_path"]) == ("write_file", "a")


def test_the_four_tools_are_the_first_and_each_row_has_a_source():
    assert KNOWN_FILE_TOOLS[: len(FILE_TOOLS)] == FILE_TOOLS
    assert not any(spec.strict for spec in KNOWN_FILE_TOOLS)
    assert len({(known.tool, known.text, known.others) for known in CATALOGUE}) == len(CATALOGUE)
    assert all(re.search(r"\(\S+[/.]\S+", known.source) for known in CATALOGUE)
    assert {known.segment_type for known in CATALOGUE} == {spec.segment_type for spec in FILE_TOOLS}


def test_the_page_of_tools_has_the_catalogue():
    page = (Path(__file__).parents[3] / "docs/tools.md").read_text(encoding="utf-8")
    rows = [
        f"| `{each.tool}` | {_code(each.others)} | `{each.text}` | `{each.segment_type}` | {each.source} |"
        for each in CATALOGUE
    ]
    assert "\n".join(rows) in page


def _code(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
