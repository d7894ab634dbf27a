"""What Gemini sends besides texts and calls: the tables of its keys, under the SDK's names, and their kinds."""

from __future__ import annotations

from typing import Any, TypeAlias

from ...events.chunk_response import ProviderEventKind
from ..fields.sdk_fields import Fields
from ..fields.surrogates import says_something
from .gemini_fields import camel_case, wire_form

Kinds: TypeAlias = dict[str, ProviderEventKind]

OF_RESPONSE: Kinds = {"prompt_feedback": "safety", "model_status": "other"}
"""Kinds of the keys of a response."""
OF_CANDIDATE: Kinds = {
    "citation_metadata": "citation",
    "grounding_metadata": "grounding",
    "url_context_metadata": "grounding",
    "grounding_attributions": "grounding",
    "safety_ratings": "safety",
    "logprobs_result": "logprobs",
    "avg_logprobs": "logprobs",
    "continuation_token": "other",
}
"""Kinds of the keys of a candidate."""
RESULTS = ("code_execution_result", "function_response", "tool_response")
"""Keys of a part that is the result of a tool that the provider ran."""
METADATA = ("media_resolution", "part_metadata", "video_metadata")
"""Keys that describe a part: an event of the kind `other`."""
BESIDE = frozenset((*METADATA, "thought", "thought_signature"))
"""Keys of a part that are not content."""
PART = BESIDE | {"executable_code", "file_data", "function_call", "inline_data", "text", "tool_call", *RESULTS}
"""The known keys of a part; a part with others is `raw`."""

NOT_UNKNOWN_OF_RESPONSE = frozenset(
    ("candidates", "create_time", "model_version", "parsed", "response_id", "usage_metadata", "error"),
) | {"automatic_function_calling_history", "sdk_http_response", *OF_RESPONSE}
NOT_UNKNOWN_OF_CANDIDATE = frozenset(
    ("content", "finish_message", "finish_reason", "index", "token_count", *OF_CANDIDATE),
)


def sorted_by_kind(
    fields: Fields, kinds: Kinds, known: frozenset[str]
) -> tuple[list[tuple[ProviderEventKind, dict[str, Any]]], dict[str, Any]]:
    """Return the events of an object's keys, and the keys that are unknown.

    >>> sorted_by_kind({"prompt_feedback": {"blockReason": "SAFETY"}, "new": 1}, OF_RESPONSE, NOT_UNKNOWN_OF_RESPONSE)
    ([('safety', {'promptFeedback': {'blockReason': 'SAFETY'}})], {'new': 1})
    """
    said: dict[str, Any] = {}
    for key, value in fields.items():
        if (key in kinds or key not in known) and value is not None and says_something(plain := wire_form(value)):
            said[key] = plain
    events: list[tuple[ProviderEventKind, dict[str, Any]]] = [
        (kind, {camel_case(key): said[key]}) for key, kind in kinds.items() if key in said
    ]
    return events, {camel_case(key): plain for key, plain in said.items() if key not in kinds}
