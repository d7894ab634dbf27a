"""`chat_chunk`: LangChain's `AIMessageChunk` as the chunk of a chat completion that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.sdk_fields import Fields, entries_of, fields_of

TYPE = "AIMessageChunk"
_FINISHES = ("finish_reason", "stop_reason", "done_reason")
_OF_RESPONSES = {"completed": "stop", "max_output_tokens": "length", "content_filter": "content_filter"}
# Parts of the content that say again what `tool_call_chunks` have.
_CALLS = frozenset({"tool_use", "input_json_delta", "tool_call", "tool_call_chunk", "function_call"})
_COUNTS = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens", "total_tokens": "total_tokens"}
_DETAILS = {
    "prompt_tokens_details": ("input_token_details", "cache_read", "cached_tokens"),
    "completion_tokens_details": ("output_token_details", "reasoning", "reasoning_tokens"),
}


def chat_chunk(message: Fields, counted: dict[str, Any]) -> Fields:
    """Return the chunk of a chat completion; `counted`: what keeps the tokens, which LangChain's chunks add up.

    >>> chunk = chat_chunk({"type": "AIMessageChunk", "id": "m", "content": "Hi"}, {})
    >>> chunk["id"], chunk["choices"]
    ('m', [{'index': 0, 'delta': {'content': 'Hi'}, 'finish_reason': None}])
    """
    extras = fields_of(message.get("additional_kwargs")) or {}
    metadata = fields_of(message.get("response_metadata")) or {}
    delta: Fields = {"content": _content(message.get("content"))}
    delta |= {name: extras[name] for name in ("reasoning_content", "refusal") if extras.get(name)}
    if calls := message.get("tool_call_chunks"):
        delta["tool_calls"] = [_call(each) for each in calls]
    return {
        "id": message.get("id"),
        "model": metadata.get("model_name") or metadata.get("model"),
        "choices": [{"index": 0, "delta": delta, "finish_reason": _finish(metadata)}],
        "usage": _usage(message.get("usage_metadata"), counted),
    }


def messages_in(items: Sequence[Any]) -> Sequence[Any]:
    """Return the message of LangGraph's pair of message and metadata; of any other list its items.

    >>> messages_in(({"type": "AIMessageChunk", "content": "Hi"}, {"langgraph_node": "model"}))
    ({'type': 'AIMessageChunk', 'content': 'Hi'},)
    """
    match items:
        case [message, {"langgraph_node": _}]:
            return (message,)
        case _:
            return items


def _content(content: Any) -> Any:
    """Return a text as it is, and a list as the parts that Mistral's chat has."""
    if isinstance(content, str):
        return content
    parts: list[Any] = []
    for each in entries_of(content):
        part = {"type": "text", "text": each} if isinstance(each, str) else fields_of(each) or {}
        kind = part.get("type")
        if kind == "reasoning":
            texts = [part.get("reasoning")]
            texts += [entry.get("text") for entry in map(fields_of, entries_of(part.get("summary"))) if entry]
            part = {"type": "thinking", "thinking": "".join(text for text in texts if isinstance(text, str))}
        if kind not in _CALLS:
            parts.append({name: value for name, value in part.items() if name != "index"})
    return parts or ""


def _call(chunk: Fields) -> Fields:
    return {
        "index": chunk.get("index"),
        "id": chunk.get("id"),
        "function": {"name": chunk.get("name"), "arguments": chunk.get("args")},
    }


def _finish(metadata: Fields) -> str | None:
    for name in _FINISHES:
        if isinstance(word := metadata.get(name), str) and word:
            return word
    cut = (fields_of(metadata.get("incomplete_details")) or {}).get("reason")
    word = cut or metadata.get("status")
    return _OF_RESPONSES.get(word, word) if isinstance(word, str) else None


def _usage(given: Any, counted: dict[str, Any]) -> Fields | None:
    usage = fields_of(given)
    if not usage:
        return None
    for name, ours in _COUNTS.items():
        counted[ours] = counted.get(ours, 0) + (usage.get(name) or 0)
    for ours, (name, of, our) in _DETAILS.items():
        details = fields_of(usage.get(name)) or {}
        counted[ours] = {our: counted.get(ours, {}).get(our, 0) + (details.get(of) or 0)}
    return dict(counted)
