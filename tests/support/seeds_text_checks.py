"""The original systems' cases of calls in text, checked: each key of an expectation has its own check."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pytest
import seeds_text_mapping as words
from answered import answered
from seeds_mapping import Case, as_end_flags, as_event, as_invocation, as_updates
from segment_events import payload_of

from penstock.events import SegmentContent
from penstock.events.chunk_response import ChunkResponse
from penstock.events.errors import ProviderError, UsageError
from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import ToolInvocation
from penstock.operators.engine.drive import drive
from penstock.operators.engine.stage import Interrupted, stage
from penstock.operators.parse_text import parse_text
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_invocations import to_invocations


class Seen(NamedTuple):
    """One segment, as far as it was there."""

    type: str
    metadata: dict[str, Any]
    content: str
    ended: bool


class Ran:
    """A case that was fed chunk by chunk: the events of each feed, and of the end."""

    has_updates = True

    def __init__(self, feeds: list[list[Any]], last: list[Any], error: Exception | None, then: list[Any]) -> None:
        self.feeds, self.last, self.error, self.then = feeds, last, error, then
        self.events = [event for feed in (*feeds, last) for event in feed]
        self.segment_events = segments_in(self.events)
        self.invocations = [event for event in self.events if isinstance(event, ToolInvocation)]
        self.text = "".join(self.contents("text"))
        self.raw = "".join(event.raw for event in self.segment_events)
        self.seen = list(self._seen())

    def contents(self, kind: str = "") -> list[str]:
        return [
            event.delta
            for event in self.segment_events
            if isinstance(event, SegmentContent) and kind in ("", event.segment_type)
        ]

    def of(self, kind: str) -> list[SegmentEvent]:
        return [event for event in self.segment_events if event.type == kind]

    @property
    def call_ends(self) -> list[SegmentEvent]:
        return [event for event in self.of("SEGMENT_END") if event.segment_type != "text"]

    def metadata(self, kind: str) -> dict[str, Any]:
        """Return what the START or the END of the one call says."""
        (event,) = (event for event in self.of(kind) if event.segment_type != "text")
        found: dict[str, Any] = getattr(event, "metadata", {})
        return found

    def _seen(self) -> Iterator[Seen]:
        for start in self.of("SEGMENT_START"):
            mine = [event for event in self.segment_events if event.segment_id == start.segment_id]
            metadata: dict[str, Any] = {}
            for event in mine:
                metadata |= getattr(event, "metadata", {})
            content = "".join(getattr(event, "delta", "") for event in mine)
            yield Seen(start.segment_type or "", metadata, content, mine[-1].type == "SEGMENT_END")


def segments_in(events: Iterable[Any]) -> list[SegmentEvent]:
    # A closer that nothing comes after is a text that says nothing, so that nothing is lost; the original drops it.
    segments = [event for event in events if isinstance(event, SegmentEvent)]
    saying = {event.segment_id for event in segments if event.type == "SEGMENT_CONTENT"}
    return [event for event in segments if event.segment_type != "text" or event.segment_id in saying]


_AS_THEY_READ: Final[Mapping[str, Any]] = MappingProxyType({"seal": "closer", "unknown_tool": "pass"})
"""The originals know no tools but their own, take calls of all others too, and end a value at its first closer."""


def operators(case: Case) -> tuple[Any, ...]:
    calls = case["config"].get("parse_tool_calls", True)
    parse = parse_text(*words.dialects(case), turn_id="turn", calls=calls, tools=words.TOOLS, **_AS_THEY_READ)
    fields = stream_fields(words.FIELDS[case["strategy"]], ignore_case=True)
    return parse, fields, to_invocations(keep_segments=True)


def run(case: Case, chunks: Iterable[Any], *, finalize: bool = True) -> Ran:
    config = case["config"]
    given = [words.from_text_chunk(chunk) for chunk in chunks]
    if config.get("close") == "fail":
        events: list[Any] = []
        with pytest.raises(ProviderError) as caught:
            events.extend(drive(_broken(given, config["reason"]), *operators(case)))
        return Ran([], events, caught.value, [])
    chain = stage(*operators(case))
    feeds = [list(chain.feed(chunk)) for chunk in given]
    last: list[Any] = []
    then: list[Any] = []
    if config.get("close") == "interrupt":
        last, then = list(chain.close(Interrupted(config["reason"]))), list(chain.close())
    elif finalize:
        last, then = list(chain.close()), list(chain.close())
    return Ran(feeds, last, None, then)


def _broken(chunks: Iterable[Any], reason: str) -> Iterator[Any]:
    yield from chunks
    raise ProviderError(reason)


def check_in_text(case: Case, is_part_of: Callable[[Any, Any], bool]) -> None:
    """Check a case of text with calls in it."""
    config = case["config"]
    if (profile := case["expected"].get("json_profile")) is not None:
        name, arguments = words.in_profile(profile)
        (call,) = run(case, [words.PROFILES[profile]]).invocations
        assert (call.name, call.arguments) == (name, arguments)
        return
    chunks = [*words.from_text_state(config.get("state", {})), *case["chunks"]]
    ran = run(case, chunks, finalize=config.get("finalize", True))
    ran.has_updates = words.UPDATES.get(case["strategy"], True)
    for key, wanted in case["expected"].items():
        if key in _WITH_CASE:
            _WITH_CASE[key](case, ran, wanted)
        elif key in _SEEN:
            assert is_part_of(wanted, _SEEN[key](ran)), (key, _SEEN[key](ran))
        else:
            _CHECKS[key](ran, wanted)


def check_arguments(case: Case) -> None:
    """Check what the body of an XML call is read as."""
    tools = {"f": case["config"].get("schema")}
    (text,) = case["chunks"]
    chunks = [f'<tool name="f">{text}</tool>']
    (call,) = answered(chunks, parse_text("xml", tools=tools, turn_id="turn"), to_invocations())
    assert isinstance(call, ToolInvocation)
    assert {"arguments": call.arguments} == case["expected"]


def check_bodies(case: Case, is_part_of: Callable[[Any, Any], bool]) -> None:
    """Check what calls become whose bodies are XML: the tag, which the original's adapter does not see, is put back."""
    chunks = words.as_tags(case["chunks"])
    result = drive(chunks, parse_text("xml", turn_id="turn"), to_invocations(keep_segments=True))
    events = list(result)
    calls = [event for event in events if isinstance(event, ToolInvocation)]
    starts = [event.segment_id for event in segments_in(events) if event.type == "SEGMENT_START"]
    assert [call.id for call in calls] == starts
    wanted = [{key: value for key, value in each.items() if key != "id"} for each in case["expected"]["invocations"]]
    assert is_part_of(wanted, [as_invocation(call) for call in calls])


# ---------------------------------------------------------------------- what a segment is like


def _is_like(seen: Seen, wanted: dict[str, Any]) -> bool:
    return all(_SEGMENT_CHECKS[key](seen, value) for key, value in wanted.items())


def _metadata_is(seen: Seen, wanted: dict[str, Any] | None) -> bool:
    return {key: value for key, value in seen.metadata.items() if key != "tool_name"} == (wanted or {})


_SEGMENT_CHECKS: dict[str, Callable[[Seen, Any], bool]] = {
    "type": lambda seen, wanted: seen.type == wanted,
    "ended": lambda seen, wanted: seen.ended is wanted,
    "metadata": lambda seen, wanted: wanted.items() <= seen.metadata.items(),
    "metadata_absent": lambda seen, wanted: not set(wanted) & set(seen.metadata),
    "metadata_exact": _metadata_is,
    "content": lambda seen, wanted: seen.content == wanted,
    "content_contains": lambda seen, wanted: all(each in seen.content for each in wanted),
    "content_not_contains": lambda seen, wanted: not any(each in seen.content for each in wanted),
    "content_occurrences": lambda seen, wanted: all(seen.content.count(each) == n for each, n in wanted.items()),
    "content_trimmed_ends_with": lambda seen, wanted: seen.content.rstrip().endswith(wanted),
}


def _check_segments(ran: Ran, wanted: list[dict[str, Any]]) -> None:
    assert len(wanted) == 1
    assert any(_is_like(seen, wanted[0]) for seen in ran.seen if seen.type == wanted[0]["type"]), ran.seen


def _check_included(ran: Ran, wanted: list[dict[str, Any]]) -> None:
    for each in wanted:
        like = {key: value for key, value in each.items() if key not in ("count", "min_count")}
        found = sum(_is_like(seen, like) for seen in ran.seen)
        assert found == each["count"] if "count" in each else found >= each.get("min_count", 1), ran.seen


# ---------------------------------------------------------------------- what calls are like


def _check_invocations(ran: Ran, wanted: list[dict[str, Any]]) -> None:
    assert len(ran.invocations) == len(wanted), ran.events
    for call, each in zip(ran.invocations, wanted, strict=True):
        told = as_invocation(call)
        for key, value in each.items():
            match key:
                case "arguments_contains":
                    assert value.items() <= call.arguments.items(), call
                case "argument_contains":
                    for name, parts in value.items():
                        assert all(part in call.arguments[name] for part in parts), call
                case "arguments_raw":
                    assert json.loads(value) == call.arguments  # the original writes them anew
                case _:
                    assert told[key] == value, (key, told)


def _check_ids(ran: Ran, wanted: bool) -> None:
    starts = [event.segment_id for event in ran.of("SEGMENT_START") if event.segment_type != "text"]
    assert ([call.id for call in ran.invocations] == starts) is wanted


# ---------------------------------------------------------------------- what comes when


def _check_feeds(ran: Ran, wanted: list[dict[str, Any]]) -> None:
    for each in wanted:
        events = segments_in(ran.feeds[each["chunk"]])
        told = [as_event(event) for event in events]
        starts = [event for event in told if event["event_type"] == "SEGMENT_START"]
        checks: dict[str, Any] = {
            "chunk": lambda _: True,
            "events": lambda value, told=told: _are_like(value, told) and len(value) == len(told),
            "first_event": lambda value, told=told: _are_like([value], told[:1]),
            "start_events": lambda value, starts=starts: len(starts) == value,
            "start": lambda value, starts=starts: _are_like([value], starts),
            "content_contains": lambda value, told=told: all(
                part in "".join(event.get("delta", "") for event in told) for part in value
            ),
        }
        for key, value in each.items():
            assert checks[key](value), (key, told)


def _are_like(wanted: list[dict[str, Any]], told: list[dict[str, Any]]) -> bool:
    return len(told) >= len(wanted) and all(
        value.items() <= event[key].items() if isinstance(value, dict) else event.get(key) == value
        for each, event in zip(wanted, told, strict=False)
        for key, value in each.items()
    )


def _check_events(ran: Ran, wanted: list[dict[str, Any]]) -> None:
    told = [as_event(event) for event in ran.segment_events]
    assert told[: len(wanted)] == wanted if wanted else not told, told


def _check_end_of_call(ran: Ran, wanted: dict[str, Any]) -> None:
    (end,) = (event for event in ran.call_ends if event in ran.last)
    _check_flags(ran, end, wanted)


def _check_last(ran: Ran, wanted: list[dict[str, Any]]) -> None:
    ends = [event for event in ran.segment_events if event.type == "SEGMENT_END" and event in ran.last]
    assert len(ends) == len(wanted)
    for end, each in zip(ends, wanted, strict=True):
        assert each["event_type"] == end.type
        _check_flags(ran, end, each["payload_contains"])
        assert not set(each.get("payload_absent", ())) & set(as_end_flags(payload_of(end)))


def _check_flags(ran: Ran, end: SegmentEvent, wanted: dict[str, Any]) -> None:
    flags = as_end_flags(payload_of(end))
    for key, value in wanted.items():
        if key == "error":
            assert isinstance(ran.error, ProviderError)
            assert ran.error.detail == value  # the error comes once, as the stream's own
        else:
            assert flags.get(key, payload_of(end).get(key)) == value, end


def _check_error(case: Case, _ran: Ran, wanted: dict[str, Any]) -> None:
    chain = stage(*operators(case))
    chain.close()
    on: dict[str, Any] = {
        "feed_after_finalize": partial(chain.feed, ChunkResponse(content="x")),
        "second_finalize": chain.close,
    }
    assert _raises(on[wanted["on"]])


def _raises(step: Callable[[], object]) -> bool:
    try:
        step()
    except UsageError:
        return True
    return False


def _check_signature(case: Case, _ran: Ran, wanted: str) -> None:
    """Check what a beginning of JSON is taken for: nothing yet, or by what it is when it goes on as a call would."""
    (begun,) = case["chunks"]
    if wanted == "partial":
        assert not run(case, [begun], finalize=False).events
    else:
        whole = f"{begun}: {words.REST.get(begun, words.A_CALL)}"
        calls = run(case, [whole]).invocations
        assert (len(calls) == 1) == (wanted == "match"), calls


def _check_recognised(case: Case, _ran: Ran, wanted: str) -> None:
    kinds = {seen.type for seen in run(case, case["chunks"]).seen}
    assert words.RECOGNISED[wanted] in kinds
    assert wanted != "text" or kinds == {"text"}


# ---------------------------------------------------------------------- updates


def _updates(ran: Ran) -> list[dict[str, Any]]:
    if not ran.has_updates:
        return []
    names: dict[str, str] = {}
    return [update for feed in (*ran.feeds, ran.last) for update in as_updates(segments_in(feed), names)]


def _deltas(ran: Ran) -> list[str]:
    return [update["arguments_delta"] for update in _updates(ran)]


def _check_updates(ran: Ran, wanted: list[dict[str, Any]] | None) -> None:
    told = [{key: value for key, value in update.items() if key != "tool_call_id"} for update in _updates(ran)]
    # A start without arguments is an update of its own there; ours waits for the opening of the arguments.
    expected = [update for update in wanted or () if update["arguments_delta"] or update["is_complete"]]
    assert told == expected


def _check_finish(case: Case, ran: Ran, wanted: str) -> None:
    chunks = (*words.from_text_state(case["config"].get("state", {})), *case["chunks"])
    said = [chunk["finish_reason"] for chunk in chunks if isinstance(chunk, dict) and chunk.get("finish_reason")]
    # An answer with a call has another finish reason there, whatever the wire said.
    assert ("tool_calls" if ran.invocations else (said or ["stop"])[-1]) == wanted


def _holds(check: Callable[[Ran, Any], bool]) -> Callable[[Ran, Any], None]:
    def checked(ran: Ran, wanted: Any) -> None:
        assert check(ran, wanted), (wanted, ran.events)

    return checked


_WITH_CASE: dict[str, Callable[[Case, Ran, Any], None]] = {
    "error": _check_error,
    "signature": _check_signature,
    "recognised_as": _check_recognised,
    "finish_reason": _check_finish,
}
_SEEN: dict[str, Callable[[Ran], Any]] = {
    "text": lambda ran: ran.text,
    "reasoning": lambda ran: "".join(ran.contents("reasoning")),
    "text_deltas": lambda ran: ran.contents("text"),
    "invocation_count": lambda ran: len(ran.invocations),
    "has_tool_call_update": lambda ran: bool(_updates(ran)),
    "streaming_update_deltas": _deltas,
    "joined_deltas_json": lambda ran: json.loads("".join(_deltas(ran))),
    # A start without arguments is an update of its own there.
    "streaming_update_count": lambda ran: len(_updates(ran)) + len(ran.invocations),
    "first_start_type": lambda ran: ran.seen[0].type,
    "second_finalize_events": lambda ran: ran.then,
    "text_defined": lambda ran: ran.text is not None,
}
_CHECKS: dict[str, Callable[[Ran, Any], None]] = {
    "segments": _check_segments,
    "segments_include": _check_included,
    "first_segment": _holds(lambda ran, wanted: _is_like(ran.seen[0], wanted)),
    "segment_types_absent": _holds(lambda ran, wanted: not set(wanted) & {seen.type for seen in ran.seen}),
    "all_content_contains": _holds(lambda ran, wanted: all(each in "".join(ran.contents()) for each in wanted)),
    "all_content_not_contains": _holds(lambda ran, wanted: not any(each in "".join(ran.contents()) for each in wanted)),
    "has_content_delta": _holds(lambda ran, wanted: wanted in "".join(ran.contents("text"))),
    "text_contains": _holds(lambda ran, wanted: all(each in ran.text for each in wanted)),
    "counts": _holds(lambda ran, wanted: all(_count(ran, kind) == n for kind, n in wanted.items())),
    "counts_min": _holds(lambda ran, wanted: all(_count(ran, kind) >= n for kind, n in wanted.items())),
    "start_metadata_contains": _holds(lambda ran, wanted: wanted.items() <= ran.metadata("SEGMENT_START").items()),
    "start_metadata_absent": _holds(lambda ran, wanted: not set(wanted) & set(ran.metadata("SEGMENT_START"))),
    "end_metadata_contains": _holds(lambda ran, wanted: wanted.items() <= ran.metadata("SEGMENT_END").items()),
    "end_metadata_absent": _holds(lambda ran, wanted: not set(wanted) & set(ran.metadata("SEGMENT_END"))),
    "raw_text": _holds(lambda ran, wanted: wanted in (ran.raw, ran.text)),
    "joined_deltas_contains": _holds(lambda ran, wanted: wanted in "".join(_deltas(ran))),
    "min_streaming_updates": _holds(lambda ran, wanted: len(_updates(ran)) >= wanted),
    "streaming_updates": _check_updates,
    "invocations": _check_invocations,
    "invocation_names_include": _holds(lambda ran, wanted: set(wanted) <= {call.name for call in ran.invocations}),
    "invocation_id_is_segment_id": _check_ids,
    "unique_invocation_ids": _holds(lambda ran, _: len({call.id for call in ran.invocations}) == len(ran.invocations)),
    "feed_expect": _check_feeds,
    "events": _check_events,
    "close_end_payload_contains": _check_end_of_call,
    "close_events": _check_last,
}


def _count(ran: Ran, kind: str) -> int:
    """Return how many events of a kind the calls have, or all if there is no call."""
    events = [event for event in ran.of(kind) if event.segment_type != "text"]
    return len(events or ran.of(kind))
