"""`to_pydantic_ai`: the parts that its events make are what the answer says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from law_oracles import loaded
from looped import looped
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from retold import OWN, Heard, heard, heard_body, heard_chunks, said, same_value
from strategies.answers import answers

from penstock.events import ChunkResponse, ProviderError, ToolCallDelta, UsageError
from penstock.operators.engine.stage import Completed, Failed
from penstock.sinks import to_pydantic_ai


def raising(stream: Heard) -> Iterator[Any]:
    yield from stream.events
    if isinstance(stream.how, Failed):
        raise stream.how.error


def assembled(stream: Heard) -> list[Any]:
    """Return the parts, as deltas applied by pydantic-ai make them; each END has the same."""
    parts: list[Any] = []
    ended: dict[int, Any] = {}
    events = to_pydantic_ai(raising(stream))
    try:
        for event in events:
            match event:
                case PartStartEvent():
                    assert event.index == len(parts)
                    parts.append(event.part)
                case PartDeltaEvent():
                    assert event.index not in ended
                    parts[event.index] = event.delta.apply(parts[event.index])
                case PartEndEvent():
                    ended[event.index] = event.part
    except ProviderError:
        assert isinstance(stream.how, Failed)
    assert [ended[number] for number in range(len(parts))] == parts
    return parts


def assert_same(stream: Heard) -> None:
    whole, parts = said(stream), assembled(stream)
    assert "".join(part.content for part in parts if isinstance(part, TextPart)) == whole.text
    assert "".join(part.content for part in parts if isinstance(part, ThinkingPart)) == whole.reasoning
    signatures = [part.signature for part in parts if isinstance(part, ThinkingPart) and part.signature]
    theirs = [
        each.get("signature") or each.get("data") for each in whole.natives if "thinking" in str(each.get("type"))
    ]
    assert signatures == theirs
    calls: dict[str, Any] = {part.tool_call_id: part for part in parts if isinstance(part, ToolCallPart)}
    for call_id, (name, arguments) in whole.calls.items():
        assert calls[call_id].tool_name == name
        assert same_value(loaded(calls[call_id].args or "{}") or {}, arguments)
    for call_id in whole.failed:
        with pytest.raises(ValueError, match=r"EOF|expected|invalid"):
            calls[call_id].args_as_dict(raise_if_invalid=True)
    assert len(ModelMessagesTypeAdapter.validate_python([ModelResponse(parts=parts)])[0].parts) == len(parts)


@looped("api, path", OWN, ids=lambda each: getattr(each, "stem", each))
def test_every_own_stream_is_what_its_parts_say(api: str, path: Path):
    assert_same(heard_body(api, path.read_bytes()))


@given(answers())
def test_any_answer_is_what_its_parts_say(chunks: list[ChunkResponse]):
    assert_same(heard_chunks([chunk for chunk in chunks if chunk.choice == 0], Completed()))


@pytest.mark.parametrize("native", [{"type": "thinking", "signature": "x"}, {"type": "redacted_thinking", "data": "y"}])
def test_what_is_signed_inside_a_text_is_a_part_behind_it(native: dict[str, Any]):
    chunks = [ChunkResponse("a"), ChunkResponse(native=native), ChunkResponse("b")]
    assert_same(heard_chunks(chunks, Completed()))
    assert [type(part) for part in assembled(heard_chunks(chunks, Completed()))] == [TextPart, ThinkingPart]


def test_a_call_that_was_cut_does_not_validate():
    [part] = assembled(heard([ChunkResponse(tool_calls=(ToolCallDelta(0, "a", "f", '{"x": "cu'),))]))
    with pytest.raises(ValueError, match="EOF"):
        part.args_as_dict(raise_if_invalid=True)


def test_without_pydantic_ai_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    monkeypatch.setitem(sys.modules, "pydantic_ai.messages", None)
    with pytest.raises(UsageError, match=r'pip install "\.\[pydantic-ai\]"'):
        to_pydantic_ai([])
