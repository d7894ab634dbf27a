"""`Collected`: the events of a whole stream, and the segments and results that they make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic

from msgspec import Struct, field
from typing_extensions import TypeVar

from ...events.answer_end import AnswerEnd, Output, OutputFailed
from ...events.chunk_response import ProviderEvent, TokenUsage
from ...events.showing.shown_by import shown_by
from ...events.tool_invocation import InvocationFailed, ToolInvocation, ToolResult
from .collected_frame import collected_frame


class Segment(Struct):
    """A segment, joined from its events."""

    id: str
    type: str
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    content: str = ""
    raw: str = ""
    status: str | None = None
    """How the segment ended; None while it is open."""
    reason: str | None = None
    turn_id: str | None = None

    _repr_mimebundle_ = shown_by("penstock.sinks.segment_card", "segment_bundle")


E = TypeVar("E", default=Any)


class Collected(Struct, Generic[E]):
    """All events of a stream in order, and what they are about: segments, calls, results, the ends of the answers."""

    events: list[E] = field(default_factory=list[E])
    segments: list[Segment] = field(default_factory=list[Segment])
    """The segments in the order of their STARTs."""
    invocations: list[ToolInvocation] = field(default_factory=list[ToolInvocation])
    failures: list[InvocationFailed] = field(default_factory=list[InvocationFailed])
    outputs: list[Output | OutputFailed] = field(default_factory=list[Output | OutputFailed])
    """The results of a structured answer; usually one."""
    provider_events: list[ProviderEvent] = field(default_factory=list[ProviderEvent])
    results: list[ToolResult] = field(default_factory=list[ToolResult])
    ends: list[AnswerEnd] = field(default_factory=list[AnswerEnd])
    """How each answer ended: one for each choice of each turn."""

    @property
    def usage(self) -> TokenUsage | None:
        """The tokens of all turns, each counted once however many choices it has; None if no provider told."""
        return total_usage(self.ends)

    @property
    def text(self) -> str:
        return self.joined("text")

    @property
    def reasoning(self) -> str:
        return self.joined("reasoning")

    def joined(self, segment_type: str) -> str:
        """Return the content of all segments of a type, joined."""
        return "".join(segment.content for segment in self.segments if segment.type == segment_type)

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame with a row for each segment, call, failure, output, result, notice and answer, in order.

            collect(pipeline.stream(source)).to_frame()

        | column | what it has |
        | --- | --- |
        | `kind`, `type`, `id` | the kind of the row; the segment's type, the tool's name or the model |
        | `status`, `reason` | how it ended, and why |
        | `text`, `characters` | the content, or the arguments or the value as JSON, and its length |
        | `pieces` | the number of CONTENT events of a segment |
        | `first_event`, `last_event` | the places in `events` |
        | `turn` | the turn's id |

        `library`: "pandas" or "polars"; by default the installed one, pandas if both are. `UsageError` if it is not
        installed.
        """
        return collected_frame(self, library)

    _repr_mimebundle_ = shown_by("penstock.sinks.segment_card", "collected_bundle")


def total_usage(ends: Iterable[AnswerEnd]) -> TokenUsage | None:
    """Return the tokens of all turns, added up; None if no provider told.

    >>> usage = TokenUsage(prompt=5, completion=2, total=7)
    >>> total_usage([AnswerEnd("t", 0, usage=usage), AnswerEnd("t", 1, usage=usage)])
    TokenUsage(prompt=5, completion=2, total=7, cached=0, reasoning=0)
    """
    of_turns = {end.turn_id: end.usage for end in ends if end.usage is not None}
    if not of_turns:
        return None
    names = TokenUsage.__struct_fields__
    return TokenUsage(**{name: sum(getattr(usage, name) for usage in of_turns.values()) for name in names})
