"""What a request of OpenAI's Assistants API wants, whose server keeps the thread: a run, and its tools' outputs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ...events.tool_invocation import result_text
from ..base.message_form import (
    AnswerPart,
    CallResult,
    MessageCall,
    MessageForm,
    Notices,
    left_out,
    text_and_calls,
    user_message,
)
from ..base.request import Request, without_none
from ..base.sdk_fields import fields_of
from ..openai_chat.request import OPENAI_CHAT


def _ask(client: Any, request: Request, tools: Any) -> Any:
    """Run an assistant, whose id is the model of the request, on a thread of its own."""
    options = without_none(tools=tools, instructions=request.system, max_completion_tokens=request.max_tokens)
    thread = {"messages": [{"role": "user", "content": request.prompt}]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # which the SDK says of this whole API
        return client.beta.threads.create_and_run(assistant_id=request.model, thread=thread, stream=True, **options)


_NAME = "openai-assistants"


def _sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    texts: list[str] = []
    for part in filter(None, map(fields_of, message.get("content") or ())):
        if part.get("type") == "text":
            texts.append(str((fields_of(part.get("text")) or {}).get("value") or ""))
        elif part.get("type") == "refusal":
            texts.append(str(part.get("refusal") or ""))
        else:
            left_out(notices, "content that is not text", _NAME)
    return {"role": "assistant", "content": "".join(texts), "tool_calls": message.get("tool_calls") or []}


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    text, calls = text_and_calls(parts, notices, _NAME)
    return {"role": "assistant", "content": text, "tool_calls": calls}


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    calls = filter(None, map(fields_of, message["tool_calls"]))
    named = [(call, fields_of(call.get("function")) or {}) for call in calls]
    return [MessageCall(str(call.get("id") or ""), str(function.get("name") or "")) for call, function in named]


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": message["content"]}] if message["content"] else []


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"tool_call_id": call.id, "output": result_text(result)} for call, result in results]


_MESSAGES = MessageForm(
    _NAME,
    "openai-assistants",
    _sendable,
    _plain,
    _calls,
    _entries,
    _results,
    user_message,
)
"""Results are the `tool_outputs` of the run, which has the calls; the message is for another thread."""

OPENAI_ASSISTANTS = OPENAI_CHAT._replace(
    name="openai-assistants",
    aliases=("assistants",),
    api="openai-assistants",
    ask=_ask,
    messages=_MESSAGES,
)
