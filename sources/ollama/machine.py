"""Ollama's own chat: the served API, its exceptions, and the machine from its stream to ChunkResponses."""

from __future__ import annotations

import re
from json import JSONDecodeError
from typing import Any

from ...events.chunk_response import ArgumentsKind, ChunkResponse, TokenUsage
from ...events.errors import ProviderError
from ..base.answers import Choice, MultiChoiceMachine
from ..base.endings import OLLAMA_FINISHES, Finish, error_in_body, finish_of, invalid_data, reported_error
from ..base.response import FRAME, LOGPROBS, SERVER, TIMES, TOKENS, WireKeys, rows, token_count
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json, says_something
from ..framing.served import Served
from ..streams.workarounds import unread_error


def _served_error(_: int, message: str) -> Any:
    return {"error": message}


def _served_event(message: str) -> tuple[str, Any]:
    return "", _served_error(500, message)


def _wants_stream(_: str, body: dict[str, Any]) -> bool:
    return body.get("stream") is not False


OLLAMA_SERVED = Served(
    re.compile(r"/api/(?:chat|generate)\Z"),
    "/api/chat",
    'ollama.Client(host="{url}")',
    _served_error,
    _served_event,
    _wants_stream,
    forms=frozenset({"sse", "rows"}),
)


def ollama_exception(error: Exception) -> ProviderError | None:
    """Translate an exception of Ollama's SDK; None for any other."""
    root = type(error).__module__.partition(".")[0]
    if root == "ollama":
        found = error_in_body(getattr(error, "error", None) or str(error))
        status = getattr(error, "status_code", None)
        if isinstance(status, int) and 400 <= status < 600:
            return ProviderError(found.detail, code=found.code, type=found.type, status=status)
        return found
    if isinstance(error, JSONDecodeError | UnicodeDecodeError | RecursionError):  # out of the SDK's json.loads
        return invalid_data(error)
    if (said := unread_error(error)) is not None:
        return error_in_body(said)
    if root == "pydantic_core":  # the SDK validates the wire's data
        return ProviderError(str(error), type="invalid_response")
    return None


_SHAPES = {"": "* message(* tool_calls(id index type function(name arguments index)))"}

KEYS = WireKeys(
    "ollama",
    left_out=(
        *rows(FRAME, "done", "message.role", "message.tool_name", "message.tool_calls.function.index"),
        *rows(TIMES, "created_at", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration"),
        *rows(SERVER, "remote_host", "remote_model"),
        *rows(TOKENS, "context"),
        *rows(LOGPROBS, "logprobs"),
    ),
    shapes=_SHAPES,
)


_READ = frozenset(("done", "done_reason", "message", "model", "response", "thinking", "logprobs", "error")) | {
    "prompt_eval_count",
    "eval_count",
}
_NOT_UNKNOWN = _READ | KEYS.left_out()
_NOT_UNKNOWN_OF_MESSAGE = frozenset(("content", "thinking", "tool_calls", "images")) | KEYS.left_out("message")
_SPOKEN = ("thinking", "content", "tool_calls", "images", "response")
"""Keys with content of the model, in a message or beside it."""


class _Answer(Choice):
    STATE = (*Choice.STATE, "begun")

    begun = 0
    """The number of calls that have begun."""


class Ollama(MultiChoiceMachine[_Answer]):
    """The machine: the SDK's objects or the wire's plain dicts in, ChunkResponses out.

        {"message": {"content": "Hi"}, "done": false}   [ChunkResponse(content="Hi")]

    Calls come whole, so each is done at once. The SDK drops the ids and indexes that newer servers send: then ids are
    made, in order; in all else SDK objects and wire dicts give equal chunks. The finish is `tool_calls` where calls
    were made and the wire says stop. There is only one answer; if `choices` names another one, nothing is returned.
    """

    KEYS = KEYS
    CHOICE = _Answer

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        """Return the chunks of one line of the stream."""
        if self.stopped:
            return []
        chunk = fields_of(item)
        if chunk is None:
            return [] if item is None else [self.chunk(raw=({"value": plain_json(item)},))]
        if ("done" not in chunk or chunk.get("error")) and (told := reported_error(chunk)):
            return self.fail(error_in_body(plain_json(told.body)))
        self.identify(None, chunk.get("model"))
        answer = self._choice(0)
        if answer is None:
            return []
        _read(answer, chunk, logprobs=self.logprobs)
        return self.with_strangers(self._chunks(answer), "", chunk)


def _read(answer: _Answer, chunk: Fields, *, logprobs: bool) -> None:
    message = fields_of(chunk.get("message")) or {}
    ended = answer.calls.ended
    if ended.is_waiting and any(each.get(name) for each in (message, chunk) for name in _SPOKEN):
        answer.call(*ended.followed())
    texts = {
        "reasoning": message.get("thinking") or chunk.get("thinking"),
        "content": message.get("content") or chunk.get("response"),
    }
    said = {name: text for name, text in texts.items() if isinstance(text, str) and text}
    answer.add(**said)
    for call in map(fields_of, entries_of(message.get("tool_calls"))):
        if function := fields_of((call or {}).get("function")):
            answer.leave(*said)
            _read_call(answer, call or {}, function)
    answer.call(*answer.calls.pending_deltas())
    if logprobs and says_something(plain := plain_json(chunk.get("logprobs"))):
        answer.event("logprobs", {"logprobs": plain})
    if images := message.get("images"):  # the wire does not tell their media type
        answer.event("file", {"images": plain_json(images)})
    for given, known in ((chunk, _NOT_UNKNOWN), (message, _NOT_UNKNOWN_OF_MESSAGE)):
        unknown = {key: plain_json(given[key]) for key in given if key not in known and given[key]}
        if says_something(unknown):
            answer.raw(unknown)
    if chunk.get("done") and not answer.finished:
        _finish(answer, chunk)


def _read_call(answer: _Answer, call: Fields, function: Fields) -> None:
    given = function.get("arguments")
    key, answer.begun = answer.begun, answer.begun + 1
    kind: ArgumentsKind = "object" if given is None else "json"
    # None at all may still come, in a line of their own.
    beside: dict[str, Any] = {"arguments": given} if given else {"announced": {}}
    delta = answer.calls.delta(key, call_id=call.get("id"), name=function.get("name"), kind=kind, **beside)
    answer.whole_call(delta, answer.calls.done(key))


def _finish(answer: _Answer, chunk: Fields) -> None:
    reason = chunk.get("done_reason")
    # Older servers do not say why it ended.
    is_told = isinstance(reason, str) and bool(reason)
    words = str(reason) if is_told else "stop"
    answer.finish(finish_of(OLLAMA_FINISHES, words) if is_told else Finish("stop"), words, has_calls=answer.begun > 0)
    prompt, completion = token_count(chunk, "prompt_eval_count"), token_count(chunk, "eval_count")
    if prompt or completion:
        answer.said["usage"] = TokenUsage(prompt, completion, prompt + completion)
