"""OpenAI's Assistants API: the served API, the wire, and the machine from its events to ChunkResponses."""

from __future__ import annotations

import json
import re
from typing import Any

from ...events.chunk_response import ChunkResponse, TokenUsage
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ..base.endings import ASSISTANTS_FINISHES, error_in_body, finish_of, reported_error
from ..base.response import (
    COUNTS,
    ECHO,
    FRAME,
    REPEATED,
    STATE,
    TIMES,
    SingleMachine,
    TextStream,
    WireKeys,
    rows,
    token_count,
)
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json, says_something
from ..base.shown_text import ShownText, add_shown
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


_ENDS = frozenset({"requires_action", "completed", "incomplete", "failed", "cancelled", "expired"})
_TEXTS = {"code_interpreter": "input"}
"""The key of the text that a built-in tool is called with."""
_STREAMS: tuple[TextStream, ...] = ("content", "refusal")
_RESULTS = {"code_interpreter": "outputs", "file_search": "results"}


class Assistants(SingleMachine):
    """The machine: SDK events or the wire's, `{"event": ..., "data": ...}`, in; equal ChunkResponses out for both.

        thread.message.delta  "Hi"                     [ChunkResponse(content="Hi")]
        thread.run.step.delta  f {"a": 1               [ChunkResponse(tool_calls=(f {"a": 1,))]
        thread.run.requires_action  f {"a": 1}         [ChunkResponse(tool_calls=(done,)), ChunkResponse(finish)]

    Follows the Assistants streaming reference. The id and the model are the run's. Calls are whole when the run
    requires action; the finish is the status of the run, or its reason for being incomplete.
    """

    KEYS = KEYS
    NAMES_IN_PIECES = True
    STATE = (*SingleMachine.STATE, "_has_clients_calls", "_keys", "_results", "_spoken")

    def __init__(self, *, turn_id: str | None = None, limits: Limits = DEFAULT_LIMITS, logprobs: bool = False) -> None:
        super().__init__(turn_id, limits, compares_arguments=True, logprobs=logprobs)
        self._keys: dict[str, str] = {}
        """The keys of the calls, by their ids."""
        self._results: list[str] = []
        """The ids of the calls whose results were passed on."""
        self._spoken: dict[str, dict[str, ShownText]] = {}
        """What was shown of the messages of which a delta came, by their ids, and by the stream."""
        self._has_clients_calls = False

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        """Return the chunks for one event; none for an event without content."""
        if self.stopped or item is None:
            return []
        event = fields_of(item)
        if event is None:
            return self.raw(item)
        kind = event.get("event")
        chunks = self._event(item, event)
        return self.with_strangers(chunks, kind, event, key="event") if isinstance(kind, str) else chunks

    def _event(self, item: Any, event: Fields) -> list[ChunkResponse]:
        kind, data = event.get("event"), fields_of(event.get("data")) or {}
        if not isinstance(kind, str):
            return self.unread(item, event)
        if kind == "thread.message.delta":
            return self._message_delta(data)
        if kind == "thread.run.step.delta":
            details = fields_of((fields_of(data.get("delta")) or {}).get("step_details")) or {}
            return self._calls(data, details, is_whole=False)
        if kind in ("thread.run.step.completed", "thread.run.step.failed"):
            return self._calls(data, fields_of(data.get("step_details")) or {}, is_whole=True)
        if kind in ("thread.message.completed", "thread.message.incomplete"):
            return self._whole_message(data)
        if kind == "error":
            return self._error(event.get("data"))
        if kind.startswith("thread.run.") and "step" not in kind:
            return self._run(kind, data)
        return [] if kind == "done" or KEYS.has_left_out(kind) else self._other(item)

    def _error(self, data: Any) -> list[ChunkResponse]:
        told = reported_error(fields_of(data) or {})
        return self.fail(error_in_body(plain_json(data if told is None else told.body)))

    def _other(self, item: Any) -> list[ChunkResponse]:
        return self.raw(item) if fields_of(item) else []

    def _message_delta(self, data: Fields) -> list[ChunkResponse]:
        chunks = self._parts(fields_of(data.get("delta")) or {})
        if isinstance(name := data.get("id"), str):
            shown = self._spoken.setdefault(name, {stream: ShownText() for stream in _STREAMS})
            add_shown(shown, chunks)
        return chunks

    def _whole_message(self, data: Fields) -> list[ChunkResponse]:
        name = data.get("id")
        shown = self._spoken.get(name) if isinstance(name, str) else None
        chunks = self._parts(data) if shown is None else self._unsaid(shown, data)
        if says_something(attachments := plain_json(data.get("attachments"))):
            chunks += self.event("file", {"attachments": attachments})
        return chunks

    def _unsaid(self, shown: dict[str, ShownText], message: Fields) -> list[ChunkResponse]:
        """Return what was not shown of the last message's texts."""
        if shown is not list(self._spoken.values())[-1]:
            return []
        whole = dict.fromkeys(_STREAMS, "")
        for part in map(fields_of, entries_of(message.get("content"))):
            refusal, text = (part or {}).get("refusal"), (fields_of((part or {}).get("text")) or {}).get("value")
            whole["refusal"] += refusal if isinstance(refusal, str) else ""
            whole["content"] += text if isinstance(text, str) else ""
        return [chunk for stream in _STREAMS for chunk in self.unsaid(stream, shown[stream], whole[stream])]

    def _parts(self, message: Fields) -> list[ChunkResponse]:
        chunks: list[ChunkResponse] = []
        for part in map(fields_of, entries_of(message.get("content"))):
            chunks += self._part(part or {})
        return chunks

    def _part(self, part: Fields) -> list[ChunkResponse]:
        kind = part.get("type")
        if kind == "text":
            text = fields_of(part.get("text")) or {}
            value = text.get("value")
            chunks = self.followed() if value else []
            chunks += self.text("content", value)
            for annotation in entries_of(text.get("annotations")):
                chunks += self.event("citation", annotation)
            return self.with_strangers(chunks, "part", part)
        if kind == "refusal":
            return self.with_strangers(self.text("refusal", part.get("refusal")), "part", part)
        url = (fields_of(part.get("image_url")) or {}).get("url")
        if kind == "image_url" and isinstance(url, str) and url:
            return self.with_strangers(self.other(image_urls=(url,)), "part", part)
        if kind in ("image_file", "image_url"):
            return self.event("file", part)
        return self.raw({"content": plain_json(part)})

    def new_part(self, _name: str, _state: Any, /) -> ShownText:
        """Return what was shown of an empty text, into which its state will be loaded."""
        return ShownText()

    def _calls(self, step: Fields, details: Fields, *, is_whole: bool) -> list[ChunkResponse]:
        chunks: list[ChunkResponse] = []
        for place, call in enumerate(map(fields_of, entries_of(details.get("tool_calls")))):
            chunks += self._call(step, place, call or {}, is_whole=is_whole)
        if is_whole and says_something(error := plain_json(step.get("last_error"))):
            chunks += self.event("other", {"last_error": error})
        return chunks

    def _call(self, step: Fields, place: int, call: Fields, *, is_whole: bool) -> list[ChunkResponse]:
        index, call_id, kind = call.get("index"), call.get("id"), str(call.get("type") or "function")
        key = f"{step.get('id')}:{index if isinstance(index, int) else place}"
        if isinstance(call_id, str) and call_id:
            key = self._keys.setdefault(call_id, key)
        inner = fields_of(call.get(kind)) or {}
        is_clients = kind == "function"
        name = inner.get("name") if is_clients else kind if call_id else None
        arguments = inner.get("arguments") if is_clients else inner.get(_TEXTS.get(kind, ""))
        self._has_clients_calls = self._has_clients_calls or is_clients
        if is_whole and key in self.calls.ended:
            return self.call(self.calls.whole(key, arguments, "step")) + self._result(kind, call_id, inner)
        if is_whole and self.calls.waits(key):
            self.calls.whole(key, arguments, "step")  # in place of pieces that came without a name
        delta = self.calls.delta(
            key,
            call_id=call_id,
            name=name,
            arguments=None if is_whole else arguments,
            kind="json" if is_clients else "text" if kind in _TEXTS else "object",
            executed_by="client" if is_clients else "provider",
            native=None if is_clients or not call_id else {"type": kind},
        )
        chunks = self.call(delta)
        if is_whole:
            chunks += self.call(self.calls.whole(key, arguments, "step"))
            chunks += self.call(self.calls.done(key, "completed"))
            chunks += self._result(kind, call_id, inner)
        return chunks

    def _result(self, kind: str, call_id: object, inner: Fields) -> list[ChunkResponse]:
        name = _RESULTS.get(kind)
        found = plain_json(inner.get(name)) if name else None
        if name is None or not says_something(found) or call_id in self._results:
            return []
        self._results.append(str(call_id))
        return self.event("tool_result", {"type": kind, name: found}, call_id)

    def _run(self, kind: str, run: Fields) -> list[ChunkResponse]:
        self.identify(run.get("id"), run.get("model"))
        status = kind.removeprefix("thread.run.")
        if status not in _ENDS:
            return []
        action = fields_of((fields_of(run.get("required_action")) or {}).get("submit_tool_outputs")) or {}
        chunks: list[ChunkResponse] = []
        for place, call in enumerate(map(fields_of, entries_of(action.get("tool_calls")))):
            chunks += self._call({"id": kind}, place, call or {}, is_whole=True)
        details = fields_of(run.get("incomplete_details")) or {}
        reason = details.get("reason") if isinstance(details.get("reason"), str) else None
        usage = self.new_usage(_usage(fields_of(run.get("usage")) or {}))
        said = {} if usage is None else {"usage": usage}
        words = reason or status
        chunks += self.finish(finish_of(ASSISTANTS_FINISHES, words), words, has_calls=self._has_clients_calls, **said)
        error = run.get("last_error")
        return chunks + self.fail(error_in_body(plain_json(error))) if status == "failed" and error else chunks


def _usage(fields: Fields) -> TokenUsage:
    details = fields_of(fields.get("prompt_token_details")) or fields_of(fields.get("prompt_tokens_details")) or {}
    prompt, completion = token_count(fields, "prompt_tokens"), token_count(fields, "completion_tokens")
    reasoning = token_count(fields_of(fields.get("completion_tokens_details")) or {}, "reasoning_tokens")
    total = token_count(fields, "total_tokens") or prompt + completion
    return TokenUsage(prompt, completion, total, token_count(details, "cached_tokens"), reasoning)
