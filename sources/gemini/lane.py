"""The lane of Gemini's text and calls: from a response's JSON text to its ChunkResponses."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.json import Decoder

from ...events.chunk_response import ChunkResponse, TokenUsage, ToolCallDelta
from ..base.answers import Choice, MultiChoiceMachine
from ..base.call_tracker import CallTracker
from ..base.endings import GEMINI_FINISHES, finish_of
from ..base.machine import UNFIT
from ..base.response import MOST
from ..base.sdk_fields import Fields
from .partial_args import PartialArgs
from .wire import camel_case, gemini_fields, total_usage, word

_Count: TypeAlias = Annotated[int, Meta(ge=0, lt=MOST)]


class _Part(Struct, forbid_unknown_fields=True, gc=False, rename="camel"):
    text: str | UnsetType | None = UNSET
    thought: bool | UnsetType | None = UNSET
    thought_signature: str | UnsetType | None = UNSET
    function_call: dict[str, Any] | UnsetType = UNSET
    executable_code: dict[str, Any] | UnsetType = UNSET
    code_execution_result: dict[str, Any] | UnsetType = UNSET


class _Content(Struct, forbid_unknown_fields=True, gc=False):
    parts: list[_Part] = []
    role: str | None = None


class _Given(Struct, forbid_unknown_fields=True, gc=False, rename="camel"):
    content: _Content
    index: int | None = None
    finish_reason: str | int | None = None
    finish_message: str | None = None


class _Usage(Struct, forbid_unknown_fields=True, gc=False, rename="camel"):
    prompt_token_count: _Count = 0
    tool_use_prompt_token_count: _Count = 0
    candidates_token_count: _Count = 0
    thoughts_token_count: _Count = 0
    total_token_count: _Count = 0
    cached_content_token_count: _Count = 0
    prompt_tokens_details: Any = None
    tool_use_prompt_tokens_details: Any = None
    candidates_tokens_details: Any = None
    cache_tokens_details: Any = None
    traffic_type: Any = None
    service_tier: Any = None


class _Response(Struct, forbid_unknown_fields=True, gc=False, rename="camel"):
    candidates: list[_Given]
    usage_metadata: _Usage | None = None
    model_version: str | None = None
    response_id: str | None = None
    create_time: str | None = None


_decode = Decoder(_Response).decode


class Candidate(Choice):
    """One candidate: the answer, and the calls whose further parts come without a name."""

    STATE = (*Choice.STATE, "begun", "called", "ids", "open", "partials", "run_id")

    def __init__(self, number: int, calls: CallTracker) -> None:
        super().__init__(number, calls)
        self.begun = 0
        self.open: int | None = None
        """The call that parts without an id belong to."""
        self.partials: dict[int, PartialArgs] = {}
        """The open calls."""
        self.ids: dict[str, int] = {}
        """Those of them that have an id."""
        self.is_failing = False
        """Whether the current response says that the model failed, so that its calls are not done."""
        self.called = False
        """Whether the candidate has had a call that the client has to run."""
        self.run_id: str | None = None
        """The id of the last call that the provider ran, for a result without one."""

    def new_part(self, _name: str, _state: Any, /) -> PartialArgs:
        return PartialArgs()


class GeminiLane(MultiChoiceMachine[Candidate]):
    """The machine of Gemini's responses without `feed`; `lane` returns what `feed` would, or None.

    What fits is one candidate with texts, calls, code that Google runs, a finish and usage.
    """

    def lane(self, data: str, /) -> list[ChunkResponse] | None:  # noqa: PLR0911 - one line for each way
        """Return the chunks of a response, from its JSON text; None, and no change, for one that does not fit."""
        if self.stopped:
            return None
        try:
            response = _decode(data)
        except UNFIT:
            return None
        if len(response.candidates) != 1:
            return None
        (given,) = response.candidates
        candidate = self._choices.get(given.index or 0) or self._choice(given.index)
        if candidate is None or candidate.held or self._reader.waiting:
            return None
        parts = given.content.parts
        if len(parts) == 1 and given.finish_reason is None and not candidate.calls.ended.is_waiting:
            (part,) = parts
            is_code = part.executable_code is not UNSET or part.code_execution_result is not UNSET
            if not (is_code or part.thought_signature):
                if part.function_call is not UNSET:
                    if delta := _next_piece(candidate, part.function_call):
                        return self._chunk(response, candidate, calls=(delta,))
                elif text := part.text:
                    if part.thought:
                        return self._chunk(response, candidate, reasoning=text)
                    return self._chunk(response, candidate, text)
        if any(part.code_execution_result and len(_fields(part)) > 1 for part in parts):
            return None  # the result is passed on as the wire has it
        for part in parts:
            call = part.function_call
            if call is not UNSET and self.KEYS.strangers("function_call", gemini_fields(call) or {}, gemini_fields):
                return None
        return self._put_together(response, given, candidate)

    def _chunk(
        self,
        response: _Response,
        candidate: Candidate,
        content: str = "",
        reasoning: str = "",
        calls: tuple[ToolCallDelta, ...] = (),
    ) -> list[ChunkResponse]:
        if self.response_id is None or response.model_version != self.model:
            self.identify(response.response_id, response.model_version)
        usage = self.new_usage(_usage(response.usage_metadata))
        candidate.spoke = True
        return [
            ChunkResponse(
                content,
                reasoning,
                calls,
                usage,
                response_id=self.response_id,
                model=self.model,
                choice=candidate.number,
            )
        ]

    def _put_together(self, response: _Response, given: _Given, candidate: Candidate) -> list[ChunkResponse]:
        """Return the chunks of one with several parts, with whole calls, or with an end."""
        self.identify(response.response_id, response.model_version)
        candidate.is_failing = fails(word(given.finish_reason))
        for part in given.content.parts:
            if fields := _fields(part):
                self._part(candidate, fields, {camel_case(name): value for name, value in fields.items()})
        candidate.call(*candidate.calls.pending_deltas())
        if reason := word(given.finish_reason):
            self._finish(candidate, reason, given.finish_message or None)
        responses = self._chunks(candidate)
        self._add_usage(responses, _usage(response.usage_metadata))
        return responses

    @abstractmethod
    def _part(self, candidate: Candidate, part: Fields, given: Any) -> None: ...
    @abstractmethod
    def _finish(self, candidate: Candidate, reason: str, message: str | None) -> None: ...


def fails(reason: str | None) -> bool:
    """Return whether a finish says that the model failed, as with MALFORMED_FUNCTION_CALL."""
    return reason is not None and finish_of(GEMINI_FINISHES, reason).reason == "error"


def _fields(part: _Part) -> Fields:
    """Return the fields of a part that the wire has."""
    return {name: value for name in part.__struct_fields__ if (value := getattr(part, name)) is not UNSET}


def _next_piece(candidate: Candidate, call: dict[str, Any]) -> ToolCallDelta | None:
    """Return the delta for the next piece of an open string of the open call; None, and no change, for all else."""
    if len(call) != 2 or call.get("willContinue") is not True or candidate.open is None:
        return None
    leaves: Any = call.get("partialArgs")
    leaf: Any = leaves[0] if leaves.__class__ is list and len(leaves) == 1 else None
    if leaf.__class__ is not dict or len(leaf) != 3:
        return None
    path, text = leaf.get("jsonPath"), leaf.get("stringValue")
    if not (isinstance(path, str) and isinstance(text, str) and leaf.get("willContinue") is True):
        return None
    return candidate.calls.more(candidate.open, candidate.partials[candidate.open].more(path, text))


def _usage(given: _Usage | None) -> TokenUsage | None:
    if given is None:
        return None
    return total_usage(
        given.prompt_token_count + given.tool_use_prompt_token_count,
        given.candidates_token_count,
        given.thoughts_token_count,
        given.total_token_count,
        given.cached_content_token_count,
    )
