"""Tool calls and reasoning in a model's text, found while it streams.

    OutsideText      reads what is in no block, and finds where one opens
    TextBlock        holds what a block said so far; its readers go through it item by item:
      read_between     between items
      BlockText        a name, a key, a value
      BlockJson        JSON, or arguments as code
      BlockAttrs       the attributes of a tag
    TextAccount      sees to it that every character goes into the `raw` of exactly one event

Most texts go none of these ways: see `text_ways`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...events.fragment import Fragment, JsonError
from ..calls.answer_segments import AnswerSegments, Segment
from ..engine.stage import How
from ..engine.state import Stateful
from ..grammar.dialect_positions import Positions
from .between_items import opens_text, read_between, read_rest
from .block_attrs import BlockAttrs
from .block_end import end_block
from .block_json import BlockJson, open_json
from .block_text import BlockText
from .outside_text import Meaning
from .text_account import TextAccount
from .text_block import TextBlock
from .text_options import TextOptions
from .text_ways import Plain, Way, block_way, plain_way, waiting_way


class TextEngine(Stateful):
    """The reader of one text: `feed` and `close` put events into the list that they are given.

    - `plain`, `way`: the short ways for the next text, where there are such.
    """

    STATE = ("_account", "_block", "_outside")
    __slots__ = (*STATE, "_answer", "_options", "plain", "way")

    def __init__(self, positions: Positions, answer: AnswerSegments, options: TextOptions) -> None:
        self._answer = answer
        self._options = options
        self._account = TextAccount()
        self._block = TextBlock(positions, answer, options, self._account)
        self._outside = self._block.outside
        self.plain: Plain | None = None
        self.way: Way | None = None

    def feed(self, text: str, events: list[Segment]) -> None:
        """Read the next text."""
        way = self.way
        given = way(text) if way is not None and text else None
        if given is not None:
            events += given
        elif text:
            self._catch_up()
            self._account.open(text, events)
            self._run(final=False)
            self._settle()

    def close(self, how: How, finish: str | None, events: list[Segment]) -> None:
        """Return what the end settles: everything."""
        account, block, answer = self._account, self._block, self._answer
        self._catch_up()
        block.ending = (how, finish)
        account.open("", events)
        while True:
            self._run(final=True)
            reader = block.reader
            if isinstance(reader, BlockText) and reader.tail:
                reader.end_before_tail()
            elif block.is_open:
                end_block(block, how, finish)
            else:
                break
        self._settle()
        raw = account.take(0)
        if raw and not answer.open_type:
            # A closer or blanks that nothing came after: a text that says nothing stands for them.
            answer.start_text("text", events)
        answer.end_text(events, *answer.end_of(how, finish), raw=raw)

    def choose_way(self) -> None:
        """See whether there is a short way for the next text."""
        account, block = self._account, self._block
        plain = plain_way(block)
        self.plain = None if account.wait else plain
        if plain is not None:
            self.way = waiting_way(self, account, block, plain)
        else:
            self.way = block_way(block, self._read_on) if block.is_open else None

    def _run(self, *, final: bool) -> None:
        """Read on as far as the buffer goes."""
        account, block = self._account, self._block
        while account.position < len(account.buffer) or (block.is_open and block.reader is None and opens_text(block)):
            before = self._progress()
            self._step(final=final)
            if account.wait or before == self._progress():
                break

    def _step(self, *, final: bool) -> None:
        block = self._block
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

    def _progress(self) -> tuple[object, ...]:
        block = self._block
        return self._account.position, block.is_open, type(block.reader), block.at, block.call, block.boundary

    def _settle(self) -> None:
        """Put away what is left of the buffer, give what was said, and choose the way for the next text."""
        account, block = self._account, self._block
        account.put_away()
        if block.call is not None:
            block.call.flush(account.events)
        elif block.is_open and not block.saying and self._is_too_long():
            account.open("", account.events)
            block.back_to_text()
            self._run(final=False)
            self._settle()
            return
        self.choose_way()

    def _is_too_long(self) -> bool:
        """Return whether more waits than may, of what may be text."""
        block = self._block
        # Blanks at the end are not counted: whether they are text is said by what comes behind them.
        length = block.before_gap - block.opened_at
        return length > self._options.limits.deferred_length and not (block.reader is None and block.is_certain)

    def _read_on(self, reader: BlockJson, items: Sequence[Fragment | JsonError], text: str) -> Sequence[Segment]:
        """Go on with a text that the machine of the JSON has read."""
        events: list[Segment] = []
        self._account.open(text, events)
        reader.read_on(items, text)
        self._run(final=False)
        self._settle()
        return events

    def _catch_up(self) -> None:
        """Catch up on the offset, which the short ways through JSON leave to the machine."""
        reader, account = self._block.reader, self._account
        if isinstance(reader, BlockJson) and not account.wait:
            account.offset = reader.start + reader.slot.machine.at

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
        block.ways = [Meaning(*way) for way in block.ways]
        kind, at, inner = state["reader"] or ("", (), None)
        at = tuple(at)
        here = at if kind == "text" else block.at
        block.boundary = block.grammar.boundary(here, block.back) if state["has_boundary"] else None
        block.reader = None
        if kind == "text":
            block.reader = BlockText(block, at, block.call)
        elif kind == "json":
            block.reader = BlockJson(block, at, 0)
        elif kind == "attrs":
            block.reader = BlockAttrs(block, at)
        if block.reader is not None:
            block.reader.load(inner)
        self.choose_way()
