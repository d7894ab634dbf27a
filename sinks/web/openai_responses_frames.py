"""`ResponseEvents`: any answer as the events of OpenAI's Responses API; `OpenItem`: an output item that arrives.

The forms of the output items are here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import time
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from uuid import uuid4

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import FinishReason, TokenUsage
from ...events.json_form import STAND_IN, json_text, template
from ...events.segment_event import SegmentContent, Status
from ...events.tool_invocation import ToolResult, result_text
from ...operators.engine.stage import How
from ..parts.answer_parts import (
    ArgumentForm,
    CallDelta,
    CallEnd,
    CallStart,
    Media,
    PartCall,
    TextDelta,
    TextEnd,
    TextKind,
    TextStart,
    TurnStart,
)
from ..parts.frame_lanes import FrameLane
from ..parts.part_reader import EventChoices, PartReader
from .openai_chat_frames import Failure, StreamTotals, failure_of, finish_of, missing_arguments

ItemStatus: TypeAlias = Literal["completed", "incomplete"]
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class PartForm(NamedTuple):
    """The part of an item in which its text stands: the key of the item's parts, and of its place among them."""

    parts: str
    place: str
    event: str
    part: Mapping[str, Any]


class ItemForm(NamedTuple):
    """How an item with a text is written.

    - `prefix`: of its id. `item`: what every item of this form has.
    - `text`: the key of its text, in its part or in the item itself. `event`: the events of the text, without `.delta`
      and `.done`; `beside`: what both have besides.
    """

    prefix: str
    item: Mapping[str, Any]
    text: str
    event: str
    beside: Mapping[str, Any] = _NOTHING
    part: PartForm | None = None


_CONTENT: Final = PartForm("content", "content_index", "response.content_part", _NOTHING)
_MESSAGE: Final = {"type": "message", "role": "assistant"}

TEXT_ITEMS: Final[Mapping[TextKind, ItemForm]] = {
    "text": ItemForm(
        "msg",
        _MESSAGE,
        "text",
        "response.output_text",
        {"logprobs": []},
        _CONTENT._replace(part={"type": "output_text", "annotations": [], "logprobs": []}),
    ),
    "refusal": ItemForm(
        "msg", _MESSAGE, "refusal", "response.refusal", part=_CONTENT._replace(part={"type": "refusal"})
    ),
    "reasoning": ItemForm(
        "rs",
        {"type": "reasoning"},
        "text",
        "response.reasoning_summary_text",
        part=PartForm("summary", "summary_index", "response.reasoning_summary_part", {"type": "summary_text"}),
    ),
}
CALL_ITEMS: Final[Mapping[ArgumentForm, ItemForm]] = {
    "json": ItemForm("fc", {"type": "function_call"}, "arguments", "response.function_call_arguments"),
    "text": ItemForm("ctc", {"type": "custom_tool_call"}, "input", "response.custom_tool_call_input"),
}


class OpenItem:
    """One item whose text arrives: its events, in which nothing but the sequence number is missing.

    A part begins with the first piece of its text, so that a text of which nothing came has no part.
    """

    def __init__(self, form: ItemForm, item_id: str, output_index: int, **own: Any) -> None:
        self.output_index = output_index
        self._form = form
        self._item = {"id": item_id, **form.item, **own}
        self._place: dict[str, Any] = {"item_id": item_id, "output_index": output_index}
        if form.part is not None:
            self._place[form.part.place] = 0
        self._pieces: list[str] = []
        self.note = self._pieces.append

    @property
    def has_begun(self) -> bool:
        """Whether a piece of its text has come."""
        return bool(self._pieces)

    def begin(self) -> dict[str, Any]:
        return item_event("added", self.output_index, self._as_item("in_progress", ""))

    def delta(self, text: str) -> Iterator[dict[str, Any]]:
        if not self._pieces and self._form.part is not None:
            yield self._part_event("added", self._form.part, "")
        self.note(text)
        yield self.delta_event(text)

    def delta_event(self, text: str) -> dict[str, Any]:
        return {"type": f"{self._form.event}.delta", **self._place, "delta": text, **self._form.beside}

    def end(self, status: ItemStatus) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return the events of the end, and the whole item."""
        form, text = self._form, "".join(self._pieces)
        events: list[dict[str, Any]] = []
        if text or form.part is None:
            events.append({"type": f"{form.event}.done", **self._place, form.text: text, **form.beside})
        if text and form.part is not None:
            events.append(self._part_event("done", form.part, text))
        item = self._as_item(status, text)
        return [*events, item_event("done", self.output_index, item)], item

    def _as_item(self, status: str, text: str) -> dict[str, Any]:
        part = self._form.part
        if part is None:
            return {**self._item, self._form.text: text, "status": status}
        return {**self._item, part.parts: [self._as_part(part, text)] if text else [], "status": status}

    def _part_event(self, what: str, part: PartForm, text: str) -> dict[str, Any]:
        return {"type": f"{part.event}.{what}", **self._place, "part": self._as_part(part, text)}

    def _as_part(self, part: PartForm, text: str) -> dict[str, Any]:
        return {**part.part, self._form.text: text}


def item_event(what: Literal["added", "done"], output_index: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": f"response.output_item.{what}", "output_index": output_index, "item": item}


class Terminal(NamedTuple):
    """The status of a response, whose event has the same name, and why it is incomplete."""

    status: str
    reason: str | None = None


COMPLETED: Final = Terminal("completed")
FAILED: Final = Terminal("failed")
FINISHES: Final[Mapping[FinishReason, Terminal]] = {
    "stop": COMPLETED,
    "tool_calls": COMPLETED,
    "pause": COMPLETED,
    "other": COMPLETED,
    "length": Terminal("incomplete", "max_output_tokens"),
    "content_filter": Terminal("incomplete", "content_filter"),
    "refusal": Terminal("incomplete", "content_filter"),
    "error": FAILED,
}
"""How a response ends in this API, by our finish reasons."""
_OF_REQUEST: Final[Mapping[str, Any]] = {
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
}
"""What the API demands of a response and repeats from the request, which no event tells."""
_image: Final = re.compile(r"data:image/(?P<format>png|webp|jpeg|gif);base64,").match


class ResponseEvents:
    """Writes each text, reasoning, refusal, call, image and result as an output item, while it arrives.

    All turns of a stream are one response, whose last event comes when the stream ends.
    """

    def __init__(self, *, model: str | None = None, created: int | None = None) -> None:
        self._totals = StreamTotals(model)
        self._of_event = EventChoices()
        self._choice: int | None = None
        """The answer that is written: the first that says anything."""
        self._parts = PartReader()
        self._end: AnswerEnd | None = None
        self._id = ""
        self._created = int(time()) if created is None else created
        self._sent = 0
        self._open: dict[str, OpenItem] = {}
        self._free_form: set[str] = set()
        """The ids of the calls of free-form tools."""
        self._output: list[dict[str, Any]] = []
        """All items, in order; of those that are open only their ids."""

    def feed(self, event: Any) -> Iterator[dict[str, Any]]:
        if self._is_wanted(event):
            for part in self._parts.feed(event):
                yield from self._written(part)

    def lane(self, event: SegmentContent) -> FrameLane | None:
        """Return the lane of a segment of which something has been sent."""
        lane = self._parts.lane(event) if self._is_wanted(event) else None
        if lane is None or (item := self._open.get(lane.id)) is None or not item.has_begun:
            return None
        before, behind = template({**item.delta_event(STAND_IN), "sequence_number": 0})
        behind, take, note = behind.removesuffix(b"0}"), lane.take, item.note

        def laned(event: SegmentContent) -> Sequence[bytes]:
            if not (text := take(event)):
                return ()
            note(text)
            number = self._sent
            self._sent = number + 1
            return (b"%b%b%b%d}" % (before, json_text(text), behind, number),)

        return laned

    def close(self, how: How, error: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        failure = failure_of(how, error, (self._end,))
        for part in self._parts.close(how):
            if failure is None or not isinstance(part, CallEnd):  # a call that nobody ended is not done
                yield from self._written(part)
        yield from self._begun(None)
        finish = finish_of(self._end)
        terminal = FAILED if failure is not None or finish is None else FINISHES[finish]
        if terminal is not FAILED:
            for part_id in list(self._open):
                yield from self._finish(part_id, "interrupted")
        response = self._response(terminal, failure)
        yield from self._numbered([{"type": f"response.{terminal.status}", "response": response}])

    def _is_wanted(self, event: Any) -> bool:
        if isinstance(event, dict | ToolResult):
            return True
        choice = self._of_event.choice_of(event)
        if self._choice is None and getattr(event, "turn_id", None) is not None:
            self._choice = choice
        return choice == self._choice or self._choice is None

    def _written(self, part: Any) -> Iterator[dict[str, Any]]:
        match part:
            case dict():
                yield part
            case TurnStart(turn_id=turn_id):
                self._end = None
                yield from self._begun(turn_id)
            case AnswerEnd():
                self._end = part
                self._totals.note(part)
            case TextStart(id=part_id, kind=kind):
                yield from self._add(part_id, TEXT_ITEMS[kind])
            case CallStart(call=call) if call.executed_by == "client":
                if call.form == "text":
                    self._free_form.add(call.id)
                space = (call.native or {}).get("namespace")  # without it, clients do not know the tool
                own = {"name": call.name} if space is None else {"name": call.name, "namespace": space}
                yield from self._add(call.id, CALL_ITEMS[call.form], call_id=call.id, **own)
            case TextDelta(id=part_id, delta=text) | CallDelta(call=PartCall(id=part_id), delta=text):
                yield from self._delta(part_id, text)
            case TextEnd(id=part_id, status=status):
                yield from self._finish(part_id, status)
            case CallEnd() if _is_broken(part):
                pass  # nobody says that it was finished, unless the stream goes on and must finish it
            case CallEnd(call=PartCall(id=part_id), status=status):
                yield from self._delta(part_id, missing_arguments(part))
                yield from self._finish(part_id, status)
            case Media(url=url) if (found := _image(url)) is not None:
                yield from self._image(found["format"], url[found.end() :])
            case ToolResult():
                yield from self._begun(None)
                yield from self._result(part)
            case _:
                pass

    def _begun(self, turn_id: str | None) -> Iterator[dict[str, Any]]:
        """Yield the beginning of the response, once."""
        if not self._id:
            self._id = turn_id or f"resp_{uuid4().hex}"
            for event in ("response.created", "response.in_progress"):
                yield from self._numbered([{"type": event, "response": self._response(Terminal("in_progress"))}])

    def _add(self, part_id: str, form: ItemForm, **own: Any) -> Iterator[dict[str, Any]]:
        item_id, output_index = self._new_item(form.prefix)
        item = self._open[part_id] = OpenItem(form, item_id, output_index, **own)
        yield from self._numbered([item.begin()])

    def _delta(self, part_id: str, text: str) -> Iterator[dict[str, Any]]:
        """Yield the next piece of a text or of a call, unless that has no item, as calls that the provider runs."""
        if text and (item := self._open.get(part_id)) is not None:
            yield from self._numbered(item.delta(text))

    def _finish(self, part_id: str, status: Status) -> Iterator[dict[str, Any]]:
        if (item := self._open.pop(part_id, None)) is not None:
            events, self._output[item.output_index] = item.end("completed" if status == "complete" else "incomplete")
            yield from self._numbered(events)

    def _image(self, image_format: str, data: str) -> Iterator[dict[str, Any]]:
        item_id, output_index = self._new_item("ig")
        item = {"id": item_id, "type": "image_generation_call"}
        self._output[output_index] = {**item, "status": "completed", "result": data, "output_format": image_format}
        yield from self._numbered(
            [
                item_event("added", output_index, {**item, "status": "in_progress"}),
                {
                    "type": "response.image_generation_call.completed",
                    "item_id": item_id,
                    "output_index": output_index,
                },
                item_event("done", output_index, self._output[output_index]),
            ]
        )

    def _result(self, result: ToolResult) -> Iterator[dict[str, Any]]:
        kind = "custom_tool_call_output" if result.id in self._free_form else "function_call_output"
        output = result_text(result)
        item_id, output_index = self._new_item(kind.replace("_call_output", "_output"))
        item = {"id": item_id, "type": kind, "call_id": result.id, "output": output, "status": "completed"}
        self._output[output_index] = item
        yield from self._numbered([item_event("added", output_index, item), item_event("done", output_index, item)])

    def _new_item(self, prefix: str) -> tuple[str, int]:
        """Return the id and the index of the next item."""
        index = len(self._output)
        item_id = f"{prefix}_{self._id}_{index}"
        self._output.append({"id": item_id})
        return item_id, index

    def _response(self, terminal: Terminal, failure: Failure | None = None) -> dict[str, Any]:
        usage = self._totals.usage
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created,
            "status": terminal.status,
            "error": None if failure is None else _error(failure),
            "incomplete_details": None if terminal.reason is None else {"reason": terminal.reason},
            "model": self._totals.model,
            "output": [item for item in self._output if "type" in item],
            **_OF_REQUEST,
            "usage": None if usage is None else _usage(usage),
        }

    def _numbered(self, events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for event in events:
            yield {**event, "sequence_number": self._sent}
            self._sent += 1


def _is_broken(end: CallEnd) -> bool:
    """Return whether a call ended because the stream broke, so that it may be whole without being finished."""
    return end.status == "interrupted" or (end.status == "failed" and end.reason == "provider_error")


def _usage(usage: TokenUsage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total,
    }


def _error(failure: Failure) -> dict[str, Any]:
    type_ = {} if failure.type is None else {"type": failure.type}
    return {"code": failure.code or "server_error", "message": failure.message, **type_}
