"""What the original systems call things and what they are called here.

Small pure functions turn a case's chunks into our inputs and our outputs into the case's words. `REFUSED` are the
cases whose expectation our laws forbid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from segment_events import payload_of

from penstock.events import (
    ChunkResponse,
    Notice,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    from_json,
)

Case: TypeAlias = dict[str, Any]

REFUSED: dict[str, str] = {
    # {"index": 2, "tool_start": …}, {"index": 2, "flush": true} -> nothing yet; the call is invoked at a regular finish.
    # Anthropic stops the block of a call that was cut, too: `f {}` would be run for a call whose arguments never came.
    "jp/event_builder/handles tool call with no arguments": (
        "Law 6: the end of a block is no evidence that the model finished a call of which no argument came."
    ),
    "autobyteus/api_tool_call/finalizeFailed closes active text and tool-call segments without creating invocations": (
        "Law 5, one END for each START: a text ends, as complete, when a call begins; what fails later is not the text."
    ),
    "jp/event_builder/ignores mismatched event type": (
        "Law 3, nothing lost: text that follows reasoning is a segment of its own."
    ),
    "jp/event_builder/first write wins for id and name": (
        "The grammar that every source keeps, 1: a new id and a name under a used index is a new call."
    ),
    "jp/converter/second reasoning summary part emits paragraph break": (
        "Law 4, nothing invented: a break separates texts, so it comes with the text behind it, if there is any."
    ),
    **dict.fromkeys(
        ("autobyteus/selection/defaults to xml when env is unset", "autobyteus/selection/openai defaults to json"),
        "Zero configuration works: calls are native unless a strategy is named; no default depends on whom is asked.",
    ),
    # close(); close() -> the second gives [], and raises nothing.
    "autobyteus/xml/cannot finalize twice": "The engine's rule for stages: a second `close` gives nothing; another case asks for that as well.",
    # timeout_seconds = "abc" -> {"timeout_seconds": "abc"}: the tool's model says `invalid`, and the reader why.
    "autobyteus/xml/ignores invalid metadata values from arguments": (
        "Law 3, nothing lost: what does not convert stays a text, and the tool's model judges it."
    ),
    # <tool_call>{…"parameters": {…}} and the end -> start, deltas, and one completion; the original never completes it.
    "tarko/prompt_engineering/recorded loop-2 #2": "Law 5: every START gets one END, also where the end tag was cut.",
    # {"name": "getWeather", "arguments": ""} -> nothing yet: `search`, then `_files`, would run the tool `search`.
    "tarko/native/recorded loop-2 #2": (
        "The grammar that every source keeps, 2: of no declared tool, a name may go on until anything else of the call comes."
    ),
    # {"content": "Hello", "toolCall": {"name": "test" -> text; with }} added it would be a call that nobody wrote.
    "tarko/structured_outputs/malformed JSON does not crash; repaired call yields tool_calls": (
        "Law 6: missing brackets are never added; a cut call is not invoked."
    ),
}
"""Case -> the law or rule that forbids what it expects."""

PARSING = "parsing"
"""What AutoByteus calls the handler that finds calls in text, whichever its parser is."""

IN_TEXT = {
    "json": '{"tool": {"function": "test_tool", "parameters": {}}}',
    "sentinel": '[[SEG_START {"type": "tool", "tool_name": "test_tool"}]][[SEG_END]]',
}
"""A call of the cases' tool, by the parser that finds it."""

APIS = {
    **dict.fromkeys(("llamacpp", "cerebras", "openrouter"), "openai-chat"),
    **dict.fromkeys(("openai", "openai_responses"), "openai-responses"),
    "anthropic": "anthropic-messages",
    **dict.fromkeys(("google", "gemini"), "gemini"),
    "ollama": "ollama",
}
"""A case's provider -> the format of its stream."""

FINISH_REASONS = {"length": "max_tokens"}
"""Ours -> what jp calls it, where the words differ."""

DEFAULT_FINISH = "stop"
"""What Tarko gives where the wire gave no finish reason."""

NATIVE_CONTEXT = "native_tool_call_context"
"""AutoByteus' word for `native`; on its deltas `native_context`."""

STRUCTURED = "structured"
"""The name under which jp's structured output is a call: JSON, decoded when it has ended, as arguments are."""

KINDS = {"text": "message", "refusal": "message", "reasoning": "reasoning", "tool_call": "tool_call"}
"""Our segment type -> what jp calls it."""


UNKNOWN = {"Unknown parser strategy": "unknown strategy"}
"""What AutoByteus says of an error, and what we say."""

DIAGNOSTICS = {"text_call": "api_tool_call_text_leak"}
"""Our code of a notice -> AutoByteus' code of a diagnostic."""

REPLAYED = {
    "anthropic_thinking_signature": {"signature"},
    "google_thought_signature": {"thoughtSignature"},
    "openai_encrypted_content": {"encrypted_content", "data"},
    "openai_item_id": {"id"},
    "openrouter_metadata": {"reasoning_details"},
}
"""jp's metadata -> the key of our `native`; by OpenRouter OpenAI's is inside its own."""

NOT_REPLAYED = {("message", "openai_item_id")}
"""What jp keeps and we do not: what a replay needs is kept of calls and of reasoning, a text is its text."""

MADE_ID = re.compile(r"run_me_\d+")
"""The ids that jp makes, of the name and the number of the part."""


def case_ids(cases: Iterable[Case]) -> Iterator[tuple[str, Case]]:
    """Yield each case with its name, which is made unique."""
    seen: dict[str, int] = {}
    for case in cases:
        name = f"{case['system']}/{case['strategy']}/{case['name']}"
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name} #{seen[name]}"), case


# inputs


def from_handler_chunk(chunk: str | dict[str, Any]) -> ChunkResponse:
    """Read AutoByteus' ChunkResponse, or the text that a pass-through handler is fed."""
    if isinstance(chunk, str):
        return ChunkResponse(content=chunk)
    deltas = (
        ToolCallDelta(
            each["index"],
            each.get("call_id"),
            each.get("name"),
            each.get("arguments_delta") or "",
            native=each.get("native_context"),
        )
        for each in chunk.get("tool_calls", ())
    )
    return ChunkResponse(content=chunk.get("content", ""), tool_calls=tuple(deltas))


def from_segment(event: dict[str, Any]) -> SegmentEvent:
    """Read AutoByteus' SegmentEvent, which has our names and no status."""
    read = from_json(json.dumps(event))
    assert isinstance(read, SegmentEvent)
    return read


def segment_as_events(segment: dict[str, Any]) -> list[SegmentEvent]:
    """Write out a whole segment, as AutoByteus' syntax registry is given it."""
    kind, content = segment["type"], segment["content"]
    return [
        SegmentStart("s", kind, segment["metadata"]),
        *([SegmentContent("s", kind, content)] if content else []),
        SegmentEnd("s", kind, None),
    ]


def as_wire(chunks: Iterable[dict[str, Any] | str], api: str = "openai-chat") -> list[bytes]:
    """Write a provider's chunks as the bytes that they were."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in chunks]
    if api == "ollama":
        return [f"{line}\n".encode() for line in lines]
    if api == "anthropic-messages":
        return [f"event: {json.loads(line)['type']}\ndata: {line}\n\n".encode() for line in lines]
    return [f"data: {line}\n\n".encode() for line in lines]


def from_delta(delta: dict[str, Any]) -> dict[str, Any]:
    """Put Tarko's delta, which has the finish reason inside, into a chat chunk."""
    inside = {key: value for key, value in delta.items() if key != "finish_reason"}
    return {"choices": [{"index": 0, "delta": inside, "finish_reason": delta.get("finish_reason")}]}


def from_state(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the deltas that lead to the state in which Tarko's test begins."""
    calls = [
        {"index": index, "id": each["id"], "function": {"name": each["name"], "arguments": each["arguments"]}}
        for index, each in enumerate(state.get("tool_calls", ()))
    ]
    told = {"reasoning_content": state.get("reasoning"), "content": state.get("content"), "tool_calls": calls}
    return [{**told, "finish_reason": state.get("finish_reason")}]


def from_converters(config: dict[str, Any], chunks: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return what a converter is fed as events of the wire, and before it the events that lead to where it begins.

    The original's converters are functions of one event, a part of it or an item; ours begin at the beginning.
    """
    match config["provider"]:
        case "anthropic":
            return [_block(0, "earlier")] + [_block(1, "tool")] * (chunks[0]["type"] == "content_block_delta"), chunks
        case "gemini":
            before = [{"functionCall": {"id": "earlier", "name": "f", "args": {}}}] * config.get("start_index", 0)
            return [_candidate(before)] if before else [], [_candidate(chunks)]
        case "ollama":
            return [], [{"message": {"tool_calls": chunks}, "done": False}]
        case "openai_responses" if "chunk_format" in config:
            place = {"output_index": config["output_index"]}
            return [], [{"type": "response.output_item.done", **place, "item": item} for item in chunks]
        case _:
            places = [chunk["output_index"] for chunk in chunks if "arguments.delta" in chunk["type"]]
            call = {"type": "function_call", "call_id": "call", "name": "f"}
            return [
                {"type": "response.output_item.added", "output_index": each, "item": call} for each in places
            ], chunks


def _block(index: int, name: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": name, "name": name}
    return {"type": "content_block_start", "index": index, "content_block": block}


def _candidate(parts: list[Any]) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": parts}}]}


def from_part(part: dict[str, Any]) -> ChunkResponse:
    """Read jp's part of an event: its index, which orders all parts, serves as index of a call too."""
    index = part["index"]
    match part:
        case {"message": text}:
            return ChunkResponse(content=text)
        case {"reasoning": text}:
            return ChunkResponse(reasoning=text)
        case {"tool_start": {"id": call_id, "name": name}}:
            delta = ToolCallDelta(index, call_id, name)
        case {"arguments_chunk": text}:
            delta = ToolCallDelta(index, arguments_delta=text)
        case {"structured": text}:
            delta = ToolCallDelta(index, None, STRUCTURED, text, native=part.get("metadata"))
        case {"flush": True}:
            delta = ToolCallDelta(index, done=True, native=part.get("metadata"))
        case _:
            message = f"no part that is known: {part}"
            raise ValueError(message)
    return ChunkResponse(tool_calls=(delta,))


# outputs


def as_diagnostic(notice: Notice) -> dict[str, str]:
    """Return a warning of a call in text as AutoByteus' diagnostic, whose message and snippet are apart."""
    message, _, snippet = notice.detail.partition(" The text: ")
    return {"code": DIAGNOSTICS[notice.code], "message": message, "snippet": snippet}


def as_event(event: SegmentEvent) -> dict[str, Any]:
    """Return an event as AutoByteus' tests look at it."""
    told = {"event_type": event.type, **payload_of(event)}
    return {**told, "segment_type": event.segment_type} if event.type == "SEGMENT_START" else told


def as_invocation(invocation: ToolInvocation) -> dict[str, Any]:
    return {
        "id": invocation.id,
        "name": invocation.name,
        "arguments": invocation.arguments,
        "arguments_raw": invocation.raw,
        NATIVE_CONTEXT: invocation.native,
    }


def as_delta(provider: str, delta: ToolCallDelta) -> dict[str, Any]:
    """Return our delta in AutoByteus' words, which have the provider's whole block where ours have what it adds."""
    native = delta.native or {}
    told = {
        "index": delta.index,
        "call_id": delta.call_id,
        "name": delta.name,
        "arguments_delta": delta.arguments_delta,
    }
    own = {"id": delta.call_id, "name": delta.name}
    match provider:
        case "anthropic":
            context: dict[str, Any] = {"toolUseBlock": {**native, **own}}
        case "gemini":
            call = {**own, "args": json.loads(delta.arguments_delta)} if delta.arguments_delta else own
            context = {"functionCallPart": {**native, "functionCall": call}}
        case _:
            context = {}
    return {**told, "native_context": {"provider": provider, **context}}


def as_end_flags(payload: dict[str, Any]) -> dict[str, Any]:
    """Return how a segment ended in AutoByteus' flags."""
    return {payload["status"]: True} if payload["status"] in ("failed", "interrupted") else {}


def as_updates(events: Iterable[SegmentEvent], names: dict[str, str]) -> list[dict[str, Any]]:
    """Return what one chunk said of calls as Tarko's updates: a start and its first arguments are one.

    `names` has the tool of each call that has begun, and is kept up to date.
    """
    updates: list[dict[str, Any]] = []
    for event in events:
        if event.segment_type != "tool_call":
            continue
        call, delta = event.segment_id, getattr(event, "delta", "")
        if isinstance(event, SegmentStart):
            names[call] = event.metadata["tool_name"]
        elif event.type == "SEGMENT_CONTENT" and updates and updates[-1]["tool_call_id"] == call:
            updates[-1]["arguments_delta"] += delta
            continue
        update = {"tool_call_id": call, "tool_name": names[call], "arguments_delta": delta}
        updates.append({**update, "is_complete": event.type == "SEGMENT_END"})
    return updates


def as_parts(chunks: Iterable[ChunkResponse]) -> list[tuple[str, Any]]:
    """Return chunks as jp's normalized parts, adjacent text joined: where it is cut is no part of the meaning."""
    parts: list[tuple[str, Any]] = []
    for chunk in chunks:
        texts = (("reasoning", chunk.reasoning), ("message", chunk.content), ("message", chunk.refusal))
        parts += [(kind, text) for kind, text in texts if text]
        for delta in chunk.tool_calls:
            if delta.name:
                parts.append(("tool_start", {"id": delta.call_id, "name": delta.name}))
            if delta.arguments_delta:
                parts.append(("arguments_chunk", delta.arguments_delta))
    return joined(parts)


def expected_parts(normalized: Iterable[dict[str, Any]]) -> list[tuple[str, Any]]:
    """Return jp's normalized parts in the same form; a flush is told by our ENDs, `finished` by our finish reason."""
    known = ("reasoning", "message", "tool_start", "arguments_chunk", "structured")
    parts = [
        ("message" if kind == "structured" else kind, part[kind])
        for part in normalized
        for kind in known
        if kind in part
    ]
    return joined([part for part in parts if part[1]])


def with_our_ids(case: Case) -> Any:
    """Return what a case expects, with our ids for those that the original makes: made ones, or those of the wire."""
    wire, expected = json.dumps(case["chunks"]), json.dumps(case["expected"])
    made = list(dict.fromkeys(MADE_ID.findall(expected)))
    if '"functionCall"' in wire:
        ours = [f"turn:call_{number}" for number in range(len(made))]
    elif case["config"]["provider"] == "ollama":
        calls = (call for chunk in case["chunks"] for call in chunk["message"].get("tool_calls", ()))
        ours = [call["id"] for call in calls if "id" in call]
    else:
        return case["expected"]
    for before, after in zip(made, ours, strict=False):
        expected = expected.replace(f'"{before}"', f'"{after}"')
    return json.loads(expected)


def kept(wanted: Iterable[dict[str, Any]]) -> Iterator[tuple[str, set[str]]]:
    """Yield of jp's normalized parts what is kept for a replay: of which kind, under one of which keys of ours."""
    parts = list(wanted)
    told = {"structured": "message", "tool_start": "tool_call", "arguments_chunk": "tool_call"}
    kinds = {
        part["index"]: told.get(kind, kind)
        for part in parts
        for kind in ("reasoning", "message", *told)
        if kind in part
    }
    for part in parts:
        for key in part.get("metadata_keys", ()):
            if ((kind := kinds[part["index"]]), key) not in NOT_REPLAYED:
                yield kind, REPLAYED[key]


def keys_in(value: Any) -> Iterator[str]:
    """Yield the keys of a plain value, at any depth."""
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_in(each)


def structured(text: str) -> Any:
    """Read a structured answer as jp does: what is no JSON is itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def joined(parts: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    given: list[tuple[str, Any]] = []
    for kind, said in parts:
        if given and given[-1][0] == kind and isinstance(said, str):
            given[-1] = (kind, given[-1][1] + said)
        else:
            given.append((kind, said))
    return given
