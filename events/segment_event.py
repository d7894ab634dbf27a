"""Segments: what a screen shows, from its start to its end."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NoReturn, TypeAlias, final

from msgspec import Meta, Struct

from .errors import UsageError
from .fragment import Fragment
from .showing.shown_by import shown_by

SegmentEventType: TypeAlias = Literal["SEGMENT_START", "SEGMENT_CONTENT", "SEGMENT_END"]
Status: TypeAlias = Literal["complete", "truncated", "interrupted", "failed"]


class _OfSegment(Struct, frozen=True, gc=False):
    segment_id: Annotated[str, Meta(description="The segment's id; of a call: the id of its invocation.")]
    segment_type: Annotated[
        str | None,
        Meta(
            description="text, reasoning, refusal, media, tool_call, write_file, edit_file, patch_file, run_bash, "
            "or what users add. Events read from foreign JSON may have it at START only.",
        ),
    ]


class SegmentEvent(_OfSegment, frozen=True, gc=False, kw_only=True):
    """One event in the life of a segment: its START, any number of CONTENT, its END, all with one `segment_id`.

        SegmentStart    metadata={"path": "a.py"}
        SegmentContent  delta="print("
        SegmentContent  delta="1)"
        SegmentEnd      status="complete", metadata={"tool_name": "write_file", "path": "a.py"}

    This is their base: `case SegmentEvent()` matches them all, and only they have instances. `raw` and `fragments`
    exist in process only; the JSON form (`to_json`) leaves them out.
    """

    type: ClassVar[SegmentEventType]
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

    def __post_init__(self) -> NoReturn:
        message = "SegmentEvent is an abstract base; make a SegmentStart, SegmentContent or SegmentEnd"
        raise UsageError(message)


# The class keeps the hook that it was made with; those below would inherit it, and pay for a call each time.
del SegmentEvent.__post_init__


@final
class SegmentStart(SegmentEvent, frozen=True, gc=False, repr_omit_defaults=True, tag="SEGMENT_START", tag_field="type"):
    """A segment begins."""

    type: ClassVar[SegmentEventType] = "SEGMENT_START"
    metadata: Annotated[
        dict[str, Any],
        Meta(description="What is known of the segment: of a call tool_name, of a file its path."),
    ] = {}  # msgspec gives each instance its own


@final
class SegmentContent(
    SegmentEvent, frozen=True, gc=False, repr_omit_defaults=True, tag="SEGMENT_CONTENT", tag_field="type"
):
    """A piece of a segment's content."""

    type: ClassVar[SegmentEventType] = "SEGMENT_CONTENT"
    delta: Annotated[str, Meta(description="The text that is new.")]


@final
class SegmentEnd(SegmentEvent, frozen=True, gc=False, repr_omit_defaults=True, tag="SEGMENT_END", tag_field="type"):
    """A segment ends, in one of four ways."""

    type: ClassVar[SegmentEventType] = "SEGMENT_END"
    status: Annotated[
        Status | None,
        Meta(description="How it ended; without one, as events read from foreign JSON may be, it counts as complete."),
    ]
    reason: Annotated[str | None, Meta(description="Why, where it is not complete.")] = None
    metadata: Annotated[
        dict[str, Any],
        Meta(description="As of the START, and what has become known since: arguments, error, native."),
    ] = {}  # msgspec gives each instance its own


AnySegmentEvent: TypeAlias = SegmentStart | SegmentContent | SegmentEnd
