from __future__ import annotations

import json
import pickle
from copy import deepcopy
from typing import Any

import pytest
from answered import answered
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_contract import FROM_CALLS, FROM_FIELDS, FROM_TEXT, Case, frozen, read_back, thawed
from pydantic import BaseModel
from redaction_oracle import AWS, CARD_NUMBER, OBJECTS, SETS, TEXTS, redacted_value, redacted_whole, written
from strategies.cuts import cuts

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    ProviderEvent,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    UsageError,
    from_json,
    to_json,
)
from penstock.operators import (
    CARD,
    EMAIL,
    KEYS,
    PHONE,
    Completed,
    Detector,
    FieldSpec,
    drive,
    parse_text,
    partial_arguments,
    redact,
    stage,
    stream_fields,
    to_invocations,
    to_segments,
)
from penstock.pipeline import Pipeline, tool
from penstock.sinks import collect

SHORT = (
    Detector("b", "[bx]+"),
    Detector("n", "[0-9]{1,3}"),
    Detector("h", "h[eo]?l?"),
    Detector("path", "[._p]{2,4}y"),
)
"""What is in nearly all texts of the contract."""
CONTRACT = (
    Case("redact", redact(KEYS, EMAIL, CARD, *PHONE), (*FROM_CALLS, *FROM_FIELDS)),
    Case("redact much", redact(*SHORT), (*FROM_CALLS, *FROM_FIELDS, *FROM_TEXT)),
    Case("redact read back", redact(*SHORT), (*read_back(FROM_CALLS), *read_back(FROM_FIELDS))),
)
SECRET = "[redacted:aws key]"


def chunks_of(pieces: list[str], name: str = "f", kind: Any = "json") -> list[ChunkResponse]:
    head = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", name, kind=kind),))
    deltas = [ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=each, kind=kind),)) for each in pieces]
    return [head, *deltas, ChunkResponse(finish_reason="tool_calls", is_complete=True)]


def text_of(pieces: list[str], *operators: Any, **options: Any) -> list[Any]:
    chunks = [*(ChunkResponse(content=each) for each in pieces), ChunkResponse(finish_reason="stop", **options)]
    return answered(chunks, to_segments(turn_id="t"), *operators)


def said(events: list[Any], kind: str = "text") -> str:
    return "".join(each.delta for each in events if isinstance(each, SegmentContent) and each.segment_type == kind)


def source_of(events: list[Any]) -> str:
    return "".join(each.raw for each in events if isinstance(each, SegmentStart | SegmentContent | SegmentEnd))


# ---------------------------------------------------------------------- what is shown


def test_text_reasoning_and_refusals_are_redacted():
    chunks = [
        ChunkResponse(reasoning="the key AK"),
        ChunkResponse(reasoning=AWS[2:]),
        ChunkResponse(content="is AKI"),
        ChunkResponse(content=f"{AWS[3:]}."),
        ChunkResponse(refusal=f"not {AWS}", finish_reason="stop"),
    ]
    events = answered(chunks, to_segments(turn_id="t"), redact(KEYS))
    assert [(each.segment_type, each.delta) for each in events if isinstance(each, SegmentContent)] == [
        ("reasoning", "the key "),
        ("reasoning", SECRET),
        ("text", "is "),
        ("text", f"{SECRET}."),
        ("refusal", f"not {SECRET}"),
    ]
    assert AWS not in repr(events)


def test_each_segment_is_a_text_of_its_own():
    chunks = [ChunkResponse(content=AWS[:8]), ChunkResponse(reasoning=AWS[8:], finish_reason="stop")]
    events = answered(chunks, to_segments(turn_id="t"), redact(KEYS))
    assert said(events) == AWS[:8]


def test_what_waits_is_released_by_the_end_and_is_told_until_then():
    chain: Any = stage(to_segments(turn_id="t"), redact(KEYS))
    (*_, content) = chain.feed(ChunkResponse(content="a AKIA0"))
    assert content.delta == "a "
    (withheld,) = chain.withheld()
    assert (withheld.text, withheld.segment_id) == ("AKIA0", "t:text_0")
    rest, end, _ = chain.close(Completed())
    assert (rest.delta, end.status) == ("AKIA0", "truncated")


def test_the_strings_keys_and_numbers_of_a_call_are_redacted():
    source = f'{{"key": "\\u0041{AWS[1:]}", "{AWS}": [{CARD_NUMBER}, true, null, 12.5]}}'
    shown = f'{{"key": "{SECRET}", "{SECRET}": [0, true, null, 12.5]}}'
    for pieces in ([source], list(source), [source[:12], source[12:]]):
        events = answered(
            chunks_of(pieces), to_segments(turn_id="t"), redact(KEYS, CARD), to_invocations(keep_segments=True)
        )
        (invocation,) = (each for each in events if isinstance(each, ToolInvocation))
        assert invocation.raw == source_of(events) == said(events, "tool_call") == shown
        assert invocation.arguments == json.loads(shown)


def test_a_streamed_argument_is_redacted_in_each_way_to_show_it():
    source = f'{{"path": "a.py", "content": "k = \'{AWS}\'\\nprint(k)"}}'
    expected = f"k = '{SECRET}'\nprint(k)"
    for operators in ((redact(KEYS), stream_fields()), (stream_fields(), redact(KEYS))):
        events = answered(chunks_of(list(source), "write_file"), to_segments(turn_id="t"), *operators)
        assert said(events, "write_file") == expected
        assert json.loads(source_of(events))["content"] == expected
        assert AWS not in repr(events)


def test_a_match_that_ends_with_its_field_leaves_the_rest_of_the_call_to_the_end():
    content = "sk-ant-" * 7
    pieces = [f'{{"path": "a.py","content": "{content[:27]}', f'{content[27:]}"', ',"n": 1}']
    operators = stream_fields(), redact(KEYS), to_invocations(keep_segments=True)
    events = answered(chunks_of(pieces, "write_file"), to_segments(turn_id="t"), *operators)
    (invocation,) = (each for each in events if isinstance(each, ToolInvocation))
    assert invocation.arguments == {"path": "a.py", "content": "[redacted:anthropic key]", "n": 1}
    assert invocation.raw == source_of(events)


def test_the_arguments_that_stream_beside_a_call_are_redacted():
    specs = [FieldSpec("edit", paths=("edits[*].new",))]
    source = f'{{"edits": [{{"new": "a {AWS} b"}}], "to": "{AWS}"}}'
    for operators in ((redact(KEYS), stream_fields(specs)), (stream_fields(specs), redact(KEYS))):
        events = answered(chunks_of(list(source), "edit"), to_segments(turn_id="t"), *operators)
        assert AWS not in repr(events)
        assert f"a {SECRET} b" in {each.content for each in collect(events).segments}


def test_a_free_form_call_is_redacted():
    text = f"*** Begin {AWS} {{ \\u0041"
    for pieces in ([text], list(text)):
        events = answered(
            chunks_of(pieces, "patch", "text"),
            to_segments(turn_id="t"),
            redact(KEYS),
            to_invocations(keep_segments=True),
        )
        (invocation,) = (each for each in events if isinstance(each, ToolInvocation))
        assert invocation.arguments == {"input": text.replace(AWS, SECRET)}
        assert invocation.raw == said(events, "tool_call") == text.replace(AWS, SECRET)


@pytest.mark.parametrize("cut", [1, 3, 100])
def test_a_call_that_must_not_run_is_redacted(cut: int):
    for source in (f'{{"a": "{AWS}", {AWS}', f"{AWS} is it", f'{{"a": "{AWS}', f'{{"a": "x\\q \\u0041{AWS[1:]}"}}'):
        pieces = [source[place : place + cut] for place in range(0, len(source), cut)]
        events = answered(chunks_of(pieces), to_segments(turn_id="t"), redact(KEYS), to_invocations())
        (failed,) = events
        assert isinstance(failed, InvocationFailed)
        assert SECRET in failed.raw
        assert AWS[1:] not in repr(failed)


def test_a_broken_text_says_where_it_is_broken_in_what_is_shown():
    events = answered(chunks_of([f'{{"a": "{AWS}" 1}}']), to_segments(turn_id="t"), redact(KEYS), to_invocations())
    (failed,) = events
    assert failed.raw[failed.errors[0]["at"]] == "1"


def test_pieces_of_arguments_follow_the_redacted_text():
    source = f'{{"a": ["{AWS}", "x"], "b": "y {AWS}", "c": {CARD_NUMBER}}}'
    events = answered(
        chunks_of(list(source)), to_segments(turn_id="t"), redact(KEYS, CARD), partial_arguments(keep_segments=True)
    )
    shown = source_of(events)
    for event in events:
        for piece in getattr(event, "fragments", None) or ():
            if piece.kind == "TEXT":
                assert shown.startswith(piece.value, piece.at)
    *_, last = (each.arguments for each in events if type(each).__name__ == "PartialArguments")
    assert last == {"a": [SECRET, "x"], "b": f"y {SECRET}", "c": 0}


# ---------------------------------------------------------------------- what has the text once more


def test_metadata_native_and_what_a_provider_sends_are_redacted():
    native = {"signature": "s", "thought": f"use {AWS}"}
    chunks = [
        ChunkResponse(reasoning="hm", native=native),
        ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "f", f'{{"a": "{AWS}"}}', native={"input": {"a": AWS}}),)),
        ChunkResponse(provider_events=(ProviderEvent("tool_result", {"output": [f"x {AWS}", 4], AWS: None}, "x"),)),
        ChunkResponse(raw=({"type": "odd", "text": AWS},), api="x", error={"detail": f"bad {AWS}"}),
        ChunkResponse(finish_reason="tool_calls"),
    ]
    operators = to_segments(turn_id="t", end_arguments=True), redact(KEYS), to_invocations(keep_segments=True)
    events = [*drive(chunks, *operators)]
    assert AWS not in repr(events)
    assert sum(SECRET in repr(each) for each in events) >= 7


def test_a_kept_message_and_the_word_for_the_end_are_redacted_also_where_there_is_json_as_text():
    arguments = f'{{"a": "\\u0041{AWS[1:]}", "n": {CARD_NUMBER}}}'
    message = {
        "role": "assistant",
        "content": f"key {AWS}",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}],
    }
    (end,) = drive(
        [ChunkResponse(finish_reason="stop", finish_reason_raw=f"stop {AWS}", message=message, api="openai-chat")],
        to_segments(turn_id="t"),
        redact(KEYS, CARD),
    )
    assert isinstance(end, AnswerEnd)
    assert end.finish_reason_raw == f"stop {SECRET}"
    assert end.message["content"] == f"key {SECRET}"
    assert end.message["tool_calls"][0]["function"]["arguments"] == f'{{"a": "{SECRET}", "n": 0}}'
    assert message["content"] == f"key {AWS}"


def test_a_notice_tells_nothing_of_a_text_in_which_a_match_may_be_cut():
    calls = (ToolCallDelta(0, "c", "f", '{"a": 1}', done=True), ToolCallDelta(0, arguments_delta=f"{'x' * 70} {AWS}"))
    chunks = [ChunkResponse(tool_calls=calls, finish_reason="tool_calls")]
    events = answered(chunks, to_segments(turn_id="t"), redact(KEYS))
    (notice,) = (each for each in events if isinstance(each, Notice))
    assert notice.code == "late_arguments"
    assert "AKIA" not in notice.detail
    (told,) = drive([Notice("x", f"got {AWS}")], redact(KEYS))
    assert isinstance(told, Notice)
    assert told.detail == f"got {SECRET}"


def test_json_in_a_text_is_redacted_in_the_spelling_of_json_too():
    for begin in ("", "```json\n", "\n "):
        text = f'{begin}{{"a": "\\u0041{AWS[1:]}"}}'
        for pieces in ([text], list(text)):
            assert said(text_of(pieces, redact(KEYS))) == f'{begin}{{"a": "{SECRET}"}}'


class Deploy(BaseModel):
    key: str


def test_invocations_have_the_redacted_arguments_or_run_with_the_true_ones():
    seen: list[str] = []

    @tool
    def deploy(key: str) -> str:
        seen.append(key)
        return "done"

    chunks = chunks_of([f'{{"key": "{AWS}"}}'], "deploy")
    behind = to_invocations([deploy], keep_segments=True)
    for true_arguments in (False, True):
        operator = redact(KEYS, true_arguments=true_arguments)
        events = answered(chunks, to_segments(turn_id="t"), behind, operator)
        (invocation,) = (each for each in events if isinstance(each, ToolInvocation))
        assert AWS not in repr(events)
        assert AWS not in b"".join(map(to_json, events)).decode()
        assert invocation.arguments == {"key": SECRET}
        read_back: Any = from_json(to_json(invocation))
        assert read_back.arguments == {"key": SECRET}
        for copied in (deepcopy(invocation), pickle.loads(pickle.dumps(invocation))):
            deploy.run(copied)
    assert seen == [SECRET, SECRET, AWS, AWS]
    true: Any = invocation.arguments
    assert true.true == {"key": AWS}


def test_a_failed_invocation_is_redacted_behind_it_too():
    chunks = chunks_of([f'{{"key": ["{AWS}"]}}'], "deploy")
    operators = to_segments(turn_id="t"), to_invocations({"deploy": Deploy}), redact(KEYS)
    (failed,) = answered(chunks, *operators)
    assert failed.raw == f'{{"key": ["{SECRET}"]}}'


def test_a_pipeline_takes_it():
    source = f'{{"path": "a.py", "content": "{AWS}"}}'
    pipeline = Pipeline().insert(redact(KEYS), after="to_segments")
    run = pipeline.stream(chunks_of(list(source), "write_file"))
    assert AWS not in repr([*run])
    assert run.answer.invocations[0].arguments["content"] == SECRET
    assert AWS not in repr(run.answer.message("anthropic"))


# ---------------------------------------------------------------------- calls in text


DIALECTS = ("hermes", "qwen3_coder", "glm45", "llama4_pythonic", "gemma4", "deepseek_v32_dsml", "json_bare", "kimi_k2")
IN_TEXT = {
    "hermes": '<tool_call>\n{{"name": "f", "arguments": {{"a": "{}", "b": ["{}"]}}}}\n</tool_call>',
    "qwen3_coder": "<tool_call>\n<function=f>\n<parameter=a>\n{}\n</parameter>\n<parameter=b>\nx {}\n</parameter>\n</function>\n</tool_call>",
    "glm45": '<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>{}</arg_value>\n<arg_key>b</arg_key>\n<arg_value>["{}"]</arg_value>\n</tool_call>',
    "llama4_pythonic": "<|python_start|>[f(a='{}', b=['{}'])]<|python_end|>",
    "gemma4": '<|tool_call>call:f{{a:<|"|>{}<|"|>,b:[<|"|>{}<|"|>]}}<tool_call|>',
    "json_bare": '{{"name": "f", "arguments": {{"a": "{}", "b": ["{}"]}}}}',
}


@pytest.mark.parametrize("dialect", sorted(IN_TEXT))
def test_a_call_in_text_is_redacted_in_its_source_and_its_arguments(dialect: str):
    text = IN_TEXT[dialect]
    for pieces in ([text.format(AWS, AWS)], list(text.format(AWS, AWS))):
        chunks = [*(ChunkResponse(content=each) for each in pieces), ChunkResponse(finish_reason="stop")]
        events = answered(chunks, parse_text(dialect, turn_id="t"), redact(KEYS), to_invocations(keep_segments=True))
        assert AWS not in repr(events)
        assert source_of(events) == text.format(SECRET, SECRET)
        (invocation,) = (each for each in events if isinstance(each, ToolInvocation))
        again = answered(
            [ChunkResponse(content=source_of(events), finish_reason="stop")],
            parse_text(dialect, turn_id="t"),
            to_invocations(),
        )
        assert [each.arguments for each in again if isinstance(each, ToolInvocation)] == [invocation.arguments]
        assert invocation.arguments["a"] == SECRET


# ---------------------------------------------------------------------- laws


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted(SETS)), TEXTS, st.data())
def test_text_in_every_cutting_is_the_whole_text_redacted(name: str, text: str, data: st.DataObject):
    expected = redacted_whole(SETS[name], text)
    for pieces in ([text], data.draw(cuts(text))):
        shown = said(text_of(pieces, redact(*SETS[name])))
        assert shown == expected or (text.lstrip()[:1] == '"' and "\\" in text)


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted(SETS)), OBJECTS, st.data())
def test_a_call_in_every_cutting_has_its_values_redacted(name: str, value: dict[str, Any], data: st.DataObject):
    source = data.draw(written(value))
    operators = to_segments(turn_id="t"), redact(*SETS[name]), to_invocations(keep_segments=True)
    expected = redacted_value(SETS[name], value)
    ways = []
    for pieces in ([source], list(source), data.draw(cuts(source))):
        events = answered(chunks_of(pieces), *operators)
        (invocation,) = (each for each in events if isinstance(each, ToolInvocation))
        assert invocation.arguments == expected
        assert invocation.raw == source_of(events) == said(events, "tool_call")
        assert json.loads(invocation.raw) == expected
        ways.append([collect(events).segments, invocation.raw])
    assert ways[0] == ways[1] == ways[2]


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted(SETS)), OBJECTS, st.data())
def test_a_broken_call_in_every_cutting_is_the_same(name: str, value: dict[str, Any], data: st.DataObject):
    source = data.draw(written(value))
    place = data.draw(st.integers(0, len(source)))
    broken = (
        source[:place] + data.draw(st.sampled_from(("", "x", '"', "\\", "\n", "4111 1111 1111 1111"))) + source[place:]
    )
    broken = broken[: data.draw(st.integers(0, len(broken)))]
    operators = to_segments(turn_id="t"), redact(*SETS[name]), to_invocations(keep_segments=True)
    ways = [
        collect(answered(chunks_of(pieces), *operators)) for pieces in ([broken], list(broken), data.draw(cuts(broken)))
    ]
    results = [
        (each.segments, [one.raw for one in each.invocations], [one.raw for one in each.failures]) for each in ways
    ]
    assert results[0] == results[1] == results[2]


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted(SETS)), OBJECTS, st.booleans(), st.data())
def test_behind_streamed_fields_it_is_the_same(name: str, value: dict[str, Any], is_before: bool, data: st.DataObject):
    value = {
        "path": "a.py",
        "content": data.draw(TEXTS),
        **{k: v for k, v in value.items() if k not in ("path", "content")},
    }
    source = data.draw(written(value))
    redaction = redact(*SETS[name])
    operators = (redaction, stream_fields()) if is_before else (stream_fields(), redaction)
    shown = redacted_value(SETS[name], value)
    for pieces in ([source], data.draw(cuts(source))):
        events = answered(chunks_of(pieces, "write_file"), to_segments(turn_id="t"), *operators, to_invocations())
        (invocation,) = (each for each in events if isinstance(each, ToolInvocation))
        assert invocation.arguments == shown
        assert json.loads(invocation.raw) == shown


@settings(max_examples=scaled(500), deadline=None)
@given(st.sampled_from(sorted(SETS)), OBJECTS, st.data())
def test_it_goes_on_elsewhere_after_any_piece(name: str, value: dict[str, Any], data: st.DataObject):
    source = data.draw(written(value))
    operator = redact(*SETS[name])
    before = [to_segments(turn_id="t"), *([stream_fields()] if data.draw(st.booleans()) else [])]
    segments = answered(chunks_of(data.draw(cuts(source)), data.draw(st.sampled_from(("f", "write_file")))), *before)
    place = data.draw(st.integers(0, len(segments)))
    chain = stage(operator)
    for each in segments[:place]:
        chain.feed(each)
    copy = thawed(operator, frozen(chain))
    for each in segments[place:]:
        assert copy.feed(each) == chain.feed(each)
    assert copy.close(Completed()) == chain.close(Completed())


# ---------------------------------------------------------------------- wrong use


@pytest.mark.parametrize(
    ("patterns", "why"),
    [
        ((), "needs something to redact"),
        (([],), "needs something to redact"),
        ((1,), "takes strings, patterns, Detectors and ready sets"),
        ((b"x",), "takes strings, patterns, Detectors and ready sets"),
        (("",), "may match no text at all"),
        ((Detector("x", "a+b"),), "has no bounded width"),
        ((Detector("x", "ab+", str.isupper),), "has accepts=, which judges whole matches"),
    ],
)
def test_what_cannot_be_redacted_is_refused(patterns: tuple[Any, ...], why: str):
    with pytest.raises(UsageError, match=why):
        redact(*patterns)
