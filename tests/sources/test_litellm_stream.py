"""LiteLLM, over the replay server: its chunks give the answer that the provider's bytes give."""

import os
from typing import Any

import pytest
from held_streams import STREAMS, Told, by_async_object, by_object, by_wire

from penstock import Pipeline, ProviderError
from penstock.sources import from_stream
from penstock.studio.testing import ReplayServer

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else the import asks a server for prices
litellm = pytest.importorskip("litellm", reason="needs litellm: make litellm")
pytestmark = pytest.mark.filterwarnings("ignore")  # its own, of its own dependencies

# Left out is what LiteLLM changes: errors beside choices, a mixed list of parts, an end without a reason, which it
# takes for an error, and `stop` beside calls, which it calls `tool_calls`.
AGREED = [
    *("custom_tool", "cut_but_said_to_be_calls", "cut_by_length", "empty_and_repeated", "envelope", "error_in_stream"),
    *("indexes_that_are_no_keys", "interleaved_calls", "late_name", "legacy_function_call", "media", "one_call"),
    *("plain_text", "refusal", "structured_output", "write_file"),
]


def options(url: str, headers: dict[str, str]) -> dict[str, Any]:
    return {
        "model": "openai/m",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "api_base": f"{url}/v1",
        "api_key": "-",
        "max_retries": 0,
        "extra_headers": headers,
    }


def counted(told: Told, name: str) -> Told:
    """Return what came without LiteLLM's own estimate of the tokens, which it makes where the provider told none."""
    return told if by_wire(name).usage else told._replace(usage=None)


def ask(url: str, headers: dict[str, str]) -> Any:
    return litellm.completion(**options(url, headers))


def ask_async(url: str, headers: dict[str, str]) -> Any:
    return litellm.acompletion(**options(url, headers))


@pytest.mark.parametrize("name", AGREED)
def test_an_answer_is_the_same_through_litellm(name: str):
    assert counted(by_object(ask, name), name) == by_wire(name)


@pytest.mark.parametrize("name", ["interleaved_calls", "error_in_stream"])
def test_an_answer_of_acompletion_is_the_same(name: str):
    assert counted(by_async_object(ask_async, name), name) == by_wire(name)


def test_a_sync_stream_is_read_in_a_sync_loop_though_it_could_be_looped_over_in_both_ways():
    with ReplayServer(STREAMS / "openai_chat") as server:
        stream = ask(server.url, {"x-penstock-recording": "plain_text.sse"})
        assert hasattr(stream, "__aiter__")
        texts: list[str] = []
        from_stream(stream).subscribe(lambda chunk: texts.append(chunk.content))
    assert "".join(texts) == by_wire("plain_text").text


def test_its_errors_are_the_providers():
    with ReplayServer(STREAMS / "openai_chat", fault="status:429") as server, pytest.raises(ProviderError) as raised:
        list(Pipeline().stream(lambda: ask(server.url, {})))
    assert (raised.value.status, raised.value.type) == (429, "rate_limit_error")
