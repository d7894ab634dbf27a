from __future__ import annotations

import pickle
from typing import Any

import msgspec
import pytest
import reactivex
from answered import answered, before_the_end
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from looped import looped
from operator_contract import CHUNKS, TO_SEGMENTS, TURN, Case
from segment_events import payload_of
from strategies.cuts import cuts, every_cut_in_two
from untyped import drive, stage

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    Notice,
    ProviderError,
    SegmentContent,
    SegmentEvent,
    SegmentStart,
    ToolCallDelta,
)
from penstock.events.chunk_response import TokenUsage
from penstock.operators import Completed, Failed, Interrupted, Limits, to_segments
from penstock.operators.engine.stage import How

TOOLS = {"f": None}
IN_TEXT = (
    (ChunkResponse("so: [TOOL"), ChunkResponse('_CALL] f {"a'), ChunkResponse(reasoning="hm"), ChunkResponse('": 1}')),
    (ChunkResponse(reasoning="so [f("), ChunkResponse(reasoning="a=1)] now"), ChunkResponse(finish_reason="stop")),
    (ChunkResponse("x" * 99 + "<function=f>"), ChunkResponse("", choice=1), ChunkResponse("<function=f>", choice=1)),
)
CONTRACT = (
    Case("to_segments", TO_SEGMENTS, CHUNKS),
    Case("to_segments eager", to_segments(turn_id=TURN, eager=True, end_arguments=True), CHUNKS),
    Case("to_segments watching", to_segments(turn_id=TURN, tools=TOOLS), (*CHUNKS, *IN_TEXT)),
    Case("to_segments reading", to_segments(turn_id=TURN, tools=TOOLS, text_calls="call"), (*CHUNKS, *IN_TEXT)),
)

Chunk = ChunkResponse
STOP = Chunk(finish_reason="stop")
CALLS = Chunk(finish_reason="tool_calls")


def call(*deltas: ToolCallDelta, **said: Any) -> ChunkResponse:
    return Chunk(tool_calls=deltas, **said)


def run(*chunks: ChunkResponse, how: How | None = None, **options: Any) -> list[Any]:
    """Feed the chunks and close, in the turn `t` unless another is wanted; return what comes before the end."""
    chain = stage(to_segments(**{"turn_id": "t", **options}))
    events = [event for chunk in chunks for event in chain.feed(chunk)]
    return before_the_end(events + chain.close(how))


def told(events: list[Any]) -> list[str]:
    """Return events as short lines: S type id, C delta, E id status (reason), ! code."""
    lines: list[str] = []
    for event in events:
        if isinstance(event, Notice):
            lines.append(f"! {event.code}")
        elif event.type == "SEGMENT_START":
            lines.append(f"S {event.segment_type} {event.segment_id}")
        elif event.type == "SEGMENT_CONTENT":
            lines.append(f"C {event.delta}")
        else:
            reason = f" ({event.reason})" if "reason" in payload_of(event) else ""
            lines.append(f"E {event.segment_id} {event.status}{reason}")
    return lines


def ends(events: list[Any]) -> dict[str, dict[str, Any]]:
    """Return the payload of each END by the segment's id."""
    return {each.segment_id: payload_of(each) for each in events if getattr(each, "type", "") == "SEGMENT_END"}


def test_text_is_one_segment_however_many_chunks_it_has() -> None:
    events = run(Chunk(content="Hel"), Chunk(content="lo"), STOP)
    assert told(events) == ["S text t:text_0", "C Hel", "C lo", "E t:text_0 complete"]
    assert [event.raw for event in events] == ["", "Hel", "lo", ""]
    assert {event.segment_type for event in events} == {"text"}
    assert [payload_of(event) for event in events][::3] == [{}, {"status": "complete"}]


def test_a_chunk_means_reasoning_then_content_then_refusal_then_media_then_calls() -> None:
    chunk = call(
        ToolCallDelta(0, "c", "f", "{}"),
        content="a",
        reasoning="b",
        refusal="d",
        image_urls=("u",),
        finish_reason="stop",
    )
    kinds = [event.segment_type for event in run(chunk) if event.type == "SEGMENT_START"]
    assert kinds == ["reasoning", "text", "refusal", "media", "tool_call"]


def test_text_and_reasoning_end_when_something_else_begins() -> None:
    assert told(run(Chunk(reasoning="r"), Chunk(content="a"), Chunk(reasoning="s"), Chunk(content="b"), STOP)) == [
        *("S reasoning t:reasoning_0", "C r", "E t:reasoning_0 complete"),
        *("S text t:text_0", "C a", "E t:text_0 complete"),
        *("S reasoning t:reasoning_1", "C s", "E t:reasoning_1 complete"),
        *("S text t:text_1", "C b", "E t:text_1 complete"),
    ]


def test_text_beside_an_open_call_does_not_end_the_call() -> None:
    chunks = (
        call(ToolCallDelta(0, "c", "f", '{"a"')),
        Chunk(content="x"),
        call(ToolCallDelta(0, arguments_delta=": 1}")),
        CALLS,
    )
    assert told(run(*chunks)) == [
        *("S tool_call c", 'C {"a"', "S text t:text_0", "C x", "C : 1}", "E c complete", "E t:text_0 complete"),
    ]


def test_reasoning_that_can_be_replayed_ends_with_its_native_part() -> None:
    events = run(Chunk(reasoning="r"), Chunk(native={"signature": "s"}), Chunk(reasoning="q"), STOP)
    assert told(events) == [
        *("S reasoning t:reasoning_0", "C r", "E t:reasoning_0 complete"),
        *("S reasoning t:reasoning_1", "C q", "E t:reasoning_1 complete"),
    ]
    assert payload_of(events[2]) == {"status": "complete", "metadata": {"native": {"signature": "s"}}}
    assert "metadata" not in payload_of(events[5])


def test_a_native_part_before_any_text_is_a_reasoning_segment_without_content() -> None:
    events = run(Chunk(native={"data": "x"}), Chunk(content="b"), STOP)
    assert told(events)[:2] == ["S reasoning t:reasoning_0", "E t:reasoning_0 complete"]
    assert ends(events)["t:reasoning_0"]["metadata"] == {"native": {"data": "x"}}


@pytest.mark.parametrize("kind", ["content", "refusal"])
def test_data_without_reasoning_ends_no_visible_text_and_is_in_its_end(kind: str) -> None:
    said: list[dict[str, Any]] = [{kind: "a"}, {"native": {"signature": "x"}}, {kind: "b"}]
    chunks = (*(Chunk(**each) for each in said), STOP)
    name = "text" if kind == "content" else kind
    events = run(*chunks)
    assert told(events) == [f"S {name} t:{name}_0", "C a", "C b", f"E t:{name}_0 complete"]
    assert ends(events)[f"t:{name}_0"]["metadata"] == {"native": {"signature": "x"}}


def test_data_in_the_chunk_of_a_text_that_goes_on_ends_nothing() -> None:
    events = run(Chunk(content="a"), Chunk(content="b", native={"reasoning_details": [1]}), Chunk(content="c"), STOP)
    assert told(events) == ["S text t:text_0", "C a", "C b", "C c", "E t:text_0 complete"]


def test_lists_that_come_inside_a_text_are_joined_and_what_does_not_fit_follows_it() -> None:
    natives = ({"details": [1]}, {"details": [2]}, {"signature": "x"}, {"signature": "x"}, {"signature": "y"})
    events = run(Chunk(content="a"), *(Chunk(native=native) for native in natives), Chunk(content="b"), STOP)
    assert told(events) == [
        *("S text t:text_0", "C a", "C b", "E t:text_0 complete"),
        *("S reasoning t:reasoning_0", "E t:reasoning_0 complete"),
    ]
    assert ends(events)["t:text_0"]["metadata"] == {"native": {"details": [1, 2], "signature": "x"}}
    assert ends(events)["t:reasoning_0"]["metadata"] == {"native": {"signature": "y"}}


def test_a_signature_inside_a_text_is_kept_over_a_dump() -> None:
    first, second = stage(to_segments(turn_id="t")), stage(to_segments(turn_id="t"))
    for chunk in (Chunk(content="a"), Chunk(native={"signature": "x"})):
        first.feed(chunk)
    second.load(first.dump())
    assert ends([*second.feed(STOP), *second.close(Completed())])["t:text_0"]["metadata"] == {
        "native": {"signature": "x"}
    }


def test_a_refusal_is_a_segment() -> None:
    assert told(run(Chunk(refusal="I "), Chunk(refusal="will not"), Chunk(finish_reason="refusal"))) == [
        *("S refusal t:refusal_0", "C I ", "C will not", "E t:refusal_0 complete"),
    ]


def test_each_image_sound_and_video_is_a_segment_with_its_url() -> None:
    events = run(Chunk(image_urls=("i", "j"), audio_urls=("a",), video_urls=("v",)), STOP)
    assert told(events)[:3] == ["S media t:media_0", "C i", "E t:media_0 complete"]
    starts = [event for event in events if event.type == "SEGMENT_START"]
    assert [event.metadata["media_type"] for event in starts] == ["image", "image", "audio", "video"]
    assert [event.delta for event in events if event.type == "SEGMENT_CONTENT"] == ["i", "j", "a", "v"]


def test_media_ends_the_text_before_it() -> None:
    assert told(run(Chunk(content="a"), Chunk(image_urls=("i",)), Chunk(content="b"), STOP))[2:4] == [
        *("E t:text_0 complete", "S media t:media_0"),
    ]


def test_chunks_that_say_nothing_give_nothing() -> None:
    assert run(Chunk(), Chunk(model="m"), Chunk(usage=TokenUsage(1, 2, 3)), STOP) == []


def test_a_call_streams_its_raw_arguments_and_ends_with_the_answer() -> None:
    events = run(
        call(ToolCallDelta(0, "c", "f")),
        *(call(ToolCallDelta(0, arguments_delta=each)) for each in ('{"a":', " 1}")),
        CALLS,
    )
    assert told(events) == ["S tool_call c", 'C {"a":', "C  1}", "E c complete"]
    assert payload_of(events[0]) == {"metadata": {"tool_name": "f"}}
    assert payload_of(events[-1]) == {"status": "complete", "metadata": {"tool_name": "f"}}
    assert [piece.kind for event in events[1:3] for piece in event.fragments] == ["OPEN", "SCALAR", "DONE", "DONE"]


def test_arguments_that_come_whole_are_left_to_whoever_needs_their_fragments() -> None:
    assert run(call(ToolCallDelta(0, "c", "f", '{"a": 1}')), CALLS)[1].fragments is None


SEALS = {
    "done": (call(ToolCallDelta(0, done=True)),),
    "another call": (call(ToolCallDelta(1, "d", "g")),),
    "another call under its index": (call(ToolCallDelta(0, "d", "g")),),
    "finish reason stop": (STOP,),
    "finish reason tool_calls": (CALLS,),
    "finish reason length": (Chunk(finish_reason="length"),),
    "finish reason pause": (Chunk(finish_reason="pause"),),
    "is_complete": (Chunk(is_complete=True),),
}


@pytest.mark.parametrize("seal", SEALS)
def test_a_call_whose_root_has_closed_is_sealed_at_once_by(seal: str) -> None:
    chain = stage(to_segments(turn_id="t"))
    assert told(chain.feed(call(ToolCallDelta(0, "c", "f", '{"a": 1}')))) == ["S tool_call c", 'C {"a": 1}']
    assert told([event for chunk in SEALS[seal] for event in chain.feed(chunk)])[0] == "E c complete"


def test_a_call_whose_root_has_closed_is_sealed_by_the_completion_of_the_stream() -> None:
    assert told(run(call(ToolCallDelta(0, "c", "f", '{"a": 1}'))))[-1] == "E c complete"


@pytest.mark.parametrize("seal", SEALS)
def test_a_call_whose_root_is_open_is_never_complete_by(seal: str) -> None:
    payload = ends(run(call(ToolCallDelta(0, "c", "f", '{"a": ""')), *SEALS[seal]))["c"]
    assert payload["status"] == "truncated"
    assert payload["metadata"]["error"]["expected"] == "',' or '}'"


def test_text_after_a_text_segment_does_not_seal_a_call() -> None:
    chain = stage(to_segments(turn_id="t"))
    chain.feed(call(ToolCallDelta(0, "c", "f", "{}")))
    assert told(chain.feed(Chunk(content="x"))) == ["S text t:text_0", "C x"]


def test_eager_seals_a_call_when_its_root_closes() -> None:
    chain = stage(to_segments(turn_id="t", eager=True))
    assert told(chain.feed(call(ToolCallDelta(0, "c", "f", '{"a":')))) == ["S tool_call c", 'C {"a":']
    assert told(chain.feed(call(ToolCallDelta(0, arguments_delta="1}")))) == ["C 1}", "E c complete"]
    assert told(run(call(ToolCallDelta(0, "c", "f", "{}")), eager=True)) == ["S tool_call c", "C {}", "E c complete"]


def test_eager_does_not_seal_what_has_no_closing_bracket_or_is_free_form() -> None:
    chain = stage(to_segments(turn_id="t", eager=True))
    chain.feed(call(ToolCallDelta(0, "c", "f", "5"), ToolCallDelta(1, "d", "g", "{}", kind="text")))
    assert told(chain.close()[:-1]) == ["E c complete", "E d truncated"]


@pytest.mark.parametrize("options", [{"eager": True}, {}])
def test_what_comes_for_an_ended_call_is_one_notice_and_blanks_are_none(options: dict[str, Any]) -> None:
    first = call(ToolCallDelta(0, "c", "f", "{}", done=True))
    late = [call(ToolCallDelta(0, arguments_delta=each)) for each in (" \t\n\r", "", "x", "y", " ")]
    events = run(first, *late, CALLS, **options)
    assert told(events) == ["S tool_call c", "C {}", "E c complete", "! late_arguments"]
    assert "'x'" in events[-1].detail


def test_a_call_that_begins_under_the_index_of_an_ended_one_is_a_new_call() -> None:
    chunks = [call(ToolCallDelta(0, name, "f", "{}", done=True)) for name in ("c", "d")]
    late = call(ToolCallDelta(0, arguments_delta="x"))
    assert told(run(*chunks, late)) == [
        *("S tool_call c", "C {}", "E c complete", "S tool_call d", "C {}", "E d complete", "! late_arguments"),
    ]


@pytest.mark.parametrize(
    "repeated", [ToolCallDelta(0, "c", "f", "1}"), ToolCallDelta(0, "c", None, "1}"), ToolCallDelta(0, None, "f", "1}")]
)
def test_an_id_and_a_name_that_are_repeated_begin_no_new_call(repeated: ToolCallDelta) -> None:
    events = run(call(ToolCallDelta(0, "c", "f", '{"a":')), call(repeated), CALLS)
    assert told(events) == ["S tool_call c", 'C {"a":', "C 1}", "E c complete"]


def test_parallel_calls_are_open_at_the_same_time() -> None:
    chunks = [
        call(ToolCallDelta(0, "a", "f"), ToolCallDelta(1, "b", "g")),
        *(
            call(ToolCallDelta(index, arguments_delta=text))
            for index, text in ((1, '{"x"'), (0, "{"), (1, ":1}"), (0, "}"))
        ),
    ]
    events = run(*chunks, CALLS)
    assert told(events) == [
        *("S tool_call a", "S tool_call b", 'C {"x"', "C {", "C :1}", "C }", "E a complete", "E b complete"),
    ]
    owners = [event.segment_id for event in events if event.type == "SEGMENT_CONTENT"]
    assert owners == ["b", "a", "b", "a"]


def test_a_call_is_sealed_when_another_one_begins_and_an_open_one_stays_open() -> None:
    chain = stage(to_segments(turn_id="t"))
    chain.feed(call(ToolCallDelta(0, "a", "f", "{}"), ToolCallDelta(1, "b", "g", '{"x"')))
    assert told(chain.feed(call(ToolCallDelta(2, "c", "h")))) == ["S tool_call c"]
    assert told(chain.feed(call(ToolCallDelta(1, arguments_delta=": 1}"), ToolCallDelta(3, "d", "i"))))[:2] == [
        *("C : 1}", "E b complete"),
    ]


def test_ids_of_the_wire_pass_unchanged_and_missing_ones_are_made_of_turn_and_index() -> None:
    deltas = [ToolCallDelta(index, given, "f", "{}") for index, given in enumerate(("run_bash:0", "", None, "a b/ç"))]
    starts = [event.segment_id for event in run(call(*deltas), CALLS) if event.type == "SEGMENT_START"]
    assert starts == ["run_bash:0", "t:call_1", "t:call_2", "a b/ç"]


def test_an_id_that_is_repeated_in_a_turn_is_numbered() -> None:
    deltas = [ToolCallDelta(index, given, "f", "{}") for index, given in enumerate(("x", "x", "x#2", "x", "x#2"))]
    starts = [event.segment_id for event in run(call(*deltas), CALLS) if event.type == "SEGMENT_START"]
    assert starts == ["x", "x#2", "x#2#2", "x#3", "x#2#3"]


def test_an_id_that_looks_like_a_segment_of_text_does_not_collide_with_it() -> None:
    events = run(call(ToolCallDelta(0, "t:text_0", "f", "{}")), Chunk(content="a"), CALLS)
    assert told(events)[2] == "S text t:text_0#2"


def test_the_turn_id_is_the_option_else_the_response_id_else_random_once() -> None:
    chunk = Chunk(content="a", response_id="r")
    assert {event.turn_id for event in run(chunk, STOP)} == {"t"}
    assert {event.turn_id for event in run(chunk, Chunk(response_id="s"), STOP, turn_id=None)} == {"r"}
    made = [{event.turn_id for event in run(Chunk(content="a"), STOP, turn_id=None)} for _ in range(2)]
    assert all(len(each) == 1 for each in made)
    assert made[0] != made[1]
    assert all(turn_id.startswith("turn_") for each in made for turn_id in each)


def test_a_response_id_that_comes_before_the_first_segment_counts() -> None:
    events = run(
        Chunk(response_id="r"), Chunk(content="a"), Chunk(response_id="other", content="b"), STOP, turn_id=None
    )
    assert told(events)[0] == "S text r:text_0"
    assert {event.turn_id for event in events} == {"r"}


def test_arguments_that_come_before_the_name_wait_for_it() -> None:
    chain = stage(to_segments(turn_id="t"))
    assert chain.feed(call(ToolCallDelta(0, arguments_delta='{"a"'))) == []
    assert chain.feed(call(ToolCallDelta(0, arguments_delta=": "))) == []
    events = chain.feed(call(ToolCallDelta(0, "c", "f", "1}"))) + chain.feed(CALLS)
    assert told(events) == ["S tool_call c", 'C {"a": ', "C 1}", "E c complete"]


def test_an_id_and_a_native_part_that_come_before_the_name_wait_for_it_too() -> None:
    events = run(call(ToolCallDelta(0, "c", native={"n": 1})), call(ToolCallDelta(0, None, "f", "{}")), CALLS)
    assert told(events) == ["S tool_call c", "C {}", "E c complete"]
    assert events[0].metadata["native"] == {"n": 1}


def test_a_call_whose_name_never_comes_fails_with_all_its_text() -> None:
    events = run(call(ToolCallDelta(0, arguments_delta='{"a"')), call(ToolCallDelta(0, arguments_delta=": 1}")), STOP)
    assert told(events) == ["S tool_call t:call_0", 'C {"a": 1}', "E t:call_0 failed (malformed)"]
    assert events[-1].metadata["error"]["expected"] == "a tool's name before the end of the answer"


def test_a_delta_that_says_nothing_is_no_call() -> None:
    assert run(call(ToolCallDelta(0)), STOP) == []


def test_a_nameless_call_does_not_seal_another_when_the_stream_is_interrupted() -> None:
    chunk = call(ToolCallDelta(0, "c", "f", "{}"), ToolCallDelta(1, arguments_delta="{"))
    assert ends(run(chunk, how=Interrupted("stop")))["c"]["status"] == "interrupted"


WITHOUT_EVIDENCE_IN_THEIR_TEXT = {
    "no arguments": ToolCallDelta(0, "c", "f"),
    "blanks": ToolCallDelta(0, "c", "f", " \n"),
    "free-form text": ToolCallDelta(0, "c", "f", "{}", kind="text"),
    "no free-form text": ToolCallDelta(0, "c", "f", kind="text"),
    "a provider's object": ToolCallDelta(0, "c", "f", "{}", kind="object"),
}
DONE = call(ToolCallDelta(0, done=True))
EVIDENCE: dict[str, list[ChunkResponse]] = {
    "finish stop": [STOP],
    "finish tool_calls": [CALLS],
    "finish pause": [Chunk(finish_reason="pause")],
    "is_complete": [Chunk(is_complete=True)],
    "a status": [call(ToolCallDelta(0, status="completed"))],
    "a status with done": [call(ToolCallDelta(0, done=True, status="completed"))],
    "a status after done": [DONE, call(ToolCallDelta(0, done=True, status="completed"))],
    "a later call and the end of the answer": [call(ToolCallDelta(1, "d", "g")), Chunk(finish_reason="length")],
    "another call under its index": [call(ToolCallDelta(0, "d", "g"))],
}
NO_EVIDENCE: dict[str, tuple[list[ChunkResponse], str]] = {
    "nothing": ([], "truncated"),
    "done": ([DONE], "truncated"),
    "a later call": ([call(ToolCallDelta(1, "d", "g", "{}"))], "truncated"),
    "done and a later call": ([DONE, call(ToolCallDelta(1, "d", "g", "{}"))], "truncated"),
    "a later call, and then more of this one": (
        [
            call(ToolCallDelta(1, "d", "g", "{}")),
            call(ToolCallDelta(0, arguments_delta=" ")),
            Chunk(finish_reason="length"),
        ],
        "truncated (length)",
    ),
    "done and later text": ([DONE, Chunk(content="x", reasoning="y", image_urls=("u",))], "truncated"),
    "later text": ([Chunk(content="x")], "truncated"),
    "later text, and the end of the answer": (
        [Chunk(content="x"), Chunk(finish_reason="length")],
        "truncated (length)",
    ),
    "finish length": ([DONE, Chunk(finish_reason="length")], "truncated (length)"),
    "finish content_filter": ([DONE, Chunk(finish_reason="content_filter")], "truncated (content_filter)"),
    "finish refusal": ([DONE, Chunk(finish_reason="refusal")], "truncated (refusal)"),
    "an unknown finish": ([DONE, Chunk(finish_reason="other", finish_reason_raw="new")], "truncated (new)"),
    "a finish that is a cut": (
        [DONE, Chunk(finish_reason="pause", finish_reason_raw="steered", is_cut=True)],
        "truncated (steered)",
    ),
    "a cancelled answer": (
        [DONE, Chunk(finish_reason="other", finish_reason_raw="cancelled")],
        "interrupted (cancelled)",
    ),
    "an error": ([DONE, Chunk(finish_reason="error")], "failed (provider_error)"),
    "incomplete, and a regular finish": (
        [call(ToolCallDelta(0, done=True, status="incomplete")), CALLS],
        "truncated (incomplete)",
    ),
    "incomplete, and a later call": (
        [call(ToolCallDelta(0, done=True, status="incomplete")), call(ToolCallDelta(1, "d", "g")), CALLS],
        "truncated (incomplete)",
    ),
    "incomplete after done, and a regular finish": (
        [DONE, call(ToolCallDelta(0, done=True, status="incomplete")), CALLS],
        "truncated (incomplete)",
    ),
    "incomplete after done, and a later call": (
        [DONE, call(ToolCallDelta(0, done=True, status="incomplete")), call(ToolCallDelta(1, "d", "g", "{}")), CALLS],
        "truncated (incomplete)",
    ),
}


@looped("what", WITHOUT_EVIDENCE_IN_THEIR_TEXT)
@looped("seal", EVIDENCE)
def test_what_cannot_close_is_sealed_at_once_by_what_shows_that_the_model_had_finished(what: str, seal: str) -> None:
    for eager in (False, True):
        chain = stage(to_segments(turn_id="t", eager=eager))
        chain.feed(call(WITHOUT_EVIDENCE_IN_THEIR_TEXT[what]))
        *before, last = EVIDENCE[seal]
        early = [event for chunk in before for event in chain.feed(chunk)]
        assert "c" not in ends(early)
        assert ends(chain.feed(last))["c"]["status"] == "complete"


@looped("what", WITHOUT_EVIDENCE_IN_THEIR_TEXT)
@looped("case", NO_EVIDENCE)
def test_what_cannot_close_is_not_complete_by(what: str, case: str) -> None:
    chunks, end = NO_EVIDENCE[case]
    events = run(call(WITHOUT_EVIDENCE_IN_THEIR_TEXT[what]), *chunks)
    assert f"E c {end}" in told(events)


@looped("how", [Interrupted("x"), Failed(ValueError("x")), Failed(ProviderError("x"))])
@looped("what", WITHOUT_EVIDENCE_IN_THEIR_TEXT)
def test_what_cannot_close_is_not_complete_when_the_stream_breaks(what: str, how: How) -> None:
    events = run(call(WITHOUT_EVIDENCE_IN_THEIR_TEXT[what]), DONE, how=how)
    assert ends(events)["c"]["status"] in ("interrupted", "failed")


@looped("seal", EVIDENCE)
def test_an_object_that_did_not_come_is_never_complete(seal: str) -> None:
    events = run(call(ToolCallDelta(0, "c", "f", kind="object")), *EVIDENCE[seal])
    assert ends(events)["c"]["status"] == "truncated"


@pytest.mark.parametrize("texts", [('{"a": "x', '"}'), ('{"a": "', "x", "y", '"}'), ("{", "}")])
def test_what_began_before_the_last_text_does_not_show_that_an_object_was_whole(texts: tuple[str, ...]) -> None:
    first, *later = (ToolCallDelta(0, "c", "f", text, kind="object") for text in texts)
    chunks = (call(first), call(ToolCallDelta(1, "d", "g", "{}")), *map(call, later))
    cut = Chunk(finish_reason="pause", finish_reason_raw="steered", is_cut=True)
    assert ends(run(*chunks, cut))["c"]["status"] == "truncated"
    assert ends(run(*chunks, call(ToolCallDelta(2, "e", "g", "{}")), cut))["c"]["status"] == "complete"


def test_closed_json_is_sealed_whatever_its_status_says() -> None:
    chunk = call(ToolCallDelta(0, "c", "f", "{}", done=True, status="incomplete"))
    assert told(run(chunk))[-1] == "E c complete"


def test_a_status_does_not_close_json_that_is_open() -> None:
    chunk = call(ToolCallDelta(0, "c", "f", '{"a": ', done=True, status="completed"))
    assert told(run(chunk, CALLS))[-1] == "E c truncated"


def test_arguments_that_contradict_each_other_fail_their_call_with_the_texts() -> None:
    texts = {"deltas": '{"a": 1}', "item": '{"a": 2}'}
    events = run(
        call(ToolCallDelta(0, "c", "f", '{"a": 1}')), call(ToolCallDelta(0, done=True, contradiction=texts)), CALLS
    )
    assert told(events)[-1] == "E c failed (contradiction)"
    assert ends(events)["c"]["metadata"]["error"]["texts"] == texts


def test_a_second_name_fails_the_call_that_was_shown_with_both_names() -> None:
    events = run(call(ToolCallDelta(0, "c", "f", "{")), call(ToolCallDelta(0, name="g", arguments_delta="}")), CALLS)
    assert told(events)[-1] == "E c failed (contradiction)"
    assert ends(events)["c"]["metadata"]["error"]["texts"] == {"name": "f", "then": "g"}


@pytest.mark.parametrize("options", [{"eager": True}, {}])
def test_a_contradiction_that_comes_after_the_end_is_a_notice(options: dict[str, Any]) -> None:
    first = call(ToolCallDelta(0, "c", "f", "{}"), ToolCallDelta(1, "d", "g", "{}"))
    late = call(ToolCallDelta(0, done=True, contradiction={"deltas": "{}", "item": "[]"}))
    lines = told(run(first, late, CALLS, **options))
    assert lines.count("! contradiction") == 1
    assert [line for line in lines if line.startswith("E")] == ["E c complete", "E d complete"]


@pytest.mark.parametrize("number", [300, 5000])
@pytest.mark.parametrize("delta", [{"arguments_delta": "{}"}, {}, {"kind": "text", "arguments_delta": "x"}])
def test_any_number_of_calls_that_do_not_grow_at_the_same_time_are_complete(number: int, delta: dict[str, Any]) -> None:
    deltas = [ToolCallDelta(index, f"c{index}", "f", **delta) for index in range(number)]
    one_by_one = run(*(call(each) for each in deltas), CALLS)
    assert [each["status"] for each in ends(one_by_one).values()] == ["complete"] * number
    assert told(run(call(*deltas), CALLS)) == told(one_by_one)


def test_calls_that_grow_at_the_same_time_are_limited_and_each_has_its_end() -> None:
    deltas = [ToolCallDelta(index, f"c{index}", "f", '{"a": ') for index in range(300)]
    rest = [ToolCallDelta(index, arguments_delta="1}") for index in range(300)]
    events = run(*(call(each) for each in (*deltas, *rest)), CALLS)
    statuses = [(each["status"], each.get("reason")) for each in ends(events).values()]
    assert statuses.count(("complete", None)) == 256
    assert statuses.count(("failed", "limit")) == 44
    assert not [line for line in told(events) if line.startswith("!")]


def test_malformed_calls_do_not_count_as_open() -> None:
    deltas = [ToolCallDelta(index, f"c{index}", "f", "{x") for index in range(5)]
    events = run(*(call(each) for each in deltas), call(ToolCallDelta(5, "d", "g", "{}")), limits=Limits(open_calls=2))
    assert [each.get("reason") for each in ends(events).values()].count("malformed") == 5
    assert ends(events)["d"]["status"] == "complete"


def test_calls_of_blanks_do_not_count_as_open() -> None:
    deltas = [ToolCallDelta(index, f"c{index}", "f", " ") for index in range(5)]
    late = ToolCallDelta(0, arguments_delta=' {"a": 1}')
    events = run(*(call(each) for each in (*deltas, late)), CALLS, limits=Limits(open_calls=2))
    assert [each["status"] for each in ends(events).values()] == ["complete"] * 5
    assert "".join(event.raw for event in events if event.segment_id == "c0") == '  {"a": 1}'


def test_what_is_over_a_limit_is_told_alike_however_it_is_cut() -> None:
    for pieces in (["123456789"], ["123456", "789"], list("123456789")):
        deltas = [ToolCallDelta(0, arguments_delta=piece) for piece in pieces]
        events = run(
            call(ToolCallDelta(0, "c", "f", kind="text")),
            *(call(each) for each in deltas),
            limits=Limits(arguments_length=5),
        )
        assert [line for line in told(events) if line[0] != "C"] == ["S tool_call c", "E c failed (limit)"]


def test_calls_whose_name_does_not_come_are_limited_and_each_has_its_end() -> None:
    deltas = [ToolCallDelta(index, f"c{index}", arguments_delta="{}") for index in range(5)]
    events = run(*(call(each) for each in deltas), CALLS, limits=Limits(open_calls=3))
    reasons = [each["reason"] for each in ends(events).values()]
    assert sorted(reasons) == ["limit", "limit", "malformed", "malformed", "malformed"]


def test_a_call_with_the_id_of_another_one_says_so() -> None:
    deltas = [ToolCallDelta(index, "x", "f", "{}") for index in range(3)]
    starts = [event for event in run(call(*deltas), CALLS) if event.type == "SEGMENT_START"]
    assert [event.metadata.get("repeats") for event in starts] == [None, "x", "x"]


def test_an_id_that_another_choice_has_too_is_not_repeated() -> None:
    chunks = [call(ToolCallDelta(0, "x", "f", "{}"), choice=choice) for choice in (0, 1)]
    starts = [event for event in run(*chunks) if event.type == "SEGMENT_START"]
    assert [event.metadata for event in starts] == [{"tool_name": "f"}, {"tool_name": "f", "choice": 1}]


@pytest.mark.parametrize("text", [" ", "\n\t\r "])
def test_blanks_are_no_arguments(text: str) -> None:
    assert told(run(call(ToolCallDelta(0, "c", "f", text)), STOP)) == ["S tool_call c", f"C {text}", "E c complete"]


@pytest.mark.parametrize("text", ["5", "true", '"a"', "null", "[1]"])
def test_a_root_that_is_no_object_ends_as_complete_and_is_for_others_to_judge(text: str) -> None:
    assert told(run(call(ToolCallDelta(0, "c", "f", text)), STOP))[-1] == "E c complete"


@pytest.mark.parametrize(
    ("text", "at"), [('{"a": 1}x', 8), ('{"a": 1}{"b": 2}', 8), ("nope", 1), ("{'a': 1}", 1), ('{"a": 01}', 7)]
)
def test_what_is_not_json_fails_with_its_place(text: str, at: int) -> None:
    for pieces in ([text], list(text)):
        events = run(
            call(ToolCallDelta(0, "c", "f")), *(call(ToolCallDelta(0, arguments_delta=each)) for each in pieces), CALLS
        )
        payload = ends(events)["c"]
        assert (payload["status"], payload["reason"]) == ("failed", "malformed")
        assert payload["metadata"]["error"]["at"] == at
        assert "".join(event.raw for event in events) == text


def test_what_is_not_json_fails_whatever_happened_to_the_stream() -> None:
    for how in (Completed(), Interrupted("x"), Failed(ValueError("x"))):
        payload = ends(run(call(ToolCallDelta(0, "c", "f", "{]")), how=how))["c"]
        assert (payload["status"], payload["reason"]) == ("failed", "malformed")


def test_a_text_that_ends_without_a_finish_is_truncated() -> None:
    assert told(run(Chunk(content="a")))[-1] == "E t:text_0 truncated"


HOWS: list[tuple[How, list[ChunkResponse], str]] = [
    (Completed(), [Chunk(finish_reason="length")], "truncated (length)"),
    (Completed(), [Chunk(finish_reason="content_filter")], "truncated (content_filter)"),
    (Completed(), [Chunk(finish_reason="error")], "failed (provider_error)"),
    (Completed(), [Chunk(finish_reason="pause")], "complete"),
    (Completed(), [Chunk(finish_reason="refusal")], "complete"),
    (Completed(), [Chunk(finish_reason="other")], "complete"),
    (Interrupted("Ctrl-C"), [], "interrupted (Ctrl-C)"),
    (Interrupted(), [], "interrupted"),
    (Failed(ValueError("x")), [], "interrupted"),
    (Failed(ProviderError("x", transport=True)), [], "interrupted"),
    (Failed(ProviderError("x")), [], "failed (provider_error)"),
]


@looped("how, chunks, end", HOWS)
def test_an_open_text_ends_as_the_stream_does(how: How, chunks: list[ChunkResponse], end: str) -> None:
    assert told(run(Chunk(content="a"), *chunks, how=how))[-1] == f"E t:text_0 {end}"


CUT: list[tuple[How, Any, str]] = [
    (Completed(), None, "truncated"),
    (Completed(), "stop", "truncated"),
    (Completed(), "length", "truncated (length)"),
    (Completed(), "error", "failed (provider_error)"),
    (Interrupted("Ctrl-C"), None, "interrupted (Ctrl-C)"),
    (Failed(ValueError("x")), None, "interrupted"),
    (Failed(ProviderError("x")), None, "failed (provider_error)"),
]


@pytest.mark.parametrize(("how", "finish", "end"), CUT)
def test_a_cut_call_ends_as_the_stream_does(how: How, finish: Any, end: str) -> None:
    events = run(call(ToolCallDelta(0, "c", "f", '{"a": "x')), Chunk(finish_reason=finish), how=how)
    assert told(events)[-1] == f"E c {end}"
    assert ends(events)["c"]["metadata"]["error"]["expected"] == "the closing '\"' of a string"


@pytest.mark.parametrize("text", ["{}", ""])
@pytest.mark.parametrize("how", [Interrupted("x"), Failed(ValueError("x")), Failed(ProviderError("x"))])
def test_a_call_that_nothing_sealed_is_not_complete_when_the_stream_breaks(how: How, text: str) -> None:
    assert ends(run(call(ToolCallDelta(0, "c", "f", text)), how=how))["c"]["status"] in ("interrupted", "failed")


def test_an_error_in_the_answer_seals_nothing() -> None:
    events = run(call(ToolCallDelta(0, "c", "f", "{}")), Chunk(finish_reason="error"))
    assert told(events)[-1] == "E c failed (provider_error)"


def test_a_cut_call_says_what_cut_it_as_the_text_beside_it_does() -> None:
    cuts_by: list[tuple[ChunkResponse, Any]] = [
        (call(ToolCallDelta(0, "c", "f", '{"a')), "length"),
        (call(ToolCallDelta(0, "c", "f")), "length"),
        (call(ToolCallDelta(0, "c", "f", "x", kind="text")), "length"),
        (call(ToolCallDelta(0, "c", "f", '{"a')), "content_filter"),
    ]
    for chunk, finish in cuts_by:
        assert ends(run(chunk, Chunk(finish_reason=finish)))["c"] | {"metadata": None} == {
            "status": "truncated",
            "reason": finish,
            "metadata": None,
        }


def test_end_arguments_puts_the_decoded_arguments_into_the_end_of_complete_calls() -> None:
    chunks = [
        call(ToolCallDelta(0, "whole", "f", '{"a": [1, "é"]}'), ToolCallDelta(1, "none", "f")),
        *(call(ToolCallDelta(2, "pieces" if each == "{" else None, "f", each)) for each in ("{", '"b"', ": null", "}")),
        call(ToolCallDelta(3, "list", "f", "[1]"), ToolCallDelta(4, "bad", "f", "nope")),
        call(ToolCallDelta(5, "free", "f", "x", kind="text"), ToolCallDelta(6, "cut", "f", '{"a"')),
    ]
    metadata = {each: payload["metadata"] for each, payload in ends(run(*chunks, CALLS, end_arguments=True)).items()}
    assert metadata["whole"] == {"tool_name": "f", "arguments": {"a": [1, "é"]}}
    assert metadata["none"] == {"tool_name": "f", "arguments": {}}
    assert metadata["pieces"] == {"tool_name": "f", "arguments": {"b": None}}
    assert metadata["list"] == {"tool_name": "f", "arguments": [1]}
    assert all("arguments" not in metadata[each] for each in ("bad", "free", "cut"))


def test_end_arguments_has_what_waited_for_the_name() -> None:
    events = run(
        call(ToolCallDelta(0, arguments_delta='{"a": ')),
        call(ToolCallDelta(0, "c", "f", "1}")),
        CALLS,
        end_arguments=True,
    )
    assert ends(events)["c"]["metadata"]["arguments"] == {"a": 1}


def test_a_free_form_call_streams_its_text_as_the_field_input() -> None:
    deltas = [
        ToolCallDelta(0, "c", "patch", kind="text"),
        *(ToolCallDelta(0, arguments_delta=each) for each in ('{"', "a\n")),
    ]
    events = run(*(call(each) for each in deltas), STOP)
    assert told(events) == ["S tool_call c", 'C {"', "C a\n", "E c complete"]
    assert events[0].metadata == events[-1].metadata == {"tool_name": "patch", "kind": "text"}
    pieces = [piece for event in events for piece in event.fragments or ()]
    assert [(piece.path, piece.kind, piece.value, piece.at) for piece in pieces] == [
        ((), "OPEN", "{", 0),
        (("input",), "OPEN", '"', 0),
        (("input",), "TEXT", '{"', 0),
        (("input",), "TEXT", "a\n", 2),
        (("input",), "DONE", None, 4),
        ((), "DONE", None, 4),
    ]


def test_a_call_that_the_provider_runs_says_so_in_its_metadata() -> None:
    events = run(call(ToolCallDelta(0, "c", "search", "{}", executed_by="provider", done=True)))
    assert events[0].metadata == {"tool_name": "search", "executed_by": "provider"}
    assert events[-1].metadata["executed_by"] == "provider"


def test_native_parts_of_a_call_are_put_together_in_its_end() -> None:
    chunks = [
        ToolCallDelta(0, "c", "f", native={"a": 1}),
        ToolCallDelta(0, native={"b": 2}),
        ToolCallDelta(0, native={"a": 3}),
    ]
    events = run(*(call(each) for each in chunks), STOP)
    assert events[0].metadata["native"] == {"a": 1}
    assert events[-1].metadata["native"] == {"a": 3, "b": 2}


def test_each_choice_has_its_own_segments_calls_and_ids() -> None:
    chunks = [
        Chunk(content="a"),
        Chunk(content="b", choice=1),
        call(ToolCallDelta(0, None, "f", "{}")),
        call(ToolCallDelta(0, None, "f", "{}"), choice=1),
        Chunk(finish_reason="stop"),
        Chunk(finish_reason="length", choice=1),
        Chunk(content="c", choice=1),
    ]
    assert told(run(*chunks)) == [
        *("S text t:text_0", "C a", "S text t:choice_1:text_0", "C b"),
        *("E t:text_0 complete", "S tool_call t:call_0", "C {}"),
        *("E t:choice_1:text_0 complete", "S tool_call t:choice_1:call_0", "C {}"),
        *("E t:call_0 complete", "E t:choice_1:call_0 complete"),
        *("S text t:choice_1:text_1", "C c", "E t:choice_1:text_1 truncated (length)"),
    ]


LIMITED = {
    "depth": (Limits(depth=2), '{"a": [[1]]}'),
    "key_length": (Limits(key_length=3), '{"abcd": 1}'),
    "number_length": (Limits(number_length=3), '{"a": 1234}'),
    "arguments_length": (Limits(arguments_length=10), '{"a": "bcdefgh"}'),
}


@pytest.mark.parametrize("name", LIMITED)
def test_what_exceeds_a_limit_fails_its_call_and_nothing_else_however_it_is_cut(name: str) -> None:
    limits, text = LIMITED[name]
    kept = text[: limits.arguments_length]
    for pieces in ([text], list(text)):
        chain = stage(to_segments(turn_id="t", limits=limits))
        events = chain.feed(call(ToolCallDelta(0, "c", "f"), ToolCallDelta(1, "d", "g", "{}")))
        for piece in pieces:
            events += chain.feed(call(ToolCallDelta(0, arguments_delta=piece)))
        assert ("c" in ends(events)) == (name == "arguments_length")
        events += chain.close()
        assert ends(events)["c"]["reason"] == "limit"
        assert ends(events)["d"]["status"] == "complete"
        assert "".join(event.raw for event in events if getattr(event, "segment_id", "") == "c") == kept


def test_what_is_malformed_already_is_kept_up_to_the_limit_only() -> None:
    chain = stage(to_segments(turn_id="t", limits=Limits(arguments_length=10)))
    events = chain.feed(call(ToolCallDelta(0, "c", "f", "{x")))
    for _ in range(5):
        events += chain.feed(call(ToolCallDelta(0, arguments_delta="yyy")))
    assert ends(events)["c"]["reason"] == "malformed"
    assert "".join(event.raw for event in events if getattr(event, "segment_id", "") == "c") == "{xyyyyyyyy"


def test_free_form_text_has_a_limit_too() -> None:
    chain = stage(to_segments(turn_id="t", limits=Limits(arguments_length=3)))
    events = chain.feed(call(ToolCallDelta(0, "c", "f", "abc", kind="text")))
    assert ends(events) == {}
    assert told(chain.feed(call(ToolCallDelta(0, arguments_delta="d")))) == ["E c failed (limit)"]


def test_what_waits_for_a_name_has_a_limit_too() -> None:
    chain = stage(to_segments(turn_id="t", limits=Limits(arguments_length=3)))
    assert chain.feed(call(ToolCallDelta(0, arguments_delta="abc"))) == []
    given = [told(chain.feed(call(ToolCallDelta(0, arguments_delta=each)))) for each in ("d", "e", "f")]
    assert given == [["S tool_call t:call_0", "C abc", "E t:call_0 failed (limit)"], [], []]
    assert chain.close() == [AnswerEnd("t", status="truncated")]


def test_too_many_open_calls_fail_those_that_are_too_many() -> None:
    deltas = [ToolCallDelta(index, f"c{index}", "f", '{"a"') for index in range(3)]
    events = run(
        call(*deltas),
        call(*(ToolCallDelta(index, arguments_delta=": 1}") for index in range(2))),
        CALLS,
        limits=Limits(open_calls=2),
    )
    assert {each: payload["status"] for each, payload in ends(events).items()} == {
        "c2": "failed",
        "c0": "complete",
        "c1": "complete",
    }


@looped("seen", [*SEALS.values(), ()])
def test_every_start_has_one_end(seen: tuple[ChunkResponse, ...]) -> None:
    chunks = (
        Chunk(reasoning="r"),
        Chunk(content="a"),
        call(ToolCallDelta(0, "c", "f", "{"), ToolCallDelta(1, None, "g")),
        *seen,
    )
    for how in (Completed(), Interrupted("x"), Failed(ValueError("x"))):
        events = [event for event in run(*chunks, how=how) if isinstance(event, SegmentEvent)]
        starts = [event.segment_id for event in events if event.type == "SEGMENT_START"]
        assert len(starts) == len(set(starts))
        assert sorted(starts) == sorted(event.segment_id for event in events if event.type == "SEGMENT_END")


def joined(events: list[Any]) -> list[Any]:
    """Return events with the content of each segment in one piece, so that different cuttings compare."""
    given: list[Any] = []
    contents: dict[str, list[Any]] = {}
    for event in events:
        if isinstance(event, SegmentContent):
            if event.segment_id not in contents:
                contents[event.segment_id] = ["content", event.segment_id, ""]
                given.append(contents[event.segment_id])
            contents[event.segment_id][2] += event.raw
        else:
            given.append(
                (event.type, event.segment_id, payload_of(event)) if isinstance(event, SegmentEvent) else event.code
            )
    return given


TOO_MUCH = ['{"a": 1} x', "[]]"]
ARGUMENTS = ['{"a": "x\\n\\ud83d\\ude00", "b": [1, {}]}', '{"a": 1', " ", "", "12", '{"a": "\\ud800"}', *TOO_MUCH]


@settings(deadline=None)
@given(st.data(), st.sampled_from(ARGUMENTS), st.booleans())
def test_any_cutting_gives_the_same_segments(data: st.DataObject, text: str, eager: bool) -> None:
    assume(not (eager and text in TOO_MUCH))  # the test after this one

    def chunks(contents: list[str], arguments: list[str]) -> list[ChunkResponse]:
        deltas = [ToolCallDelta(0, arguments_delta=each) for each in arguments]
        return [
            *(Chunk(content=each) for each in contents),
            call(ToolCallDelta(0, "c", "f")),
            *(call(each) for each in deltas),
            CALLS,
        ]

    content = "plain text 😀"
    whole = run(*chunks([content], [text]), eager=eager, end_arguments=True)
    cut = run(*chunks(data.draw(cuts(content)), data.draw(cuts(text))), eager=eager, end_arguments=True)
    assert joined(cut) == joined(whole)


def test_eager_seals_at_the_closing_bracket_wherever_the_text_is_cut() -> None:
    for pieces in every_cut_in_two('{"a": 1} x'):
        events = run(
            call(ToolCallDelta(0, "c", "f")),
            *(call(ToolCallDelta(0, arguments_delta=each)) for each in pieces),
            eager=True,
        )
        assert ends(events)["c"]["status"] == "complete"
        assert told(events)[-1] == "! late_arguments"


STORY = [
    Chunk(response_id="r", reasoning="hm"),
    Chunk(native={"signature": "s"}),
    Chunk(content="Hel"),
    Chunk(content="lo", choice=1),
    call(ToolCallDelta(1, arguments_delta='{"late')),
    call(ToolCallDelta(0, "c", "f", '{"a": "x\\u00'), ToolCallDelta(2, "free", "g", "fr", kind="text")),
    call(ToolCallDelta(0, arguments_delta='e9", "b": -1')),
    call(ToolCallDelta(1, None, "g", '": 1}', native={"n": 1})),
    call(ToolCallDelta(3, "c", "h", "{}"), ToolCallDelta(2, arguments_delta="ee", done=True)),
    call(ToolCallDelta(0, arguments_delta=".5}"), ToolCallDelta(4, "bad", "f", "{]")),
    call(ToolCallDelta(2, arguments_delta="late"), ToolCallDelta(5, arguments_delta="nameless")),
    Chunk(finish_reason="length", choice=1),
    call(ToolCallDelta(2, arguments_delta="later"), ToolCallDelta(0, arguments_delta="x")),
    CALLS,
]


@pytest.mark.parametrize("options", [{}, {"eager": True, "end_arguments": True}, {"turn_id": "t"}])
def test_dumped_and_loaded_after_any_item_it_goes_on_the_same(options: dict[str, Any]) -> None:
    unbroken, frozen = stage(to_segments(**options)), stage(to_segments(**options))
    for chunk in STORY:
        assert frozen.feed(chunk) == unbroken.feed(chunk)
        state = msgspec.json.decode(msgspec.json.encode(frozen.dump()))
        frozen = stage(to_segments(**options))
        frozen.load(state)
    assert frozen.close() == unbroken.close()


def test_what_came_out_is_a_beginning_of_what_comes_out_in_the_end() -> None:
    whole = told(run(*STORY))
    for length in range(len(STORY)):
        chain = stage(to_segments(turn_id="t"))
        given = told([event for chunk in STORY[:length] for event in chain.feed(chunk)])
        assert whole[: len(given)] == given


def test_a_dump_does_not_change_when_the_stage_goes_on() -> None:
    chain = stage(to_segments(turn_id="t"))
    chain.feed(STORY[5])
    state = chain.dump()
    before = msgspec.json.encode(state)
    for chunk in (*STORY[6:], Chunk(content="more")):
        chain.feed(chunk)
    assert msgspec.json.encode(state) == before


def test_all_ways_to_run_give_the_same() -> None:
    given: list[Any] = []
    reactivex.from_iterable(STORY).pipe(to_segments(turn_id="t")).subscribe(given.append)
    assert given == list(drive(STORY, to_segments(turn_id="t")))
    assert before_the_end(given) == run(*STORY)


def test_the_operator_pickles_and_has_no_state_of_its_own() -> None:
    operator = pickle.loads(pickle.dumps(to_segments(turn_id="t", eager=True, limits=Limits(depth=9))))
    assert list(drive(STORY, operator)) == list(drive(STORY, operator))
    assert answered(STORY, operator) == run(*STORY, eager=True)


NAMES: dict[str, tuple[tuple[str, ...], bool, list[str]]] = {
    "a tool, and no other begins with its name": (("search", "read"), True, ["search"]),
    "a tool, and another begins with its name": (("search", "search_files"), True, []),
    "the beginning of a tool's name": (("search_files",), True, []),
    "no tool's name, nor its beginning": (("read",), True, ["search"]),
    "no tools are known": ((), True, []),
    "the wire gives names whole": (("search", "search_files"), False, ["search"]),
}


@pytest.mark.parametrize("case", NAMES)
def test_start_waits_only_while_a_further_piece_of_the_name_may_make_it_another_tools(case: str):
    names, name_open, begun = NAMES[case]
    shapes = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in names]
    chain = stage(to_segments(turn_id="t", tools=shapes or None))
    head = ToolCallDelta(0, "a", "search", name_open=name_open)
    starts = [chain.feed(ChunkResponse(tool_calls=(each,))) for each in (head, ToolCallDelta(0, arguments_delta="{}"))]
    assert [event.metadata["tool_name"] for event in starts[0]] == begun
    is_begun_with_arguments = bool(begun) or "search" in names or not names
    assert len(starts[1]) == is_begun_with_arguments + (is_begun_with_arguments and not begun)
    events = [event for each in (*starts, chain.close(Completed())) for event in each]
    assert [event.metadata["tool_name"] for event in events if isinstance(event, SegmentStart)] == ["search"]


def test_a_name_that_waits_goes_on_from_its_dumped_state():
    chain = stage(to_segments(turn_id="t"))
    chain.feed(ChunkResponse(tool_calls=(ToolCallDelta(0, "a", "search", name_open=True),)))
    other = stage(to_segments(turn_id="t"))
    other.load(chain.dump())
    pieces = (ToolCallDelta(0, name="_files"), ToolCallDelta(0, arguments_delta="{}"))
    start, content = (event for piece in pieces for event in other.feed(ChunkResponse(tool_calls=(piece,))))
    assert (start.segment_id, start.metadata["tool_name"], content.delta) == ("a", "search_files", "{}")


MUTANTS = {
    "late text of a sealed call makes a second one": (["ended_call", "tests/laws/test_laws.py again", "tests/laws/test_laws.py sealing"], ("operators/calls/native_calls.py", "if ended is not None and (not (delta.call_id and delta.name) or delta.call_id == ended[0]):", "if False:")),
    "done alone seals what cannot close": (["what_cannot_close", "tests/laws/test_cut_models.py anthropic"], ("operators/calls/native_calls.py", '            if call.status == "completed":\n', '            if delta.done or call.status == "completed":\n')),
    "a later call seals what cannot close before the answer has ended": ("what_cannot_close", ("operators/calls/native_calls.py", "            other.is_followed = True\n", '            if other.needs_evidence:\n                self.end(other, events, "complete")\n                continue\n')),
    "incomplete outweighs nothing": (["what_cannot_close", "tests/laws/test_cut_models.py responses"], ("operators/calls/native_calls.py", ' and call.status != "incomplete"\n            if call.is_sealed', "\n            if call.is_sealed")),
    "any finish is regular": (["what_cannot_close", "tests/laws/test_cut_models.py chat"], ("operators/calls/answer_segments.py", "finish in REGULAR and not chunk.is_cut", "True")),
    "a cut that sounds regular is regular": (["what_cannot_close", "tests/laws/test_cut_models.py gemini"], ("operators/calls/answer_segments.py", " and not chunk.is_cut", "")),
    "the end of the stream seals what cannot close": (["what_cannot_close", "tests/laws/test_cut_models.py ollama"], ("operators/calls/native_calls.py", 'elif completed and status == "truncated" and not call.needs_evidence:', 'elif completed and status == "truncated":')),
    "the closing of a provider's object seals it": (["what_cannot_close", "tests/laws/test_cut_models.py responses"], ("operators/calls/native_call.py", 'return self.kind == "json" and self.closed', "return self.closed")),
    "a built-in tool's object that never came is complete": ("did_not_come", ("operators/calls/native_calls.py", 'status == "complete" and call.kind == "object"', 'status == "" and call.kind == "object"')),
    "a later call seals one that was still being written": (["what_cannot_close", "tests/laws/test_laws.py sealing"], ("operators/calls/native_calls.py", "        call.is_followed = False  #", "        #")),
    "a contradiction after the end is told by nobody": ("contradiction", ("operators/calls/native_calls.py", "            if delta.contradiction:\n                detail", "            if delta.contradiction is delta:\n                detail")),
}  # fmt: skip
