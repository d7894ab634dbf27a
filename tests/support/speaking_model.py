"""A model that knows its answers, and servers that pass on what it writes: raw in its dialect, or badly parsed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

from scripted_upstream import body_of, chunk, text_chunks
from starlette.responses import JSONResponse, Response

from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.writing.call_writer import CallToRender
from penstock.operators.writing.render_call import render_calls

Row = TypeVar("Row")
MODELS = {
    "Qwen3-8B": "hermes",
    "Qwen3-Coder-30B-A3B-Instruct": "qwen3_coder",
    "GLM-4.7": "glm47",
    "Kimi-K2-Instruct": "kimi_k2",
    "DeepSeek-V3.1": "deepseek_v31",
    "MiniMax-M2": "minimax_m2",
    "Devstral-Small-2507": "mistral_v11",
    "gpt-oss-20b": "harmony",
    "gemma-4-27b-it": "gemma4",
}
"""Models by name, and the dialect that each writes."""
OPENED = ("GLM-4.7", "MiniMax-M2")
"""Models whose prompt ends inside the reasoning, so that they write its closer only."""


Calls: TypeAlias = tuple[tuple[str, Mapping[str, Any]], ...]


class Said(NamedTuple):
    """What a model answers: thoughts, text, and calls with their arguments.

    - `forced`: what it calls instead of its text where the request says that it must call.
    """

    text: str = ""
    calls: Calls = ()
    thought: str = ""
    forced: Calls = ()


Chunks: TypeAlias = list[dict[str, Any]]
Parse: TypeAlias = Callable[[Said, dict[str, Any]], Chunks]
"""What a server makes of an answer to a request: the chunks of a stream."""
Serve: TypeAlias = Callable[[Said, dict[str, Any]], Chunks | Response]
"""As `Parse`, or a refusal."""


def asked_in(body: Mapping[str, Any]) -> str:
    """Return what the user said last in a request; a gateway may have put more into that message."""
    return next((each["content"] for each in reversed(body["messages"]) if each["role"] == "user"), "")


def by_question(table: Mapping[str, Row], body: Mapping[str, Any], default: Row) -> Row:
    """Return the row of the longest question that a request asks."""
    asked = asked_in(body)
    return max(
        ((len(question), row) for question, row in table.items() if question in asked),
        key=itemgetter(0),
        default=(0, default),
    )[1]


def is_forced(body: Mapping[str, Any]) -> bool:
    """Return whether a request demands a call, by its field or in the words of the system."""
    choice, [first, *_] = body.get("tool_choice"), body["messages"]
    in_words = first["role"] == "system" and "Answer with a call of" in first["content"]
    return in_words or choice == "required" or isinstance(choice, dict)


def counted(chunks: Chunks, body: Mapping[str, Any]) -> None:
    """Count the tokens of the request, as many as its letters are; tools count where the model sees them."""
    for each in chunks:
        if each.get("usage"):
            each["usage"]["prompt_tokens"] = len(json.dumps([body["messages"], body.get("tools")])) // 4


def answering(answers: Mapping[str, Said], serve: Serve) -> Callable[[dict[str, Any]], Any]:
    """Return a script: the answer to what the user asked last, as a server passes it on, streamed or whole.

    A question is known by its words.
    """

    def script(body: dict[str, Any]) -> Any:
        said = by_question(answers, body, Said("Yes?"))
        if said.forced and is_forced(body):
            said = Said(calls=said.forced, thought=said.thought)
        served = serve(said, body)
        if isinstance(served, Response):
            return served
        counted(served, body)
        return body_of(served) if body.get("stream") else JSONResponse(whole_of(served))

    return script


def written_by(model: str, said: Said, body: Mapping[str, Any]) -> str:
    """Return an answer as a model writes it."""
    dialect = DIALECTS[MODELS[model]]
    schemas = {each["function"]["name"]: each["function"]["parameters"] for each in body.get("tools", ())}
    calls = [CallToRender(name, arguments, schema=schemas.get(name)) for name, arguments in said.calls]
    if dialect.name == "harmony":
        return _HARMONY_START.join(_messages_of_harmony(said))
    written = render_calls(dialect, calls) if calls else ""
    if not said.thought and model not in OPENED:
        return said.text + written
    opener, closer = dialect.reasoning[0]
    return f"{'' if model in OPENED else opener}{said.thought}{closer}{said.text}{written}"


_HARMONY_START = "<|start|>assistant"


def _messages_of_harmony(said: Said) -> Iterator[str]:
    if said.thought:
        yield f"<|channel|>analysis<|message|>{said.thought}<|end|>"
    if said.text:
        channel = "commentary" if said.calls else "final"
        yield f"<|channel|>{channel}<|message|>{said.text}<|{'end' if said.calls else 'return'}|>"
    for name, arguments in said.calls:
        yield render_calls(DIALECTS["harmony"], [CallToRender(name, arguments)]).removeprefix(_HARMONY_START)


def unparsed(model: str, size: int = 3) -> Parse:
    """Return a server that leaves the text as it is, in pieces of `size` characters."""

    def serve(said: Said, body: dict[str, Any]) -> Chunks:
        text = written_by(model, said, body)
        return text_chunks(text[start : start + size] for start in range(0, len(text), size))

    return serve


def vllm_without_parser(model: str) -> Serve:
    """Return a vLLM that was started without a parser: it takes no choice of tools but "none"."""
    serve = unparsed(model)

    def serve_or_refuse(said: Said, body: dict[str, Any]) -> Chunks | Response:
        if body.get("tools") and body.get("tool_choice", "auto") != "none":
            message = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
            return JSONResponse({"error": {"message": message, "type": "BadRequestError", "code": 400}}, 400)
        return serve(said, body)

    return serve_or_refuse


def parsed(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = list, finish: str | None = None) -> Parse:
    """Return a server that makes calls of what the model wrote.

    - `change`: makes other pieces of calls of the right ones, which are a beginning and the arguments of each call.
    - `finish`: the word for the end; by default the right one.
    """

    def serve(said: Said, _: dict[str, Any]) -> Chunks:
        pieces: list[dict[str, Any]] = []
        for index, (name, arguments) in enumerate(said.calls):
            begun = {"index": index, "id": f"call_{index}", "type": "function"}
            pieces.append({**begun, "function": {"name": name, "arguments": ""}})
            text = json.dumps(arguments, ensure_ascii=False)
            pieces += [{"index": index, "function": {"arguments": each}} for each in (text[:3], text[3:]) if each]
        deltas: list[dict[str, Any]] = [{"reasoning_content": said.thought}] if said.thought else []
        deltas += [{"content": said.text}] if said.text else []
        deltas += [{"tool_calls": [each]} for each in change(pieces)]
        end = text_chunks([], finish or ("tool_calls" if pieces else "stop"))[1:]
        return [chunk({"role": "assistant", "content": None}), *map(chunk, deltas), *end]

    return serve


def with_one_index(pieces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**piece, "index": 0} for piece in pieces]


def without_ids(pieces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in piece.items() if key != "id"} for piece in pieces]


def with_objects(pieces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each call in one piece, whose arguments are an object in place of its text."""
    whole: list[dict[str, Any]] = []
    for piece in pieces:
        if "name" in piece["function"]:
            whole.append({**piece, "function": {**piece["function"]}})
        else:
            whole[-1]["function"]["arguments"] += piece["function"]["arguments"]
    for call in whole:
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return whole


def in_reasoning(model: str) -> Parse:
    """Return a server that takes all that the model writes for its thoughts, calls too."""

    def serve(said: Said, body: dict[str, Any]) -> Chunks:
        calls = written_by(model, Said(calls=said.calls), body)
        deltas = [{"reasoning_content": said.thought + said.text + calls}] if said.calls else [{"content": said.text}]
        return [*map(chunk, deltas), *text_chunks([])[1:]]

    return serve


def without_opener(model: str) -> Parse:
    """Return a server that loses the first marker of the calls, and leaves the rest in the text."""

    def serve(said: Said, body: dict[str, Any]) -> Chunks:
        return text_chunks([written_by(model, said, body).replace("<tool_call>\n", "", 1)])

    return serve


def whole_of(chunks: Chunks) -> dict[str, Any]:
    """Return the body of an answer that is not streamed, with whatever is wrong with the chunks."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: list[dict[str, Any]] = []
    finish = None
    for each in chunks:
        for choice in each["choices"]:
            delta, finish = choice["delta"], choice["finish_reason"]
            for key in ("content", "reasoning_content"):
                if delta.get(key):
                    message[key] = (message.get(key) or "") + delta[key]
            for call in delta.get("tool_calls", ()):
                if "name" in call["function"]:
                    calls.append({**{key: call[key] for key in call if key != "index"}})
                else:
                    calls[-1]["function"]["arguments"] += call["function"]["arguments"]
    if calls:
        message["tool_calls"] = calls
    usage = next((each["usage"] for each in chunks if each.get("usage")), None)
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {**chunk({}), "object": "chat.completion", "choices": [choice], "usage": usage}
