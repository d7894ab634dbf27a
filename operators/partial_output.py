"""`partial_output`: the value of a structured answer while its text arrives, and in the end the whole value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, cast, get_args

from msgspec.structs import replace

from ..events.answer_end import Output, OutputFailed, OutputFailure
from ..events.segment_event import Fragment, Path, SegmentContent, SegmentEnd, SegmentStart
from .calls.open_segments import OpenSegments, error_detail
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import How, Operator, lift
from .engine.state import Stateful
from .engine.withheld import Withheld
from .machines.answer_text import AnswerText, FencedJson, PlainText
from .machines.json_values import FragmentAggregator
from .machines.live_view import LiveEvent, LiveValue, changes
from .schemas.schema_validation import validated

Validate: TypeAlias = Callable[[str, Any], Any]
"""Returns the value of a JSON text, and of its plain data; an exception makes the output `invalid`."""

_FAILURES = frozenset(get_args(OutputFailure))


@public_operator
def partial_output(
    validate: Validate | None = None,
    *,
    as_text: bool = False,
    fenced: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[Any, Any]:
    """Read each text segment as JSON: emit a `PartialOutput` when it has grown, and one `Output` or `OutputFailed`.

        chunks            --a--------b------c--|
        to_segments()     --(S,x)----y---------(E,A,|)
        partial_output()  --(S,x,p)--(y,q)-----(E,O,A,|)
        where a = ChunkResponse(content='[1, "x')
              b = ChunkResponse(content='y"]')
              c = ChunkResponse(finish_reason="stop")
              S = SegmentStart(segment_type="text")
              x = SegmentContent(delta='[1, "x')
              y = SegmentContent(delta='y"]')
              E = SegmentEnd(status="complete")
              A = AnswerEnd(finish_reason="stop")
              p = PartialOutput(live=[1, "x"], is_complete=False)
              q = PartialOutput(live=[1, "xy"], is_complete=True)
              O = Output(value=[1, "xy"])

    >>> from penstock.events import ChunkResponse, Output
    >>> from penstock.operators import drive, to_segments
    >>> chunks = [ChunkResponse(content='{"a": [1, 2'), ChunkResponse(content='], "b": "x"}', finish_reason="stop")]
    >>> for event in drive(chunks, to_segments(), partial_output()):
    ...     if isinstance(event, PartialOutput | Output):
    ...         print(event.snapshot() if isinstance(event, PartialOutput) else event.value)
    {'a': [1]}
    {'a': [1, 2], 'b': 'x'}
    {'a': [1, 2], 'b': 'x'}

    All events pass; what is made of one follows it, and the result directly follows the segment's END. Strings are in
    the partial value as far as they have arrived, numbers, `true`, `false` and `null` once they are complete. The cost
    of an event depends on its own text, not on earlier text.

    Each text segment is one JSON text, because providers constrain each of them by itself; one of blanks only, which
    ended as complete, gives nothing. The value is whole when its root has closed, even if the answer was then cut by
    its length. A refusal gives an `OutputFailed` with the reason `refusal`.

    - `validate`: called with the JSON text and its plain data when the value is whole; returns the value. Whatever
      `Exception` it raises, the output is `invalid`. Without it the value is the plain data.
    - `as_text`: the text itself is the value, which is not read as JSON.
    - `fenced`: whether the JSON may stand in one Markdown fence, alone but for blanks.
    """
    new_text = partial(_Text, validate, limits, as_text=as_text, fenced=fenced)
    return lift(partial(_PartialOutput, new_text))


class PartialOutput(LiveEvent, frozen=True, gc=False, eq=False):
    """The change in a structured answer by one event, and a live view of its value.

    Two events are equal if all their attributes except `live` are equal.

    - `changed`: paths of the values that began or grew, in the order of the text; usually one. The whole is `()`.
    - `finished`: paths of the values that became complete.
    - `is_complete`: the value is all there; it has not been validated yet.
    - `live`: the read-only view of the value, which shows what has arrived by the time it is read. Read it in the
      thread that gets the events; pass snapshots to other threads.
    """

    segment_id: str
    turn_id: str | None
    changed: tuple[Path, ...]
    finished: tuple[Path, ...]
    is_complete: bool
    live: LiveValue

    @property
    def value(self) -> Any:
        """The live value: a read-only mapping or sequence, or a scalar as it is now."""
        return self.live.value

    def snapshot(self) -> Any:
        """Return a plain copy of the current value."""
        return self.live.snapshot()

    def is_finished(self, path: Path) -> bool:
        """Return whether the value at a path is complete: `event.is_finished(("steps", 0, "title"))`."""
        return self.live.is_finished(path)


class _Text(Stateful):
    """One open segment of text, or of a refusal."""

    STATE = ("_reader", "_values", "kind", "segment_id", "turn_id")
    PIECES = ("_raw",)

    def __init__(
        self, validate: Validate | None, limits: Limits, start: SegmentStart, *, as_text: bool, fenced: bool
    ) -> None:
        self.segment_id = start.segment_id
        self.turn_id = start.turn_id
        self.kind = start.segment_type
        self._validate = validate
        self._reader: AnswerText = PlainText() if as_text else FencedJson(limits, fenced=fenced)
        self._values = FragmentAggregator()
        self._live = LiveValue(self._values)
        self._raw: list[str] = []

    def content(self, delta: str) -> Sequence[PartialOutput]:
        self._raw.append(delta)
        return () if self.kind == "refusal" else self._partials(self._reader.feed(delta))

    def withheld(self) -> Sequence[Withheld]:
        return () if self.kind == "refusal" else self._reader.withheld()

    def last_partials(self, end: SegmentEnd) -> Sequence[PartialOutput]:
        """Return the change that the end of the text makes: a number or a text is complete only then."""
        if self.kind == "refusal":
            return ()
        return self._partials(self._reader.close(cut=end.status not in ("complete", None)))

    def result(self, end: SegmentEnd) -> Output | OutputFailed | None:
        """Return the result; None for blanks that ended as complete."""
        raw = "".join(self._raw)
        status, reader = end.status or "complete", self._reader
        reason: str = (end.reason if status == "failed" else status) or "malformed"
        errors: list[dict[str, Any]] = [] if reader.error is None else [error_detail(reader.error)]
        value: Any = None
        if self.kind == "refusal":
            reason, errors = "refusal", []
        elif reader.is_blank and status == "complete":
            return None
        elif status in ("complete", "truncated"):
            if reader.error is not None:
                reason = reader.error.reason
            elif reader.is_whole:
                reason, errors, value = self._validated(raw[reader.span])
        if not reason:
            return Output(self.segment_id, self.turn_id, value, self._values.value, raw)
        failure = cast("OutputFailure", reason if reason in _FAILURES else "malformed")
        return OutputFailed(self.segment_id, self.turn_id, raw, failure, tuple(errors))

    def _validated(self, text: str) -> tuple[str, list[dict[str, Any]], Any]:
        data = self._values.value
        if self._validate is None:
            return "", [], data
        value, errors = validated(self._validate, text, data)
        return ("", [], value) if errors is None else ("invalid", errors, None)

    def _partials(self, pieces: Sequence[Fragment]) -> Sequence[PartialOutput]:
        if not pieces:
            return ()
        self._values.feed_all(pieces)
        return (PartialOutput(self.segment_id, self.turn_id, *changes(pieces), self._values.done, self._live),)


class _PartialOutput(Stateful):
    STATE = ("_open", "_texts")

    def __init__(self, new_text: Callable[[SegmentStart], _Text]) -> None:
        self._new_text = new_text
        self._texts: dict[tuple[str | None, str], _Text] = {}
        self._open = OpenSegments()

    def feed(self, event: Any) -> Sequence[Any]:
        if type(event) is SegmentContent:
            text = self._texts.get((event.turn_id, event.segment_id))
            return (event,) if text is None else (event, *text.content(event.delta))
        if type(event) is SegmentStart:
            return self._start(event)
        return self._end(event) if type(event) is SegmentEnd else (event,)

    def withheld(self) -> Sequence[Withheld]:
        return [
            replace(each, segment_id=text.segment_id, in_raw=True)
            for text in self._texts.values()
            for each in text.withheld()
        ]

    def close(self, how: How) -> Sequence[Any]:
        return [event for end in self._open.ends(how) for event in self._end(end)]

    def new_part(self, _name: str, _state: Any, /) -> _Text:
        return self._new_text(SegmentStart("", None))

    def _start(self, start: SegmentStart) -> Sequence[Any]:
        identity = start.turn_id, start.segment_id
        broken_off: Sequence[Any] = ()
        if (former := self._texts.get(identity)) is not None:  # nothing more can come for it
            broken_off = self._end(SegmentEnd(start.segment_id, former.kind, "truncated", turn_id=start.turn_id))
        self._open.note(start)
        if start.segment_type in ("text", "refusal"):
            self._texts[identity] = self._new_text(start)
        return *broken_off, start

    def _end(self, end: SegmentEnd) -> Sequence[Any]:
        self._open.note(end)
        text = self._texts.pop((end.turn_id, end.segment_id), None)
        if text is None:
            return (end,)
        partials = text.last_partials(end)
        result = text.result(end)
        return (*partials, end) if result is None else (*partials, end, result)
