"""The official clients of both providers in front of one server, each asked for a stream and for a whole answer."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Self

import anthropic
import openai

WAYS = ("chat", "chat whole", "responses", "responses whole", "messages", "messages whole")
USER: Any = [{"role": "user", "content": "Go."}]


class FailedResponseError(Exception):
    """A response whose last event says that it failed."""


REFUSALS = (openai.APIError, anthropic.APIError, FailedResponseError)
"""What the clients raise for an answer that is none."""
_CALLING = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length", "refusal": "content_filter"}
_INCOMPLETE = {"max_output_tokens": "length"}


class Said(NamedTuple):
    """What a client got: the text, the calls with their arguments, why it ended, the tokens, and the reasoning."""

    text: str
    calls: list[tuple[str, Any]]
    finish: str
    tokens: tuple[int, int]
    reasoning: str = ""


class Clients:
    """The official clients of both providers, in front of one gateway. They put streams together by their helpers."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.openai = openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0)
        self.anthropic = anthropic.Anthropic(base_url=url, api_key="-", max_retries=0)

    def close(self) -> None:
        self.openai.close()
        self.anthropic.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, way: str, model: str, tools: dict[str, Any]) -> Said:
        api, _, whole = way.partition(" ")
        asked = getattr(self, f"_{api}")
        said: Said = asked(model, tools, is_whole=bool(whole))
        return said

    def _chat(self, model: str, tools: dict[str, Any], *, is_whole: bool) -> Said:
        given: Any = [
            {"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in tools.items()
        ]
        if is_whole:
            answer: Any = self.openai.chat.completions.create(model=model, messages=USER, tools=given)
        else:
            with self.openai.chat.completions.stream(
                model=model, messages=USER, tools=given, stream_options={"include_usage": True}
            ) as stream:
                answer = stream.get_final_completion()
        [choice] = answer.choices
        message = choice.message
        calls = [(call.function.name, _arguments(call.function.arguments)) for call in message.tool_calls or ()]
        assert all(call.id for call in message.tool_calls or ())
        tokens = (0, 0) if answer.usage is None else (answer.usage.prompt_tokens, answer.usage.completion_tokens)
        reasoning = (message.model_extra or {}).get("reasoning_content", "")
        return Said(message.content or "", calls, choice.finish_reason, tokens, reasoning)

    def _responses(self, model: str, tools: dict[str, Any], *, is_whole: bool) -> Said:
        given: Any = [
            {"type": "function", "name": name, "parameters": schema, "strict": False} for name, schema in tools.items()
        ]
        if is_whole:
            answer: Any = self.openai.responses.create(model=model, input="Go.", tools=given)
        else:
            with self.openai.responses.stream(model=model, input="Go.", tools=given) as stream:
                last: Any = [*stream][-1]
            if last.type == "response.failed":  # of which the client itself only tells
                raise FailedResponseError(last.response.error.message)
            answer = last.response
        calls = [(item.name, _arguments(item.arguments)) for item in answer.output if item.type == "function_call"]
        thoughts = [part.text for item in answer.output if item.type == "reasoning" for part in item.summary]
        finish = "tool_calls" if calls else "stop"
        if answer.status == "incomplete":
            finish = _INCOMPLETE.get(answer.incomplete_details.reason, answer.incomplete_details.reason)
        else:
            assert answer.status == "completed"
        tokens = (0, 0) if answer.usage is None else (answer.usage.input_tokens, answer.usage.output_tokens)
        return Said(answer.output_text, calls, finish, tokens, "".join(thoughts))

    def _messages(self, model: str, tools: dict[str, Any], *, is_whole: bool) -> Said:
        given: Any = [{"name": name, "input_schema": schema} for name, schema in tools.items()]
        asked: Any = {"model": model, "max_tokens": 99, "messages": USER, "tools": given}
        if is_whole:
            answer: Any = self.anthropic.messages.create(**asked)
        else:
            with self.anthropic.messages.stream(**asked) as stream:
                answer = stream.get_final_message()
        text, reasoning = (
            "".join(getattr(block, kind, "") for block in answer.content) for kind in ("text", "thinking")
        )
        calls = [(block.name, block.input) for block in answer.content if block.type == "tool_use"]
        tokens = (answer.usage.input_tokens, answer.usage.output_tokens)
        return Said(text, calls, _CALLING[answer.stop_reason], tokens, reasoning)


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
