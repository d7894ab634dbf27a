"""Decode OpenAI Chat Completions, also of compatible servers and of LangChain's messages, to ChunkResponses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ...events.chunk_response import ChunkResponse, ProviderEvent, ToolCallDelta
from ...events.errors import error_fields
from ..base.answers import Choice
from ..base.call_keys import Key
from ..base.call_tracker import CallTracker
from ..base.endings import CHAT_FINISHES, error_in_body, finish_of, reported_error
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json, plain_object, says_something
from ..base.shown_text import new_of_message
from .lane import ChatChoice, ChatLane, plain_chunk
from .parts import (
    KEYS,
    NOT_UNKNOWN_OF_CHUNK,
    NOT_UNKNOWN_OF_PART,
    OF_CHUNK,
    OF_PART,
    add_audio,
    add_choice_extras,
    add_delta_extras,
    add_images,
    audio_rest,
    changed,
    chat_usage,
    error_rest,
    is_of_tool,
    reasoning_part,
    reasoning_text,
    replayable,
    text_delta,
    unknown,
    unsaid_calls,
)

TYPE = "AIMessageChunk"
_FINISHES = ("finish_reason", "stop_reason", "done_reason")
_OF_RESPONSES = {"completed": "stop", "max_output_tokens": "length", "content_filter": "content_filter"}
# Parts of the content that say again what `tool_call_chunks` have.
_CALLS = frozenset({"tool_use", "input_json_delta", "tool_call", "tool_call_chunk", "function_call"})
_COUNTS = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens", "total_tokens": "total_tokens"}
_DETAILS = {
    "prompt_tokens_details": ("input_token_details", "cache_read", "cached_tokens"),
    "completion_tokens_details": ("output_token_details", "reasoning", "reasoning_tokens"),
}


def chat_chunk(message: Fields, counted: dict[str, Any]) -> Fields:
    """Return the chunk of a chat completion; `counted`: what keeps the tokens, which LangChain's chunks add up.

    >>> chunk = chat_chunk({"type": "AIMessageChunk", "id": "m", "content": "Hi"}, {})
    >>> chunk["id"], chunk["choices"]
    ('m', [{'index': 0, 'delta': {'content': 'Hi'}, 'finish_reason': None}])
    """
    extras = fields_of(message.get("additional_kwargs")) or {}
    metadata = fields_of(message.get("response_metadata")) or {}
    delta: Fields = {"content": _content(message.get("content"))}
    delta |= {name: extras[name] for name in ("reasoning_content", "refusal") if extras.get(name)}
    if calls := message.get("tool_call_chunks"):
        delta["tool_calls"] = [_call(each) for each in calls]
    return {
        "id": message.get("id"),
        "model": metadata.get("model_name") or metadata.get("model"),
        "choices": [{"index": 0, "delta": delta, "finish_reason": _finish(metadata)}],
        "usage": _usage(message.get("usage_metadata"), counted),
    }


def messages_in(items: Sequence[Any]) -> Sequence[Any]:
    """Return the message of LangGraph's pair of message and metadata; of any other list its items.

    >>> messages_in(({"type": "AIMessageChunk", "content": "Hi"}, {"langgraph_node": "model"}))
    ({'type': 'AIMessageChunk', 'content': 'Hi'},)
    """
    match items:
        case [message, {"langgraph_node": _}]:
            return (message,)
        case _:
            return items


def _content(content: Any) -> Any:
    """Return a text as it is, and a list as the parts that Mistral's chat has."""
    if isinstance(content, str):
        return content
    parts: list[Any] = []
    for each in entries_of(content):
        part = {"type": "text", "text": each} if isinstance(each, str) else fields_of(each) or {}
        kind = part.get("type")
        if kind == "reasoning":
            texts = [part.get("reasoning")]
            texts += [entry.get("text") for entry in map(fields_of, entries_of(part.get("summary"))) if entry]
            part = {"type": "thinking", "thinking": "".join(text for text in texts if isinstance(text, str))}
        if kind not in _CALLS:
            parts.append({name: value for name, value in part.items() if name != "index"})
    return parts or ""


def _call(chunk: Fields) -> Fields:
    return {
        "index": chunk.get("index"),
        "id": chunk.get("id"),
        "function": {"name": chunk.get("name"), "arguments": chunk.get("args")},
    }


def _finish(metadata: Fields) -> str | None:
    for name in _FINISHES:
        if isinstance(word := metadata.get(name), str) and word:
            return word
    cut = (fields_of(metadata.get("incomplete_details")) or {}).get("reason")
    word = cut or metadata.get("status")
    return _OF_RESPONSES.get(word, word) if isinstance(word, str) else None


def _usage(given: Any, counted: dict[str, Any]) -> Fields | None:
    usage = fields_of(given)
    if not usage:
        return None
    for name, ours in _COUNTS.items():
        counted[ours] = counted.get(ours, 0) + (usage.get(name) or 0)
    for ours, (name, of, our) in _DETAILS.items():
        details = fields_of(usage.get(name)) or {}
        counted[ours] = {our: counted.get(ours, {}).get(our, 0) + (details.get(of) or 0)}
    return dict(counted)


# How a call goes back to the provider, where it is not as a function in `tool_calls`.
_CUSTOM = {"type": "custom"}
_LEGACY = {"type": "function_call"}
_OF_CALL = frozenset(("index", "id", "type", "function", "custom"))
_OF_GROQ = KEYS.left_out("x_groq") | {"usage"}


class OpenAIChat(ChatLane):
    """The machine: SDK chunks or the wire's plain dicts in, equal ChunkResponses out for both.

        {"choices": [{"delta": {"content": "Hi"}}]}   [ChunkResponse(content="Hi")]

    Follows the Chat Completions streaming reference, and the deviations of compatible servers. Of each choice the first
    finish reason counts; what comes after it still passes. An error without choices stops the stream at once; after an
    error beside choices the stream goes on, and the error is reported at its end. `parts.py` has the tables of what
    only some providers send.
    """

    KEYS = KEYS
    CHOICE = ChatChoice
    NAMES_IN_PIECES = True

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        """Return the chunks of one SDK chunk or wire dict."""
        if self.stopped:
            return []
        chunk = fields_of(item)
        if chunk is not None and (plain := plain_chunk(chunk)) and (said := self.lane("", plain)) is not None:
            return said
        if chunk is not None and "choices" not in chunk:
            inner = fields_of(chunk.get("data"))  # Mistral's SDK wraps its chunks in events
            chunk = inner if inner is not None and "choices" in inner else chunk
            if chunk.get("type") == TYPE:
                chunk = chat_chunk(chunk, self._extras.setdefault(TYPE, {}))
        if chunk is None:
            if isinstance(item, list | tuple):
                items = messages_in(cast("Sequence[Any]", item))
                return [response for each in items for response in self.feed(each)]
            return [] if item is None else [self.chunk(raw=({"value": plain_json(item)},))]
        self.identify(chunk.get("id"), chunk.get("model"))
        valid = [each for each in map(fields_of, entries_of(chunk.get("choices"))) if each is not None]
        responses = self._read_choices(valid, lambda position: plain_object(valid[position]))
        groq = fields_of(chunk.get("x_groq")) or {}
        if events := [
            ProviderEvent(OF_CHUNK[key], data) for key, data in changed(chunk, OF_CHUNK, self._extras).items()
        ]:
            responses.append(self.chunk(provider_events=events))
        usages = [given for each in (chunk, groq, *valid) if (given := each.get("usage"))]
        if usages:
            self._add_usage(responses, next((found for given in usages if (found := chat_usage(given))), None))
        told = reported_error(chunk, is_answer=bool(valid)) or reported_error(groq, is_answer=True)
        if told is not None:
            failure = error_in_body(plain_json(told.body))
            rest = error_rest(told.body) | unknown(chunk, NOT_UNKNOWN_OF_CHUNK | frozenset(told.keys))
            if rest:
                responses.append(self.chunk(raw=(rest,)))
            if not valid:
                return responses + self.fail(failure)
            self.failure = failure
            self._add(responses, error=error_fields(failure))
        elif rest := unknown(chunk, NOT_UNKNOWN_OF_CHUNK) | unknown(groq, _OF_GROQ):
            responses.append(self.chunk(raw=(rest if valid or responses else plain_json(item),)))
        return self.with_strangers(responses, "", chunk)

    def _read(self, choice: ChatChoice, fields: Fields) -> None:
        delta, message = fields_of(fields.get("delta")), fields_of(fields.get("message"))
        delta = delta or text_delta(fields)
        if delta is None and (new := self._new_of_message(choice, message)) is not None:
            # A message, from servers that only pretend to stream.
            delta, message = new, None
        if delta:
            _read_delta(choice, delta)
        if message and fields.get("finish_reason"):  # beside deltas it repeats them, but for what they did not have
            texts = {name: message.get(name) for name in ("content", "refusal")}
            choice.unsaid(reasoning=reasoning_text(message), **texts)
            _read_delta(choice, unsaid_calls(choice.calls, message))
        add_choice_extras(choice, fields, self._extras, logprobs=self.logprobs)
        if isinstance(reason := fields.get("finish_reason"), str) and reason:
            choice.finish(finish_of(CHAT_FINISHES, reason.lower()), reason)
        if told := reported_error(fields, is_answer=True):
            self.failure = error_in_body(plain_json(told.body))
            if rest := error_rest(told.body):
                choice.raw(rest)
            choice.said["error"] = error_fields(self.failure)

    def _new_of_message(self, choice: Choice, message: Fields | None) -> Fields | None:
        key = f"{choice.number}:message"
        if not message or (choice.spoke and key not in self._extras):
            return None
        return new_of_message(message, self._extras.setdefault(key, {}))


def _read_delta(choice: Choice, delta: Fields) -> None:
    if is_of_tool(delta):
        call_id = delta.get("tool_call_id")
        choice.event("tool_result", plain_object(delta), plain_json(call_id) if isinstance(call_id, str) else None)
        return
    said: dict[str, Any] = {}
    if reasoning := reasoning_text(delta):
        said["reasoning"] = reasoning
    content = delta.get("content")
    if isinstance(content, str):
        if content:
            said["content"] = content
    elif content:
        for part in map(fields_of, entries_of(content)):
            if part is not None:
                _read_part(choice, part)
    if isinstance(refusal := delta.get("refusal"), str) and refusal:
        said["refusal"] = refusal
    if images := delta.get("images"):
        add_images(said, images)
    if audio := fields_of(delta.get("audio")):
        add_audio(said, audio)
    if native := replayable(delta):
        said["native"] = native
    if delta.get("tool_calls") or delta.get("function_call"):
        found = _calls(choice.calls, delta)
        if calls := (*choice.calls.pending_deltas(), *found):
            said["tool_calls"] = calls
    choice.add(**said)
    if audio and (rest := audio_rest(audio)):
        choice.event("other", rest)
    add_delta_extras(choice, delta)


def _read_part(choice: Choice, part: Fields) -> None:
    """Read a part of list-typed content, of Mistral's or Databricks'."""
    kind, said = part.get("type"), dict[str, Any]()
    if kind in ("thinking", "reasoning"):
        said |= reasoning_part(part)
    elif kind in ("text", "output_text") and isinstance(part.get("text"), str):
        said["content"] = part["text"]
    elif kind == "image_url":
        add_images(said, [part])
    elif isinstance(kind, str) and kind in OF_PART:
        choice.event(OF_PART[kind], plain_object(part))
    elif says_something(plain := plain_object(part)):
        choice.raw(plain)
    if any(said.values()):
        choice.add(**said)
    if said and (rest := unknown(part, NOT_UNKNOWN_OF_PART)):
        choice.raw({"content": [{"type": kind, **rest}]})


def _calls(tracker: CallTracker, delta: Fields) -> list[ToolCallDelta]:
    given = entries_of(delta.get("tool_calls"))
    deltas: list[ToolCallDelta | None] = []
    for call in map(fields_of, given):
        if call is None:
            continue
        key, call_id = _key(call.get("index")), call.get("id")
        if (custom := fields_of(call.get("custom"))) and any(custom.values()):
            name, text = custom.get("name"), custom.get("input")
            native = (_CUSTOM if name else {}) | unknown(call, _OF_CALL) or None
            deltas.append(tracker.delta(key, call_id=call_id, name=name, arguments=text, kind="text", native=native))
        else:
            function = fields_of(call.get("function")) or {}
            name, text = function.get("name"), function.get("arguments")
            native = unknown(call, _OF_CALL) or None  # such as Gemini's `extra_content`, with the signature
            deltas.append(tracker.delta(key, call_id=call_id, name=name, arguments=text, native=native))
    if not given and (legacy := fields_of(delta.get("function_call"))):
        name, text = legacy.get("name"), legacy.get("arguments")
        deltas.append(tracker.delta("function_call", name=name, arguments=text, native=_LEGACY if name else None))
    return [each for each in deltas if each is not None]


def _key(index: Any) -> Key:
    if isinstance(index, float) and index.is_integer():
        return int(index)
    return index if isinstance(index, int | str) else None
