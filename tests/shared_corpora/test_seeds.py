"""Every case of the original systems that concerns what is built: run, refused with the law, or deferred."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import seeds_mapping as words
import seeds_text_mapping as text_words
from seeds_mapping import Case
from seeds_text_checks import check_arguments, check_bodies, check_in_text
from segment_events import payload_of
from untyped import drive, stage

from penstock.events import (
    ChunkResponse,
    InvocationFailed,
    Notice,
    ProviderError,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    ToolCallDelta,
    ToolInvocation,
    UsageError,
)
from penstock.events.segment_event import Fragment
from penstock.operators import stream_fields, to_invocations, to_segments
from penstock.operators.extract_json_fields import extract_json_fields
from penstock.operators.json_fragments import json_fragments
from penstock.pipeline import Answer, Pipeline
from penstock.pipeline.strategies import strategy_named
from penstock.pipeline.strategy_choice import settings_from_environment
from penstock.sinks.collect import Collected, Segment, collect
from penstock.sources.from_wire import decode_wire


def all_cases() -> dict[str, Case]:
    """Return the cases by name; none without the corpora, of which a test below tells."""
    if not (folder := os.environ.get("SHARED")):
        return {}
    paths = sorted((Path(folder) / "conformance" / "seeds").glob("*.jsonl"))
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return dict(words.case_ids(json.loads(line) for line in lines))


CASES = all_cases()
TO_RUN = [name for name in CASES if name not in words.REFUSED]


def is_part_of(wanted: Any, given: Any) -> bool:
    """Whether all that a case wants is there; of objects it may not want every key, of arguments it does."""
    if isinstance(wanted, dict) and isinstance(given, dict):
        return all(
            key in given and (value == given[key] if key == "arguments" else is_part_of(value, given[key]))
            for key, value in wanted.items()
        )
    if isinstance(wanted, list) and isinstance(given, list):
        return len(wanted) == len(given) and all(map(is_part_of, wanted, given))
    return bool(wanted == given) and type(wanted) is type(given)


class Run:
    """A case that is fed chunk by chunk: what each feed gave, and what the end gave."""

    def __init__(self, feeds: list[list[Any]], last: list[Any], error: Exception | None = None) -> None:
        self.feeds = feeds
        self.last = last
        self.error = error
        self.collected = collect([event for feed in (*feeds, last) for event in feed])

    @property
    def invocations(self) -> list[dict[str, Any]]:
        return [words.as_invocation(each) for each in self.collected.invocations]


def run(items: Iterable[Any], *operators: Any, finalize: bool) -> Run:
    chain = stage(*operators)
    feeds = [chain.feed(item) for item in items]
    return Run(feeds, chain.close() if finalize else [])


def segments_in(events: Iterable[Any]) -> list[SegmentEvent]:
    return [event for event in events if isinstance(event, SegmentEvent)]


# AutoByteus


def check_handler(case: Case) -> None:
    """Check a case of the handlers: native calls, or text that passes through."""
    config, expected = case["config"], dict(case["expected"])
    chunks = [words.from_handler_chunk(chunk) for chunk in case["chunks"]]
    tools = {"run_bash": None} if "diagnostic" in expected else None
    operators = (to_segments(turn_id="turn", tools=tools), stream_fields(), to_invocations(keep_segments=True))
    if config.get("close") == "fail":
        ran = run_until_it_fails(chunks, config["reason"], operators)
    else:
        ran = run(chunks, *operators, finalize=config.get("finalize", True))
        assert len(ran.invocations) == config.get("native_invocations", len(ran.invocations))
    for key, wanted in expected.items():
        HANDLER_CHECKS[key](ran, wanted)


def check_selection(case: Case) -> None:
    """Check which strategy the environment, the tools and the provider lead to."""
    config, expected = case["config"], dict(case["expected"])
    with pytest.MonkeyPatch.context() as environment:
        for name in ("PENSTOCK_STREAM_PARSER", "AUTOBYTEUS_STREAM_PARSER"):
            environment.delenv(name, raising=False)
        if value := config.get("env") or config.get("parser_name"):
            environment.setenv("AUTOBYTEUS_STREAM_PARSER", value)
        if "error" in expected:
            with pytest.raises(UsageError, match=words.UNKNOWN[expected["error"]["message_matches"]]):
                Pipeline()
            return
        pipeline = Pipeline(tools=[{"name": name, "parameters": {}} for name in config.get("tool_names", ["any"])])
        chosen_by_name: Any = strategy_named(settings_from_environment().strategy)
        strategy = chosen_by_name.__name__
    call = ToolCallDelta(0, "call_1", config.get("tool_names", ["any"])[0] if pipeline.tools else "any", "{}")
    finished = ChunkResponse(content="<tool>", tool_calls=(call,), finish_reason="tool_calls")
    result = collect(pipeline.stream([finished]))
    assert result.text == "<tool>"
    chosen = strategy if result.invocations else "pass_through"
    wanted = expected.get("handler", words.PARSING)
    assert chosen == (expected["parser"] if wanted == words.PARSING else wanted)
    if chosen in words.IN_TEXT:
        assert collect(pipeline.stream([words.IN_TEXT[chosen]])).invocations
    if "tool_schemas" in expected:
        assert pipeline.tool_schemas("openai") == expected["tool_schemas"]


def run_until_it_fails(chunks: list[ChunkResponse], reason: str, operators: tuple[Any, ...]) -> Run:
    def broken() -> Iterator[ChunkResponse]:
        yield from chunks
        raise ProviderError(reason)

    events: list[Any] = []
    with pytest.raises(ProviderError) as caught:
        events.extend(drive(broken(), *operators))  # extend keeps what came before the exception
    return Run([], events, caught.value)


def check_feeds(ran: Run, wanted: list[dict[str, Any]]) -> None:
    for each in wanted:
        events = segments_in(ran.feeds[each["chunk"]])
        told = [words.as_event(event) for event in events]
        contents = [event.delta for event in events if isinstance(event, SegmentContent)]
        for key, value in each.items():
            match key:
                case "chunk":
                    pass
                case "events":
                    assert is_part_of(value, told), told
                case "start":
                    start = {"segment_type": value["segment_type"], "metadata": value["metadata"]}
                    assert is_part_of(start, told[0]), told
                case "first_event":
                    assert is_part_of(value, told[0]), told
                case "first_content_delta":
                    assert contents[0] == value
                case "content_joined":
                    assert "".join(contents) == value
                case _:
                    raise KeyError(key)


def check_close(ran: Run, wanted: dict[str, Any]) -> None:
    ends = [event for event in segments_in(ran.last) if event.type == "SEGMENT_END"]
    flags = dict(wanted["payload_contains"])
    assert isinstance(ran.error, ProviderError)
    assert flags.pop("error") == ran.error.detail  # with us the error comes once, as the stream's own
    assert len(ends) == wanted["SEGMENT_END"]
    assert all(is_part_of(flags, words.as_end_flags(payload_of(end))) for end in ends)


def check_closed_segment(ran: Run, wanted: dict[str, Any]) -> None:
    (end,) = (
        event for event in segments_in(ran.last) if isinstance(event, SegmentEnd) and event.segment_id == wanted["id"]
    )
    assert is_part_of(wanted["metadata"], end.metadata)


def check_error(_: Run, wanted: dict[str, Any]) -> None:
    assert wanted == {"on": "feed_after_finalize"}
    chain = stage(to_segments())
    chain.close()
    with pytest.raises(UsageError):
        chain.feed(ChunkResponse(content="x"))


def check_invocations(ran: Run, wanted: list[dict[str, Any]]) -> None:
    assert is_part_of(wanted, ran.invocations), (ran.invocations, ran.collected.failures)


def check_unordered(ran: Run, wanted: list[dict[str, Any]]) -> None:
    given = sorted(ran.invocations, key=lambda each: str(each["name"]))
    assert is_part_of(sorted(wanted, key=lambda each: str(each["name"])), given), given


def check_events(ran: Run, wanted: list[dict[str, Any]]) -> None:
    told = [words.as_event(event) for event in segments_in(ran.collected.events)]
    assert is_part_of(wanted, told), told


def check_first_content(ran: Run, wanted: str) -> None:
    assert next(event.delta for event in ran.collected.events if event.type == "SEGMENT_CONTENT") == wanted


def check_diagnostic(ran: Run, wanted: dict[str, Any]) -> None:
    (notice,) = (event for event in ran.collected.events if isinstance(event, Notice))
    told = words.as_diagnostic(notice)
    assert told["code"] == wanted["code"]
    for key in ("message", "snippet"):
        assert all(part in told[key] for part in wanted[f"{key}_contains"]), told


HANDLER_CHECKS: dict[str, Callable[[Run, Any], None]] = {
    "feed_expect": check_feeds,
    "close_events_all": check_close,
    "close_segment": check_closed_segment,
    "error": check_error,
    "invocations": check_invocations,
    "invocations_unordered": check_unordered,
    "events": check_events,
    "first_content_delta": check_first_content,
    "diagnostic": check_diagnostic,
}


def check_adapter(case: Case) -> None:
    said = [str(chunk["payload"].get("delta", "")) for chunk in case["chunks"]]
    # What is still XML is decoded by our dialect, before it is CONTENT.
    if any(text.startswith("<arguments>") or "&amp;" in text for text in said):
        check_bodies(case, is_part_of)
        return
    chain = stage(to_invocations())
    given = [event for chunk in case["chunks"] for event in chain.feed(words.from_segment(chunk))]
    for key, wanted in case["expected"].items():
        if key == "invocations":
            invocations = [words.as_invocation(each) for each in given if isinstance(each, ToolInvocation)]
            assert is_part_of(wanted, invocations), given
        else:
            assert key == "active_segment_ids_count"
            still_open = [each for each in chain.close() if isinstance(each, InvocationFailed)]
            assert len(still_open) == wanted


def check_to_invocation(case: Case) -> None:
    events = words.segment_as_events(case["config"]["segment"])
    (invocation,) = drive(events, to_invocations())
    assert {"arguments": invocation.arguments} == case["expected"]


def check_field_stream(case: Case) -> None:
    """Check the streamer of a file tool's arguments, piece by piece."""
    field = {"write_file": "content", "edit_file": "patch"}[case["config"]["tool"]]
    chain = stage(extract_json_fields("path", field))
    values: dict[str, str] = {}
    complete: dict[str, str] = {}
    told: list[dict[str, Any]] = []
    for chunk in case["chunks"]:
        delta = ""
        for piece in chain.feed(chunk):
            assert isinstance(piece, Fragment)
            name = str(piece.path[0])
            if piece.kind == "TEXT":
                values[name] = values.get(name, "") + piece.value
                delta += piece.value if name == field else ""
            elif piece.kind == "DONE":
                complete[name] = values.get(name, "")
        told.append({"content_delta": delta, "content_complete": complete.get(field), "path": complete.get("path")})
    for wanted in case["expected"]["feed_expect"]:
        assert is_part_of({key: value for key, value in wanted.items() if key != "chunk"}, told[wanted["chunk"]]), told
    final = {"path": complete["path"], "content": complete[field]}
    assert is_part_of(case["expected"].get("final", {}), final)


# Tarko


def check_native(case: Case) -> None:
    config, expected = case["config"], case["expected"]
    before = words.from_state(config["state"]) if "state" in config else []
    wire = words.as_wire(map(words.from_delta, (*before, *case["chunks"])))
    chunks = [list(part) for part in run(wire, decode_wire("chat", turn_id="turn"), finalize=False).feeds]
    skipped = sum(map(len, chunks[: len(before)]))
    ran = run(
        (chunk for part in chunks for chunk in part),
        to_segments(turn_id="turn"),
        to_invocations(keep_segments=True),
        finalize=config["finalize"],
    )
    new = segments_in(event for feed in ran.feeds[skipped:] for event in feed)
    names: dict[str, str] = {}
    updates_by_feed = [words.as_updates(segments_in(feed), names) for feed in ran.feeds]
    updates = [update for feed in updates_by_feed[skipped:] for update in feed]
    finish = [chunk.finish_reason for part in chunks for chunk in part if chunk.finish_reason]
    deltas = [update["arguments_delta"] for update in updates if not update["is_complete"]]
    calls = [segment for segment in ran.collected.segments if segment.type == "tool_call"]
    told: dict[str, Any] = {
        "text": ran.collected.text,
        "text_deltas": [
            event.delta for event in new if isinstance(event, SegmentContent) and event.segment_type == "text"
        ],
        "reasoning": ran.collected.reasoning or None,
        "finish_reason": finish[-1] if finish else words.DEFAULT_FINISH,
        "tool_calls": calls or None,
        "has_tool_call_update": bool(updates),
        "streaming_updates": updates,
        "streaming_update_deltas": deltas,
        # Before the end the original's calls are those that have begun.
        "invocations": ran.invocations if config["finalize"] else [so_far(call) for call in calls],
    }
    for key, wanted in expected.items():
        given = json.loads("".join(deltas)) if key == "joined_deltas_json" else told[key]
        assert is_part_of(wanted, given), (key, given)


def so_far(call: Segment) -> dict[str, Any]:
    return {"id": call.id, "name": call.metadata["tool_name"], "arguments_raw": call.raw}


# jp


def check_event_builder(case: Case) -> None:
    chain = stage(to_segments(turn_id="turn"), to_invocations(keep_segments=True))
    indexes: dict[str, int] = {}
    flushed: list[int] = []
    events: list[Any] = []
    for part in case["chunks"]:
        given = chain.feed(words.from_part(part))
        events += given
        indexes |= {event.segment_id: part["index"] for event in segments_in(given) if event.type == "SEGMENT_START"}
        if part.get("flush"):
            flushed.append(part["index"])
    if case["config"].get("end") == "drain":
        events += chain.close()
    collected = collect(events)
    segments = {indexes[segment.id]: segment for segment in collected.segments}
    texts = [segment for segment in collected.segments if segment.type != "tool_call"]
    invoked = {each.id: each for each in collected.invocations}
    told: dict[str, Any] = {
        "flushed": [as_builder_event(segments[index], invoked) for index in flushed],
        "partial": [as_builder_event(each, invoked) for each in texts if indexes[each.id] not in flushed],
        "incomplete_tool_calls": [
            *(each.metadata["tool_name"] for each in collected.segments if each.type == "tool_call" and not each.status)
        ],
        "drained_kinds_unordered": [words.KINDS[each.type] for each in texts],
        "drained_count": len(texts),
        "invocations": [words.as_invocation(each) for each in collected.invocations],
    }
    for key, wanted in case["expected"].items():
        given = told[key]
        if key == "drained_kinds_unordered":
            assert sorted(given) == sorted(wanted)
        elif key == "flushed" and "metadata_contains" in (wanted[0] or {}):
            assert is_part_of([each["metadata_contains"] for each in wanted], [each["metadata"] for each in given])
        else:
            assert is_part_of(wanted, given), (key, given)


def as_builder_event(segment: Segment, invoked: dict[str, ToolInvocation]) -> dict[str, Any] | None:
    """Return a segment as the event that jp's builder makes at a flush, to be kept; None for what is not kept."""
    if segment.type == "text" and not in_next_turn(segment.content):
        return None
    if segment.type != "tool_call":
        return {words.KINDS[segment.type]: segment.content}
    assert segment.id in invoked, segment
    call = words.as_invocation(invoked[segment.id])
    if call["name"] == words.STRUCTURED:
        return {"structured": call["arguments"], "metadata": call[words.NATIVE_CONTEXT]}
    return {"tool_call": call}


def in_next_turn(text: str) -> bool:
    """Return whether the next request has the text of an answer."""
    chunks = (ChunkResponse(content=text), ChunkResponse(finish_reason="stop"))
    return bool(Answer(drive(chunks, to_segments())).to_messages("anthropic"))


def check_fragments(case: Case) -> None:
    pieces = drive(case["chunks"], json_fragments())
    assert [nested for piece in pieces if (nested := piece.nested()) is not None] == case["expected"]["fragments"]


def check_converter(case: Case) -> None:
    """Check what one event of a provider, or one part of it, becomes."""
    config = case["config"]
    api = words.APIS[config["provider"]]
    before, events = words.from_converters(config, case["chunks"])
    chain = stage(decode_wire(api, turn_id="turn"))
    for each in words.as_wire(before, api):
        chain.feed(each)
    chunks = [chunk for each in words.as_wire(events, api) for chunk in chain.feed(each)]
    for key, wanted in case["expected"].items():
        if key == "normalized":
            assert words.as_parts(chunks) == words.expected_parts(wanted)
            done = [delta for chunk in chunks for delta in chunk.tool_calls if delta.done]
            assert len(done) == sum("tool_start" in part for part in wanted)
        else:
            assert key == "deltas"
            given = [words.as_delta(config["provider"], delta) for chunk in chunks for delta in chunk.tool_calls]
            assert is_part_of(wanted or [], given), given


def check_provider(case: Case) -> None:
    """Check a provider's stream, from the wire to the invocations."""
    expected, api = words.with_our_ids(case), words.APIS[case["config"]["provider"]]
    wire = run(words.as_wire(case["chunks"], api), decode_wire(api, turn_id="turn"), finalize=True)
    per_chunk = [[each for each in feed if isinstance(each, ChunkResponse)] for feed in (*wire.feeds, wire.last)]
    chunks = [chunk for feed in per_chunk for chunk in feed]
    chain = stage(to_segments(turn_id="turn"), to_invocations(keep_segments=True))
    feeds = [[event for chunk in feed for event in chain.feed(chunk)] for feed in per_chunk]
    result = collect([*(event for feed in feeds for event in feed), *chain.close()])
    finish = next((chunk.finish_reason for chunk in chunks if chunk.finish_reason), None)
    structured = case["strategy"] == "structured_outputs"
    invoked = {each.id: each for each in result.invocations}
    for key, wanted in expected.items():
        match key:
            case "text":
                assert result.text == wanted
            case "reasoning":
                assert (result.reasoning or None) == (wanted or None)
            case "deltas":
                assert (wanted, [delta for chunk in chunks for delta in chunk.tool_calls]) == (None, [])
            case "finish_reason":
                assert (words.FINISH_REASONS.get(finish, finish) if finish else None) == wanted
            case "invocations":
                assert is_part_of(wanted, [words.as_invocation(each) for each in result.invocations]), result.failures
            case "normalized":
                assert words.as_parts(chunks) == words.expected_parts(wanted)
                assert wanted[-1] == {"finished": "Completed"}
                assert finish in ("stop", "tool_calls")
                assert all(segment.status == "complete" for segment in result.segments)
                for kind, names in words.kept(wanted):
                    assert names & set(words.keys_in(natives_of(result, kind))), (kind, names)
            case "flushed":
                given = [as_builder_event(each, invoked) for each in result.segments]
                if structured:
                    given = [
                        {"structured": words.structured(each["message"])} if each and "message" in each else each
                        for each in given
                    ]
                # A reasoning without a text is only there for its replay: jp has it by one provider and not by another.
                with_text, given = ([each for each in said if each != {"reasoning": ""}] for said in (wanted, given))
                assert is_part_of(with_text, given), given
            case "flush_indices_by_chunk":
                for chunk, indexes in wanted.items():
                    ended = [event for event in segments_in(feeds[int(chunk)]) if event.type == "SEGMENT_END"]
                    calls = [index for index in indexes if index > 1]  # 0 is reasoning, 1 the message: there is neither
                    assert len(ended) == len(calls)
            case _:
                raise KeyError(key)


def natives_of(result: Collected, kind: str) -> list[Any]:
    """Return what is kept for a replay of calls, or of another kind of segment."""
    if kind == "tool_call":
        return [invocation.native for invocation in result.invocations]
    return [segment.metadata.get("native") for segment in result.segments if words.KINDS[segment.type] == kind]


def check_of(case: Case) -> Callable[[Case], None]:
    strategy = case["strategy"]
    provider = case["config"].get("provider")
    if strategy in text_words.DIALECTS and case["system"] != "jp":
        return partial(check_in_text, is_part_of=is_part_of)
    if provider in words.APIS and (strategy not in ("converter", "selection") or provider == "llamacpp"):
        return check_provider
    if strategy == "incremental_json":
        return check_field_stream if case["system"] == "autobyteus" else check_fragments
    return {
        "pass_through": check_handler,
        "selection": check_selection,
        "api_tool_call": check_handler,
        "adapter": check_adapter,
        "to_invocation": check_to_invocation,
        "xml_arguments": check_arguments,
        "converter": check_converter,
        "native": check_native,
        "event_builder": check_event_builder,
    }[strategy]


@pytest.mark.parametrize("name", TO_RUN)
def test_what_the_original_gives_is_what_we_give(name: str) -> None:
    check_of(CASES[name])(CASES[name])


@pytest.mark.parametrize("name", words.REFUSED)
def test_a_refused_case_is_really_at_odds_with_us(shared: Path, name: str) -> None:
    with pytest.raises(AssertionError):
        check_of(CASES[name])(CASES[name])


def test_every_case_is_run_or_refused_for_a_reason(shared: Path) -> None:
    assert len(words.REFUSED) <= 12
    assert set(words.REFUSED) <= set(CASES)
    assert all(words.REFUSED.values())
    assert (len(TO_RUN), len(words.REFUSED)) == (275, 12)
    assert len(CASES) == 287
