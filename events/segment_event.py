"""Segments: what a screen shows, from its start to its end."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from .fragment import Fragment
from .showing.shown_by import shown_by

SegmentEventType: TypeAlias = Literal["SEGMENT_START", "SEGMENT_CONTENT", "SEGMENT_END"]
Status: TypeAlias = Literal["complete", "truncated", "interrupted", "failed"]


class SegmentEvent(Struct, frozen=True, gc=False):
    """One event in the life of a segment: its START, any number of CONTENT, its END, all with one `segment_id`.

        SEGMENT_START    payload {"metadata": {"path": "a.py"}}
        SEGMENT_CONTENT  payload {"delta": "print("}
        SEGMENT_CONTENT  payload {"delta": "1)"}
        SEGMENT_END      payload {"status": "complete", "metadata": {"tool_name": "write_file", "path": "a.py"}}

    Empty keys of `payload` are absent. `raw` and `fragments` exist in process only;
    the JSON form (`to_json`) leaves them out.
    """

    type: Annotated[SegmentEventType, Meta(description="SEGMENT_START, SEGMENT_CONTENT or SEGMENT_END.")]
    segment_id: Annotated[str, Meta(description="The segment's id; of a call: the id of its invocation.")]
    segment_type: Annotated[
        str | None,
        Meta(
            description="text, reasoning, refusal, media, tool_call, write_file, edit_file, patch_file, run_bash, "
            "or what users add. Events read from foreign JSON may have it at START only.",
        ),
    ] = None
    payload: Annotated[
        dict[str, Any],
        Meta(
            description="START: metadata. CONTENT: delta. END: status (complete, truncated, interrupted, failed), "
            "reason, metadata.",
        ),
    ] = {}  # msgspec gives each instance its own
    turn_id: Annotated[str | None, Meta(description="The turn that the segment belongs to.")] = None
    raw: Annotated[
        str,
        Meta(description="The exact slice of source text that belongs to this event, markup included."),
    ] = ""
    fragments: Annotated[
        tuple[Fragment, ...] | None,
        Meta(description="The argument pieces in `raw`; null if they are not parsed yet."),
    ] = None

    _repr_mimebundle_ = shown_by("penstock.events.event_card", "event_bundle")
