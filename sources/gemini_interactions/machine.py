"""The Interactions API of Gemini: the served API, its steps, and the machine from its events to ChunkResponses."""

from __future__ import annotations

import re
from typing import Any

from ...events.chunk_response import ChunkResponse, TokenUsage
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ..base.call_keys import Key
from ..base.endings import INTERACTIONS_FINISHES, error_in_body, finish_of
from ..base.kept_message import Joined, set_json
from ..base.response import (
    COUNTS,
    FRAME,
    PADDING,
    REPEATED,
    SERVER,
    STATE,
    SUMS,
    TIMES,
    SingleMachine,
    WireKeys,
    rows,
    token_count,
)
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json, says_something
from ..base.shown_text import ShownText, add_shown
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


FUNCTION_CALL = "function_call"
CALLS_OWN = frozenset({"id", "name", "arguments"})
"""Keys of a call's step that are not in `native`, because the call has them."""
MEDIA = frozenset({"image", "audio", "video"})
"""Types of content that a chunk has a field for."""
KNOWN_CONTENT = MEDIA | {"text", "document"}


def known(value: Any) -> Fields | None:
    """Return the fields of an object; of one that the SDK does not know, the wire's.

    >>> known({"type": "UNKNOWN", "is_unknown": True, "raw": {"type": "new"}})
    {'type': 'new'}
    """
    fields = fields_of(value)
    if fields is not None and fields.get("is_unknown") is True:
        return fields_of(fields.get("raw")) or {}
    return fields


def call_of(kind: str, step: Fields) -> tuple[str, bool]:
    """Return the name of the tool that a step calls, and whether the client has to run it.

    >>> call_of("function_call", {"name": "f"}), call_of("google_search_call", {})
    (('f', True), ('google_search', False))
    """
    name = step.get("name")
    return (name if isinstance(name, str) and name else kind.removesuffix("_call")), kind == FUNCTION_CALL


def arguments_of(step: Fields, *, is_clients: bool) -> Any:
    """Return the arguments of a step; None for the empty object that is there before they come.

    In those of built-in tools null means missing, because the SDK writes it.

    >>> step = {"arguments": {"a": None}}
    >>> arguments_of(step, is_clients=True), arguments_of(step, is_clients=False)
    ({'a': None}, None)
    """
    given = step.get("arguments")
    return (plain_json(given) if is_clients else set_json(given)) or None


def add_result(result: Joined, given: Fields) -> None:
    """Add the fields of a delta to a result: a text is appended, as is a list; of the rest the last one counts.

    >>> result = Joined()
    >>> for text in ("Hel", "lo"):
    ...     add_result(result, {"type": "code_execution_result", "result": text})
    >>> result.whole()
    {'type': 'code_execution_result', 'result': 'Hello'}
    """
    plain: Fields = set_json(given)
    for name, value in plain.items():
        before: Any = result.fields.get(name)
        if name == "result" and isinstance(value, str):
            result.text(name, value)
        elif name == "result" and isinstance(value, list) and isinstance(before, list):
            result.fields[name] = [*before, *value]
        elif value is not None and not (name in result.fields and value == ""):
            result.fields[name] = value


_OF_INTERACTION = frozenset({"id", "model", "status", "usage", "steps"}) | KEYS.left_out("interaction.*: interaction")


class Interactions(SingleMachine):
    """The machine: the SDK's events or the wire's plain dicts in, equal ChunkResponses out for both.

        step.start  function_call f          [ChunkResponse(tool_calls=(f,))]
        step.delta  arguments_delta {"a": 1  [ChunkResponse(tool_calls=({"a": 1,))]
        step.stop                            [ChunkResponse(tool_calls=(done,))]

    Follows the reference of the Interactions API's stream. `arguments` at the start of a step count only if no delta
    comes. Calls of built-in tools and of MCP servers are run by the provider; what they returned is an event, put
    together with its deltas. The finish is the status of the completed interaction.
    """

    KEYS = KEYS
    STATE = (*SingleMachine.STATE, "_has_clients_calls", "_has_steps", "_results", "_shown")

    def __init__(self, *, turn_id: str | None = None, limits: Limits = DEFAULT_LIMITS, logprobs: bool = False) -> None:
        super().__init__(turn_id, limits, logprobs=logprobs)
        self._results: dict[Key, Joined] = {}
        """The open steps that are results."""
        self._has_clients_calls = False
        self._has_steps = False
        self._shown = {"content": ShownText(), "reasoning": ShownText()}
        """What was shown, by the stream."""

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        """Return the chunks for one event; none for an event without content."""
        if self.stopped or item is None:
            return []
        event = known(item)
        if event is None:
            return self.raw(item)
        kind = event.get("event_type")
        chunks = self._event(item, event, kind)
        return self.with_strangers(chunks, kind, event, known, key="event_type") if isinstance(kind, str) else chunks

    def _event(self, item: Any, event: Fields, kind: object) -> list[ChunkResponse]:
        if kind == "step.delta":
            return self._noted(self._delta(_key(event), event)) + self._metadata(event)
        if kind == "step.start":
            self._has_steps = True
            step = known(event.get("step")) or {}
            return self._noted(self._start(_key(event), step)) + self._metadata(event)
        if kind == "step.stop":
            return self._noted(self._stop(_key(event))) + self._usage(event.get("usage")) + self._metadata(event)
        if kind in ("interaction.created", "interaction.completed"):
            return self._interaction(kind, event)
        if kind == "interaction.status_update":
            self.identify(event.get("interaction_id"), None)
            return self._usage(event.get("usage"))
        if kind == "error":
            return self.fail(error_in_body(plain_json(event.get("error"))))
        return self.unread(item, event)

    def rest(self) -> list[ChunkResponse]:
        """Return all held text, deltas and results at the end."""
        chunks = super().rest()
        for key in list(self._results):
            chunks += self._result_end(key)
        return chunks

    def new_part(self, name: str, _state: Any, /) -> Joined | ShownText:
        """Return an empty step, or what was shown of an empty text, into which its state will be loaded."""
        return ShownText() if name == "_shown" else Joined()

    def _interaction(self, kind: str, event: Fields) -> list[ChunkResponse]:
        given = known(event.get("interaction")) or {}
        self.identify(given.get("id"), given.get("model"))
        chunks = self._metadata(event)
        if kind == "interaction.created":
            return chunks + self._usage(given.get("usage"))
        steps = [known(step) or {} for step in entries_of(given.get("steps"))]
        for number, step in enumerate(steps):
            arguments = arguments_of(step, is_clients=True)
            if self.calls.waits(number):  # of a stream that was resumed in the middle of its arguments
                self.calls.whole(number, arguments, "interaction")
                chunks += self._start(number, step) + self._stop(number)
            elif not self._has_steps:  # a server that streams nothing before the end
                key = f"{kind}:{number}"
                chunks += self._start(key, step) + self._stop(key)
        if self._has_steps or any(not shown.is_empty for shown in self._shown.values()):
            chunks += self._unsaid(steps)
        more = set_json({name: value for name, value in given.items() if name not in _OF_INTERACTION})
        if says_something(more):
            chunks += self.event("other", more)
        status = given.get("status")
        if not isinstance(status, str) or not status:
            return chunks + self._usage(given.get("usage"))
        usage = self.new_usage(interactions_usage(given.get("usage")))
        return chunks + self.finish(
            finish_of(INTERACTIONS_FINISHES, status),
            status,
            has_calls=self._has_clients_calls,
            **({} if usage is None else {"usage": usage}),
        )

    def _noted(self, chunks: list[ChunkResponse]) -> list[ChunkResponse]:
        add_shown(self._shown, chunks)
        return chunks

    def _unsaid(self, steps: list[Fields]) -> list[ChunkResponse]:
        """Return what was not shown of the texts of the steps."""
        whole = {"content": "", "reasoning": ""}
        for step in steps:
            stream = {"model_output": "content", "thought": "reasoning"}.get(str(step.get("type")))
            for content in entries_of(step.get("content" if stream == "content" else "summary")) if stream else ():
                text = (known(content) or {}).get("text")
                whole[str(stream)] += text if isinstance(text, str) else ""
        return [
            *self.unsaid("reasoning", self._shown["reasoning"], whole["reasoning"]),
            *self.unsaid("content", self._shown["content"], whole["content"]),
        ]

    def _start(self, key: Key, step: Fields) -> list[ChunkResponse]:
        kind = str(step.get("type"))
        chunks = self.followed() + self._result_end(key)
        if kind == "thought":
            for content in entries_of(step.get("summary")):
                chunks += self._summary(content)
            return self.with_strangers(chunks + self._signature(step), kind, step, known)
        if kind == "model_output":
            for content in entries_of(step.get("content")):
                chunks += self._content(content)
            chunks += self.event("other", {"error": step["error"]}) if step.get("error") else []
            return self.with_strangers(chunks, kind, step, known)
        if kind.endswith("_call"):
            return chunks + self._call(key, kind, step)
        if kind.endswith("_result"):
            self._results[key] = Joined()
            add_result(self._results[key], step)
            return chunks
        return chunks + self.raw({"step": step})

    def _call(self, key: Key, kind: str, step: Fields) -> list[ChunkResponse]:
        name, is_clients = call_of(kind, step)
        self._has_clients_calls = self._has_clients_calls or is_clients
        native = {each: plain_json(value) for each, value in step.items() if value and each not in CALLS_OWN}
        delta = self.calls.delta(
            key,
            call_id=step.get("id"),
            name=name,
            kind="json" if is_clients else "object",
            executed_by="client" if is_clients else "provider",
            native={} if native == {"type": "function_call"} else native,
            announced=arguments_of(step, is_clients=is_clients),
        )
        return self.call(delta)

    def _delta(self, key: Key, event: Fields) -> list[ChunkResponse]:
        delta = known(event.get("delta")) or {}
        kind = delta.get("type")
        chunks = self._of_kind(key, delta, kind)
        return self.with_strangers(chunks, kind, delta, known) if isinstance(kind, str) and kind != "text" else chunks

    def _of_kind(self, key: Key, delta: Fields, kind: object) -> list[ChunkResponse]:  # noqa: PLR0911 - one line a kind
        if kind == "arguments_delta":
            return self.call(self.calls.delta(key, arguments=delta.get("arguments")))
        if kind == "thought_summary":
            return self._summary(delta.get("content"))
        if kind == "thought_signature":
            return self._signature(delta)
        if kind == "text_annotation_delta":
            return self._annotations(delta)
        if not isinstance(kind, str):
            return self.raw({"delta": delta})
        if kind in KNOWN_CONTENT:
            return self._content(delta)
        if kind.endswith("_call"):
            return self.with_strangers(self._whole_call(key, delta), "call", delta, known)
        if kind.endswith("_result") and key in self._results:
            add_result(self._results[key], delta)
            return []
        return self.raw({"delta": delta})

    def _whole_call(self, key: Key, delta: Fields) -> list[ChunkResponse]:
        chunks = self.call(self.calls.whole(key, arguments_of(delta, is_clients=False), "step.delta"))
        if signature := delta.get("signature"):
            chunks += self.call(self.calls.delta(key, native={"signature": plain_json(signature)}))
        return chunks

    def _summary(self, content: Any) -> list[ChunkResponse]:
        fields = known(content) or {}
        if fields.get("type") not in (None, "text"):
            return self.event("file", content)
        return self.text("reasoning", fields.get("text"))

    def _signature(self, fields: Fields) -> list[ChunkResponse]:
        signature = fields.get("signature")
        return self.other(native={"type": "thought", "signature": plain_json(signature)}) if signature else []

    def _annotations(self, fields: Fields) -> list[ChunkResponse]:
        return [chunk for each in entries_of(fields.get("annotations")) for chunk in self.event("citation", each)]

    def _content(self, content: Any) -> list[ChunkResponse]:
        fields = known(content) or {}
        kind = fields.get("type")
        if kind == "text":
            chunks = self.text("content", fields.get("text")) + self._annotations(fields)
            return self.with_strangers(chunks, kind, fields, known)
        data, uri, mime = fields.get("data"), fields.get("uri"), plain_json(fields.get("mime_type"))
        place = uri if isinstance(uri, str) and uri else data and f"data:{mime or ''};base64,{data}"
        if isinstance(kind, str) and kind in MEDIA and isinstance(place, str):
            return self.with_strangers(self.other(**{f"{kind}_urls": (place,)}), "media", fields, known)
        return self.event("file", content) if says_something(plain_json(content)) else []

    def _stop(self, key: Key) -> list[ChunkResponse]:
        return self._result_end(key) if key in self._results else self.call(self.calls.done(key))

    def _result_end(self, key: Key) -> list[ChunkResponse]:
        if (pieces := self._results.pop(key, None)) is None:
            return []
        result = pieces.whole()
        return self.event("tool_result", result, result.get("call_id"))

    def _metadata(self, event: Fields) -> list[ChunkResponse]:
        return self._usage((known(event.get("metadata")) or {}).get("usage")) if event.get("metadata") else []

    def _usage(self, given: Any) -> list[ChunkResponse]:
        usage = self.new_usage(interactions_usage(given))
        return [] if usage is None else self.other(usage=usage)


def interactions_usage(given: Any) -> TokenUsage | None:
    """Return the counts so far: what built-in tools read is part of the prompt, thoughts of the completion."""
    if (fields := fields_of(given)) is None:
        return None
    thought = token_count(fields, "total_thought_tokens")
    prompt = token_count(fields, "total_input_tokens") + token_count(fields, "total_tool_use_tokens")
    completion = token_count(fields, "total_output_tokens") + thought
    total = token_count(fields, "total_tokens") or prompt + completion
    return TokenUsage(prompt, completion, total, token_count(fields, "total_cached_tokens"), thought)


def _key(event: Fields) -> Key:
    index = event.get("index")
    return index if isinstance(index, int | str) else None
