"""Decode OpenAI Responses, also of compatible servers, to ChunkResponses."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...events.chunk_response import ChunkResponse
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ..base.endings import RESPONSES_FINISHES, Finish, error_in_body, finish_of, reported_error
from ..base.response import TextStream
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json, plain_object, without_halves
from ..base.shown_text import rest_of
from .items import (
    ARGUMENT_EVENTS,
    BEGIN_EVENTS,
    END_EVENTS,
    OF_EVENT,
    OF_EVENTS,
    WITH_RESULT,
    CallKind,
    OutputItem,
    announced_arguments,
    call_kind,
    call_native,
    call_status,
    kind_of_item,
    response_extras,
    responses_usage,
    whole_arguments,
    written_command,
    written_end,
)
from .lane import ResponsesLane, is_new_part
from .wire import KEYS


class _Text(NamedTuple):
    """The stream of a text event's text, the begin of the key of its part, the key of its index, and of the text."""

    stream: TextStream
    part: str
    number: str
    field: str = "delta"


_TEXTS = {
    "response.output_text": _Text("content", "content_index:", "content_index", "text"),
    "response.refusal": _Text("refusal", "refusal:", "content_index", "refusal"),
    "response.reasoning_text": _Text("reasoning", "content_index:", "content_index", "text"),
    "response.reasoning_summary_text": _Text("reasoning", "summary_index:", "summary_index", "text"),
}
_OF_PART = {
    "output_text": _TEXTS["response.output_text"],
    "refusal": _TEXTS["response.refusal"],
    "reasoning_text": _TEXTS["response.reasoning_text"],
    "summary_text": _TEXTS["response.reasoning_summary_text"],
}
"""The texts by the type of their part."""
_TEXT_DELTAS = {f"{event}.delta": text._replace(field="delta") for event, text in _TEXTS.items()}
_TEXT_ENDS = {f"{event}.done": text for event, text in _TEXTS.items()}
_OF_DELTA = frozenset({"type", "delta", "item_id", "output_index", "content_index", "summary_index", "logprobs"}) | {
    *("sequence_number", "obfuscation"),
}
"""The keys of the event of a text's delta, which has no others in most cases."""
_ARGUMENT_DELTAS = frozenset(f"{event}.delta" for event in ARGUMENT_EVENTS)
_ARGUMENT_ENDS = {f"{event}.done": field for event, field in ARGUMENT_EVENTS.items()}
_COMMANDS = "response.shell_call_command."
_ANNOTATION = "response.output_text.annotation.added"
_WITH_PARTS = frozenset({"message", "reasoning"})
_PART_ENDS = frozenset({"response.content_part.done", "response.reasoning_summary_part.done"})


class OpenAIResponses(ResponsesLane):
    """The machine: SDK events or the wire's plain dicts in, equal ChunkResponses out for both.

        output_item.added              function_call f   [ChunkResponse(tool_calls=(f,))]
        function_call_arguments.delta  {"a": 1}          [ChunkResponse(tool_calls=({"a": 1},))]
        function_call_arguments.done   {"a": 1}          [ChunkResponse(tool_calls=(done,))]

    Follows the Responses streaming reference, and the deviations of compatible servers. `OutputItems` assigns events to
    items. What the ends of parts, items and the response repeat counts only if it has not arrived before. Parts of one
    item's reasoning are paragraphs. `items.py` sorts what is special to the provider; an image is a file and
    `image_urls`.
    """

    KEYS = KEYS
    STATE = (*ResponsesLane.STATE, "_begun", "_has_clients_calls", "_run_id")

    def __init__(self, *, turn_id: str | None = None, limits: Limits = DEFAULT_LIMITS, logprobs: bool = False) -> None:
        super().__init__(turn_id, limits, logprobs=logprobs)
        self._begun: dict[int, dict[str, Any]] = {}
        """The beginnings of items that have not ended and that no other event stands for."""
        self._run_id: str | None = None
        """The id of the last call that the provider ran, for a result without one."""
        self._has_clients_calls = False

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        """Return the chunks for one event; none for an event without content."""
        if self.stopped or item is None:
            return []
        event = fields_of(item)
        if event is None:
            return self.raw(item)
        kind = event.get("type")
        if not isinstance(kind, str):
            return self.unread(item, event)
        if event.get("error") and (told := reported_error(event)):  # the SDK raises on this key, whatever the type
            return self.fail(error_in_body(plain_json(told.body)))
        if self._replayed.has(event, self._items):
            return []
        if kind in _TEXT_DELTAS and _OF_DELTA.issuperset(event):
            return self._text(event, _TEXT_DELTAS[kind])
        return self.with_strangers(self._event(item, event, kind), kind, event)

    def _event(self, item: Any, event: Fields, kind: str) -> list[ChunkResponse]:  # noqa: PLR0911 - one line for each
        if kind in _TEXT_DELTAS:
            return self._text(event, _TEXT_DELTAS[kind])
        if kind in _ARGUMENT_DELTAS:
            return self._arguments(event, event.get("delta"))
        if kind in _TEXT_ENDS:
            return self._text_end(event, _TEXT_ENDS[kind], event)
        if kind in _ARGUMENT_ENDS:
            return self._arguments_end(event, event.get(_ARGUMENT_ENDS[kind]))
        if kind == "response.output_item.added":
            return self._begin(item, event, fields_of(event.get("item")) or {})
        if kind == "response.output_item.done":
            fields = fields_of(event.get("item")) or {}
            return self._end(item, self._items.ended(event, fields), fields) if fields else self.raw(item)
        if kind in BEGIN_EVENTS:
            response = fields_of(event.get("response")) or {}
            self.identify(response.get("id"), response.get("model"))
            return []
        if kind in END_EVENTS:
            return self._finish(kind.rpartition(".")[2], fields_of(event.get("response")) or {})
        if kind == "error":
            return self.fail(error_in_body(plain_json({**event, "type": None})))
        return self._rare(item, event, kind)

    def _rare(self, item: Any, event: Fields, kind: str) -> list[ChunkResponse]:
        if kind.startswith(_COMMANDS):
            return self._command(event, kind.removeprefix(_COMMANDS))
        if kind == _ANNOTATION:
            return self._annotations(self._items.speaks(event)[0], [event.get("annotation")])
        if kind in _PART_ENDS:
            part = fields_of(event.get("part")) or {}
            text = _OF_PART.get(str(part.get("type")))
            chunks = self._text_end(event, text, part) if text is not None else []
            return chunks + self._annotations(self._items.speaks(event)[0], entries_of(part.get("annotations")))
        if kind in OF_EVENT:
            return self.event(OF_EVENT[kind], item)
        return [] if KEYS.has_left_out(kind) else self.unread(item, event)

    def _text(self, event: Fields, text: _Text) -> list[ChunkResponse]:
        item, is_new = self._items.speaks(event, _item_type(event["type"]))
        followed = self.followed() if is_new else []
        chunks = followed + self._say(item, _part(event, text), text.stream, event.get(text.field))
        return chunks + self._logprobs(event)

    def _text_end(self, event: Fields, text: _Text, given: Fields) -> list[ChunkResponse]:
        """Return what was not shown of a text that ends; `given`: the object that has the whole."""
        item, is_new = self._items.speaks(event, _item_type(str(event.get("type"))))
        part = _part(event, text)
        is_said = part in item.parts
        chunks = self._whole_text(item, part, text.stream, given.get(text.field))
        if is_said or not chunks:
            return chunks
        return (self.followed() if is_new else []) + chunks + self._logprobs(given)

    def _logprobs(self, fields: Fields) -> list[ChunkResponse]:
        logprobs = fields.get("logprobs") if self.logprobs else None
        return self.event("logprobs", {"logprobs": plain_json(logprobs)}) if logprobs else []

    def _annotations(self, item: OutputItem, given: list[object]) -> list[ChunkResponse]:
        """Return the annotations that have not come before."""
        chunks: list[ChunkResponse] = []
        for annotation in map(plain_object, given):
            if annotation not in item.annotations:
                item.annotations.append(annotation)
                chunks += self.event("citation", annotation)
        return chunks

    def _arguments(self, event: Fields, text: object) -> list[ChunkResponse]:
        return self.call(self.calls.delta(self._caller(event).number, arguments=text))

    def _arguments_end(self, event: Fields, text: object) -> list[ChunkResponse]:
        item = self._caller(event)
        if isinstance(name := event.get("name"), str) and not item.is_begun:
            item.name = without_halves(name)
            if item.number not in self.calls:  # neither its item nor a delta came
                return self.call(self.calls.delta(item.number, arguments=text))
        return self.call(self.calls.whole(item.number, text, "done"))

    def _caller(self, event: Fields) -> OutputItem:
        """Return the item of an event with arguments; one with an id of its own waits for its beginning."""
        item, is_new = self._items.speaks(event, _item_type(str(event.get("type"))))
        if is_new and item.ids:
            self.calls.claim(item.number)
        return item

    def _command(self, event: Fields, what: str) -> list[ChunkResponse]:
        """Return the commands of a shell call as the beginning of its arguments."""
        item, _ = self._items.speaks(event)
        part = f"command_index:{event.get('command_index')}"
        text: Any = event.get("delta" if what == "delta" else "command")
        if what == "done" and part in item.parts and isinstance(text, str):
            text = rest_of([item.parts[part]], text)
        if what not in ("delta", "done") or not isinstance(text, str) or (not text and part in item.parts):
            return []
        is_first, is_new = not item.parts, is_new_part(item, part)
        item.parts[part].add(without_halves(text))
        return self._arguments(event, written_command(text, is_first=is_first, is_new=is_new))

    def _begin(self, raw: Any, event: Fields, fields: Fields) -> list[ChunkResponse]:
        item, is_new = self._items.added(event, fields)
        followed = self.followed() if is_new else []
        if kind := call_kind(fields):
            return followed + self._call(item, fields, kind, announced_arguments(fields, kind))
        if is_new and item.kind not in _WITH_PARTS:
            self._begun[item.number] = plain_object(raw)
        return followed

    def _call(self, item: OutputItem, fields: Fields, kind: CallKind, announced: str = "") -> list[ChunkResponse]:
        if item.is_begun:
            return []
        if kind.executed_by == "client":
            self._has_clients_calls = True
        else:
            self._run_id = item.call_id = _call_id(fields)
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
            if fields.get("type") in WITH_RESULT:
                return chunks + self._result(raw, item.call_id)
            return self.with_strangers(chunks, "call", fields)
        item.ended = True
        self._begun.pop(item.number, None)
        if item.kind == "reasoning":
            chunks = [*self._unsaid_reasoning(item, fields), *self._reasoning_native(fields)]
            return self.with_strangers(chunks, item.kind, fields)
        if item.kind == "message":
            return self.with_strangers(self._unsaid_message(item, fields), item.kind, fields)
        if item.kind == "image_generation_call":
            return self._image(raw)
        given = (fields_of(raw) or {}).get("item")
        match kind_of_item(fields):
            case None:
                return self.raw(raw)
            case "tool_result":
                return self._result(raw, fields.get("call_id") or self._run_id)
            case other:
                return self.event(other, given)

    def _result(self, raw: Any, call_id: object) -> list[ChunkResponse]:
        return self.event("tool_result", (fields_of(raw) or {}).get("item"), call_id)

    def rest(self) -> list[ChunkResponse]:
        """Return all held text and deltas, and the items that began and never ended."""
        begun, self._begun = self._begun, {}
        return [*super().rest(), *(chunk for event in begun.values() for chunk in self.raw(event))]

    def _call_end(self, item: OutputItem, fields: Fields, kind: CallKind, source: str) -> list[ChunkResponse]:
        calls = self.calls
        arguments, status = whole_arguments(fields, kind), call_status(fields)
        if item.ended:
            return self.call(calls.again(item.number, arguments, source, status))
        item.ended = True
        chunks = self.call(calls.renamed(item.number, fields.get("name"))) if item.is_begun and not kind.name else []
        if calls.waits(item.number):
            calls.whole(item.number, arguments, source)  # in place of pieces that came without a name
        chunks += self._call(item, fields, kind)
        if kind.name == "shell" and item.parts:
            chunks += self.call(calls.delta(item.number, arguments=written_end(fields)))
        chunks += self.call(calls.whole(item.number, arguments, source))
        return chunks + self.call(calls.done(item.number, status))

    def _unsaid_reasoning(self, item: OutputItem, fields: Fields) -> list[ChunkResponse]:
        """Return what was not shown of a reasoning: a summary and what it is the summary of are one."""
        kinds = {"summary": "summary_index:", "content": "content_index:"}
        said = {field: kind for field, kind in kinds.items() if item.shown(kind)}
        chunks: list[ChunkResponse] = []
        for field, kind in (said or kinds).items():
            parts = [(fields_of(part) or {}).get("text") for part in entries_of(fields.get(field))]
            for key, text in item.unsaid(kind, [part for part in parts if isinstance(part, str)]):
                chunks += self._rest(item, key, "reasoning", text)
            if chunks and not said:
                break
        return chunks

    def _reasoning_native(self, fields: Fields) -> list[ChunkResponse]:
        native = {name: plain_json(fields[name]) for name in ("id", "encrypted_content") if fields.get(name)}
        return self.other(native={"type": "reasoning", **native}) if native else []

    def _unsaid_message(self, item: OutputItem, fields: Fields) -> list[ChunkResponse]:
        """Return what was not shown of a message's texts, and the annotations that have not come before."""
        parts = list(filter(None, map(fields_of, entries_of(fields.get("content")))))
        unsaid: dict[str, list[tuple[str, str]]] = {}
        for name in ("output_text", "refusal"):
            field = _OF_PART[name].field
            given = [part.get(field) for part in parts if part.get("type") == name]
            unsaid[name] = item.unsaid(_OF_PART[name].part, [each for each in given if isinstance(each, str)])
        chunks: list[ChunkResponse] = []
        for part in parts:
            name = str(part.get("type"))
            text: Any = part.get(_OF_PART[name].field) if name in unsaid else None
            if isinstance(text, str) and unsaid[name] and without_halves(text).endswith(unsaid[name][0][1]):
                key, rest = unsaid[name].pop(0)
                chunks += self._rest(item, key, _OF_PART[name].stream, rest)
                chunks += self._logprobs(part) if len(rest) == len(text) else []
            chunks += self._annotations(item, entries_of(part.get("annotations")))
        return chunks

    def _image(self, event: Any) -> list[ChunkResponse]:
        item = plain_object((fields_of(event) or {}).get("item"))
        image = item.get("result")
        if not isinstance(image, str) or not image:
            return self.event("file", item)
        del item["result"]  # it may be megabytes, and is in the URL
        url = f"data:image/{item.get('output_format') or 'png'};base64,{image}"
        return [*self.other(image_urls=(url,)), *self.event("file", item)]

    def _finish(self, how: str, response: Fields) -> list[ChunkResponse]:
        self.identify(response.get("id"), response.get("model"))
        if how == "done":  # Codex's word for an end, whatever the status
            how = str(response.get("status") or "completed")
        status = response.get("status") if how == "completed" else how
        details = fields_of(response.get("incomplete_details")) or {}
        finish, words = _finish_of(str(status or how), details.get("reason"))
        chunks = self._unsaid_items(response, is_regular=finish.is_regular)
        events, unknown = response_extras(response)
        for kind, data in events:
            chunks += self.event(kind, data)
        if unknown:
            chunks += self.raw({"type": f"response.{how}", "response": unknown})
        self._take_last_id(response.get("id"))
        said: dict[str, Any] = {}
        if usage := self.new_usage(responses_usage(response.get("usage"))):
            said["usage"] = usage
        if status == "failed":
            if said:
                chunks += self.other(**said)
            return chunks + self.fail(error_in_body(plain_json(response.get("error"))))
        return chunks + self.finish(finish, words, has_calls=self._has_clients_calls, **said)

    def _take_last_id(self, given: object) -> None:
        """Take the id of the final response: some servers change it with each event. The turn id stays."""
        if isinstance(given, str) and given and self.response_id:
            self._turn_id()
            self.response_id = without_halves(given)

    def _unsaid_items(self, response: Fields, *, is_regular: bool) -> list[ChunkResponse]:
        """Process items that arrive only with the response's end.

        Items that appear only here are no evidence that the model finished a call, because they may precede it.
        """
        chunks: list[ChunkResponse] = []
        unsaid: list[tuple[int, object, Fields]] = []
        known: set[str] = set()
        """The types of items whose ids do not change."""
        for number, given in enumerate(entries_of(response.get("output"))):
            fields = fields_of(given)
            if not fields or not fields.get("type"):
                continue
            item = self._items.known(fields)
            if item is not None:
                known.add(item.kind)
            else:
                item = self._same(number, fields)
            if item is None:
                unsaid.append((number, given, fields))
            elif kind := call_kind(fields):
                has_result = not item.ended and fields["type"] in WITH_RESULT
                chunks += self._call_end(item, fields, kind, "response")
                if has_result:
                    chunks += self._result(_done(number, given), item.call_id)
            elif not item.ended:
                chunks += self._end(_done(number, given), item, fields)
            elif item.kind == "message":
                chunks += self._unsaid_message(item, fields)
            elif item.kind == "reasoning":
                chunks += self._unsaid_reasoning(item, fields)
        if not is_regular:
            chunks += self.call(*self.calls.concluded(is_regular=False))
        chunks += self._named() if not unsaid else []
        # Of these types items came. Where ids change, what is not a call may be one of them.
        came = self._items.ended_types() - known
        for number, given, fields in unsaid:
            event = _done(number, given)
            heard = self._items.heard(str(fields["type"])) if call_kind(fields) else None
            if heard is not None:
                chunks += self._end(event, heard, fields)
            elif call_kind(fields) or str(fields["type"]) not in came:
                chunks += self._end(event, self._items.ended(event, fields), fields)
        return chunks

    def _named(self) -> list[ChunkResponse]:
        """Begin the calls that no item came for, and whose name the end of their arguments has."""
        chunks: list[ChunkResponse] = []
        for item in self._items.named():
            self._has_clients_calls = item.is_begun = True
            call_id = item.ids[0] if item.ids else None
            chunks += self.call(self.calls.delta(item.number, call_id=call_id, name=item.name))
        return chunks

    def _same(self, number: int, fields: Fields) -> OutputItem | None:
        """Return the known item that corresponds to an item of the response's end, even if its id has changed."""
        item = self._items.at(number)
        kind = call_kind(fields)
        is_its = item is not None and (item.kind or item.heard) == fields.get("type")
        if item is not None and is_its and (kind is None or not item.ended):
            return item
        if kind is None:
            return None
        key = self.calls.ended.same(whole_arguments(fields, kind), kind.kind)
        same = self._items.numbered(key) if isinstance(key, int) else None
        return same if same is not None and same.kind == fields.get("type") else None


def _finish_of(status: str, reason: object) -> tuple[Finish, str]:
    words = reason if status == "incomplete" and isinstance(reason, str) and reason else status
    return finish_of(RESPONSES_FINISHES, words), words


def _call_id(item: Fields) -> str | None:
    """Return the id of a call item: some have no `call_id`."""
    return next((each for name in ("call_id", "id") if isinstance(each := item.get(name), str) and each), None)


def _done(number: int, item: object) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": number, "item": item}


def _item_type(event: str) -> str:
    """Return the type of the items that have events of a type; empty if there may be several."""
    return OF_EVENTS.get(event.rpartition(".")[0], "")


def _part(event: Fields, text: _Text) -> str:
    return f"{text.part}{event.get(text.number)}"
