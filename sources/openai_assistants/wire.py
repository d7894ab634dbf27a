"""What the Assistants API has on the wire: the keys that are known or left out, its events, and how it is served."""

from __future__ import annotations

import json
import re
from typing import Any

from ..base.wire_keys import COUNTS, ECHO, FRAME, REPEATED, STATE, TIMES, WireKeys, rows
from ..framing.served import Served
from ..framing.sse import ServerSentEvent, SseDecoder, is_done
from ..openai_responses.wire import ECHOED, RESPONSES_SERVED


def _served_event(message: str) -> tuple[str, Any]:
    return "error", {"message": message, "type": "server_error", "param": None, "code": None}


ASSISTANTS_SERVED = Served(
    re.compile(r"/threads(?:/[^/]+)?/runs(?:/[^/]+/submit_tool_outputs)?/?\Z"),
    "/v1/threads/{thread_id}/runs",
    RESPONSES_SERVED.client,
    RESPONSES_SERVED.error_body,
    _served_event,
    garbage_event="thread.message.delta",
)


class AssistantsDecoder(SseDecoder):
    r"""Decode server-sent events to what the SDK makes of them.

        b'event: thread.message.delta\ndata: {"id": "m"}\n\n'
        [ServerSentEvent('thread.message.delta', '{"event": "thread.message.delta", "data": {"id": "m"}}')]

    The end, `[DONE]`, stays as it is.
    """

    __slots__ = ()

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that this piece completes."""
        return [_with_name(*event) for event in super().feed(piece)]

    def close(self) -> list[ServerSentEvent]:
        """Return the event that the end completes."""
        return [_with_name(*event) for event in super().close()]

    def whole(self, _: bytes, /) -> None:
        """Return nothing: the data of each event is changed."""


def _with_name(event: str, data: str) -> ServerSentEvent:
    if not event or is_done(data):
        return ServerSentEvent(event, data)
    return ServerSentEvent(event, f'{{"event": {json.dumps(event)}, "data": {data}}}')


_USAGE = "usage(prompt_tokens completion_tokens total_tokens prompt_token_details prompt_tokens_details)"
_CALLS = "tool_calls(id index type function(name arguments output) code_interpreter(input outputs) file_search)"
_SHAPES = {
    **dict.fromkeys(
        ("thread.message.completed", "thread.message.incomplete"),
        "event data(id content attachments incomplete_details)",
    ),
    "thread.message.delta": "event data(id object delta(role content))",
    "part": "type index text(value annotations) refusal image_file image_url",
    "thread.run.step.delta": f"event data(id object delta(step_details(type {_CALLS})))",
    **dict.fromkeys(
        ("thread.run.step.completed", "thread.run.step.failed"),
        f"event data(id last_error usage step_details(type message_creation {_CALLS}))",
    ),
    **{
        f"thread.run.{status}": (
            "event data(id model status last_error incomplete_details(reason) required_action(type"
            f" submit_tool_outputs({_CALLS})) {_USAGE})"
        )
        for status in ("requires_action", "completed", "incomplete", "failed", "cancelled", "expired")
    },
}

KEYS = WireKeys(
    "openai-assistants",
    left_out=(
        *rows(FRAME, "*: event", "*: data.object", "*: data.id", "*: data.thread_id", "*: data.run_id"),
        *rows(FRAME, "*: data.assistant_id", "*: data.type", "*: data.role", "thread.*: data.content.type"),
        *rows(FRAME, "thread.*: data.delta.content.type", "thread.*: data.delta.content.index"),
        *rows(FRAME, "thread.*: data.delta.content.text.index", "thread.run.step.*: data.delta.step_details.type"),
        *rows(FRAME, "thread.run.step.*: data.delta.step_details.tool_calls.index"),
        *rows(FRAME, "thread.run.step.*: data.delta.step_details.tool_calls.type"),
        *rows(FRAME, "thread.run.step.*: data.step_details.type"),
        *rows(FRAME, "thread.run.step.*: data.step_details.tool_calls.type"),
        *rows(FRAME, "thread.run.requires_action: data.required_action.type"),
        *rows(FRAME, "thread.run.requires_action: data.required_action.submit_tool_outputs.tool_calls.type"),
        *rows(ECHO, *(f"thread.run.*: data.{key}" for key in ECHOED), "thread.run.*: data.max_completion_tokens"),
        *rows(ECHO, "thread.run.*: data.max_prompt_tokens", "thread.run.*: data.response_format"),
        *rows(ECHO, "thread.run.*: data.truncation_strategy"),
        *rows(TIMES, "*: data.*_at"),
        *rows(COUNTS, "thread.run.step.*: data.usage", "*: data.usage.*_details"),
        *rows(STATE, "thread.message.*: data.status", "thread.run.*: data.status", "thread.created"),
        *rows(STATE, "thread.run.created", "thread.run.queued", "thread.run.in_progress", "thread.run.cancelling"),
        *rows(STATE, "thread.run.step.created", "thread.run.step.in_progress", "thread.run.step.cancelled"),
        *rows(STATE, "thread.run.step.expired", "thread.message.created", "thread.message.in_progress"),
        *rows(REPEATED, "thread.message.completed: data.content", "thread.*: data.file_ids"),
    ),
    shapes=_SHAPES,
)
