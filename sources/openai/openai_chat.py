"""Decode OpenAI Chat Completions, also of compatible servers, to ChunkResponses."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from msgspec import convert, structs, to_builtins

from ...events.chunk_response import ChunkResponse, TokenUsage, ToolCallDelta
from ...events.errors import ProviderError
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.engine.stage import Failed, How
from ..machine.call_tracker import CallTracker
from ..machine.choices import Choices
from ..machine.ended_calls import Key
from ..machine.finish_reasons import CHAT_FINISHES, finish_of
from ..machine.provider_error import error_fields, error_in_body
from ..machine.sdk_fields import Fields, entries_of, fields_of
from ..machine.surrogates import Held, held_dump, held_load, plain_json, rest_of_text, whole_text, without_halves
from .chat_parts import add_audio, add_images, reasoning_text, replayable_details, thinking_text
from .chat_usage import chat_usage

_ENVELOPE = frozenset(
    {"id", "object", "created", "model", "choices", "usage", "error", "provider", "obfuscation", "service_tier"},
) | {"system_fingerprint", "moderation", "x_groq"}
# How a call goes back to the provider, where it is not as a function in `tool_calls`.
_CUSTOM = {"type": "custom"}
_LEGACY = {"type": "function_call"}
_TEXT_STREAMS = ("reasoning", "content", "refusal")


class _Choice:
    """The state of one of n answers."""

    __slots__ = ("calls", "finished", "held", "spoke")

    def __init__(self, calls: CallTracker) -> None:
        self.calls = calls
        self.held: Held = {}
        self.finished = False
        self.spoke = False


class OpenAIChat:
    """The machine: SDK chunks or the wire's plain dicts in, equal ChunkResponses out for both.

        {"choices": [{"delta": {"content": "Hi"}}]}   [ChunkResponse(content="Hi")]

    Follows the Chat Completions streaming reference and what its relatives do to it. Of each choice the first finish
    reason counts; what comes after it still passes. An error without choices stops the stream at once, one beside
    choices lets it go on and is told at its end.
    """

    def __init__(self, *, choices: Choices = 0, turn_id: str | None = None, limits: Limits = DEFAULT_LIMITS) -> None:
        self._wanted = choices
        self._given_turn_id = turn_id
        self._limits = limits
        self._made_turn_id: str | None = None
        self._response_id: str | None = None
        self._model: str | None = None
        self._usage: TokenUsage | None = None
        self._choices: dict[int, _Choice] = {}
        self.stopped = False
        self.failure: ProviderError | None = None

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        """Return the chunks of one SDK chunk or wire dict."""
        if self.stopped:
            return []
        chunk = fields_of(item)
        if chunk is not None and "choices" not in chunk:
            inner = fields_of(chunk.get("data"))  # Mistral's SDK wraps its chunks in events
            chunk = inner if inner is not None and "choices" in inner else chunk
        if chunk is None:
            if isinstance(item, list):
                return [response for each in entries_of(item) for response in self.feed(each)]
            return [] if item is None else [self._response(raw=({"value": plain_json(item)},))]
        if self._response_id is None and isinstance(given := chunk.get("id"), str) and given:
            self._response_id = without_halves(given)
        if isinstance(model := chunk.get("model"), str) and model and model != self._model:
            self._model = without_halves(model)
        responses: list[ChunkResponse] = []
        valid = [each for each in map(fields_of, entries_of(chunk.get("choices"))) if each is not None]
        for position, choice in enumerate(valid):
            self._choice(position, choice, responses)
        self._add_usage(chunk, valid, responses)
        error = chunk.get("error")
        if error or chunk.get("object") == "error":  # the second is vLLM's: an event that is itself the error
            self._error(error or _unknown(chunk), responses, beside_choices=bool(valid))
        elif not valid and not responses and any(_unknown(chunk).values()):
            responses.append(self._response(raw=(plain_json(item),)))
        return responses

    def close(self, how: How, /) -> list[ChunkResponse]:
        """Return what is still held, and for an error from outside the chunk that says it."""
        if self.stopped:
            return []
        self.stopped = True
        responses = self._rest()
        if isinstance(how, Failed) and isinstance(how.error, ProviderError) and how.error is not self.failure:
            responses.append(self._response(error=error_fields(how.error)))
        return responses

    def dump(self) -> Any:
        """Return the state as plain data."""
        failure = self.failure
        return {
            "turn_id": self._made_turn_id,
            "response_id": self._response_id,
            "model": self._model,
            "usage": to_builtins(self._usage),
            "choices": [
                [number, choice.calls.dump(), held_dump(choice.held), choice.finished, choice.spoke]
                for number, choice in self._choices.items()
            ],
            "stopped": self.stopped,
            "failure": failure and [failure.detail, failure.code, failure.type, failure.status],
        }

    def load(self, state: Any, /) -> None:
        """Go on from a dumped state."""
        self._made_turn_id, self._response_id = state["turn_id"], state["response_id"]
        self._model, self.stopped = state["model"], state["stopped"]
        self._usage = convert(state["usage"], TokenUsage | None)
        self._choices = {}
        for number, calls, held, finished, spoke in state["choices"]:
            choice = self._new_choice(number)
            choice.calls.load(calls)
            choice.held = held_load(held)
            choice.finished, choice.spoke = finished, spoke
        self.failure = None
        if state["failure"]:
            detail, code, kind, status = state["failure"]
            self.failure = ProviderError(detail, code=code, type=kind, status=status)

    def _response(self, **said: Any) -> ChunkResponse:
        return ChunkResponse(response_id=self._response_id, model=self._model, **said)

    def _turn_id(self) -> str:
        if self._made_turn_id is None:
            self._made_turn_id = self._given_turn_id or self._response_id or f"turn_{uuid4().hex}"
        return self._made_turn_id

    def _new_choice(self, number: int) -> _Choice:
        choice = self._choices[number] = _Choice(CallTracker(self._turn_id, number, self._limits))
        return choice

    def _choice(self, position: int, fields: Fields, responses: list[ChunkResponse]) -> None:
        index = fields.get("index")
        number = index if isinstance(index, int) and index >= 0 else position
        if self._wanted not in ("all", number):
            return
        choice = self._choices.get(number) or self._new_choice(number)
        delta = fields_of(fields.get("delta"))
        if delta is None:
            # A whole message, from servers that only pretend to stream; beside deltas it repeats them.
            delta = None if choice.spoke else fields_of(fields.get("message"))
        said = self._delta(choice, number, delta, responses) if delta else {}
        if isinstance(reason := fields.get("finish_reason"), str) and reason:
            finish = finish_of(CHAT_FINISHES, reason.lower())
            if choice.finished:
                if deltas := choice.calls.concluded(is_regular=finish.is_regular):
                    said["tool_calls"] = (*said.get("tool_calls", ()), *deltas)
            else:
                choice.finished = True
                said |= finish.told(reason)
                self._finish(choice, said)
        if error := fields.get("error"):
            self.failure = error_in_body(plain_json(error))
            said["error"] = error_fields(self.failure)
        if said:
            choice.spoke = True
            responses.append(self._response(choice=number, **said))

    def _delta(self, choice: _Choice, number: int, delta: Fields, responses: list[ChunkResponse]) -> dict[str, Any]:
        said: dict[str, Any] = {}
        raw: list[dict[str, Any]] = []
        if reasoning := reasoning_text(delta):
            said["reasoning"] = reasoning
        content = delta.get("content")
        if isinstance(content, str):
            if content:
                said["content"] = content
        elif content:
            said = self._parts(choice, number, entries_of(content), said, raw, responses)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            said["refusal"] = refusal
        if images := delta.get("images"):
            add_images(said, images)
        if audio := fields_of(delta.get("audio")):
            add_audio(said, raw, audio)
        if annotations := delta.get("annotations"):
            raw.append({"annotations": plain_json(annotations)})
        if (details := delta.get("reasoning_details")) and (details := replayable_details(details)):
            said["native"] = {"reasoning_details": details}
        if delta.get("tool_calls") or delta.get("function_call"):
            found = self._calls(choice.calls, delta)
            if calls := (*choice.calls.owed(), *found):
                said["tool_calls"] = calls
        if raw:
            said["raw"] = tuple(raw)
        return self._whole(choice, number, said, responses) if said else said

    def _parts(
        self,
        choice: _Choice,
        number: int,
        parts: list[object],
        said: dict[str, Any],
        raw: list[dict[str, Any]],
        responses: list[ChunkResponse],
    ) -> dict[str, Any]:
        """Read Mistral's list-typed content; what precedes reasoning is split off: one chunk means reasoning first."""
        for part in map(fields_of, parts):
            if part is None:
                continue
            kind = part.get("type")
            if kind == "thinking":
                if text := thinking_text(part.get("thinking")):
                    if "content" in said:
                        said = self._whole(choice, number, said, responses)
                        responses.append(self._response(choice=number, **said))
                        said = {}
                    said["reasoning"] = said.get("reasoning", "") + text
            elif kind in ("text", "output_text") and isinstance(part.get("text"), str):
                if part["text"]:
                    said["content"] = said.get("content", "") + part["text"]
            elif kind == "image_url":
                add_images(said, [part])
            else:
                raw.append(plain_json(part))
        return said

    def _whole(
        self, choice: _Choice, number: int, said: dict[str, Any], responses: list[ChunkResponse]
    ) -> dict[str, Any]:
        """Join surrogate pairs; a surrogate held of another text stream is emitted first."""
        held = choice.held
        left = [stream for stream in _TEXT_STREAMS if stream in held and stream not in said] if held else []
        responses += [self._response(choice=number, **{stream: rest_of_text(held, stream)}) for stream in left]
        for stream in _TEXT_STREAMS:
            if stream in said:
                said[stream] = whole_text(held, stream, said[stream])
                if not said[stream]:
                    del said[stream]
        return said

    def _calls(self, tracker: CallTracker, delta: Fields) -> list[ToolCallDelta]:
        given = entries_of(delta.get("tool_calls"))
        deltas: list[ToolCallDelta | None] = []
        for call in map(fields_of, given):
            if call is None:
                continue
            key, call_id = _key(call.get("index")), call.get("id")
            if custom := fields_of(call.get("custom")):
                name, text = custom.get("name"), custom.get("input")
                native = _CUSTOM if name else None
                deltas.append(
                    tracker.delta(key, call_id=call_id, name=name, arguments=text, kind="text", native=native)
                )
            else:
                function = fields_of(call.get("function")) or {}
                name, text = function.get("name"), function.get("arguments")
                deltas.append(tracker.delta(key, call_id=call_id, name=name, arguments=text))
        if not given and (legacy := fields_of(delta.get("function_call"))):
            name, text = legacy.get("name"), legacy.get("arguments")
            deltas.append(tracker.delta("function_call", name=name, arguments=text, native=_LEGACY if name else None))
        return [each for each in deltas if each is not None]

    def _finish(self, choice: _Choice, said: dict[str, Any]) -> None:
        for stream in _TEXT_STREAMS:
            if rest := rest_of_text(choice.held, stream):
                said[stream] = said.get(stream, "") + rest
        if deltas := choice.calls.rest():
            said["tool_calls"] = (*said.get("tool_calls", ()), *deltas)

    def _rest(self) -> list[ChunkResponse]:
        responses: list[ChunkResponse] = []
        for number, choice in self._choices.items():
            said: dict[str, Any] = {}
            self._finish(choice, said)
            if said:
                responses.append(self._response(choice=number, **said))
        return responses

    def _add_usage(self, chunk: Fields, choices: list[Fields], responses: list[ChunkResponse]) -> None:
        groq = fields_of(chunk.get("x_groq")) or {}
        places = [chunk.get("usage"), groq.get("usage")] + [choice.get("usage") for choice in choices]
        if not any(places):
            return
        usage = next((found for given in places if (found := chat_usage(given))), None)
        if usage is None or usage == self._usage:
            return
        self._usage = usage
        if responses:
            responses[-1] = structs.replace(responses[-1], usage=usage)
        else:
            responses.append(self._response(usage=usage))

    def _error(self, error: Any, responses: list[ChunkResponse], *, beside_choices: bool) -> None:
        self.failure = error_in_body(plain_json(error))
        if not beside_choices:
            responses += self._rest()
            self.stopped = True
            responses.append(self._response(error=error_fields(self.failure)))
        elif responses:
            responses[-1] = structs.replace(responses[-1], error=error_fields(self.failure))
        else:
            responses.append(self._response(error=error_fields(self.failure)))


def _unknown(chunk: Fields) -> Fields:
    return {key: value for key, value in chunk.items() if key not in _ENVELOPE}


def _key(index: Any) -> Key:
    if isinstance(index, float) and index.is_integer():
        return int(index)
    return index if isinstance(index, int | str) else None
