"""Every value on the wire reaches the chunks, or stands on the list of what is left out: on the streams of our own."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from chat_client import collected
from every_sdk import SDKS, STREAMS
from looped import looped
from msgspec.structs import replace
from wire_account import LEFT_OUT, TYPED, FedEvent, is_left_out, steps_of, unaccounted

from penstock.events import ChunkResponse, ProviderEvent
from penstock.events.chunk_response import ProviderEventKind
from penstock.pipeline import Pipeline
from penstock.sources import from_stream

PATHS = [
    (sdk.api, path)
    for sdk in SDKS
    for path in sorted((STREAMS / sdk.folder).iterdir())
    if path.suffix != ".json" and path.stem != "error_that_is_no_json"
]


@looped("api, path", PATHS, ids=[f"{api}-{path.stem}" for api, path in PATHS])
def test_every_value_of_the_wire_is_accounted_for(api: str, path: Path) -> None:
    assert unaccounted(api, steps_of(api, path.read_bytes())) == []


FIELDS = ("content", "reasoning", "refusal", "tool_calls", "usage", "image_urls", "audio_urls", "video_urls", "error")
PLAIN = ChunkResponse()


def without(*names: str) -> Callable[[ChunkResponse], ChunkResponse]:
    return lambda chunk: replace(chunk, **{name: getattr(PLAIN, name) for name in names})


def without_kind(kind: str) -> Callable[[ChunkResponse], ChunkResponse]:
    return lambda chunk: replace(
        chunk, provider_events=tuple(event for event in chunk.provider_events if event.kind != kind)
    )


DROPS: dict[str, Callable[[ChunkResponse], ChunkResponse]] = {
    **{name: without(name) for name in (*FIELDS, "raw", "native", "model")},
    **{kind: without_kind(kind) for kind in get_args(ProviderEventKind)},
    "finish": without("finish_reason", "finish_reason_raw"),
}
"""Ways to lose something of each chunk, by what is lost."""
# The provider says it twice: the reason of a refusal in the event about it, the code of a call with its result.
FOUND_ELSEWHERE = {("gemini", "refusal"), ("anthropic-messages", "refusal")} | {
    ("openai-responses", "response.code_interpreter_call_code.delta"),
    ("openai-responses", "response.mcp_call_arguments.delta"),
}


@cache
def own_steps(api: str) -> list[list[FedEvent]]:
    return [steps_of(each, path.read_bytes()) for each, path in PATHS if each == api]


@looped("lost", DROPS)
@looped("api", [sdk.api for sdk in SDKS])
def test_what_a_machine_would_lose_is_missed(api: str, lost: str) -> None:
    """The account is no empty one: whatever is dropped from all chunks is missed in a stream that has it."""
    drop = DROPS[lost]
    mutated = [
        [step._replace(chunks=[drop(chunk) for chunk in step.chunks]) for step in steps] for steps in own_steps(api)
    ]
    changed = [steps for steps, before in zip(mutated, own_steps(api), strict=True) if steps != before]
    assert not changed or any(unaccounted(api, steps) for steps in changed) or (api, lost) in FOUND_ELSEWHERE


@pytest.mark.parametrize("api", TYPED)
def test_a_type_of_event_that_a_machine_would_ignore_is_missed(api: str) -> None:
    kinds = {
        step.event["type"]
        for steps in own_steps(api)
        for step in steps
        if step.event and step.chunks and unaccounted(api, [step._replace(chunks=[])])
    }
    ignored = {
        kind: any(
            unaccounted(
                api, [step._replace(chunks=[]) if step.event and step.event["type"] == kind else step for step in steps]
            )
            for steps in own_steps(api)
        )
        for kind in kinds
    }
    assert len(ignored) > 5
    assert {(api, kind) for kind, is_missed in ignored.items() if not is_missed} <= FOUND_ELSEWHERE


@looped(
    "api, where",
    [
        ("openai-chat", "brand_new"),
        ("openai-chat", "choices.delta.brand_new"),
        ("openai-responses", "response.brand_new"),
        ("openai-responses", "response.completed: response.brand_new"),
        ("openai-responses", "response.output_text.delta: delta"),
        ("anthropic-messages", "brand_new: data"),
        ("anthropic-messages", "content_block_delta: delta.text"),
        ("gemini", "candidates.content.parts.text"),
        ("ollama", "message.content"),
    ],
)
def test_what_is_new_and_what_is_said_are_not_on_the_list(api: str, where: str) -> None:
    assert not is_left_out(api, where)


def test_the_page_about_sources_has_the_list() -> None:
    """The table of docs/sources.md is made of the data: a row for each API and reason."""
    places: dict[tuple[str, str], list[str]] = {}
    for row in LEFT_OUT:
        places.setdefault((row.api, row.why), []).append(f"`{row.where}`")
    lines = [f"| {api} | {why} | {' '.join(found)} |" for (api, why), found in places.items()]
    table = "\n".join(["| API | why | places |", "| --- | --- | --- |", *lines])
    page = (Path(__file__).parents[3] / "docs/sources.md").read_text()
    assert table in page, f"put this table into docs/sources.md:\n{table}"


def test_no_place_stands_on_the_list_twice() -> None:
    assert len({(row.api, row.where) for row in LEFT_OUT}) == len(LEFT_OUT)


def test_log_probabilities_come_where_they_are_wanted() -> None:
    logprobs = {"content": [{"token": "Hi", "logprob": -0.5, "top_logprobs": []}]}
    items: dict[str, tuple[Any, Any]] = {
        "openai-chat": ({"choices": [{"index": 0, "delta": {"content": "Hi"}, "logprobs": logprobs}]}, logprobs),
        "openai-responses": (
            {"type": "response.output_text.delta", "content_index": 0, "delta": "Hi", "logprobs": logprobs["content"]},
            {"logprobs": logprobs["content"]},
        ),
        "gemini": (
            {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "avgLogprobs": -0.5}]},
            {"avgLogprobs": -0.5},
        ),
        "ollama": (
            {"message": {"content": "Hi"}, "done": False, "logprobs": logprobs["content"]},
            {"logprobs": logprobs["content"]},
        ),
    }
    for api, (item, data) in items.items():
        for stream in (from_stream([item], api, logprobs=True), from_stream([item], logprobs=True)):
            found = [event for chunk in collected(stream)[0] for event in chunk.provider_events]
            assert [(event.kind, event.data, event.api) for event in found] == [("logprobs", data, api)]
        assert not [event for chunk in collected(from_stream([item], api))[0] for event in chunk.provider_events]
        events: list[Any] = list(Pipeline(logprobs=True).stream([item]))
        assert [event.kind for event in events if isinstance(event, ProviderEvent)] == ["logprobs"]
        body = json.dumps(item).encode()
        steps = steps_of(api, body + b"\n" if api == "ollama" else b"data: " + body + b"\n\n", logprobs=True)
        assert unaccounted(api, steps, logprobs=True) == []
        assert unaccounted(api, [step._replace(chunks=[]) for step in steps], logprobs=True)
