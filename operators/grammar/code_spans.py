"""Code in a text, as Markdown writes it: between backticks on one line, or in a fence with a language."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from ..engine.state import Stateful
from ..machines.marker_search import end_of_run

_RUN: Final = re.compile(r"`*+")
_BLANKS: Final = re.compile(r"[ \t\r]*+")
_LANGUAGE: Final = re.compile(r"[ \t]*([\w+#./-]*)[ \t\r]*")
_FEWEST_OF_FENCE: Final = 3
_LONGEST_LANGUAGE: Final = 80
ANY_LANGUAGE: Final = "*"
Place: TypeAlias = tuple[str, str]
"""Where in the markup a text is: the state, and the language of the fence."""
NO_CODE: Final[Place] = ("text", "")
_TO_STOP: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"text": ("`",), "span": ("`", "\n"), "fence": ("`",), "closing": ()}
)


class CodeSpans(Stateful):
    """Where in a text code begins and ends, as far as it has been read.

        text      a run of backticks                          span
        span      as many backticks                           text
                  the end of the line                         fence, if three or more backticks and a word began it;
                                                              else text
        fence     as many backticks or more                   closing
        closing   the end of the line                         text
                  other text                                  fence

    The left column is the state, the middle one what comes, and the right one the next state. An inline code span ends
    with its line, even without its closer, so that one stray backtick hides only what is on its line.

    - `language`: the word behind the opener of the fence, in lower case.
    """

    STATE = __slots__ = ("_length", "_run", "_said", "_state", "language")

    def __init__(self) -> None:
        self._state = "text"
        self._length = 0
        """Of the backticks that began the code."""
        self._run = 0
        """Of the backticks that came last, if more may come."""
        self._said = ""
        """What came in the line behind the backticks."""
        self.language = ""

    @property
    def stops(self) -> tuple[str, ...]:
        """The markers at which the text must be read by `go_on`."""
        return stops_in(self.place)

    @property
    def is_undecided(self) -> bool:
        """Whether the next character must be read by `go_on`, whatever it is."""
        return self._run > 0 or self._state == "closing"

    @property
    def place(self) -> Place:
        """Where in the markup the text is, which tells what `hides` and `stops_in` return."""
        return self._state, self.language

    @property
    def keeps_line(self) -> bool:
        """Whether the text of the line must be passed to `note`, because it may be the language of a fence."""
        return self._state == "span" and self._length >= _FEWEST_OF_FENCE

    def note(self, text: str) -> None:
        """Note text of the line, in which there is no marker."""
        self._said = (self._said + text)[:_LONGEST_LANGUAGE]

    def go_on(self, buffer: str, position: int) -> int:
        """Read on from a position, at which a marker is unless it is undecided; return how far."""
        if buffer[position] == "`" and self._state != "closing":
            upto = end_of_run(_RUN, buffer, position)
            self._run += upto - position
            if upto < len(buffer):
                self._end_run()
            return upto
        if self._run:
            self._end_run()
            if self._state != "closing":
                return position
        if self._state == "closing":
            upto = end_of_run(_BLANKS, buffer, position)
            if upto < len(buffer):
                self._state = "text" if buffer[upto] == "\n" else "fence"
            return upto
        self._end_line()
        return position + 1

    def _end_run(self) -> None:
        length, self._run = self._run, 0
        if self._state == "text":
            self._state, self._length, self._said = "span", length, ""
        elif self._state == "span" and length == self._length:
            self._state = "text"
        elif self._state == "span":
            self.note("`" * length)
        elif length >= self._length:
            self._state = "closing"

    def _end_line(self) -> None:
        said = _LANGUAGE.fullmatch(self._said) if self.keeps_line else None
        self._state = "text" if said is None else "fence"
        self.language = "" if said is None else said[1].casefold()


def stops_in(place: Place) -> tuple[str, ...]:
    """Return the markers at which the text must be read by `CodeSpans.go_on`."""
    return _TO_STOP[place[0]]


def hides(place: Place, languages: Collection[str]) -> bool:
    """Return whether what comes next is code, and not in a fence of one of these languages."""
    state, language = place
    if state == "text":
        return False
    return state == "span" or not (language in languages or ANY_LANGUAGE in languages)
