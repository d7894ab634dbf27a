"""The output items of OpenAI's Responses API: their forms, and the events of an item while its text arrives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ...parts.answer_parts import ArgumentForm, TextKind

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

    def begin(self) -> dict[str, Any]:
        return item_event("added", self.output_index, self._as_item("in_progress", ""))

    def delta(self, text: str) -> Iterator[dict[str, Any]]:
        if not self._pieces and self._form.part is not None:
            yield self._part_event("added", self._form.part, "")
        self._pieces.append(text)
        yield {"type": f"{self._form.event}.delta", **self._place, "delta": text, **self._form.beside}

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
