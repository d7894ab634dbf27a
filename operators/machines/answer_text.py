"""Read the value of an answer's text: JSON, which may be in a Markdown fence, or the text itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

from msgspec.structs import replace

from ...events.segment_event import Fragment, JsonError
from ..engine.limits import Limits
from ..engine.state import Stateful
from ..engine.withheld import Withheld, held_by
from .json_machine import JsonMachine

_BLANKS: Final = " \t\n\r"
_FENCE: Final = "```"
_match_opener: Final = re.compile(r"```[A-Za-z0-9]{0,10}[ \t]{0,10}\r?\n").match
_match_cut_opener: Final = re.compile(r"(?:`{0,2}|```[A-Za-z0-9]{0,10}[ \t]{0,10}\r?)\Z").match


class AnswerText(Protocol):
    """Reads one text in pieces: `feed` each, `close` once."""

    error: JsonError | None

    @property
    def is_blank(self) -> bool: ...
    @property
    def is_whole(self) -> bool: ...
    @property
    def span(self) -> slice: ...
    def feed(self, text: str, /) -> Sequence[Fragment]: ...
    def close(self, *, cut: bool) -> Sequence[Fragment]: ...
    def withheld(self) -> Sequence[Withheld]: ...
    def dump(self) -> Any: ...
    def load(self, state: Any, /) -> None: ...


class FencedJson(Stateful):
    r"""Read one JSON text in pieces cut anywhere, alone or in one whole Markdown fence.

    >>> from penstock.operators import Limits
    >>> reader = FencedJson(Limits())
    >>> [piece.kind for text in ("\n```json\n[tr", "ue]\n``", "`") for piece in reader.feed(text)]
    ['OPEN', 'SCALAR', 'DONE', 'DONE']
    >>> reader.is_whole, "\n```json\n[true]\n```"[reader.span]
    (True, '[true]\n')

    Only blanks may precede and follow. A fence may have a language, and its last line may be missing: the JSON shows by
    itself that it is whole.

    - `error`: the error, or None; its `at` counts characters of the whole text.
    - `span`: the place of the JSON in the whole text.
    """

    STATE = ("_end", "_header", "_in_fence", "_phase", "_start", "_ticks", "error", "machine", "read")
    __slots__ = (*STATE, "_fenced")

    def __init__(self, limits: Limits, *, fenced: bool = True) -> None:
        self.machine = JsonMachine(limits)
        self.error: JsonError | None = None
        self.read = 0
        self._fenced = fenced
        self._phase = "before"
        """before (only blanks have come), opener (in the first line of a fence), json, closer (behind it)."""
        self._header = ""
        """The first line of the fence, as far as it has come."""
        self._in_fence = False
        self._start = 0
        self._end: int | None = None
        self._ticks = 0
        """The backticks that have come of the fence's last line."""

    @property
    def is_blank(self) -> bool:
        """Whether nothing but blanks has arrived."""
        return self._phase == "before"

    @property
    def is_whole(self) -> bool:
        """Whether a whole JSON value has arrived, and nothing wrong behind it."""
        return self.machine.root_closed and self.error is None

    @property
    def span(self) -> slice:
        return slice(self._start, self._end)

    def feed(self, text: str) -> Sequence[Fragment]:
        """Return the fragments that this text makes certain."""
        if self._phase == "json":
            return self._json(text)
        if self._phase == "before":
            stripped = text.lstrip(_BLANKS)
            self.read += len(text) - len(stripped)
            if not stripped:
                return ()
            text = stripped
            self._start = self.read
            self._phase = "opener" if self._fenced and text[0] == "`" else "json"
        if self._phase == "json":
            return self._json(text)
        if self._phase == "closer":
            self._closer(text)
            return ()
        return self._opener(text)

    def close(self, *, cut: bool) -> Sequence[Fragment]:
        """Return the fragments of a number at the root that the end completes; `cut` as for `JsonMachine.close`."""
        if self._phase == "opener" and self.error is None:
            self.error = JsonError("truncated", self.read, "the rest of the line that opens a fence")
        if self._phase != "json" or self.error is not None:
            return ()
        return self._checked(self.machine.close(cut=cut))

    def withheld(self) -> Sequence[Withheld]:
        if self.error is not None:
            return ()
        if self._header:
            whole = self._header if self._header.startswith(_FENCE) else _FENCE
            return (Withheld(self._header, "it may be the first line of a fence", (whole.rstrip("\r") + "\n",)),)
        return held_by(self.machine)

    def _opener(self, text: str) -> Sequence[Fragment]:
        if self.error is not None:
            return ()
        self._header += text
        self.read += len(text)
        opener = _match_opener(self._header)
        if opener is None:
            if _match_cut_opener(self._header) is None:
                self.error = JsonError("malformed", self._start, "a value", "`")
            return ()
        rest = self._header[opener.end() :]
        self._header = ""
        self.read -= len(rest)
        self._start = self.read
        self._phase = "json"
        self._in_fence = True
        return self._json(rest)

    def _json(self, text: str) -> Sequence[Fragment]:
        if self.error is not None:
            return ()
        before = self.read
        self.read += len(text)
        return self._checked(self.machine.feed(text), text, before)

    def _checked(self, items: Sequence[Fragment | JsonError], text: str = "", before: int = 0) -> Sequence[Fragment]:
        """Return the fragments; note an error, unless it is the last line of a fence."""
        if not items or not isinstance(error := items[-1], JsonError):
            return cast("Sequence[Fragment]", items)
        at = self._start + error.at
        if self._in_fence and self.machine.root_closed and error.found == "`":
            self._phase = "closer"
            self._end = self.read = at
            self._closer(text[at - before :])
        else:
            self.error = replace(error, at=at)
        return cast("Sequence[Fragment]", items[:-1])

    def _closer(self, text: str) -> None:
        if self.error is not None:
            return
        for place, character in enumerate(text, self.read):
            if self._ticks < len(_FENCE) and character == "`":
                self._ticks += 1
            elif self._ticks < len(_FENCE) or character not in _BLANKS:
                self.error = JsonError("malformed", place, "the end of the fence", character)
                break
        self.read += len(text)


class PlainText(Stateful):
    """Read a text that is the value itself: a string at the root, which the end of the text completes."""

    STATE = __slots__ = ("error", "is_blank", "is_whole", "read")

    def __init__(self) -> None:
        self.error: JsonError | None = None
        self.is_blank = True
        self.is_whole = False
        self.read = 0

    @property
    def span(self) -> slice:
        return slice(None)

    def feed(self, text: str) -> Sequence[Fragment]:
        if not text:
            return ()
        at = self.read
        self.read += len(text)
        self.is_blank = self.is_blank and text.isspace()
        piece = Fragment((), "TEXT", text, at)
        return (piece,) if at else (Fragment((), "OPEN", '"'), piece)

    def withheld(self) -> Sequence[Withheld]:
        return ()

    def close(self, *, cut: bool) -> Sequence[Fragment]:
        if cut or not self.read:
            self.error = JsonError("truncated", self.read, "the rest of the text")
            return ()
        self.is_whole = True
        return (Fragment((), "DONE", None, self.read),)
