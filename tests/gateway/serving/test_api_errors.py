"""`upstream_error` and `told`: what servers say when they refuse, in the words and with the status of each API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from looped import looped

from penstock.events import ProviderError
from penstock.gateway.serving.api_errors import CONTEXT, in_stream, told, upstream_error

VLLM = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the messages)."
SGLANG = "The input (5000 tokens) is longer than the model's context length (4096 tokens)."


@pytest.mark.parametrize(
    "error",
    [
        {
            "error": {
                "code": 400,
                "type": "exceed_context_size_error",
                "message": "no",
                "n_prompt_tokens": 5000,
                "n_ctx": 4096,
            }
        },
        {"object": "error", "message": VLLM, "type": "BadRequestError", "code": 400},
        {"error": {"message": VLLM, "type": "BadRequestError", "code": 400}},
        {"error": {"message": SGLANG}},
    ],
    ids=["llama.cpp", "vLLM before", "vLLM", "SGLang"],
)
def test_a_prompt_that_is_too_long_is_known_whoever_says_it(error: Any):
    found = upstream_error(400, json.dumps(error).encode())
    assert (found.status, found.code) == (400, CONTEXT)
    assert found.detail == "prompt is too long: 5000 tokens > 4096 maximum"


@pytest.mark.parametrize("body", [b"", b"<html>bad gateway</html>", b"[]", b'{"detail": "no"}', b"\xff"])
def test_a_body_in_no_form_of_an_error_keeps_its_status(body: bytes):
    found = upstream_error(502, body)
    assert found.status == 502
    assert found.detail


def test_an_error_with_a_status_of_success_is_one_of_the_upstream():
    assert upstream_error(200, b"not JSON").status == 502


@pytest.mark.parametrize(
    ("error", "chat", "messages"),
    [
        (ProviderError("gone", transport=True), 503, 503),
        (ProviderError("broken off"), 502, 502),
        (ProviderError("no key", status=401), 401, 400),
        (ProviderError("no key", status=403), 403, 400),
        (ProviderError("slow", status=429), 429, 429),
    ],
)
def test_the_status_lets_a_client_stop_or_try_again(error: ProviderError, chat: int, messages: int):
    assert told("openai-chat", error).status == told("openai-responses", error).status == chat
    assert told("anthropic-messages", error).status == messages
    assert error.detail in told("openai-chat", error).body["error"]["message"]


def test_in_a_stream_nothing_is_told_of_an_error_of_the_program():
    assert in_stream(KeyError("secret")) == {"class": "KeyError"}


def test_a_connection_that_broke_in_a_stream_is_told_in_words_that_clients_know():
    assert in_stream(ProviderError("gone", transport=True)) == {"detail": "connection lost: gone", "status": 503}
    assert in_stream(ProviderError("full", status=500)) == {"detail": "full", "status": 500}


@looped(
    "said, header, words",
    [("3", "3", "3s"), ("0.5", "0.5", "0.5s"), ("Wed, 21 Oct 2099", "Wed, 21 Oct 2099", "1s"), ("明日", None, "1s")],
)
def test_how_long_to_wait_is_told_in_words_only_as_seconds(said: str, header: str | None, words: str):
    error = upstream_error(429, b"slow", said)
    assert told("openai-chat", error).headers.get("retry-after") == header
    assert in_stream(error)["detail"] == f"slow. Please try again in {words}"
