"""`ChatChunks`: any answer as the chunks of OpenAI's chat; and what the ends of answers say in both of OpenAI's APIs.

That is why they ended or failed, and the model and tokens of the stream (`StreamTotals`). `missing_arguments` gives the
arguments of a call that ended without any.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from time import time
from typing import Any, Final, NamedTuple
from uuid import uuid4

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import FinishReason, TokenUsage
from ...events.segment_event import SegmentContent
from ...operators.engine.stage import Failed, How, Interrupted
from ..parts.answer_parts import CallDelta, CallEnd, CallStart, Media, PartCall, TextDelta, TextKind, TurnStart
from ..parts.frame_lanes import FrameLane, frame_lane
from ..parts.part_reader import EventChoices, PartReader


def missing_arguments(end: CallEnd) -> str:
    """Return the text that makes the arguments of a call JSON if no character of them came; empty for any other call.

    Some providers send nothing where a call has no arguments; readers of other APIs parse what they receive. A call
    that must not be run gets nothing: it may have been cut before its first character.
    """
    has_none = end.arguments is not None and end.call.form == "json" and not end.text.strip()
    return "{}" if has_none else ""


def finish_of(end: AnswerEnd | None) -> FinishReason | None:
    """Return why an answer ended; None for one that was broken off without a word of its provider.

    >>> finish_of(AnswerEnd(finish_reason="length", status="truncated")), finish_of(AnswerEnd(status="interrupted"))
    ('length', None)

    Plain text has no word for its end: if it is complete, it stopped.
    """
    if end is None or (end.finish_reason in (None, "other") and end.status not in ("complete", "paused")):
        return None
    return end.finish_reason or "stop"


_MESSAGES = ("message", "detail", "class")
"""Where the description of an error has its text, best first."""


class Failure(NamedTuple):
    message: str
    type: str | None = None
    code: str | None = None


def failure_of(how: How, error: Mapping[str, Any], ends: Iterable[AnswerEnd | None]) -> Failure | None:
    """Return why a stream failed, or one of its answers; None if all ended in order.

    `error` is the description of the exception that ended the stream. An answer also failed if it was broken off: a
    reader would take the end of the stream for the end of the answer, or ask again for ever.
    """
    if isinstance(how, Failed):
        message = next((str(error[key]) for key in _MESSAGES if error.get(key)), "the stream failed")
        return Failure(message, *(str(error[key]) if error.get(key) else None for key in ("type", "code")))
    for end in ends:
        if end is not None and end.finish_reason == "error":
            return Failure(f"the provider ended the answer with {end.finish_reason_raw or 'an error'}")
        if finish_of(end) is None:
            return Failure(broken_off(how, end))
    return None


def broken_off(how: How, end: AnswerEnd | None) -> str:
    """Return what is said of an answer that ended without a word of its provider.

    >>> broken_off(Interrupted("enough"), None)
    'the answer was broken off: enough'
    """
    if isinstance(how, Interrupted):
        return f"the answer was broken off: {how.reason}"
    word = end.finish_reason_raw if end is not None else None
    said = "the provider sent no finish reason" if word is None else f"the provider said {word!r}"
    return f"the answer was broken off: {said}"


class StreamTotals:
    """What the ends of all answers say of the stream as a whole.

    - `model`: the model to be shown: the one given, else the last one known; empty until then.
    """

    def __init__(self, model: str | None) -> None:
        self.model = model or ""
        self._is_given = model is not None
        self._usages: dict[str | None, TokenUsage] = {}
        """The tokens of each turn; all answers of a turn have the same."""

    def note(self, end: AnswerEnd) -> None:
        if end.usage is not None:
            self._usages[end.turn_id] = end.usage
        if end.model and not self._is_given:
            self.model = end.model

    @property
    def usage(self) -> TokenUsage | None:
        """The tokens of all turns together; None if no answer says any."""
        if not self._usages:
            return None
        usages = self._usages.values()
        return TokenUsage(*(sum(getattr(each, name) for each in usages) for name in TokenUsage.__struct_fields__))


FINISHES: Final[Mapping[FinishReason, str | None]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "pause": "stop",
    "other": "stop",
    "error": None,  # an `error` object says it
}
"""The API's words for our finish reasons."""
_WITH_CALLS: Final = frozenset(("stop", "pause"))
"""Finish reasons that are `tool_calls` in this API if the answer has calls."""
_WHOLE: Final = frozenset(("stop", "tool_calls"))
"""The API's words from which a reader takes that the model finished its calls."""
_REFUSED: Final = frozenset(("contradiction", "duplicate", "guarded"))
"""Why calls must not be run whose arguments are whole."""
_TEXTS: Final[Mapping[TextKind, str]] = {"text": "content", "reasoning": "reasoning_content", "refusal": "refusal"}
_SPEECH: Final = "data:audio/pcm;base64,"
_MOST_CHOICES: Final = 128
"""The most that a request can ask for, by OpenAI's reference of `n`."""


class ChatChunks:
    """Writes texts as `content`, `reasoning_content` and `refusal`, and calls as `tool_calls`, while they arrive.

    The finish of each choice, the tokens and an error come when the stream ends: all turns of it are one completion.
    """

    def __init__(self, *, model: str | None = None, include_usage: bool = True, created: int | None = None) -> None:
        self._totals = StreamTotals(model)
        self._include_usage = include_usage
        self._of_event = EventChoices()
        self._choices: dict[int, _Choice] = {}
        self._id: str | None = None
        self._created = int(time()) if created is None else created
        self._has_own = False
        """Whether objects were sent that are not of an answer."""

    def feed(self, event: Any) -> Iterator[dict[str, Any]]:
        if isinstance(event, dict):
            self._has_own = True
            yield event
            return
        if isinstance(event, AnswerEnd):
            self._totals.note(event)
        choice = self._choice(self._of_event.choice_of(event))
        choice.has_spoken = True
        yield from self._written(choice, choice.parts.feed(event))

    def lane(self, event: SegmentContent) -> FrameLane | None:
        """Return the lane of a segment of which something has been sent."""
        choice = self._choice(self._of_event.choice_of(event))
        lane = choice.parts.lane(event)
        if lane is None or not choice.has_begun or (delta := choice.delta(lane.part)) is None:
            return None
        return frame_lane(lane.take, self._chunks(choice, delta))

    def close(self, how: How, error: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        choices = [self._choices[number] for number in sorted(self._choices)]
        for choice in choices:
            yield from self._written(choice, choice.parts.close(how))
        for choice in choices:
            if (word := choice.finish()) is not None:
                yield from self._chunks(choice, {}, word)
        usage = self._totals.usage
        if self._include_usage and usage is not None:
            yield self._envelope([], usage=_usage(usage))
        nothing = [] if self._has_own else [None]
        ends = [choice.end for choice in choices if choice.has_spoken] or nothing
        if (failure := failure_of(how, error, ends)) is not None:
            yield {"error": _error(failure)}

    def _choice(self, number: int) -> _Choice:
        if number not in self._choices:
            self._choices[number] = _Choice(number)
        return self._choices[number]

    def _written(self, choice: _Choice, parts: list[Any]) -> Iterator[dict[str, Any]]:
        for part in parts:
            if isinstance(part, TurnStart):
                self._id = self._id or part.turn_id
            if (delta := choice.delta(part)) is not None:
                yield from self._chunks(choice, delta)

    def _chunks(self, choice: _Choice, delta: dict[str, Any], finish: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield a choice's chunk; before its first one, the beginnings of the choices before it: readers append.

        A number that no request can ask for counts something else than choices, and nothing begins before it.
        """
        if not choice.has_begun:
            for number in range(choice.number if choice.number < _MOST_CHOICES else 0):
                if not (before := self._choice(number)).has_begun:
                    before.has_begun = True
                    yield self._envelope([before.entry({"role": "assistant"})])
            choice.has_begun = True
            delta = {"role": "assistant", **delta}
        yield self._envelope([choice.entry(delta, finish)])

    def _envelope(self, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        self._id = self._id or f"chatcmpl-{uuid4().hex}"
        return {
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": self._totals.model,
            "choices": choices,
            **more,
        }


class _Choice:
    """One of n answers: its calls by their index, and how its last turn ended."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.parts = PartReader()
        self.has_begun = self.has_spoken = False
        """Whether a chunk of it was sent, and whether an event was of it."""
        self.end: AnswerEnd | None = None
        self._has_calls = self._is_cut = False
        """Whether the last turn has calls, and one that must not be run although its arguments do not show it."""
        self._indexes: dict[str, int] = {}

    def delta(self, part: Any) -> dict[str, Any] | None:
        """Return the delta of a part; None for one that has none."""
        match part:
            case TurnStart():
                self.end, self._has_calls, self._is_cut = None, False, False
            case AnswerEnd():
                self.end = part
            case TextDelta(kind=kind, delta=text):
                return {_TEXTS[kind]: text}
            case CallStart(call=call) if call.executed_by == "client":
                self._has_calls = True
                self._indexes[call.id] = len(self._indexes)
                key, argument_key = _call_keys(call)
                return self._call(call, {"id": call.id, "type": key, key: {"name": call.name, argument_key: ""}})
            case CallDelta(call=call, delta=text) if call.id in self._indexes:
                return self._arguments(call, text)
            case CallEnd(call=call) if call.id in self._indexes:
                self._is_cut = self._is_cut or _looks_whole(part)
                if text := missing_arguments(part):
                    return self._arguments(call, text)
            case Media(url=url) if url.startswith(_SPEECH):
                return {"audio": {"data": url.removeprefix(_SPEECH)}}
            case _:
                pass
        return None

    def finish(self) -> str | None:
        """Return the API's word for how the answer ended; None if it was broken off without a word, or failed."""
        if (finish := finish_of(self.end)) is None:
            return None
        word = "tool_calls" if self._has_calls and finish in _WITH_CALLS else FINISHES[finish]
        return "length" if self._is_cut and word in _WHOLE else word

    def entry(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        # The API demands the finish reason, so null is written.
        return {"index": self.number, "delta": delta, "finish_reason": finish}

    def _arguments(self, call: PartCall, text: str) -> dict[str, Any]:
        key, argument_key = _call_keys(call)
        return self._call(call, {key: {argument_key: text}})

    def _call(self, call: PartCall, said: dict[str, Any]) -> dict[str, Any]:
        return {"tool_calls": [{"index": self._indexes[call.id], **said}]}


def _call_keys(call: PartCall) -> tuple[str, str]:
    """Return the type of a call, which is also the key of its name and arguments, and the key of its arguments."""
    return ("custom", "input") if call.form == "text" else ("function", "arguments")


def _usage(usage: TokenUsage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _error(failure: Failure) -> dict[str, Any]:
    return {
        "message": failure.message,
        "type": failure.type or "server_error",
        "param": None,
        "code": failure.code,
    }


def _looks_whole(end: CallEnd) -> bool:
    """Return whether a call was cut, forbidden, contradicted by the provider or repeats another, and does not show it.

    A call that was refused for its arguments shows it to everyone who validates them.
    """
    is_empty = not end.text.strip()
    if end.status == "truncated":
        return end.call.form == "text" or is_empty
    if end.reason not in _REFUSED:
        return False
    return end.call.form == "text" or _is_json(end.text) or (end.reason == "guarded" and is_empty)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
