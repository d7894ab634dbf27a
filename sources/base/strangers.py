"""`strangers`: what a known event has under keys that nobody knows; it reaches the chunks as `raw`.

`SHAPES` has the keys of known events that are read, or passed on whole; what else they have is a stranger. An object's
keys stand in brackets behind its own; `*` means that its machine looks after unknown keys itself. What `LEFT_OUT` has
is not repeated here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate
from functools import cache
from re import Match
from typing import Any

from .wire_keys import LEFT_OUT
from .sdk_fields import Fields, entries_of, fields_of, plain_json, says_something

_ANTHROPIC_USAGE = (
    "usage(input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens "
    "output_tokens_details(thinking_tokens))"
)
_OF_ANTHROPICS_MESSAGE = (
    "container stop_reason stop_sequence stop_details context_management diagnostics input_transformations"
)
_ANTHROPIC = {
    "message_start": f"type message(id type role model content {_OF_ANTHROPICS_MESSAGE} {_ANTHROPIC_USAGE})",
    "content_block_start": "type index content_block",
    "content_block_delta": "type index delta",
    "text_delta": "type text",
    "input_json_delta": "type partial_json",
    "thinking_delta": "type thinking estimated_tokens",
    "signature_delta": "type signature",
    "citations_delta": "type citation",
    "message_delta": f"type delta({_OF_ANTHROPICS_MESSAGE}) {_OF_ANTHROPICS_MESSAGE} {_ANTHROPIC_USAGE}",
    "text": "type text citations",
    "thinking": "type thinking signature",
    "redacted_thinking": "type data",
}
"""Beside the events the blocks and the deltas that are read key by key."""

_BEDROCK = {
    "contentBlockStart": "contentBlockIndex p start(toolUse toolResult image(format source error))",
    "contentBlockDelta": (
        "contentBlockIndex p delta(text citation toolResult toolUse(input) image(source(bytes s3Location) error)"
        " reasoningContent(text signature redactedContent data reasoningText(text signature)))"
    ),
    "metadata": "* usage(inputTokens outputTokens totalTokens cacheReadInputTokens cacheWriteInputTokens)",
}

_COHERE_MESSAGE = (
    "delta(message(role tool_plan tool_calls(* function(name arguments)) citations content(*)) finish_reason error "
    "usage(tokens(input_tokens output_tokens reasoning_tokens) cached_tokens billed_units))"
)
_COHERE = dict.fromkeys(
    (
        *("message-start", "content-start", "content-delta", "tool-plan-delta", "tool-call-start", "tool-call-delta"),
        "citation-start",
    ),
    f"type index id model logprobs {_COHERE_MESSAGE}",
) | {"message-end": f"type id {_COHERE_MESSAGE.replace('delta(', 'delta(* ')}"}

_COHERE_V1 = {
    "text-generation": "event_type is_finished text",
    "tool-calls-chunk": "event_type is_finished text tool_call_delta(index name parameters text)",
    "tool-calls-generation": "event_type is_finished text tool_calls(name parameters)",
    "stream-end": "event_type is_finished finish_reason response",
}

_GEMINI_CALL = (
    "name id args partial_args(json_path string_value bool_value number_value null_value will_continue) will_continue"
)
_GEMINI = {
    "content": "role parts",
    "function_call": _GEMINI_CALL,
    "inline_data": "mime_type data display_name",
    "file_data": "mime_type file_uri display_name",
    "usage_metadata": (
        "prompt_token_count tool_use_prompt_token_count candidates_token_count thoughts_token_count"
        " total_token_count cached_content_token_count prompt_tokens_details candidates_tokens_details"
        " tool_use_prompt_tokens_details cache_tokens_details traffic_type service_tier"
    ),
}
"""The objects that are read key by key."""

_INTERACTIONS_USAGE = (
    "usage(total_input_tokens total_output_tokens total_tokens total_cached_tokens total_thought_tokens "
    "total_tool_use_tokens)"
)
_INTERACTIONS = {
    "interaction.created": f"event_type event_id metadata({_INTERACTIONS_USAGE}) interaction(id model status steps"
    f" object created updated service_tier {_INTERACTIONS_USAGE})",
    "interaction.completed": (
        f"event_type event_id metadata({_INTERACTIONS_USAGE}) interaction(* {_INTERACTIONS_USAGE})"
    ),
    "interaction.status_update": f"event_type event_id interaction_id status {_INTERACTIONS_USAGE}",
    "step.start": f"event_type event_id index step metadata({_INTERACTIONS_USAGE})",
    "step.delta": f"event_type event_id index delta metadata({_INTERACTIONS_USAGE})",
    "step.stop": f"event_type event_id index {_INTERACTIONS_USAGE} step_usage metadata({_INTERACTIONS_USAGE})",
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

_OLLAMA = {"": "* message(* tool_calls(id index type function(name arguments index)))"}

_ASSISTANTS_USAGE = "usage(prompt_tokens completion_tokens total_tokens prompt_token_details prompt_tokens_details)"
_ASSISTANTS_CALLS = (
    "tool_calls(id index type function(name arguments output) code_interpreter(input outputs) file_search)"
)
_ASSISTANTS = {
    **dict.fromkeys(
        ("thread.message.completed", "thread.message.incomplete"),
        "event data(id content attachments incomplete_details)",
    ),
    "thread.message.delta": "event data(id object delta(role content))",
    "part": "type index text(value annotations) refusal image_file image_url",
    "thread.run.step.delta": f"event data(id object delta(step_details(type {_ASSISTANTS_CALLS})))",
    **dict.fromkeys(
        ("thread.run.step.completed", "thread.run.step.failed"),
        f"event data(id last_error usage step_details(type message_creation {_ASSISTANTS_CALLS}))",
    ),
    **{
        f"thread.run.{status}": (
            "event data(id model status last_error incomplete_details(reason) required_action(type"
            f" submit_tool_outputs({_ASSISTANTS_CALLS})) {_ASSISTANTS_USAGE})"
        )
        for status in ("requires_action", "completed", "incomplete", "failed", "cancelled", "expired")
    },
}

_CHAT_CALL = "function(name arguments) custom(name input)"
_CHAT_DELTA = (
    f"(* tool_calls(* {_CHAT_CALL}) function_call(name arguments)"
    " content(* thinking(type text)) images(type index image_url(url detail))"
    " reasoning_details(type text summary data signature id index format))"
)
_CHAT = {
    "": (
        f"* choices(* delta{_CHAT_DELTA} message{_CHAT_DELTA})"
        " usage(prompt_tokens completion_tokens total_tokens cached_tokens cache_read_input_tokens"
        " prompt_cache_hit_tokens prompt_tokens_details completion_tokens_details reasoning_tokens market_cost)"
    )
}

_RESPONSES_USAGE = "usage(input_tokens output_tokens total_tokens input_tokens_details output_tokens_details)"
_OF_EVENT = "type sequence_number item_id output_index obfuscation"
_DELTAS = (
    *("output_text", "refusal", "reasoning_text", "reasoning_summary_text", "function_call_arguments"),
    *("custom_tool_call_input", "mcp_call_arguments", "code_interpreter_call_code", "shell_call_command"),
)
_RESPONSES = {
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
        f"response.{how}": f"type sequence_number response(* {_RESPONSES_USAGE} incomplete_details(reason))"
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

SHAPES: dict[str, dict[str, str]] = {
    "anthropic-messages": _ANTHROPIC,
    "bedrock-converse": _BEDROCK,
    "cohere": _COHERE,
    "cohere-v1": _COHERE_V1,
    "gemini": _GEMINI,
    "gemini-interactions": _INTERACTIONS,
    "ollama": _OLLAMA,
    "openai-assistants": _ASSISTANTS,
    "openai-chat": _CHAT,
    "openai-responses": _RESPONSES,
}
"""By API, and by the kind of the event; the kind is empty where events have none."""


_OPEN = "*"
_MOST = 256
"""The most keys that are remembered of an object as left out."""
Read = Callable[[Any], Fields | None]


class _Shape:
    """The known keys of an object, and the shapes of the objects below it; `known` is None if all keys are known."""

    def __init__(self, path: str, names: list[str]) -> None:
        self.path = path
        self.below: dict[str, _Shape] = {}
        known: set[str] = set()
        while names and (name := names.pop(0)) != ")":
            known.add(name)
            if names and names[0] == "(":
                del names[0]
                self.below[name] = _Shape(f"{path}{name}.", names)
        self.known = None if _OPEN in known else known


@cache
def _shape(api: str, kind: str) -> _Shape | None:
    given = SHAPES[api].get(kind)
    return None if given is None else _Shape(f"{kind}: " if kind else "", re.findall(r"[()]|[^\s()]+", given))


@cache
def _left_out(api: str) -> Callable[[str], Match[str] | None]:
    rows = [row.where for row in LEFT_OUT if row.api == api]
    return re.compile("|".join(translate(where + below) for where in rows for below in ("", ".*"))).match


def strangers(api: str, kind: str, event: Fields, read: Read = fields_of, spelt: Callable[[str], str] = str) -> Fields:
    """Return what an event of a known kind has under unknown keys, at their places; empty for an unknown kind.

    >>> event = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "new": 1}}
    >>> strangers("anthropic-messages", "message_delta", event)
    {'delta': {'new': 1}}

    `read`: returns the fields of an object, under the names of the shapes; `spelt`: returns a name as the wire has it.
    """
    shape = _shape(api, kind)
    return {} if shape is None else _strangers(api, shape, event, read, spelt)


def _strangers(api: str, shape: _Shape, fields: Fields, read: Read, spelt: Callable[[str], str]) -> Fields:
    found: Fields = {}
    known = shape.known
    if known is not None and not known.issuperset(fields):
        for name in fields.keys() - known:
            if _left_out(api)(shape.path + name):
                if len(known) < _MOST:
                    known.add(name)
            elif says_something(plain := plain_json(fields[name])):
                found[spelt(name)] = plain
    for name, below in shape.below.items():
        value = fields.get(name)
        if not value:
            continue
        if isinstance(value, list):
            inner = [_strangers(api, below, each, read, spelt) for each in map(read, entries_of(value)) if each]
            if any(inner):
                found[spelt(name)] = inner
        elif (given := read(value)) and (rest := _strangers(api, below, given, read, spelt)):
            found[spelt(name)] = rest
    return found
