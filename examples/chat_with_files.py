"""A chat whose files appear on the terminal while the model writes them: python examples/chat_with_files.py

With OPENAI_API_KEY it talks to the model of OPENAI_MODEL; without, recorded answers are played. Ctrl-C stops an answer.
"""

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from openai import OpenAI
from recordings import keys_or_recordings

from penstock.events import ProviderError
from penstock.pipeline import Pipeline
from penstock.sinks import collect, terminal_view

FOLDER = Path("chat_files").resolve()


def write_file(path: str, content: str) -> str:
    """Write a file in the user's folder. Say the path first."""
    file = (FOLDER / path).resolve()
    if not file.is_relative_to(FOLDER):
        return "refused: this is not in the folder"
    file.parent.mkdir(parents=True, exist_ok=True)
    return f"{file.write_text(content, encoding='utf-8')} characters written"


pipeline = Pipeline(tools=[write_file], sinks=[terminal_view(), collect])
run = {tool.name: tool.run for tool in pipeline.tools or ()}


def ask(request: Any, messages: list[Any]) -> bool:
    """Show one answer, run what it calls, and give whether the model is to be told of that."""
    with pipeline.stream(partial(request, messages=messages)) as events:
        list(events)  # the sinks have them
    _, answer = events.results
    said: list[Any] = [{"role": "assistant", "content": answer.text}]
    for call in (*answer.invocations, *answer.failures):
        function = {"name": call.name, "arguments": call.raw}
        said[0].setdefault("tool_calls", []).append({"id": call.id, "type": "function", "function": function})
        result = run[call.name](call) if call in answer.invocations else f"not run: {call.reason}"
        said.append({"role": "tool", "tool_call_id": call.id, "content": result})
    messages += said
    return len(said) > 1


with suppress(EOFError, KeyboardInterrupt), keys_or_recordings("chat_two_files", "chat_written"), OpenAI() as client:
    model, tools = os.environ.get("OPENAI_MODEL", "gpt-5"), pipeline.tool_schemas("openai-chat")
    request = partial(client.chat.completions.create, model=model, tools=tools, stream=True)
    messages: list[Any] = []
    while prompt := input("\nyou> "):
        messages.append({"role": "user", "content": prompt})
        with suppress(ProviderError, KeyboardInterrupt):  # the view says what happened
            while ask(request, messages):
                pass
