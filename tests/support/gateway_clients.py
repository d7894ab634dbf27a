"""The official clients of both providers, in front of one gateway, and what each of them got."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import anthropic
import openai

WAYS = ("chat", "chat whole", "responses", "responses whole", "messages", "messages whole")
USER: Any = [{"role": "user", "content": "Go."}]


class Said(NamedTuple):
    """What a client got: the text, the calls with their arguments, why it ended, the tokens, and what was thought."""

    text: str
    calls: list[tuple[str, Any]]
    finish: str
    tokens: tuple[int, int]
    thought: str


class Clients:
    """The official clients of both providers, in front of one gateway."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.openai = openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0)
        self.anthropic = anthropic.Anthropic(base_url=url, api_key="-", max_retries=0)

    def close(self) -> None:
        self.openai.close()
        self.anthropic.close()

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
        calls = [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls or ()]
        assert all(call.id for call in choice.message.tool_calls or ())
        tokens = (answer.usage.prompt_tokens, answer.usage.completion_tokens)
        thought = getattr(choice.message, "reasoning_content", None) or ""
        return Said(choice.message.content or "", calls, choice.finish_reason, tokens, thought)

    def _responses(self, model: str, tools: dict[str, Any], *, is_whole: bool) -> Said:
        given: Any = [
            {"type": "function", "name": name, "parameters": schema, "strict": False} for name, schema in tools.items()
        ]
        if is_whole:
            answer: Any = self.openai.responses.create(model=model, input="Go.", tools=given)
        else:
            with self.openai.responses.stream(model=model, input="Go.", tools=given) as stream:
                answer = stream.get_final_response()
        calls = [(item.name, json.loads(item.arguments)) for item in answer.output if item.type == "function_call"]
        assert answer.status == "completed"
        tokens = (answer.usage.input_tokens, answer.usage.output_tokens)
        parts = [each for item in answer.output if item.type == "reasoning" for each in (item.content or item.summary)]
        thought = "".join(each.text for each in parts)
        return Said(answer.output_text, calls, "tool_calls" if calls else "stop", tokens, thought)

    def _messages(self, model: str, tools: dict[str, Any], *, is_whole: bool) -> Said:
        given: Any = [{"name": name, "input_schema": schema} for name, schema in tools.items()]
        asked: Any = {"model": model, "max_tokens": 99, "messages": USER, "tools": given}
        if is_whole:
            answer: Any = self.anthropic.messages.create(**asked)
        else:
            with self.anthropic.messages.stream(**asked) as stream:
                answer = stream.get_final_message()
        text = "".join(block.text for block in answer.content if block.type == "text")
        calls = [(block.name, block.input) for block in answer.content if block.type == "tool_use"]
        thought = "".join(block.thinking for block in answer.content if block.type == "thinking")
        finish = {"tool_use": "tool_calls", "end_turn": "stop"}[answer.stop_reason]
        return Said(text, calls, finish, (answer.usage.input_tokens, answer.usage.output_tokens), thought)
