"""Streams that break their API's rules: the answer still has a message for every provider."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import Any

import pytest
from every_sdk import SDKS, STREAMS
from hypothesis import given
from hypothesis import strategies as st

from penstock.events import AnswerEnd, ChunkResponse, ProviderError, ToolCallDelta, ToolResult, UsageError
from penstock.operators import drive, to_segments
from penstock.pipeline import Answer, Pipeline
from penstock.sources.recognition.apis import api_of, form_of

ODD: tuple[Any, ...] = (None, [], {}, "x", "", 5, True, 0.5, [None], [5], [[]], {"a": 1}, {"type": 5}, "\ud83d")
NAMES = ("openai-chat", "openai-responses", "anthropic", "gemini", "mistral", "ollama", "openrouter")


def items_of(api: str, body: bytes) -> list[dict[str, Any]]:
    decoder = api_of(api).new_decoder()
    items: list[dict[str, Any]] = []
    for event in [*decoder.feed(body), *decoder.close()]:
        try:
            item = json.loads(event.data)
        except ValueError:
            break
        items += [item] if isinstance(item, dict) else []
    return items


OWN = [
    (sdk.api, items)
    for sdk in SDKS
    for path in sorted((STREAMS / sdk.folder).iterdir())
    if path.suffix != ".json" and (items := items_of(sdk.api, path.read_bytes()))
]


def broken(value: Any, chance: float, rnd: random.Random) -> Any:
    """Return JSON data with odd values in some places, and without some keys."""
    if rnd.random() < chance:
        return rnd.choice(ODD)
    if isinstance(value, dict):
        return {key: broken(each, chance, rnd) for key, each in value.items() if rnd.random() > chance / 2}
    return [broken(each, chance, rnd) for each in value] if isinstance(value, list) else value


@given(st.sampled_from(OWN), st.sampled_from([0.003, 0.01, 0.03]), st.randoms(use_true_random=False))
def test_a_broken_stream_has_a_message_for_every_provider(
    stream: tuple[str, list[Any]], chance: float, rnd: random.Random
):
    api, items = stream
    run = Pipeline(api=api).stream([{key: broken(each, chance, rnd) for key, each in item.items()} for item in items])
    with suppress(ProviderError, UsageError):  # the stream's own error, or nothing of this API is left
        list(run)
    answer = run.answer
    for name in NAMES:
        answer.notices(name)
        results = [ToolResult(each.id, value="https://example.org") for each in answer.invocations]
        json.dumps(answer.to_messages(name, results), ensure_ascii=False).encode()


ODD_MESSAGES: list[tuple[str, Any]] = [
    ("anthropic", {"content": [{"type": "tool_use", "input": {}}, {"type": "tool_use", "id": [], "name": {}}]}),
    ("gemini", {"parts": [{"functionCall": 5}, {"functionCall": {"id": []}}]}),
    ("mistral", {"function_call": {"arguments": "{}"}}),
    ("ollama", {"tool_calls": [5, {"function": "f"}, {"function": {"name": [], "arguments": True}}]}),
    ("openai-responses", [{"type": "message", "content": [5, None]}, {"type": "function_call", "call_id": []}]),
    ("openai-responses", [{"type": "shell_call", "environment": "here"}]),
    ("openai-responses", [{"type": "web_search_call", "action": {"type": "search", "sources": [5]}}]),
]


@pytest.mark.parametrize(("name", "message"), ODD_MESSAGES)
def test_what_a_message_has_in_place_of_objects_is_left_out(name: str, message: Any):
    answer = Answer([AnswerEnd("t", api=form_of(name).api, message=message)])
    json.dumps([answer.to_messages(name), *map(str, answer.notices(name))])


@pytest.mark.parametrize("results", [ToolResult("c"), None])
def test_what_is_no_list_of_results_is_refused(results: Any):
    with pytest.raises(UsageError, match="results must be an iterable of ToolResults; put it in a list; got"):
        Answer([]).to_messages("openai-chat", results)


def test_a_name_of_a_provider_that_is_no_text_is_refused():
    name: Any = ["openai"]
    with pytest.raises(UsageError, match=r"unknown provider \['openai'\]"):
        Answer([]).message(name)


def test_a_result_with_a_wrong_id_is_told_before_the_one_that_is_missing():
    call = ToolCallDelta(0, "call_1", "now", "{}", done=True)
    answer = Answer(drive([ChunkResponse(tool_calls=(call,), finish_reason="tool_calls")], to_segments()))
    with pytest.raises(UsageError, match=r"a result for 'cal_1', which is not a call of this answer; .* 'call_1'"):
        answer.to_messages("openai-chat", [ToolResult("cal_1")])
