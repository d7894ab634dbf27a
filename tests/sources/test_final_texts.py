"""Final texts of the other APIs that repeat theirs: what was not shown of one whose beginning was is given out, once."""

from __future__ import annotations

import json
from typing import Any

from chat_client import collected
from chunk_grammar import Answer, checked
from looped import looped

from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.engine.stage import Completed
from penstock.sources import from_stream, from_wire
from penstock.sources.recognition.apis import api_of, machine_of


def assistants(shown: list[str], whole: str, kind: str) -> list[dict[str, Any]]:
    def part(text: str) -> dict[str, Any]:
        return {"index": 0, "type": kind, kind: {"value": text} if kind == "text" else text}

    deltas = [{"id": "m", "delta": {"content": [part(text)]}} for text in shown]
    return [
        *({"event": "thread.message.delta", "data": delta} for delta in deltas),
        {"event": "thread.message.completed", "data": {"id": "m", "content": [part(whole)]}},
        {"event": "thread.run.completed", "data": {"id": "r", "status": "completed"}},
    ]


def interactions(shown: list[str], whole: str, kind: str) -> list[dict[str, Any]]:
    text: dict[str, Any] = {"type": "text", "text": whole}
    if kind == "thought":
        start = {"type": "thought"}
        deltas = [{"type": "thought_summary", "content": {"type": "text", "text": each}} for each in shown]
        step = {"type": "thought", "summary": [text]}
    else:
        start, deltas = {"type": "model_output"}, [{"type": "text", "text": each} for each in shown]
        step = {"type": "model_output", "content": [text]}
    return [
        {"event_type": "step.start", "index": 0, "step": start},
        *({"event_type": "step.delta", "index": 0, "delta": delta} for delta in deltas),
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.completed", "interaction": {"status": "completed", "steps": [step]}},
    ]


def chat(shown: list[str], whole: str, kind: str) -> list[dict[str, Any]]:
    chunks = [{"choices": [{"index": 0, "delta": {kind: text}}]} for text in shown]
    message = {"role": "assistant", kind: whole}
    return [*chunks, {"choices": [{"index": 0, "delta": {}, "message": message, "finish_reason": "stop"}]}]


STREAMS = {
    "chat": ("openai-chat", chat, "content", "content"),
    "chat, reasoning": ("openai-chat", chat, "reasoning_content", "reasoning"),
    "chat, Copilot's reasoning": ("openai-chat", chat, "reasoning_text", "reasoning"),
    "chat, a refusal": ("openai-chat", chat, "refusal", "refusal"),
    "assistants": ("openai-assistants", assistants, "text", "content"),
    "assistants, a refusal": ("openai-assistants", assistants, "refusal", "refusal"),
    "interactions": ("gemini-interactions", interactions, "output", "content"),
    "interactions, a thought": ("gemini-interactions", interactions, "thought", "reasoning"),
}


def read(api: str, items: list[Any]) -> Answer:
    """Return what a stream says, over a dump before each item."""
    answer = checked(collected(from_stream(items, api))[0])
    chunks: list[Any] = []
    state: Any = None
    options: dict[str, Any] = {"choices": 0, "turn_id": "t", "limits": DEFAULT_LIMITS}
    machine = machine_of(api_of(api), **options)
    for item in items:
        if state is not None:
            machine = machine_of(api_of(api), **options)
            machine.load(json.loads(state))
        chunks += machine.feed(item)
        state = json.dumps(machine.dump())
    again = checked(chunks + machine.close(Completed()))
    assert (again.content, again.reasoning, again.refusal) == (answer.content, answer.reasoning, answer.refusal)
    if api == "openai-chat":
        body = "".join(f"data: {json.dumps(item)}\n\n" for item in items).encode()
        assert checked(collected(from_wire(api, [body], turn_id="t"))[0]) == checked(chunks_of(items))
    return answer


def chunks_of(items: list[Any]) -> list[Any]:
    return collected(from_stream(items, "openai-chat", turn_id="t"))[0]


@looped("name", STREAMS)
@looped(
    "shown, whole, said",
    [
        (["Hel", "lo"], "Hello there", "Hello there"),
        (["Hel", "lo"], "Hello", "Hello"),
        (["H\ud83d"], "H😀!", "H😀!"),
        ([], "Hello", "Hello"),
        (["Hello"], "Hallo there", "Hello"),
        (["Hello"], "Hel", "Hello"),
    ],
)
def test_the_rest_of_a_final_text_is_given_out(name: str, shown: list[str], whole: str, said: str) -> None:
    api, make, kind, stream = STREAMS[name]
    answer = read(api, make(shown, whole, kind))
    if shown == ["H\ud83d"] and api == "gemini-interactions":
        said = "H\ufffd"  # the half was given up with its step
    assert {each: getattr(answer, each) for each in ("content", "reasoning", "refusal")} == {
        "content": "",
        "reasoning": "",
        "refusal": "",
        stream: said,
    }


def test_no_rest_of_a_message_comes_behind_another_message() -> None:
    first, second = assistants(["a"], "ab", "text"), assistants(["c"], "cd", "text")
    second[0]["data"]["id"] = second[1]["data"]["id"] = "n"
    assert read("openai-assistants", [first[0], second[0], first[1], *second[1:]]).content == "acd"


def test_a_stream_that_was_resumed_inside_arguments_runs_those_of_the_end() -> None:
    step = {"type": "function_call", "id": "c", "name": "read", "arguments": {"path": "a.txt"}}
    items = [
        {"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": '"a.txt"}'}},
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.completed", "interaction": {"status": "requires_action", "steps": [step]}},
    ]
    (call,) = checked(collected(from_stream(items, "gemini-interactions"))[0]).calls
    assert (call.call_id, call.name, json.loads(call.arguments)) == ("c", "read", {"path": "a.txt"})
    function = {"name": "read", "arguments": '{"path": "a.txt"}'}
    piece = {"index": 0, "type": "function", "function": {"arguments": 'a.txt"}'}}
    whole = {"id": "c", "type": "function", "function": function}
    items = [
        {"event": "thread.run.step.delta", "data": {"id": "s", "delta": {"step_details": {"tool_calls": [piece]}}}},
        {"event": "thread.run.step.completed", "data": {"id": "s", "step_details": {"tool_calls": [whole]}}},
        {"event": "thread.run.completed", "data": {"id": "r", "status": "completed"}},
    ]
    (call,) = checked(collected(from_stream(items, "openai-assistants"))[0]).calls
    assert (call.call_id, call.name, json.loads(call.arguments)) == ("c", "read", {"path": "a.txt"})


def test_the_kept_message_of_a_chat_has_the_whole_text() -> None:
    chunks = collected(from_stream(chat(["Hel", "lo"], "Hello there", "content"), "openai-chat", keep_message=True))[0]
    assert chunks[-1].message == {"role": "assistant", "content": "Hello there"}


def test_a_piece_beside_the_whole_message_is_shown_once() -> None:
    items = chat(["Hel"], "Hello there", "content")
    items[-1]["choices"][0]["delta"] = {"content": "lo"}
    assert read("openai-chat", items).content == "Hello there"


def test_what_a_message_repeats_before_the_end_is_left_out() -> None:
    items = [{"choices": [{"index": 0, "delta": {"content": "Hel"}, "message": {"content": "Hello"}}]}]
    assert read("openai-chat", [*items, *chat(["lo"], "Hello", "content")]).content == "Hello"
