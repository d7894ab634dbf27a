"""What the Responses API has on the wire: the keys that are known or left out, and how it is served."""

from __future__ import annotations

import re
from typing import Any

from ..base.response import COUNTS, ECHO, FRAME, LOGPROBS, PADDING, REPEATED, SERVER, STATE, TIMES, WireKeys, rows
from ..framing.served import Served
from ..openai_chat.parts import OPENAIS_CLIENT, openai_error


def _responses_event(message: str) -> tuple[str, Any]:
    return "error", {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 0}


RESPONSES_SERVED = Served(
    re.compile(r"/responses/?\Z"),
    "/v1/responses",
    OPENAIS_CLIENT,
    openai_error,
    _responses_event,
    garbage_event="response.output_text.delta",
)
_USAGE = "usage(input_tokens output_tokens total_tokens input_tokens_details output_tokens_details)"
_OF_EVENT = "type sequence_number item_id output_index obfuscation"
_DELTAS = (
    *("output_text", "refusal", "reasoning_text", "reasoning_summary_text", "function_call_arguments"),
    *("custom_tool_call_input", "mcp_call_arguments", "code_interpreter_call_code", "shell_call_command"),
)
_SHAPES = {
    **{
        f"response.{name}.delta": f"{_OF_EVENT} content_index summary_index command_index delta logprobs"
        for name in _DELTAS
    },
    "response.output_text.annotation.added": f"{_OF_EVENT} content_index annotation_index annotation",
    **dict.fromkeys(
        ("response.output_item.added", "response.output_item.done"), "type sequence_number output_index item"
    ),
    **dict.fromkeys(
        ("response.created", "response.queued", "response.in_progress"),
        "type sequence_number response(id model object status output error incomplete_details usage)",
    ),
    **{
        f"response.{how}": f"type sequence_number response(* {_USAGE} incomplete_details(reason))"
        for how in ("completed", "incomplete", "failed", "cancelled")
    },
    "message": ("type id role status phase content(type text refusal annotations logprobs)"),
    "reasoning": "type id status encrypted_content summary(type text) content(type text)",
    "call": (
        "type id call_id name namespace arguments input action actions operation queries code status caller"
        " server_label approval_request_id container_id execution environment(type container_id skills)"
        " pending_safety_checks async async_ created_by"
    ),
}
"""Beside the events the items that are read key by key."""
ECHOED = (
    *("access_programs", "frequency_penalty", "input_transformations", "instructions", "max_output_tokens"),
    *("max_tool_calls", "metadata", "parallel_tool_calls", "presence_penalty", "previous_response_id", "prompt"),
    *("prompt_cache_diagnostics", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning"),
    *("safety_identifier", "store", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p"),
    *("truncation", "user"),
)

KEYS = WireKeys(
    "openai-responses",
    left_out=(
        *rows(PADDING, "keepalive", "*: sequence_number", "*: obfuscation"),
        *rows(FRAME, "*: type", "*: output_index", "*: content_index", "*: summary_index", "*: item_id"),
        *rows(FRAME, "*: command_index", "*: annotation_index", "*: item.type", "*: item.content.type"),
        *rows(FRAME, "*: item.summary.type", "*: item.role", "*: item.id", "*: response.output.id", "*: item.phase"),
        *rows(FRAME, "*: part.type", "*: response.output.type", "*: response.output.content.type"),
        *rows(FRAME, "*: response.output.summary.type", "*: response.output.role", "*: response.output.phase"),
        *rows(FRAME, "response.*: response.object"),
        *rows(REPEATED, "response.*_text.done", "response.*_call_arguments.done", "response.*_input.done"),
        *rows(REPEATED, "response.*_code.done", "response.refusal.done", "response.content_part.done"),
        *rows(REPEATED, "response.reasoning_summary_part.done", "response.shell_call_command.done"),
        *rows(REPEATED, "response.completed: response.output", "response.incomplete: response.output"),
        *rows(REPEATED, "response.failed: response.output", "response.shell_call_output_content.*"),
        *rows(STATE, "response.content_part.added", "response.reasoning_summary_part.added"),
        *rows(STATE, "response.*_call.in_progress", "response.*_call.completed", "response.*_call.searching"),
        *rows(STATE, "response.*_call.generating", "response.*_call.interpreting", "response.*_call.failed"),
        *rows(STATE, "response.mcp_list_tools.*", "response.compaction.compacting", "*: item.status"),
        *rows(STATE, "*: response.output.status", "response.*: response.status", "response.output_item.added: item"),
        *rows(STATE, "response.shell_call_command.added", "response.reasoning_summary_part.done: status"),
        *rows("the first id of a response counts, and the last", "response.in_progress: response.id"),
        *rows("text came already, and this is its summary", "*: item.summary"),
        *rows("text came already, and this is its summary", "response.completed: response.output.summary"),
        *rows("encrypted anew; the item had it", "response.completed: response.output.encrypted_content"),
        *rows(ECHO, *(f"response.*: response.{key}" for key in ECHOED)),
        *rows(TIMES, "response.*: response.created_at", "response.*: response.completed_at"),
        *rows(SERVER, "response.*: response.service_tier", "response.*: response.background"),
        *rows(COUNTS, "response.*: copilot_usage", "response.*: response.tool_usage", "*response.usage.*_details"),
        *rows(COUNTS, "*response.usage.cost*", "*response.usage.num_*", "*response.usage.is_byok"),
        *rows(LOGPROBS, "*: logprobs", "*.logprobs"),
    ),
    shapes=_SHAPES,
)
