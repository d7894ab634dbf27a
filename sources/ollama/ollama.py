"""Ollama's own chat stream to ChunkResponses."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from msgspec import structs

from ...events.chunk_response import ArgumentsKind, ChunkResponse, TokenUsage, ToolCallDelta
from ...events.errors import ProviderError
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.engine.stage import Failed, How
from ..machine.call_tracker import CallTracker
from ..machine.choices import Choices
from ..machine.finish_reasons import OLLAMA_FINISHES, Finish, finish_of
from ..machine.provider_error import error_fields, error_in_body
from ..machine.sdk_fields import Fields, entries_of, fields_of
from ..machine.surrogates import Held, held_dump, held_load, plain_json, rest_of_text, whole_text, without_halves
from ..machine.token_count import token_count

_ENVELOPE = frozenset(("created_at", "done", "done_reason", "message", "model", "response", "thinking", "context")) | {
    "total_duration",
    "load_duration",
    "prompt_eval_count",
    "prompt_eval_duration",
    "eval_count",
    "eval_duration",
    "logprobs",
    "remote_host",
    "remote_model",
}


_SPOKEN = ("thinking", "content", "tool_calls", "images", "response")
"""Keys of the model's text, in a message or beside it."""


class Ollama:
    """The machine: the SDK's objects or the wire's plain dicts in, ChunkResponses out.

        {"message": {"content": "Hi"}, "done": false}   [ChunkResponse(content="Hi")]

    Calls come whole, so each is done at once. The SDK drops the ids and indexes that newer servers send: then ids are
    made, in order; otherwise both ways are equal. The finish is `tool_calls` where calls were made and the wire says
    stop. There is one answer, so `choices` that name another give nothing.
    """

    def __init__(self, *, choices: Choices = 0, turn_id: str | None = None, limits: Limits = DEFAULT_LIMITS) -> None:
        self._is_wanted = choices in (0, "all")
        self._given_turn_id = turn_id
        self._made_turn_id: str | None = None
        self._model: str | None = None
        self._calls = CallTracker(self._turn_id, 0, limits)
        self._begun = 0
        self._held: Held = {}
        self._is_finished = False
        self.stopped = False
        self.failure: ProviderError | None = None

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        """Return the chunks of one line of the stream."""
        if self.stopped:
            return []
        chunk = fields_of(item)
        if chunk is None:
            return [] if item is None else [self._response(raw=({"value": plain_json(item)},))]
        if error := chunk.get("error"):
            self.failure = error_in_body(plain_json(error))
            return [*self.close(Failed(self.failure)), self._response(error=error_fields(self.failure))]
        if isinstance(model := chunk.get("model"), str) and model and model != self._model:
            self._model = without_halves(model)
        if not self._is_wanted:
            return []
        message = fields_of(chunk.get("message")) or {}
        said: dict[str, Any] = {}
        ended = self._calls.ended
        is_more = ended.is_waiting and any(each.get(name) for each in (message, chunk) for name in _SPOKEN)
        followed = ended.followed() if is_more else []
        self._text(said, "reasoning", message.get("thinking") or chunk.get("thinking"))
        self._text(said, "content", message.get("content") or chunk.get("response"))
        if calls := (*self._tool_calls(message), *self._calls.owed()):
            said["tool_calls"] = calls
        unknown = {key: plain_json(chunk[key]) for key in chunk if key not in _ENVELOPE and chunk[key]}
        if images := message.get("images"):  # the wire does not tell their media type
            unknown["images"] = plain_json(images)
        if unknown:
            said["raw"] = (unknown,)
        before = self._left(said)
        if followed:
            before.insert(0, self._response(tool_calls=tuple(followed)))
        if chunk.get("done") and not self._is_finished:
            self._finish(chunk, said)
        return [*before, self._response(**said)] if said else before

    def close(self, how: How, /) -> list[ChunkResponse]:
        """Return what is still held, and for an error from outside the chunk that says it."""
        if self.stopped:
            return []
        self.stopped = True
        responses = self._left({})
        if deltas := self._calls.rest():
            responses.append(self._response(tool_calls=tuple(deltas)))
        if isinstance(how, Failed) and isinstance(how.error, ProviderError) and how.error is not self.failure:
            responses.append(self._response(error=error_fields(how.error)))
        return responses

    def dump(self) -> Any:
        """Return the state as plain data."""
        failure = self.failure
        return {
            "turn_id": self._made_turn_id,
            "model": self._model,
            "calls": self._calls.dump(),
            "begun": self._begun,
            "held": held_dump(self._held),
            "finished": self._is_finished,
            "stopped": self.stopped,
            "failure": failure and [failure.detail, failure.code, failure.type, failure.status],
        }

    def load(self, state: Any, /) -> None:
        """Go on from a dumped state."""
        self._made_turn_id, self._model, self._begun = state["turn_id"], state["model"], state["begun"]
        self._calls.load(state["calls"])
        self._held, self._is_finished, self.stopped = held_load(state["held"]), state["finished"], state["stopped"]
        self.failure = None
        if state["failure"]:
            detail, code, kind, status = state["failure"]
            self.failure = ProviderError(detail, code=code, type=kind, status=status)

    def _response(self, **said: Any) -> ChunkResponse:
        return ChunkResponse(model=self._model, **said)

    def _turn_id(self) -> str:
        if self._made_turn_id is None:
            self._made_turn_id = self._given_turn_id or f"turn_{uuid4().hex}"
        return self._made_turn_id

    def _text(self, said: dict[str, Any], stream: str, text: Any) -> None:
        if isinstance(text, str) and (text := whole_text(self._held, stream, text)):
            said[stream] = text

    def _left(self, said: dict[str, Any]) -> list[ChunkResponse]:
        """Return U+FFFD for surrogates held of texts that end here."""
        streams = [stream for stream in list(self._held) if stream not in said]
        if said.keys() == {"raw"}:
            return []
        return [self._response(**{stream: rest_of_text(self._held, stream)}) for stream in streams]

    def _tool_calls(self, message: Fields) -> tuple[ToolCallDelta, ...]:
        deltas: list[ToolCallDelta] = []
        for call in map(fields_of, entries_of(message.get("tool_calls"))):
            function = fields_of((call or {}).get("function")) or {}
            if call is None or not function:
                continue
            given = function.get("arguments")
            arguments: Any = {} if given is None else given
            key, self._begun = self._begun, self._begun + 1
            kind: ArgumentsKind = "object" if given is None else "json"
            name, call_id = function.get("name"), call.get("id")
            delta = self._calls.delta(key, call_id=call_id, name=name, arguments=arguments, kind=kind)
            done = self._calls.done(key)
            if delta and done and not done.arguments_delta:
                deltas.append(structs.replace(delta, done=True))
            else:
                deltas += [each for each in (delta, done) if each]
        return tuple(deltas)

    def _finish(self, chunk: Fields, said: dict[str, Any]) -> None:
        self._is_finished = True
        for stream in list(self._held):
            said[stream] = said.get(stream, "") + rest_of_text(self._held, stream)
        reason = chunk.get("done_reason")
        # Older servers do not say why it ended.
        is_told = isinstance(reason, str) and bool(reason)
        words = str(reason) if is_told else "stop"
        finish = finish_of(OLLAMA_FINISHES, words) if is_told else Finish("stop")
        said |= finish.told(words, "tool_calls" if finish.reason == "stop" and self._begun else None)
        if deltas := self._calls.rest():
            said["tool_calls"] = (*said.get("tool_calls", ()), *deltas)
        prompt, completion = token_count(chunk, "prompt_eval_count"), token_count(chunk, "eval_count")
        if prompt or completion:
            said["usage"] = TokenUsage(prompt, completion, prompt + completion)
