"""`Handover`: what comes of several sources, one after the other, as one answer; no I/O."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ..events.chunk_response import ChunkResponse, TokenUsage, ToolCallDelta
from ..events.errors import ProviderError
from ..events.tool_invocation import Notice
from ..operators.engine.limits import DEFAULT_LIMITS
from ..operators.machines.json_machine import decode_json
from .base.request import AnswerCall, AnswerPart, plain_arguments
from .repeated_text import RepeatedText
from .shown import Shown
from .streams.time_limits import has_content

FAILOVER = "failover"
"""The code of the notices, and the reason with which ends what was open."""


class Handover:
    """The chunks of one source after the other, as those of one answer.

    `take` takes the chunks of the current source, and returns those to give. When the source is over, or `is_broken`,
    `change` begins the next one if this one broke, else `rest` has what is left to give.

    `takers`: of each source, whether it takes what was shown.
    """

    def __init__(self, takers: Sequence[bool]) -> None:
        self._takers = takers
        self.number = 0
        """The source that is read."""
        self.shown = Shown()
        """What was shown before it."""
        self._errors: list[ProviderError] = []
        """Why the earlier ones broke."""
        self._parts: list[_Text | _Call] = []
        self._calls: dict[int, _Call] = {}
        self._has_shown = self._is_open = self._is_beyond = False
        """Whether a source broke in mid-answer; whether, since then, something may be open; whether anything but texts,
        reasoning and calls of the first choice was shown, which no other source can go on with."""
        self._before: TokenUsage | None = None
        """The tokens of the earlier sources."""
        self._begin()

    def _begin(self) -> None:
        self._first_index = max(self._calls, default=-1) + 1
        self._usage: TokenUsage | None = None
        self._model: str | None = None
        self._has_begun = False
        self._early: list[ChunkResponse] = []
        """The chunks before the first content."""
        self._last: list[ChunkResponse] = []
        """The chunks that say why the source broke, or what it had said by then."""
        self._finished: dict[int, bool] = {}
        """The choices that came, and whether they have ended."""
        self._why: ProviderError | None = None
        self._repeated = RepeatedText(self.shown) if self.number else None
        self._repeatable = [call for call in self._calls.values() if call.may_be_whole]
        """The earlier calls that this source may repeat."""
        self._kept: dict[int, list[ToolCallDelta]] = {}
        """The deltas of calls that may repeat earlier ones."""

    @property
    def is_broken(self) -> bool:
        """Whether a chunk said that the source broke, and another one can take its place."""
        return self._why is not None

    def take(self, chunks: Iterable[ChunkResponse]) -> list[ChunkResponse]:
        """Return the chunks to give for those of the current source."""
        given: list[ChunkResponse] = []
        for chunk in chunks:
            self._take(chunk, given)
        return given

    def _take(self, chunk: ChunkResponse, given: list[ChunkResponse]) -> None:
        if chunk.usage is not None:
            self._usage = chunk.usage
            if self._before is not None:
                chunk = replace(chunk, usage=_sum(self._before, chunk.usage))
        self._model = chunk.model or self._model
        if chunk.error is not None or (chunk.message is not None and not self._is_whole and not has_content(chunk)):
            self._last.append(chunk)
            return
        if (why := _broken_by(chunk)) is not None and self._next() is not None:
            self._why = why
            self._last.append(chunk)
            return
        if self._is_open or self.number:
            chunk = self._as_one_answer(chunk, given)
        if not has_content(chunk):
            (given if self._has_begun or chunk.notices else self._early).append(chunk)
            return
        self._show(chunk, given)

    def _show(self, chunk: ChunkResponse, given: list[ChunkResponse]) -> None:
        """Give a chunk that has content."""
        if not self._has_begun:
            self._has_begun = True
            given += self._early
            if self._is_open:
                chunk = self._interrupting(chunk, given)
        self._note(chunk)
        given.append(chunk)

    def _interrupting(self, chunk: ChunkResponse, given: list[ChunkResponse]) -> ChunkResponse:
        """End what the source before had open, but for the text that the chunk goes on with."""
        self._is_open = False
        if self.shown.text and self.shown.goes_on and chunk.content and not chunk.reasoning:
            return replace(chunk, interrupted=FAILOVER)
        given.append(ChunkResponse(interrupted=FAILOVER))
        return chunk

    def _as_one_answer(self, chunk: ChunkResponse, given: list[ChunkResponse]) -> ChunkResponse:
        """Return a chunk of a later source without what was shown, its calls behind those of the others."""
        message = None if self._has_shown else chunk.message  # it is not the whole message
        repeated, content = self._repeated, chunk.content
        if repeated is not None:
            content = repeated.feed(content) if content else ""
            if chunk.tool_calls or chunk.finish_reason or chunk.reasoning or chunk.is_complete:
                content += repeated.rest()
        if self._kept and (content or chunk.finish_reason or chunk.is_complete):
            self._release([*self._kept], given)
        calls = self._renumbered(chunk.tool_calls, given) if chunk.tool_calls else ()
        return replace(chunk, content=content, tool_calls=calls, message=message)

    def _renumbered(self, deltas: Iterable[ToolCallDelta], given: list[ChunkResponse]) -> tuple[ToolCallDelta, ...]:
        """Return the deltas of calls that repeat none; a call that may repeat one is kept until it is whole."""
        passed: list[ToolCallDelta] = []
        for each in deltas:
            delta = replace(each, index=each.index + self._first_index)
            index = delta.index
            if index not in self._calls and index not in self._kept:
                self._release([*self._kept], given)
                if any(call.name.startswith(delta.name or "") for call in self._repeatable):
                    self._kept[index] = []
            if index in self._kept:
                self._kept[index].append(delta)
                if delta.done or delta.status:
                    self._release([index], given)
            else:
                passed.append(delta)
        return tuple(passed)

    def _release(self, indexes: list[int], given: list[ChunkResponse]) -> None:
        """Give calls that were kept; one that repeats another has its id, so that it runs only if that one did not."""
        for index in indexes:
            deltas = self._kept.pop(index)
            call = _Call(deltas[0])
            for delta in deltas:
                call.add(delta)
            same = next((each for each in self._repeatable if each.is_same(call)), None)
            if same is not None and same.call_id is not None:
                deltas[0] = replace(deltas[0], call_id=same.call_id)
            if same is not None and same.call_id is None and same.is_whole:
                detail = f"the call of {call.name} repeats one that was shown before its source broke, and is left out"
                given.append(ChunkResponse(notices=(Notice("duplicate_call", detail),)))
                continue
            self._show(ChunkResponse(tool_calls=tuple(deltas)), given)

    def _note(self, chunk: ChunkResponse) -> None:
        """Keep what is shown."""
        choice, text = chunk.choice, chunk.content
        if not self._finished.get(choice):
            self._finished[choice] = bool(chunk.finish_reason or chunk.is_complete)
        if choice or chunk.refusal or chunk.image_urls or chunk.audio_urls or chunk.video_urls:
            self._is_beyond = True
            return
        if text:
            if not (self._parts and isinstance(last := self._parts[-1], _Text)):
                last = _Text()
                self._parts.append(last)
            last.pieces.append(text)
        for delta in chunk.tool_calls:
            call = self._calls.get(delta.index)
            if call is None:
                for other in self._calls.values():
                    other.follow()
                call = self._calls[delta.index] = _Call(delta)
                self._parts.append(call)
            call.add(delta)

    def change(self, failure: Exception | None) -> ChunkResponse | None:
        """Begin the next source, if this one broke and there is one; return the chunk that says so, else None.

        `failure`: the exception that the source ended with.
        """
        error, number = self._error(failure), self._next()
        if error is None or number is None:
            return None
        detail = self._detail(error, number + 1)
        if self._usage is not None:
            self._before = self._usage if self._before is None else _sum(self._before, self._usage)
        error.__traceback__ = None  # which would hold the frames of who keeps the error
        self._errors.append(error)
        self._is_open = self._is_open or self._has_begun
        self._has_shown = self._has_shown or self._has_begun
        for call in self._calls.values():
            call.settle()
        self.number, self.shown = number, Shown(self._shown_parts(), error)
        self._begin()
        return ChunkResponse(notices=(Notice(FAILOVER, detail),), usage=self._before)

    def _detail(self, error: ProviderError, following: int) -> str:
        """Return what is said of a source that broke, and of the one that follows it, by their numbers from 1."""
        number, usage = self.number + 1, self._usage
        who = f"source {number} of {len(self._takers)}" + (f" ({self._model})" if self._model else "")
        where = "in mid-answer" if self._has_begun else "before its first content"
        goes_on = "goes on" if self._parts else "takes its place"
        tokens = f"lacks the tokens of source {number}, which did not tell them"
        if usage is not None:
            counts = f"{usage.prompt} prompt tokens and {usage.completion} completion tokens"
            tokens = f"has {counts} of source {number}"
        return f"{who} broke {where}: {_sentence(error)}. Source {following} {goes_on}; the usage {tokens}"

    def rest(self, failure: Exception | None) -> list[ChunkResponse]:
        """Return what is left of the last source, and note at its exception why the earlier ones broke."""
        given: list[ChunkResponse] = []
        if self._repeated is not None and (text := self._repeated.rest()):
            given += self.take([ChunkResponse(content=text)])
        self._release([*self._kept], given)
        if not self._has_begun:
            given += self._early
        if failure is not None:
            self._tell(failure)
        return given + self._last

    def forget(self) -> None:
        """Let go of the errors, whose frames may lead back to who reads."""
        self._errors.clear()
        self.shown, self._why = Shown(), None
        self._repeated = None

    def _tell(self, failure: Exception) -> None:
        for number, error in enumerate(self._errors, 1):
            failure.add_note(f"before it, a source broke ({number} of {len(self._errors)}): {_sentence(error)}")
        unasked = len(self._takers) - self.number - 1
        if unasked and isinstance(failure, ProviderError):
            failure.add_note(
                f"{unasked} further source(s) were not asked: they take no argument, or the answer has more than text, "
                "so they cannot go on with what was shown"
            )
        if self._errors and failure.__context__ is None:
            failure.__context__ = self._errors[-1]

    def _next(self) -> int | None:
        """Return the source that can take the place of the current one."""
        if self._is_beyond:
            return None
        needs_shown = any(isinstance(each, _Text) or each.is_whole for each in self._parts)
        later = range(self.number + 1, len(self._takers))
        return next((number for number in later if self._takers[number] or not needs_shown), None)

    def _error(self, failure: Exception | None) -> ProviderError | None:
        """Return why the source broke; None if its answer is whole, or the error is not the provider's."""
        if self._why is not None:
            return self._why
        if self._is_whole or (failure is not None and not isinstance(failure, ProviderError)):
            return None
        if failure is None and (error := next((each.error for each in self._last if each.error), None)) is not None:
            return ProviderError(str(error.get("detail", "")), type=error.get("type"), code=error.get("code"))
        return failure or ProviderError("the stream ended before its answer did", type="cut", transport=True)

    @property
    def _is_whole(self) -> bool:
        """Whether the finish of each answer has come."""
        return bool(self._finished) and all(self._finished.values())

    def _shown_parts(self) -> tuple[AnswerPart, ...]:
        parts: list[AnswerPart] = []
        for each in self._parts:
            if isinstance(each, _Call):
                if each.is_whole and not each.is_providers:
                    parts.append(AnswerPart("tool_call", call=each.as_answer_call()))
            elif parts and parts[-1].call is None:  # a call between them was cut
                parts[-1] = AnswerPart("text", parts[-1].text + "".join(each.pieces))
            else:
                parts.append(AnswerPart("text", "".join(each.pieces)))
        return tuple(parts)


class _Text:
    def __init__(self) -> None:
        self.pieces: list[str] = []


class _Call:
    """A call that was shown; `is_whole` says whether it was sealed, as the operators see it."""

    def __init__(self, delta: ToolCallDelta) -> None:
        self.index = delta.index
        self.call_id = delta.call_id
        self.name = ""
        self.is_providers = delta.executed_by == "provider"
        self._kind = delta.kind
        self._pieces: list[str] = []
        self._followed_at: int | None = None
        """How many pieces had come when another call began."""
        self._is_done = False
        self._was_whole: bool | None = None
        self._status: str | None = None

    def add(self, delta: ToolCallDelta) -> None:
        self.name += delta.name or ""
        self._is_done = self._is_done or delta.done
        self._status = delta.status or self._status
        if delta.arguments_delta:
            self._pieces.append(delta.arguments_delta)

    def follow(self) -> None:
        """Note that another call began."""
        self._followed_at = len(self._pieces)

    def settle(self) -> None:
        """Note that nothing more comes of the source, so that nothing more seals the call."""
        self._was_whole = self.is_whole

    @property
    def is_whole(self) -> bool:
        if self._was_whole is not None:
            return self._was_whole
        if self._status == "incomplete":
            return False
        if self._kind != "json" or not self.raw.strip():
            return self._status == "completed"
        closed = self._pieces if self._is_done else self._pieces[: self._followed_at or 0]
        return isinstance(_value(closed), dict)

    @property
    def may_be_whole(self) -> bool:
        """Whether another call may be the same: what was cut in mid-JSON is never the whole of one."""
        return self._kind != "json" or not self.raw.strip() or _value(self._pieces) is not None

    @property
    def raw(self) -> str:
        return "".join(self._pieces)

    def is_same(self, other: _Call) -> bool:
        """Return whether another call has the same name and arguments."""
        if (self.name, self._kind) != (other.name, other._kind):
            return False
        if self.raw.strip() == other.raw.strip():
            return True
        values = [_value([each.raw]) for each in (self, other)]
        return None not in values and len({json.dumps(each, sort_keys=True) for each in values}) == 1

    def as_answer_call(self) -> AnswerCall:
        value = _value(self._pieces)
        is_free_form = self._kind == "text"
        arguments: dict[str, Any] = {"input": self.raw} if is_free_form else plain_arguments(value or {})
        call_id = self.call_id or f"call_{self.index}"
        return AnswerCall(
            *(call_id, self.name, self.raw, arguments, is_free_form),
            has_arguments=True,
            is_whole=True,
            is_providers=self.is_providers,
            duplicate_of=None,
            failure=None,
        )


def _value(pieces: Sequence[str]) -> Any:
    return decode_json("".join(pieces), DEFAULT_LIMITS)[0] if pieces else None


def _broken_by(chunk: ChunkResponse) -> ProviderError | None:
    """Return why a source broke, if a chunk says so without an exception."""
    if chunk.interrupted not in (None, FAILOVER):
        detail = chunk.notices[0].detail if chunk.notices else f"it was interrupted: {chunk.interrupted}"
        return ProviderError(detail, type=chunk.interrupted)
    if chunk.finish_reason == "error":
        return ProviderError("the answer ended with an error", type=chunk.finish_reason_raw)
    return None


def _sentence(error: ProviderError) -> str:
    return error.detail if error.type in ("idle", "cut") else str(error)


def _sum(a: TokenUsage, b: TokenUsage) -> TokenUsage:
    return TokenUsage(*(getattr(a, name) + getattr(b, name) for name in TokenUsage.__struct_fields__))
