"""`TracedChain`: a chain that notes for each item what each of its stages returns, withholds and has as state.

`UnexplainedText` finds from outside what a stage withholds that does not say it. `StateSize` measures the state of a
stage, at a cost per item that does not grow with the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from time import perf_counter_ns
from typing import Any, Final

from msgspec import Struct
from msgspec.msgpack import Encoder

from ...events.chunk_response import ChunkResponse
from ...events.segment_event import SegmentContent, SegmentEnd
from ...operators.engine.stage import How, Stage, StageChain, StreamStopped
from ...operators.engine.state import Stateful
from ...operators.engine.withheld import Withheld, tail_of

REASON = "this operator does not say why"


class UnexplainedText:
    """What came in as text and has not come out, of each segment.

    It is known only while what comes out is the text that came in. Of a stage that changes the text nothing is told.
    """

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: dict[str | None, str | None] = {}
        """The text by its open segment; the text of a bare str by None. The value None: the stage changed it."""

    def passed(self, items: Iterable[Any], outputs: Iterable[Any]) -> tuple[Withheld, ...]:
        """Note what a stage was given and what it returned; return what it withholds."""
        pending = self._pending
        for item in items:
            segment_id, text = _text_of(item)
            if text and (before := pending.get(segment_id, "")) is not None:
                pending[segment_id] = before + text
        for output in outputs:
            # What a machine makes of a bare text is the content of a chunk.
            segment_id, text = (None, output.content) if isinstance(output, ChunkResponse) else _text_of(output)
            if text:
                before = pending.get(segment_id)
                pending[segment_id] = before[len(text) :] if before and before.startswith(text) else None
            elif isinstance(output, SegmentEnd):
                pending.pop(output.segment_id, None)
        return tuple(Withheld(tail_of((text,)), REASON, (), segment_id) for segment_id, text in pending.items() if text)


def _text_of(item: Any) -> tuple[str | None, str]:
    if isinstance(item, str):
        return None, item
    return (item.segment_id, item.raw or item.delta) if isinstance(item, SegmentContent) else (None, "")


_BYTES: Final = 4096
"""The bytes for which an item pays."""
_READERS: dict[type, Callable[[Any], Any]] = {}
"""Reads the declared state of an object of a class, in one call."""
_ARE_STRUCTS: dict[type, bool] = {}
"""Whether a class is that of a part that is a Struct."""


class StateSize:
    """The bytes of a stage's state in MessagePack.

    - `size`: the size when it was measured last.
    - `cost`: the number of items that pay for measuring it again: a large state, or one of many parts, costs more.
    """

    __slots__ = ("_encode", "_parts", "_stage", "cost", "size")

    def __init__(self, stage: Stage[Any, Any]) -> None:
        self._stage = stage
        self._encode = Encoder(enc_hook=self._declared).encode
        self._parts = 0
        self.cost = 0
        self.size = 0

    def measure(self) -> None:
        self._parts = 0
        try:
            self.size = len(self._encode(self._declared(self._stage)))
        except (OverflowError, UnicodeEncodeError):  # MessagePack has no such integers, and no halves of surrogates
            self.size = len(repr(self._stage.dump()))
        self.cost = max(4 * self._parts, self.size // _BYTES)

    def _declared(self, part: Any) -> Any:
        """Return the declared state as it is, without the copy that `dump` makes; of other values what they dump."""
        self._parts += 1
        read = _READERS.get(part.__class__)
        if read is None:
            if not (isinstance(part, Stateful) and (names := (*part.STATE, *part.PIECES))):
                return part.dump() if hasattr(part, "dump") else str(part)
            read = _READERS[part.__class__] = attrgetter(*names)
        values = read(part)
        return self._without_structs(values) if values.__class__ is tuple else values

    def _without_structs(self, values: tuple[Any, ...]) -> Sequence[Any]:
        """Return values with the declared state of parts that are Structs, of which the encoder would take all fields.

        It calls nothing for any other value, because it looks at each after each item.
        """
        given: list[Any] | None = None
        place = -1
        for each in values:
            place += 1
            kind: type[Any] = each.__class__
            if kind is dict:
                for key in each:
                    kind = each[key].__class__
                    break
            if kind not in _ARE_STRUCTS:
                _ARE_STRUCTS[kind] = issubclass(kind, Struct) and hasattr(kind, "dump")
            if _ARE_STRUCTS[kind]:
                given = [*values] if given is None else given
                is_part = kind is each.__class__
                given[place] = self._declared(each) if is_part else {key: self._declared(each[key]) for key in each}
        return values if given is None else given


class WatchedStage:
    """A stage around another one; it offers no lane, which would pass by it.

    - `run`: the `feed` of the stage, of which nothing is noted. `tells`: its `withheld`, if it has one.
    - `given`, `outputs`, `time_ns`: what was noted for the item.
    - `size`: the size of its state; `paid`: the items since it was measured.
    """

    __slots__ = ("_stage", "given", "last_words", "outputs", "paid", "run", "size", "tells", "time_ns", "unexplained")

    def __init__(self, stage: Stage[Any, Any]) -> None:
        self._stage = stage
        self.run = stage.feed
        self.tells: Callable[[], Iterable[Withheld]] | None = getattr(stage, "withheld", None)
        self.unexplained = UnexplainedText()
        self.size = StateSize(stage)
        self.paid = 0
        self.given: Sequence[Any] = ()
        self.outputs: list[Any] = []
        self.time_ns = 0
        self.last_words: list[Any] = []

    def feed(self, item: Any, /) -> list[Any]:
        return self._noted(self.run, item)

    def close(self, how: How, /) -> list[Any]:
        return self._noted(self._stage.close, how)

    def dump(self) -> Any:
        return self._stage.dump()

    def load(self, state: Any, /) -> None:
        self._stage.load(state)

    def note_last_words(self, before: Sequence[Any] = ()) -> None:
        """Note what the stage, which has raised, leaves to be delivered; `before`: outputs that nobody has noted."""
        self.last_words = [*before, *getattr(self._stage, "last_words", ())]
        self.outputs += self.last_words

    def _noted(self, run: Callable[[Any], Iterable[Any]], argument: Any) -> list[Any]:
        outputs: list[Any] = []
        began = perf_counter_ns()
        try:
            outputs += run(argument)
        except StreamStopped as stop:
            self.outputs += stop.events
            raise
        except Exception:
            self.note_last_words(outputs)
            raise
        self.time_ns += perf_counter_ns() - began
        self.outputs += outputs
        return outputs


class StageTrace(Struct, frozen=True):
    """What one stage did with one item.

    - `outputs`: the events that it returned, as the same objects that went on.
    - `withheld`: what it keeps back after the item.
    - `state_size`: the bytes of its state in MessagePack. It is measured from time to time, less often if it is large
      or has many parts; for the items between, the last size stands.
    - `time_ns`: the time that it took.
    """

    outputs: tuple[Any, ...]
    withheld: tuple[Withheld, ...]
    state_size: int
    time_ns: int


class TracedItem(Struct, frozen=True, repr_omit_defaults=True):
    """One item of the input, or its end.

    - `number`: the place in the input, from 0.
    - `t_ns`: when it came, in nanoseconds since the first item; None if no times are known.
    - `item`: what came; None for the end of the input.
    - `raw`: the JSON that the provider sent, if the first stage is a provider's machine; else None.
    - `stages`: one entry for each stage.
    - `ended`: how the input ended, if this is the end. An item at which a stage raised has it, too.
    """

    number: int
    t_ns: int | None
    item: Any
    stages: tuple[StageTrace, ...]
    ended: How | None = None
    read_raw: Callable[[Any], Any] | None = None
    """Returns the JSON of an item; it is read when somebody asks, so that nothing is kept twice."""

    @property
    def raw(self) -> Any:
        return None if self.read_raw is None or self.item is None else self.read_raw(self.item)


class TracedChain(StageChain[Any, Any]):
    """A chain that goes from stage to stage, never in a lane; both have the same results."""

    __slots__ = ("_watched",)

    def __init__(self, stages: list[Stage[Any, Any]]) -> None:
        self._watched = [WatchedStage(each) for each in stages]
        super().__init__([*self._watched])

    def feed(self, item: Any) -> list[Any]:
        given = [item]
        number = 0
        began = perf_counter_ns()
        try:
            for watched in self._watched:
                number += 1
                watched.given = given
                outputs = watched.outputs = []
                run = watched.run
                for each in given:
                    outputs += run(each)
                ended = perf_counter_ns()
                watched.time_ns = ended - began
                began, given = ended, outputs
        except StreamStopped as stop:
            raised = self._watched[number - 1]
            before = [*raised.outputs]
            raised.outputs += stop.events
            stop.stage = None
            self._stop(stop, number, before, ())
            raise
        except Exception as error:
            raised = self._watched[number - 1]
            before = [*raised.outputs]
            raised.note_last_words()
            self._fail(error, number, before, ())
            raise
        return [*given]

    def stage_traces(self, *, is_end: bool) -> tuple[StageTrace, ...]:
        """Return what was noted since the last time; behind its end a stage withholds nothing."""
        traces: list[StageTrace] = []
        for watched in self._watched:
            outputs, time_ns = watched.outputs, watched.time_ns
            withheld: Iterable[Withheld] = ()
            if is_end:
                watched.paid = watched.size.cost
            elif watched.tells is not None:
                withheld = watched.tells()
            else:
                withheld = watched.unexplained.passed(watched.given, outputs)
            watched.paid += 1
            if watched.paid > watched.size.cost:
                watched.paid = 0
                watched.size.measure()
            traces += (StageTrace((*outputs,), (*withheld,), watched.size.size, time_ns),)
            watched.outputs, watched.time_ns = [], 0
        return (*traces,)
