"""What every list of ChunkResponses has to keep, whatever the provider did: asserted here, used by all source tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from penstock.events import ChunkResponse, ProviderEvent, to_dict


@dataclass
class Call:
    """One call, put together by someone who trusts the grammar and nothing else."""

    index: int
    call_id: str
    name: str
    arguments: str
    kind: str
    choice: int
    native: dict[str, Any] = field(default_factory=dict)
    done: bool = False


@dataclass
class Answer:
    """Everything that a list of chunks says."""

    content: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: list[Call] = field(default_factory=list)
    finish: dict[int, str] = field(default_factory=dict)
    finish_raw: list[str] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    usage: dict[str, int] | None = None
    raw: list[dict[str, Any]] = field(default_factory=list)
    messages: dict[int, Any] = field(default_factory=dict)
    events: list[ProviderEvent] = field(default_factory=list)


def checked(chunks: list[ChunkResponse]) -> Answer:
    """Assert the grammar of every source, and give what the chunks say."""
    answer = Answer()
    by_place: dict[tuple[int, int], Call] = {}
    for chunk in chunks:
        plain = msgspec.json.encode(to_dict(chunk))  # raises where half a character came out
        assert plain
        empty = ChunkResponse(response_id=chunk.response_id, model=chunk.model, choice=chunk.choice)
        assert chunk != empty, "a chunk that says nothing"
        if chunk.message is not None:
            assert chunk == msgspec.structs.replace(empty, message=chunk.message, api=chunk.api), "beside the message"
            assert chunk.api
            assert chunk.choice not in answer.messages, "two messages of one choice"
            answer.messages[chunk.choice] = chunk.message
            continue
        assert not answer.messages, "something after the message"
        assert chunk.is_complete == (chunk.finish_reason is not None) == (chunk.finish_reason_raw is not None)
        answer.content += chunk.content
        answer.reasoning += chunk.reasoning
        answer.refusal += chunk.refusal
        answer.raw += chunk.raw
        answer.events += chunk.provider_events
        assert all(event.api for event in chunk.provider_events), "data without the name of its API"
        assert chunk.api or not chunk.raw, "data without the name of its API"
        if chunk.error:
            assert chunk.error["detail"]
            answer.errors.append(chunk.error)
        if chunk.usage:
            usage = chunk.usage
            answer.usage = {name: getattr(usage, name) for name in usage.__struct_fields__}
            assert usage.cached <= usage.prompt
            assert usage.total >= usage.prompt + usage.completion
        if chunk.finish_reason:
            assert chunk.choice not in answer.finish, "two finishes of one choice"
            answer.finish[chunk.choice] = chunk.finish_reason
            answer.finish_raw.append(chunk.finish_reason_raw or "")
        for delta in chunk.tool_calls:
            _take(answer, by_place, chunk.choice, delta)
    return answer


def _take(answer: Answer, by_place: dict[tuple[int, int], Call], choice: int, delta: Any) -> None:
    place = (choice, delta.index)
    call = by_place.get(place)
    if call is None:
        begun = sum(1 for known, _ in by_place if known == choice)
        assert delta.index == begun, f"index {delta.index} after {begun} calls"
        assert (delta.name and delta.call_id) or (delta.name is None and not delta.done), "neither named nor given up"
        call = Call(delta.index, delta.call_id or "", delta.name or "", "", delta.kind, choice)
        by_place[place] = call
        answer.calls.append(call)
    else:
        assert delta.name not in (call.name, ""), "a name again"
        call.name += delta.name or ""
        assert delta.call_id is None, "an id again"
        assert delta.kind == call.kind
        assert not call.done or delta.contradiction or delta.arguments_delta, "something after done"
        assert any((delta.arguments_delta, delta.done, delta.native, delta.status, delta.name)), (
            "a delta that says nothing"
        )
    call.arguments += delta.arguments_delta
    call.native.update(delta.native or {})
    call.done = call.done or delta.done
