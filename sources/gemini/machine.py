"""Google's generateContent streams, of the Developer API and of Vertex AI, to ChunkResponses."""

from __future__ import annotations

import json
from typing import Any, cast

from ...events.chunk_response import ArgumentsKind, ChunkResponse, ProviderEvent, ProviderEventKind
from ...events.errors import UsageError
from ..base.endings import GEMINI_FINISHES, Finish, finish_of, reported_error
from ..base.sdk_fields import EventKinds, Fields, entries_of, plain_json, says_something
from .lane import Candidate, GeminiLane, fails
from .partial_args import PartialArgs, Scalar
from .wire import KEYS, base64_text, camel_case, candidates_of, gemini_error, gemini_fields, usage_of, wire_form, word

OF_RESPONSE: EventKinds = {"prompt_feedback": "safety", "model_status": "other"}
"""Kinds of the keys of a response."""
OF_CANDIDATE: EventKinds = {
    "citation_metadata": "citation",
    "grounding_metadata": "grounding",
    "url_context_metadata": "grounding",
    "grounding_attributions": "grounding",
    "safety_ratings": "safety",
    "logprobs_result": "logprobs",
    "avg_logprobs": "logprobs",
    "continuation_token": "other",
}
"""Kinds of the keys of a candidate."""
RESULTS = ("code_execution_result", "function_response", "tool_response")
"""Keys of a part that is the result of a tool that the provider ran."""
METADATA = ("media_resolution", "part_metadata", "video_metadata")
"""Keys that describe a part: an event of the kind `other`."""
BESIDE = frozenset((*METADATA, "thought", "thought_signature"))
"""Keys of a part that are not content."""
PART = BESIDE | {"executable_code", "file_data", "function_call", "inline_data", "text", "tool_call", *RESULTS}
"""The known keys of a part; a part with others is `raw`."""

NOT_UNKNOWN_OF_RESPONSE = frozenset(
    ("candidates", "create_time", "model_version", "parsed", "response_id", "usage_metadata", "error"),
) | {"automatic_function_calling_history", "sdk_http_response", *OF_RESPONSE}
NOT_UNKNOWN_OF_CANDIDATE = frozenset(
    ("content", "finish_message", "finish_reason", "index", "token_count", *OF_CANDIDATE),
)


def sorted_by_kind(
    fields: Fields, kinds: EventKinds, known: frozenset[str]
) -> tuple[list[tuple[ProviderEventKind, dict[str, Any]]], dict[str, Any]]:
    """Return the events of an object's keys, and the keys that are unknown.

    >>> sorted_by_kind({"prompt_feedback": {"blockReason": "SAFETY"}, "new": 1}, OF_RESPONSE, NOT_UNKNOWN_OF_RESPONSE)
    ([('safety', {'promptFeedback': {'blockReason': 'SAFETY'}})], {'new': 1})
    """
    said: dict[str, Any] = {}
    for key, value in fields.items():
        if (key in kinds or key not in known) and value is not None and says_something(plain := wire_form(value)):
            said[key] = plain
    events: list[tuple[ProviderEventKind, dict[str, Any]]] = [
        (kind, {camel_case(key): said[key]}) for key, kind in kinds.items() if key in said
    ]
    return events, {camel_case(key): plain for key, plain in said.items() if key not in kinds}


RUNS_FUNCTIONS = (
    "the SDK runs your Python functions itself in this stream (automatic function calling); pass declarations as "
    "tools, or config automatic_function_calling={'disable': True}"
)

_MEDIA = frozenset(("audio_urls", "image_urls", "video_urls"))


class Gemini(GeminiLane):
    """The machine: the SDK's responses or the wire's plain dicts in, equal ChunkResponses out for both.

        {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}   [ChunkResponse(content="Hi")]

    A function call comes whole, or on Vertex AI in leaves, from which `PartialArgs` makes the text. The finish is
    `tool_calls` where calls were made and the wire says STOP. Tools that the provider runs are calls with
    `executed_by="provider"`; their results are provider events, as the `OF_…` tables sort them. A reason that says the
    model failed (MALFORMED_FUNCTION_CALL and its kin) is a finish of `error` with `error` beside it: the stream itself
    goes on and completes.
    """

    KEYS = KEYS
    CHOICE = Candidate

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        """Return the chunks of one response of the stream."""
        if self.stopped:
            return []
        chunk = gemini_fields(item)
        if chunk is None:
            if isinstance(item, list):
                return [response for each in entries_of(item) for response in self.feed(each)]
            return [] if item is None else [self.chunk(raw=({"value": plain_json(item)},))]
        if chunk.get("automatic_function_calling_history"):
            raise UsageError(RUNS_FUNCTIONS)
        self.identify(word(chunk.get("response_id")), word(chunk.get("model_version")))
        if chunk.get("error") and (told := reported_error(chunk)):
            return self.fail(gemini_error(told.body))
        responses = self._read_choices(*candidates_of(chunk))
        self._feedback(chunk.get("prompt_feedback"), responses)
        events, unknown = sorted_by_kind(chunk, OF_RESPONSE, NOT_UNKNOWN_OF_RESPONSE)
        if events:
            responses.append(self.chunk(provider_events=[ProviderEvent(kind, data) for kind, data in events]))
        if unknown and not responses and (told := reported_error(chunk)):
            return self.fail(gemini_error(told.body))
        if unknown:
            responses.append(self.chunk(raw=(unknown,)))
        usage = gemini_fields(chunk.get("usage_metadata"))
        if usage and (unknown := _strangers("usage_metadata", usage)):
            responses.append(self.chunk(raw=({"usageMetadata": unknown},)))
        self._add_usage(responses, usage_of(usage))
        return responses

    def _read(self, choice: Candidate, fields: Fields) -> None:
        _read(choice, fields, logprobs=self.logprobs)

    def _part(self, candidate: Candidate, part: Fields, given: Any) -> None:
        _part(candidate, part, given)

    def _finish(self, candidate: Candidate, reason: str, message: str | None) -> None:
        _finish(candidate, reason, message)

    def _feedback(self, given: Any, responses: list[ChunkResponse]) -> None:
        """Read why the prompt was blocked, which is the finish of an answer without candidates."""
        feedback = gemini_fields(given) or {}
        reason = word(feedback.get("block_reason"))
        candidate = self._choice(0 if self._wanted == "all" else self._wanted) if reason else None
        if reason and candidate and not candidate.finished:
            candidate.rest()
            if message := word(feedback.get("block_reason_message")):
                candidate.emit(refusal=message)
            candidate.finish(Finish("content_filter"), reason)
            responses += self._chunks(candidate)


def _read(candidate: Candidate, fields: Fields, *, logprobs: bool) -> None:
    content = gemini_fields(fields.get("content")) or {}
    candidate.is_failing = fails(word(fields.get("finish_reason")))
    if unknown := _strangers("content", content):
        candidate.raw({"content": unknown})
    for given in entries_of(content.get("parts")):
        if part := gemini_fields(given):
            _part(candidate, part, given)
    candidate.call(*candidate.calls.pending_deltas())
    events, unknown = sorted_by_kind(fields, OF_CANDIDATE, NOT_UNKNOWN_OF_CANDIDATE)
    for kind, data in events:
        if logprobs or kind != "logprobs":
            candidate.event(kind, data)
    if unknown:
        candidate.raw(unknown)
    if reason := word(fields.get("finish_reason")):
        _finish(candidate, reason, word(fields.get("finish_message")))


def _part(candidate: Candidate, part: Fields, given: Any) -> None:
    signature = base64_text(part.get("thought_signature"))
    native = {"thoughtSignature": signature} if signature else None
    text, call = part.get("text"), gemini_fields(part.get("function_call"))
    is_more = call is None or bool(call.get("name"))  # and not the next part of a call
    ended = candidate.calls.ended
    if ended.is_waiting and is_more and any(value for name, value in part.items() if name not in BESIDE):
        candidate.call(*ended.followed())
    if call is not None:
        _function_call(candidate, call, native)
        if unknown := _strangers("function_call", call):
            candidate.raw({"functionCall": unknown})
    elif any(part.get(name) is not None for name in ("tool_call", "executable_code")):
        _provider_call(candidate, part, given, signature)
    elif found := [fields for name in RESULTS if (fields := gemini_fields(part.get(name))) is not None]:
        candidate.leave()
        candidate.event("tool_result", wire_form(given), word(found[0].get("id")) or candidate.run_id)
    elif (part.get("inline_data") or part.get("file_data")) and not part.get("thought"):
        _media(candidate, part, given)
    elif part.get("inline_data") or part.get("file_data"):
        candidate.event("file", wire_form(given))
    else:
        if beside := {camel_case(name): wire_form(part[name]) for name in METADATA if part.get(name)}:
            candidate.event("other", beside)
        if isinstance(text, str) and text:
            candidate.add(**{"reasoning" if part.get("thought") else "content": text})
        if native:
            candidate.emit(native=native)
    unknown = {camel_case(name): wire_form(part[name]) for name in part if name not in PART}
    if unknown and says_something(unknown):
        candidate.raw(unknown)


def _strangers(kind: str, fields: Fields) -> Fields:
    return KEYS.strangers(kind, fields, gemini_fields, camel_case)


def _function_call(candidate: Candidate, call: Fields, native: dict[str, Any] | None) -> None:
    """Read one part of a call: a whole call; or its first part, with name and leaves; a next part; or the last one."""
    candidate.leave()
    name, call_id, args = call.get("name"), word(call.get("id")), call.get("args")
    leaves, goes_on = entries_of(call.get("partial_args")), bool(call.get("will_continue"))
    key = _open_call(candidate, call_id, name)
    begins = key is None
    if begins and not (name or leaves or args):
        return
    if begins and name:
        _leave_calls(candidate, call_id)
        candidate.called = True
    if key is None:
        key, candidate.begun = candidate.begun, candidate.begun + 1
    is_whole = begins and not (leaves or goes_on)
    partial = candidate.partials.get(key) or PartialArgs(call_id)
    # No arguments at all may still come, in a part of their own.
    beside: dict[str, Any] = {"arguments": args} if args else {"announced": {}}
    if not is_whole:
        text = _written(candidate, partial, args, leaves)
        beside = {"arguments": text} if goes_on else _ending(partial, text)
    # Arguments that are missing, or that come in leaves, are closed by us: only whole ones are the model's JSON.
    is_json = is_whole and args is not None and not candidate.is_failing
    kind: ArgumentsKind = "json" if is_json else "object"
    delta = candidate.calls.delta(key, call_id=call_id, name=name, kind=kind, native=native, **beside)
    if goes_on:
        candidate.partials[key], candidate.open = partial, key
        if begins and call_id:
            candidate.ids[call_id] = key
        candidate.call(delta)
    elif candidate.is_failing:
        candidate.call(delta)
    else:
        candidate.whole_call(delta, candidate.calls.done(key))
        _forget(candidate, key)


def _open_call(candidate: Candidate, call_id: str | None, name: object) -> int | None:
    """Return the key of the open call that a part is of; None for a part of no open call."""
    if call_id and call_id in candidate.ids:
        return candidate.ids[call_id]
    key = candidate.open
    if name or key is None:
        return None
    return None if call_id and candidate.partials[key].call_id else key


def _forget(candidate: Candidate, key: int) -> None:
    partial = candidate.partials.pop(key, None)
    if partial is not None and partial.call_id:
        candidate.ids.pop(partial.call_id, None)
    if candidate.open == key:
        candidate.open = next(reversed(candidate.partials), None)


def _written(candidate: Candidate, partial: PartialArgs, args: Any, leaves: list[object]) -> str:
    """Return the argument text for leaves; leaves that cannot be written go into `raw`."""
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
            candidate.raw({"type": "arguments_broken", "reason": reason, "partialArg": wire_form(given)})
        else:
            text += piece
    return text


def _leaf_value(leaf: Fields, given: Any) -> tuple[Scalar, bool]:
    """Return the value of a leaf, and whether it has one, because a missing value differs from null."""
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


def _leave_calls(candidate: Candidate, call_id: str | None = None) -> None:
    """Close the calls whose last part is missing, because another call begins or the answer ends regularly.

    Calls with ids may go on beside another one that has an id, too.
    """
    while (key := candidate.open) is not None:
        partial = candidate.partials[key]
        if call_id and partial.call_id:
            break
        if partial.has_text:  # of one without, all is missing that it said would follow
            candidate.call(candidate.calls.delta(key, **_ending(partial)))
        _forget(candidate, key)


def _ending(partial: PartialArgs, text: str = "") -> dict[str, Any]:
    """Return the last text of leaves with their closing brackets; no leaves are no arguments."""
    closers = partial.end() or ""
    return {"arguments": text + closers} if partial.has_text or not closers else {"announced": {}}


def _provider_call(candidate: Candidate, part: Fields, given: Any, signature: str | None) -> None:
    candidate.leave()
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
    _leave_calls(candidate)
    key = candidate.begun
    candidate.begun += 1
    options: dict[str, Any] = {"executed_by": "provider", "native": native}
    delta = candidate.calls.delta(key, call_id=call_id, name=name, arguments=arguments, **options)
    candidate.run_id = delta.call_id if delta else None
    candidate.whole_call(delta, candidate.calls.done(key))


def _media(candidate: Candidate, part: Fields, given: Any) -> None:
    candidate.leave()
    blob = gemini_fields(part.get("inline_data")) or gemini_fields(part.get("file_data")) or {}
    kind = word(blob.get("mime_type")) or ""
    data, url = base64_text(blob.get("data")), word(blob.get("file_uri"))
    place = url or (data and f"data:{kind};base64,{data}")
    name = f"{kind.partition('/')[0]}_urls"
    if place and name in _MEDIA:
        candidate.emit(**{name: (place,)})
        kind = "inline_data" if part.get("inline_data") else "file_data"
        if unknown := _strangers(kind, blob):
            candidate.raw({camel_case(kind): unknown})
        if beside := {camel_case(name): wire_form(part[name]) for name in METADATA if part.get(name)}:
            candidate.event("other", beside)
    else:
        candidate.event("file", wire_form(given))


def _finish(candidate: Candidate, reason: str, message: str | None) -> None:
    finish = finish_of(GEMINI_FINISHES, reason)
    is_first = not candidate.finished
    if is_first and finish.is_regular:
        _leave_calls(candidate)
    candidate.finish(finish, reason, has_calls=candidate.called)
    if is_first and finish.reason == "error":
        candidate.said["error"] = {"detail": message or f"the model's answer ended with {reason}", "type": reason}
    elif is_first and message and not finish.is_regular:
        candidate.event("other", {"finishMessage": message})
