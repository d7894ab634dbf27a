"""Whole calls of another dialect in what is emitted as text: the text was read in the wrong one.

The text is collected, and read once, where the answer ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from msgspec.structs import replace

from ...events.segment_event import SegmentEnd
from ...events.tool_invocation import Notice
from ..calls.answer_segments import PIECES_AT_ONCE, SegmentOutput
from ..calls.text_call_watch import KEPT, TextCallWatch
from ..engine.stage import How, Interrupted
from ..grammar.compiled_grammar import compiled
from ..grammar.dialect import Dialect
from ..grammar.grammar_items import ends_of
from .call_in_reasoning import NewEngine, answer_aside, names_in

if TYPE_CHECKING:
    from .text_engine import TextEngine
    from .text_options import TextOptions

MAY_OPEN: Final = re.compile(r"[<\[{`]")
"""What is in every call of the dialects that are read where tools are declared."""


class OtherDialects(NamedTuple):
    """The dialects that a model may fall into; calls of the text's own are none of another one's."""

    dialects: tuple[Dialect, ...]
    opens: re.Pattern[str]
    """Finds nothing in a text without a call of theirs."""


def openers_of(dialects: Iterable[Dialect]) -> re.Pattern[str]:
    """Return the pattern of what calls of some dialects begin with, wherever it stands.

    >>> from penstock.operators.catalogue.dialect_for import dialects_named
    >>> openers_of(dialects_named("jamba", "harmony")).search("A call is to=functions.f, or <tool_calls>").start()
    29
    """
    rows = ((each, ends_of(each.grammar, each.spellings, {}).literals) for each in dialects)
    markers = {re.escape(text) for each, literals in rows for text in literals if text not in each.leading}
    return re.compile("|".join(sorted(markers)), re.IGNORECASE)


class WrongDialect(TextCallWatch):
    """Finds whole calls of other dialects: those of declared tools, or without tools those of `auto`."""

    DETAIL: ClassVar[str] = (
        "the model wrote a call of {name!r} in the dialect {dialect!r}, which is not one that its text is read in, so "
        'no tool was executed. If it always writes so, choose that dialect: Pipeline("{dialect}") or '
        'parse_text("{dialect}"), or "auto" for those with unmistakable markers. The text: {snippet}'
    )

    def __init__(
        self, others: Callable[[], OtherDialects], own: Iterable[Dialect], options: TextOptions, new_engine: NewEngine
    ) -> None:
        self._others = others
        self._own = frozenset(each.name for each in own)
        self._has_tools = bool(options.schemas)
        new_reader = partial(_reader_of, others, options, new_engine)
        super().__init__("text", names_in(tuple(options.schemas or ())), new_reader)

    def note(self, text: str) -> None:
        """Take the next piece of the text."""
        self.pieces.append(text)
        if len(self.pieces) >= PIECES_AT_ONCE:
            self._put_away()

    def end(self, how: How, finish: str | None) -> Iterator[Notice]:
        """Yield the notices, at the end of the answer; a text that is too long counts as cut."""
        self._put_away()
        text = "".join(self._before)
        if self._may_have_call(text):
            found: list[SegmentOutput] = []
            reader = self._new_reader()
            reader.feed(text, found)
            reader.close(Interrupted("limit") if self._length > KEPT else how, finish, found)
            yield from self._notices(found)

    def _notices(self, found: Iterable[SegmentOutput]) -> Iterator[Notice]:
        def is_own(event: SegmentOutput) -> bool:
            return isinstance(event, SegmentEnd) and event.metadata.get("dialect") in self._own

        return super()._notices(event for event in found if not is_own(event))

    def _put_away(self) -> None:
        text = "".join(self.pieces)
        self.pieces.clear()
        if self._length < KEPT:
            self._before.append(text[: KEPT - self._length])
        self._length += len(text)

    def _may_have_call(self, text: str) -> bool:
        may_open = bool(text) and self._others().opens.search(text) is not None
        return may_open and (not self._has_tools or self._names.is_in(text.casefold()))


def _reader_of(others: Callable[[], OtherDialects], options: TextOptions, new_engine: NewEngine) -> TextEngine:
    read = replace(
        options,
        starts_in_reasoning=False,
        unknown_tool=None,
        between="text",
        blanks="keep",
        others=None,
        tells_dialect=True,
    )
    return new_engine(compiled(others().dialects), answer_aside(options), read)
