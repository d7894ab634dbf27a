"""An answer told again in another form: what of it must be the same, whatever the form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct, field

from penstock.events import AnswerEnd, SegmentContent, SegmentEnd
from penstock.events.chunk_response import ChunkResponse, TokenUsage
from penstock.events.tool_invocation import InvocationFailed, ToolInvocation
from penstock.operators.engine.stage import Completed, Failed, How, Operator, compose, stage
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_invocations import to_invocations
from penstock.operators.to_segments import to_segments
from penstock.sources.from_wire import decode_wire

STREAMS = Path(__file__).parents[1] / "streams"
APIS = ("openai-chat", "openai-responses", "anthropic-messages", "gemini", "ollama")
OWN = [
    (api, path)
    for api in APIS
    for path in sorted((STREAMS / api.replace("-", "_")).iterdir())
    if path.suffix in (".sse", ".ndjson")
]
"""Every stream of our own, with its API."""
CHAIN = compose(to_segments(turn_id="t"), stream_fields(), to_invocations(keep_segments=True))


class Heard(NamedTuple):
    """The events of a stream, and how it ended."""

    events: list[Any]
    how: How


class Said(Struct):
    """What an answer says."""

    text: str = ""
    reasoning: str = ""
    natives: list[dict[str, Any]] = field(default_factory=list)
    calls: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """Of each call that may be run its name and arguments."""
    failed: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of each other call its name and raw arguments."""
    whole: set[str] = field(default_factory=set)
    """The ids of the segments that the model finished."""
    usage: TokenUsage | None = None
    end: AnswerEnd | None = None
    error: str | None = None


def heard(items: Iterable[Any], *operators: Operator[Any, Any]) -> Heard:
    """Return what operators make of a stream."""
    chain = stage(compose(*operators, CHAIN) if operators else CHAIN)
    events: list[Any] = []
    try:
        for item in items:
            events += chain.feed(item)
        events += chain.close()
    except Exception as error:  # noqa: BLE001 - part of what is compared
        return Heard([*events, *chain.last_words], Failed(error))
    return Heard(events, Completed())


def heard_body(api: str, body: bytes) -> Heard:
    return heard([body], decode_wire(api, turn_id="t"))


def heard_chunks(chunks: Sequence[ChunkResponse], how: How) -> Heard:
    """Return the events of chunks whose stream ends in a certain way."""
    chain = stage(CHAIN)
    return Heard([*(event for chunk in chunks for event in chain.feed(chunk)), *chain.close(how)], how)


def said(stream: Heard) -> Said:
    """Return what a stream of events says, of all choices together."""
    whole = Said(error=str(stream.how.error) if isinstance(stream.how, Failed) else None)
    for event in stream.events:
        match event:
            case SegmentContent(segment_type="text" | "refusal"):
                whole.text += event.delta
            case SegmentContent(segment_type="reasoning"):
                whole.reasoning += event.delta
            case SegmentEnd(segment_type="reasoning" | "text" | "refusal") if native := event.metadata.get("native"):
                whole.natives.append(native)
            case SegmentEnd(status="complete"):
                whole.whole.add(event.segment_id)
            case ToolInvocation():
                whole.calls[event.id] = (event.name, event.arguments)
            case InvocationFailed():
                whole.failed[event.id] = (event.name, event.raw)
            case AnswerEnd() if whole.end is None or event.choice == 0:
                whole.end, whole.usage = event, event.usage or whole.usage
            case _:
                pass
    return whole


def is_failed(stream: Heard) -> bool:
    """Return whether the stream must end with an error: it broke, or its answer has no end."""
    end = said(stream).end
    if isinstance(stream.how, Failed) or end is None or end.finish_reason == "error":
        return True
    return end.finish_reason in (None, "other") and end.status not in ("complete", "paused")


def has_refusal(stream: Heard) -> bool:
    return any(isinstance(event, SegmentContent) and event.segment_type == "refusal" for event in stream.events)


def same_value(one: Any, other: Any) -> bool:
    """Return whether two JSON values are written the same, NaN and numbers beyond all floats included."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
