"""`MarkdownReader`: divide a growing Markdown text into its blocks; `IncomingText`: pieces of a text, safe to print.

`IncomingText` collects the pieces that arrive between two frames; `FileTail` has the last lines, and their number;
`OpenFence` is a block of code that grows.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ..parts.event_words import harmless

LINES_KEPT = 400
WIDEST = 1000
"""The most characters kept of a line: more than any screen has columns."""


class FileTail:
    r"""Keeps the last lines of a growing text; cost and memory of a piece do not depend on the text before it.

    >>> tail = FileTail()
    >>> tail.feed("one\ntw")
    >>> tail.feed("o\nthree")
    >>> tail.count, tail.last(2)
    (3, ['two', 'three'])
    """

    __slots__ = ("_complete", "_lines", "_open")

    def __init__(self) -> None:
        self._complete = 0
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._open = ""  # the line that has not ended

    @property
    def count(self) -> int:
        return self._complete + bool(self._open)

    def feed(self, delta: str) -> None:
        if "\n" in delta:
            first, *lines, rest = delta.split("\n")
            self._complete += 1 + len(lines)
            self._lines.append((self._open + first)[:WIDEST])
            self._lines.extend(line[:WIDEST] for line in lines[-LINES_KEPT:])
            self._open = rest[:WIDEST]
        elif len(self._open) < WIDEST:
            self._open = (self._open + delta)[:WIDEST]

    def last(self, number: int) -> list[str]:
        """Return the last lines, at most `number` of them and at most `LINES_KEPT`."""
        lines = [*self._lines, self._open] if self._open else list(self._lines)
        return lines[-number:] if number > 0 else []


TAB = 4


class IncomingText:
    r"""Collects pieces and returns them as one text, with line ends as line feeds and tabs as blanks.

    >>> text = IncomingText()
    >>> text.feed("a\r")
    >>> text.take()
    'a'
    >>> text.feed("\nb")
    >>> text.take()
    '\nb'
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def feed(self, piece: str) -> None:
        self._pieces.append(piece)

    def take(self, *, ended: bool = False) -> str:
        """Return what has arrived since the last time; half of a line's end waits for the other half."""
        if not self._pieces:
            return ""
        text = "".join(self._pieces)
        self._pieces.clear()
        if text.endswith("\r") and not ended:
            self._pieces.append("\r")
            text = text[:-1]
        return harmless(text.replace("\r\n", "\n")).replace("\t", " " * TAB)


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


def show_all(tokens: Iterable[Token]) -> None:
    """Change tokens in place: lines end where they were ended, the targets of links and images are text.

    What a terminal would obey is escaped, because an entity such as `&#8238;` may stand for it.
    """
    for token in tokens:
        token.content = harmless(token.content)
        if token.children is not None:
            token.children = _joined(_shown(token.children))


def _shown(inlines: list[Token]) -> Iterator[Token]:
    target = said = ""
    for token in inlines:
        token.content = harmless(token.content)
        said += token.content
        if token.type == "link_open":
            target, said = str(token.attrs.get("href", "")), ""
        elif token.type == "link_close":
            if target not in (said, f"mailto:{said}"):
                yield _text(f" ({target})")
        elif token.type == "image":
            yield _text(f"![{token.content}]({token.attrs.get('src', '')})")
        elif token.type in ("softbreak", "hardbreak"):
            yield _text("\n")
        else:
            yield token


def _joined(inlines: Iterable[Token]) -> list[Token]:
    """Return tokens with one text for texts that follow each other, which rich draws in much less time."""
    joined: list[Token] = []
    for token in inlines:
        if joined and joined[-1].type == token.type == "text":
            joined[-1] = _text(joined[-1].content + token.content)
        else:
            joined.append(token)
    return joined


def _text(content: str) -> Token:
    return Token("text", "", 0, content=harmless(content))


LONGEST = 8000
"""The most characters of a block; a longer one is divided, which bounds the cost of a frame."""
STEP = 1000
"""The most characters that are read at once; what stands behind a block of code is read again with the next one."""
TABLE_HEAD = 2
"""Lines of the head of a table, which is repeated where a table is divided."""
CLOSED_BY_THEIR_LINE = frozenset(("heading_open", "hr"))
CLOSED_BY_A_BLANK_LINE = frozenset(("paragraph_open", "blockquote_open", "table_open"))
LISTS = frozenset(("bullet_list_open", "ordered_list_open"))

# Without what would hide text (HTML, definitions of links). Underlined headings are left out because in an answer
# hyphens below a text are meant as a rule.
_PARSER = (
    MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable(["reference", "lheading"])
)
# It tells each rule that it tries, which in a program that logs all would be written across the screen.
logging.getLogger("markdown_it").setLevel(logging.INFO)

_match_blank_lines = re.compile(r"(?: *\n)+").match
_last_bare_marks = re.compile(r"(?:^|\n) *(?:[-=*+#>|`~_: ]+|\d+[.)]) *\Z").search
_match_whole_words = re.compile(r".*\s(?=[^\W\d_])", re.DOTALL).match  # a letter begins no block


@dataclass(frozen=True)
class Passage:
    """A block that is not code: its tokens, and its source; `joined`: it directly follows the line before."""

    tokens: list[Token]
    source: str
    joined: bool


class _Block(NamedTuple):
    passage: Passage
    start: int
    end: int
    """The lines of the block in the text."""
    number: int | None
    """Of an item in a numbered list."""

    @property
    def opening(self) -> Token:
        return self.passage.tokens[0]


class MarkdownReader:
    r"""Reads Markdown in pieces: finished blocks are in `parts`, the rest is unfinished.

    >>> reader = MarkdownReader()
    >>> reader.feed("# Title\n\nSome *te")
    >>> [part.source for part in reader.parts], [part.source for part in reader.unfinished()]
    (['# Title'], ['Some *te'])

    What is finished depends on complete lines only, so it does not depend on how the text is cut. Each item of a list
    is a block. Code is read line by line, and `fence` is the open block of code. The cost of a piece depends neither on
    the finished text nor on open code, and on `LONGEST` characters of an open block at most.
    """

    def __init__(self) -> None:
        self.parts: list[Passage | Code] = []
        self.fence: OpenFence | None = None
        self._text = ""  # behind the finished blocks
        self._joined = True
        self._number: int | None = None  # of the next item, where a numbered list goes on

    def feed(self, text: str) -> None:
        for start in range(0, len(text), STEP):
            self._feed(text[start : start + STEP])

    def _feed(self, text: str) -> None:
        self._text += text
        if self.fence is not None or "\n" in text or len(self._text) > LONGEST:
            self._read(ended=False)

    def end(self) -> None:
        self._read(ended=True)

    def unfinished(self) -> list[Passage]:
        """Return the unfinished blocks that are not open code.

        A last line of marks alone is left out, because what follows decides what they mean.
        """
        text = self._text
        if (marks := _last_bare_marks(text)) is not None:
            text = text[: marks.start()]
        return [block.passage for block in self._blocks(text)]

    def _read(self, *, ended: bool) -> None:
        while self._read_block(ended=ended) if self.fence is None else self._read_code(self.fence, ended=ended):
            pass

    def _read_code(self, fence: OpenFence, *, ended: bool) -> bool:
        rest = fence.read(self._text)
        self._text = rest or ""
        if rest is None:
            if not ended:
                return False
            fence.end()
        self.parts.append(fence.code())
        self.fence, self._joined = None, True
        return True

    def _read_block(self, *, ended: bool) -> bool:
        """Move finished blocks to `parts`; return whether there may be more."""
        if (blanks := _match_blank_lines(self._text)) is not None:
            self._text = self._text[blanks.end() :]
            self._joined = False
        text = self._text[:LONGEST]
        is_rest = len(text) == len(self._text)
        is_all = ended and is_rest
        if not is_all:
            text = text[: text.rfind("\n") + 1]
            if not text and not is_rest:
                words = _match_whole_words(self._text, 0, LONGEST)
                text = words[0] if words else self._text[:LONGEST]
        if not (blocks := self._blocks(text)):
            self._text = self._text[len(text) :]
            return bool(text)
        lines = text.split("\n")
        fence = next((at for at, block in enumerate(blocks) if block.opening.type == "fence"), None)
        if fence == 0:
            self._open(blocks[0], lines[0])
            return True
        done = len(blocks) if fence is None else fence
        if fence is None and not is_all and not _is_closed(blocks[-1], lines):
            done -= 1
        if done:
            self._finish(blocks, done, text)
        elif not is_rest:
            self._divide(blocks[0], text)
        return done > 0 or not is_rest

    def _open(self, block: _Block, line: str) -> None:
        """Begin to read code behind the line of its fence."""
        indent = len(line) - len(line.lstrip(" "))
        self.fence = OpenFence(block.opening, indent, joined=block.passage.joined)
        self._text = self._text[len(line) :].removeprefix("\n")
        self._number = None

    def _divide(self, block: _Block, text: str) -> None:
        """Move a block that is too long to `parts` as far as it is in a text; a table goes on with the same head."""
        self._finish([block], 1, text)
        if block.opening.type == "table_open" and block.end > TABLE_HEAD:
            self._text = "".join(f"{line}\n" for line in text.split("\n")[:TABLE_HEAD]) + self._text

    def _finish(self, blocks: list[_Block], done: int, text: str) -> None:
        """Move blocks of a text to `parts`, and go on behind them."""
        self.parts += [block.passage for block in blocks[:done]]
        coming = blocks[done] if done < len(blocks) else None
        at = coming.start if coming else blocks[-1].end
        self._text = self._text[min(sum(len(line) + 1 for line in text.split("\n")[:at]), len(text)) :]
        self._joined = coming.passage.joined if coming else True
        self._number = coming.number if coming else None

    def _blocks(self, text: str) -> list[_Block]:
        """Return the blocks of a text that goes on behind the finished ones."""
        tokens = _PARSER.parse(text)
        show_all(tokens)
        lines = text.split("\n")
        blocks: list[_Block] = []
        for group in _groups(tokens, 0):
            items = list(_groups(group[1:-1], 1)) if group[0].type in LISTS else [group]
            number = None
            for item in items:
                start, end = item[0].map or (0, len(lines))
                tokens = item
                if item is not group:
                    if group[0].type == "ordered_list_open":
                        first = self._number if not blocks and self._number is not None else int(item[0].info)
                        number = first if number is None else number + 1
                    tokens = [_with_number(group[0], number), *item, group[-1]]
                joined = not lines[start - 1].isspace() and lines[start - 1] != "" if start else self._joined
                source = "\n".join(lines[start:end]).rstrip()
                blocks.append(_Block(Passage(tokens, source, joined), start, end, number))
        return blocks


def _groups(tokens: list[Token], level: int) -> Iterator[list[Token]]:
    """Divide tokens into those of each block of a level."""
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == level and token.nesting <= 0:
            yield group
            group = []


def _with_number(opening: Token, number: int | None) -> Token:
    return opening if number is None else opening.copy(attrs={"start": number})


def _is_closed(block: _Block, lines: list[str]) -> bool:
    """Return whether a block cannot go on behind these lines, the last of which is not complete."""
    kind = block.opening.type
    if kind in CLOSED_BY_THEIR_LINE:
        return True
    return kind in CLOSED_BY_A_BLANK_LINE and block.end < len(lines) - 1 and not lines[block.end].strip(" ")
