"""The words and the signs for what events say, and text that a terminal may print."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from ...events.answer_end import AnswerEnd, AnswerStatus, Output, OutputFailed
from ...events.errors import PenstockError, without_credentials
from ...events.showing import without_codes
from ...events.tool_invocation import InvocationFailed, Notice, ToolCallStatus, ToolInvocation, ToolResult
from ...operators.calls.field_spec import RESERVED
from ...operators.machines.json_values import write_path

# Controls, what changes the direction of writing, what is invisible or half a character. Joiners and all kinds of
# spaces are not in it: emoji and many languages need them, and they move nothing.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def printable(text: str, *, keep: str = "") -> str:
    r"""Return text with all unprintable characters escaped, except those to keep.

    >>> printable("red: \x1b[31m, bell: \a, second\nline"), printable("a\nb\x9b", keep="\n")
    ('red: \\x1b[31m, bell: \\x07, second\\nline', 'a\nb\\x9b')

    Not printable, as `str.isprintable` has it: control characters (also C1, which terminals obey too), line and
    paragraph separators, what changes the direction of writing, lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode() for each in text
    )


def harmless(text: str) -> str:
    r"""Return text with control characters escaped; line breaks, tabs and joined emoji are kept.

    >>> harmless("two\nlines\x1b[2J")
    'two\nlines\\x1b[2J'
    """
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub(_escaped, text)


def in_a_line(text: str) -> str:
    r"""Return text as `harmless` does, in one line.

    >>> in_a_line('{\n\t"a": 1\n}')
    '{  "a": 1 }'
    """
    return harmless(text).replace("\n", " ").replace("\t", " ")


def shortened(text: str, length: int) -> str:
    r"""Return a text in one line, truncated to a length and marked if it was.

    >>> shortened("one line\nand more", 12)
    'one line\\na…'
    """
    line = printable(text[:length])
    return line if len(text) <= length and len(line) <= length else line[: length - 1] + "…"


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


Verdict: TypeAlias = ToolInvocation | InvocationFailed
LineEvent: TypeAlias = Verdict | Notice | Output | OutputFailed | AnswerEnd | ToolResult | ToolCallStatus
"""The events that views show in a line of their own, if `event_line` has one."""
PROSE = frozenset(("text", "reasoning", "refusal"))
"""The types of segments with prose; all others are calls, their files, or media."""
_INCOMPLETE: Mapping[AnswerStatus, str] = {
    "paused": "is paused",
    "truncated": "is truncated",
    "interrupted": "was interrupted",
    "failed": "failed",
}
LONGEST_VALUE = 60
TOO_LONG = 200
"""The length from which only the number of characters of a text is shown, as for texts of several lines."""


def event_line(event: LineEvent) -> str:
    """Return the line for an event; empty for an answer that is complete, and for a result that is not an error.

    >>> event_line(ToolInvocation("call_1", name="write_file", arguments={"path": "a.py", "content": "x" * 430}))
    "→ write_file(path='a.py', content=<430 characters>)"
    >>> event_line(InvocationFailed("call_1", name="write_file", reason="truncated"))
    '✗ write_file is not run: truncated'
    >>> event_line(AnswerEnd(status="truncated", finish_reason="length")), event_line(AnswerEnd())
    ('! the answer is truncated: length', '')
    >>> event_line(ToolCallStatus("call_1", name="deploy", state="requested"))
    '? deploy waits for approval'

    Of statuses only this one has a line: the result of the call tells the rest.
    """
    if isinstance(event, AnswerEnd):
        return _answer(event)
    if isinstance(event, ToolResult):
        reasons = {"failed": event.error, "was not run": event.denied}
        said = (f"✗ {event.id} {how}: {reason}" for how, reason in reasons.items() if reason is not None)
        return printable(without_codes(next(said, "")))
    if isinstance(event, ToolCallStatus):
        return printable(f"? {event.name} waits for approval") if event.state == "requested" else ""
    if isinstance(event, Notice):
        return printable(f"! {event.detail}")
    if isinstance(event, InvocationFailed | OutputFailed):
        what = "no output" if isinstance(event, OutputFailed) else f"{event.name or 'a call without a name'} is not run"
        return printable(f"✗ {what}: {failure_reason(event)}")
    if isinstance(event, Output):
        return printable(f"→ output {shortened(repr(event.data), TOO_LONG)}")
    arguments = ", ".join(f"{name}={_value(value)}" for name, value in event.arguments.items())
    return printable(f"→ {event.name}({arguments})")


def failure_reason(event: InvocationFailed | OutputFailed) -> str:
    """Return why a call must not be run, or why an answer is no output.

    >>> failure_reason(InvocationFailed("c", reason="invalid", errors=({"loc": ("n",), "msg": "missing"},)))
    'invalid (n: missing)'
    """
    return f"{event.reason} ({_detail(event.errors[0])})" if event.errors else event.reason


def ending(status: str | None, reason: str | None) -> str:
    """Return how a segment ended; empty if it is complete.

    >>> ending("truncated", "length"), ending("complete", None)
    ('truncated: length', '')
    """
    if status in (None, "complete"):
        return ""
    return printable(f"{status}: {reason}" if reason else str(status))


def stream_error(error: BaseException) -> str:
    """Return the line for the error that ended a stream."""
    if isinstance(error, PenstockError):
        return printable(f"✗ {error}")
    if isinstance(error, KeyboardInterrupt | GeneratorExit | asyncio.CancelledError):
        return "✗ interrupted"
    said = without_credentials(str(error))
    return printable(f"✗ {type(error).__name__}: {said}" if said else f"✗ {type(error).__name__}")


def subject(metadata: Mapping[str, Any]) -> str:
    """Return the subject of a call's segment: its path, else the first string of its metadata, else empty.

    >>> subject({"tool_name": "save_note", "title": "Shopping"})
    'Shopping'
    >>> subject({"call_id": "c", "tool_name": "edit", "path": ["edits", 0, "new_text"]})
    'edits[0].new_text'
    """
    path = metadata.get("path")
    if isinstance(path, str):
        return path
    if "call_id" in metadata and isinstance(path, list):  # of an argument beside its call
        return write_path(cast("list[str | int]", path))
    texts = (value for name, value in metadata.items() if name not in RESERVED and isinstance(value, str))
    return next(texts, "")


def _answer(end: AnswerEnd) -> str:
    if end.status == "complete":
        return ""
    answer = f"answer {end.choice}" if end.choice else "the answer"
    reason = (end.error or {}).get("detail") or end.finish_reason_raw or end.finish_reason
    return printable(f"! {answer} {_INCOMPLETE[end.status]}{f': {reason}' if reason else ''}")


def _detail(error: Mapping[str, Any]) -> str:
    """Return the error of a call's arguments: malformed JSON, or invalid for the tool."""
    if "expected" in error:
        found = error.get("found") or "the end"
        return shortened(f"at {error.get('at')}: expected {error['expected']}, found {found}", 2 * LONGEST_VALUE)
    place = ".".join(map(str, error.get("loc", ())))
    message = str(error.get("msg", error))
    return shortened(f"{place}: {message}" if place else message, 2 * LONGEST_VALUE)


def _value(value: object) -> str:
    if isinstance(value, str) and len(value) > (LONGEST_VALUE if "\n" in value else TOO_LONG):
        return f"<{len(value):,} characters>"
    return shortened(repr(value), LONGEST_VALUE)
