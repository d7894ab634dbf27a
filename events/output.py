"""`Output` and `OutputFailed`: the result of a structured answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from .showing.shown_by import shown_by

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

    _repr_mimebundle_ = shown_by("penstock.events.event_card", "event_bundle")


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

    _repr_mimebundle_ = shown_by("penstock.events.event_card", "event_bundle")
