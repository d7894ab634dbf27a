"""`TerminalPage`: the blocks that are not in the scrollback yet, in order. Needs `pip install ".[terminal]"`."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from ...events.answer_end import AnswerEnd, OutputFailed
from ...events.segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import FileResult, InvocationFailed, Notice, ToolCallStatus, ToolInvocation, ToolResult
from ..files.edit_tracker import FolderEdits
from ..files.live_edit import LiveEdit
from ..parts.event_words import LineEvent, event_line, stream_error
from .call_block import CallBlock
from .file_panel import FilePanel, PanelGroup
from .markdown_flow import MarkdownFlow
from .terminal_region import Block, BlockKey, BlockKind, Line, Medium, OneLine, RowFlow, SegmentBlock

FLOWS: dict[str, tuple[BlockKind, str, str, str, str]] = {
    "text": ("prose", "", "", "", ""),
    "reasoning": ("prose", "dim italic", "│ ", "│ ", "reasoning"),
    "refusal": ("prose", "yellow", "refused: ", "", ""),
    "run_bash": ("line", "bold", "$ ", "  ", ""),
}
"""For each segment type: kind of block, style, prefix of the first row, prefix of the other rows, heading."""
STYLES: dict[type[LineEvent], str] = {
    ToolInvocation: "bold green",
    InvocationFailed: "red",
    OutputFailed: "red",
    Notice: "yellow",
    AnswerEnd: "yellow",
    ToolResult: "red",
    FileResult: "red",
    ToolCallStatus: "yellow",
}
GAP = 1
"""The blank rows between prose and other blocks."""


class TerminalPage:
    """The blocks in order of their start; finished ones at the front go to the scrollback."""

    def __init__(self, console: Console, theme: str | None, *, markdown: bool = True, root: str | None = None) -> None:
        self._console, self._theme, self._markdown = console, theme, markdown
        self._edits = FolderEdits(root)
        self._blocks: list[Block] = []
        self._open: dict[BlockKey, SegmentBlock] = {}
        self._unsettled: CallBlock | None = None
        """The call that ended last; an invocation or failure that directly follows replaces its line."""
        self._ends: list[OneLine] = []
        """The lines about answers that ended, which are not shown if the error of the stream follows."""
        self._last: BlockKind | None = None  # of what went to the scrollback last
        self._front: Block | None = None  # the block of which a part is there

    def feed(self, event: Any) -> bool:
        """Process an event; return whether the screen changes."""
        edit = self._edits.feed(event)
        if isinstance(event, AnswerEnd):
            self._settle()
            self._ends += self._line(event)
            return True
        self._blocks += self._ends
        self._ends.clear()
        if isinstance(event, SegmentStart | SegmentContent | SegmentEnd):
            self._settle()
            return self._segment(event, edit)
        if not isinstance(
            event, ToolInvocation | InvocationFailed | Notice | ToolResult | ToolCallStatus | OutputFailed
        ):
            return False
        return self._told(event)

    def _told(
        self, event: ToolInvocation | InvocationFailed | Notice | ToolResult | ToolCallStatus | OutputFailed
    ) -> bool:
        lines = self._line(event)
        if not lines:
            return False
        (line,) = lines
        if isinstance(event, ToolInvocation | InvocationFailed) and (call := self._call((event.turn_id, event.id))):
            call.decide(event, line)
        else:
            self._blocks.append(line)
        self._settle()
        return True

    def close(self, error: BaseException | None) -> None:
        """End all open blocks, and add a line for the error that ended the stream, if any."""
        self._settle()
        for segment in self._open.values():
            said = error is not None and isinstance(segment, RowFlow | MarkdownFlow)  # by the line below
            segment.end("complete" if said else "interrupted", None)
        self._open.clear()
        self._blocks += self._ends if error is None else [OneLine(stream_error(error), "red")]
        self._ends.clear()

    def release(self) -> None:
        """Close the folder of the files."""
        self._edits.close()

    def take(self, width: int, rows: int) -> tuple[list[Line], list[Line]]:
        """Return the lines that go to the scrollback now, and at most `rows` live rows."""
        above: list[Line] = []
        while self._blocks:
            block = self._blocks[0]
            lines = block.settled(width, rows - GAP)
            if lines:
                if block is not self._front:
                    above += self._gap(self._last, block.kind)
                    self._last, self._front = block.kind, block
                above += lines
            if not block.ended:
                break
            del self._blocks[0]
        return above, self._live(width, rows)

    def _live(self, width: int, rows: int) -> list[Line]:
        small = [block for block in self._blocks if not isinstance(block, PanelGroup)]
        groups = len(self._blocks) - len(small)
        share = max(1, (rows // 2 if groups else rows) // max(1, len(small)))
        drawn = {id(block): block.live(width, share) for block in small}
        used = sum(len(lines) + GAP for lines in drawn.values() if lines)
        room = max(rows - used - GAP, rows // 2) // max(1, groups)
        live: list[Line] = []
        last = self._last
        for block in self._blocks:
            lines = block.live(width, room) if isinstance(block, PanelGroup) else drawn[id(block)]
            if lines:
                if block is not self._front:
                    live += self._gap(last, block.kind)
                last = block.kind
                live += lines
        return live[-rows:]

    def _segment(self, event: AnySegmentEvent, edit: LiveEdit | None) -> bool:
        identity = (event.turn_id, event.segment_id)
        if isinstance(event, SegmentStart):
            self._open[identity] = self._begin(identity, event)
        segment = self._open.get(identity)
        if segment is None:
            return False
        if edit is not None and isinstance(segment, FilePanel | CallBlock):
            segment.follow(edit)
        if isinstance(segment, CallBlock):
            segment.read(event)
        if isinstance(event, SegmentContent):
            segment.feed(event.delta)
            return True
        segment.know(event.metadata)
        if isinstance(event, SegmentEnd):
            del self._open[identity]
            segment.end(event.status or "complete", event.reason)
            if isinstance(segment, CallBlock):
                segment.waits_for_verdict = True
                self._unsettled = segment
        return True

    def _begin(self, identity: BlockKey, event: SegmentStart) -> SegmentBlock:
        kind = event.segment_type or ""
        metadata = event.metadata
        if kind == "text" and self._markdown:
            return self._add(MarkdownFlow(self._console, self._theme))
        if kind in FLOWS:
            return self._add(RowFlow(*FLOWS[kind]))
        if kind == "media":
            return self._add(Medium(str(metadata.get("media_type", kind))))
        if kind == "tool_call":
            note = "(by the provider)" if metadata.get("executed_by") == "provider" else ""
            return self._add(CallBlock(identity, str(metadata.get("tool_name", kind)), note, event))
        panel = FilePanel(self._console, kind, self._theme)
        group = next((block for block in reversed(self._blocks) if isinstance(block, PanelGroup)), None)
        if group is None or group.ended:
            self._blocks.append(PanelGroup(panel))
        else:
            group.panels.append(panel)
        return panel

    def _line(self, event: LineEvent) -> list[OneLine]:
        text = event_line(event)
        return [OneLine(text, STYLES[type(event)])] if text else []

    def _add(self, block: MarkdownFlow | RowFlow | Medium | CallBlock) -> SegmentBlock:
        self._blocks.append(block)
        return block

    def _call(self, identity: BlockKey) -> CallBlock | None:
        """Return the call's block if it is not in the scrollback yet."""
        calls = (each for each in self._blocks if isinstance(each, CallBlock))
        return next((call for call in calls if call.identity == identity), None)

    def _settle(self) -> None:
        if self._unsettled is not None:
            self._unsettled.waits_for_verdict = False
            self._unsettled = None

    def _gap(self, before: BlockKind | None, after: BlockKind) -> list[Line]:
        return [[]] if before is not None and "prose" in (before, after) else []
