from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from looped import looped
from msgspec.structs import replace

from penstock.events import AnswerEnd, ChunkResponse, ToolCallDelta, ToolResult
from penstock.operators import drive, to_invocations, to_segments
from penstock.pipeline import Answer
from penstock.sources.openai_chat.request import RELATIVES
from penstock.sources.recognition.apis import PROVIDERS, form_of


@looped("name", PROVIDERS)
def test_every_provider_of_tool_schemas_has_a_form(name: str):
    assert form_of(name).name == name


def test_aliases_and_relatives_have_one_too():
    assert form_of("openai") is form_of("openai-chat")
    for name in RELATIVES:
        assert (form_of(name).name, form_of(name).api) == (name, "openai-chat")


def test_no_relative_has_the_name_of_a_provider_and_each_has_its_source():
    assert RELATIVES.keys().isdisjoint(PROVIDERS)
    for relative in RELATIVES.values():
        assert relative.source.count(",") >= 1
        assert "://" not in relative.source


def test_the_table_of_the_page_is_that_of_the_code():
    page = Path(__file__).parents[2] / "docs" / "next-turn.md"
    section = page.read_text(encoding="utf-8").split("### Relatives of OpenAI's chat", 1)[1].split("##", 1)[0]
    _, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if "|" in line]
    told = {name.strip("`"): (tuple(re.findall("`(.+?)`", returned)), source) for name, returned, source in rows}
    assert told == {name: tuple(relative) for name, relative in RELATIVES.items()}


def test_the_page_has_a_line_for_each_provider():
    page = (Path(__file__).parents[2] / "docs" / "next-turn.md").read_text(encoding="utf-8")
    assert all(f'answer.to_messages("{name}", results)' in page for name in PROVIDERS)


# ---- ids: the message that each API's source keeps, with the ids of two calls, and its results

ODD_ID = "functions.now:0 " + "x" * 60


def _chat(first: str, second: str) -> Any:
    calls = [
        {"id": each, "type": "function", "function": {"name": "now", "arguments": "{}"}} for each in (first, second)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


KEPT: dict[str, Callable[[str, str], Any]] = {
    "openai-chat": _chat,
    "mistral": _chat,
    "moonshot": _chat,
    "openai-responses": lambda *ids: [
        {"type": "function_call", "id": f"fc_{at}", "call_id": each, "name": "now", "arguments": "{}"}
        for at, each in enumerate(ids)
    ],
    "anthropic": lambda *ids: {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": each, "name": "now", "input": {}} for each in ids],
    },
    "gemini": lambda *ids: {
        "role": "model",
        "parts": [{"functionCall": {"id": each, "name": "now", "args": {}}} for each in ids],
    },
    "bedrock-converse": lambda *ids: {
        "role": "assistant",
        "content": [{"toolUse": {"toolUseId": each, "name": "now", "input": {}}} for each in ids],
    },
    "cohere": _chat,
    "gemini-interactions": lambda *ids: [
        {"type": "function_call", "id": each, "name": "now", "arguments": {}} for each in ids
    ],
}
TAKEN = {
    "openai-chat": "(?s).{1,40}",
    "mistral": "[a-zA-Z0-9]{9}",
    "openai-responses": "[a-zA-Z0-9_-]{1,64}",
    "anthropic": "[a-zA-Z0-9_-]{1,64}",
    "bedrock-converse": "[a-zA-Z0-9_.:-]{1,64}",
}


def ids_in(value: Any) -> list[str]:
    """Return the ids of calls in messages, in order."""
    if isinstance(value, list):
        return [found for each in value for found in ids_in(each)]
    if not isinstance(value, dict):
        return []
    own = [value[key] for key in ("call_id", "tool_call_id", "tool_use_id", "toolUseId") if key in value]
    if not own and "id" in value and value.get("type") != "message":
        own = [value["id"]]
    return own + [found for each in value.values() for found in ids_in(each)]


@looped("name", KEPT)
@looped("first, second", [("call_0", "call_0"), (ODD_ID, ODD_ID), ("a.b:0", "call_1"), ("c", "d")])
def test_ids_of_calls_are_unique_and_as_the_provider_takes_them_in_message_and_results(
    name: str, first: str, second: str
):
    deltas = tuple(ToolCallDelta(at, each, "now", "{}", done=True) for at, each in enumerate((first, second)))
    end = ChunkResponse(
        finish_reason="tool_calls", is_complete=True, api=form_of(name).api, message=KEPT[name](first, second)
    )
    events = [*drive([ChunkResponse(tool_calls=deltas), end], to_segments(), to_invocations(keep_segments=True))]
    plain = [replace(each, message=None) if isinstance(each, AnswerEnd) else each for each in events]
    for source in (Answer(events), *(() if name == "gemini" else (Answer(plain),))):  # which leaves ids out
        results = [ToolResult(each.id, value=number) for number, each in enumerate(source.invocations)]
        sent = source.to_messages(name, results)
        asked, answered = ids_in(source.message(name)), ids_in(source.to_messages(name, results, only_results=True))
        told = ids_in(sent)
        assert told[:2] == asked
        assert told[2:] == asked
        assert len(set(asked)) == 2
        takes_any = name == "openai-chat" and source.end.message is not None  # a server takes the ids that it gave
        assert all(re.fullmatch("(?s).+" if takes_any else TAKEN.get(name, "(?s).+"), each) for each in asked)
        assert len(answered) == 2


def test_a_server_that_keeps_the_message_gets_results_under_the_ids_that_it_gave():
    deltas = tuple(ToolCallDelta(at, ODD_ID if at else "call_0", "now", "{}", done=True) for at in range(2))
    kept = KEPT["openai-responses"]("call_0", ODD_ID)
    end = ChunkResponse(finish_reason="tool_calls", is_complete=True, api="openai-responses", message=kept)
    answer = Answer(drive([ChunkResponse(tool_calls=deltas), end], to_segments(), to_invocations(keep_segments=True)))
    results = [ToolResult(each.id, value="") for each in answer.invocations]
    assert ids_in(answer.to_messages("openai-responses", results, only_results=True)) == ["call_0", ODD_ID]
