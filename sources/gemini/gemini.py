"""Google's generateContent streams, of the Developer API and of Vertex AI, to ChunkResponses."""

from __future__ import annotations

import json
from typing import Any, cast
from uuid import uuid4

from msgspec import convert, structs, to_builtins

from ...events.chunk_response import ArgumentsKind, ChunkResponse, TokenUsage, ToolCallDelta
from ...events.errors import ProviderError, UsageError
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.engine.stage import Failed, How
from ..machine.call_tracker import CallTracker
from ..machine.choices import Choices
from ..machine.finish_reasons import GEMINI_FINISHES, Finish, finish_of
from ..machine.provider_error import error_fields
from ..machine.sdk_fields import Fields, entries_of
from ..machine.surrogates import Held, held_dump, held_load, plain_json, rest_of_text, whole_text
from .gemini_fields import (
    base64_text,
    camel_case,
    gemini_error,
    gemini_fields,
    gemini_usage,
    wire_form,
    word,
)
from .partial_args import Leaf, PartialArgs

RUNS_FUNCTIONS = (
    "the SDK runs your Python functions itself in this stream (automatic function calling); pass declarations as "
    "tools, or config automatic_function_calling={'disable': True}"
)

_ENVELOPE = frozenset(
    ("candidates", "create_time", "model_status", "model_version", "parsed", "prompt_feedback", "response_id"),
) | {"automatic_function_calling_history", "sdk_http_response", "usage_metadata"}
_PART = frozenset(
    ("code_execution_result", "executable_code", "file_data", "function_call", "function_response", "inline_data"),
) | {"media_resolution", "part_metadata", "text", "thought", "thought_signature", "tool_call", "video_metadata"}
# Keys of a part that are not content.
_BESIDE = frozenset(("media_resolution", "part_metadata", "thought", "thought_signature", "video_metadata"))
_RESULTS = ("code_execution_result", "function_response", "tool_response")
_EXTRAS = ("citation_metadata", "grounding_metadata", "url_context_metadata")
_TEXTS = ("reasoning", "content")
_RANKS = {"reasoning": 0, "native": 0, "content": 1, "refusal": 2, "image_urls": 3, "audio_urls": 3, "video_urls": 3}
_CALLS_RANK = 4


class _Candidate:
    """The state of one of n answers, and the chunk that is being built."""

    def __init__(self, number: int, calls: CallTracker) -> None:
        self.number = number
        self.calls = calls
        self.begun = 0
        self.open: int | None = None
        """The open call, whose next parts have no name."""
        self.open_id: str | None = None
        self.partial = PartialArgs()
        self.held: Held = {}
        self.called = False
        """Whether there was a call for the client to run."""
        self.finished = False
        self.said: dict[str, Any] = {}
        self.rank = 0
        self.done: list[dict[str, Any]] = []

    def say(self, name: str, value: Any) -> None:
        """Add to the chunk; a part that belongs before the present ones begins a new chunk."""
        rank = _RANKS.get(name, _CALLS_RANK)
        if rank < self.rank or (name == "native" and name in self.said):
            self.flush()
        self.rank = rank
        self.said[name] = self.said[name] + value if name in self.said else value

    def add_raw(self, *entries: dict[str, Any]) -> None:
        if entries:
            self.said["raw"] = (*self.said.get("raw", ()), *entries)

    def text(self, stream: str, text: str) -> None:
        self.leave_texts(stream)
        if text := whole_text(self.held, stream, text):
            self.say(stream, text)

    def leave_texts(self, but: str = "") -> None:
        """Emit U+FFFD for surrogates held of texts that end here."""
        for stream in _TEXTS:
            if stream != but and (rest := rest_of_text(self.held, stream)):
                self.say(stream, rest)

    def call(self, *deltas: ToolCallDelta | None) -> None:
        found = tuple(each for each in deltas if each is not None)
        if len(found) == 2 and found[0].index == found[1].index and found[1].done and not found[1].arguments_delta:
            found = (structs.replace(found[0], done=True),)
        if found:
            self.say("tool_calls", found)

    def flush(self) -> None:
        if self.said:
            self.done.append(self.said)
        self.said, self.rank = {}, 0


class Gemini:
    """The machine: the SDK's responses or the wire's plain dicts in, equal ChunkResponses out for both.

        {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}   [ChunkResponse(content="Hi")]

    A function call comes whole, or on Vertex AI in leaves, from which `PartialArgs` makes the text. The finish is
    `tool_calls` where calls were made and the wire says STOP. Tools that the provider runs are calls with
    `executed_by="provider"`; what they gave is in `raw`. A reason that says the model failed (MALFORMED_FUNCTION_CALL
    and its kin) is a finish of `error` with `error` beside it: the stream itself goes on and completes.
    """

    def __init__(self, *, choices: Choices = 0, turn_id: str | None = None, limits: Limits = DEFAULT_LIMITS) -> None:
        self._wanted = choices
        self._given_turn_id = turn_id
        self._limits = limits
        self._made_turn_id: str | None = None
        self._response_id: str | None = None
        self._model: str | None = None
        self._usage: TokenUsage | None = None
        self._candidates: dict[int, _Candidate] = {}
        self.stopped = False
        self.failure: ProviderError | None = None

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        """Return the chunks of one response of the stream."""
        if self.stopped:
            return []
        chunk = gemini_fields(item)
        if chunk is None:
            if isinstance(item, list):
                return [response for each in entries_of(item) for response in self.feed(each)]
            return [] if item is None else [self._response(raw=({"value": plain_json(item)},))]
        if chunk.get("automatic_function_calling_history"):
            raise UsageError(RUNS_FUNCTIONS)
        if self._response_id is None:
            self._response_id = word(chunk.get("response_id"))
        self._model = word(chunk.get("model_version")) or self._model
        responses: list[ChunkResponse] = []
        if error := chunk.get("error"):
            self.failure = gemini_error(error)
            return [*self.close(Failed(self.failure)), self._response(error=error_fields(self.failure))]
        for position, candidate in enumerate(map(gemini_fields, entries_of(chunk.get("candidates")))):
            if candidate:
                self._candidate(position, candidate, responses)
        self._feedback(chunk.get("prompt_feedback"), responses)
        if unknown := {camel_case(key): wire_form(chunk[key]) for key in chunk if key not in _ENVELOPE and chunk[key]}:
            responses.append(self._response(raw=(unknown,)))
        self._add_usage(chunk, responses)
        return responses

    def close(self, how: How, /) -> list[ChunkResponse]:
        """Return what is still held, and for an error from outside the chunk that says it."""
        if self.stopped:
            return []
        self.stopped = True
        responses: list[ChunkResponse] = []
        for candidate in self._candidates.values():
            _rest(candidate)
            self._flush(candidate, responses)
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
            "candidates": [
                [each.number, each.calls.dump(), held_dump(each.held), each.begun, each.called, each.finished]
                for each in self._candidates.values()
            ],
            "open": [[each.open, each.open_id, each.partial.dump()] for each in self._candidates.values()],
            "stopped": self.stopped,
            "failure": failure and [failure.detail, failure.code, failure.type, failure.status],
        }

    def load(self, state: Any, /) -> None:
        """Go on from a dumped state."""
        self._made_turn_id, self._response_id = state["turn_id"], state["response_id"]
        self._model, self.stopped = state["model"], state["stopped"]
        self._usage = convert(state["usage"], TokenUsage | None)
        self._candidates = {}
        for (number, calls, held, *counts), (is_open, open_id, partial) in zip(
            state["candidates"], state["open"], strict=True
        ):
            candidate = self._new_candidate(number)
            candidate.calls.load(calls)
            candidate.held = held_load(held)
            candidate.begun, candidate.called, candidate.finished = counts
            candidate.open, candidate.open_id = is_open, open_id
            candidate.partial.load(partial)
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

    def _new_candidate(self, number: int) -> _Candidate:
        tracker = CallTracker(self._turn_id, number, self._limits)
        candidate = self._candidates[number] = _Candidate(number, tracker)
        return candidate

    def _candidate(self, position: int, fields: Fields, responses: list[ChunkResponse]) -> None:
        index = fields.get("index")
        number = index if isinstance(index, int) and index >= 0 else position
        if self._wanted not in ("all", number):
            return
        candidate = self._candidates.get(number) or self._new_candidate(number)
        content = gemini_fields(fields.get("content")) or {}
        for given in entries_of(content.get("parts")):
            if part := gemini_fields(given):
                _part(candidate, part, given)
        candidate.add_raw(*({camel_case(name): wire_form(fields[name])} for name in _EXTRAS if fields.get(name)))
        candidate.call(*candidate.calls.owed())
        if (reason := word(fields.get("finish_reason"))) and not candidate.finished:
            _finish(candidate, reason, word(fields.get("finish_message")))
        elif reason:
            candidate.call(*candidate.calls.concluded(is_regular=finish_of(GEMINI_FINISHES, reason).is_regular))
        self._flush(candidate, responses)

    def _flush(self, candidate: _Candidate, responses: list[ChunkResponse]) -> None:
        candidate.flush()
        responses += [self._response(choice=candidate.number, **said) for said in candidate.done]
        candidate.done = []

    def _feedback(self, given: Any, responses: list[ChunkResponse]) -> None:
        """Read why the prompt was blocked, which is the finish of an answer without candidates."""
        feedback = gemini_fields(given) or {}
        reason = word(feedback.get("block_reason"))
        if reason is None:
            return
        number = self._wanted if isinstance(self._wanted, int) else 0
        candidate = self._candidates.get(number) or self._new_candidate(number)
        if not candidate.finished:
            candidate.finished = True
            _rest(candidate)
            if message := word(feedback.get("block_reason_message")):
                candidate.say("refusal", message)
            candidate.said |= Finish("content_filter").told(reason)
            self._flush(candidate, responses)

    def _add_usage(self, chunk: Fields, responses: list[ChunkResponse]) -> None:
        usage = gemini_usage(chunk.get("usage_metadata"))
        if usage is None or usage == self._usage:
            return
        self._usage = usage
        if responses:
            responses[-1] = structs.replace(responses[-1], usage=usage)
        else:
            responses.append(self._response(usage=usage))


def _part(candidate: _Candidate, part: Fields, given: Any) -> None:
    signature = base64_text(part.get("thought_signature"))
    native = {"thoughtSignature": signature} if signature else None
    text, call = part.get("text"), gemini_fields(part.get("function_call"))
    is_more = call is None or bool(call.get("name"))  # and not the next part of a call
    ended = candidate.calls.ended
    if ended.is_waiting and is_more and any(value for name, value in part.items() if name not in _BESIDE):
        candidate.call(*ended.followed())
    if call is not None:
        _function_call(candidate, call, native)
    elif any(part.get(name) is not None for name in ("tool_call", "executable_code")):
        _provider_call(candidate, part, given, signature)
    elif any(part.get(name) is not None for name in _RESULTS):
        candidate.leave_texts()
        candidate.add_raw(wire_form(given))
    elif (part.get("inline_data") or part.get("file_data")) and not part.get("thought"):
        _media(candidate, part, given)
    elif any(value is not None for name, value in part.items() if name not in _PART) or part.get("inline_data"):
        candidate.add_raw(wire_form(given))
    else:
        if isinstance(text, str) and text:
            candidate.text("reasoning" if part.get("thought") else "content", text)
        if native:
            candidate.say("native", native)


def _function_call(candidate: _Candidate, call: Fields, native: dict[str, Any] | None) -> None:
    """Read a part of a call: the whole one; or the first with a name and leaves, the next ones, the last."""
    candidate.leave_texts()
    name, call_id, args = call.get("name"), word(call.get("id")), call.get("args")
    leaves, goes_on = entries_of(call.get("partial_args")), bool(call.get("will_continue"))
    begins = bool(name) and (candidate.open is None or call_id is None or call_id != candidate.open_id)
    if begins:
        _leave_call(candidate, is_regular=True)
        candidate.open, candidate.open_id = candidate.begun, call_id
        candidate.begun += 1
        candidate.called = True
        candidate.partial = PartialArgs()
    if candidate.open is None:
        if leaves or args:  # of no call that is known: it comes without a name
            candidate.calls.delta(candidate.begun, arguments=wire_form(call.get("partial_args") or args))
            candidate.begun += 1
        return
    key, partial = candidate.open, candidate.partial
    text: Any = ""
    is_whole = begins and not (leaves or goes_on)
    if is_whole:
        text = {} if args is None else args
    else:
        text = _written(candidate, args, leaves)
        if not goes_on:
            text += partial.end() or ""
    # Arguments that are missing, or that come in leaves, are closed by us: only whole ones are the model's JSON.
    kind: ArgumentsKind = "json" if is_whole and args is not None else "object"
    delta = candidate.calls.delta(key, call_id=call_id, name=name, arguments=text, kind=kind, native=native)
    if goes_on:
        candidate.call(delta)
    else:
        candidate.call(delta, candidate.calls.done(key))
        candidate.open = candidate.open_id = None


def _written(candidate: _Candidate, args: Any, leaves: list[object]) -> str:
    """Return the argument text of leaves; leaves that cannot be written are in `raw`."""
    partial = candidate.partial
    text = ""
    if isinstance(args, dict) and not partial.has_text:
        plain = plain_json(args)
        if isinstance(plain, dict):
            members = cast("dict[str, Any]", plain)
            text += "".join(partial.member(key, value) or "" for key, value in members.items())
        else:  # too deep to be read, which no call may be run with
            text += json.dumps(plain)
    for given in leaves:
        leaf = gemini_fields(given) or {}
        path = word(leaf.get("json_path")) or ""
        value, is_said = _leaf_value(leaf, given)
        more = bool(leaf.get("will_continue"))
        piece = partial.leaf(path, value, more=more) if is_said else partial.end_of_leaf(path, more=more)
        if piece is None:
            reason = partial.broken or ""
            candidate.add_raw({"type": "arguments_broken", "reason": reason, "partialArg": wire_form(given)})
        else:
            text += piece
    return text


def _leaf_value(leaf: Fields, given: Any) -> tuple[Leaf, bool]:
    """Return the value of a leaf, and whether it has one: JSON's null is there, and missing is not null."""
    if isinstance(text := leaf.get("string_value"), str):
        return text, True
    if isinstance(flag := leaf.get("bool_value"), bool):
        return flag, True
    number = leaf.get("number_value")
    if isinstance(number, int | float | str):
        return _double(number), True
    known: Any = getattr(given, "__pydantic_fields_set__", leaf)
    return None, "null_value" in known


def _double(number: float | str) -> float:
    try:
        return float(number)
    except (OverflowError, ValueError):
        return float("nan")


def _leave_call(candidate: _Candidate, *, is_regular: bool) -> None:
    """Close a call whose last part is missing, when another call begins or the answer ends regularly."""
    if candidate.open is not None and is_regular and (text := candidate.partial.end()):
        candidate.call(candidate.calls.delta(candidate.open, arguments=text))
    candidate.open = candidate.open_id = None


def _provider_call(candidate: _Candidate, part: Fields, given: Any, signature: str | None) -> None:
    candidate.leave_texts()
    arguments: Any
    tool, code = gemini_fields(part.get("tool_call")), gemini_fields(part.get("executable_code")) or {}
    if tool is not None:
        call_id, name = tool.get("id"), word(tool.get("tool_type")) or "tool"
        arguments = tool.get("args") or dict[str, Any]()
    else:
        call_id, name = code.get("id"), "code_execution"
        arguments = {"language": word(code.get("language")) or "", "code": code.get("code") or ""}
    native = {key: value for key, value in wire_form(given).items() if key in ("toolCall", "executableCode")}
    if signature:
        native["thoughtSignature"] = signature
    _leave_call(candidate, is_regular=True)
    key = candidate.begun
    candidate.begun += 1
    options: dict[str, Any] = {"executed_by": "provider", "native": native}
    delta = candidate.calls.delta(key, call_id=call_id, name=name, arguments=arguments, **options)
    candidate.call(delta, candidate.calls.done(key))


def _media(candidate: _Candidate, part: Fields, given: Any) -> None:
    candidate.leave_texts()
    blob = gemini_fields(part.get("inline_data")) or gemini_fields(part.get("file_data")) or {}
    kind = word(blob.get("mime_type")) or ""
    data, url = base64_text(blob.get("data")), word(blob.get("file_uri"))
    place = url or (data and f"data:{kind};base64,{data}")
    name = f"{kind.partition('/')[0]}_urls"
    if place and name in _RANKS:
        candidate.say(name, (place,))
    else:
        candidate.add_raw(wire_form(given))


def _finish(candidate: _Candidate, reason: str, message: str | None) -> None:
    candidate.finished = True
    finish = finish_of(GEMINI_FINISHES, reason)
    if finish.is_regular:
        _leave_call(candidate, is_regular=True)
    _rest(candidate)
    said = candidate.said
    said |= finish.told(reason, "tool_calls" if finish.reason == "stop" and candidate.called else None)
    if finish.reason == "error":
        said["error"] = {"detail": message or f"the model's answer ended with {reason}", "type": reason}
    elif message:
        candidate.add_raw({"finishMessage": message})


def _rest(candidate: _Candidate) -> None:
    candidate.leave_texts()
    candidate.call(*candidate.calls.rest())
