"""`OpenFence`: a block of code in Markdown that grows. Needs `pip install ".[terminal]"`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it.token import Token

from .file_tail import FileTail

_lines = re.compile(r"[^\n]*\n|[^\n]+").finditer


@dataclass(frozen=True)
class Code:
    """A finished block of code; `info` names its language; `joined`: it directly follows the line before."""

    info: str
    source: str
    joined: bool


class OpenFence:
    """Reads code up to the fence that closes it; the cost of a piece does not depend on the code before it."""

    def __init__(self, opening: Token, indent: int, *, joined: bool) -> None:
        self.info = opening.info
        self.joined = joined
        self.tail = FileTail()
        mark = re.escape(opening.markup[0])
        self._closes = re.compile(rf" {{0,3}}{mark}{{{len(opening.markup)},}} *").fullmatch
        self._may_close = re.compile(rf" {{0,3}}{mark}* *").fullmatch
        self._remove_indent = re.compile(rf"^ {{0,{indent}}}").sub
        self._pieces: list[str] = []
        self._held = ""  # the beginning of a line, which may be the fence
        self._in_line = False

    def read(self, text: str) -> str | None:
        """Read text; return what follows the closing fence, or None as long as the code is open."""
        text, self._held = self._held + text, ""
        for match in _lines(text):
            line = match[0]
            if not self._in_line:
                if line.endswith("\n"):
                    if self._closes(line[:-1]):
                        return text[match.end() :]
                elif self._may_close(line):
                    self._held = line
                    break
                line = self._remove_indent("", line)
            self._in_line = not line.endswith("\n")
            self._add(line)
        return None

    def end(self) -> None:
        """Take what is left for code, if it is not the closing fence."""
        if not self._closes(self._held):
            self._add(self._remove_indent("", self._held))

    def code(self) -> Code:
        return Code(self.info, "".join(self._pieces), self.joined)

    def _add(self, text: str) -> None:
        self._pieces.append(text)
        self.tail.feed(text)
