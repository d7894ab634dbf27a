"""`ToolCallStatus`: what a step does with a call, from the question whether it may run to its end."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from .showing.shown_by import shown_by

ToolCallState: TypeAlias = Literal["requested", "approved", "denied", "started", "finished", "failed"]


class ToolCallStatus(Struct, frozen=True, gc=False, repr_omit_defaults=True, tag="TOOL_CALL_STATUS", tag_field="type"):
    """One moment in the life of a call that a step acts on.

        ToolInvocation  requested  approved  started  finished  ToolResult(value=...)
        ToolInvocation  requested  denied                       ToolResult(denied=...)
        ToolInvocation                       started  failed    ToolResult(error=...)

    >>> ToolCallStatus("call_1", name="deploy", state="denied", reason="not on Fridays")
    ToolCallStatus(id='call_1', name='deploy', state='denied', reason='not on Fridays')
    """

    id: Annotated[str, Meta(description="The call's id, which is also its segment's id.")]
    turn_id: Annotated[str | None, Meta(description="The turn that the call belongs to.")] = None
    name: Annotated[str, Meta(description="The tool's name.")] = ""
    state: Annotated[
        ToolCallState,
        Meta(
            description="requested: somebody is asked whether the call may run. approved, denied: the answer. "
            "started: it runs. finished, failed: it ran, or could not."
        ),
    ] = "started"
    sha256: Annotated[
        str | None,
        Meta(description="SHA-256 of the call's raw text as UTF-8, hexadecimal: the same text in every state."),
    ] = None
    reason: Annotated[str | None, Meta(description="Why it was denied or failed.")] = None

    _repr_mimebundle_ = shown_by("penstock.events.event_card", "event_bundle")
