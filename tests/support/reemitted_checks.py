"""What must hold of an answer in the stream of another API, whoever reads it."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from reemitted import (
    Read,
    Said,
    SaidCall,
    Target,
    by_chat_helper,
    by_responses_helper,
    carried,
    is_failed,
    read,
    reemitted,
)

from penstock.events import ChunkResponse, ProviderError
from penstock.events.chunk_response import TokenUsage

_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter", "refusal": "content_filter"}


def assert_same(got: Read, truth: Read, target: Target) -> None:
    """Assert that what was read back is what of the truth its target carries."""
    for number, said in carried(truth, target).answers.items():
        found = got.answers.get(number, Said())
        assert _without_calls(found) == _without_calls(said)
        # A call of a tool with a streamed field may begin later, behind another one.
        assert sorted(found.calls) == sorted(said.calls)
        whole = dict(zip(found.calls, found.whole, strict=True))
        # That a call was finished is said by the answer's finish alone in chat.
        is_shown = target == "openai-responses" or (said.finish in ("stop", "tool_calls") and truth.error is None)
        for call, is_whole in zip(said.calls, said.whole, strict=True):
            if is_whole is False:
                assert whole.get(call) is not True
            elif is_whole and is_shown:
                assert whole[call]
    assert (got.error is not None) == is_failed(truth, target)
    if truth.error is not None and got.error is not None:
        assert got.error.detail == truth.error.detail
        assert got.error.code == truth.error.code or truth.error.code is None
        assert got.error.type == truth.error.type or truth.error.type is None


def check_chat_helper(chunks: list[ChunkResponse], error: ProviderError | None) -> None:
    """Assert that the SDK's helper for Chat Completions puts together what was said."""
    body, truth = reemitted(chunks, error, "openai-chat"), read(chunks, error)
    if is_failed(truth, "openai-chat"):
        with pytest.raises(openai.APIError) as raised:
            by_chat_helper(body)
        assert truth.error is None or raised.value.message == truth.error.detail
        return
    completion = by_chat_helper(body)
    assert completion.id == "t"
    for number, said in carried(truth, "openai-chat").answers.items():
        if said == Said(usage=said.usage) and len(completion.choices) <= number:
            continue  # nothing was said, not even an end
        choice = completion.choices[number]
        message = choice.message
        assert (message.content or "", message.refusal or "") == (said.content, said.refusal)
        assert (message.model_extra or {}).get("reasoning_content", "") == said.reasoning
        assert sorted(_chat_call(each) for each in message.tool_calls or ()) == sorted(said.calls)
        assert choice.finish_reason == said.finish
        assert (message.audio.data if message.audio else "") == said.speech
        _assert_usage(said.usage, completion.usage, "prompt", "completion")


def check_responses_helper(chunks: list[ChunkResponse], error: ProviderError | None) -> None:
    """Assert that the SDK's helper for the Responses API puts together what was said."""
    truth = read(chunks, error)
    last = by_responses_helper(reemitted(chunks, error, "openai-responses"))
    [said] = carried(truth, "openai-responses").answers.values()
    response, finish = last.response, truth.answers[truth.first].finish
    assert last.type == f"response.{response.status}"
    if is_failed(truth, "openai-responses"):
        assert response.status == "failed"
        assert truth.error is None or response.error.message == truth.error.detail
    else:
        assert (response.status, response.error) == (
            "incomplete" if finish in _REASONS else "completed",
            None,
        )
        details = response.incomplete_details
        assert (None if details is None else details.reason) == _REASONS.get(str(finish))
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    assert "".join(part.text for part in parts if part.type == "output_text") == said.content
    assert "".join(part.refusal for part in parts if part.type == "refusal") == said.refusal
    summaries = [part.text for item in response.output if item.type == "reasoning" for part in item.summary]
    assert "".join(summaries) == said.reasoning
    calls = [_item_call(item) for item in response.output if item.type in ("function_call", "custom_tool_call")]
    # A response that failed may have calls that nobody ended, which are no items of its output.
    assert sorted(calls) == sorted(call for call in said.calls if call in calls or response.status != "failed")
    _assert_usage(said.usage, response.usage, "input", "output")


def _without_calls(said: Said) -> Said:
    return said._replace(calls=(), whole=(), is_cut=False)


def _chat_call(call: Any) -> SaidCall:
    if call.type == "custom":
        return SaidCall(call.id, call.custom["name"], call.custom["input"], is_free_form=True)
    return SaidCall(call.id, call.function.name, call.function.arguments, is_free_form=False)


def _item_call(item: Any) -> SaidCall:
    is_free_form = item.type == "custom_tool_call"
    return SaidCall(item.call_id, item.name, item.input if is_free_form else item.arguments, is_free_form)


def _assert_usage(usage: TokenUsage | None, given: Any, prompt: str, completion: str) -> None:
    if usage is None:
        assert given is None
        return
    found = [getattr(given, name) for name in (f"{prompt}_tokens", f"{completion}_tokens", "total_tokens")]
    assert found == [usage.prompt, usage.completion, usage.total]
    assert getattr(given, f"{prompt}_tokens_details").cached_tokens == usage.cached
    assert getattr(given, f"{completion}_tokens_details").reasoning_tokens == usage.reasoning
