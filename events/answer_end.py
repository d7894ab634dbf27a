"""`AnswerEnd`: how one answer ended, and what is known of it as a whole."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from .chunk_response import FinishReason, TokenUsage
from .showing.shown_by import shown_by

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

    _repr_mimebundle_ = shown_by("penstock.events.event_card", "event_bundle")
