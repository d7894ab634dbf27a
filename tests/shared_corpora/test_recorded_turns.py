"""Every recording through a pipeline: its answer, and the next turn for each provider."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from request_types import check_request

from penstock import ChunkResponse, Pipeline, ToolResult
from penstock.pipeline import Answer
from penstock.sources import from_recording

FAMILIES = {
    "chat": ("openai-chat", "openai-chat"),
    "responses": ("openai-responses", "openai-responses"),
    "anthropic": ("anthropic-messages", "anthropic"),
    "gemini": ("gemini", "gemini"),
    "ollama": ("ollama", "ollama"),
    "bedrock": ("bedrock-converse", "bedrock"),
    "cohere2": ("cohere", "cohere"),
    "interactions": ("gemini-interactions", "gemini-interactions"),
}
"""The API of each family, and the name of its provider."""
REFUSED_BY_CHAT = frozenset(
    ("reasoning_content", "reasoning_details", "reasoning", "provider_metadata", "channel", "graph_data")
) | {"token_id", "index"}
"""The keys of relatives that OpenAI's type for requests does not have."""
NO_JSON = "the arguments are no JSON, so the call goes back with an empty object"
DIFFERENCES = {
    "cohere-chat/ruby_llm.chat_function_calling_cohere_command-a-03-2025_can_use_tools_without_parameters_in_multi-turn_streami.2.sse": (
        "a call without arguments has an empty object"
    ),
    "gemini-interactions/ai.tool-call-step1.sse": "a request does not have the empty signature of a call",
    "databricks-chat/chatlas.test_databricks_tool_variations.sse": NO_JSON,
    "deepseek-chat/rig.truncation_matrix.streaming_parallel_calls_keep_the_complete_one.sse": NO_JSON,
    "mistral-chat/ai.mistral-incremental-tool-call.sse": "Mistral's own service takes ids of nine characters only",
    "mistral-chat/rig.tool_truncation_matrix.streaming_ministral_3b_low_agent.sse": NO_JSON,
    "openai-chat/rig.chat_tool_truncation_matrix.streaming_gpt4o_mid_agent.sse": NO_JSON,
    "openai-responses/ai.openai-custom-tool.1.sse": "a request's custom_tool_call has no status",
    "openai-responses/pydantic-ai.test_openai_responses_model_web_search_tool_stream.sse": "sources without a URL",
    "snowflake-chat/pydantic-ai.test_snowflake_thinking_streaming.sse": "a refusal without a word is left out",
    "xai-responses/req_llm.grok_4_fast_reasoning.x_search_streaming.sse": "a request's custom_tool_call has no status",
}
"""The messages that go back with a change, each with its reason."""
OTHERS = (
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "mistral",
    "ollama",
    "bedrock",
    "cohere",
    "gemini-interactions",
)


def answer_of(path: Path, api: str) -> Answer:
    chunks: list[ChunkResponse] = []
    failed: list[Exception] = []
    from_recording(path, api=api, keep_message=True).subscribe(chunks.append, failed.append)
    run = Pipeline().stream(chunks)
    list(run)
    return run.answer


def as_ollama_takes_it(message: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {"function": {key: call["function"][key] for key in ("name", "arguments")}} for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


@pytest.fixture(scope="module")
def answers(shared: Path) -> list[tuple[dict[str, Any], str, Answer]]:
    rows: list[dict[str, Any]] = json.loads((shared / "recordings" / "answers.json").read_text(encoding="utf-8"))
    return [
        (row, provider, answer_of(shared / "recordings" / row["file"], api))
        for row in rows
        for api, provider in [FAMILIES.get(row["family"], ("", ""))]
        if api and row["message"] is not None
    ]


def test_the_message_is_the_sdks_without_what_a_request_refuses(answers: list[tuple[dict[str, Any], str, Answer]]):
    differing: set[str] = set()
    for row, provider, answer in answers:
        wanted: Any = row["message"]
        name = "mistral" if row["file"].startswith("mistral-chat") else provider
        if provider == "openai-chat":
            wanted = {key: value for key, value in wanted.items() if key not in REFUSED_BY_CHAT}
        elif provider == "ollama" and "tool_calls" in wanted:
            wanted = as_ollama_takes_it(wanted)
        elif provider == "anthropic":  # the API refuses empty text
            blocks = [block for block in wanted["content"] if block.get("text") != ""]
            wanted = {**wanted, "content": blocks}
        if answer.message(name) != wanted:
            differing.add(row["file"])
    assert differing == set(DIFFERENCES)


def test_every_next_turn_is_one_that_any_provider_takes(answers: list[tuple[dict[str, Any], str, Answer]]):
    for _, _, answer in answers:
        results = [ToolResult(call.id, value="https://a.b/c.png") for call in answer.invocations]
        for name in OTHERS:
            check_request(name, answer.to_messages(name, results))
