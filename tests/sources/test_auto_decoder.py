"""`AutoDecoder`: the first item decides who has decoded the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chat_client import collected
from every_sdk import SDKS, Sdk
from provider_client import ANTHROPIC, RESPONSES

from penstock.events import UsageError
from penstock.operators.engine.stage import Completed
from penstock.sources.framing.served import WireBody
from penstock.sources.from_stream import AutoDecoder

BODIES = {
    "openai-chat": WireBody("openai", "/v1/chat/completions"),
    "openai-responses": WireBody("openai", "/v1/responses"),
    "anthropic-messages": WireBody("anthropic", "/v1/messages"),
    "gemini": WireBody("google", "/v1beta/models/m:streamGenerateContent"),
    "ollama": WireBody("httpx", "/api/chat"),
}


def body_of(sdk: Sdk) -> bytes:
    return sdk.body_of("calls_over_chunks" if sdk.api == "ollama" else "write_file")


@pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])
def test_a_wire_body_begins_the_wire_and_a_dump_continues_it(sdk: Sdk):
    body = body_of(sdk)
    items: list[Any] = [BODIES[sdk.api], body[:100], body[100:1000], body[1000:]]
    chunks, machine = [], AutoDecoder(turn_id="t")
    for item in items:
        state = json.loads(json.dumps(machine.dump()))
        machine = AutoDecoder(turn_id="t")
        machine.load(state)
        chunks += machine.feed(item)
    chunks += machine.close(Completed())
    assert chunks == sdk.by_wire([body])[0]
    assert machine.failure is None
    assert not machine.is_text


@pytest.mark.parametrize("provider", [ANTHROPIC, RESPONSES], ids=["anthropic", "responses"])
@pytest.mark.parametrize("is_named", [False, True], ids=["detected", "named"])
def test_any_other_item_begins_the_sdks(provider: Any, is_named: bool):
    name = {"anthropic_messages": "anthropic-messages", "openai_responses": "openai-responses"}[provider.folder]
    body = provider.body_of("write_file")
    chunks, machine = [], AutoDecoder(name if is_named else None, turn_id="t")
    for event in provider.events_of(body):
        state = json.loads(json.dumps(machine.dump()))
        machine = AutoDecoder(name if is_named else None, turn_id="t")
        machine.load(state)
        chunks += machine.feed(event)
    chunks += machine.close(Completed())
    assert chunks == collected(provider.source(provider.events_of(body), turn_id="t"))[0]


def test_loading_a_beginning_takes_back_what_was_read():
    machine = AutoDecoder()
    beginning = machine.dump()
    machine.feed("text")
    assert machine.is_text
    machine.load(beginning)
    assert not machine.is_text
    assert machine.feed(BODIES["ollama"]) == []


def test_nothing_at_all_completes_with_nothing():
    machine = AutoDecoder()
    assert machine.feed(None) == []
    assert machine.close(Completed()) == AutoDecoder().close(Completed()) == []


@pytest.mark.parametrize("body", [WireBody("openai", "/v1/completions"), WireBody("httpx", "/")])
def test_a_path_that_does_not_show_the_api_is_refused_unless_it_is_named(body: WireBody):
    with pytest.raises(UsageError, match=f"the request went to {body.path}, which does not show the API; pass api="):
        AutoDecoder().feed(body)
    assert AutoDecoder("chat").feed(body) == []


def test_wrong_options_raise_at_once():
    with pytest.raises(UsageError):
        AutoDecoder("anthropic", choices=1)
