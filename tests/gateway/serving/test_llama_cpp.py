"""A real model behind the gateway: llama.cpp with SmolLM2-135M, whose text a grammar holds to the form of a dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2
import openai
import pytest
from app_server import serving
from chat_templates import CHATML
from every_client import USER, WAYS, Clients, Said
from llama_server import llama_server

from penstock.gateway.chat_template import ChatTemplate
from penstock.gateway.serving.gateway_app import Gateway
from penstock.gateway.serving.served_model import GatewayOptions
from penstock.gateway.serving.upstream import CHAT, Upstream

pytestmark = pytest.mark.slow
CITY = "\ncity ::= [A-Z] [a-z]{2,8}"
FORCED = {
    "hermes": r'"I look. <tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"" city "\"}}\n</tool_call>"',
    "qwen3_coder": r'"<tool_call>\n<function=weather>\n<parameter=city>\n" city "\n</parameter>\n</function>\n</tool_call>"',
    "mistral_v11": r'"[TOOL_CALLS]weather[ARGS]{\"city\": \"" city "\"}"',
}
"""What the model writes, by dialect: it chooses the city, and which of its tokens spell the markers."""
ENDLESS = "more\nmore ::= [a-z ] more"
TOOLS = {"weather": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}


class Forcing(Upstream):
    """The server, which gets a grammar with each request."""

    grammar = ""

    async def stream(self, body: Mapping[str, Any], headers: Mapping[str, str], path: str = CHAT) -> httpx2.Response:
        forced = {"grammar": f"root ::= {self.grammar}{CITY}", "temperature": 0, "seed": 7}
        return await super().stream({**body, **forced}, headers, path)


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    # It switches thinking on in templates that can.
    with llama_server(CHATML.replace("enable_thinking", "is_thinking")) as address:
        yield address


@contextmanager
def asking(llama: str, grammar: str, **options: Any) -> Iterator[Clients]:
    upstream = Forcing(llama)
    upstream.grammar = grammar
    with serving(Gateway([upstream], GatewayOptions(**options)).app()) as address:
        clients = Clients(f"http://{address}")
        yield clients
        clients.close()


def check_called(said: Said, text: str) -> None:
    [(name, arguments)] = said.calls
    assert (name, said.text.strip(), said.finish) == ("weather", text, "tool_calls")
    assert re.fullmatch("[A-Z][a-z]{2,8}", arguments["city"])
    assert all(said.tokens)


@pytest.mark.parametrize("dialect", FORCED)
def test_every_client_gets_the_call_that_the_model_wrote(dialect: str, llama: str):
    with asking(llama, FORCED[dialect], dialect=dialect) as clients:
        for way in WAYS if dialect == "hermes" else ("chat", "responses", "messages"):
            check_called(clients.ask(way, "any", TOOLS), "I look." if dialect == "hermes" else "")


@pytest.mark.parametrize(
    ("way", "dialect"), [("chat", "hermes"), ("responses", "qwen3_coder"), ("messages", "mistral_v11")]
)
def test_every_client_gets_it_by_a_template_too(way: str, dialect: str, llama: str):
    with asking(llama, FORCED[dialect], dialect=dialect, template=ChatTemplate(CHATML)) as clients:
        check_called(clients.ask(way, "any", TOOLS), "I look." if dialect == "hermes" else "")


def test_a_prompt_that_opened_the_reasoning_has_its_end_in_the_answer(llama: str):
    with asking(llama, r'[a-z]{3,9} ".</think>\nYes."', dialect="hermes", template=ChatTemplate(CHATML)) as clients:
        thinking = {"chat_template_kwargs": {"enable_thinking": True}}
        answer = clients.openai.chat.completions.create(model="m", messages=USER, extra_body=thinking)
    message: Any = answer.choices[0].message
    assert (message.content, answer.choices[0].finish_reason) == ("Yes.", "stop")
    assert re.fullmatch(r"[a-z]{3,9}\.", message.reasoning_content)


def test_markers_that_are_tokens_of_their_own_are_in_the_text_of_a_completion(llama: str):
    forced = {"prompt": "Go.", "grammar": 'root ::= "a" <|im_start|> "b"', "max_tokens": 9}
    texts = [
        httpx2.post(f"{llama}/v1/completions", json={**forced, "preserved_tokens": kept}, timeout=60).json()
        for kept in ([], ["no token", "<|im_start|>"])
    ]
    assert [each["choices"][0]["text"] for each in texts] == ["ab", "a<|im_start|>b"]


def is_busy(llama: str) -> bool:
    [slot] = httpx2.get(f"{llama}/slots", timeout=60).json()
    busy: bool = slot["is_processing"]
    return busy


@pytest.mark.parametrize("way", ["chat", "responses", "messages"])
def test_a_client_that_leaves_frees_the_only_slot(way: str, llama: str):
    with asking(llama, ENDLESS, dialect="hermes") as clients:
        asked: dict[str, Any] = {"model": "m", "stream": True}
        stream: Any
        if way == "chat":
            stream = clients.openai.chat.completions.create(**asked, messages=USER)
        elif way == "responses":
            stream = clients.openai.responses.create(**asked, input="Go.")
        else:
            stream = clients.anthropic.messages.create(**asked, max_tokens=10**6, messages=USER)
        assert next(iter(stream))
        assert is_busy(llama)
        stream.close()
    # The next one is answered when the slot is free, and the first one has no end of its own.
    with openai.OpenAI(base_url=f"{llama}/v1", api_key="-", max_retries=0, timeout=30) as client:
        assert client.completions.create(model="m", prompt="Go.", max_tokens=1).usage
    assert not is_busy(llama)
