"""Nothing that is redacted is in any output of any provider's stream, whatever else the provider says it in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from every_sdk import SDKS, STREAMS
from further_sdks import FURTHER
from looped import looped

from penstock.events import ChunkResponse, ProviderError, ProviderEvent, ToolCallDelta, UsageError, to_json
from penstock.events.tool_invocation import InvocationFailed, ToolInvocation, ToolResult
from penstock.operators import Detector, drive, redact, stream_fields, to_invocations, to_segments
from penstock.pipeline import Answer
from penstock.sinks import collect
from penstock.sources import decode_wire

FOLDERS = {**{sdk.folder: sdk.api for sdk in SDKS}, **FURTHER}
OWN = [
    (f"{folder}-{path.stem}", api, path.read_bytes())
    for folder, api in FOLDERS.items()
    for path in sorted((STREAMS / folder).iterdir())
    if path.suffix != ".json"
]
NAMES = ("openai-chat", "openai-responses", "anthropic", "gemini", "mistral", "ollama")
_WORD = re.compile(r"[^\W_]{4,}")
_NAMING = frozenset(("type", "role", "name", "id", "status", "object", "model", "call_id", "tool_call_id", "format"))
"""Keys whose values are the provider's own words."""


def outputs(api: str, body: bytes, *operators: Any) -> list[Any]:
    events: list[Any] = []
    with suppress(ProviderError, UsageError):
        decoded = decode_wire(api, turn_id="t", choices="all", keep_message=True, logprobs=True)
        for event in drive([body], decoded, to_segments(turn_id="t", end_arguments=True), *operators):
            events.append(event)  # noqa: PERF402 - what came before the error counts
    return events


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from (str(key), *texts_in(each))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each)


def naming(value: Any) -> Iterator[str]:
    """Return the keys of plain data, and what the provider calls things."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from (each,) if key in _NAMING and isinstance(each, str) else naming(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from naming(each)


@cache
def _vocabulary() -> str:
    """Return what is shown of an answer whatever the model says: the words of events and messages."""
    calls = (
        ToolCallDelta(0, "c", "f", '{"a": 1}'),
        ToolCallDelta(1, "d", "f", '{"a": tr'),
        ToolCallDelta(2, "", None, "{"),
    )
    chunks = [
        ChunkResponse(reasoning="1", native={"signature": "2"}, content="3", refusal="4"),
        ChunkResponse(tool_calls=calls, image_urls=("data:image/png;base64,",), error={"detail": "5"}, raw=({},)),
        ChunkResponse(provider_events=(ProviderEvent("tool_result", {}), ProviderEvent("citation", {}))),
        ChunkResponse(finish_reason="tool_calls", finish_reason_raw="6", response_id="7", model="8"),
    ]
    operators = to_segments(turn_id="t"), stream_fields(), to_invocations(keep_segments=True)
    return " ".join(
        (*shown([*drive(chunks, *operators)]), "true false null thinking thoughtSignature redactedContent data")
    )


def words_of(events: list[Any]) -> list[str]:
    """Return what a model says and writes into arguments, but for words that also name something."""
    said: list[str] = []
    named: list[str] = [_vocabulary()]
    for segment in collect(events).segments:
        named += segment.id, segment.type, *naming(segment.metadata)
        if segment.type != "tool_call":
            said.append(segment.content)
    for event in events:
        if isinstance(event, ToolInvocation):
            said += texts_in(event.arguments)
            named += event.name, *naming(event.native)
        elif isinstance(event, InvocationFailed):
            said.append(event.raw)
            named += event.name, event.reason
        else:
            named += naming(getattr(event, "data", None)), *naming(getattr(event, "message", None))  # type: ignore[arg-type]
            named += (
                str(getattr(event, each, ""))
                for each in ("kind", "api", "model", "response_id", "status", "finish_reason_raw")
            )
    known = " ".join(map(str, named)).lower()
    words = dict.fromkeys(word for text in said for word in _WORD.findall(text))
    return [word for word in words if word.lower() not in known][:12]


def shown(events: list[Any]) -> Iterator[str]:
    """Return all that can be seen of events, and of what is made of them."""
    for event in events:
        yield repr(event)
        yield to_json(event, with_source=True).decode()
    answer = Answer(events)
    yield answer.text
    yield repr(collect(events))
    for name in NAMES:
        results = [ToolResult(each.id, value="done") for each in answer.invocations]
        with suppress(UsageError):  # it has no end, or no form there
            yield json.dumps(answer.message(name), ensure_ascii=False)
            yield json.dumps(answer.to_messages(name, results), ensure_ascii=False)


ASKED: list[str] = []


@looped("api, body", [(api, body) for _, api, body in OWN], ids=[name for name, _, _ in OWN])
def test_no_output_has_a_word_that_is_redacted(api: str, body: bytes):
    plain = outputs(api, body, to_invocations(keep_segments=True))
    if not plain:
        return
    words = words_of(plain)
    if not words:
        return
    ASKED.append(api)
    redaction = redact(*(Detector("x", re.escape(word)) for word in words))
    for operators in (
        (redaction, to_invocations(keep_segments=True)),
        (redaction, stream_fields(), to_invocations(keep_segments=True)),
        (stream_fields(), to_invocations(keep_segments=True), redaction),
    ):
        events = outputs(api, body, *operators)
        assert len(events) >= len(plain) // 3
        for text in shown(events):
            for word in words:
                assert word not in text, (word, text[max(0, text.find(word) - 200) :][:400])


def test_every_api_was_asked():
    if not ASKED:
        pytest.skip("the streams were not asked in this process")
    assert set(ASKED) == set(FOLDERS.values())
