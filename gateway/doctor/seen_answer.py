"""An answer of Chat Completions as a client that mends nothing sees it, and what is wrong with its form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from ...sources.base.sdk_fields import Fields, entries_of, fields_of
from ...sources.framing.sse import SseDecoder

FINISHES: Final = frozenset(("stop", "length", "tool_calls", "content_filter", "function_call"))
"""The reasons that clients know. At any other one, and without one, some ask again for ever."""
_DONE: Final = "[DONE]"


class SeenCall(NamedTuple):
    """One call, with its arguments as they came."""

    id: str
    name: str
    arguments: str


class SeenAnswer(NamedTuple):
    """One answer.

    - `finish`: why it ended. `asked`, `written`: the tokens of the request and of the answer, where the server counts.
    - `wrong`: what is wrong with the form. `refused`: the error that came in place of an answer, or in its middle.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[SeenCall, ...] = ()
    finish: str | None = None
    asked: int | None = None
    written: int | None = None
    wrong: tuple[str, ...] = ()
    refused: str = ""


def seen_answer(body: bytes, *, is_streamed: bool) -> SeenAnswer:
    """Return what a client sees in the body of an answer, streamed or whole.

    >>> call = {"index": 0, "id": "", "function": {"name": "now", "arguments": "{}"}}
    >>> answer = {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "stop"}]}
    >>> seen_answer(json.dumps(answer).encode(), is_streamed=False).wrong
    ('a call has no id', "an answer with calls ends as 'stop'")
    """
    reader = _Reader()
    if not is_streamed:
        _read_whole(body, reader)
    elif body.lstrip().startswith(b"{"):
        reader.wrong["the answer is not streamed"] = None
        _read_whole(body, reader)
    else:
        for data in _events_of(body):
            reader.chunk(data)
    return reader.answer()


def _events_of(body: bytes) -> Iterator[str]:
    decoder = SseDecoder()
    for event in (*decoder.feed(body), *decoder.close()):
        if event.data.strip() != _DONE:
            yield event.data


def _read_whole(body: bytes, reader: _Reader) -> None:
    answer = _json(body)
    if answer is None:
        reader.wrong["the answer is no JSON"] = None
        return
    reader.ends(answer)
    for choice in _choices(answer):
        message = fields_of(choice.get("message")) or {}
        reader.said(message)
        for given in entries_of(message.get("tool_calls")):
            reader.begins(None, fields_of(given) or {})
        reader.finishes(choice)


class _Reader:
    """Joins what comes, by the index of each call, as clients do."""

    def __init__(self) -> None:
        self.wrong: dict[str, None] = {}
        self._texts: dict[str, list[str]] = {"content": [], "reasoning": []}
        self._calls: list[_Joined] = []
        self._by_index: dict[int, _Joined] = {}
        self._finish: str | None = None
        self._tokens: tuple[int | None, int | None] = (None, None)
        self._refused = ""

    def chunk(self, data: str) -> None:
        chunk = _json(data)
        if chunk is None:
            self.wrong["a chunk is no JSON"] = None
            return
        if not isinstance(chunk.get("choices"), list) and "error" not in chunk:
            self.wrong["a chunk has no choices"] = None
        self.ends(chunk)
        for choice in _choices(chunk):
            delta = fields_of(choice.get("delta")) or {}
            self.said(delta)
            for given in entries_of(delta.get("tool_calls")):
                self._piece(fields_of(given) or {})
            self.finishes(choice)

    def said(self, message: Fields) -> None:
        thought = message.get("reasoning_content") or message.get("reasoning")
        for kind, text in (("content", message.get("content")), ("reasoning", thought)):
            if isinstance(text, str):
                self._texts[kind].append(text)

    def _piece(self, call: Fields) -> None:
        index = call.get("index")
        if not isinstance(index, int):
            self.wrong["a piece of a call has no index"] = None
            index = len(self._by_index)
        known, given_id = self._by_index.get(index), call.get("id")
        if known is None:
            self._by_index[index] = self.begins(index, call)
        elif given_id and given_id != known.id:
            self.wrong["two calls have one index"] = None
            self._by_index[index] = self.begins(index, call)
        else:
            self._add(known, fields_of(call.get("function")) or {})

    def begins(self, index: int | None, call: Fields) -> _Joined:
        function = fields_of(call.get("function")) or {}
        given_id, name = call.get("id"), function.get("name")
        if not (isinstance(given_id, str) and given_id):
            self.wrong["a call has no id"] = None
        if not (isinstance(name, str) and name):
            self.wrong["a call begins without its name" if index is not None else "a call has no name"] = None
        begun = _Joined(given_id if isinstance(given_id, str) else "", name if isinstance(name, str) else "")
        self._calls.append(begun)
        self._add(begun, function)
        return begun

    def _add(self, call: _Joined, function: Fields) -> None:
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.arguments.append(arguments)
        elif arguments is not None:
            self.wrong["arguments are an object, not a text"] = None
            call.arguments.append(json.dumps(arguments))

    def finishes(self, choice: Fields) -> None:
        if (finish := choice.get("finish_reason")) is not None:
            self._finish = str(finish)

    def ends(self, chunk: Fields) -> None:
        usage = fields_of(chunk.get("usage")) or {}
        counts = [usage.get(key) for key in ("prompt_tokens", "completion_tokens")]
        asked, written = (count if isinstance(count, int) else None for count in counts)
        if asked is not None or written is not None:
            self._tokens = (asked, written)
        if (error := chunk.get("error")) is not None:
            self._refused = str((fields_of(error) or {}).get("message") or error)

    def answer(self) -> SeenAnswer:
        wrong = [*self.wrong]
        if not self._refused and self._finish is None:
            wrong.append("the answer ends without a finish reason")
        elif self._finish is not None and self._finish not in FINISHES:
            wrong.append(f"the finish reason is {self._finish!r}, which clients do not know")
        elif self._calls and self._finish == "stop":
            wrong.append("an answer with calls ends as 'stop'")
        asked, written = self._tokens
        return SeenAnswer(
            "".join(self._texts["content"]),
            "".join(self._texts["reasoning"]),
            tuple(SeenCall(each.id, each.name, "".join(each.arguments)) for each in self._calls),
            self._finish,
            asked,
            written,
            tuple(wrong),
            self._refused,
        )


class _Joined:
    def __init__(self, given_id: str, name: str) -> None:
        self.id, self.name = given_id, name
        self.arguments: list[str] = []


def _json(data: str | bytes) -> Fields | None:
    try:
        return fields_of(json.loads(data))
    except ValueError:
        return None


def _choices(answer: Mapping[str, Any]) -> Iterable[Fields]:
    """Yield the first choice; no other one is asked for."""
    for each in entries_of(answer.get("choices")):
        choice = fields_of(each) or {}
        if choice.get("index", 0) == 0:
            yield choice
