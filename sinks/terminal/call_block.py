"""`CallBlock`: a call on a terminal, with a line for each of its arguments. Needs `pip install ".[terminal]"`."""

from __future__ import annotations

from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from ...events.segment_event import AnySegmentEvent, SegmentStart
from ...events.tool_invocation import InvocationFailed, ToolInvocation
from ...operators.calls.call_arguments import CallArguments
from ..wording.event_words import ending
from ..wording.printable import harmless, shortened
from .argument_lines import MARGIN, ArgumentLines
from .terminal_blocks import Identity, Kind, OneLine
from .terminal_region import Line

MOST_LINES = 40
"""The most arguments that are shown of a call that has ended."""
LONGEST_RAW = 200
"""The characters shown of a text in which no argument was found."""


class CallBlock:
    """A call: its name, and a line for each argument as it arrives; then the arguments that may be run."""

    kind: Kind = "line"

    def __init__(self, identity: Identity, name: str, note: str, start: SegmentStart) -> None:
        self.identity = identity
        self.waits_for_verdict = False
        self._verdict: ToolInvocation | OneLine | None = None
        self._name, self._note = harmless(name), note
        self._arguments = CallArguments(start, name, {})
        self._lines = ArgumentLines()
        self._raw = ""
        self._over = False
        self._ending = ""

    @property
    def ended(self) -> bool:
        return self._over and not self.waits_for_verdict

    def read(self, event: AnySegmentEvent) -> None:
        """Read the arguments in an event of the call's segment."""
        self._lines.feed(self._arguments.fragments(event))

    def feed(self, delta: str) -> None:
        if len(self._raw) <= LONGEST_RAW:
            self._raw += delta[: LONGEST_RAW + 1]

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
