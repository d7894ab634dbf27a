"""Hugging Face's `InferenceClient`, over the replay server: its objects give the answer that the bytes give."""

from typing import Any

import pytest
from held_streams import STREAMS, by_async_object, by_object, by_wire
from looped import looped

from penstock import Pipeline, ProviderError
from penstock.studio.testing import ReplayServer

hub = pytest.importorskip("huggingface_hub", reason="needs the extra huggingface")

# Left out is what the client itself refuses or changes: custom tools, an error beside choices, calls without a
# function, U+2028 in a text (it ends the client's line), and an event without a blank line behind it (it counts).
AGREED = [
    *("cut_but_said_to_be_calls", "cut_by_length", "empty_and_repeated", "interleaved_calls", "one_call"),
    *("plain_text", "reasoning", "structured_output", "write_file"),
]
ASKED = [{"role": "user", "content": "Hi"}]
CLIENTS: list[Any] = []
"""A client that is collected closes its streams."""


def ask(url: str, headers: dict[str, str]) -> Any:
    CLIENTS.append(hub.InferenceClient(base_url=f"{url}/v1", api_key="-", headers=headers))
    return CLIENTS[-1].chat_completion(ASKED, model="m", stream=True)


def ask_async(url: str, headers: dict[str, str]) -> Any:
    CLIENTS.append(hub.AsyncInferenceClient(base_url=f"{url}/v1", api_key="-", headers=headers))
    return CLIENTS[-1].chat_completion(ASKED, model="m", stream=True)


@looped("name", AGREED)
def test_an_answer_is_the_same_through_the_client(name: str):
    assert by_object(ask, name) == by_wire(name)


@pytest.mark.parametrize("name", ["interleaved_calls", "plain_text"])
def test_an_answer_of_the_async_client_is_the_same(name: str):
    assert by_async_object(ask_async, name) == by_wire(name)


@pytest.mark.parametrize(
    ("headers", "status", "is_transport"),
    [({"x-penstock-fault": "status:429"}, 429, False), ({"x-penstock-recording": "error_in_stream.sse"}, None, False)],
)
def test_its_errors_are_the_providers(headers: dict[str, str], status: int | None, is_transport: bool):
    with ReplayServer(STREAMS / "openai_chat") as server, pytest.raises(ProviderError) as raised:
        list(Pipeline().stream(lambda: ask(server.url, headers)))
    assert (raised.value.status, raised.value.transport) == (status, is_transport)
