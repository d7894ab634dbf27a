"""Anthropic Messages, generally available and beta alike, to ChunkResponses."""

from __future__ import annotations

from typing import Any

from ...events.chunk_response import ChunkResponse, TokenUsage
from ...events.errors import ProviderError
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.engine.stage import How
from ...operators.engine.state import Stateful
from ..machine.ended_calls import Key
from ..machine.finish_reasons import ANTHROPIC_FINISHES, Finish, finish_of
from ..machine.one_answer import OneAnswer
from ..machine.provider_error import error_in_body
from ..machine.sdk_fields import Fields, entries_of, fields_of
from ..machine.surrogates import plain_json
from ..machine.token_count import token_count

# Blocks that are calls: whether the client runs them or the provider does.
_CLIENTS = "tool_use"
_PROVIDERS = frozenset({"server_tool_use", "mcp_tool_use"})
# What of a call's block does not go into `native`, because the call has it itself.
_CALLS_OWN = frozenset({"id", "name", "input"})
_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


class AnthropicMessages(Stateful):
    """The machine: SDK events or the wire's plain dicts in, equal ChunkResponses out for both.

        content_block_start  tool_use f     [ChunkResponse(tool_calls=(f,))]
        content_block_delta  {"a": 1        [ChunkResponse(tool_calls=({"a": 1,))]
        content_block_stop                  [ChunkResponse(tool_calls=(done,))]

    Follows the Messages streaming reference. An `input` that comes with its block counts only if no delta comes, and
    so is given at the block's end. Whole blocks of other kinds (results, compaction, fallback) and citations pass as
    `raw`. A second `message_start` goes on in the same turn with new blocks.
    """

    STATE = ("_answer", "_counts", "_has_clients_calls", "_messages")

    def __init__(self, *, turn_id: str | None = None, limits: Limits = DEFAULT_LIMITS) -> None:
        self._answer = OneAnswer(turn_id, limits)
        self._messages = 0
        self._counts: dict[str, int] = {}
        self._has_clients_calls = False

    @property
    def stopped(self) -> bool:
        return self._answer.stopped

    @property
    def failure(self) -> ProviderError | None:
        return self._answer.failure

    def feed(self, item: Any, /) -> list[ChunkResponse]:  # noqa: PLR0911 - one line for each kind of event
        """Return what one event says; nothing for one that says nothing."""
        if self._answer.stopped or item is None:
            return []
        event = fields_of(item)
        if event is None:
            return self._answer.raw(item)
        kind = event.get("type")
        if kind == "content_block_delta":
            return self._delta(item, event)
        if kind == "content_block_start":
            return self._block(item, self._key(event), event.get("content_block"))
        if kind == "content_block_stop":
            return self._block_end(self._key(event))
        if kind == "message_start":
            return self._message(fields_of(event.get("message")) or {})
        if kind == "message_delta":
            return self._message_delta(item, event)
        if kind == "message_stop":
            return self._message_stop()
        if kind == "ping":
            return []
        if kind == "error":
            return self._answer.fail(error_in_body(plain_json(event.get("error") or {**event, "type": None})))
        return self._answer.raw(item) if event else []

    def close(self, how: How, /) -> list[ChunkResponse]:
        """Return what is still held, and for an error from outside the chunk that says it."""
        if self._answer.stopped:
            return []
        return self._answer.close(how)

    def _key(self, event: Fields) -> Key:
        """File a block under its index; those of a second message are other blocks."""
        index = event.get("index")
        key = index if isinstance(index, int | str) else None
        return key if self._messages < 2 else f"{self._messages}:{key}"

    def _message(self, message: Fields) -> list[ChunkResponse]:
        chunks = self._answer.leave()
        self._messages += 1
        self._answer.identify(message.get("id"), message.get("model"))
        if usage := self._usage(message.get("usage")):
            chunks.append(self._answer.chunk(usage=usage))
        # Where blocks stand in the message itself, no block events come for them.
        for number, block in enumerate(entries_of(message.get("content"))):
            key = f"{self._messages}:content:{number}"
            chunks += self._block({"type": "content_block_start", "index": number, "content_block": block}, key, block)
            chunks += self._block_end(key)
        return chunks

    def _block(self, item: Any, key: Key, content: Any) -> list[ChunkResponse]:
        answer = self._answer
        block = fields_of(content) or {}
        kind = str(block.get("type"))
        return answer.followed() + self._begin(item, key, kind, block)

    def _begin(self, item: Any, key: Key, kind: str, block: Fields) -> list[ChunkResponse]:
        answer = self._answer
        if kind == _CLIENTS or kind in _PROVIDERS:
            return self._call(key, kind, block)
        if kind == "text":
            if block.get("citations"):
                return [*answer.raw(item), *answer.text("content", block.get("text"))]
            return answer.text("content", block.get("text"))
        if kind == "thinking":
            return [*answer.text("reasoning", block.get("thinking")), *self._signature(block)]
        if kind == "redacted_thinking":
            return answer.other(native={"type": kind, "data": plain_json(block.get("data"))})
        return answer.raw(item)

    def _call(self, key: Key, kind: str, block: Fields) -> list[ChunkResponse]:
        self._has_clients_calls = self._has_clients_calls or kind == _CLIENTS
        native = {name: plain_json(value) for name, value in block.items() if value and name not in _CALLS_OWN}
        delta = self._answer.calls.delta(
            key,
            call_id=block.get("id"),
            name=block.get("name"),
            executed_by="client" if kind == _CLIENTS else "provider",
            native=native,
            announced=block.get("input") or None,  # the empty object that always stands there says nothing
        )
        return self._answer.call(delta)

    def _delta(self, item: Any, event: Fields) -> list[ChunkResponse]:
        delta = fields_of(event.get("delta")) or {}
        kind = delta.get("type")
        if kind == "input_json_delta":
            return self._answer.call(self._answer.calls.delta(self._key(event), arguments=delta.get("partial_json")))
        if kind == "text_delta":
            return self._answer.text("content", delta.get("text"))
        if kind == "thinking_delta":
            return self._answer.text("reasoning", delta.get("thinking"))
        if kind == "signature_delta":
            return self._signature(delta)
        return self._answer.raw(item)

    def _signature(self, fields: Fields) -> list[ChunkResponse]:
        signature = fields.get("signature")
        if not signature:
            return []
        return self._answer.other(native={"type": "thinking", "signature": plain_json(signature)})

    def _block_end(self, key: Key) -> list[ChunkResponse]:
        return self._answer.call(self._answer.calls.done(key))

    def _message_delta(self, item: Any, event: Fields) -> list[ChunkResponse]:
        answer = self._answer
        said: dict[str, Any] = {}
        if usage := self._usage(event.get("usage")):
            said["usage"] = usage
        delta = fields_of(event.get("delta")) or {}
        details = fields_of(delta.get("stop_details")) or {}
        # A container, the stop sequence and the like: what the finish has no place for.
        if any(delta[name] for name in delta if name not in ("stop_reason", "type")) or event.get("context_management"):
            said["raw"] = (plain_json(item),)
        reason = delta.get("stop_reason")
        if not isinstance(reason, str) or not reason:
            return answer.other(**said) if said else []
        chunks = answer.text("refusal", details.get("explanation"))
        return chunks + answer.finish(finish_of(ANTHROPIC_FINISHES, reason), reason, **said)

    def _message_stop(self) -> list[ChunkResponse]:
        if self._answer.finished:
            return []
        return self._answer.finish(Finish("stop"), "message_stop", has_calls=self._has_clients_calls)

    def _usage(self, given: Any) -> TokenUsage | None:
        """Read counts, which are totals so far; one that is left out or null stays as it was."""
        fields = fields_of(given) or {}
        for name in _COUNTS:
            if fields.get(name) is not None:
                self._counts[name] = token_count(fields, name)
        details = fields_of(fields.get("output_tokens_details")) or {}
        if details:
            self._counts["thinking_tokens"] = token_count(details, "thinking_tokens")
        count = self._counts.get
        cached = count("cache_read_input_tokens", 0)
        prompt = count("input_tokens", 0) + cached + count("cache_creation_input_tokens", 0)
        completion = count("output_tokens", 0)
        usage = TokenUsage(prompt, completion, prompt + completion, cached, count("thinking_tokens", 0))
        return self._answer.new_usage(usage)


def is_anthropic_event(event: dict[str, Any]) -> bool:
    """Return whether a decoded event of the wire is one of this API's."""
    return event.get("type") in ("message_start", "content_block_start", "content_block_delta", "message_delta")
