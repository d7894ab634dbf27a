"""The SDKs: what they make of a response's bytes, and their helpers that put calls together.

The request goes to a transport in this process, one event a read, and is made before the clock starts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import httpx2
from anthropic import Anthropic
from openai import OpenAI

from .contest import Case, Peer, Read, Show

KEY = "none"
HOST = "http://127.0.0.1:9"  # nothing is sent: the transport answers
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["path", "content"],
    "additionalProperties": False,
}
MESSAGES: Any = [{"role": "user", "content": "-"}]
Shown = Iterator[tuple[Any, str]]
Open = Callable[[Any], Any]


@cache
def transport() -> Any:
    """Return an httpx2 client whose answers are the frames last put into `answers`."""

    class Body(httpx2.SyncByteStream):
        def __init__(self, frames: list[bytes]) -> None:
            self.frames = frames

        def __iter__(self) -> Iterator[bytes]:
            yield from self.frames

    def answer(_: Any) -> Any:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Body(answers[-1]))

    return httpx2.Client(transport=httpx2.MockTransport(answer))


answers: list[list[bytes]] = [[]]


@cache
def openai_client() -> Any:
    return OpenAI(api_key=KEY, base_url=HOST, max_retries=0, http_client=transport())


@cache
def anthropic_client() -> Any:
    return Anthropic(api_key=KEY, base_url=HOST, max_retries=0, http_client=transport())


@cache
def google_client(**options: Any) -> Any:
    genai = import_module("google.genai")
    return genai.Client(
        api_key=KEY, http_options=genai.types.HttpOptions(base_url=HOST, httpx_client=transport()), **options
    )


def decoded(open_stream: Callable[[], Any]) -> Callable[[list[bytes], Case], Read]:
    """Return a reader of all that an open stream yields."""

    def prepare(frames: list[bytes], _: Case) -> Read:
        answers[-1] = frames
        stream = open_stream()

        def read(show: Show) -> None:
            for item in stream:
                show(item)

        return read

    return prepare


def helped(open_manager: Callable[[], Any], values: Callable[[Any], Any]) -> Callable[[list[bytes], Case], Read]:
    """Return a reader of a helper's events, and of the values in what it put together."""

    def prepare(frames: list[bytes], case: Case) -> Read:
        answers[-1] = frames
        stream = open_manager().__enter__()

        def read(show: Show) -> Any:
            for event in stream:
                show(event)
            return values(stream) if case.values else []

        return read

    return prepare


def chat() -> Any:
    return openai_client().chat.completions.create(model="m", messages=MESSAGES, stream=True)


def chat_helper(*, strict: bool) -> Callable[[], Any]:
    function = {"name": "write_file", "parameters": PARAMETERS, "strict": strict}

    def open_manager() -> Any:
        tools: Any = [{"type": "function", "function": function}]
        return openai_client().chat.completions.stream(model="m", messages=MESSAGES, tools=tools)

    return open_manager


def chat_values(stream: Any) -> Any:
    calls = stream.get_final_completion().choices[0].message.tool_calls
    return [json.loads(call.function.arguments) for call in calls]


def responses() -> Any:
    return openai_client().responses.create(model="m", input="-", stream=True)


def responses_helper() -> Any:
    return openai_client().responses.stream(model="m", input="-")


def responses_values(stream: Any) -> Any:
    return [json.loads(item.arguments) for item in stream.get_final_response().output]


def messages() -> Any:
    return anthropic_client().messages.create(model="m", max_tokens=9, messages=MESSAGES, stream=True)


def messages_helper() -> Any:
    return anthropic_client().messages.stream(model="m", max_tokens=9, messages=MESSAGES)


def messages_values(stream: Any) -> Any:
    return [block.input for block in stream.get_final_message().content]


def gemini() -> Any:
    return google_client().models.generate_content_stream(model="m", contents="-")


def vertex() -> Any:
    return google_client(vertexai=True).models.generate_content_stream(model="m", contents="-")


def raw_of_chat(item: Any) -> Shown:
    if item.choices:
        delta = item.choices[0].delta
        yield 0, delta.content or ""
        for call in delta.tool_calls or ():
            yield call.index, call.function.arguments


def raw_of_helped_chat(event: Any) -> Shown:
    if event.type == "content.delta":
        yield 0, event.delta
    elif event.type == "tool_calls.function.arguments.delta":
        yield event.index, event.arguments_delta


def raw_of_responses(event: Any) -> Shown:
    if event.type in ("response.output_text.delta", "response.function_call_arguments.delta"):
        yield event.output_index, event.delta


def raw_of_message(event: Any) -> Shown:
    if event.type == "content_block_delta":
        is_text = event.delta.type == "text_delta"
        yield event.index, event.delta.text if is_text else event.delta.partial_json


def raw_of_gemini(item: Any) -> Shown:
    yield 0, item.candidates[0].content.parts[0].text or ""


def content_of_input(event: Any) -> tuple[Any, str]:
    """Return what the helper of Anthropic shows of a call, whose input it parses anew with each delta."""
    if event.type == "input_json" and isinstance(event.snapshot, dict):
        return 0, event.snapshot.get("content", "")
    return 0, ""


def content_of_parsed(event: Any) -> tuple[Any, str]:
    """Return what the helper of OpenAI shows of a strict tool's call."""
    if event.type == "tool_calls.function.arguments.delta" and isinstance(event.parsed_arguments, dict):
        return event.index, event.parsed_arguments.get("content", "")
    return 0, ""


def text_of_vertex(item: Any) -> Shown:
    for part in item.candidates[0].content.parts:
        for piece in (part.function_call.partial_args or ()) if part.function_call else ():
            if piece.json_path == "$.content":
                yield 0, piece.string_value


CHAT, RESPONSES, ANTHROPIC, GEMINI = (
    f"bytes of {api}" for api in ("openai-chat", "openai-responses", "anthropic-messages", "gemini")
)


def decoder(package: str, name: str, takes: str, open_stream: Callable[[], Any], raw: Any) -> Peer:
    return Peer(
        f"{package}: {name}", takes, decoded(open_stream), raw, has_values=False, is_raw=True, package=package,
        note="decodes the events only",
    )  # fmt: skip


def helper(package: str, name: str, takes: str, manager: Callable[[], Any], values: Any, raw: Any) -> Peer:
    return Peer(f"{package}: {name}", takes, helped(manager, values), raw, is_raw=True, package=package)


def sdk_peers(work: str) -> list[Peer]:
    """Return the SDKs' readers for a workload; those of Gemini's API read text only."""
    peers = [
        decoder("openai", "chat, create", CHAT, chat, raw_of_chat),
        helper("openai", "chat.stream()", CHAT, chat_helper(strict=False), chat_values, raw_of_helped_chat),
        decoder("openai", "responses, create", RESPONSES, responses, raw_of_responses),
        helper("openai", "responses.stream()", RESPONSES, responses_helper, responses_values, raw_of_responses),
        decoder("anthropic", "create", ANTHROPIC, messages, raw_of_message),
    ]
    if work == "W3":
        return [
            *peers,
            helper("anthropic", "messages.stream()", ANTHROPIC, messages_helper, messages_values, raw_of_message),
            decoder("google-genai", "generate_content_stream", GEMINI, gemini, raw_of_gemini),
        ]
    parsing = helped(messages_helper, messages_values)
    snapshot = content_of_input if work in ("W0", "W1") else None  # its events do not say of which call they are
    peers.append(Peer("anthropic: messages.stream()", ANTHROPIC, parsing, snapshot=snapshot, package="anthropic"))
    if work == "W1":
        streamed = Peer("google-genai: Vertex AI, streamed arguments", GEMINI, decoded(vertex), text_of_vertex)
        peers.append(streamed._replace(has_values=False, package="google-genai", note="decodes the events only"))
    if work != "W5":  # the strict tool is write_file
        strict = helped(chat_helper(strict=True), chat_values)
        name = "openai: chat.stream(), strict tool"
        peers.append(Peer(name, CHAT, strict, snapshot=content_of_parsed, package="openai"))
    return peers
