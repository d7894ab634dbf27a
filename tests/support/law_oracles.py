"""What must come out, said once more and independently: from the rules and `json.loads`, not from the machines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace
from strategies.answers import TOOLS

from penstock.events import AnswerEnd, SegmentContent
from penstock.events.answer_end import AnswerStatus
from penstock.events.chunk_response import ChunkResponse, FinishReason, ToolCallDelta
from penstock.events.errors import ProviderError
from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import InvocationFailed, Notice, ToolInvocation
from penstock.operators.engine.stage import Completed, Failed, How

BLANKS = " \t\n\r"

# Whatever state a JSON text is broken off in, one of these and the closing brackets finish it.
_TAILS = (
    *("", "0", '"', '":0', ":0", '"k":0'),
    *(digits + end for digits in ("n", "0", "00", "000", "0000") for end in ('"', '":0')),
    *(word[start:] for word in ("true", "false", "null") for start in range(1, len(word))),
)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def without_halves(value: Any) -> Any:
    """Replace lone surrogates by U+FFFD, everywhere in a JSON value."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, dict):
        return {without_halves(key): without_halves(each) for key, each in value.items()}
    return [without_halves(each) for each in value] if isinstance(value, list) else value


def loaded(text: str) -> Any:
    return without_halves(_DECODER.decode(text))


def root_keys(text: str) -> list[str]:
    """Return the keys of a JSON object in their order, repeated ones too."""
    pairs: list[tuple[str, Any]] = []

    def keep(entries: list[tuple[str, Any]]) -> dict[str, Any]:
        pairs[:] = entries  # the root's come last
        return dict(entries)

    json.loads(text, object_pairs_hook=keep)
    return [key for key, _ in pairs]


def verdict(text: str) -> str:
    """Return whether a text is `valid` JSON, the `beginning` of some, or `wrong` whatever follows."""
    brackets: list[str] = []
    in_string = escape = False
    for char in text:
        if in_string:
            in_string = escape or char != '"'
            escape = char == "\\" and not escape
        elif char == '"':
            in_string = True
        elif char in "{[":
            brackets.append("}" if char == "{" else "]")
        elif char in "}]" and brackets:
            brackets.pop()
    closing = "".join(reversed(brackets))
    for tail in _TAILS:
        try:
            _DECODER.decode(text + tail + closing)
        except ValueError:
            continue
        return "beginning" if tail or closing else "valid"
    return "wrong"


def root_end(text: str) -> int | None:
    """Return where the root value is known to have ended, or None."""
    start = len(text) - len(text.lstrip(BLANKS))
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return None if is_number and text[end : end + 1] not in tuple(BLANKS) else end


def is_closed(text: str) -> bool:
    end = root_end(text)
    return end is not None and not text[end:].strip(BLANKS)


class Outcome(NamedTuple):
    """What becomes of a call: `invoked` with arguments, `provider` (runs it itself), or the reason it failed."""

    name: str
    what: str
    arguments: Any
    raw: str
    at: int | None
    """The item with which it is invoked; the number of items for the end."""


class _Open:
    def __init__(self, segment_id: str, delta: ToolCallDelta, text: str) -> None:
        self.segment_id = segment_id
        self.header = delta
        self.text = text
        self.done = False
        self.status: str | None = None
        self.is_followed = False

    @property
    def is_sealed(self) -> bool:
        return self.header.kind == "json" and is_closed(self.text)

    @property
    def needs_evidence(self) -> bool:
        return self.header.kind != "json" or not self.text.strip(BLANKS)

    def settled(self, cause: str, at: int, *, fields: bool) -> Outcome:
        """`cause`: `sealed`, or why it is not."""
        text = self.text
        what, arguments = cause, None
        if self.header.executed_by == "provider":
            what = "provider"
        elif cause == "contradiction":
            pass
        elif self.header.kind == "text":
            if cause == "sealed":
                what, arguments = "invoked", {"input": text}
        elif not text.strip(BLANKS):
            if cause == "sealed" and self.header.kind == "object":
                what = "truncated"
            elif cause == "sealed":
                what, arguments = _judged(self.header.name or "", "{}", fields=fields)
        else:
            kind = verdict(text)
            if kind == "wrong":
                what = "malformed"
            elif cause == "sealed" and kind == "beginning":
                what = "truncated"
            elif cause == "sealed":
                what, arguments = _judged(self.header.name or "", text, fields=fields)
        return Outcome(self.header.name or "", what, arguments, text, at if what == "invoked" else None)


def _judged(tool: str, text: str, *, fields: bool) -> tuple[str, Any]:
    value = loaded(text)
    arguments = {} if value is None else value
    if not isinstance(arguments, dict):
        return "invalid", None
    if fields and tool in TOOLS:
        field, beside = TOOLS[tool]
        keys = [] if value is None else root_keys(text)
        again = [place for place, key in enumerate(keys) if key == field][1:2]
        if again and (beside != "path" or "path" in keys[: again[0]]):  # its content was shown
            return "duplicate_key", None
        # START shows a path as soon as it closes, and what else came before the field.
        due = beside if beside == "path" else field
        shown = keys[: keys.index(due) + 1] if due in keys else []
        if beside in shown and beside in keys[len(shown) :]:
            return "duplicate_key", None
    return "invoked", arguments


class Expected:
    """The fate of each call of an answer by the rule of sealing.

    A call is sealed when its JSON root has closed and the provider said that its block ended, or another call of the
    same choice began, or the choice was finished, or the stream completed; a free-form call, an object of the
    provider's, and a call without any argument only by what shows that the model had finished it: its status, a regular
    finish, or any finish where another call came after its last text. `eager`: as the root closes.
    """

    def __init__(self, turn_id: str, *, eager: bool = False, fields: bool = True) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self.late: list[str] = []
        self.repetitions: list[str] = []
        """Calls that repeat the id, the name and the arguments of one that is invoked: they have a Notice for a fate."""
        self.has_nameless = False
        self._turn_id = turn_id
        self._eager = eager
        self._fields = fields
        self._open: dict[tuple[int, int], _Open] = {}
        self._waiting: dict[tuple[int, int], str] = {}
        self._sealed: set[tuple[int, int]] = set()
        self._finish: dict[int, str] = {}
        self._cancelled: set[int] = set()
        self._given: dict[str, tuple[int, str]] = {}

    def run(self, chunks: Sequence[ChunkResponse], how: How) -> Expected:
        for at, chunk in enumerate(chunks):
            for delta in chunk.tool_calls:
                self._delta(chunk.choice, delta, at)
            if chunk.finish_reason is not None or chunk.is_complete:
                self._finished(chunk, at)
        self._end(how, len(chunks))
        self._without_repetitions()
        return self

    def _delta(self, choice: int, delta: ToolCallDelta, at: int) -> None:
        key = choice, delta.index
        call = self._open.get(key)
        text = delta.arguments_delta
        if call is not None and delta.contradiction:
            self._settle(key, "contradiction", at)
            return
        if call is None and not delta.name:
            if key not in self._sealed:
                self._waiting[key] = self._waiting.get(key, "") + text
            elif text.strip(BLANKS):
                self.late.append(text)
            return
        if call is None or (delta.name and delta.call_id and delta.call_id != call.header.call_id):
            for other_key, other in list(self._open.items()):
                if other_key[0] == choice and other.is_sealed:
                    self._settle(other_key, "sealed", at)
                other.is_followed = other.is_followed or other_key[0] == choice
            if key in self._open:
                former = self._open[key]
                whole = former.needs_evidence and former.status != "incomplete"
                self._settle(key, "sealed" if whole else "truncated", at)
            call = self._open[key] = self._new(choice, delta, self._waiting.pop(key, ""))
        call.text += text
        call.is_followed = call.is_followed and not text
        if self._eager and call.header.kind == "json" and (end := root_end(call.text)) is not None:
            call.text, rest = call.text[:end], call.text[end:]
            self._settle(key, "sealed", at)
            if rest.strip(BLANKS):
                self.late.append(rest)
            return
        call.done = call.done or delta.done
        call.status = delta.status or call.status
        if call.needs_evidence:
            if call.status == "completed":
                self._settle(key, "sealed", at)
        elif call.done:
            self._settle(key, "sealed", at)

    def _new(self, choice: int, delta: ToolCallDelta, text: str) -> _Open:
        wanted = delta.call_id or f"{self._turn_id}:{f'choice_{choice}:' if choice else ''}call_{delta.index}"
        taken = {call.segment_id for call in self._open.values()} | set(self.outcomes)
        number, segment_id = 1, wanted
        while segment_id in taken:
            number += 1
            segment_id = f"{wanted}#{number}"
        if delta.call_id:
            self._given[segment_id] = (choice, delta.call_id)
        return _Open(segment_id, delta, text)

    def _finished(self, chunk: ChunkResponse, at: int) -> None:
        reason = chunk.finish_reason or "stop"
        self._finish[chunk.choice] = reason
        (self._cancelled.add if chunk.finish_reason_raw == "cancelled" else self._cancelled.discard)(chunk.choice)
        if reason == "error":
            return
        is_regular = reason in ("stop", "tool_calls", "pause") and not chunk.is_cut
        for key, call in list(self._open.items()):
            has_evidence = (is_regular or call.is_followed) and call.status != "incomplete"
            if key[0] == chunk.choice and (has_evidence if call.needs_evidence else call.is_sealed):
                self._settle(key, "sealed", at)

    def _end(self, how: How, at: int) -> None:
        for key, text in self._waiting.items():
            self.has_nameless = True
            header = ToolCallDelta(key[1], name="")
            call = self._new(key[0], header, text)
            self.outcomes[call.segment_id] = Outcome("", "malformed", None, text, None)
        for key, call in list(self._open.items()):
            cause = "interrupted"
            if isinstance(how, Failed) and isinstance(how.error, ProviderError) and not how.error.transport:
                cause = "provider_error"
            elif isinstance(how, Completed):
                if self._finish.get(key[0]) == "error":
                    cause = "provider_error"
                elif call.needs_evidence:
                    cause = "truncated"
                    if key[0] in self._cancelled and call.status != "incomplete":
                        cause = "interrupted"
                elif key[0] not in self._cancelled or call.is_sealed:
                    cause = "sealed"
            self._settle(key, cause, at)

    def _without_repetitions(self) -> None:
        """Leave out the repetitions."""
        seen: set[tuple[tuple[int, str], str, str]] = set()
        for segment_id, outcome in list(self.outcomes.items()):
            if outcome.what == "invoked" and segment_id in self._given:
                arguments = json.dumps(outcome.arguments, sort_keys=True)
                fate = (self._given[segment_id], outcome.name, arguments)
                if fate in seen:
                    del self.outcomes[segment_id]
                    self.repetitions.append(segment_id)
                seen.add(fate)

    def _settle(self, key: tuple[int, int], cause: str, at: int) -> None:
        call = self._open.pop(key)
        self._sealed.add(key)
        self.outcomes[call.segment_id] = call.settled(cause, at, fields=self._fields)


def expected_ends(chunks: Sequence[ChunkResponse], how: How, turn_id: str) -> list[AnswerEnd]:
    """Return the end of each answer by the rule of status; what is said of the whole response, each of them says."""
    said = {chunk.choice for chunk in chunks if _says_something(chunk)} or {0}
    usages = [chunk.usage for chunk in chunks if chunk.usage is not None]
    models = [chunk.model for chunk in chunks if chunk.model]
    response_ids = [chunk.response_id for chunk in chunks if chunk.response_id]
    ends: list[AnswerEnd] = []
    for choice in dict.fromkeys((0, *(chunk.choice for chunk in chunks))):
        if choice not in said:
            continue
        own = [chunk for chunk in chunks if chunk.choice == choice]
        finishes = [chunk for chunk in own if chunk.finish_reason is not None or chunk.is_complete]
        finish = finishes[-1] if finishes else None
        reason = None if finish is None else finish.finish_reason or "stop"
        words = None if finish is None else finish.finish_reason_raw
        errors: list[Any] = [chunk.error for chunk in own if chunk.error is not None] or [_error_of(how)]
        messages = [chunk for chunk in own if chunk.message is not None]
        ends.append(
            AnswerEnd(
                turn_id,
                choice,
                _answer_status(how, reason, words),
                reason,
                words,
                usages[-1] if usages else None,
                models[-1] if models else None,
                response_ids[-1] if response_ids else None,
                errors[-1],
                messages[-1].api if messages else None,
                messages[-1].message if messages else None,
            )
        )
    return ends


def _says_something(chunk: ChunkResponse) -> bool:
    """Return whether a chunk says more than what is true of the whole response."""
    return replace(chunk, usage=None, model=None, response_id=None, api=None, choice=0) != ChunkResponse()


def _answer_status(how: How, reason: FinishReason | None, words: str | None) -> AnswerStatus:
    if isinstance(how, Failed):
        is_providers = isinstance(how.error, ProviderError) and not how.error.transport
        return "failed" if is_providers else "interrupted"
    if not isinstance(how, Completed):
        return "interrupted"
    if reason == "other":
        return "interrupted" if words == "cancelled" else "complete"
    table: dict[FinishReason | None, AnswerStatus] = {
        None: "truncated",
        "length": "truncated",
        "content_filter": "truncated",
        "pause": "paused",
        "error": "failed",
    }
    return table.get(reason, "complete")


def _error_of(how: How) -> dict[str, Any] | None:
    if not isinstance(how, Failed):
        return None
    if isinstance(how.error, ProviderError):
        return {"detail": how.error.detail} | ({"transport": True} if how.error.transport else {})
    return {"detail": str(how.error), "type": type(how.error).__name__}


def outcomes(steps: Sequence[Iterable[Any]]) -> dict[str, Outcome]:
    """Return what became of each call, from what each item and the close gave; no call may have two fates."""
    given: dict[str, Outcome] = {}
    for at, step in enumerate(steps):
        for event in step:
            if isinstance(event, ToolInvocation):
                outcome = Outcome(event.name, "invoked", event.arguments, event.raw, at)
            elif isinstance(event, InvocationFailed):
                outcome = Outcome(event.name, event.reason, None, event.raw, None)
            else:
                continue
            assert event.id not in given, f"two fates of {event.id}"
            given[event.id] = outcome
    return given


def settled_by_us(expected: Expected) -> dict[str, Outcome]:
    return {key: each for key, each in expected.outcomes.items() if each.what != "provider"}


def comparable(events: Iterable[Any]) -> list[Any]:
    """Return events so that those of two cuttings can be compared.

    Neighbouring CONTENT of a segment is joined, source text and fragments are left to the laws about them, a notice is
    its code.
    """
    given: list[Any] = []
    for event in events:
        if isinstance(event, Notice):
            given.append(event.code)
        elif isinstance(event, SegmentEvent):
            plain = replace(event, raw="", fragments=None)
            last = given[-1] if given else None
            if (
                isinstance(event, SegmentContent)
                and isinstance(last, SegmentContent)
                and last.segment_id == event.segment_id
            ):
                given[-1] = replace(last, delta=last.delta + event.delta)
            else:
                given.append(plain)
        else:
            given.append(event)
    return given


def raw_by_segment(events: Iterable[Any]) -> dict[str, str]:
    raw: dict[str, str] = {}
    for event in events:
        if isinstance(event, SegmentEvent):
            raw[event.segment_id] = raw.get(event.segment_id, "") + event.raw
    return raw


def content_by_segment(events: Iterable[Any]) -> dict[str, str]:
    content: dict[str, str] = {}
    for event in events:
        if isinstance(event, SegmentEvent):
            content[event.segment_id] = content.get(event.segment_id, "") + getattr(event, "delta", "")
    return content
