"""Decode OpenAI Responses, also of compatible servers, to ChunkResponses."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...events.chunk_response import ChunkResponse, TokenUsage
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ..machine.finish_reasons import RESPONSES_FINISHES, Finish, finish_of
from ..machine.one_answer import OneAnswer, TextStream
from ..machine.provider_error import error_in_body
from ..machine.sdk_fields import Fields, entries_of, fields_of
from ..machine.surrogates import plain_json
from ..machine.token_count import token_count
from .output_items import OutputItem, OutputItems
from .responses_items import (
    CallKind,
    announced_arguments,
    call_kind,
    call_native,
    call_status,
    whole_arguments,
)


class _Text(NamedTuple):
    """The key of a text event's text, and the stream that it belongs to."""

    stream: TextStream
    number: str
    field: str = "delta"


_TEXTS = {
    "response.output_text": _Text("content", "content_index", "text"),
    "response.refusal": _Text("refusal", "content_index", "refusal"),
    "response.reasoning_text": _Text("reasoning", "content_index", "text"),
    "response.reasoning_summary_text": _Text("reasoning", "summary_index", "text"),
}
_ARGUMENTS = {
    "response.function_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
    "response.mcp_call_arguments": "arguments",
    "response.code_interpreter_call_code": "code",
}
_TEXT_DELTAS = {f"{event}.delta": text._replace(field="delta") for event, text in _TEXTS.items()}
_TEXT_ENDS = {f"{event}.done": text for event, text in _TEXTS.items()}
_ARGUMENT_DELTAS = frozenset(f"{event}.delta" for event in _ARGUMENTS)
_ARGUMENT_ENDS = {f"{event}.done": field for event, field in _ARGUMENTS.items()}
_COMMANDS = "response.shell_call_command."
_BEGINS = frozenset({"response.created", "response.queued", "response.in_progress"})
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_WITH_PARTS = frozenset({"message", "reasoning"})
# They frame parts that other events have complete.
_SILENT = frozenset({"keepalive", "response.content_part.added", "response.content_part.done"}) | {
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done",
}


class OpenAIResponses(OneAnswer):
    """The machine: SDK events or the wire's plain dicts in, equal ChunkResponses out for both.

        output_item.added              function_call f   [ChunkResponse(tool_calls=(f,))]
        function_call_arguments.delta  {"a": 1}          [ChunkResponse(tool_calls=({"a": 1},))]
        function_call_arguments.done   {"a": 1}          [ChunkResponse(tool_calls=(done,))]

    Follows the Responses streaming reference, and the deviations of compatible servers. `OutputItems` assigns events to
    items. What the ends of parts, items and the response repeat counts only if it has not arrived before. Parts of one
    item's reasoning are paragraphs. Searches, images, results and the provider's own states pass as `raw`, an image
    also as `image_urls`.
    """

    STATE = (*OneAnswer.STATE, "_has_clients_calls", "_items")

    def __init__(self, *, turn_id: str | None = None, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(turn_id, limits, compares_arguments=True)
        self._items = OutputItems()
        self._has_clients_calls = False

    def feed(self, item: Any, /) -> list[ChunkResponse]:  # noqa: PLR0911 - one line for each kind of event
        """Return the chunks for one event; none for an event without content."""
        if self.stopped or item is None:
            return []
        event = fields_of(item)
        if event is None:
            return self.raw(item)
        if error := event.get("error"):  # the SDK raises on this key, whatever the type
            return self.fail(error_in_body(plain_json(error)))
        kind = event.get("type")
        if not isinstance(kind, str):
            return self.raw(item) if event else []
        if kind in _TEXT_DELTAS:
            return self._text(event, _TEXT_DELTAS[kind])
        if kind in _ARGUMENT_DELTAS:
            return self._arguments(event, event.get("delta"))
        if kind in _TEXT_ENDS:
            text = _TEXT_ENDS[kind]
            return [] if _part(event, text.number) in self._items.speaks(event)[0].parts else self._text(event, text)
        if kind in _ARGUMENT_ENDS:
            return self._arguments_end(event, event.get(_ARGUMENT_ENDS[kind]))
        if kind == "response.output_item.added":
            return self._begin(item, event, fields_of(event.get("item")) or {})
        if kind == "response.output_item.done":
            fields = fields_of(event.get("item")) or {}
            return self._end(item, self._items.ended(event, fields), fields) if fields else self.raw(item)
        if kind in _BEGINS:
            response = fields_of(event.get("response")) or {}
            self.identify(response.get("id"), response.get("model"))
            return []
        if kind in _ENDS:
            return self._finish(kind.rpartition(".")[2], fields_of(event.get("response")) or {})
        if kind in _SILENT:
            return []
        if kind == "error":
            return self.fail(error_in_body(plain_json({**event, "type": None})))
        if kind.startswith(_COMMANDS):
            return self._command(event, kind.removeprefix(_COMMANDS))
        return self.raw(item)

    def _text(self, event: Fields, text: _Text) -> list[ChunkResponse]:
        item, is_new = self._items.speaks(event)
        followed = self.followed() if is_new else []
        return followed + self._say(item, _part(event, text.number), text.stream, event.get(text.field))

    def _say(self, item: OutputItem, part: str, stream: TextStream, given: object) -> list[ChunkResponse]:
        if not isinstance(given, str) or not given:
            return []
        if _is_new_part(item, part) and stream == "reasoning":
            given = "\n\n" + given
        return self.text(stream, given)

    def _arguments(self, event: Fields, text: object) -> list[ChunkResponse]:
        item, _ = self._items.speaks(event)
        return self.call(self.calls.delta(item.number, arguments=text))

    def _arguments_end(self, event: Fields, text: object) -> list[ChunkResponse]:
        item, _ = self._items.speaks(event)
        return self.call(self.calls.whole(item.number, text, "done"))

    def _command(self, event: Fields, what: str) -> list[ChunkResponse]:
        """Return the commands of a shell call as the lines of one text."""
        item, _ = self._items.speaks(event)
        part = _part(event, "command_index")
        text = event.get("delta" if what == "delta" else "command")
        if what not in ("delta", "done") or not isinstance(text, str) or not text:
            return []
        if what == "done" and part in item.parts:
            return []
        if _is_new_part(item, part):
            text = "\n" + text
        return self._arguments(event, text)

    def _begin(self, raw: Any, event: Fields, fields: Fields) -> list[ChunkResponse]:
        item, is_new = self._items.added(event, fields)
        followed = self.followed() if is_new else []
        if kind := call_kind(fields):
            return followed + self._call(item, fields, kind, announced_arguments(fields, kind))
        return followed if item.kind in _WITH_PARTS else [*followed, *self.raw(raw)]

    def _call(self, item: OutputItem, fields: Fields, kind: CallKind, announced: str = "") -> list[ChunkResponse]:
        if item.is_begun:
            return []
        self._has_clients_calls = self._has_clients_calls or kind.executed_by == "client"
        delta = self.calls.delta(
            item.number,
            call_id=fields.get("call_id") or fields.get("id"),
            name=kind.name or fields.get("name"),
            kind=kind.kind,
            executed_by=kind.executed_by,
            native=call_native(fields),
            announced=announced,
        )
        item.is_begun = delta is not None
        return self.call(delta)

    def _end(self, raw: Any, item: OutputItem, fields: Fields) -> list[ChunkResponse]:
        """Process an item's end, which has the complete item."""
        if kind := call_kind(fields):
            chunks = self._call_end(item, fields, kind, "item")
            # The end of what the provider ran has its result, too.
            return chunks if kind.executed_by == "client" else [*chunks, *self.raw(raw)]
        item.ended = True
        if item.kind == "reasoning":
            return [*self._unsaid_reasoning(item, fields), *self._reasoning_native(fields)]
        if item.kind == "message":
            return self._unsaid_message(item, fields)
        if item.kind == "image_generation_call":
            return self._image(raw, fields)
        return self.raw(raw)

    def _call_end(self, item: OutputItem, fields: Fields, kind: CallKind, source: str) -> list[ChunkResponse]:
        calls = self.calls
        arguments, status = whole_arguments(fields, kind), call_status(fields)
        if item.ended:
            return self.call(calls.again(item.number, arguments, source, status))
        item.ended = True
        chunks = self._call(item, fields, kind)
        chunks += self.call(calls.whole(item.number, arguments, source))
        if kind.name == "shell":
            # The text has the commands; their limits of time and output are in the action only.
            chunks += self.call(calls.delta(item.number, native={"action": plain_json(fields.get("action"))}))
        return chunks + self.call(calls.done(item.number, status))

    def _unsaid_reasoning(self, item: OutputItem, fields: Fields) -> list[ChunkResponse]:
        if item.parts:
            return []
        chunks: list[ChunkResponse] = []
        for field, number in (("summary", "summary_index"), ("content", "content_index")):
            for place, part in enumerate(map(fields_of, entries_of(fields.get(field)))):
                chunks += self._say(item, f"{number}:{place}", "reasoning", (part or {}).get("text"))
            if chunks:  # a summary and what it is the summary of are one reasoning
                break
        return chunks

    def _reasoning_native(self, fields: Fields) -> list[ChunkResponse]:
        native = {name: plain_json(fields[name]) for name in ("id", "encrypted_content") if fields.get(name)}
        return self.other(native={"type": "reasoning", **native}) if native else []

    def _unsaid_message(self, item: OutputItem, fields: Fields) -> list[ChunkResponse]:
        if item.parts:
            return []
        chunks: list[ChunkResponse] = []
        for part in map(fields_of, entries_of(fields.get("content"))):
            if part and part.get("type") == "output_text":
                chunks += self.text("content", part.get("text"))
            elif part and part.get("type") == "refusal":
                chunks += self.text("refusal", part.get("refusal"))
        return chunks

    def _image(self, event: Any, fields: Fields) -> list[ChunkResponse]:
        image = plain_json(fields.get("result"))
        if not isinstance(image, str) or not image:
            return self.raw(event)
        url = f"data:image/{plain_json(fields.get('output_format')) or 'png'};base64,{image}"
        rest = plain_json(event)
        del rest["item"]["result"]  # it may be megabytes, and is in the URL
        return self.other(image_urls=(url,), raw=(rest,))

    def _finish(self, how: str, response: Fields) -> list[ChunkResponse]:
        self.identify(response.get("id"), response.get("model"))
        status = response.get("status") if how == "completed" else how
        details = fields_of(response.get("incomplete_details")) or {}
        finish, words = _finish_of(str(status or how), details.get("reason"))
        chunks = self._unsaid_items(response, is_regular=finish.is_regular)
        said: dict[str, Any] = {}
        if usage := self._usage(response.get("usage")):
            said["usage"] = usage
        if status == "failed":
            if said:
                chunks += self.other(**said)
            return chunks + self.fail(error_in_body(plain_json(response.get("error"))))
        return chunks + self.finish(finish, words, has_calls=self._has_clients_calls, **said)

    def _unsaid_items(self, response: Fields, *, is_regular: bool) -> list[ChunkResponse]:
        """Process items that arrive only with the response's end.

        Items that appear only here are no evidence that the model finished a call, because they may precede it.
        """
        chunks: list[ChunkResponse] = []
        unsaid: list[tuple[int, object, Fields]] = []
        for number, given in enumerate(entries_of(response.get("output"))):
            fields = fields_of(given)
            if not fields or not fields.get("type"):
                continue
            item = self._items.known(fields) or self._same(number, fields)
            if item is None:
                unsaid.append((number, given, fields))
            elif kind := call_kind(fields):
                chunks += self._call_end(item, fields, kind, "response")
            elif not item.ended:
                chunks += self._end(_done(number, given), item, fields)
        if not is_regular:
            chunks += self.call(*self.calls.concluded(is_regular=False))
        # Of these types items came, and ids may change: what is not a call may be one of them.
        came = self._items.ended_types()
        for number, given, fields in unsaid:
            event = _done(number, given)
            if call_kind(fields) or fields["type"] not in came:
                chunks += self._end(event, self._items.ended(event, fields), fields)
        return chunks

    def _same(self, number: int, fields: Fields) -> OutputItem | None:
        """Return the known item that corresponds to an item of the response's end, even if its id has changed."""
        item = self._items.at(number)
        if item is not None and item.kind == fields.get("type") and not item.ended:
            return item
        if (kind := call_kind(fields)) is None:
            return None
        key = self.calls.ended.same(whole_arguments(fields, kind), kind.kind)
        same = self._items.numbered(key) if isinstance(key, int) else None
        return same if same is not None and same.kind == fields.get("type") else None

    def _usage(self, given: Any) -> TokenUsage | None:
        fields = fields_of(given)
        if fields is None:
            return None
        prompt, completion = token_count(fields, "input_tokens"), token_count(fields, "output_tokens")
        total = token_count(fields, "total_tokens") or prompt + completion
        cached = token_count(fields_of(fields.get("input_tokens_details")) or {}, "cached_tokens")
        reasoning = token_count(fields_of(fields.get("output_tokens_details")) or {}, "reasoning_tokens")
        return self.new_usage(TokenUsage(prompt, completion, total, cached, reasoning))


def is_responses_event(event: dict[str, Any]) -> bool:
    """Return whether a decoded wire event belongs to this API."""
    return str(event.get("type", "")).startswith("response.")


def _finish_of(status: str, reason: object) -> tuple[Finish, str]:
    words = reason if status == "incomplete" and isinstance(reason, str) and reason else status
    return finish_of(RESPONSES_FINISHES, words), words


def _done(number: int, item: object) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": number, "item": item}


def _is_new_part(item: OutputItem, part: str) -> bool:
    """Record that a part has text; return whether another part of its item came before."""
    if part == item.last_part:
        return False
    is_first = not item.parts
    item.last_part = part
    item.parts.add(part)
    return not is_first


def _part(event: Fields, number: str) -> str:
    return f"{number}:{event.get(number)}"
