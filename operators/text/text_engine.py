"""Tool calls and reasoning in a model's text, found while it streams.

    OutsideText      reads what is in no block, and finds where one opens
    TextBlock        holds what a block said so far; its readers go through it item by item:
      read_between     between items
      BlockText        a name, a key, a value
      BlockJson        JSON, or arguments as code
      BlockAttrs       the attributes of a tag
    SourceBuffer      puts every character into the `raw` of exactly one event

Most texts skip all of these: see `fast_paths`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...events.fragment import Fragment, JsonError
from ..calls.answer_segments import AnswerSegments, FastPath, Plain, Segment
from ..engine.stage import How
from ..engine.state import Stateful
from ..grammar.dialect_positions import Positions
from .between_items import opens_text, read_between, read_rest
from .block_attrs import BlockAttrs
from .block_end import end_block
from .block_json import BlockJson, open_json
from .block_text import BlockText
from .fast_paths import block_fast_path, holding_fast_path, plain_fast_path, waiting_fast_path
from .outside_text import Meaning
from .source_buffer import SourceBuffer
from .text_block import TextBlock
from .text_options import TextOptions


class TextEngine(Stateful):
    """The reader of one text; `feed` and `close` append to the list of events that is passed to them.

    - `plain`, `fast_path`: the fast paths for the next text, or None.
    """

    STATE = ("_source_buffer", "_block", "_outside")

    def __init__(self, positions: Positions, answer: AnswerSegments, options: TextOptions) -> None:
        self._answer = answer
        self._options = options
        self._source_buffer = SourceBuffer()
        self._block = TextBlock(positions, answer, options, self._source_buffer)
        self._outside = self._block.outside
        self.plain: Plain | None = None
        self.fast_path: FastPath | None = None

    def feed(self, text: str, events: list[Segment]) -> None:
        """Read the next text and append its events."""
        fast_path = self.fast_path
        given = fast_path(text) if fast_path is not None and text else None
        if given is not None:
            events += given
        elif text:
            self._catch_up()
            self._source_buffer.open(text, events)
            self._run(final=False)
            self._settle()

    def close(self, how: How, finish: str | None, events: list[Segment]) -> None:
        """Emit all remaining events at the end."""
        source_buffer, block, answer = self._source_buffer, self._block, self._answer
        self._catch_up()
        block.ending = (how, finish)
        source_buffer.open("", events)
        while True:
            self._run(final=True)
            reader = block.reader
            if isinstance(reader, BlockText) and reader.ends_with(how, finish):
                continue
            if block.is_open:
                end_block(block, how, finish)
            else:
                break
        self._settle()
        if not answer.has_begun:
            self._outside.end_alone()
        raw = source_buffer.take(0)
        if raw:
            kind = self._outside.open_as
            if answer.open_type != kind:
                # A closer or blanks that nothing came after: a text that says nothing stands for them.
                answer.start_text(kind, events)
            answer.end_text(events, *answer.end_of(how, finish), raw=raw)

    def choose_way(self) -> None:
        """Set the fast path for the next text, if there is one."""
        source_buffer, block = self._source_buffer, self._block
        plain = plain_fast_path(block)
        holds = self._outside.holds_blanks
        self.plain = None if source_buffer.wait or holds else plain
        if plain is not None and holds:
            self.fast_path = holding_fast_path(source_buffer, block, plain)
        elif plain is not None:
            self.fast_path = waiting_fast_path(self, source_buffer, block, plain)
        else:
            self.fast_path = block_fast_path(block, self._read_on) if block.is_open else None

    def _run(self, *, final: bool) -> None:
        """Read on as far as the buffer goes."""
        source_buffer, block = self._source_buffer, self._block
        while source_buffer.position < len(source_buffer.buffer) or (
            block.is_open and block.reader is None and opens_text(block)
        ):
            if not block.is_open:
                opener = self._outside.read(final=final)
                slot = None if opener is None else block.open(opener)
                if slot is not None:
                    open_json(block, slot)
            elif block.reader is not None:
                block.reader.read(final=final)
            elif block.boundary is None:
                read_rest(block, final=final)
            else:
                read_between(block, block.boundary, final=final)
            if source_buffer.wait:
                break

    def _settle(self) -> None:
        """Keep the rest of the buffer, emit the collected content, and choose the fast path for the next text."""
        source_buffer, block = self._source_buffer, self._block
        source_buffer.put_away()
        if block.call is not None:
            block.call.flush(source_buffer.events)
        elif block.is_open and not block.saying and block.is_too_long:
            source_buffer.open("", source_buffer.events)
            block.back_to_text()
            self._run(final=False)
            self._settle()
            return
        self.choose_way()

    def _read_on(self, reader: BlockJson, items: Sequence[Fragment | JsonError], text: str) -> Sequence[Segment]:
        """Process a text that the JSON machine has already parsed; return the events."""
        events: list[Segment] = []
        self._source_buffer.open(text, events)
        reader.read_on(items, text)
        self._run(final=False)
        self._settle()
        return events

    def _catch_up(self) -> None:
        """Set the offset of the buffer, which the fast paths inside JSON do not update."""
        reader, source_buffer = self._block.reader, self._source_buffer
        if isinstance(reader, BlockJson) and not source_buffer.wait:
            source_buffer.offset = reader.start + reader.slot.machine.at

    def dump(self) -> Any:
        """Return the state as plain data, between two texts."""
        self._catch_up()
        block = self._block
        reader = None if block.reader is None else block.reader.dump()
        return {**super().dump(), "has_boundary": block.boundary is not None, "reader": reader}

    def load(self, state: Any, /) -> None:
        """Go on from a dumped state."""
        super().load(state)
        block = self._block
        block.readings = tuple(Meaning(*each) for each in block.readings)
        kind, at, inner = state["reader"] or ("", (), None)
        at = tuple(at)
        here = at if kind == "text" else block.at
        block.boundary = block.grammar.boundary(here, block.back) if state["has_boundary"] else None
        block.reader = None
        if kind == "text":
            block.reader = BlockText(block, at)
        elif kind == "json":
            block.reader = BlockJson(block, at, 0)
        elif kind == "attrs":
            block.reader = BlockAttrs(block, at)
        if block.reader is not None:
            block.reader.load(inner)
        self.choose_way()
