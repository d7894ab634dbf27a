"""`plain_view`: print an answer in plain lines, each as soon as it is complete."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import IO, Any, TypeAlias

from msgspec import Struct, field

from ..events.answer_end import AnswerEnd, OutputFailed
from ..events.segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentStart
from ..events.tool_invocation import InvocationFailed, Notice, ToolCallStatus, ToolInvocation, ToolResult
from .files.edit_tracker import FolderEdits, checked_root
from .files.live_edit import LiveEdit
from .parts.event_words import PROSE, ending, event_line, harmless, stream_error, subject
from .running.sink import TwinSink, each_event

_Identity: TypeAlias = tuple[str | None, str]
_SLICE = 65536
MARGINS = {"text": "", "reasoning": "  | "}
"""For segment types other than calls: what is before each line."""


def plain_view(file: IO[str] | None = None, *, root: str | os.PathLike[str] | None = None) -> TwinSink[None]:
    r"""Print an answer in plain lines, each as soon as it is complete: for logs, pipes and simple terminals.

    >>> from penstock import SegmentContent, SegmentEnd, SegmentStart, ToolInvocation
    >>> start = SegmentStart("c", "write_file", {"path": "a.py"})
    >>> content = SegmentContent("c", "write_file", "x = 1\nprint(x)")
    >>> end = SegmentEnd("c", "write_file", "complete")
    >>> plain_view()([start, content, end, ToolInvocation("c", name="write_file", arguments={"path": "a.py"})])
    write_file a.py
        x = 1
        print(x)
    → write_file(path='a.py')

    Text starts at the margin. Reasoning has a heading and a bar. Content of a call is indented below its name and
    path, and a command has a `$`. A change of an edit is followed by its counts, or by what does not match: with
    `root`, the folder of the files as `write_files` has it, it is compared with the file. If several calls are
    open, each line begins with its call's name. An answer that is not complete has a line that says why. Control
    characters are escaped. Written to standard output, or to `file`, and flushed line by line; characters outside
    its encoding are written as `\u2192`. An error of the stream is printed on a line of its own and raised.
    """
    return each_event(partial(PlainTarget, file, checked_root(root)))


class _Open(Struct):
    """An open segment, with the unfinished last line."""

    type: str
    label: str
    pieces: list[str] = field(default_factory=list[str])
    begun: bool = False
    told: int = 0
    """How much of what is known of an edit is printed."""


class PlainTarget:
    """Prints the events of one stream."""

    def __init__(self, file: IO[str] | None = None, root: str | None = None) -> None:
        self._edits = FolderEdits(root)
        self._file = sys.stdout if file is None else file
        self._has_failed = False  # to write
        self._open: dict[_Identity, _Open] = {}
        self._unsettled: tuple[_Identity, str] | None = None
        """A failed call and the line about its END, which is printed unless the call's `InvocationFailed` follows."""
        self._ends: list[str] = []
        """The lines about answers that ended, which are not printed if the error of the stream follows."""

    def feed(self, event: Any) -> None:
        edit = self._edits.feed(event)
        if isinstance(event, AnswerEnd):
            self._settle()
            self._ends.append(event_line(event))
            return
        self._print_ends()
        if isinstance(event, SegmentStart | SegmentContent | SegmentEnd):
            self._settle()
            self._segment(event, edit)
        elif isinstance(event, ToolInvocation | InvocationFailed):
            if self._unsettled and self._unsettled[0] == (event.turn_id, event.id):
                self._unsettled = None
            self._settle()
            self._print(event_line(event))
        elif isinstance(event, Notice | ToolResult | ToolCallStatus | OutputFailed):
            self._settle()
            if line := event_line(event):
                self._print(line)

    def close(self, error: BaseException | None) -> None:
        self._edits.close()
        if self._has_failed or isinstance(error, BrokenPipeError):  # the output may be closed, so this may fail too
            return
        self._settle()
        for segment in list(self._open.values()):
            self._finish(segment)
        self._open.clear()
        if error is None:
            self._print_ends()
        else:
            self._print(stream_error(error))

    def _print_ends(self) -> None:
        for line in filter(None, self._ends):
            self._print(line)
        self._ends.clear()

    def _segment(self, event: AnySegmentEvent, edit: LiveEdit | None) -> None:
        identity = (event.turn_id, event.segment_id)
        if isinstance(event, SegmentStart):
            self._start(identity, event)
        segment = self._open.get(identity)
        if segment is None:
            return
        if isinstance(event, SegmentContent):
            segment.pieces.append(event.delta)
            if "\n" in event.delta:
                *lines, rest = "".join(segment.pieces).split("\n")
                segment.pieces = [rest]
                self._lines(segment, lines)
            if edit is not None and len(edit.told) > segment.told:
                self._tell(segment, edit)
        elif isinstance(event, SegmentEnd):
            self._finish(segment)
            if edit is not None:
                self._tell(segment, edit)
            del self._open[identity]
            end = ending(event.status, event.reason)
            if end:
                self._unsettled = identity, f"[{segment.label or segment.type}: {end}]"

    def _tell(self, segment: _Open, edit: LiveEdit) -> None:
        """Print what has become certain of an edit."""
        told = edit.told
        self._lines(segment, told[segment.told :], mark="= ")
        segment.told = len(told)

    def _start(self, identity: _Identity, event: SegmentStart) -> None:
        kind = event.segment_type or ""
        metadata = event.metadata
        if kind == "text":
            self._open[identity] = _Open(kind, "")
            return
        name = str(metadata.get("media_type", kind) if kind == "media" else metadata.get("tool_name", kind))
        about = "" if kind in ("media", "tool_call", "run_bash") else subject(metadata)
        label = base = about or name
        taken = {segment.label for segment in self._open.values()}
        number = 2
        while label in taken:
            label, number = f"{base}#{number}", number + 1
        self._open[identity] = _Open(kind, label)
        if kind != "run_bash":
            self._print(f"{name} {about}".rstrip())

    def _finish(self, segment: _Open) -> None:
        rest = "".join(segment.pieces)
        if rest:
            self._lines(segment, [rest])
        segment.pieces = []

    def _lines(self, segment: _Open, lines: list[str], mark: str = "") -> None:
        calls = sum(each.type not in PROSE for each in self._open.values())
        owner = f"{segment.label} | " if calls > 1 and segment.type not in PROSE else ""
        for line in lines:
            margin = owner or MARGINS.get(segment.type, "    ")
            if segment.type == "run_bash":
                margin = f"{owner}  " if segment.begun else f"{owner}$ "
            segment.begun = True
            self._print(margin + mark + line.removesuffix("\r"))

    def _settle(self) -> None:
        if self._unsettled is not None:
            _, line = self._unsettled
            self._unsettled = None
            self._print(line)

    def _print(self, line: str) -> None:
        try:
            for start in range(0, len(line), _SLICE):  # escaping takes many times the room of what it escapes
                self._write(harmless(line[start : start + _SLICE]).replace("\n", "\\n"))
            self._write("\n")
            self._file.flush()
        except Exception:
            self._has_failed = True
            raise

    def _write(self, text: str) -> None:
        try:
            self._file.write(text)
        except UnicodeEncodeError:  # nothing of it was written
            encoding = getattr(self._file, "encoding", None) or "ascii"
            self._file.write(text.encode(encoding, "backslashreplace").decode(encoding))
