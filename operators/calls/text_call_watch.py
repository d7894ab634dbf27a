"""Look for calls in a text that is emitted as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Final, NamedTuple

from ...events.segment_event import SegmentEnd, SegmentEvent, SegmentStart
from ...events.tool_invocation import Notice
from ..engine.stage import How
from ..engine.state import Stateful
from .answer_segments import SegmentOutput, TextReader

SNIPPET: Final = 240
_SOURCE: Final = 4 * SNIPPET
"""Characters that are kept to make a snippet; more than `SNIPPET`, because runs of blanks are collapsed."""
KEPT: Final = 65_536
"""Characters of a text that are kept for a reader; a longer text is read although it has no name."""


class NameSearch(NamedTuple):
    """The names of tools, in all spellings, ready to be looked for in a text without upper case."""

    spellings: tuple[str, ...]
    whole: re.Pattern[str]
    """Finds one that is no part of a longer word."""
    longest: int
    """The most characters that tell whether a name is there."""

    def is_in(self, text: str) -> bool:
        """Return whether a text has a name; a name at its very end does not count, because it may go on."""
        # To look for each as it is costs less than one pattern for all.
        return any(each in text for each in self.spellings) and self.whole.search(text) is not None


def name_search(names: Iterable[str]) -> NameSearch:
    r"""Return the search for the names of tools, as they are and as JSON may have them.

    >>> search = name_search(["a/b"])
    >>> [search.is_in(text) for text in ('"a/b"', '"a\\/b"', "a/bc", "a/b")]
    [True, True, False, False]
    """
    written = (form for name in names for form in (name, json.dumps(name)[1:-1], name.replace("/", "\\/")))
    spellings = tuple(dict.fromkeys(form.casefold() for form in written))
    whole = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, spellings))})(?=\W)")
    return NameSearch(spellings, whole, max(map(len, spellings), default=0) + 1)


class TextCallWatch(Stateful):
    """Finds whole calls in one text, which is read only once it has the name of a tool, because most have none.

    - `kind`: `text` or `reasoning`. `names`: what `name_search` returns for those of the tools.
    - `pieces`: the text that has not been looked at.
    """

    STATE: ClassVar[tuple[str, ...]] = ("_call_id", "_length", "_name", "_source", "_tail", "pieces", "reader")
    PIECES = ("_before",)
    DETAIL: ClassVar[str] = (
        "the model wrote a call of {name!r} into its {kind} and not as a native call, so no tool was executed. "
        'To have such calls executed, pass text_calls="call", choose a strategy that reads them in the text, or let '
        "the server parse them (of vLLM, SGLang and others an option that names the model's tool call parser). "
        "The text: {snippet}"
    )

    def __init__(self, kind: str, names: NameSearch, new_reader: Callable[[], TextReader]) -> None:
        self.kind = kind
        self._new_reader = new_reader
        self._names = names
        self.reader: TextReader | None = None
        """What reads the text; None while no name has been found."""
        self._before: list[str] = []
        """The text that was looked at before there was a reader."""
        self._length: int = 0
        self.pieces: list[str] = []
        self._tail = ""
        """The end of the text before it, in which a name may have begun."""
        self._call_id = ""
        self._name = ""
        self._source = ""
        """The text of the open call, as far as a snippet needs it."""

    def look(self) -> Iterator[Notice]:
        """Yield a `Notice` for each call that the text since the last look makes whole."""
        text = "".join(self.pieces)
        self.pieces.clear()
        if self.reader is None:
            self._before.append(text)
            self._length += len(text)
            seen = self._tail + text.casefold()
            self._tail = seen[-self._names.longest :]
            if self._length <= KEPT and not self._names.is_in(seen):
                return
            self.reader = self._new_reader()
            text = "".join(self._before)
            self._before.clear()
        found: list[SegmentOutput] = []
        self.reader.feed(text, found)
        yield from self._notices(found)

    def close(self, how: How, finish: str | None) -> Iterator[Notice]:
        """Yield the notices of the end; `finish` is the answer's finish reason."""
        yield from self.look()
        found: list[SegmentOutput] = []
        if self.reader is not None:
            self.reader.close(how, finish, found)
        yield from self._notices(found)

    def new_part(self, _name: str, _state: Any, /) -> TextReader:
        return self._new_reader()

    def _notices(self, found: Iterable[SegmentOutput]) -> Iterator[Notice]:
        for event in found:
            if isinstance(event, SegmentStart) and event.segment_type == "tool_call":
                self._call_id, self._name = event.segment_id, event.metadata["tool_name"]
                self._source = event.raw[:_SOURCE]
            elif isinstance(event, SegmentEvent) and event.segment_id == self._call_id:
                self._source = (self._source + event.raw)[:_SOURCE]
                if isinstance(event, SegmentEnd) and event.status == "complete":
                    snippet = " ".join(self._source.split())[:SNIPPET]
                    said = {"name": self._name, "kind": self.kind, "snippet": snippet, **event.metadata}
                    yield Notice("text_call", self.DETAIL.format_map(said))
