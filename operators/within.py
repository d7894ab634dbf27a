"""`within`: run text operators inside chosen segments, with a state for each segment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, NoReturn, TypeAlias, cast

from msgspec.structs import replace

from ..events.errors import ProviderError, UsageError
from ..events.segment_event import Fragment, SegmentContent, SegmentEnd, SegmentStart
from .calls.open_segments import OpenSegments
from .engine.public_operator import public_operator
from .engine.stage import (
    Completed,
    Failed,
    How,
    Interrupted,
    Operator,
    StageChain,
    checked_operators,
    compose,
    lift,
    stage,
)
from .engine.state import Stateful
from .engine.withheld import Withheld, tail_of

Selector: TypeAlias = str | Collection[str] | Callable[[SegmentStart], bool]

_NO_CALLS = frozenset(("text", "reasoning", "refusal", "media"))


# Any event: it may be placed between any two operators, with or without invocations among the events.
@public_operator
def within(selector: Selector, *operators: Operator[str, str]) -> Operator[Any, Any]:
    """Run text operators on the content of the chosen segments; everything else passes unchanged.

        chunks                           --a------b--c--|
        to_segments()                    --(S,x)--y-----(E,A,|)
        within("text", holdback("<b>"))  --(S,u)--v-----(w,E,A,|)
        where a = ChunkResponse(content="a<")
              b = ChunkResponse(content="b <")
              c = ChunkResponse(finish_reason="stop")
              S = SegmentStart(segment_type="text")
              x = SegmentContent(delta="a<")
              y = SegmentContent(delta="b <")
              E = SegmentEnd(status="complete")
              A = AnswerEnd()
              u = SegmentContent(delta="a")
              v = SegmentContent(delta="<b ")
              w = SegmentContent(delta="<")

    >>> from penstock.events import ChunkResponse, SegmentContent
    >>> from penstock.operators import drive, strip_markers, to_segments
    >>> chunks = [ChunkResponse(content=text) for text in ("<answer>", "42</ans", "wer>")]
    >>> chain = to_segments(), within("text", strip_markers("<answer>", "</answer>"))
    >>> [event.delta for event in drive(chunks, *chain) if isinstance(event, SegmentContent)]
    ['42']

    - `selector`: a segment type, a list of them, or a predicate that is called with each START.
    - `operators`: from text to text: `holdback`, `strip_markers`, your own by `lift(...)`. Each text that they return
      becomes a CONTENT, unless it is empty; texts from their close come before the END. They are closed as the segment
      ends: `Completed` for complete and truncated, `Interrupted` for interrupted, `Failed` for failed.

    Only what is shown changes, never the call: `raw` and `fragments` stay the same, so an invocation has the arguments
    as the model wrote them. The `raw` of a text that is held goes into the segment's next event, at the latest the END.
    If arguments would get lost that way (they arrived whole, or were read back from JSON), a CONTENT with an empty
    delta precedes the END. After `stream_fields` it works on the fields, before it on raw JSON.

    Raises `UsageError` for an invalid selector or operator. If a text operator returns anything but text, the stream
    fails with a `UsageError`; an exception of it or of the predicate fails the stream too. Open segments are ended
    first.
    """
    text_operator = compose(*checked_operators(operators, "within"))
    return lift(partial(_Within, _checked_selector(selector), text_operator))


def _checked_selector(selector: object) -> frozenset[str] | Callable[[SegmentStart], bool]:
    if isinstance(selector, str):
        return frozenset((selector,))
    if callable(selector) and not isinstance(selector, Operator):
        return cast("Callable[[SegmentStart], bool]", selector)
    if isinstance(selector, Collection):
        types = cast("Collection[object]", selector)
        if all(isinstance(each, str) for each in types):
            return frozenset(cast("Collection[str]", types))
    message = f"within needs a segment type, a list of these or a predicate as its first argument; got {selector!r}"
    raise UsageError(message)


class _Text(Stateful):
    """One chosen segment: its operators, and the source text that is in no event's `raw` yet."""

    STATE = __slots__ = ("chain", "fragments", "raw", "unparsed")

    def __init__(self, chain: StageChain[str, str]) -> None:
        self.chain = chain
        self.raw: list[str] = []
        self.fragments: list[Fragment] = []
        self.unparsed = False
        """Whether `raw` has not been parsed yet."""

    def take(self, event: SegmentContent) -> None:
        if event.fragments is None:
            # An event that was read back from its JSON form has its source text in its delta.
            self.raw.append(event.raw or event.delta)
            self.unparsed = True
        else:
            self.raw.append(event.raw)
            self.fragments += event.fragments

    def taken(self) -> tuple[str, tuple[Fragment, ...] | None]:
        """Return `raw` and `fragments` for the next event; without source text the fragments are empty."""
        taken = "".join(self.raw), None if self.unparsed else tuple(self.fragments)
        self.raw.clear()
        self.fragments.clear()
        self.unparsed = False
        return taken


class _Within(Stateful):
    STATE = ("_open", "_texts")

    def __init__(
        self, selector: frozenset[str] | Callable[[SegmentStart], bool], text_operator: Operator[str, str]
    ) -> None:
        self._selector = selector
        self._text_operator = text_operator
        self._texts: dict[tuple[str | None, str], _Text] = {}
        self._open = OpenSegments()
        self._error: Exception | None = None
        """The first exception of the user's code, with which the stream ends."""
        self.last_words: list[Any] = []

    def feed(self, event: Any) -> Iterable[Any]:
        if not isinstance(event, SegmentStart | SegmentContent | SegmentEnd):
            return (event,)
        identity = (event.turn_id, event.segment_id)
        text = self._texts.get(identity)
        events: Iterable[Any]
        if isinstance(event, SegmentContent):
            events = (event,) if text is None else self._content(text, event)
        elif isinstance(event, SegmentStart):
            events = self._start(event, text)
        else:
            self._open.note(event)
            events = (event,) if text is None else self._end(self._texts.pop(identity), event, _how(event))
        if self._error is not None:
            self._fail(events)
        return events

    def withheld(self) -> Iterable[Withheld]:
        return [
            each
            for (_, segment_id), text in self._texts.items()
            for each in _withheld_in(tail_of(text.raw), text.chain.withheld(), segment_id)
        ]

    def close(self, how: How) -> Iterable[Any]:
        events = self._ends(how)
        if self._error is not None:
            self._fail(events)
        return events

    def _start(self, event: SegmentStart, former: _Text | None) -> list[Any]:
        events: list[Any] = []
        if former is not None:
            # Its id starts again, so nothing more can come for it.
            end = SegmentEnd(event.segment_id, event.segment_type, "truncated", turn_id=event.turn_id)
            events += self._end(self._texts.pop((event.turn_id, event.segment_id)), end, Completed())
        events.append(event)
        self._open.note(event)
        selector = self._selector
        try:
            if selector(event) if callable(selector) else event.segment_type in selector:
                self._texts[event.turn_id, event.segment_id] = _Text(stage(self._text_operator))
        except Exception as error:  # noqa: BLE001 - raised after the ENDs
            self._error = error
        return events

    def _content(self, text: _Text, event: SegmentContent) -> Iterable[SegmentContent]:
        delta = event.delta
        try:
            items = text.chain.feed(delta)
        except Exception as error:  # noqa: BLE001 - raised after the ENDs
            self._error = error
            items = text.chain.last_words
        if len(items) == 1 and items[0] is delta and not text.raw:
            return (event,)
        text.take(event)
        return self._contents(text, event, items)

    def _end(self, text: _Text, end: SegmentEnd, how: How) -> list[SegmentContent | SegmentEnd]:
        try:
            items = text.chain.close(how)
        except Exception as error:  # noqa: BLE001 - raised after the ENDs
            self._error = self._error or error
            items = text.chain.last_words
        events = self._contents(text, end, items)
        if text.unparsed and end.segment_type not in _NO_CALLS:
            events.append(self._content_of(text, end, ""))
        if text.raw:
            raw, fragments = text.taken()
            together = (*(fragments or ()), *(end.fragments or ()))
            end = replace(end, raw=raw + end.raw, fragments=together or None)
        return [*events, end]

    def _contents(
        self, text: _Text, event: SegmentContent | SegmentEnd, items: Iterable[object]
    ) -> list[SegmentContent]:
        """Return texts as CONTENT events of the event's segment."""
        events: list[SegmentContent] = []
        for item in items:
            if not isinstance(item, str):
                message = f"within needs operators from str to str; {self._text_operator!r} returned {item!r}"
                self._error = self._error or UsageError(message)
            elif item:
                events.append(self._content_of(text, event, item))
        return events

    def _content_of(self, text: _Text, event: SegmentContent | SegmentEnd, said: str) -> SegmentContent:
        raw, pieces = text.taken()
        kind = event.segment_type
        return SegmentContent(event.segment_id, kind, said, turn_id=event.turn_id, raw=raw, fragments=pieces)

    def _ends(self, how: How) -> list[Any]:
        """Return an END for each open segment, in the order of their STARTs."""
        events: list[Any] = []
        for end in self._open.ends(how):
            text = self._texts.pop((end.turn_id, end.segment_id), None)
            events += (end,) if text is None else self._end(text, end, how)
        return events

    def _fail(self, events: Iterable[Any]) -> NoReturn:
        """Raise the exception; the events to be delivered before it are in `last_words`."""
        error = cast("Exception", self._error)
        self.last_words = [*events, *self._ends(Failed(error))]
        raise error

    def new_part(self, _name: str, _state: Any, /) -> _Text:
        return _Text(stage(self._text_operator))


def _withheld_in(raw: str, inner: Sequence[Withheld], segment_id: str) -> Iterable[Withheld]:
    """Yield what the text operators withhold, and the source text that no event has yet."""
    if raw:
        reason = inner[0].reason if inner else "the operators inside keep the text back"
        same = inner[0].could_become if len(inner) == 1 and inner[0].text == raw else ()
        yield Withheld(raw, reason, same, segment_id)
    for each in inner:
        if each.text and not raw.endswith(each.text):
            yield replace(each, segment_id=segment_id, in_raw=True)


def _how(end: SegmentEnd) -> How:
    """Return how a segment ended, in the form that `close` of a stage takes."""
    reason = end.reason or ""
    match end.status:
        case "interrupted":
            return Interrupted(reason)
        case "failed":
            return Failed(ProviderError(reason or "the segment failed"))
        case _:
            return Completed()
