"""What a chat chunk has besides texts, calls and usage: the tables of its keys, and their events."""

from __future__ import annotations

from typing import Any, TypeAlias

from ...events.chunk_response import ProviderEventKind
from ..fields.left_out import keys_left_out
from ..fields.sdk_fields import Fields, entries_of, fields_of
from ..fields.surrogates import plain_json, plain_object, says_something
from ..machine.answers import Choice
from .chat_parts import OPAQUE, REASONING

Kinds: TypeAlias = dict[str, ProviderEventKind]

API = "openai-chat"

OF_CHUNK: Kinds = {
    "citations": "grounding",  # Perplexity, xAI
    "search_results": "grounding",  # Perplexity
    "images": "grounding",  # Perplexity
    "related_questions": "grounding",  # Perplexity
    "prompt_filter_results": "safety",  # Azure
    "moderation": "safety",
}
"""Kinds of the keys of a chunk. Servers repeat these in each chunk: an event comes where the value changes."""
OF_CHOICE: Kinds = {
    "content_filter_results": "safety",  # Azure
    "content_filter_result": "safety",
    "content_filter_offsets": "safety",
}
"""Kinds of the keys of a choice, of which an event comes where the value changes, too."""
OF_DELTA: Kinds = {
    "annotations": "citation",
    "citations": "citation",
    "executed_tools": "tool_result",  # Groq
    "search_results": "grounding",
    "graph_data": "grounding",  # Writer
    "web_search_data": "grounding",  # Writer
    "llm_data": "other",  # Writer
    "translation_data": "other",  # Writer
    "image_data": "other",  # Writer
    "provider_metadata": "other",  # Vercel's gateway
}
"""Kinds of the keys of a delta."""
OF_PART: Kinds = {"reference": "citation", "tool_reference": "citation", "tool_file": "file"}
"""Kinds of the parts of Mistral's list-typed content."""
EACH = frozenset(("annotations", "executed_tools"))
"""Keys with a list whose entries are an event each."""

_READ_OF_CHUNK = frozenset(("id", "model", "choices", "usage", "error", "x_groq"))
_READ_OF_CHOICE = frozenset(("delta", "finish_reason", "error", "logprobs"))
_READ_OF_ERROR = frozenset(("message", "type", "code", "status", "status_code"))
_READ_OF_DELTA = frozenset(
    ("content", "reasoning_details", "refusal", "images", "audio", "tool_calls", "function_call", OPAQUE, *REASONING),
)

NOT_UNKNOWN_OF_CHUNK = _READ_OF_CHUNK | OF_CHUNK.keys() | keys_left_out(API)
NOT_UNKNOWN_OF_PART = keys_left_out(API, "choices.delta.content") | {
    *("text", "thinking", "summary", "image_url", "signature", "encrypted_content"),
}
_NOT_UNKNOWN_OF_CHOICE = _READ_OF_CHOICE | OF_CHOICE.keys() | keys_left_out(API, "choices")
_NOT_UNKNOWN_OF_DELTA = _READ_OF_DELTA | keys_left_out(API, "choices.delta")


def add_choice_extras(choice: Choice, fields: Fields, said: dict[str, Any], *, logprobs: bool) -> None:
    """Add the events of a choice's own keys; `said`: what was said last, by key."""
    if rest := unknown(fields, _NOT_UNKNOWN_OF_CHOICE):
        choice.raw(rest)
    for key, data in changed(fields, OF_CHOICE, said, f"{choice.number}:").items():
        choice.event(OF_CHOICE[key], data)
    if logprobs and says_something(plain := plain_json(fields.get("logprobs"))):
        choice.event("logprobs", plain_object(plain))


def add_delta_extras(choice: Choice, delta: Fields) -> None:
    """Add the events of the keys of a delta that are no part of the answer's text."""
    for key, plain in unknown(delta, _NOT_UNKNOWN_OF_DELTA).items():
        kind = OF_DELTA.get(key)
        if kind is None:
            choice.raw({key: plain})
        elif key in EACH:
            for each in entries_of(plain):
                choice.event(kind, plain_object(each))
        else:
            choice.event(kind, {key: plain})


def changed(fields: Fields, kinds: Kinds, said: dict[str, Any], before: str = "") -> dict[str, dict[str, Any]]:
    """Return the data of the keys with a kind whose value has changed since it was said last."""
    if kinds.keys().isdisjoint(fields):
        return {}
    found: dict[str, dict[str, Any]] = {}
    for key in kinds:
        plain = plain_json(fields.get(key))
        if says_something(plain) and said.get(before + key) != plain:
            said[before + key] = plain
            found[key] = {key: plain}
    return found


def error_rest(error: Any) -> dict[str, Any]:
    """Return what an error has besides the fields of ours; empty for nothing.

    >>> error_rest({"message": "no such tool", "code": "tool_use_failed", "failed_generation": "f(1)"})
    {'error': {'failed_generation': 'f(1)'}}
    """
    rest = unknown(fields_of(error) or {}, _READ_OF_ERROR)
    return {"error": rest} if rest else {}


def unknown(fields: Fields, known: frozenset[str]) -> dict[str, Any]:
    """Return the keys of an object that no table has, with what they say.

    >>> unknown({"id": "x", "new": 1, "empty": []}, frozenset({"id"}))
    {'new': 1}
    """
    if known.issuperset(fields):
        return {}
    plain = {key: plain_json(value) for key, value in fields.items() if key not in known and value is not None}
    return {key: value for key, value in plain.items() if says_something(value)} if plain else {}
