"""`OpenCall`: a call that the model still writes, for a tool that reads one of its arguments meanwhile.

It says when the other arguments are there, and what makes the call one that must not run.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final, NamedTuple

from ...events.segment_event import AnySegmentEvent, Fragment, SegmentEnd, SegmentStart
from ...events.tool_invocation import FailureReason, ToolInvocation
from ...operators.calls.call_arguments import CallArguments
from ...operators.calls.field_spec import Specs
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.machines.json_values import FragmentAggregator


class Wanted(NamedTuple):
    """The arguments of a tool: the one that it reads while it is written, those needed before, and all others."""

    read: str
    required: frozenset[str]
    others: frozenset[str]


class Fault(NamedTuple):
    """Why a call must not run although its own text may be valid."""

    reason: FailureReason
    message: str
    argument: str

    def errors(self) -> tuple[dict[str, Any], ...]:
        """Return it as the `errors` of an `InvocationFailed`."""
        return ({"type": self.reason, "loc": [self.argument], "msg": self.message},)


_LATE: Final = "it came behind the argument that the tool was reading already; write it before"
_OTHER: Final = "the call that ended is not the one that the tool was reading"


class OpenCall:
    """The arguments of one call so far, from the events of its segment.

    - `opening`: the other arguments at the moment at which the tool may begin; None before that. It may begin with the
      text, if all that it needs is there; behind a text that has closed it can wait for what it does not need.
    - `others`: those that have closed so far. `is_late`: one of them has closed since then.
    - `fault`: what was found wrong with the order of the arguments.
    """

    def __init__(
        self, start: SegmentStart, name: str, wanted: Wanted, specs: Specs, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self.id, self.turn_id, self.name = start.segment_id, start.turn_id, name
        self.opening: dict[str, Any] | None = None
        self.fault: Fault | None = None
        self.is_late = False
        self._wanted = wanted
        self._limits = limits
        self._arguments = CallArguments(start, name, specs, limits)
        self._values = FragmentAggregator()
        self._closed: dict[str, None] = {}
        self._has_text = self._is_open = False
        """Whether the text has opened; whether it is open."""
        self._length = 0
        self._digest = sha256()

    @property
    def others(self) -> dict[str, Any]:
        value: Any = self._values.value
        return {key: value[key] for key in self._closed} if isinstance(value, dict) else {}

    def read(self, event: AnySegmentEvent) -> list[str]:
        """Return the pieces of the text in an event."""
        pieces: list[str] = []
        for piece in self._arguments.fragments(event):
            if self.fault is not None:
                break
            self._take(piece, pieces)
            if self.opening is None and self._is_ready():
                self.opening = self.others
        return pieces

    def _is_ready(self) -> bool:
        if not self._has_text or not self._wanted.required <= self._closed.keys():
            return False
        return self._is_open or self._wanted.others <= self._closed.keys() or self._values.done

    def _take(self, piece: Fragment, pieces: list[str]) -> None:
        path, kind = piece.path, piece.kind
        if path == (self._wanted.read,):
            if kind == "TEXT":
                self._count(piece.value)
                pieces.append(piece.value)
            elif kind == "DONE":
                self._is_open = False
            elif self._has_text:
                self._fail("duplicate_key", "it came twice", self._wanted.read)
            else:  # any other value is no text: the call is invalid, and its end says so
                self._has_text = self._is_open = kind == "OPEN" and piece.value == '"'
            return
        self._values.feed(piece)
        if len(path) == 1 and isinstance(path[0], str):
            self._closed.pop(path[0], None)
            if kind == "DONE":
                self._closed[path[0]] = None
                self.is_late = self.opening is not None

    def _count(self, text: str) -> None:
        self._length += len(text)
        self._digest.update(_bytes(text))
        most = self._limits.deferred_length
        if self.opening is None and self._length > most:
            self._fail(
                "limit", f"more than {most:,} characters of it came before the other arguments", self._wanted.read
            )

    def _fail(self, reason: FailureReason, message: str, argument: str) -> None:
        self.fault = Fault(reason, message, argument)

    def fail_as_late(self, *, is_valid: bool) -> None:
        """Note that the argument which closed last is not what the tool has begun with, or is invalid."""
        self._fail("contradiction" if is_valid else "invalid", _LATE, next(reversed(self._closed)))

    def check(self, invocation: ToolInvocation) -> None:
        """Note it as a fault if an invocation is not the call that was read here."""
        arguments = {**invocation.arguments}
        text = arguments.pop(self._wanted.read, None)
        is_same = isinstance(text, str) and sha256(_bytes(text)).digest() == self._digest.digest()
        others = self.others
        if not is_same or not (arguments == others or repr(arguments) == repr(others)):  # nan is not itself
            self._fail("contradiction", _OTHER, self._wanted.read)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def cut_reason(end: SegmentEnd) -> str | None:
    """Return why a call that ended so is not run; None for one that is complete.

    >>> cut_reason(SegmentEnd("c", "save", "failed", "limit")), cut_reason(SegmentEnd("c", "save", "truncated"))
    ('limit', 'truncated')
    """
    if end.status in ("complete", None):
        return "duplicate_call" if "duplicate_of" in end.metadata else None
    return (end.reason if end.status == "failed" else end.status) or "malformed"


def wanted_by(read: str, properties: Iterable[str], required: Iterable[str]) -> Wanted:
    """Return the arguments of a tool, by the names that the model knows.

    >>> wanted_by("content", ("path", "content", "mode"), ("path", "content")).required
    frozenset({'path'})
    """
    return Wanted(read, frozenset(required) - {read}, frozenset(properties) - {read})
