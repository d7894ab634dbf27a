"""The results of a chain: calls that may be run, calls that must not, and warnings."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from .fragment import Fragment
from .showing.shown_by import shown_by

FailureReason: TypeAlias = Literal[
    "truncated",
    "interrupted",
    "malformed",
    "invalid",
    "unknown_tool",
    "limit",
    "duplicate_key",
    "missing_path",
    "provider_error",
    "contradiction",
]


class ToolInvocation(Struct, frozen=True, gc=False, tag="TOOL_INVOCATION", tag_field="type"):
    """A sealed and valid call, which may be run."""

    id: Annotated[str, Meta(description="The call's id, which is also its segment's id.")]
    turn_id: Annotated[str | None, Meta(description="The turn that the call belongs to.")] = None
    name: Annotated[str, Meta(description="The tool's name.")] = ""
    arguments: Annotated[
        dict[str, Any],
        Meta(description="The arguments; of a free-form tool: {'input': text}."),
    ] = {}  # msgspec gives each instance its own
    model: Annotated[Any, Meta(description="The validated pydantic instance, if the tool has a model.")] = None
    raw: Annotated[str, Meta(description="The call's source text, unchanged.")] = ""
    repaired: Annotated[bool, Meta(description="True if the arguments were repaired.")] = False
    native: Annotated[
        dict[str, Any] | None,
        Meta(description="The minimal plain dict needed to replay the call to its provider."),
    ] = None
    claimed_by: Annotated[
        str | None,
        Meta(description="The step that answers the call, so that no other does; in JSON absent without one."),
    ] = None

    _repr_mimebundle_ = shown_by("penstock.events.event_card", "event_bundle")


class InvocationFailed(Struct, frozen=True, gc=False, tag="INVOCATION_FAILED", tag_field="type"):
    """A call that must not be run, with the reason and all of its text."""

    id: Annotated[str, Meta(description="The call's id, which is also its segment's id.")]
    turn_id: Annotated[str | None, Meta(description="The turn that the call belongs to.")] = None
    name: Annotated[str, Meta(description="The tool's name.")] = ""
    raw: Annotated[str, Meta(description="The call's source text, as far as it arrived.")] = ""
    reason: Annotated[FailureReason, Meta(description="Why it must not be run.")] = "malformed"
    errors: Annotated[
        tuple[dict[str, Any], ...],
        Meta(description="Details: of JSON errors at, expected, found; of validation loc, msg, type."),
    ] = ()

    _repr_mimebundle_ = shown_by("penstock.events.event_card", "event_bundle")


class ToolCallArgumentProgress(Struct, frozen=True, gc=False, tag="TOOL_CALL_ARGUMENT_PROGRESS", tag_field="type"):
    """One fragment of a call's arguments, with the call's name. Not meant to be stored."""

    tool_call_id: Annotated[str, Meta(description="The call's id.")]
    tool_name: Annotated[str, Meta(description="The tool's name.")]
    fragment: Annotated[Fragment, Meta(description="The piece.")]


class ToolCallUpdate(
    Struct,
    frozen=True,
    gc=False,
    rename="camel",
    omit_defaults=True,
    tag="assistant_streaming_tool_call",
    tag_field="type",
):
    """A raw delta of a call's arguments, or its completion; in JSON the event `assistant_streaming_tool_call`."""

    tool_call_id: Annotated[str, Meta(description="The call's id.")]
    tool_name: Annotated[str, Meta(description="The tool's name.")]
    arguments: Annotated[str, Meta(description="The raw delta, never repaired; empty at completion.")]
    is_complete: Annotated[bool, Meta(description="Whether the call has ended.")]
    message_id: Annotated[
        str | None, Meta(description="Links the update to its message; the turn's id unless given.")
    ] = None
    status: Annotated[str | None, Meta(description="How the call ended, at completion.")] = None


class Notice(Struct, frozen=True, gc=False, tag="NOTICE", tag_field="type"):
    """A warning as a value in the stream; nothing was lost and nothing stopped."""

    code: Annotated[str, Meta(description="The code, for programs.")]
    detail: Annotated[str, Meta(description="The message, for people.")]

    _repr_mimebundle_ = shown_by("penstock.events.event_card", "event_bundle")
