"""Segments: what a screen shows, from its start to its end, with the pieces of a JSON value as they arrive."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NoReturn, TypeAlias, final

from msgspec import Meta, Struct

from .errors import UsageError
from .showing import shown_by

Path: TypeAlias = tuple[str | int, ...]
FragmentKind: TypeAlias = Literal["OPEN", "TEXT", "SCALAR", "DONE"]


class Fragment(Struct, frozen=True, gc=False, tag="FRAGMENT", tag_field="type"):
    """One piece of a JSON value that is still being written.

    Every value is `OPEN` (containers and strings), then `TEXT` pieces or one `SCALAR` or the fragments of its
    entries, then `DONE`:

        {"a": "hi"}   OPEN ()   OPEN a   TEXT a "hi"   DONE a   DONE ()

    `nested()` returns the recursive form. It has no `OPEN`, so an empty object, an empty array and an empty string look
    alike in it.
    """

    path: Annotated[Path, Meta(description="Keys and indexes from the root to the value; () is the root itself.")]
    kind: Annotated[FragmentKind, Meta(description="OPEN, TEXT, SCALAR or DONE.")]
    value: Annotated[
        Any,
        Meta(
            description="OPEN: the opening character, one of { [ and the double quote. TEXT: decoded text. "
            "SCALAR: a number, a boolean or null. DONE: null.",
        ),
    ] = None
    at: Annotated[
        int,
        Meta(description="Offset in the raw text, in characters, of the first character of this piece."),
    ] = 0

    def nested(self) -> dict[str, Any] | str | None:
        """Return the recursive form (object_entry, array_item, string, scalar, done); None for `OPEN`, which has none.

        >>> Fragment(("a", 0), "TEXT", "hi").nested()
        {'object_entry': {'key': 'a', 'value': {'array_item': {'index': 0, 'value': {'string': 'hi'}}}}}
        """
        if self.kind == "OPEN":
            return None
        value: dict[str, Any] | str
        if self.kind == "DONE":
            value = "done"
        else:
            value = {"string" if self.kind == "TEXT" else "scalar": self.value}
        for step in reversed(self.path):
            if isinstance(step, str):
                value = {"object_entry": {"key": step, "value": value}}
            else:
                value = {"array_item": {"index": step, "value": value}}
        return value


JsonErrorReason: TypeAlias = Literal["malformed", "truncated", "limit", "duplicate_key", "unknown_tool"]


class JsonError(Struct, frozen=True, gc=False, tag="JSON_ERROR", tag_field="type"):
    """Where a JSON text is malformed, as a value in the stream; it is the last value of that text."""

    reason: Annotated[
        JsonErrorReason,
        Meta(description="malformed, truncated (it stopped), limit, duplicate_key (on a streamed path), unknown_tool."),
    ]
    at: Annotated[int, Meta(description="Offset in the text, in characters, of the first character that is wrong.")]
    expected: Annotated[str, Meta(description="What would have been right there, in words.")]
    found: Annotated[str, Meta(description="The character found; empty at the end of the text.")] = ""
    path: Annotated[Path, Meta(description="The value in which it happened.")] = ()

    def __str__(self) -> str:
        found = f"found {self.found!r}" if self.found else "the text ended"
        return f"{self.reason} at {self.at}: expected {self.expected}, {found}"


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

    _repr_mimebundle_ = shown_by("penstock.sinks.event_cards", "event_bundle")

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
