"""How a message of Anthropic's API ends: its words for a finish, its counts and its errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ....events.answer_end import AnswerEnd
from ....events.chunk_response import FinishReason, TokenUsage

STOP_REASONS: Final[Mapping[FinishReason, str]] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "pause": "pause_turn",
    "refusal": "refusal",
    "content_filter": "refusal",
}
"""The API's word for each finish reason; for `other` it has none, and `error` is an error of the stream."""
_FINER: Final[Mapping[str, FinishReason]] = {
    "stop_sequence": "stop",
    "model_context_window_exceeded": "length",
    "compaction": "pause",
}
"""The API's own finer words, which stay if the provider used them."""
_ENDED_BY_MODEL: Final = ("end_turn", "stop_sequence", "tool_use", "pause_turn")
_ERROR_TYPES: Final[Mapping[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def stop_reason(answer: AnswerEnd | None, *, has_refused: bool, has_calls: bool, has_cut_call: bool) -> str | None:
    """Return the reason for an answer's end; None if the API has no word for it.

    A call that was cut makes it `max_tokens`: only there a reader expects that the last call is not whole.

    >>> stop_reason(AnswerEnd(finish_reason="stop"), has_refused=False, has_calls=True, has_cut_call=False)
    'tool_use'
    """
    if answer is None or answer.finish_reason is None:
        return None
    finish, words = answer.finish_reason, answer.finish_reason_raw or ""
    word = words if _FINER.get(words) == finish else STOP_REASONS.get(finish)
    if word in _ENDED_BY_MODEL:
        if has_cut_call:
            return "max_tokens"
        if answer.status not in ("complete", "paused"):
            return None
        if has_refused:
            return "refusal"
        if has_calls and finish == "stop":
            return "tool_use"
    return word


def usage(counts: Iterable[TokenUsage | None]) -> dict[str, Any]:
    """Return the tokens of the turns together.

    >>> usage([TokenUsage(prompt=9, completion=4, cached=2)])
    {'input_tokens': 7, 'output_tokens': 4, 'cache_read_input_tokens': 2}
    """
    known = [each for each in counts if each is not None]
    prompt, completion, cached, reasoning = (
        sum(getattr(each, name) for each in known) for name in ("prompt", "completion", "cached", "reasoning")
    )
    return {
        "input_tokens": prompt - cached,
        "output_tokens": completion,
        **({"cache_read_input_tokens": cached} if cached else {}),
        **({"output_tokens_details": {"thinking_tokens": reasoning}} if reasoning else {}),
    }


def error_event(error: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event for a described error, with a type that the API has.

    >>> error_event({"class": "ProviderError", "detail": "try later", "status": 529})
    {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'try later'}}
    """
    kind, status = error.get("type"), error.get("status")
    if kind not in _ERROR_TYPES.values():
        kind = _ERROR_TYPES.get(status if isinstance(status, int) else 500, "api_error")
    message = error.get("detail") or error.get("message") or error.get("class") or "the stream failed"
    return {"type": "error", "error": {"type": kind, "message": message}}
