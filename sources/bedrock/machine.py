"""The events of Bedrock's ConverseStream to ChunkResponses."""

from __future__ import annotations

from typing import Any

from ...events.chunk_response import ChunkResponse, TokenUsage
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ..base.call_keys import Key
from ..base.endings import CONVERSE_FINISHES, finish_of
from ..base.kept_message import Joined
from ..base.response import SingleMachine, token_count
from ..base.sdk_fields import Fields, fields_of, plain_json, says_something
from .wire import KEYS, base64_of, converse_error, is_error_key, plain_fields, reasoning_fields

_PROVIDERS = "server_tool_use"
_CALLS_OWN = frozenset({"toolUseId", "name"})
_RESULT, _IMAGE = "toolResult", "image"
_IGNORED = KEYS.left_out()
_OF_STOP = frozenset({"stopReason"}) | KEYS.left_out("messageStop")
_OF_METADATA = frozenset({"usage", "trace"}) | KEYS.left_out("metadata")
_OF_BLOCK = frozenset({"contentBlockIndex", "start", "delta"})


class BedrockConverse(SingleMachine):
    """The machine: boto3's events or the wire's, which are equal dicts, in; ChunkResponses out.

        contentBlockStart  toolUse f          [ChunkResponse(tool_calls=(f,))]
        contentBlockDelta  {"a": 1            [ChunkResponse(tool_calls=({"a": 1,))]
        contentBlockStop                      [ChunkResponse(tool_calls=(done,))]

    Follows the ConverseStream reference: an event is an object of one key, its type. The usage comes in `metadata`,
    before or after the end. Blocks of text need no start. What a tool of the provider returned is an event, put
    together with its deltas. An event named as an exception is an error.
    """

    KEYS = KEYS
    STATE = (*SingleMachine.STATE, "_blocks", "_has_clients_calls")

    def __init__(self, *, turn_id: str | None = None, limits: Limits = DEFAULT_LIMITS, logprobs: bool = False) -> None:
        super().__init__(turn_id, limits, logprobs=logprobs)
        self._blocks: dict[Key, Joined] = {}
        """The open blocks that are neither text nor calls."""
        self._has_clients_calls = False

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        """Return the chunks for one event; none for an event without content."""
        if self.stopped or item is None:
            return []
        event = fields_of(item)
        if event is None:
            return self.raw(item)
        if not any(map(_is_known, event)) and event.keys() != {"error"}:
            return self.unread(item, event)
        chunks: list[ChunkResponse] = []
        for kind, value in event.items():
            if self.stopped:
                break
            if is_error_key(kind) and (kind != "error" or len(event) == 1):
                chunks += self.fail(converse_error(kind, value))
            elif kind in SHOWING or kind == "metadata":
                chunks += self._event(kind, fields_of(value) or {})
                if kind in _READ and (unknown := _strangers(kind, fields_of(value) or {})):
                    chunks.append(self.chunk(raw=({kind: unknown},)))
            elif kind not in _IGNORED and says_something(plain := plain_json(value)):
                chunks += self.raw({kind: plain})
        return chunks

    def rest(self) -> list[ChunkResponse]:
        """Return all held text, deltas and blocks at the end."""
        chunks = super().rest()
        for key in list(self._blocks):
            chunks += self._other_end(key)
        return chunks

    def new_part(self, _name: str, _state: Any, /) -> Joined:
        """Return an empty block, into which its state will be loaded."""
        return Joined()

    def _event(self, kind: str, event: Fields) -> list[ChunkResponse]:
        match kind:
            case "contentBlockDelta":
                return self._delta(event)
            case "contentBlockStart":
                return self._begin(event)
            case "contentBlockStop":
                return self._end(event)
            case "messageStop":
                return self._stop(event)
            case "metadata":
                return self._metadata(event)
            case _:
                return []

    def _begin(self, event: Fields) -> list[ChunkResponse]:
        key, start = _key(event), fields_of(event.get("start")) or {}
        chunks = self.followed() + self._other_end(key)
        if (call := fields_of(start.get("toolUse"))) is not None:
            return chunks + self._call(key, call)
        for kind in (_RESULT, _IMAGE):
            if (block := fields_of(start.get(kind))) is not None:
                self._blocks[key] = Joined({"block": kind, **plain_fields(block)})
                return chunks
        return chunks + self._unknown("contentBlockStart", event, start)

    def _call(self, key: Key, call: Fields) -> list[ChunkResponse]:
        is_providers = call.get("type") == _PROVIDERS
        self._has_clients_calls = self._has_clients_calls or not is_providers
        delta = self.calls.delta(
            key,
            call_id=call.get("toolUseId"),
            name=call.get("name"),
            executed_by="provider" if is_providers else "client",
            native={name: plain_json(value) for name, value in call.items() if value and name not in _CALLS_OWN},
        )
        return self.call(delta)

    def _delta(self, event: Fields) -> list[ChunkResponse]:
        key, delta = _key(event), fields_of(event.get("delta")) or {}
        if (call := fields_of(delta.get("toolUse"))) is not None:
            return self.call(self.calls.delta(key, arguments=call.get("input")))
        if isinstance(text := delta.get("text"), str):
            return self._followed_by(text) + self.text("content", text)
        if (reasoning := fields_of(delta.get("reasoningContent"))) is not None:
            return self._reasoning(reasoning)
        if (citation := delta.get("citation")) is not None:
            return self.event("citation", citation)
        if (block := self._blocks.get(key)) is not None and (_RESULT in delta or _IMAGE in delta):
            _add(block, delta)
            return []
        return self._unknown("contentBlockDelta", event, delta)

    def _followed_by(self, text: object) -> list[ChunkResponse]:
        return self.followed() if text else []

    def _reasoning(self, given: Fields) -> list[ChunkResponse]:
        given = reasoning_fields(given)
        text = given.get("text")
        chunks = self._followed_by(text) + self.text("reasoning", text)
        if signature := given.get("signature"):
            chunks += self.other(native={"type": "reasoningContent", "signature": plain_json(signature)})
        if redacted := given.get("redactedContent"):
            chunks += self.other(native={"type": "reasoningContent", "redactedContent": base64_of(redacted)})
        return chunks

    def _end(self, event: Fields) -> list[ChunkResponse]:
        key = _key(event)
        return self._other_end(key) if key in self._blocks else self.call(self.calls.done(key))

    def _other_end(self, key: Key) -> list[ChunkResponse]:
        """Return what a block that is neither text nor a call has become."""
        if (pieces := self._blocks.pop(key, None)) is None:
            return []
        block = pieces.whole()
        if block.pop("block", None) == _RESULT:
            return self.event("tool_result", {_RESULT: block}, block.get("toolUseId"))
        source = fields_of(block.get("source")) or {}
        if isinstance(data := source.get("bytes"), str):
            return self.other(image_urls=(f"data:image/{block.get('format') or 'png'};base64,{data}",))
        return self.event("file", {_IMAGE: block}) if says_something(block) else []

    def _unknown(self, kind: str, event: Fields, inner: Fields) -> list[ChunkResponse]:
        known = all(name in _OF_BLOCK or name in _IGNORED for name in event)
        return [] if known and not inner else self.raw({kind: plain_fields(event)})

    def _stop(self, event: Fields) -> list[ChunkResponse]:
        more = {name: plain_json(value) for name, value in event.items() if name not in _OF_STOP}
        chunks = self.event("other", more) if says_something(more) else []
        reason = event.get("stopReason")
        if not isinstance(reason, str) or not reason:
            return chunks
        return chunks + self.finish(finish_of(CONVERSE_FINISHES, reason), reason, has_calls=self._has_clients_calls)

    def _metadata(self, event: Fields) -> list[ChunkResponse]:
        chunks: list[ChunkResponse] = []
        for name, value in (fields_of(event.get("trace")) or {}).items():
            if says_something(plain := plain_json(value)):
                chunks += self.event("safety" if name == "guardrail" else "other", {name: plain})
        more = {name: plain_json(value) for name, value in event.items() if name not in _OF_METADATA}
        if says_something(more):
            chunks += self.raw({"metadata": more})
        usage = self.new_usage(_usage(fields_of(event.get("usage")) or {}))
        return chunks if usage is None else [*chunks, *self.other(usage=usage)]


SHOWING = frozenset({"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop"})
"""Types of events that no other API has."""


def _is_known(kind: str) -> bool:
    return kind != "error" and (kind in SHOWING or kind in _IGNORED or kind == "metadata" or is_error_key(kind))


_READ = {
    "contentBlockStart": ("start", frozenset({"toolUse", _RESULT, _IMAGE})),
    "contentBlockDelta": ("delta", frozenset({"toolUse", "text", "reasoningContent", "citation", _RESULT, _IMAGE})),
    "metadata": ("usage", frozenset[str]()),
}
"""Where an event has its content, and of which one is read; an event with another content is passed on whole."""


def _strangers(kind: str, event: Fields) -> Fields:
    name, read = _READ[kind]
    content = fields_of(event.get(name)) or {}
    if len(content) == 1 and "text" in content and len(event) == 2:
        return {}
    return {} if content and read and read.isdisjoint(content) else KEYS.strangers(kind, event)


def _key(event: Fields) -> Key:
    index = event.get("contentBlockIndex")
    return index if isinstance(index, int | str) else None


def _add(block: Joined, delta: Fields) -> None:
    """Add a delta to the block of a result or of an image."""
    if isinstance(given := delta.get(_RESULT), list):
        block.fields.setdefault("content", []).extend(plain_json(given))
    image = fields_of(delta.get(_IMAGE)) or {}
    if (source := fields_of(image.get("source"))) is not None:
        data = {"bytes": base64_of(source["bytes"])} if source.get("bytes") else plain_fields(source)
        block.fields["source"] = data
    if error := image.get("error"):
        block.fields["error"] = plain_json(error)


def _usage(fields: Fields) -> TokenUsage:
    cached = token_count(fields, "cacheReadInputTokens")
    prompt = token_count(fields, "inputTokens") + cached + token_count(fields, "cacheWriteInputTokens")
    completion = token_count(fields, "outputTokens")
    return TokenUsage(prompt, completion, token_count(fields, "totalTokens") or prompt + completion, cached)
