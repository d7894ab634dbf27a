"""Anthropic Messages, generally available and beta alike: served API, wire, and the machine to ChunkResponses."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from msgspec import Struct
from msgspec.json import Decoder

from ...events.chunk_response import ChunkResponse, ProviderEventKind, TokenUsage
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ..base.call_keys import Key
from ..base.endings import ANTHROPIC_FINISHES, Finish, error_in_body, finish_of
from ..base.kept_message import Joined
from ..base.machine import UNFIT
from ..base.response import SingleMachine, token_count
from ..base.sdk_fields import EventKinds, Fields, entries_of, fields_of, plain_json, plain_object, says_something
from .wire import KEYS


class _Text(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="text_delta"):
    text: str


class _Json(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="input_json_delta"):
    partial_json: str


class _Thinking(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="thinking_delta"):
    thinking: str
    estimated_tokens: int | None = None


class _Delta(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="content_block_delta"):
    index: int
    delta: _Text | _Json | _Thinking


class _Begin(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="content_block_start"):
    index: int
    content_block: dict[str, Any]


class _End(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="content_block_stop"):
    index: int


_decode = Decoder(_Delta | _Begin | _End).decode


class AnthropicLane(SingleMachine):
    """The machine of Anthropic's events without `feed`; `lane` returns what `feed` would, or None.

    What fits are the deltas of text, thinking and arguments, and the bounds of blocks, in the first message.
    """

    STATE = (*SingleMachine.STATE, "_messages")

    def __init__(self, turn_id: str | None, limits: Limits, *, logprobs: bool) -> None:
        super().__init__(turn_id, limits, logprobs=logprobs)
        self._messages = 0

    def lane(self, data: str, /) -> list[ChunkResponse] | None:  # noqa: PLR0911 - one line for each way
        """Return the chunks of an event, from its JSON text; None, and no change, for one that does not fit."""
        if self.stopped or self._messages != 1:
            return None
        try:
            event = _decode(data)
        except UNFIT:
            return None
        if isinstance(event, _Begin):
            return self._block(event.index, event.content_block)
        if isinstance(event, _End):
            return self._block_end(event.index)
        delta = event.delta
        if isinstance(delta, _Json):
            call = None if self._held else self.calls.more(event.index, delta.partial_json)
            if call is None:
                return self.call(self.calls.delta(event.index, arguments=delta.partial_json))
            return [ChunkResponse(tool_calls=(call,), response_id=self.response_id, model=self.model)]
        if isinstance(delta, _Thinking):
            return self.text("reasoning", delta.thinking)
        if self._held or not delta.text:
            return self.text("content", delta.text)
        return [ChunkResponse(delta.text, response_id=self.response_id, model=self.model)]

    @abstractmethod
    def _block(self, key: Key, content: Any) -> list[ChunkResponse]: ...
    @abstractmethod
    def _block_end(self, key: Key) -> list[ChunkResponse]: ...


RESULT = "_tool_result"
"""The end of a block's type for what a tool of the provider returned: `web_search_tool_result` and the like."""
KINDS: EventKinds = {
    "compaction": "compaction",
    "container_upload": "file",
    "fallback": "other",
    "mcp_tool_listing": "other",
}
"""Kinds of the other blocks; a type that is not here is unknown, and its blocks are `raw`."""
OF_MESSAGE = (
    "container",
    "stop_sequence",
    "stop_details",
    "context_management",
    "diagnostics",
    "input_transformations",
)
"""Keys of a message, and of its delta, that are an event of the kind `other`."""


def kind_of(block: Fields) -> ProviderEventKind | None:
    """Return the kind of a block's event; None for an unknown type.

    >>> kind_of({"type": "web_fetch_tool_result"}), kind_of({"type": "compaction"}), kind_of({"type": "new"})
    ('tool_result', 'compaction', None)
    """
    name = block.get("type")
    if not isinstance(name, str):
        return None
    return "tool_result" if name.endswith(RESULT) else KINDS.get(name)


def add_delta(block: Joined, delta: Fields) -> None:
    """Add a delta to its block: a text to the text of the same key, the entries of a list to the list.

    >>> block = Joined({"type": "compaction", "content": None})
    >>> for text in ("Go", " on"):
    ...     add_delta(block, {"type": "compaction_delta", "content": text})
    >>> block.whole()
    {'type': 'compaction', 'content': 'Go on'}
    """
    for key, value in plain_object(delta).items():
        if key == "type" or value is None:
            continue
        before: Any = block.fields.get(key)
        if isinstance(before, str) and isinstance(value, str):
            if key not in block.texts:
                block.text(key, before)
            block.text(key, value)
        elif isinstance(before, list) and isinstance(value, list):
            block.fields[key].extend(entries_of(value))
        else:
            block.fields[key] = value
            block.texts.pop(key, None)


# Blocks that are calls: whether the client runs them or the provider does.
_CLIENTS = "tool_use"
_PROVIDERS = frozenset({"server_tool_use", "mcp_tool_use"})
_READ = frozenset({"text_delta", "input_json_delta", "thinking_delta", "signature_delta"})
"""Deltas that are read key by key."""
_LEAST = {"content_block_delta": 3} | dict.fromkeys(_READ, 2)
"""How many keys there are at least; an event without more has no unknown ones."""
# Keys of a call's block that are not in `native`, because the call has them.
_CALLS_OWN = frozenset({"id", "name", "input"})
_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


class AnthropicMessages(AnthropicLane):
    """The machine: SDK events or the wire's plain dicts in, equal ChunkResponses out for both.

        content_block_start  tool_use f     [ChunkResponse(tool_calls=(f,))]
        content_block_delta  {"a": 1        [ChunkResponse(tool_calls=({"a": 1,))]
        content_block_stop                  [ChunkResponse(tool_calls=(done,))]

    Follows the Messages streaming reference. An `input` at the start of a block counts only if no delta comes, and
    so is given at the block's end. Blocks of other kinds (results, compaction, fallback) are provider events, put
    together with their deltas; those of an unknown kind are `raw`. A second `message_start` continues the same turn
    with new blocks.
    """

    KEYS = KEYS
    STATE = (*AnthropicLane.STATE, "_blocks", "_counts", "_has_clients_calls", "_stop_reason")

    def __init__(self, *, turn_id: str | None = None, limits: Limits = DEFAULT_LIMITS, logprobs: bool = False) -> None:
        super().__init__(turn_id, limits, logprobs=logprobs)
        self._blocks: dict[Key, Joined] = {}
        """The open blocks that are neither text nor calls."""
        self._counts: dict[str, int] = {}
        self._has_clients_calls = False
        self._stop_reason: object = None
        """The reason in `message_start`, where a message begins as a whole one; a later one replaces it."""

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        """Return the chunks for one event; none for an event without content."""
        if self.stopped or item is None:
            return []
        event = fields_of(item)
        if event is None:
            return self.raw(item)
        kind = event.get("type")
        chunks = self._event(item, event, kind)
        if not isinstance(kind, str) or len(event) == _LEAST.get(kind):
            return chunks
        return self.with_strangers(chunks, kind, event)

    def _event(self, item: Any, event: Fields, kind: object) -> list[ChunkResponse]:  # noqa: PLR0911 - one line a kind
        if kind == "content_block_delta":
            return self._delta(item, event)
        if kind == "content_block_start":
            return self._block(self._key(event), event.get("content_block"))
        if kind == "content_block_stop":
            return self._block_end(self._key(event))
        if kind == "message_start":
            return self._message(fields_of(event.get("message")) or {})
        if kind == "message_delta":
            return self._message_delta(event)
        if kind == "message_stop":
            return self._message_stop()
        if kind == "ping":
            return []
        if kind == "error":
            return self.fail(error_in_body(plain_json(event.get("error") or {**event, "type": None})))
        return self.unread(item, event)

    def _key(self, event: Fields) -> Key:
        """Return the key of a block: its index, after the first message also the number of the message."""
        index = event.get("index")
        key = index if isinstance(index, int | str) else None
        return key if self._messages < 2 else f"{self._messages}:{key}"

    def _message(self, message: Fields) -> list[ChunkResponse]:
        chunks = self.leave()
        self._messages += 1
        if message.get("id"):
            self.response_id = None  # a second message has an id of its own
        self._counts, self._last_usage = {}, None  # and counts of its own
        self.identify(message.get("id"), message.get("model"))
        self._stop_reason = plain_json(message.get("stop_reason"))
        if usage := self._usage(message.get("usage")):
            chunks.append(self.chunk(usage=usage))
        # Blocks inside the message itself have no block events.
        for number, block in enumerate(entries_of(message.get("content"))):
            key = f"{self._messages}:content:{number}"
            chunks += self._block(key, block)
            chunks += self._block_end(key)
        return chunks + self._extras(message)

    def _block(self, key: Key, content: Any) -> list[ChunkResponse]:
        block = fields_of(content) or {}
        kind = str(block.get("type"))
        return self.followed() + self._other_end(key) + self._begin(key, kind, content, block)

    def _begin(self, key: Key, kind: str, content: Any, block: Fields) -> list[ChunkResponse]:
        if kind == _CLIENTS or kind in _PROVIDERS:
            return self._call(key, kind, block)
        if kind == "text":
            chunks = self.text("content", block.get("text"))
            for citation in entries_of(block.get("citations")):
                chunks += self.event("citation", citation)
            return self.with_strangers(chunks, kind, block)
        if kind == "thinking":
            chunks = [*self.text("reasoning", block.get("thinking")), *self._signature(block)]
            return self.with_strangers(chunks, kind, block)
        if kind == "redacted_thinking":
            native = {"type": kind, "data": plain_json(block.get("data"))}
            return self.with_strangers(self.other(native=native), kind, block)
        if kind == "fallback":  # another model writes the rest
            self.identify(None, (fields_of(block.get("to")) or {}).get("model"))
        self._blocks[key] = Joined(plain_object(content))
        return []

    def _other_end(self, key: Key) -> list[ChunkResponse]:
        """Return what a block that is neither text nor a call has become."""
        if (pieces := self._blocks.pop(key, None)) is None or not says_something(block := pieces.whole()):
            return []
        kind = kind_of(block)
        return self.raw(block) if kind is None else self.event(kind, block, block.get("tool_use_id"))

    def rest(self) -> list[ChunkResponse]:
        """Return all held text, deltas and blocks at the end."""
        chunks = super().rest()
        for key in list(self._blocks):
            chunks += self._other_end(key)
        return chunks

    def new_part(self, _name: str, _state: Any, /) -> Joined:
        """Return an empty block, into which its state will be loaded."""
        return Joined()

    def _call(self, key: Key, kind: str, block: Fields) -> list[ChunkResponse]:
        self._has_clients_calls = self._has_clients_calls or kind == _CLIENTS
        native = {name: plain_json(value) for name, value in block.items() if value and name not in _CALLS_OWN}
        delta = self.calls.delta(
            key,
            call_id=block.get("id"),
            name=block.get("name"),
            executed_by="client" if kind == _CLIENTS else "provider",
            native=native,
            announced=block.get("input") or None,  # the empty object that is always there has no meaning
        )
        return self.call(delta)

    def _delta(self, item: Any, event: Fields) -> list[ChunkResponse]:
        delta = fields_of(event.get("delta")) or {}
        kind = delta.get("type")
        if isinstance(kind, str) and kind in _READ:
            chunks = self._read(kind, event, delta)
            return chunks if chunks and len(delta) == _LEAST[kind] else self.with_strangers(chunks, kind, delta)
        if (block := self._blocks.get(self._key(event))) is not None:
            add_delta(block, delta)
            return []
        if kind == "citations_delta":
            return self.with_strangers(self.event("citation", delta.get("citation")), kind, delta)
        return self.raw(item)

    def _read(self, kind: str, event: Fields, delta: Fields) -> list[ChunkResponse]:
        if kind == "input_json_delta":
            return self.call(self.calls.delta(self._key(event), arguments=delta.get("partial_json")))
        if kind == "text_delta":
            return self.text("content", delta.get("text"))
        if kind == "thinking_delta":
            return self.text("reasoning", delta.get("thinking"))
        return self._signature(delta)

    def _signature(self, fields: Fields) -> list[ChunkResponse]:
        signature = fields.get("signature")
        if not signature:
            return []
        return self.other(native={"type": "thinking", "signature": plain_json(signature)})

    def _block_end(self, key: Key) -> list[ChunkResponse]:
        return self._other_end(key) if key in self._blocks else self.call(self.calls.done(key))

    def _extras(self, *objects: Fields) -> list[ChunkResponse]:
        """Return what a message has besides its blocks and its end: the container, the stop sequence and the like."""
        given = {name: plain_json(each[name]) for name in OF_MESSAGE for each in objects if name in each}
        said = {name: value for name, value in given.items() if says_something(value)}
        return self.event("other", said) if said else []

    def _message_delta(self, event: Fields) -> list[ChunkResponse]:
        said: dict[str, Any] = {}
        if usage := self._usage(event.get("usage")):
            said["usage"] = usage
        delta = fields_of(event.get("delta")) or {}
        details = fields_of(delta.get("stop_details")) or {}
        chunks = self._extras(delta, event)
        reason = delta.get("stop_reason")
        if not isinstance(reason, str) or not reason:
            return chunks + (self.other(**said) if said else [])
        chunks += self.text("refusal", details.get("explanation"))
        return chunks + self.finish(finish_of(ANTHROPIC_FINISHES, reason), reason, **said)

    def _message_stop(self) -> list[ChunkResponse]:
        if self.finished:
            return []
        reason = self._stop_reason
        if isinstance(reason, str) and reason:
            return self.finish(finish_of(ANTHROPIC_FINISHES, reason), reason)
        return self.finish(Finish("stop"), "message_stop", has_calls=self._has_clients_calls)

    def _usage(self, given: Any) -> TokenUsage | None:
        """Update the counts, which are totals so far; a count that is absent, null or 0 stays."""
        fields = fields_of(given) or {}
        details = fields_of(fields.get("output_tokens_details")) or {}
        for name in (*_COUNTS, "thinking_tokens"):
            if count := token_count(details if name == "thinking_tokens" else fields, name):
                self._counts[name] = count
        known = self._counts.get
        cached = known("cache_read_input_tokens", 0)
        prompt = known("input_tokens", 0) + cached + known("cache_creation_input_tokens", 0)
        completion = known("output_tokens", 0)
        usage = TokenUsage(prompt, completion, prompt + completion, cached, known("thinking_tokens", 0))
        return self.new_usage(usage)
