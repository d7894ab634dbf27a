"""A call that begins inside reasoning: whether it is one is known only where the answer ends.

If the reasoning is closed behind it, it was only a thought. If the answer ends without that, the call ended the
reasoning, as the servers of its model have it. Until then it is held, and read aside to know what is inside of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from msgspec.structs import replace

from ...events.segment_event import SegmentEnd
from ...events.tool_invocation import Notice
from ..calls.answer_segments import PIECES_AT_ONCE, AnswerSegments, SegmentOutput
from ..calls.open_segments import ended_regularly
from ..calls.text_call_watch import NameSearch, TextCallWatch, name_search
from ..engine.stage import Completed, How
from ..engine.state import Stateful
from ..engine.turn_ids import TurnIds
from ..grammar.compiled_grammar import CompiledGrammar, compiled
from ..grammar.dialect import Dialect
from ..machines.marker_search import Marker, MarkerSearch, literal_search
from .block_json import BlockAttrs, BlockJson
from .block_text import BlockText

if TYPE_CHECKING:
    from .source_buffer import SourceBuffer
    from .text_engine import TextEngine
    from .text_options import TextOptions

NewEngine: TypeAlias = "Callable[[CompiledGrammar, AnswerSegments, TextOptions], TextEngine]"
"""Returns a reader of a text; the engine passes it down, as this file cannot import what imports it."""


class HeldCall(Stateful):
    """The text from where a call began in reasoning; it is read aside.

    - `start`: the offset of its first character.
    """

    start: int
    length: int = 0
    """How much of the text has been read."""
    _has_whole: bool = False
    """Whether a call in it has ended."""
    _closer_at: int = -1
    """Where the first closer of reasoning is that is inside of a value."""
    aside: TextEngine

    def __init__(
        self,
        start: int,
        positions: CompiledGrammar,
        options: TextOptions,
        closers: Iterable[str],
        new_engine: NewEngine,
    ) -> None:
        self.start = start
        read = replace(options, starts_in_reasoning=True, holds_calls=False, others=None)
        self.aside = new_engine(positions, answer_aside(options), read)
        self._search = _closers(tuple(closers))
        self._limit = options.limits.deferred_length

    def read(self, source_buffer: SourceBuffer) -> int | None:
        """Read on in the buffer; return how much of the text is reasoning, once that is known."""
        buffer, position = source_buffer.buffer, source_buffer.position
        found = self._search.pattern.search(buffer, position)
        stop = min(position + self._limit - self.length, len(buffer) if found is None else found.start())
        self._read_aside(buffer[position:stop])
        source_buffer.position = stop
        if self.length >= self._limit:
            return self._limit
        if found is None:
            return None
        if self._search.is_unfinished(found):
            source_buffer.wait_from(stop)
            return None
        if not self._is_in_value:
            return self.length
        if self._closer_at < 0:
            self._closer_at = self.length
        self._read_aside(found[0])
        source_buffer.position = found.end()
        return None

    def close(self, how: How, finish: str | None) -> int:
        """Return how much of the text is reasoning, now that the answer has ended."""
        if ended_regularly(how, finish):
            said: list[SegmentOutput] = []
            self.aside.close(how, finish, said)
            self._note(said)
        return 0 if self._has_whole else max(0, self._closer_at)

    def _read_aside(self, text: str) -> None:
        said: list[SegmentOutput] = []
        self.aside.feed(text, said)
        self._note(said)
        self.length += len(text)

    def _note(self, said: list[SegmentOutput]) -> None:
        ends = (each for each in said if type(each) is SegmentEnd and each.segment_type == "tool_call")
        self._has_whole = self._has_whole or any(each.status == "complete" for each in ends)

    @property
    def _is_in_value(self) -> bool:
        """Whether what comes next may be a part of a call's value."""
        reader = self.aside.reader
        if isinstance(reader, BlockText):
            return reader.end is None or not reader.end.may_have_ended
        return isinstance(reader, BlockAttrs) or (isinstance(reader, BlockJson) and not reader.may_have_ended)


class UnclosedReasoning(TextCallWatch):
    """Finds whole calls of declared tools in reasoning, which are told if it never closes; or in a text without tools.

    Its notices come at the end.
    """

    STATE = (*TextCallWatch.STATE, "_found")
    DETAIL: ClassVar[str] = (
        "the model wrote a call of {name!r} into its {kind}, and not as a call of its answer, so no tool was executed. "
        "The text: {snippet}"
    )

    def __init__(self, kind: str, positions: CompiledGrammar, options: TextOptions, new_engine: NewEngine) -> None:
        self._found: list[Notice] = []
        new_reader = partial(_reader_aside, positions, options, new_engine)
        super().__init__(kind, names_in(tuple(options.schemas or ())), new_reader)
        if not options.schemas:
            self.reader = new_reader()

    def note(self, text: str) -> None:
        """Take the next piece of the text."""
        self.pieces.append(text)
        if len(self.pieces) >= PIECES_AT_ONCE:
            self._found += self.look()

    def end(self, _how: How, _finish: str | None) -> list[Notice]:
        """Return the notices, at the end of the answer, however that ends."""
        return [*self._found, *self.close(Completed(), "stop")]


def _reader_aside(positions: CompiledGrammar, options: TextOptions, new_engine: NewEngine) -> TextEngine:
    """Return a reader of calls of declared tools, whose segments belong to no answer."""
    schemas = options.schemas or None
    read = replace(
        options,
        schemas=schemas,
        calls=True,
        starts_in_reasoning=False,
        unknown_tool=None,
        others=None,
        blanks="keep",
        fences="text",
    )
    return new_engine(_without_reasoning(positions.dialects), answer_aside(options), read)


def answer_aside(options: TextOptions) -> AnswerSegments:
    """Return the segments of no answer."""
    return AnswerSegments(0, TurnIds(""), options.limits, eager=False, with_arguments=False)


@lru_cache(maxsize=64)
def _without_reasoning(dialects: tuple[Dialect, ...]) -> CompiledGrammar:
    return compiled(tuple(replace(each, reasoning=(), only_declared=True) for each in dialects))


@lru_cache(maxsize=64)
def names_in(names: tuple[str, ...]) -> NameSearch:
    return name_search(names)


@lru_cache(maxsize=64)
def _closers(closers: tuple[str, ...]) -> MarkerSearch:
    return literal_search(map(Marker, closers))
