"""What normalising a provider's stream has to cope with, and which stream of our own shows it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from answered import answered
from chat_client import collected
from chunk_grammar import checked
from looped import looped

from penstock.operators import to_invocations, to_segments
from penstock.sources import from_recording, from_wire
from penstock.sources.recognition.recognised_api import recognised_api

STREAMS = Path(__file__).parents[1] / "streams"
APIS = {
    "openai_chat": "openai-chat",
    "openai_responses": "openai-responses",
    "anthropic_messages": "anthropic-messages",
    "gemini": "gemini",
    "ollama": "ollama",
}
"""Folder -> the format of its streams."""


class Shown(NamedTuple):
    """A stream that shows a point, and what of its bytes does: the point is not shown by a name alone."""

    stream: str
    by: str

    @property
    def path(self) -> Path:
        folder, name = self.stream.split("/")
        return STREAMS / folder / f"{name}.{'ndjson' if folder == 'ollama' else 'sse'}"


CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA = APIS

NO_FINISH = (
    r'^(?!.*(?:"finish_reason": ?"|"finishReason": ?"|"stop_reason": ?"|response\.(?:completed|incomplete|failed)"|'
    r'"done": ?true))'
)

POINTS: dict[str, tuple[Shown, ...]] = {
    "one index for several calls, told apart by new ids": (
        Shown(f"{CHAT}/indexes_that_are_no_keys", r'"index":0,"id":"id_0".*"index":0,"id":"id_3"'),
    ),
    "an index of -1, and none at all": (
        Shown(f"{CHAT}/indexes_that_are_no_keys", r'"index":-1,"id".*"tool_calls":\[\{"id":"id_x"'),
    ),
    "indexes that count other blocks too": (
        Shown(f"{ANTHROPIC}/interleaved_calls", r'"index":1,"content_block":\{"type":"tool_use"'),
        Shown(f"{RESPONSES}/interleaved_calls_with_changing_ids", r'"output_index":2,"item":\{"type":"function_call"'),
    ),
    "ids and names that come empty, null or again": (
        Shown(f"{CHAT}/empty_and_repeated", r'"id":"","type".*"id":null.*"id":"call_e".*"id":"call_e"'),
    ),
    "a name that comes after the arguments": (
        Shown(f"{CHAT}/late_name", r'"function":\{"arguments".*"function":\{"name":"search","arguments":" words"'),
    ),
    "an item's ids that change": (Shown(f"{RESPONSES}/interleaved_calls_with_changing_ids", r"changes_0.*changes_7"),),
    "arguments that are null or left out": (
        Shown(f"{CHAT}/empty_and_repeated", r'"arguments":null.*"function":\{\}'),
        Shown(f"{OLLAMA}/arguments_as_text", r'"arguments": null'),
        Shown(f"{GEMINI}/several_calls_in_one_chunk", r'"functionCall": \{"name": "two"\}'),
    ),
    "arguments that are the text null, an object, or empty": (
        Shown(f"{CHAT}/odd_arguments", r'"arguments":"null".*"arguments":\{"deep".*"arguments":""'),
        Shown(f"{ANTHROPIC}/no_arguments", r'"partial_json":""'),
    ),
    "a whole call in one chunk": (
        Shown(f"{CHAT}/calls_and_stop", r'"name":"search","arguments":"\{[^}]*\}"'),
        Shown(f"{GEMINI}/one_call", r'"functionCall": \{"name": "get_weather", "args": \{'),
        Shown(f"{OLLAMA}/one_call", r'"tool_calls": \[\{"function": \{'),
    ),
    "calls, and a finish that says stop": (
        Shown(f"{CHAT}/calls_and_stop", r'"tool_calls".*"finish_reason":"stop"'),
        Shown(f"{GEMINI}/several_calls_in_one_chunk", r'functionCall.*"finishReason": "STOP"'),
        Shown(f"{OLLAMA}/one_call", r'tool_calls.*"done_reason": "stop"'),
        Shown(f"{RESPONSES}/write_file", r'function_call.*"status":"completed"'),
    ),
    "a finish that comes again": (
        Shown(f"{CHAT}/calls_and_stop", r'"finish_reason":"stop".*"finish_reason":"stop"'),
        Shown(f"{CHAT}/empty_and_repeated", r'(?:"finish_reason":"tool_calls".*){3}'),
    ),
    "no finish": tuple(Shown(f"{folder}/no_finish", NO_FINISH) for folder in APIS),
    "an error after valid calls, beside choices": (
        Shown(f"{CHAT}/error_after_calls", r'"tool_calls".*"native_finish_reason":"MALFORMED_FUNCTION_CALL","error"'),
        Shown(f"{CHAT}/error_beside_choices", r'"finish_reason":null,"error":\{'),
    ),
    "a call's arguments cut off": (
        Shown(f"{CHAT}/cut_by_length", r'"finish_reason":"length"'),
        Shown(f"{RESPONSES}/cut_by_length", r'"response.incomplete"'),
        Shown(f"{ANTHROPIC}/cut_by_length", r'"stop_reason":"max_tokens"'),
        Shown(f"{GEMINI}/streamed_cut_by_length", r'"finishReason": "MAX_TOKENS"'),
    ),
    "a call's arguments cut off, and a finish that says it is whole": (
        Shown(f"{CHAT}/cut_but_said_to_be_calls", r'half a"\}.*"finish_reason":"tool_calls"'),
        Shown(f"{ANTHROPIC}/eager_input_that_is_no_json", r'"stop_reason":"tool_use"'),
    ),
    "what surrounds the answer: filters of the prompt, chunks without choices, deltas that are missing or null": (
        Shown(f"{CHAT}/envelope", r'"choices":\[\],.*prompt_filter_results.*\{"index":0,"finish_reason":null\}'),
        Shown(f"{CHAT}/envelope", r'"delta":null'),
        Shown(f"{CHAT}/empty_and_repeated", r'"tool_calls":null'),
    ),
    "usage on a chunk of its own, or with the last one": (
        Shown(f"{CHAT}/plain_text", r'"choices":\[\],"usage":\{'),
        Shown(f"{CHAT}/calls_and_stop", r'"finish_reason":"stop"\}\],"usage"'),
    ),
    "a whole message beside the deltas": (Shown(f"{CHAT}/envelope", r'"delta":\{[^}]*\},"message":\{'),),
    "an end without [DONE], and comments between": (
        Shown(f"{CHAT}/calls_and_stop", r"^(?!.*\[DONE\]).*: OPENROUTER PROCESSING"),
        Shown(f"{CHAT}/no_finish", r"^(?!.*\[DONE\])"),
    ),
    "several answers at once": (
        Shown(f"{CHAT}/two_choices", r'"index":1,"delta"'),
        Shown(f"{GEMINI}/two_candidates", r'"index": 1'),
    ),
    "the four places of reasoning in a chat chunk": (
        Shown(f"{CHAT}/reasoning", r'"reasoning_content":.*"reasoning":.*"reasoning_details":.*\{"type":"thinking"'),
    ),
    "calls that stand in message_start": (
        Shown(f"{ANTHROPIC}/calls_in_message_start", r'"message_start",[^\n]*"content":\[\{[^\n]*\{"type":"tool_use"'),
    ),
    "an input that comes whole with its block": (
        Shown(f"{ANTHROPIC}/input_with_the_block", r'"content_block":\{"type":"tool_use"[^}]*"input":\{"'),
    ),
    "calls that the provider runs itself": (
        Shown(f"{ANTHROPIC}/provider_calls", r'"server_tool_use".*"mcp_tool_use"'),
        Shown(f"{RESPONSES}/provider_calls", r'"mcp_call"'),
        Shown(f"{GEMINI}/built_in_tools", r'"toolCall".*"toolResponse"'),
    ),
    "a second message in the same turn": (
        Shown(f"{ANTHROPIC}/second_message_start", r'"type":"message_start".*"type":"message_start"'),
    ),
    "blocks of compaction and of a fallback, a pause, a refusal": (
        Shown(f"{ANTHROPIC}/compaction_fallback_and_pause", r'"compaction".*"fallback".*"pause_turn"'),
        Shown(f"{ANTHROPIC}/refusal", r'"stop_reason":"refusal"'),
        Shown(f"{CHAT}/refusal", r'"refusal":"'),
        Shown(f"{RESPONSES}/refusal", r"response\.refusal\.delta"),
    ),
    "a response that is empty at its end, and one that is whole only there": (
        Shown(f"{RESPONSES}/empty_output_at_the_end", r'"status":"completed","output":\[\]'),
        Shown(f"{RESPONSES}/everything_at_the_end", r'^(?!.*\.delta).*"output":\[\{'),
    ),
    "arguments that come at their end only": (
        Shown(
            f"{RESPONSES}/ends_without_deltas",
            r'"call_2","name":"f","arguments":""[^\n]*\n\n[^\n]*\n[^\n]*arguments\.done"',
        ),
    ),
    "a free-form call whose input has no end of its own": (
        Shown(f"{RESPONSES}/custom_tool", r'input\.delta(?:(?!input\.done).)*output_item\.done".*"call_sql"'),
        Shown(f"{CHAT}/custom_tool", r'"type":"custom"'),
    ),
    "a call in a namespace": (Shown(f"{RESPONSES}/reasoning", r'"namespace":"'),),
    "signs of life, and events without a number": (
        Shown(f"{RESPONSES}/envelope", r'^(?!.*sequence_number).*\{"type":"keepalive"\}'),
        Shown(f"{ANTHROPIC}/envelope", r"event: ping"),
    ),
    "lines that end by CRLF": (
        Shown(f"{GEMINI}/plain_text", r"\r\n\r\n"),
        Shown(f"{CHAT}/envelope", r"\r\n"),
        Shown(f"{OLLAMA}/no_final_line_end", r"\r\n"),
    ),
    "calls without an id": (
        Shown(f"{GEMINI}/one_call", r'^(?!.*"id")'),
        Shown(f"{OLLAMA}/one_call", r'^(?!.*"id")'),
        Shown(f"{CHAT}/odd_arguments", r'\{"function":\{"name":"tick"'),
    ),
    "several calls, and text and calls, in one chunk": (
        Shown(f"{GEMINI}/several_calls_in_one_chunk", r'"text": "Both: "\}, \{"functionCall".*\}, \{"functionCall"'),
        Shown(f"{GEMINI}/order_in_one_chunk", r'"functionCall".*"text": "after the call"'),
        Shown(f"{OLLAMA}/thinking_text_and_call_in_one", r'"content": "[^"]+", "thinking": "[^"]+", "tool_calls"'),
    ),
    "arguments in leaves, with and without a last part": (
        Shown(f"{GEMINI}/streamed_arguments", r'"partialArgs": \[\{"jsonPath".*"willContinue": true'),
        Shown(f"{GEMINI}/streamed_without_terminal", r'"partialArgs".*"finishReason": "STOP"'),
    ),
    "an error in the stream": (
        Shown(f"{CHAT}/error_in_stream", r'data: \{"error"'),
        Shown(f"{RESPONSES}/nested_error", r'"error":\{"'),
        Shown(f"{RESPONSES}/flat_error", r'"type":"error"'),
        Shown(f"{RESPONSES}/failed", r'"response.failed"'),
        Shown(f"{ANTHROPIC}/error_in_stream", r"event: error"),
        Shown(f"{GEMINI}/error_in_stream", r'"error"'),
        Shown(f"{GEMINI}/error_as_bare_json", r'\n\{[^}]*"error"|^\{'),
        Shown(f"{OLLAMA}/error_in_stream", r'"error"'),
    ),
    "a call of the old kind": (Shown(f"{CHAT}/legacy_function_call", r'"function_call":\{"name"'),),
    "arguments of several calls in turns": (
        Shown(f"{CHAT}/interleaved_calls", r'(?:"index":0,"function".*"index":1,"function".*){2}'),
        Shown(
            f"{RESPONSES}/interleaved_calls_with_changing_ids", r'"output_index":2.*"output_index":0.*"output_index":2'
        ),
        Shown(f"{ANTHROPIC}/interleaved_calls", r'"index":1,"delta".*"index":3,"delta".*"index":1,"delta"'),
    ),
    "separators of lines that are none on the wire": (
        Shown(f"{CHAT}/envelope", "\u2028.*\u2029"),
        Shown(f"{CHAT}/calls_and_stop", '"arguments":"[^}]*\u2028'),
        Shown(f"{RESPONSES}/envelope", "\u2028"),
        Shown(f"{ANTHROPIC}/envelope", "\u2028"),
        Shown(f"{GEMINI}/one_call", "\u2028"),
        Shown(f"{OLLAMA}/separators", "\u2028"),
    ),
    "escapes of JSON inside the arguments' own text": (
        Shown(f"{CHAT}/calls_and_stop", r"\\\\u00fc\\\\ud83d\\\\ude00"),
        Shown(f"{CHAT}/write_file", r"\\\\u"),
        Shown(f"{RESPONSES}/write_file", r"\\\\u[0-9a-f]{4}"),
        Shown(f"{ANTHROPIC}/write_file", r"\\\\u[0-9a-f]{4}"),
    ),
    "halves of a character in two chunks": tuple(
        Shown(f"{folder}/halves_of_characters", r"\\ud8[0-9a-f]{2}") for folder in APIS
    ),
    "a field without the blank behind its colon": tuple(
        Shown(f"{folder}/envelope", r"(?:^|\n)data:\{") for folder in (CHAT, RESPONSES, ANTHROPIC)
    ),
}
"""The point -> where it is shown. A point that no provider but some can have is shown for these."""

SHOWN = [pytest.param(shown, id=f"{point} - {shown.stream}") for point, streams in POINTS.items() for shown in streams]


@pytest.mark.parametrize("folder", APIS)
def test_every_api_has_ten_streams_of_our_own_and_the_truth_of_each(folder: str):
    streams = {path.stem for path in (STREAMS / folder).iterdir() if path.suffix in (".sse", ".ndjson")}
    truths = {path.stem for path in (STREAMS / folder).glob("*.json")}
    assert len(streams) >= 10
    assert streams == truths


@looped("shown", SHOWN)
def test_the_stream_shows_the_point(shown: Shown):
    assert shown.path.with_suffix(".json").exists()
    assert re.search(shown.by, shown.path.read_bytes().decode(), re.DOTALL), "the point is no longer in its stream"


@pytest.mark.parametrize(("folder", "api"), APIS.items())
def test_every_stream_of_our_own_is_recognised_and_keeps_the_grammar(folder: str, api: str):
    for path in (STREAMS / folder).iterdir():
        if path.suffix != ".json":
            assert recognised_api(path.read_bytes()) == api, path.name
            checked(collected(from_recording(path, turn_id="t"))[0])


# Arguments larger than any recorded ones are made here rather than stored.

BODY = "".join(f'line {number}: "quoted" \\ \t é 😀 \u2028\n' for number in range(1500))
ARGUMENTS = {"path": "large.txt", "content": BODY}


def pieces_of(text: str) -> Iterator[str]:
    """Cut between two characters, also within an escape."""
    for start in range(0, len(text), 37):
        yield text[start : start + 37]


def sse(*events: Any) -> Iterator[str]:
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        yield f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n"


def chat(text: str) -> Iterator[str]:
    def chunk(delta: Any, finish: str | None = None) -> Any:
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield from sse(chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "write", "arguments": ""}}]}))
    for piece in pieces_of(text):
        yield from sse(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}))
    yield from sse(chunk({}, "tool_calls"))


def responses(text: str) -> Iterator[str]:
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "write", "arguments": ""}
    yield from sse({"type": "response.output_item.added", "output_index": 0, "item": item})
    for piece in pieces_of(text):
        yield from sse({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": piece})
    yield from sse(
        {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": text},
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "arguments": text}},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    )


def anthropic(text: str) -> Iterator[str]:
    block = {"type": "tool_use", "id": "c", "name": "write", "input": {}}
    yield from sse({"type": "content_block_start", "index": 0, "content_block": block})
    for piece in pieces_of(text):
        delta = {"type": "input_json_delta", "partial_json": piece}
        yield from sse({"type": "content_block_delta", "index": 0, "delta": delta})
    yield from sse(
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    )


def gemini(_: str) -> Iterator[str]:
    def parts(call: Any, **more: Any) -> Any:
        return {"candidates": [{"content": {"parts": [{"functionCall": call}]}, **more}]}

    yield from sse(parts({"id": "c", "name": "write", "willContinue": True}))
    for key, value in ARGUMENTS.items():
        for piece in pieces_of(value):
            leaf = {"jsonPath": f"$.{key}", "stringValue": piece, "willContinue": True}
            yield from sse(parts({"partialArgs": [leaf], "willContinue": True}))
        yield from sse(parts({"partialArgs": [{"jsonPath": f"$.{key}", "stringValue": ""}], "willContinue": True}))
    yield from sse(parts({}, finishReason="STOP"))


def ollama(text: str) -> Iterator[str]:
    call = {"id": "c", "function": {"name": "write", "arguments": json.loads(text)}}
    yield json.dumps({"message": {"tool_calls": [call]}, "done": False}) + "\n"
    yield json.dumps({"message": {"content": ""}, "done": True, "done_reason": "stop"}) + "\n"


@looped("is_ascii", [True, False], ids=["escaped", "unescaped"])
@looped(
    "api, write",
    [
        ("openai-chat", chat),
        ("openai-responses", responses),
        ("anthropic-messages", anthropic),
        ("gemini", gemini),
        ("ollama", ollama),
    ],
)
def test_arguments_of_sixty_kilobytes_arrive_whole_and_once(
    api: str, write: Callable[[str], Iterator[str]], is_ascii: bool
):
    text = json.dumps(ARGUMENTS, ensure_ascii=is_ascii)
    assert len(text.encode()) > 60_000
    body = "".join(write(text)).encode()
    pieces = [body[start : start + 1400] for start in range(0, len(body), 1400)]
    chunks, ends = collected(from_wire(api, pieces, turn_id="t"))
    assert ends == ["completed"]
    (call,) = checked(chunks).calls
    assert call.arguments == text if api not in ("gemini", "ollama") else json.loads(call.arguments) == ARGUMENTS
    (invocation,) = answered(chunks, to_segments(), to_invocations())
    assert (invocation.id, invocation.name, invocation.arguments) == ("c", "write", ARGUMENTS)
