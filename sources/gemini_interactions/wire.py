"""What the Interactions API has on the wire: the keys that are known or left out, and how it is served."""

from __future__ import annotations

import re
from typing import Any

from ..base.wire_keys import COUNTS, FRAME, PADDING, REPEATED, SERVER, STATE, SUMS, TIMES, WireKeys, rows
from ..framing.served import Served
from ..gemini.wire import GEMINI_SERVED


def _served_event(message: str) -> tuple[str, Any]:
    return "error", {"event_type": "error", "error": {"code": "unavailable", "message": message}}


INTERACTIONS_SERVED = Served(
    re.compile(r"/interactions/?\Z"),
    "/v1/interactions",
    GEMINI_SERVED.client,
    GEMINI_SERVED.error_body,
    _served_event,
    sse_type="text/event-stream",
)
_USAGE = (
    "usage(total_input_tokens total_output_tokens total_tokens total_cached_tokens total_thought_tokens "
    "total_tool_use_tokens)"
)
_SHAPES = {
    "interaction.created": f"event_type event_id metadata({_USAGE}) interaction(id model status steps"
    f" object created updated service_tier {_USAGE})",
    "interaction.completed": (f"event_type event_id metadata({_USAGE}) interaction(* {_USAGE})"),
    "interaction.status_update": f"event_type event_id interaction_id status {_USAGE}",
    "step.start": f"event_type event_id index step metadata({_USAGE})",
    "step.delta": f"event_type event_id index delta metadata({_USAGE})",
    "step.stop": f"event_type event_id index {_USAGE} step_usage metadata({_USAGE})",
    "thought": "type summary(*) signature",
    "model_output": "type content(*) error",
    "text": "type text annotations",
    "media": "type data uri mime_type",
    "call": "type id name arguments signature",
    "arguments_delta": "type arguments",
    "thought_summary": "type content(type text)",
    "thought_signature": "type signature",
    "text_annotation_delta": "type annotations",
}
"""Beside the events the steps and the deltas that are read key by key."""

KEYS = WireKeys(
    "gemini-interactions",
    left_out=(
        *rows(FRAME, "*: event_type", "*: index", "*: step.type", "*: delta.type", "*: delta.content.type"),
        *rows(FRAME, "*: delta.mime_type", "*: step.summary.type", "*: step.content.type"),
        *rows(FRAME, "interaction.*: interaction.object", "*: step.content.mime_type"),
        *rows(STATE, "interaction.*: interaction.status", "interaction.status_update: status"),
        *rows(PADDING, "*: event_id"),
        *rows(TIMES, "interaction.*: interaction.created", "interaction.*: interaction.updated"),
        *rows(SERVER, "interaction.*: interaction.service_tier"),
        *rows(REPEATED, "interaction.completed: interaction.steps"),
        *rows(COUNTS, "*usage.*_by_modality", "*usage.raw_prompt_token", "step.stop: step_usage"),
        *rows(COUNTS, "*usage.grounding_tool_count", "*usage.initial_input_tokens"),
        *rows(SUMS, "*usage.total_input_tokens", "*usage.total_output_tokens", "*usage.total_tool_use_tokens"),
    ),
    shapes=_SHAPES,
)
