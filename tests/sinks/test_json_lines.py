from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from strategies.answers import answers, recut

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    Output,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallArgumentProgress,
    ToolCallDelta,
    ToolCallUpdate,
    ToolInvocation,
    UsageError,
    from_json,
    to_json,
)
from penstock.events.chunk_response import TokenUsage
from penstock.events.segment_event import AnySegmentEvent, Fragment, JsonError, Status
from penstock.operators import (
    PartialOutput,
    compose,
    drive,
    partial_output,
    stream_fields,
    to_invocations,
    to_segments,
)
from penstock.pipeline import api_tool_call
from penstock.sinks.collect import collect
from penstock.sinks.json_lines import json_lines, read_json_lines

NOTICE = Notice("c", "d")
INVOCATION = ToolInvocation("call_1", "t", "f", {"a": "é\u2028\n"}, raw='{"a": "é"}')
FAILURE = InvocationFailed("call_1", "t", "f", "{", "truncated")
PROGRESS = [
    ToolCallUpdate("call_1", "f", "{", is_complete=False),
    ToolCallArgumentProgress("call_1", "f", Fragment(("a",), "TEXT", "x")),
]


def segment(*deltas: str, segment_id: str = "s", kind: str = "text", end: Status = "complete") -> list[AnySegmentEvent]:
    contents = [SegmentContent(segment_id, kind, delta, turn_id="t", raw=delta) for delta in deltas]
    return [
        SegmentStart(segment_id, kind, turn_id="t"),
        *contents,
        SegmentEnd(segment_id, kind, end, turn_id="t"),
    ]


def stored(events: Iterable[Any], which: Any = "final") -> list[Any]:
    """Return what is written, read back; as JSON has it."""
    file = io.BytesIO()
    number = json_lines(file, events=which)(events)
    lines = file.getvalue().splitlines(keepends=True)
    assert all(line.endswith(b"}\n") for line in lines)
    assert number == len(lines)
    return [from_json(line) for line in lines]


def as_json(events: Iterable[Any]) -> list[bytes]:
    """As JSON has them: an infinite number is null there."""
    return [to_json(event) for event in events]


def same(one: Iterable[Any], other: Iterable[Any]) -> bool:
    return as_json(one) == as_json(other)


async def as_async(events: Iterable[Any]) -> AsyncIterator[Any]:
    for event in events:
        yield event


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def test_all_stores_each_event_as_it_comes():
    events = [
        *segment("a", "b"),
        *PROGRESS,
        INVOCATION,
        FAILURE,
        NOTICE,
        ChunkResponse(content="x"),
        ToolCallDelta(0, "i", "f"),
        TokenUsage(1, 2, 3),
        Fragment((), "OPEN", "{"),
        JsonError("malformed", 0, "x"),
    ]
    assert same(stored(events, "all"), events)


def test_final_stores_a_segment_when_it_ends_with_all_its_text_in_one_content():
    assert same(stored([*segment("He", "ll", "o")[:4]]), [*segment("Hello")[:2]])
    assert same(stored(segment("He", "ll", "o")), segment("Hello"))
    assert same(stored(segment()), segment())


def test_final_stores_segments_that_are_open_at_the_same_time_in_the_order_of_their_ends():
    a, b = segment("a", "A", segment_id="a"), segment("b", segment_id="b")
    interleaved = [a[0], b[0], a[1], b[1], b[2], a[2], a[3]]
    assert same(stored(interleaved), [*b, *segment("aA", segment_id="a")])


def test_final_stores_segments_of_two_turns_with_one_id_apart():
    interleaved: list[AnySegmentEvent] = [SegmentStart("s", "text", turn_id=turn) for turn in "ab"]
    interleaved += [SegmentContent("s", "text", turn * 2, turn_id=turn) for turn in "ab"]
    interleaved += [SegmentEnd("s", "text", "complete", turn_id=turn) for turn in "ab"]
    assert same(stored(interleaved), [each for turn in "ab" for each in interleaved if each.turn_id == turn])


@pytest.mark.parametrize("result", [INVOCATION, FAILURE])
@pytest.mark.parametrize("between", [[], PROGRESS])
def test_final_stores_a_call_as_its_result_alone(result: Any, between: list[Any]):
    call = segment('{"a', '": 1}', segment_id="call_1", kind="tool_call")
    assert same(stored([*call, *between, result, NOTICE]), [result, NOTICE])


def test_a_field_segment_of_a_call_is_its_result_alone_too():
    metadata = {"tool_name": "write_file", "path": "a"}
    call = segment("x", segment_id="call_1", kind="write_file")
    call[0] = SegmentStart("call_1", "write_file", metadata, turn_id="t")
    assert same(stored([*call, INVOCATION]), [INVOCATION])


@pytest.mark.parametrize(
    "after",
    [
        [],
        [NOTICE],
        [NOTICE, INVOCATION],
        segment("x"),
        [ToolInvocation("call_1", "another turn")],
        [ToolInvocation("call_2", "t")],
    ],
)
def test_final_stores_a_call_whose_result_does_not_follow_as_a_segment(after: list[Any]):
    call = segment('{"a', '": 1}', segment_id="call_1", kind="tool_call")
    assert same(stored([*call, *after]), [*segment('{"a": 1}', segment_id="call_1", kind="tool_call"), *after])


def test_final_does_not_store_the_arguments_beside_their_call():
    metadata = {"call_id": "call_1", "tool_name": "f", "path": ["a", 0]}
    start = SegmentStart("call_1/a/0", "f", metadata, turn_id="t")
    text = SegmentContent("call_1/a/0", "f", "x", turn_id="t", fragments=())
    end = SegmentEnd("call_1/a/0", "f", "complete", metadata=metadata, turn_id="t")
    first, content, last = segment('{"a": ["x"]}', segment_id="call_1", kind="tool_call")
    assert stored([first, content, start, text, end, last, INVOCATION]) == stored([INVOCATION])
    assert stored([first, content, start, text, end, last]) == stored([first, content, last])
    assert stored([first, content, start, text]) == stored([first, content])


def test_final_stores_neither_updates_nor_progress():
    assert stored(PROGRESS) == []


@pytest.mark.parametrize("delta", [ChunkResponse(content="x"), ToolCallDelta(0), Fragment((), "DONE")])
def test_what_is_only_a_delta_is_refused_by_final_with_what_stores_it(delta: Any):
    with pytest.raises(UsageError, match=rf'cannot store a {type(delta).__name__}, which is a delta; use events="all"'):
        stored([delta])


@pytest.mark.parametrize("which", ["final", "all"])
@pytest.mark.parametrize("thing", [5, "text", None, {"type": "NOTICE"}])
def test_what_is_no_event_is_refused_by_its_type_after_what_came_was_written(which: Any, thing: Any):
    file = io.BytesIO()
    with pytest.raises(UsageError, match=f"json_lines writes events, got {type(thing).__name__}"):
        json_lines(file, events=which)([NOTICE, *segment("a")[:2], thing, NOTICE])
    assert len(file.getvalue().splitlines()) == 3


@pytest.mark.parametrize("error", [OSError("lost"), KeyboardInterrupt()])
def test_what_is_open_when_the_stream_dies_is_stored_with_what_it_had_and_no_end(error: BaseException):
    call = segment("{}", segment_id="call_1", kind="tool_call")

    def dying() -> Iterator[Any]:
        yield from segment("a", "b", segment_id="a")[:3]
        yield from segment(segment_id="b")[:1]
        yield from call
        raise error

    file = io.BytesIO()
    with pytest.raises(type(error)):
        json_lines(file)(dying())
    expected = [*call, *segment("ab", segment_id="a")[:2], *segment(segment_id="b")[:1]]
    assert same([from_json(line) for line in file.getvalue().splitlines()], expected)


def test_an_id_that_starts_again_without_an_end_loses_nothing():
    assert same(stored([*segment("a")[:2], *segment("b")]), [*segment("a")[:2], *segment("b")])


def test_content_and_end_of_a_segment_that_never_started_are_stored_too():
    assert same(stored(segment("a", "b")[1:]), segment("ab")[1:])
    assert same(stored(segment()[1:]), segment()[1:])


@given(answers())
def test_all_read_back_is_every_event(answer: list[ChunkResponse]):
    events = list(drive(answer, api_tool_call(turn_id="t")))
    assert same(stored(events, "all"), events)


CHAINS = {
    "calls": api_tool_call(turn_id="t"),
    "segments": compose(to_segments(turn_id="t"), stream_fields()),
    "results": compose(to_segments(turn_id="t"), to_invocations()),
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
@given(answer=answers())
def test_final_loses_no_text_and_no_result(chain: Any, answer: list[ChunkResponse]):
    whole, kept = collect(drive(answer, chain)), collect(stored(drive(answer, chain)))
    assert same(kept.invocations, whole.invocations)
    assert same(kept.failures, whole.failures)
    results: list[Any] = [*whole.invocations, *whole.failures]
    settled = {(each.turn_id, each.id) for each in results}
    others = [each for each in whole.segments if (each.turn_id, each.id) not in settled]

    def shown(segments: Any) -> set[Any]:
        return {(each.id, each.type, each.content, each.status) for each in segments}

    assert shown(others) <= shown(kept.segments) <= shown(whole.segments)
    assert sum(isinstance(each, Notice) for each in whole.events) == sum(
        isinstance(each, Notice) for each in kept.events
    )


@given(answers().flatmap(lambda answer: recut(answer).map(lambda other: (answer, other))))
def test_final_does_not_depend_on_the_cutting(both: tuple[list[ChunkResponse], list[ChunkResponse]]):
    one, other = (stored(drive(answer, api_tool_call(turn_id="t"))) for answer in both)
    assert same(one, other)


@given(answers())
def test_final_of_final_is_the_same(answer: list[ChunkResponse]):
    once = stored(drive(answer, api_tool_call(turn_id="t")))
    assert same(stored(once), once)


def test_a_path_is_appended_to_and_closed(tmp_path: Path):
    path = tmp_path / "turn.jsonl"
    sink = json_lines(path)
    assert sink([NOTICE]) == 1
    assert sink([NOTICE, INVOCATION]) == 2
    assert asyncio.run(_awaited(json_lines(str(path))(as_async([FAILURE])))) == 1
    assert same(read_json_lines(path), [NOTICE, NOTICE, INVOCATION, FAILURE])


def test_a_path_can_begin_anew_or_refuse_a_file_that_exists(tmp_path: Path):
    path = tmp_path / "turn.jsonl"
    json_lines(path, mode="w")([NOTICE, NOTICE])
    json_lines(path, mode="w")([INVOCATION])
    assert same(read_json_lines(path), [INVOCATION])
    with pytest.raises(FileExistsError):
        json_lines(path, mode="x")([NOTICE])


def test_no_event_makes_no_file(tmp_path: Path):
    assert json_lines(tmp_path / "none")([]) == 0
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_opened_with_the_first_event_also_where_nothing_is_to_be_written_yet(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        json_lines(tmp_path / "no_such_folder" / "turn.jsonl")(segment("a")[:1])


def test_a_line_that_was_torn_does_not_take_ours_with_it(tmp_path: Path):
    path = tmp_path / "turn.jsonl"
    path.write_bytes(b'{"type":"NOT')
    json_lines(path)([NOTICE])
    assert path.read_bytes().splitlines()[0] == b'{"type":"NOT'
    assert from_json(path.read_bytes().splitlines()[1]) == NOTICE


def test_each_line_is_in_the_file_when_the_next_event_is_asked_for(tmp_path: Path):
    path = tmp_path / "turn.jsonl"
    sizes: list[int] = []

    def events() -> Iterator[Any]:
        for _ in range(3):
            sizes.append(path.stat().st_size if path.exists() else 0)
            yield NOTICE

    json_lines(path)(events())
    line = path.stat().st_size // 3
    assert sizes == [0, line, 2 * line]
    path.unlink()
    sizes.clear()
    json_lines(path, flush=False)(events())
    assert sizes == [0, 0, 0]


def test_a_text_file_and_a_binary_one_get_the_same_and_stay_open(tmp_path: Path):
    with (
        (tmp_path / "text").open("w", encoding="utf-8", newline="") as text,
        (tmp_path / "binary").open("wb") as binary,
    ):
        for file in (text, binary):
            assert json_lines(file)([INVOCATION, NOTICE]) == 2
            assert not file.closed
    assert (tmp_path / "text").read_bytes() == (tmp_path / "binary").read_bytes()
    assert same(read_json_lines(tmp_path / "text"), [INVOCATION, NOTICE])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("flush", [True, False])
def test_a_full_disk_is_told_to_the_caller(flush: bool):
    with pytest.raises(OSError, match="No space left"):
        json_lines("/dev/full", flush=flush)([*segment("a")[:2], NOTICE])


def test_what_could_not_be_written_is_not_tried_again():
    class Full:
        tried: ClassVar[list[bytes]] = []

        def write(self, data: bytes) -> None:
            self.tried.append(data)
            raise OSError

    with pytest.raises(OSError):
        json_lines(Full())([*segment("a", segment_id="open")[:2], NOTICE])
    assert len(Full.tried) == 1


def test_a_closed_file_is_told_to_the_caller():
    file = io.BytesIO()
    file.close()
    with pytest.raises(ValueError, match="closed file"):
        json_lines(file)([NOTICE])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"file": 5}, "takes a path or an open file, got int"),
        ({"file": io.BytesIO(), "events": "deltas"}, "events= must be one of 'final', 'all', got 'deltas'"),
        ({"file": "x", "mode": "wb"}, "mode= must be one of 'a', 'w', 'x', got 'wb'"),
    ],
)
def test_a_wrong_argument_is_told_at_once(wrong: dict[str, Any], words: str):
    with pytest.raises(UsageError, match=words):
        json_lines(**wrong)


def test_a_line_that_is_no_event_is_told_with_its_number_after_those_before_it(tmp_path: Path):
    path = tmp_path / "turn.jsonl"
    json_lines(path)([NOTICE])
    with path.open("ab") as file:
        file.write(b'\n{"type":"NOT')
    events = read_json_lines(path)
    assert next(events) == NOTICE
    with pytest.raises(UsageError, match=r"turn\.jsonl, line 3: not the JSON form of an event"):
        next(events)


@pytest.mark.parametrize("which", ["final", "all"])
def test_live_values_are_left_out_and_results_are_stored(which: Any):
    chain = compose(to_segments(turn_id="t"), partial_output())
    events = list(drive([ChunkResponse(content="[1,"), ChunkResponse(content=" 2]")], chain))
    kept = [each for each in events if not isinstance(each, PartialOutput)]
    assert len(kept) < len(events)
    assert stored(events, which) == stored(kept, which)
    assert [type(each) for each in stored(events, which)[-2:]] == [Output, AnswerEnd]
