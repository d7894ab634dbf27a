"""Finish reasons: one table for each API, from the provider's words to ours.

A finish is regular if the model ended the answer by itself, so it finished what it began. Unknown words are not
regular.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from ...events.chunk_response import FinishReason
from ...operators.calls.answer_segments import REGULAR
from .sdk_fields import without_halves


class Finish(NamedTuple):
    """Our finish reason, and whether the model ended the answer by itself."""

    reason: FinishReason
    is_regular: bool = False

    def finish_fields(self, words: str, reason: FinishReason | None = None) -> dict[str, Any]:
        """Return the fields of the finish chunk; `words` is the provider's finish reason, `reason` replaces ours."""
        reason = reason or self.reason
        told = {"is_complete": True, "finish_reason": reason, "finish_reason_raw": without_halves(words)}
        return told if self.is_regular or reason not in REGULAR else {**told, "is_cut": True}


FinishReasons: TypeAlias = dict[str, Finish]

_STOP, _CALLS, _PAUSE = Finish("stop", True), Finish("tool_calls", True), Finish("pause", True)  # noqa: FBT003
_LENGTH, _FILTER, _REFUSAL = Finish("length"), Finish("content_filter"), Finish("refusal")
_ERROR, _OTHER = Finish("error"), Finish("other")

CHAT_FINISHES: FinishReasons = {
    "stop": _STOP,
    "length": _LENGTH,
    "tool_calls": _CALLS,
    "function_call": _CALLS,
    "content_filter": _FILTER,
    "refusal": _REFUSAL,
    "pause": _PAUSE,
    "error": _ERROR,
    "malformed_function_call": _ERROR,  # Gemini's, through its servers in this form
    # relatives
    "end_turn": _STOP,
    "eos": _STOP,
    "stop_sequence": _STOP,
    "max_tokens": _LENGTH,
    "model_length": _LENGTH,
    "tool_use": _CALLS,
    "tool_call": _CALLS,
    "sensitive": _FILTER,
    "safety": _FILTER,
    "network_error": _ERROR,
    "insufficient_system_resource": _ERROR,
}

RESPONSES_FINISHES: FinishReasons = {
    "completed": _STOP,
    "max_output_tokens": _LENGTH,
    "max_messages": _LENGTH,
    "content_filter": _FILTER,
    "steered": Finish("pause"),  # cut where the user spoke; a response that goes on follows
    "cancelled": _OTHER,
    "failed": _OTHER,
    "in_progress": _OTHER,
    "incomplete": _LENGTH,
    "queued": _OTHER,
}
"""Finish reasons of the Responses API, by the status of a response and by its reason for being incomplete."""

ANTHROPIC_FINISHES: FinishReasons = {
    "end_turn": _STOP,
    "stop_sequence": _STOP,
    "max_tokens": _LENGTH,
    "model_context_window_exceeded": _LENGTH,
    "tool_use": _CALLS,
    "pause_turn": _PAUSE,
    "compaction": _PAUSE,  # the API stopped to show its summary: the same request goes on
    "refusal": _REFUSAL,
}

GEMINI_FINISHES: FinishReasons = {
    "STOP": _STOP,
    "MAX_TOKENS": _LENGTH,
    "SAFETY": _FILTER,
    "RECITATION": _FILTER,
    "BLOCKLIST": _FILTER,
    "PROHIBITED_CONTENT": _FILTER,
    "SPII": _FILTER,
    "IMAGE_SAFETY": _FILTER,
    "IMAGE_PROHIBITED_CONTENT": _FILTER,
    "IMAGE_RECITATION": _FILTER,
    "MODEL_ARMOR": _FILTER,
    "CONTINUATION": Finish("pause"),  # cut at the limit of one request; the next one goes on
    "MALFORMED_FUNCTION_CALL": _ERROR,
    "MALFORMED_RESPONSE": _ERROR,
    "UNEXPECTED_TOOL_CALL": _ERROR,
    "TOO_MANY_TOOL_CALLS": _ERROR,
    "MISSING_THOUGHT_SIGNATURE": _ERROR,
    "ESCALATION": _OTHER,
    "FINISH_REASON_UNSPECIFIED": _OTHER,
    "IMAGE_OTHER": _OTHER,
    "LANGUAGE": _OTHER,
    "NO_IMAGE": _OTHER,
    "OTHER": _OTHER,
    "PUP_LIMITED_DISABLED": _OTHER,
    # Written as numbers by servers asked for them; above 4 the two documents number differently.
    "1": _STOP,
    "2": _LENGTH,
    "3": _FILTER,
    "4": _FILTER,
}

CONVERSE_FINISHES: FinishReasons = {
    "end_turn": _STOP,
    "stop_sequence": _STOP,
    "tool_use": _CALLS,
    "max_tokens": _LENGTH,
    "model_context_window_exceeded": _LENGTH,
    "content_filtered": _FILTER,
    "guardrail_intervened": _FILTER,
    "malformed_model_output": _ERROR,
    "malformed_tool_use": _ERROR,
}

COHERE_FINISHES: FinishReasons = {
    "COMPLETE": _STOP,
    "STOP_SEQUENCE": _STOP,
    "TOOL_CALL": _CALLS,
    "MAX_TOKENS": _LENGTH,
    "ERROR_LIMIT": _LENGTH,
    "ERROR_TOXIC": _FILTER,
    "ERROR": _ERROR,
    "TIMEOUT": _ERROR,
    "USER_CANCEL": _OTHER,
}

INTERACTIONS_FINISHES: FinishReasons = {
    "completed": _STOP,
    "requires_action": _CALLS,
    "incomplete": _LENGTH,
    "budget_exceeded": _LENGTH,
    "requires_continuation": Finish("pause"),  # cut at a checkpoint, from which another request goes on
    "failed": _ERROR,
    "cancelled": _OTHER,
}

ASSISTANTS_FINISHES: FinishReasons = {
    "completed": _STOP,
    "requires_action": _CALLS,
    "max_completion_tokens": _LENGTH,
    "max_prompt_tokens": _LENGTH,
    "content_filter": _FILTER,
    "incomplete": _LENGTH,
    "failed": _ERROR,
    "cancelled": _OTHER,
    "expired": _OTHER,
}
"""Finish reasons of the Assistants API, by the status of a run and by its reason for being incomplete."""

OLLAMA_FINISHES: FinishReasons = {"stop": _STOP, "length": _LENGTH, "load": _OTHER, "unload": _OTHER}


def finish_of(table: FinishReasons, word: str) -> Finish:
    """Return the finish for a provider's word; `other`, not regular, for an unknown one.

    >>> finish_of(CHAT_FINISHES, "eos"), finish_of(CHAT_FINISHES, "made up")
    (Finish(reason='stop', is_regular=True), Finish(reason='other', is_regular=False))
    """
    return table.get(word, _OTHER)
