"""`ToolResult`: what a tool answered, for the next turn."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from .errors import UsageError
from .showing.shown_by import shown_by


class _OfCall(Struct, frozen=True, gc=False):
    id: Annotated[str, Meta(description="The call's id, as its ToolInvocation or InvocationFailed has it.")]


class ToolResult(
    _OfCall, frozen=True, gc=False, kw_only=True, repr_omit_defaults=True, tag="TOOL_RESULT", tag_field="type"
):
    """The result of one call: a value, an error, or the reason why it was not run.

    >>> ToolResult("call_1", value={"celsius": 21}).is_error, ToolResult("call_2", denied="not on Sundays").is_error
    (False, True)

    Raises `UsageError` if more than one of `value`, `error` and `denied` is given. Without any, the value is None.
    """

    turn_id: Annotated[str | None, Meta(description="The turn that the call belongs to.")] = None
    value: Annotated[Any, Meta(description="What the tool returned: text, or anything that JSON can represent.")] = None
    error: Annotated[str | None, Meta(description="What went wrong, in words for the model.")] = None
    denied: Annotated[str | None, Meta(description="Why the call was not run, in words for the model.")] = None

    _repr_mimebundle_ = shown_by("penstock.events.event_card", "event_bundle")

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.value, self.error, self.denied)) > 1:
            message = f"a ToolResult has one of value=, error= and denied=; {self.id!r} has several"
            raise UsageError(message)

    @property
    def is_error(self) -> bool:
        """Whether the call did not succeed."""
        return self.error is not None or self.denied is not None
