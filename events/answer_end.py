"""`AnswerEnd`: how one answer ended, what is known of it as a whole, and the result if it is a structured answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from .chunk_response import FinishReason, TokenUsage
from .showing import shown_by

OutputFailure: TypeAlias = Literal[
    "truncated", "interrupted", "malformed", "invalid", "limit", "provider_error", "refusal"
]


class Output(Struct, frozen=True, gc=False, tag="OUTPUT", tag_field="type"):
    """The whole and valid value of a structured answer."""

    segment_id: Annotated[str, Meta(description="The text segment that has the value's text.")]
    turn_id: Annotated[str | None, Meta(description="The turn that the segment belongs to.")] = None
    value: Annotated[
        Any,
        Meta(description="The value: in process the validated instance, in JSON, and read from it, plain data."),
    ] = None
    data: Annotated[Any, Meta(description="The value as plain JSON data; the `value` of the JSON form.")] = None
    raw: Annotated[str, Meta(description="The segment's text, unchanged.")] = ""

    _repr_mimebundle_ = shown_by("penstock.sinks.event_cards", "event_bundle")


class OutputFailed(Struct, frozen=True, gc=False, tag="OUTPUT_FAILED", tag_field="type"):
    """A structured answer without a valid value, with the reason and all of its text."""

    segment_id: Annotated[str, Meta(description="The segment that has the text.")]
    turn_id: Annotated[str | None, Meta(description="The turn that the segment belongs to.")] = None
    raw: Annotated[str, Meta(description="The segment's text, as far as it arrived.")] = ""
    reason: Annotated[OutputFailure, Meta(description="Why there is no value.")] = "malformed"
    errors: Annotated[
        tuple[dict[str, Any], ...],
        Meta(description="Details: of JSON errors at, expected, found; of validation loc, msg, type."),
    ] = ()

    _repr_mimebundle_ = shown_by("penstock.sinks.event_cards", "event_bundle")


AnswerStatus: TypeAlias = Literal["complete", "paused", "truncated", "interrupted", "failed"]


class AnswerEnd(Struct, frozen=True, gc=False, repr_omit_defaults=True, tag="ANSWER_END", tag_field="type"):
    """The end of one answer: the last event of its choice, unless a step adds its own.

        SegmentStart SegmentContent SegmentEnd ToolInvocation AnswerEnd(status="complete", usage=...)

    There is one for each choice, also when the stream was cut or failed; none after `dispose()`.
    """

    turn_id: Annotated[str | None, Meta(description="The turn that the answer belongs to.")] = None
    choice: Annotated[int, Meta(description="Which of n answers this is.")] = 0
    status: Annotated[
        AnswerStatus,
        Meta(
            description="complete: the model finished. paused: send the answer back, and the model goes on. truncated: "
            "cut by a limit, or the stream ended too early. interrupted: cancelled, or the transport was lost. failed: "
            "an error of the provider."
        ),
    ] = "complete"
    finish_reason: Annotated[FinishReason | None, Meta(description="Why it ended, in our words.")] = None
    finish_reason_raw: Annotated[str | None, Meta(description="Why it ended, in the provider's words.")] = None
    usage: Annotated[
        TokenUsage | None, Meta(description="The tokens of the whole response; each choice has the same.")
    ] = None
    model: Annotated[str | None, Meta(description="The model that wrote the end, as the wire names it.")] = None
    response_id: Annotated[str | None, Meta(description="The response's last id on the wire.")] = None
    error: Annotated[
        dict[str, Any] | None, Meta(description="What went wrong: detail, and code, type, status where known.")
    ] = None
    api: Annotated[str | None, Meta(description="The API whose form `message` has.")] = None
    message: Annotated[
        Any,
        Meta(description="The assistant's message in the form of its API, if the source was asked to keep it."),
    ] = None

    _repr_mimebundle_ = shown_by("penstock.sinks.event_cards", "event_bundle")
