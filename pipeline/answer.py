"""`Answer`: what one answer was, its parts, and the messages of the next turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from ..events.answer_end import AnswerEnd, AnswerStatus
from ..events.chunk_response import ProviderEvent, TokenUsage
from ..events.errors import UsageError
from ..events.tool_invocation import InvocationFailed, Notice, ToolInvocation, ToolResult, result_text
from ..operators.engine.limits import DEFAULT_LIMITS
from ..operators.machines.json_machine import decode_json
from ..sinks.collect import Collected, Segment, collect
from ..sources.base.request import (
    AnswerCall,
    AnswerPart,
    CallResult,
    MessageCall,
    MessageForm,
    Notices,
    left_out,
    plain_arguments,
    with_own_ids,
)
from ..sources.recognition.apis import form_of


def parts_of(collected: Collected[Any], turn_id: str | None, choice: int) -> list[AnswerPart]:
    """Return the parts of one answer, in the order in which they began."""
    run = {each.id: each for each in collected.invocations if each.turn_id == turn_id}
    failed = {each.id: each for each in collected.failures if each.turn_id == turn_id}
    parts: list[AnswerPart] = []
    for segment in collected.segments:
        metadata = segment.metadata
        if segment.turn_id != turn_id or metadata.get("choice", 0) != choice:
            continue
        if segment.type == "tool_call" or "tool_name" in metadata or segment.id in run or segment.id in failed:
            # An argument that streams as a segment of its own is told with its call.
            if not segment.id.startswith(f"{metadata.get('call_id')}/"):
                call = _call(segment, run.get(segment.id), failed.get(segment.id))
                parts.append(AnswerPart(segment.type, call=call))
        elif segment.content:
            parts.append(AnswerPart(segment.type, segment.content))
    return parts


def _call(segment: Segment, run: ToolInvocation | None, failed: InvocationFailed | None) -> AnswerCall:
    metadata = segment.metadata
    raw = segment.content if segment.type == "tool_call" else segment.raw
    is_free_form = metadata.get("kind") == "text"
    arguments: Any = {"input": raw} if is_free_form else {}
    if run is not None:
        raw, arguments = run.raw, run.arguments
    elif not is_free_form and raw.strip():
        arguments = decode_json(raw, DEFAULT_LIMITS)[0]
    has_arguments = isinstance(arguments, dict) or raw.strip() == "null"
    return AnswerCall(
        segment.id,
        str(metadata.get("tool_name") or segment.type),
        raw,
        plain_arguments(cast("dict[str, Any]", arguments)) if isinstance(arguments, dict) else {},
        is_free_form,
        has_arguments,
        has_arguments and segment.status == "complete",
        metadata.get("executed_by") == "provider",
        metadata.get("duplicate_of"),
        failed,
    )


class CallsOfMessage:
    """Pairs the calls of a message with results; `UsageError` for a call without one, and for one without a call.

    - `call_id`: returns the id that a call of the answer has in the message.
    - `answered`: the calls of the message in order, with their results.
    - `in_text`: the calls that are in the answer but not in the message, because the model wrote them as text.
    """

    def __init__(
        self,
        in_message: Sequence[MessageCall],
        calls: Sequence[AnswerCall],
        results: Mapping[str, ToolResult],
        call_id: Callable[[str], str] = str,
    ) -> None:
        self._results = results
        self._call_id = call_id
        self._ids = {each.id for each in in_message}
        self._check(calls)
        rest = list(calls)
        self.answered: list[CallResult] = []
        for each in in_message:
            call = self._find(each, rest)
            if call is None:
                lost = ToolResult(each.id, error="the call was not run: it is not a call of this answer")
                self.answered.append(CallResult(each, lost))
            else:
                rest.remove(call)
                self.answered.append(CallResult(each, self._result_of(call)))
        self.in_text = [CallResult(MessageCall(call.id, call.name), self._result_of(call)) for call in rest]

    def _find(self, wanted: MessageCall, rest: Sequence[AnswerCall]) -> AnswerCall | None:
        """Return the call of the answer that is meant by one of the message."""
        if wanted.id:
            for call in rest:
                if wanted.id in (call.id, self._call_id(call.id)):
                    return call
            for call in rest:
                if call.id.startswith(f"{wanted.id}#"):  # the id came again
                    return call
        # Without an id, or with one that came too late for the answer, it is the first of its name.
        named = (call for call in rest if wanted.name in (call.name, ""))
        return next((call for call in named if self._ids.isdisjoint((call.id, self._call_id(call.id)))), None)

    def _check(self, calls: Sequence[AnswerCall]) -> None:
        known = {call.id for call in calls}
        unknown = [each for each in self._results if each not in known]
        if unknown:
            names = ", ".join(map(repr, sorted(known))) or "none"
            message = f"a result for {unknown[0]!r}, which is not a call of this answer; its calls are {names}"
            raise UsageError(message)
        for call_id in _unanswered(calls, self._results):
            message = (
                f"no result for the call {call_id!r}; pass ToolResult({call_id!r}, value=...), or error= or "
                "denied= if it was not run"
            )
            raise UsageError(message)

    def _result_of(self, call: AnswerCall) -> ToolResult:
        return _found(call, self._results) or ToolResult(call.id, error=_why(call.failure))


def _found(call: AnswerCall, results: Mapping[str, ToolResult]) -> ToolResult | None:
    return results.get(call.id) or results.get(call.duplicate_of or "")


def _unanswered(calls: Iterable[AnswerCall], results: Mapping[str, ToolResult]) -> list[str]:
    """Return the ids of the calls to be run that have no result."""
    to_run = (each for each in calls if each.is_whole and each.failure is None)
    return [each.id for each in to_run if _found(each, results) is None]


def _why(failure: InvocationFailed | None) -> str:
    """Return why a call was not run, for the model."""
    if failure is None:
        return "the call was not run: it was cut"
    details = "; ".join(_detail(error) for error in failure.errors)
    return f"the call was not run: {failure.reason}" + (f" ({details})" if details else "")


def _detail(error: Mapping[str, Any]) -> str:
    place: Any = error.get("loc")
    where = ".".join(map(str, cast("list[object]", place))) if isinstance(place, list | tuple) else ""
    said = str(error.get("msg") or ", ".join(f"{key} {value}" for key, value in error.items()))
    return f"{where}: {said}" if where else said


def in_text(results: Sequence[CallResult]) -> str:
    """Return the results of calls that were written as text, as a text of the user.

    >>> print(in_text([CallResult(MessageCall("c", "now"), ToolResult("c", value="12:00"))]))
    <tool_response>
    {"name": "now", "content": "12:00"}
    </tool_response>
    """
    said = ({"name": call.name, "content": result_text(result)} for call, result in results)
    return "\n".join(f"<tool_response>\n{json.dumps(each, ensure_ascii=False)}\n</tool_response>" for each in said)


_LOST = frozenset(("tool_result", "citation", "grounding", "file", "compaction"))
"""Kinds of provider events that are part of what the model said."""


class Answer:
    """One answer: what it says, how it ended, and the messages that carry it into the next turn.

    >>> from penstock import ChunkResponse, drive, to_segments
    >>> answer = Answer(drive([ChunkResponse(content="Hi", finish_reason="stop")], to_segments()))
    >>> answer.status, answer.text, answer.message("openai-chat")
    ('complete', 'Hi', {'role': 'assistant', 'content': 'Hi'})

    It is made from events, or from what `collect` returns; `Run.answer` has the one of a pipeline's stream. Of several
    turns it is the last. Of several choices it is the first; `choices` has all.
    """

    def __init__(self, events: Iterable[Any] | Collected[Any], choice: int | None = None) -> None:
        self._collected: Collected[Any] = events if isinstance(events, Collected) else collect(events)
        ends, segments = self._collected.ends, self._collected.segments
        last = ends[-1].turn_id if ends else None
        if segments and segments[-1].turn_id not in {each.turn_id for each in ends}:
            last = segments[-1].turn_id  # a turn that was left
        self.turn_id: str | None = last
        numbers = self._numbers()
        self.choice = choice = numbers[0] if choice is None else choice
        if choice not in numbers:
            message = f"this response has no choice {choice}; it has {', '.join(map(str, numbers))}"
            raise UsageError(message)
        found = (each for each in ends if (each.turn_id, each.choice) == (last, choice))
        self.end: AnswerEnd = next(found, AnswerEnd(last, choice, "interrupted"))
        """How it ended; `interrupted` if the stream was left before that."""
        self._parts = parts_of(self._collected, last, choice)
        self._calls = [each.call for each in self._parts if each.call is not None and not each.call.is_providers]
        self._ids = {each.id for each in self._calls}

    @property
    def choices(self) -> list[Answer]:
        """All answers of the response, one for each choice."""
        return [Answer(self._collected, number) for number in self._numbers()]

    @property
    def status(self) -> AnswerStatus:
        """Whether the model finished; `paused` means: send `to_messages(...)`, and it goes on."""
        return self.end.status

    @property
    def expects_reply(self) -> bool:
        """Whether the model goes on once `to_messages(...)` is sent: it paused, or called tools of the client."""
        return self.status == "paused" or (self.status in ("complete", "truncated") and bool(self._calls))

    @property
    def usage(self) -> TokenUsage | None:
        """The tokens of the whole response, which all choices share."""
        return self.end.usage

    @property
    def text(self) -> str:
        """The texts of the answer, joined."""
        return self._joined("text")

    @property
    def reasoning(self) -> str:
        """What the model thought, as far as the provider sends it."""
        return self._joined("reasoning")

    @property
    def segments(self) -> list[Segment]:
        """The segments in the order in which they began."""
        return [each for each in self._of_turn() if each.metadata.get("choice", 0) == self.choice]

    @property
    def invocations(self) -> list[ToolInvocation]:
        """The calls to be run."""
        return [each for each in self._collected.invocations if self._has(each.id, each.turn_id)]

    @property
    def failures(self) -> list[InvocationFailed]:
        """The calls that must not be run."""
        return [each for each in self._collected.failures if self._has(each.id, each.turn_id)]

    @property
    def unanswered(self) -> list[str]:
        """The ids of the calls to be run that have no result among the events, such as one that waits for approval."""
        return _unanswered(self._calls, self._results(()))

    @property
    def provider_events(self) -> list[ProviderEvent]:
        """What only this provider sends."""
        of_turn = (each for each in self._collected.provider_events if each.turn_id == self.turn_id)
        return [each for each in of_turn if each.choice == self.choice]

    def message(self, api: str) -> Any:
        """Return the assistant's message as a provider's request takes it.

        `api`: as in `tool_schemas`, or a relative of OpenAI's chat, such as "openrouter". It is a list of items for
        "openai-responses", else a dict. If the answer came from that API and its source kept the message, as pipelines
        do, it has everything that may go back: signatures of reasoning, what the provider's own tools returned.
        Otherwise it is made of the texts and the calls; `notices` says what it lacks.
        """
        form = form_of(api)
        message = self._message(form, [])
        self._give_own_ids(form, form.calls(message))
        return message

    def notices(self, api: str) -> list[Notice]:
        """Return what `message(api)` cannot carry over, as warnings."""
        notices: Notices = []
        form = form_of(api)
        if not form.entries(self._message(form, notices)) and self._parts:
            left_out(notices, "anything to send, so it is not sent", form.name)
        return notices

    def to_messages(
        self, api: str, results: Iterable[ToolResult] = (), *, only_results: bool = False
    ) -> list[dict[str, Any]]:
        """Return what the next request has after the messages of this one: the assistant's message and the results.

            messages += answer.to_messages("anthropic", results)

        - `results`: one for each call of `invocations`, in any order; those that are among the events need not be
          passed again. A call that failed gets an error result that says why, unless one is passed for it.
        - `only_results`: without the assistant's message, for a server that keeps it: with the Responses API, send
          `previous_response_id=answer.end.response_id`.

        The results are in the order of the calls. Calls that the model wrote as text are answered in a message of the
        user. `UsageError` for a call without a result, for a result without a call, and for a value that cannot be
        written as JSON.
        """
        form = form_of(api)
        message = self._message(form, [])
        calls = CallsOfMessage(form.calls(message), self._calls, self._results(results), form.call_id)
        answered = calls.answered
        if not only_results:  # a server that keeps the message knows its own ids
            own = self._give_own_ids(form, [call for call, _ in answered])
            answered = [CallResult(call, result) for call, (_, result) in zip(own, answered, strict=True)]
        return [
            *([] if only_results else form.entries(message)),
            *(form.results(answered) if answered else ()),
            *([form.user(in_text(calls.in_text))] if calls.in_text else ()),
        ]

    def _message(self, form: MessageForm, notices: Notices) -> Any:
        """Return a message that shares nothing with the events, so that users may change it."""
        if self._is_kept(form):
            return deepcopy(form.sendable(self.end.message, notices))
        for kind in dict.fromkeys(each.kind for each in self.provider_events):
            if kind in _LOST:
                left_out(notices, f"the provider's own events of the kind {kind}", form.name)
        return deepcopy(form.plain(self._parts, notices))

    def _is_kept(self, form: MessageForm) -> bool:
        return self.end.message is not None and self.end.api == form.api

    def _give_own_ids(self, form: MessageForm, calls: Sequence[MessageCall]) -> list[MessageCall]:
        return with_own_ids(calls, str if self._is_kept(form) and form.keeps_own_ids else form.call_id)

    def _results(self, given: Iterable[ToolResult]) -> dict[str, ToolResult]:
        found: dict[str, ToolResult] = {}
        several = cast("object", given)
        if isinstance(several, ToolResult) or not isinstance(several, Iterable):
            message = f"results must be an iterable of ToolResults; put it in a list; got {given!r:.80}"
            raise UsageError(message)
        for each in given:
            if not isinstance(cast("object", each), ToolResult):
                message = f"results must be ToolResults, such as ToolResult(invocation.id, value=...); got {each!r:.80}"
                raise UsageError(message)
            if each.turn_id not in (None, self.turn_id):
                message = f"the result for {each.id!r} is of the turn {each.turn_id!r}, the answer of {self.turn_id!r}"
                raise UsageError(message)
            if each.id in found:
                message = f"two results for the call {each.id!r}; pass one"
                raise UsageError(message)
            found[each.id] = each
        of_stream = (each for each in self._collected.results if self._has(each.id, each.turn_id or self.turn_id))
        return {each.id: each for each in of_stream} | found

    def _has(self, segment_id: str, turn_id: str | None) -> bool:
        return turn_id == self.turn_id and segment_id in self._ids

    def _of_turn(self) -> Iterator[Segment]:
        return (each for each in self._collected.segments if each.turn_id == self.turn_id)

    def _numbers(self) -> list[int]:
        ended = {each.choice for each in self._collected.ends if each.turn_id == self.turn_id}
        return sorted(ended | {each.metadata.get("choice", 0) for each in self._of_turn()}) or [0]

    def _joined(self, kind: str) -> str:
        return "".join(part.text for part in self._parts if part.type == kind)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002 - IPython passes both, and filters by itself
        from ..sinks.event_cards import answer_bundle  # noqa: PLC0415 - for notebooks only

        return answer_bundle(self.segments, (*self.invocations, *self.failures), self.end)

    def __repr__(self) -> str:
        return f"<Answer {self.status}: {len(self.text)} characters, {len(self.invocations)} calls to run>"
