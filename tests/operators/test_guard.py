from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from msgspec.structs import replace
from operator_contract import (
    FROM_CALLS,
    FROM_FIELDS,
    Case,
    by_adrive,
    by_drive,
    by_rx,
    by_subject,
    frozen,
    read_back,
    thawed,
    wrong_answers,
    wrong_segments,
)
from pydantic import BaseModel
from reactivex.subject import Subject
from strategies.cuts import cuts

from penstock.events import (
    AnswerEnd,
    CallCutError,
    ChunkResponse,
    InvocationFailed,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    ToolResult,
    UsageError,
)
from penstock.events.chunk_response import TokenUsage
from penstock.operators import (
    Completed,
    FieldSpec,
    Interrupted,
    compose,
    drive,
    interrupt_on,
    parse_text,
    stage,
    stream_fields,
    to_invocations,
    to_segments,
    validate,
)
from penstock.operators.engine.stage import StreamStopped, stage_of
from penstock.operators.guard import guard
from penstock.operators.machines.json_machine import JsonMachine
from penstock.operators.policies import (
    AllowedTools,
    AnswerSize,
    CallCount,
    ClosedField,
    FieldPattern,
    FieldSize,
    FieldsJudgedBy,
    InsideRoot,
    ValidCalls,
)
from penstock.pipeline import Pipeline, call_tools, tool


def no_secrets(field: ClosedField) -> str | None:
    return "a secret" if "hunter2" in str(field.value) else None


def unchecked(given: Any) -> Any:
    """Return what a checker would refuse."""
    return given


ALL = (
    *(AllowedTools(["write_file", "add", "late"]), InsideRoot("/work"), FieldPattern(denied="never"), CallCount(3)),
    *(FieldSize(9, fields=["content"]), AnswerSize(characters=50), ValidCalls(), no_secrets),
)
CONTRACT = (
    Case("guard", guard(*ALL, then="drop"), (*FROM_CALLS, *FROM_FIELDS)),
    Case("guard lets pass", guard(AnswerSize(characters=10**9), FieldPattern(denied="§")), (*FROM_CALLS, *FROM_FIELDS)),
    Case("guard holds fields", guard(InsideRoot("/work", holds="field")), (*FROM_CALLS, *FROM_FIELDS)),
    Case("guard holds calls", guard(FieldSize(2, holds="call"), then="drop"), (*FROM_CALLS, *FROM_FIELDS)),
    Case("guard read back", guard(*ALL, then="drop"), (*read_back(FROM_CALLS), *read_back(FROM_FIELDS))),
)


def deltas(pieces: Iterable[str], index: int = 0) -> list[ChunkResponse]:
    return [ChunkResponse(tool_calls=(ToolCallDelta(index, arguments_delta=each),)) for each in pieces]


def call(name: str, pieces: Iterable[str], index: int = 0) -> list[ChunkResponse]:
    return [ChunkResponse(tool_calls=(ToolCallDelta(index, f"c{index}", name),)), *deltas(pieces, index)]


STOP = ChunkResponse(finish_reason="tool_calls", usage=TokenUsage(1, 2, 3))
PASSWD = ('{"path": "/etc', '/passwd", "con', 'tent": "x', "y", 'z"}')


def run(chunks: Iterable[Any], *policies: Any, **options: Any) -> list[Any]:
    operators = to_segments(turn_id="t"), guard(*policies, **options), to_invocations(keep_segments=True)
    return [*drive([*chunks], *operators)]


def failures(events: Iterable[Any]) -> list[tuple[str, str, list[str]]]:
    failed = (each for each in events if isinstance(each, InvocationFailed))
    return [(each.id, each.reason, [error["msg"] for error in each.errors if "msg" in error]) for each in failed]


def ends(events: Iterable[Any]) -> list[tuple[str, str | None, str | None]]:
    return [(each.segment_id, each.status, each.reason) for each in events if isinstance(each, SegmentEnd)]


def shown(events: Iterable[Any]) -> str:
    return "".join(each.delta for each in events if isinstance(each, SegmentContent))


WHY = "'/etc/passwd' is not inside /work"


def test_the_call_ends_where_it_is_certain_and_the_source_is_closed():
    closed: list[str] = []

    def chunks() -> Iterator[ChunkResponse]:
        try:
            yield from call("write_file", PASSWD)
        finally:
            closed.append("closed")

    operators = to_segments(turn_id="t"), guard(InsideRoot("/work")), to_invocations(keep_segments=True)
    source = chunks()
    events = [*drive(source, *operators)]
    assert closed == ["closed"]
    assert shown(events) == '{"path": "/etc'
    assert ends(events) == [("c0", "interrupted", f"inside_root: {WHY}")]
    assert failures(events) == [("c0", "guarded", [WHY])]
    assert [each.raw for each in events if isinstance(each, InvocationFailed)] == ['{"path": "/etc']
    assert events[-1] == AnswerEnd("t", status="interrupted")


def test_the_end_of_the_call_says_which_policy_and_which_field():
    [end] = [each for each in run(call("write_file", PASSWD), InsideRoot("/work")) if isinstance(each, SegmentEnd)]
    assert end.metadata["guard"] == {"policy": "inside_root", "reason": WHY, "path": ["path"]}


@looped(
    "policy, why",
    [
        (AllowedTools(["read"]), "'write_file' is not among read"),
        (CallCount(0), "the answer may have 0 calls"),
        (FieldPattern(denied="pass(wd|word)"), "the text has a match of pass(wd|word)"),
        (FieldPattern(allowed="[a-z]+", fields=["path"]), "the text does not match [a-z]+"),
        (FieldSize(4, fields=["path"]), "the text may have 4 characters"),
        (FieldSize(2), "the text may have 2 characters"),
        (AnswerSize(characters=20), "the answer may have 20 characters"),
        (AnswerSize(tokens=5), "the answer may have 5 tokens, of about 4 characters each"),
        (AnswerSize(tokens=9, count=len), "the answer may have 9 tokens"),
        (lambda field: "no path" if field.path == ("path",) else None, "no path"),
        (FieldsJudgedBy(no_secrets), None),
        (FieldPattern(denied="passwd", tool="read"), None),
        (InsideRoot("/etc"), None),
        (InsideRoot("/work", fields=["content"]), None),
        (InsideRoot("/work", tool="Write_File"), WHY),
    ],
)
def test_each_policy_has_its_words(policy: Any, why: str | None):
    events = run([*call("write_file", PASSWD), STOP], policy)
    assert failures(events) == ([] if why is None else [("c0", "guarded", [why])])
    assert events[-1].status == ("complete" if why is None else "interrupted")


def test_other_open_segments_end_with_the_stream():
    chunks = [ChunkResponse(content="Now"), *call("read", ['{"a": ']), *call("write_file", PASSWD, 1)]
    events = run(chunks, InsideRoot("/work"))
    reason = f"inside_root: {WHY}"
    assert ends(events)[0] == ("t:text_0", "complete", None)
    assert set(ends(events)[1:]) == {("c1", "interrupted", reason), ("c0", "interrupted", reason)}
    assert failures(events) == [("c1", "guarded", [WHY]), ("c0", "interrupted", [])]


def test_dropping_lets_the_answer_go_on():
    chunks = [*call("write_file", PASSWD), *call("read", ['{"path": "a"}'], 1), STOP]
    events = run(chunks, InsideRoot("/work"), then="drop")
    assert failures(events) == [("c0", "guarded", [WHY])]
    assert shown(each for each in events if getattr(each, "segment_id", "") == "c0") == '{"path": "/etc'
    assert [segment_id for segment_id, _, _ in ends(events)] == ["c0", "c1"]
    assert [each.id for each in events if isinstance(each, ToolInvocation)] == ["c1"]
    assert events[-1] == AnswerEnd("t", finish_reason="tool_calls", usage=TokenUsage(1, 2, 3))


@pytest.mark.parametrize("then", ["stop", "drop"])
@pytest.mark.parametrize("keeps", [True, False])
def test_behind_to_invocations_no_call_runs_all_the_same(then: Any, keeps: bool):
    chunks = [*call("write_file", ["".join(PASSWD)]), STOP]
    operators: Any = (
        to_segments(turn_id="t"),
        to_invocations(keep_segments=keeps),
        guard(InsideRoot("/work"), then=then),
    )
    if not keeps:
        with pytest.raises(UsageError, match="before to_invocations"):
            [*drive(chunks, *operators)]
        return
    events = [*drive(chunks, *operators)]
    assert failures(events) == [("c0", "guarded", [WHY])]
    assert not [each for each in events if isinstance(each, ToolInvocation)]


def test_segments_of_single_fields_are_guarded_as_calls():
    operators = to_segments(turn_id="t"), stream_fields(), guard(InsideRoot("/work")), to_invocations()
    assert failures(drive(call("write_file", PASSWD), *operators)) == [("c0", "guarded", [WHY])]


def test_the_segment_of_an_argument_ends_with_its_call():
    arguments = json.dumps({"path": "a", "edits": [{"new_text": "one"}, {"new_text": "a secret"}]})
    spec = FieldSpec("edit", paths=("edits[*].new_text",))
    for then in ("stop", "drop"):
        guarding = guard(FieldPattern(denied="secret"), then=then)
        operators = to_segments(turn_id="t"), stream_fields([spec]), guarding, to_invocations(keep_segments=True)
        chunks = [*call("edit", re.findall(".{1,3}", arguments)), STOP]
        events = [*drive(chunks, *operators)]
        assert failures(events) == [("c0", "guarded", ["the text has a match of secret"])]
        last = "c0/edits/1/new_text"
        assert "secret" not in shown(each for each in events if getattr(each, "segment_id", "") == last)
        assert len([each for each in ends(events) if each[0] == last]) == 1


def test_a_call_in_text_is_guarded_too():
    text = '<tool_call>\n{"name": "rm", "arguments": {"path": "/"}}\n</tool_call>'
    chunks = [ChunkResponse(content=each) for each in re.findall(r"(?s).{1,5}", text)]
    operators = parse_text("hermes", turn_id="t"), guard(AllowedTools(["read"])), to_invocations()
    assert [why for _, _, why in failures(drive(chunks, *operators))] == [["'rm' is not among read"]]


def test_text_is_cut_at_the_first_character_that_is_wrong():
    chunks = [ChunkResponse(content="the password is hun"), ChunkResponse(content="ter2, bye")]
    events = run(chunks, FieldPattern(denied="hunter[0-9]"))
    assert shown(events) == "the password is hunter"
    assert ends(events)[0][1:] == ("interrupted", "field_pattern: the text has a match of hunter[0-9]")


def test_a_pattern_that_only_the_end_makes_certain():
    events = run([ChunkResponse(content="to be continued"), STOP], FieldPattern(denied=r"continued\Z"), then="drop")
    assert ends(events) == [("t:text_0", "interrupted", r"field_pattern: the text has a match of continued\Z")]


class Add(BaseModel):
    a: int
    b: int = 0


@pytest.mark.parametrize("pieces", [('{"a": ', "[", "1], "), ('{"a": [1], ',)])
@pytest.mark.parametrize("then", ["stop", "drop"])
def test_validation_events_stop_a_call(pieces: tuple[str, ...], then: Any):
    operators = to_segments(turn_id="t"), validate([Add]), guard(ValidCalls(), then=then), to_invocations([Add])
    [(_, reason, [why])] = failures(drive([*call("Add", pieces), *deltas(['"b": 1}']), STOP], *operators))
    assert (reason, why.partition(":")[0]) == ("guarded", "a")


@pytest.mark.parametrize("holds", ["field", "call"])
def test_what_is_held_is_shown_once_it_is_judged(holds: Any):
    arguments = '{"note": "n", "path": "/work/a.py", "content": "xyz"}'
    policy = InsideRoot("/work", fields=["path"], holds=holds)
    chain = stage(to_segments(turn_id="t"), guard(policy))
    chunks = call("write_file", re.findall(".", arguments))
    seen = ""
    texts: list[str] = []
    for chunk in chunks:
        seen += shown(chain.feed(chunk))
        texts.append(seen)
    whole_path = arguments.index('", "content"')
    before = arguments.index('"/work') if holds == "field" else 0
    assert texts[whole_path] == arguments[:before]
    assert texts[whole_path + 1] == arguments[: whole_path + 1]
    assert texts[-1] == arguments


def test_the_trace_says_what_is_held_and_for_whom():
    chain = stage(to_segments(turn_id="t"), guard(InsideRoot("/work", holds="call")))
    for chunk in call("write_file", ['{"path": "/wo']):
        chain.feed(chunk)
    [held] = [each for each in chain.withheld() if each.segment_id == "c0"]
    assert (held.text, held.reason) == ('{"path": "/wo', "inside_root has yet to judge it")


def test_what_nobody_will_judge_any_more_is_not_shown():
    events = run(call("write_file", PASSWD[:1]), InsideRoot("/work", holds="call"))
    assert shown(events) == ""
    assert failures(events)[0][:2] == ("c0", "truncated")


def test_a_held_call_that_is_forbidden_shows_its_name_only():
    events = run(call("write_file", PASSWD), InsideRoot("/work", holds="call"))
    assert shown(events) == ""
    assert [each.metadata for each in events if isinstance(each, SegmentStart)] == [{"tool_name": "write_file"}]
    assert failures(events) == [("c0", "guarded", [WHY])]


# Each way to run a chain.


def is_guarded(event: Any) -> bool:
    return isinstance(event, SegmentEnd) and "guard" in event.metadata


@pytest.mark.parametrize("number", range(len(ALL)))
def test_every_way_to_run_it_ends_in_the_same_order(number: int):
    operator = guard(ALL[number])
    for items in (*FROM_CALLS, *FROM_FIELDS):
        outcomes = [each(items, None, operator) for each in (by_drive, by_adrive, by_rx, by_subject)]
        assert outcomes[1:] == outcomes[:-1]
        assert outcomes[0].end == "completed"
        assert wrong_segments(outcomes[0].events) == []
        assert wrong_answers(outcomes[0].events) == [] or not any(map(is_guarded, outcomes[0].events))


def test_an_observable_is_left_and_completes():
    source: Subject[ChunkResponse] = Subject()
    seen: list[Any] = []
    piped: Any = source
    for operator in (to_segments(turn_id="t"), guard(InsideRoot("/work")), to_invocations()):
        piped = piped.pipe(operator)
    piped.subscribe(seen.append, on_completed=lambda: seen.append("completed"))
    for chunk in call("write_file", PASSWD):
        source.on_next(chunk)
    assert failures(seen) == [("c0", "guarded", [WHY])]
    assert seen[-1] == "completed"
    assert not source.observers


def test_interrupt_on_ends_in_order():
    source: Subject[ChunkResponse] = Subject()
    signal: Subject[str] = Subject()
    seen: list[Any] = []
    operators = to_segments(turn_id="t"), guard(InsideRoot("/work")), to_invocations()
    source.pipe(interrupt_on(signal, *operators)).subscribe(seen.append, on_completed=lambda: seen.append("completed"))
    for chunk in call("write_file", PASSWD):
        source.on_next(chunk)
    signal.on_next("too late")
    assert [*failures(seen), *seen[-2:]] == [
        ("c0", "guarded", [WHY]),
        AnswerEnd("t", status="interrupted"),
        "completed",
    ]
    assert not source.observers
    assert not signal.observers


def test_a_chain_says_that_it_wants_no_more():
    chain = stage(to_segments(turn_id="t"), guard(InsideRoot("/work")), to_invocations())
    first, *rest = call("write_file", PASSWD)
    assert chain.feed(first) == []
    assert chain.feed(rest[0]) == []
    with pytest.raises(StreamStopped) as stopped:
        chain.feed(rest[1])
    assert failures(stopped.value.events) == [("c0", "guarded", [WHY])]
    assert chain.close(Interrupted(stopped.value.reason)) == [AnswerEnd("t", status="interrupted")]


def guarded_pipeline(*policies: Any, **options: Any) -> Pipeline:
    return Pipeline("api_tool_call").insert(guard(*policies, **options), before="to_invocations")


def test_a_pipeline_stops_plain_and_async():
    chunks = [*call("write_file", PASSWD), STOP]
    pipeline = guarded_pipeline(InsideRoot("/work"))
    plain = [*pipeline.stream(chunks, turn_id="t")]

    async def collected() -> list[Any]:
        return [event async for event in pipeline.astream(chunks, turn_id="t")]

    assert failures(plain) == [("c0", "guarded", [WHY])]
    assert plain[-1].status == "interrupted"
    assert asyncio.run(collected()) == plain


# Async policies.


async def ask(field: ClosedField) -> str | None:
    await asyncio.sleep(0)
    return f"{field.value} is not ours" if field.path == ("path",) and "etc" in field.value else None


def asked(chunks: Iterable[Any], *policies: Any, **options: Any) -> list[Any]:
    async def collected() -> list[Any]:
        return [event async for event in guarded_pipeline(*policies, **options).astream([*chunks], turn_id="t")]

    return asyncio.run(collected())


@pytest.mark.parametrize("then", ["stop", "drop"])
@pytest.mark.parametrize("pieces", [PASSWD, ("".join(PASSWD),)])
def test_an_async_policy_is_awaited_before_the_stream_goes_on(pieces: tuple[str, ...], then: Any):
    events = asked([*call("write_file", pieces), *call("read", ["{}"], 1), STOP], ask, then=then)
    assert failures(events)[0] == ("c0", "guarded", ["/etc/passwd is not ours"])
    assert [each.id for each in events if isinstance(each, ToolInvocation)] == (["c1"] if then == "drop" else [])
    assert events[-1].status == ("complete" if then == "drop" else "interrupted")


def test_an_async_policy_that_has_nothing_to_say_changes_nothing():
    chunks = [*call("write_file", ['{"path": "a", "content": "b"}']), *call("read", ['{"path": "c"}'], 1), STOP]
    assert asked(chunks, ask) == asked(chunks, no_secrets)
    held = asked(chunks, FieldsJudgedBy(ask, holds="call"))
    assert [each for each in held if isinstance(each, ToolInvocation)] == [
        each for each in asked(chunks, ask) if isinstance(each, ToolInvocation)
    ]


def test_a_question_at_the_end_is_answered_before_the_call_runs():
    text = '{"name": "write_file", "parameters": {"path": "/etc/passwd", "content": ""}}'
    chunks = [ChunkResponse(content=text), ChunkResponse(finish_reason="stop")]

    async def collected(policy: Any) -> list[Any]:
        pipeline = Pipeline("llama3_json").insert(guard(policy), before="to_invocations")
        return [event async for event in pipeline.astream(chunks, turn_id="t")]

    events = asyncio.run(collected(ask))
    assert [why for _, _, why in failures(events)] == [["/etc/passwd is not ours"]]
    assert events[-1].status == "interrupted"
    assert [each.name for each in asyncio.run(collected(FieldsJudgedBy(ask, fields=["content"])))[-2:-1]] == [
        "write_file"
    ]


@pytest.mark.parametrize("why", [None, "not ours"])
def test_a_call_whose_last_field_closes_with_it_waits_for_the_answer(why: str | None):
    chain = stage_of(compose(guard(ask), to_invocations()), may_ask=True)
    start, end = SegmentStart("c", "tool_call", {"tool_name": "read"}), SegmentEnd("c", "tool_call", "complete")
    pieces = [*JsonMachine().feed('{"path": "a"}')]
    assert chain.feed(start) == []
    assert chain.feed(replace(end, raw='{"path": "a"}', fragments=tuple(pieces))) == []
    assert chain.question is not None
    if why is None:
        [invocation] = chain.answer(None)
        assert isinstance(invocation, ToolInvocation)
        assert invocation.arguments == {"path": "a"}
    else:
        with pytest.raises(StreamStopped) as stopped:
            chain.answer(why)
        assert failures(stopped.value.events) == [("c", "guarded", ["not ours"])]


def test_a_question_is_left_when_the_run_is_cancelled():
    started: Any = None

    async def forever(_: ClosedField) -> str | None:
        started.cancel("enough")
        await asyncio.Event().wait()
        return None

    async def collected() -> list[Any]:
        nonlocal started
        started = guarded_pipeline(forever).astream([*call("write_file", PASSWD), STOP], turn_id="t")
        return [event async for event in started]

    events = asyncio.run(collected())
    assert ends(events) == [("c0", "interrupted", "enough")]
    assert failures(events)[0][:2] == ("c0", "interrupted")


def test_the_exception_of_a_policy_ends_the_stream():
    def broken(_: ClosedField) -> None:
        message = "no rule"
        raise LookupError(message)

    async def broken_later(field: ClosedField) -> None:
        broken(field)

    chunks = [*call("write_file", PASSWD), STOP]
    seen: list[Any] = []
    with pytest.raises(LookupError, match="no rule"):
        seen.extend(guarded_pipeline(broken).stream(chunks))
    with pytest.raises(LookupError, match="no rule"):
        asked(chunks, broken_later)


def test_an_async_policy_is_refused_where_nothing_awaits_it():
    pipeline = guarded_pipeline(ask)
    for start in (
        lambda: stage(guard(ask)),
        lambda: [*drive([], guard(ask))],
        lambda: [*pipeline.stream([])],
    ):
        with pytest.raises(UsageError, match=r"async policy works in Pipeline\.astream"):
            start()


def test_a_tool_that_reads_while_the_model_writes_is_told():
    lines: list[str] = []

    async def save(path: str, content: AsyncIterator[str]) -> str:
        """Save a text."""
        try:
            async for piece in content:
                lines.append(piece)  # noqa: PERF401 - what came before the exception counts
        except CallCutError as error:
            lines.append(f"({error.reason})")
        return path

    saving = tool(save)
    guarding = guard(FieldPattern(denied="hunter[0-9]"))
    pieces = ('{"path": "a", "content": "one ', "two hun", 'ter2"}')
    chunks = [*call("save", pieces), STOP]

    async def collected() -> list[Any]:
        pipeline = Pipeline("api_tool_call", tools=[saving], steps=[call_tools([saving])])
        return [event async for event in pipeline.insert(guarding, before="to_invocations").astream(chunks)]

    events = asyncio.run(collected())
    assert "".join(lines) == "one two hun(guarded)"
    assert [why for _, why, _ in failures(events)] == ["guarded"]
    assert not [event for event in events if isinstance(event, ToolResult)]


# What is no policy.


@looped(
    "make, words",
    [
        (guard, "at least one policy"),
        (lambda: guard(unchecked(AllowedTools)), "takes policies"),
        (lambda: guard(unchecked("read")), "takes policies"),
        (lambda: guard(CallCount(1), then=unchecked("wait")), "then= must be"),
        (lambda: AllowedTools("read"), "in a list"),
        (lambda: AllowedTools([unchecked(1)]), "in a list"),
        (lambda: CallCount(-1), "whole number"),
        (lambda: CallCount(True), "whole number"),
        (lambda: InsideRoot(""), "needs a folder"),
        (lambda: InsideRoot("/", holds=unchecked("all")), "holds= must be"),
        (FieldPattern, "either denied= or allowed="),
        (lambda: FieldPattern(denied="("), "not a regular expression"),
        (lambda: FieldPattern(denied="a*"), "matches the empty text"),
        (lambda: FieldPattern(denied="(?=a)"), "cannot be matched"),
        (lambda: FieldPattern(denied="a", fields=["[x"]), "is not a path"),
        (lambda: FieldSize(1, fields="path"), "in a list"),
        (AnswerSize, "either characters= or tokens="),
        (lambda: AnswerSize(characters=0), "at least 1"),
        (lambda: AnswerSize(characters=1, count=len), "counts tokens"),
        (lambda: FieldsJudgedBy(unchecked("read")), "needs a function"),
    ],
)
def test_a_usage_error_says_what_to_pass(make: Any, words: str):
    with pytest.raises(UsageError, match=words):
        make()


@looped(
    "path, is_inside",
    [
        ("a.py", True),
        ("./a/../b", True),
        ("/work", True),
        ("/work/a", True),
        ("..\\b", False),
        ("/workshop", False),
        ("a/../../b", False),
        ("~/a", False),
        ("C:\\a", False),
        ("/work/../etc", False),
        ("", True),
    ],
)
def test_a_path_is_inside_by_its_text(path: str, is_inside: bool):
    assert (InsideRoot("/work").judge_field(ClosedField("f", ("path",), path, "c")) is None) is is_inside


# Properties.

names = st.sampled_from(["path", "content", "note"])
texts = st.text(st.sampled_from('ab/."\\é\n'), max_size=8)
PROPERTY_POLICIES: list[Any] = [
    InsideRoot("/a"),
    InsideRoot("/a", holds="field"),
    InsideRoot("/a", fields=["path"], holds="call"),
    FieldPattern(denied="ab|ba/"),
    FieldPattern(allowed="[ab/]*", fields=["path"], holds="field"),
    FieldSize(4),
    FieldSize(5, fields=["content"], holds="call"),
    no_secrets,
]


@settings(max_examples=scaled(500), deadline=None)
@given(
    arguments=st.dictionaries(names, texts, min_size=1),
    policy=st.sampled_from(PROPERTY_POLICIES),
    then=st.sampled_from(["stop", "drop"]),
    fields=st.booleans(),
    data=st.data(),
)
def test_the_verdict_never_depends_on_the_cutting(
    arguments: dict[str, str], policy: Any, then: Any, fields: bool, data: st.DataObject
):
    whole = json.dumps(arguments)
    operators = (to_segments(turn_id="t"), *((stream_fields(),) if fields else ()), guard(policy, then=then))

    def verdict(pieces: list[str]) -> tuple[Any, ...]:
        chunks = [*call("write_file", pieces), *call("read", ["{}"], 1), STOP]
        events = [*drive(chunks, *operators, to_invocations(keep_segments=True))]
        results = [
            (type(each).__name__, each.id, getattr(each, "reason", ""), getattr(each, "errors", ()))
            for each in events
            if isinstance(each, ToolInvocation | InvocationFailed)
        ]
        return results, events[-1].status, shown(each for each in events if getattr(each, "segment_id", "") == "c0")

    in_one, status, _ = verdict([whole])
    results, in_pieces, text = verdict(data.draw(cuts(whole)))
    each_character = verdict([*whole])
    assert (results, in_pieces) == (in_one, status) == each_character[:2]
    assert each_character[2].startswith(text)


@settings(max_examples=scaled(500), deadline=None)
@given(
    arguments=st.dictionaries(names, texts),
    policies=st.lists(st.sampled_from(PROPERTY_POLICIES), min_size=1, max_size=3),
    data=st.data(),
)
def test_in_a_lane_and_from_stage_to_stage_it_is_the_same(
    arguments: dict[str, str], policies: list[Any], data: st.DataObject
):
    chunks = [*call("write_file", data.draw(cuts(json.dumps(arguments)))), STOP]
    operators = to_segments(turn_id="t"), guard(*policies), to_invocations(keep_segments=True)
    quick = [*drive(chunks, *operators)]
    slow: list[Any] = chunks
    for operator in operators:
        slow = [*drive(slow, operator)]
    # Stage by stage, the first one reads on to the end.
    assert [each for each in quick if not isinstance(each, AnswerEnd)] == [
        each for each in slow if not isinstance(each, AnswerEnd)
    ]


@settings(max_examples=scaled(500), deadline=None)
@given(text=st.text(st.sampled_from("ab "), max_size=20), data=st.data())
def test_text_is_shown_up_to_the_character_that_is_wrong(text: str, data: st.DataObject):
    for policy, right in (
        (FieldPattern(denied="ab b|b{2,}a"), re.compile("ab b|b{2,}a")),
        (AnswerSize(characters=7), re.compile(r"(?s).{8}")),
    ):
        chunks = [ChunkResponse(content=each) for each in data.draw(cuts(text))]
        events = run([*chunks, STOP], policy)
        ending = min((at for at in range(1, len(text) + 1) if right.search(text[:at])), default=None)
        assert shown(events) == (text if ending is None else text[: ending - 1])


@settings(max_examples=scaled(500), deadline=None)
@given(words=st.lists(st.sampled_from(["a", "bb", "c" * 300, " " * 300, "d\n"]), max_size=8), data=st.data())
def test_tokens_do_not_depend_on_the_cutting(words: list[str], data: st.DataObject):
    text = " ".join(words)
    policy = AnswerSize(tokens=40, count=lambda word: len(word) // 8 + 1)
    cut, whole = (policy.judge_answer() for _ in range(2))
    at = 0
    found: int | None = None
    for piece in data.draw(cuts(text)):
        within = cut.read(piece)
        if within is not None:
            found = at + within
            break
        at += len(piece)
    in_one = whole.read(text)
    assert (found is None) == (in_one is None)


@settings(max_examples=scaled(500), deadline=None)
@given(arguments=st.dictionaries(names, texts), data=st.data())
def test_the_state_goes_through_any_encoding(arguments: dict[str, str], data: st.DataObject):
    pieces = data.draw(cuts(json.dumps(arguments)))
    chunks = [*call("write_file", pieces), STOP]
    operators = to_segments(turn_id="t"), guard(*PROPERTY_POLICIES, then="drop"), to_invocations(keep_segments=True)
    whole = [*drive(chunks, *operators)]
    place = data.draw(st.integers(0, len(chunks)))
    first = stage(*operators)
    events = [event for chunk in chunks[:place] for event in first.feed(chunk)]
    second = thawed(compose(*operators), frozen(first))
    events += [event for chunk in chunks[place:] for event in second.feed(chunk)]
    assert [*events, *second.close(Completed())] == whole


MUTANTS = {
    "a guard lets a path lead out behind another step": ("inside_by_its_text", ("operators/policies/ready.py", "            if depth < 0:\n", "            if depth < -1:\n")),
    "a guard shows the piece that is wrong": ("", ("operators/guard.py", "            return self._forbid(call, found[0], event=event)\n", "            return self._forbid(call, found[0], event=event, begin=(event,))\n")),
    "a guard drops a call and goes on with its rest": ("", ("operators/guard.py", "                self._dropped.add(identity)\n            return events", "                pass\n            return events")),
    "a guard in a lane looks at nothing": ("in_a_lane", ("operators/guard.py", "        if not (reads or watches or self._of_answers):\n", "        if call is not None:\n")),
    "a guard lets go what it holds before it is judged": ("held", ("operators/policies/guarded_call.py", "        if self.waiting:\n            return []\n", "")),
    "a call runs before its question is answered": ("waits_for_the_answer", ("operators/guard.py", "            self._ending = event\n            return ()\n", "            self._ending = event\n            return (event,)\n")),
    "a stopped chain is not closed in a plain loop": ("every_way", ("operators/engine/pump.py", "            try:\n                if item is not _END:\n                    events = work.feed(item)\n                else:\n                    how = how or Completed()\n                    events = work.close(how)\n            except StreamStopped as stop:\n                how = Interrupted(stop.reason)\n                events = [*stop.events, *work.close(how)]\n", "            try:\n                if item is not _END:\n                    events = work.feed(item)\n                else:\n                    how = how or Completed()\n                    events = work.close(how)\n            except StreamStopped as stop:\n                how = Interrupted(stop.reason)\n                events = stop.events\n")),
}  # fmt: skip
