"""`CallBlock`: a call on a terminal, with a line for each of its arguments as they arrive (`ArgumentLines`).

Needs `pip install ".[terminal]"`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from ...events.segment_event import AnySegmentEvent, Fragment, Path, SegmentStart
from ...events.tool_invocation import InvocationFailed, ToolInvocation
from ...operators.calls.call_arguments import CallArguments
from ..files.live_edit import LiveEdit
from ..parts.event_words import ending, harmless, in_a_line, shortened
from .terminal_region import BlockKey, BlockKind, Line, OneLine, last_cells

MARGIN = "  "
KEPT = 500
"""The most characters of a value that are kept, from each end; more than a row shows."""
CLOSING = {"{": "}", "[": "]", '"': '"'}
COUNTED_FROM = 40
"""The columns from which there is room for the length of a shortened value."""


class ArgumentLine:
    """One argument: a text as it is, any other value as JSON; a long text keeps its end, any other value both ends."""

    def __init__(self, name: str, *, is_text: bool) -> None:
        self._name = _one_line(name)
        self._is_text = is_text
        self._head = self._tail = ""
        self._length = 0

    def add(self, piece: str) -> None:
        if self._length < KEPT:
            self._head = (self._head + piece)[:KEPT]
        self._tail = (self._tail + piece[-KEPT:])[-KEPT:]
        self._length += len(piece)

    def line(self, width: int) -> Line:
        name, room = self._name, width // 3
        if cell_len(name) > room:
            name = set_cell_size(name, max(0, room - 1)).rstrip() + "…"
        label = f"{MARGIN}{name}: " if name else MARGIN
        return [Segment(label, Style(dim=True)), Segment(self._value(max(1, width - cell_len(label))))]

    def _value(self, room: int) -> str:
        whole = _one_line(self._head)
        if self._length <= KEPT and cell_len(whole) <= room:
            return whole
        count = f" ({self._length:,} characters)" if room >= COUNTED_FROM else ""
        room -= len(count) + 1
        head = "" if self._is_text else set_cell_size(whole, room // 3).rstrip()
        return f"{head}…{last_cells(_one_line(self._tail), room - cell_len(head))}{count}"


class ArgumentLines:
    """The lines of a call's arguments; the cost of a piece does not depend on those before it.

    >>> lines = ArgumentLines()
    >>> lines.feed([Fragment((), "OPEN", "{"), Fragment(("city",), "OPEN", '"'), Fragment(("city",), "TEXT", "Par")])
    >>> ["".join(segment.text for segment in line) for line in lines.last(5, 80)]
    ['  city: Par']
    """

    def __init__(self) -> None:
        self._lines: dict[str, ArgumentLine] = {}
        self._line: ArgumentLine | None = None  # of the open argument
        self._closing: list[str] = []  # what closes the open values
        self._is_first = True  # in the nested value that is open
        self._is_scalar = False

    def __len__(self) -> int:
        return len(self._lines)

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> ArgumentLines:
        """Return the lines of arguments that are complete."""
        lines = cls()
        for name, value in arguments.items():
            is_text = isinstance(value, str)
            lines._begin(name, is_text=is_text)
            lines._add(value if is_text else json.dumps(value, ensure_ascii=False, default=repr))
        return lines

    def first(self, number: int, width: int) -> list[Line]:
        return [line.line(width) for line in islice(self._lines.values(), number)]

    def last(self, number: int, width: int) -> list[Line]:
        newest = list(islice(reversed(self._lines.values()), number))
        return [line.line(width) for line in reversed(newest)]

    def feed(self, fragments: Iterable[Fragment]) -> None:
        for fragment in fragments:
            path, kind, value = fragment.path, fragment.kind, fragment.value
            if kind == "TEXT":
                self._add(value if len(path) < 2 else _json(value)[1:-1])
            elif kind == "DONE":
                self._close()
            else:
                self._open(path, value, is_scalar=kind == "SCALAR")

    def _open(self, path: Path, value: Any, *, is_scalar: bool) -> None:
        is_text = value == '"' and not is_scalar
        if len(path) > 1:
            key = f"{_json(path[-1])}: " if isinstance(path[-1], str) else ""
            self._add(key if self._is_first else f", {key}")
        elif path or is_text or is_scalar:
            self._begin(str(path[0]) if path else "", is_text=is_text)
        self._is_scalar, self._is_first = is_scalar, True
        if is_scalar:
            self._add(_json(value))
        else:
            shown = len(path) > 1 or (bool(path) and not is_text)
            self._add(value if shown else "")
            self._closing.append(CLOSING[value] if shown else "")

    def _close(self) -> None:
        if not self._is_scalar and self._closing:
            self._add(self._closing.pop())
        self._is_scalar = self._is_first = False

    def _begin(self, name: str, *, is_text: bool) -> None:
        self._lines.pop(name, None)  # of repeated keys the last one counts
        self._lines[name] = self._line = ArgumentLine(name, is_text=is_text)

    def _add(self, text: str) -> None:
        if self._line is not None:
            self._line.add(text)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _one_line(text: str) -> str:
    return harmless(text).replace("\n", "\\n").replace("\t", "\\t")


MOST_LINES = 40
"""The most arguments that are shown of a call that has ended."""
LONGEST_RAW = 200
"""The characters shown of a text in which no argument was found."""


class CallBlock:
    """A call: its name, and a line for each argument as it arrives; then the arguments that may be run."""

    kind: BlockKind = "line"

    def __init__(self, identity: BlockKey, name: str, note: str, start: SegmentStart) -> None:
        self.identity = identity
        self.waits_for_verdict = False
        self._verdict: ToolInvocation | OneLine | None = None
        self._name, self._note = harmless(name), note
        self._arguments = CallArguments(start, name, {})
        self._lines = ArgumentLines()
        self._raw = ""
        self._over = False
        self._ending = ""
        self._edit: LiveEdit | None = None

    @property
    def ended(self) -> bool:
        return self._over and not self.waits_for_verdict

    def read(self, event: AnySegmentEvent) -> None:
        """Read the arguments in an event of the call's segment."""
        self._lines.feed(self._arguments.fragments(event))

    def feed(self, delta: str) -> None:
        if len(self._raw) <= LONGEST_RAW:
            self._raw += delta[: LONGEST_RAW + 1]

    def follow(self, edit: LiveEdit) -> None:
        """Show the counts of an edit, and what of it does not match, from now on."""
        self._edit = edit

    def know(self, metadata: dict[str, Any]) -> None:
        """Ignore the metadata, because nothing of it is shown."""

    def end(self, status: str, reason: str | None) -> None:
        self._over = True
        self._ending = ending(status, reason)

    def decide(self, verdict: ToolInvocation | InvocationFailed, line: OneLine) -> None:
        """Take the event that says whether the call may be run, and its line."""
        self._verdict = verdict if isinstance(verdict, ToolInvocation) else line

    def settled(self, width: int, rows: int) -> list[Line]:
        if not self.ended:
            return []
        if isinstance(self._verdict, ToolInvocation):
            return self._invoked(self._verdict, width, rows)
        raw = "" if self._lines else shortened(self._raw, LONGEST_RAW)
        words = [self._name, self._note, raw, self._ending and f"[{self._ending}]"]
        lines = OneLine(" ".join(filter(None, words)), "dim").settled(width, rows)
        lines += self._lines.first(MOST_LINES, width) + _left_out(self._lines)
        return lines + (self._verdict.settled(width, rows) if self._verdict else [])

    def live(self, width: int, rows: int) -> list[Line]:
        words = " ".join(filter(None, (self._name, self._note)))
        head: Line = [Segment(words, Style(bold=True))]
        if self._edit is not None and rows > 1:
            head.append(Segment(f"  {self._edit}", Style(dim=True)))
            head += (Segment(f"  ✗ {in_a_line(fault)}", Style(color="red")) for fault in self._edit.faults[:1])
        arguments = self._lines.last(rows - 1, width)
        if rows == 1:
            for label, value in self._lines.last(1, max(1, width - cell_len(words))):
                head += [Segment(label.text[1:], label.style), value]
        return [Segment.adjust_line_length(head, width, pad=False), *arguments]

    def _invoked(self, call: ToolInvocation, width: int, rows: int) -> list[Line]:
        """Return the call as it may be run, which may differ from how it was written."""
        arguments = ArgumentLines.of(call.arguments)
        words = f"→ {harmless(call.name)}{'' if arguments else '()'}"
        head = OneLine(" ".join(filter(None, (words, self._note))), "bold green").settled(width, rows)
        return [*head, *arguments.first(MOST_LINES, width), *_left_out(arguments)]


def _left_out(arguments: ArgumentLines) -> list[Line]:
    number = len(arguments) - MOST_LINES
    return [[Segment(f"{MARGIN}… and {number:,} more", Style(dim=True))]] if number > 0 else []
