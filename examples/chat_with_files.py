"""A chat whose files appear on the terminal while the model writes them: python examples/chat_with_files.py

With OPENAI_API_KEY it talks to the model of OPENAI_MODEL; without, recorded answers are played. Ctrl-C stops an answer.
"""

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from openai import OpenAI
from recordings import keys_or_recordings, quiet_when_closed

from penstock import Pipeline, ProviderError, ToolResult, terminal_view

FOLDER = Path("chat_files").resolve()


def write_file(path: str, content: str) -> str:
    """Write a file in the user's folder. Say the path first."""
    file = (FOLDER / path).resolve()
    if not file.is_relative_to(FOLDER):
        return "refused: this is not in the folder"
    file.parent.mkdir(parents=True, exist_ok=True)
    return f"{file.write_text(content, encoding='utf-8')} characters written"


pipeline = Pipeline(tools=[write_file])
run = {tool.name: tool.run for tool in pipeline.tools or ()}


def ask(request: Any, messages: list[Any]) -> bool:
    """Show one answer, run what it calls, and return whether the model is to be told of that."""
    with pipeline.stream(partial(request, messages=messages)) as events:
        terminal_view()(events)
    answer = events.answer
    results = [ToolResult(call.id, value=run[call.name](call)) for call in answer.invocations]
    messages += answer.to_messages("openai-chat", results)
    return answer.expects_reply


with (
    suppress(EOFError, KeyboardInterrupt),
    quiet_when_closed(),
    keys_or_recordings("chat_two_files", "chat_written"),
    OpenAI() as client,
):
    model, tools = os.environ.get("OPENAI_MODEL", "gpt-5"), pipeline.tool_schemas("openai-chat")
    request = partial(client.chat.completions.create, model=model, tools=tools, stream=True)
    messages: list[Any] = []
    while prompt := input("\nyou> "):
        messages.append({"role": "user", "content": prompt})
        with suppress(ProviderError, KeyboardInterrupt):  # the view says what happened
            while ask(request, messages):
                pass
