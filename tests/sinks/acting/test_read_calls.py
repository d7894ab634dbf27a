"""Tools that read an argument while the model writes it: when they begin, what they read, and what becomes of the call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any, cast

import pytest
import virtual_time
from dialect_calls import WRITING, written
from every_sdk import STREAMS
from looped import looped
from msgspec.structs import replace
from read_calls import LAST, Saved, answer_of, events_of, no_task_is_left, pieces_of, reading, until

from penstock.events import (
    AnswerEnd,
    CallCutError,
    ChunkResponse,
    InvocationFailed,
    Notice,
    ProviderError,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolCallStatus,
    ToolInvocation,
    ToolResult,
    UsageError,
    from_json,
    to_json,
)
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.writing.render_call import render_call
from penstock.pipeline import Answer, Pipeline, Tool, call_tools, tool
from penstock.sinks import ApprovalRequest, Denied, Postponed, write_files
from penstock.sinks.acting.step import EventStep

WHOLE = ('{"path": "a.txt", "con', 'tent": "one\\n', "two", '"}')


def states(events: list[Any]) -> list[str]:
    return [event.state for event in events if isinstance(event, ToolCallStatus)]


def of_kind(events: list[Any], *kinds: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kinds)]


def ran(saved: Saved, chunks: Any, *, is_plain: bool = False, **options: Any) -> list[Any]:
    """Return the events of an answer whose call is read by the tool; nothing of it is left then."""

    async def main() -> list[Any]:
        events = await events_of([saved.plain if is_plain else saved.tool], chunks, **options)
        await no_task_is_left()
        return events

    return asyncio.run(main()) if is_plain else virtual_time.run(main())


# When it begins, and what it reads


@pytest.mark.parametrize("is_plain", [False, True])
def test_the_first_line_is_written_before_the_second_kilobyte_comes(is_plain: bool):
    lines: list[str] = []
    has_line = threading.Event()

    def take(rest: str, piece: str) -> str:
        *whole, rest = (rest + piece).split("\n")
        lines.extend(whole)
        if lines:
            has_line.set()
        return rest

    async def save(content: AsyncIterator[str]) -> None:
        rest = ""
        async for piece in content:
            rest = take(rest, piece)

    def save_in_thread(content: Iterator[str]) -> None:
        rest = ""
        for piece in content:
            rest = take(rest, piece)

    async def answer() -> AsyncIterator[ChunkResponse]:
        for chunk in pieces_of('{"content": "' + "x" * 99 + "\\n" + "y" * 900):
            yield chunk
        await until(has_line.is_set)  # which never comes if the tool does not read meanwhile
        assert lines == ["x" * 99]
        for piece in ("z" * 1000 + "\\n", '"}'):
            yield ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=piece),))
        yield LAST

    made = tool(save_in_thread, name="save") if is_plain else tool(save)

    async def main() -> list[Any]:
        async with asyncio.timeout(20):
            return await events_of([made], answer())

    events = asyncio.run(main())
    kinds = [type(event) for event in events]
    assert kinds.index(ToolCallStatus) < kinds.index(ToolInvocation) < kinds.index(ToolResult)
    assert lines == ["x" * 99, "y" * 900 + "z" * 1000]


@pytest.mark.parametrize("is_plain", [False, True])
def test_a_whole_call_is_read_to_its_end_and_has_a_result(is_plain: bool):
    saved = Saved()
    events = ran(saved, answer_of(*WHOLE), is_plain=is_plain)
    assert (saved.run.text, saved.run.error, saved.run.others) == ("one\ntwo", None, {"path": "a.txt", "mode": "w"})
    assert states(events) == ["started", "finished"]
    [started, finished] = of_kind(events, ToolCallStatus)
    [invocation] = of_kind(events, ToolInvocation)
    [result] = of_kind(events, ToolResult)
    assert (started.sha256, finished.sha256 is not None) == (None, True)
    assert events.index(started) < events.index(invocation) < events.index(finished) < events.index(result)
    assert (invocation.claimed_by, invocation.arguments) == ("call_tools", {"path": "a.txt", "content": "one\ntwo"})
    assert result.value == "a.txt w one\ntwo"


@looped(
    "pieces",
    [('{"path": "a", "content": ""}',), ('{"content": "", "path": "a"}',), ('{"path": "a", "content": "', '"}')],
)
def test_an_empty_text_has_no_piece(pieces: tuple[str, ...]):
    saved = Saved()
    events = ran(saved, answer_of(*pieces))
    assert (saved.run.pieces, saved.run.error) == ([], None)
    assert of_kind(events, ToolResult)[0].value == "a w "


def test_a_text_that_comes_first_waits_for_the_other_arguments():
    saved = Saved()
    events = ran(saved, answer_of('{"content": "one', ' two", "mode": "x", "pa', 'th": "a"', "}"))
    assert (saved.run.pieces, saved.run.others) == (["one two"], {"path": "a", "mode": "x"})
    assert of_kind(events, ToolResult)[0].value == "a x one two"


@looped("size, is_run", [(65_536, True), (65_537, False)])
def test_a_text_that_comes_first_fails_the_call_behind_a_limit(size: int, is_run: bool):
    for width in (size, 1_000):
        saved = Saved()
        text = "x" * size
        pieces = [text[at : at + width] for at in range(0, size, width)]
        events = ran(saved, answer_of('{"content": "', *pieces, '", "path": "a"}'))
        if is_run:
            assert saved.run.text == text
            continue
        [failed] = of_kind(events, InvocationFailed)
        [end] = of_kind(events, SegmentEnd)
        assert saved.runs == []
        assert (failed.reason, end.status, end.reason) == ("limit", "failed", "limit")
        assert failed.errors[0]["loc"] == ["content"]
        assert of_kind(events, ToolResult, ToolInvocation, ToolCallStatus) == []


@looped("mode, is_run", [('"w"', True), ('"x"', False), ("5", False)])
def test_an_argument_behind_the_text_may_not_change_what_runs(mode: str, is_run: bool):
    arguments = f'{{"path": "a", "content": "one", "mode": {mode}}}'
    for pieces in ([arguments], [*arguments]):
        saved = Saved()
        events = ran(saved, answer_of(*pieces))
        if is_run:
            assert (saved.run.text, of_kind(events, ToolResult)[0].value) == ("one", "a w one")
            continue
        [failed] = of_kind(events, InvocationFailed)
        assert failed.reason == ("contradiction" if mode == '"x"' else "invalid")
        # In one piece it is known before the tool has begun.
        assert [(each.text, each.reason) for each in saved.runs] == [("one", failed.reason)] * (len(pieces) > 1)
        assert of_kind(events, ToolResult, ToolInvocation) == []


def test_an_argument_that_comes_twice_cuts_the_call():
    for tools_stream in (("content",), ()):
        saved = Saved()
        made = tool(saved.save, streamed=tools_stream)
        events = virtual_time.run(events_of([made], answer_of('{"path": "a", "content": "o', 'ne", "content": "two"}')))
        assert saved.run.reason == of_kind(events, InvocationFailed)[0].reason == "duplicate_key"
        assert saved.run.text == "one"


@looped("first", ['"path": 5', '"what": 5, "path": "a"', '"mode": ["w"], "path": "a"'])
def test_a_call_with_invalid_arguments_never_begins(first: str):
    saved, asked = Saved(), list[ApprovalRequest]()

    def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    for asking in (None, approve):
        events = ran(saved, answer_of(f'{{{first}, "content": "one', '"}'), approve=asking)
        assert (saved.runs, asked, states(events)) == ([], [], [])
        assert of_kind(events, InvocationFailed)[0].reason == "invalid"


def test_a_text_that_is_none_never_begins():
    saved = Saved()
    events = ran(saved, answer_of('{"path": "a", "content": ["one', '"]}'))
    assert (saved.runs, of_kind(events, InvocationFailed)[0].reason) == ([], "invalid")


@pytest.mark.parametrize("is_native", [True, False])
def test_free_form_input_is_read(is_native: bool):
    read: list[str] = []

    async def apply(input: AsyncIterator[str]) -> int:  # noqa: A002 - the name that such tools have
        read.extend([piece async for piece in input])
        return len(read)

    deltas = [
        ToolCallDelta(0, "call_1", "apply", kind="text"),
        *(ToolCallDelta(0, arguments_delta=each) for each in "abc"),
    ]
    chunks = [*(ChunkResponse(tool_calls=(each,)) for each in deltas), LAST] if is_native else []
    if not is_native:  # as JSON has it, without its fragments
        start = SegmentStart("call_1", "tool_call", {"tool_name": "apply", "kind": "text"}, turn_id="t")
        contents = [SegmentContent("call_1", "tool_call", each, turn_id="t") for each in "abc"]
        end = SegmentEnd("call_1", "tool_call", "complete", turn_id="t")
        sealed = ToolInvocation("call_1", "t", "apply", {"input": "abc"}, raw="abc")

        async def stored() -> AsyncIterator[Any]:
            for event in (start, *contents, end, sealed):
                yield event

        async def main() -> list[Any]:
            return [event async for event in call_tools([apply])(stored())]

        events = virtual_time.run(main())
    else:
        events = virtual_time.run(events_of([apply], chunks))
    assert "".join(read) == "abc"
    assert of_kind(events, ToolResult)[0].value == len(read)
    assert states(events)[0] == "started"


def test_events_that_were_stored_as_json_are_read_too():
    saved, events = Saved(), ran(Saved(), answer_of(*WHOLE))
    passed = [from_json(to_json(each)) for each in events if not isinstance(each, ToolCallStatus | ToolResult)]

    async def stored() -> AsyncIterator[Any]:
        for event in passed:
            yield replace(event, claimed_by=None) if isinstance(event, ToolInvocation) else event

    async def main() -> list[Any]:
        return [event async for event in call_tools([saved.tool])(stored())]

    again = virtual_time.run(main())
    assert saved.run.text == "one\ntwo"
    assert states(again) == ["started", "finished"]
    kinds = [type(event) for event in again]
    assert kinds.index(ToolCallStatus) < kinds.index(ToolInvocation)


@pytest.mark.parametrize("dialect", WRITING)
def test_calls_in_text_are_read_in_every_dialect(dialect: str):
    call = written(dialect, "one\ntwo three")
    read: list[str] = []
    names = [name for name, value in call.arguments.items() if isinstance(value, str)]
    name = "content" if "content" in names else names[-1]
    made = reading(call.name, call.arguments, name, read)
    events = virtual_time.run(events_of([made], [*call.text], strategy=dialect))
    [invocation] = of_kind(events, ToolInvocation)
    assert "".join(read) == invocation.arguments[name]
    assert states(events) == ["started", "finished"]
    assert len(of_kind(events, ToolResult)) == 1


RECORDED = sorted(path for path in STREAMS.glob("*/*") if path.suffix != ".json")


def test_the_calls_of_every_provider_are_read():
    apis: set[str] = set()
    for path in RECORDED:
        events = list[Any]()
        with suppress(ProviderError):
            events.extend(Pipeline(turn_id="t").stream(path))
        calls = of_kind(events, ToolInvocation)
        tools: dict[str, tuple[str, Tool, list[str]]] = {}
        for call in calls:
            texts = [name for name, value in call.arguments.items() if isinstance(value, str)]
            if texts:
                read: list[str] = []
                tools[call.name] = (texts[-1], reading(call.name, call.arguments, texts[-1], read), read)
        if not tools or len(tools) < len(calls):
            continue
        again = virtual_time.run(events_of([each for _, each, _ in tools.values()], path))
        for call in calls:
            argument, _, read = tools[call.name]
            assert "".join(read) == call.arguments[argument], path
        assert states(again).count("finished") == len(calls), path
        apis.add(path.parent.name)
    assert apis == {path.parent.name for path in RECORDED}


def test_a_call_in_text_is_read_before_its_end():
    saved = Saved()
    arguments = {"path": "a.txt", "content": "one\ntwo\n" * 20}
    text = render_call(DIALECTS["hermes"], "save", arguments)
    events = ran(saved, [*text], strategy="hermes")
    kinds = [type(event) for event in events]
    assert saved.run.text == arguments["content"]
    assert len(saved.run.pieces) > 2
    assert kinds.index(ToolCallStatus) < len([each for each in kinds if each is SegmentContent]) // 2


# Approval


def test_the_approver_sees_the_other_arguments_and_the_name_of_the_one_that_is_written():
    saved, asked = Saved(), list[ApprovalRequest]()

    async def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        request.arguments["path"] = "b.txt"  # a copy
        return True

    events = ran(saved, answer_of(*WHOLE), approve=approve)
    [request] = asked
    assert (request.id, request.name, request.streamed, request.sha256) == ("call_1", "save", "content", None)
    assert (request.call.arguments, request.call.raw) == ({"path": "b.txt"}, "")
    assert saved.run.others["path"] == "a.txt"
    assert states(events) == ["requested", "approved", "started", "finished"]


@looped("answer, result", [(False, "the user said no"), (Denied("not now"), "not now")])
def test_a_denied_call_never_begins_and_is_answered_at_the_seal(answer: Any, result: str):
    saved = Saved()
    events = ran(saved, answer_of(*WHOLE), approve=lambda _: answer)
    assert saved.runs == []
    assert states(events) == ["requested", "denied"]
    kinds = [type(event) for event in events]
    assert kinds.index(ToolInvocation) < kinds.index(ToolResult)
    assert of_kind(events, ToolResult)[0].denied == result


def test_a_denied_call_that_is_cut_has_no_result():
    saved = Saved()
    events = ran(saved, pieces_of(*WHOLE[:-1]), approve=lambda _: False)
    assert (saved.runs, of_kind(events, ToolResult)) == ([], [])


def test_an_approval_that_cannot_be_asked_for_is_an_error_at_the_seal():
    async def approve(_: ApprovalRequest) -> bool:
        message = "secret"
        raise KeyError(message)

    saved = Saved()
    events = ran(saved, answer_of(*WHOLE), approve=approve)
    assert saved.runs == []
    assert states(events) == ["requested", "failed"]
    assert of_kind(events, ToolResult)[0].error == "nobody could be asked whether this call may run"


def test_a_postponed_call_is_asked_for_again_as_a_whole():
    saved, asked = Saved(), list[ApprovalRequest]()

    def approve(request: ApprovalRequest) -> Postponed:
        asked.append(request)
        return Postponed()

    events = ran(saved, answer_of(*WHOLE), approve=approve)
    assert [(each.streamed, each.sha256 is None) for each in asked] == [("content", True), (None, False)]
    assert asked[1].arguments == {"path": "a.txt", "content": "one\ntwo"}
    assert (saved.runs, of_kind(events, ToolResult), states(events)) == ([], [], ["requested", "requested"])


def test_a_postponed_call_runs_later_with_its_text_in_one_piece():
    saved = Saved()

    async def main() -> list[Any]:
        made = [saved.tool]
        events = await events_of(made, answer_of(*WHOLE), approve=lambda _: Postponed())
        [waiting] = of_kind(events, ToolInvocation)
        steps = [call_tools(made, approve=lambda _: True)]
        run = Pipeline(tools=made, steps=steps).act([replace(waiting, claimed_by=None)])
        return [event async for event in run]

    events = virtual_time.run(main())
    assert saved.run.pieces == ["one\ntwo"]
    assert of_kind(events, ToolResult)[0].value == "a.txt w one\ntwo"


def test_what_comes_before_the_answer_is_read_after_it():
    saved = Saved()

    async def approve(_: ApprovalRequest) -> bool:
        await asyncio.sleep(60)
        return True

    events = ran(saved, answer_of(*WHOLE), approve=approve)
    assert saved.run.pieces == ["one\ntwo"]
    kinds = [type(event) for event in events]
    assert kinds.index(ToolInvocation) < kinds.index(AnswerEnd) < kinds.index(ToolResult)


def test_a_call_that_is_cut_while_somebody_is_asked_never_begins():
    saved, answered = Saved(), list[str]()

    async def approve(_: ApprovalRequest) -> bool:
        try:
            await asyncio.sleep(3600)
        finally:
            answered.append("left")
        return True

    events = ran(saved, pieces_of(*WHOLE[:-1]), approve=approve)
    assert (saved.runs, answered, of_kind(events, ToolResult)) == ([], ["left"], [])
    assert states(events) == ["requested", "failed"]


# How the call ends


async def broken(chunks: list[ChunkResponse], error: Exception) -> AsyncIterator[ChunkResponse]:
    for chunk in chunks:
        yield chunk
    raise error


CUT: dict[str, tuple[Any, str]] = {
    "no end": (pieces_of(*WHOLE[:-1]), "truncated"),
    "length": ([*pieces_of(*WHOLE[:-1]), ChunkResponse(finish_reason="length", is_complete=True)], "truncated"),
    "filter": ([*pieces_of(*WHOLE[:-1]), ChunkResponse(finish_reason="content_filter", is_complete=True)], "truncated"),
    "malformed": (answer_of(*WHOLE[:-1], '" what}'), "malformed"),
    "a missing bracket": (answer_of(*WHOLE[:-1], '"'), "truncated"),
}


@pytest.mark.parametrize("is_plain", [False, True])
@pytest.mark.parametrize("name", CUT)
def test_a_tool_is_told_why_its_call_was_cut_behind_what_came(name: str, is_plain: bool):
    chunks, reason = CUT[name]
    saved = Saved()
    events = ran(saved, chunks, is_plain=is_plain)
    assert (saved.run.text, saved.run.reason) == ("one\ntwo", reason)
    assert of_kind(events, InvocationFailed)[0].reason == reason
    assert of_kind(events, ToolResult, ToolInvocation) == []
    assert states(events) == ["started", "failed"]
    assert of_kind(events, ToolCallStatus)[-1].reason == f"the call was cut: {reason}"


@looped(
    "error, reason",
    [
        (ProviderError("reset", transport=True), "interrupted"),
        (ProviderError("overloaded"), "provider_error"),
        (ValueError("a bug"), "interrupted"),
    ],
)
def test_a_tool_is_told_of_a_stream_that_breaks(error: Exception, reason: str):
    saved = Saved()
    with pytest.raises(type(error)):
        ran(saved, broken(pieces_of(*WHOLE[:-1]), error))
    assert (saved.run.text, saved.run.reason, saved.run.is_over) == ("one\ntwo", reason, True)


def test_every_reason_of_a_failure_is_told():
    """Also one that comes after an END which does not say it, as a guard's."""
    saved = Saved()
    whole = virtual_time.run(events_of([Saved().tool], answer_of(*WHOLE)))
    begun = [each for each in whole if isinstance(each, SegmentStart | SegmentContent)]
    cut: list[Any] = [
        SegmentEnd("call_1", "save", "interrupted", "a guard", {"tool_name": "save", "guard": "secrets"}, turn_id="t"),
        InvocationFailed("call_1", "t", "save", reason=cast("Any", "guarded")),
    ]

    async def source() -> AsyncIterator[Any]:
        for event in (*begun, *cut, SegmentStart("s", "text", turn_id="t")):
            yield event

    async def main() -> list[Any]:
        return [event async for event in call_tools([saved.tool])(source())]

    events = virtual_time.run(main())
    assert (saved.run.text, saved.run.reason) == ("one\ntwo", "guarded")
    assert of_kind(events, ToolResult) == []


@looped(
    "last",
    [
        None,
        SegmentEnd("call_1", "save", "truncated", turn_id="t"),
        SegmentEnd("call_1", "save", "complete", turn_id="t"),
    ],
)
def test_a_tool_does_not_wait_for_a_verdict_that_never_comes(last: Any):
    saved = Saved()
    whole = virtual_time.run(events_of([Saved().tool], answer_of(*WHOLE)))
    begun = [each for each in whole if isinstance(each, SegmentStart | SegmentContent)]

    async def source() -> AsyncIterator[Any]:
        for event in (*begun, *([] if last is None else [last])):
            yield event

    async def main() -> list[Any]:
        async with asyncio.timeout(60):
            return [event async for event in call_tools([saved.tool])(source())]

    events = virtual_time.run(main())
    assert saved.run.reason == ("truncated" if last is not None and last.status == "truncated" else "interrupted")
    assert of_kind(events, ToolResult) == []


def test_a_tool_may_clean_up_as_long_as_it_needs():
    cleaned: list[str] = []

    async def save(content: AsyncIterator[str]) -> None:
        try:
            async for _ in content:
                pass
        except CallCutError:
            await asyncio.sleep(600)
            cleaned.append("up")
            raise

    virtual_time.run(events_of([save], pieces_of('{"content": "one')))
    assert cleaned == ["up"]


def test_what_a_tool_returns_after_a_cut_is_dropped():
    async def save(content: AsyncIterator[str]) -> str:
        try:
            async for _ in content:
                pass
        except CallCutError as error:
            with pytest.raises(CallCutError):  # whoever reads on is told again
                await anext(content)
            return f"rescued: {error}"
        return "whole"

    events = virtual_time.run(events_of([save], pieces_of('{"content": "one')))
    assert of_kind(events, ToolResult) == []
    assert states(events) == ["started", "failed"]


@looped("is_raising, is_plain", [(False, False), (True, False), (False, True), (True, True)])
def test_a_tool_may_return_or_raise_before_the_end(is_raising: bool, is_plain: bool):
    def end() -> str:
        if is_raising:
            message = "enough"
            raise ValueError(message)
        return "first only"

    async def save(content: AsyncIterator[str]) -> str:
        await anext(content)
        return end()

    def save_in_thread(content: Iterator[str]) -> str:
        next(content)
        return end()

    made = tool(save_in_thread, name="save") if is_plain else tool(save)
    texts = [f"{number:06} " for number in range(300)]
    chunks = [*pieces_of('{"content": "', *texts, '"}'), ChunkResponse(content="go on"), LAST]
    events = asyncio.run(events_of([made], chunks))
    contents = "".join(each.delta for each in of_kind(events, SegmentContent) if each.segment_type == "save")
    assert contents == "".join(texts)
    [result] = of_kind(events, ToolResult)
    kinds = [type(event) for event in events]
    assert kinds.index(ToolInvocation) < kinds.index(ToolResult)
    assert (result.value, result.error) == ((None, "ValueError: enough") if is_raising else ("first only", None))
    assert states(events) == ["started", "failed" if is_raising else "finished"]


def test_the_messages_of_the_next_turn_say_how_the_call_ended():
    for chunks, said in ((answer_of(*WHOLE), "a.txt w one\ntwo"), (CUT["length"][0], "not run: truncated")):
        message, result = Answer(ran(Saved(), chunks)).to_messages("openai-chat")
        assert message["tool_calls"][0]["id"] == result["tool_call_id"] == "call_1"
        assert said in result["content"]
    text = "x" * 70_000
    _, result = Answer(ran(Saved(), answer_of('{"content": "', text, '", "path": "a"}'))).to_messages("openai-chat")
    assert "not run: limit" in result["content"]


# Once


def test_a_call_that_is_repeated_runs_once():
    saved = Saved()
    second = pieces_of(*WHOLE, index=1)
    events = ran(saved, [*pieces_of(*WHOLE), *second, LAST])
    assert len(saved.runs) == len(of_kind(events, ToolInvocation)) == len(of_kind(events, ToolResult)) == 1
    assert [each.code for each in of_kind(events, Notice)] == ["duplicate_call"]


def test_an_id_that_comes_again_with_other_arguments_is_read_at_the_seal():
    saved = Saved()
    second = pieces_of('{"path": "b.txt", "content": "thr', 'ee"}', index=1)
    events = ran(saved, [*pieces_of(*WHOLE), *second, LAST])
    assert [each.pieces for each in saved.runs] == [["one\n", "two"], ["three"]]
    assert len(of_kind(events, ToolResult)) == 2


def test_a_segment_that_begins_again_does_not_begin_the_tool_again():
    saved = Saved()
    whole = virtual_time.run(events_of([Saved().tool], answer_of(*WHOLE)))
    begun = [each for each in whole if isinstance(each, SegmentStart | SegmentContent)]

    async def source() -> AsyncIterator[Any]:
        for event in (*begun, *begun):
            yield event

    async def main() -> None:
        async for _ in call_tools([saved.tool])(source()):
            pass

    virtual_time.run(main())
    assert (saved.run.reason, saved.run.text) == ("truncated", "one\ntwo")


def test_two_calls_are_read_at_the_same_time():
    saved = Saved()
    first, second = (
        pieces_of(*WHOLE),
        pieces_of(*(each.replace("one", "three") for each in WHOLE), call_id="call_2", index=1),
    )
    mixed = [each for pair in zip(first, second, strict=True) for each in pair]
    events = ran(saved, [*mixed, LAST], ordered=True)
    assert [each.text for each in saved.runs] == ["one\ntwo", "three\ntwo"]
    assert [each.id for each in of_kind(events, ToolResult)] == ["call_1", "call_2"]


def test_a_call_waits_for_its_turn_and_is_read_then():
    saved = Saved()
    second = pieces_of(*WHOLE, call_id="call_2", index=1)
    mixed = [each for pair in zip(pieces_of(*WHOLE), second, strict=True) for each in pair]
    events = ran(saved, [*mixed, LAST], concurrency=1)
    assert [each.text for each in saved.runs] == ["one\ntwo", "one\ntwo"]
    lives = [(each.id, each.state) for each in of_kind(events, ToolCallStatus)]
    assert lives == [(name, state) for name in ("call_1", "call_2") for state in ("started", "finished")]


def test_a_call_that_an_earlier_step_answers_is_cut():
    for is_claimed in (True, False):
        saved = Saved()

        async def earlier(events: Any, is_claimed: bool = is_claimed) -> AsyncIterator[Any]:
            async for event in events:
                if isinstance(event, ToolInvocation):
                    claimed = ToolInvocation(event.id, event.turn_id, event.name, event.arguments, claimed_by="me")
                    yield claimed if is_claimed else event
                    if is_claimed:
                        yield ToolResult(event.id, turn_id=event.turn_id, value="mine")
                    continue
                yield event
                if isinstance(event, SegmentContent) and not is_claimed:
                    yield ToolResult("call_1", turn_id="t", value="mine")

        async def main(saved: Saved = saved, step: Any = earlier) -> list[Any]:
            steps = [step, call_tools([saved.tool])]
            return [
                event
                async for event in Pipeline(tools=[saved.tool], steps=steps, turn_id="t").astream(answer_of(*WHOLE))
            ]

        events = virtual_time.run(main())
        assert {each.value for each in of_kind(events, ToolResult)} == {"mine"}
        assert [each.reason for each in saved.runs] == ["answered"]


def test_a_step_that_changes_the_call_does_not_change_what_ran():
    saved = Saved()

    async def changing(events: Any) -> AsyncIterator[Any]:
        async for event in events:
            if isinstance(event, ToolInvocation):
                yield replace(event, arguments={**event.arguments, "path": "b"})
            else:
                yield event

    async def main() -> list[Any]:
        steps: list[EventStep] = [changing, call_tools([saved.tool])]
        return [
            event async for event in Pipeline(tools=[saved.tool], steps=steps, turn_id="t").astream(answer_of(*WHOLE))
        ]

    events = virtual_time.run(main())
    assert saved.run.reason == "contradiction"
    assert [each.reason for each in of_kind(events, InvocationFailed)] == ["contradiction"]
    assert of_kind(events, ToolResult, ToolInvocation) == []


@looped("is_file_step", [True, False])
def test_a_tool_that_two_steps_would_run_is_refused(is_file_step: bool, tmp_path: Any):
    async def write_file(path: str, content: AsyncIterator[str]) -> str:
        return path

    first = write_files(tmp_path) if is_file_step else call_tools([write_file])
    with pytest.raises(UsageError, match="an earlier step acts on its calls, too; put it into one step only"):
        Pipeline(tools=[write_file], steps=[first, call_tools([write_file])])
    if is_file_step:
        Pipeline(tools=[write_file], steps=[call_tools([write_file]), first])


def test_a_plain_stream_refuses_it_as_any_step():
    with pytest.raises(UsageError, match="astream"):
        Pipeline(tools=[Saved().tool], steps=[call_tools([Saved().tool])]).stream(answer_of(*WHOLE))


# Slow tools, times and cancelling


def test_a_slow_tool_holds_the_stream_up_only_for_a_while():
    seen: list[float] = []
    read: list[str] = []

    async def save(content: AsyncIterator[str]) -> int:
        async for piece in content:
            if not read:
                await asyncio.sleep(1000)
            read.append(piece)
        return len(read)

    async def answer() -> AsyncIterator[ChunkResponse]:
        loop = asyncio.get_running_loop()
        for chunk in answer_of('{"content": "', *(f"{number:06}" for number in range(500)), '"}'):
            seen.append(loop.time())
            yield chunk

    virtual_time.run(events_of([save], answer()))
    assert "".join(read) == "".join(f"{number:06}" for number in range(500))
    assert 0.4 < seen[-1] < 0.6
    assert seen[60] == 0


def test_a_tool_that_reads_slowly_sets_the_pace():
    ahead: list[int] = []
    sent = 0

    async def save(content: AsyncIterator[str]) -> int:
        count = 0
        async for _ in content:
            await asyncio.sleep(0.2)
            count += 1
            ahead.append(sent - count)
        return count

    async def answer() -> AsyncIterator[ChunkResponse]:
        nonlocal sent
        for chunk in answer_of('{"content": "', *(f"{number:06}" for number in range(300)), '"}'):
            sent += 1
            yield chunk

    virtual_time.run(events_of([save], answer()))
    assert max(ahead) < 80


def test_the_timeout_counts_from_the_end_of_the_call():
    saved = Saved()

    async def slow() -> AsyncIterator[ChunkResponse]:
        for chunk in answer_of(*WHOLE):
            await asyncio.sleep(30)
            yield chunk

    events = ran(saved, slow(), timeout=5)
    assert of_kind(events, ToolResult)[0].value == "a.txt w one\ntwo"


@pytest.mark.parametrize("is_plain", [False, True])
def test_a_tool_that_goes_on_after_its_timeout_does_not_read_on(is_plain: bool):
    told: list[BaseException] = []
    goes_on = threading.Event()

    async def save(content: AsyncIterator[str]) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            with pytest.raises(CallCutError) as raised:
                await anext(content)
            told.append(raised.value)

    def save_in_thread(content: Iterator[str]) -> None:
        goes_on.wait(20)
        try:
            next(content)
        except CallCutError as error:
            told.append(error)
        goes_on.clear()

    made = tool(save_in_thread, name="save") if is_plain else tool(save)

    async def main() -> list[Any]:
        events = await events_of([made], answer_of('{"content": "one', ' two"}'), timeout=0.05)
        if is_plain:
            goes_on.set()
            await until(lambda: not goes_on.is_set())
        return events

    events = asyncio.run(main())
    assert [str(each) for each in told] == ["the call was cut: interrupted"]
    assert of_kind(events, ToolResult)[0].error == "the tool did not answer within 0.05 seconds"


@pytest.mark.parametrize("is_plain", [False, True])
@pytest.mark.parametrize("how", ["cancel", "leave", "task"])
def test_no_tool_survives_its_run(how: str, is_plain: bool):
    saved = Saved()
    made = saved.plain if is_plain else saved.tool

    async def waiting() -> AsyncIterator[ChunkResponse]:
        for chunk in pieces_of(*WHOLE[:-1]):
            yield chunk
        await asyncio.Event().wait()

    def has_read() -> bool:
        return bool(saved.runs) and saved.run.text == "one\ntwo"

    async def read(run: Any) -> None:
        async for event in run:
            if how == "leave" and isinstance(event, SegmentContent) and event.delta == "two":
                await until(has_read)
                break
        await run.aclose()

    async def main() -> None:
        run = Pipeline(tools=[made], steps=[call_tools([made])]).astream(waiting())
        task = asyncio.create_task(read(run))
        await until(has_read)
        if how == "cancel":
            run.cancel("enough")
        elif how == "task":
            task.cancel()
        await asyncio.wait({task}, timeout=20)
        assert task.done()
        assert saved.run.is_over
        await no_task_is_left()

    asyncio.run(main())
    assert (saved.run.reason, saved.run.text) == ("interrupted", "one\ntwo")
    threads = [each for each in threading.enumerate() if each.name == "penstock tool"]
    for thread in threads:
        thread.join(20)
    assert [each for each in threads if each.is_alive()] == []


def test_a_tool_that_is_elsewhere_is_cancelled_as_any_other():
    ended: list[tuple[str, float]] = []

    async def save(content: AsyncIterator[str]) -> None:
        await anext(content)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            ended.append(("cancelled", asyncio.get_running_loop().time()))
            raise

    async def waiting() -> AsyncIterator[ChunkResponse]:
        for chunk in pieces_of('{"content": "one'):
            yield chunk
        await asyncio.Event().wait()

    async def main() -> list[Any]:
        run = Pipeline(tools=[save], steps=[call_tools([save])], turn_id="t").astream(waiting())
        asyncio.get_running_loop().call_later(7, run.cancel)
        return [event async for event in run]

    events = virtual_time.run(main())
    assert ended == [("cancelled", 7.0)]
    assert states(events) == ["started", "failed"]
    assert of_kind(events, InvocationFailed)[0].reason == "interrupted"


def test_a_tool_that_ignores_the_cut_is_cancelled_in_the_end():
    times: list[float] = []

    async def save(content: AsyncIterator[str]) -> None:
        try:
            async for _ in content:
                pass
        except CallCutError:
            try:
                await asyncio.sleep(3600)
            finally:
                times.append(asyncio.get_running_loop().time())

    async def waiting() -> AsyncIterator[ChunkResponse]:
        for chunk in pieces_of('{"content": "one'):
            yield chunk
        await asyncio.Event().wait()

    async def main() -> None:
        run = Pipeline(tools=[save], steps=[call_tools([save])]).astream(waiting())
        asyncio.get_running_loop().call_later(7, run.cancel)
        async for _ in run:
            pass

    virtual_time.run(main())
    assert times == [9.5]


def test_a_keyboard_interrupt_of_a_tool_passes():
    async def save(content: AsyncIterator[str]) -> None:
        await anext(content)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(events_of([save], answer_of('{"content": "one', ' two"}')))


MUTANTS = {
    "a tool begins to read before its other arguments are there": (["comes_first", "tests/laws/test_read_while_written.py is_the_argument"], ("sinks/acting/open_call.py", "not self._wanted.required <= self._closed.keys()", "False")),
    "a tool begins to read with invalid arguments": ("invalid_arguments", ("sinks/acting/read_calls.py", "        if errors is not None:\n            call.is", "        if False:\n            call.is")),
    "a tool begins to read although its call was cut": ("may_not_change", ("sinks/acting/read_calls.py", "        call.is_held = True\n", "")),
    "a text that is read ends before the seal": (["told_why", "tests/laws/test_read_while_written.py cut_anywhere"], ("sinks/acting/read_calls.py", "        call.ending = cut_reason(end)\n", "        call.ending = cut_reason(end)\n        call.text.end()\n")),
    "a tool has a result although its call was cut": ("told_why", ("sinks/acting/read_calls.py", '            self._emit(call, StatusMaker(request, is_open=True)("failed", str(call.cut)))\n            return\n', "            self._acting.answer(result)\n            return\n")),
    "a call that repeats an id is read at once": ("repeated_runs_once", ("sinks/acting/read_calls.py", ' and "repeats" not in start.metadata', "")),
    "a text that comes first waits without a limit": ("behind_a_limit", ("sinks/acting/open_call.py", "self.opening is None and self._length > most", "False")),
    "an argument behind the text is ignored": (["may_not_change", "tests/laws/test_read_while_written.py is_the_argument"], ("sinks/acting/read_calls.py", "errors is not None or not is_same", "errors is not None")),
    "an invocation may be another call than the one that was read": (["changes_the_call", "tests/sinks/acting/test_open_call.py"], ("sinks/acting/open_call.py", "if not is_same or not (", "if False and not (")),
    "a call that an earlier step answers is read on": ("earlier_step", ("sinks/acting/read_calls.py", "        if not is_ours:\n", "        if False:\n")),
    "a tool waits for a verdict that never comes": ("never_comes", ("sinks/acting/step.py", "if work.at_end is not None:", "if False:")),
}  # fmt: skip
