"""One open native call: its identity, its arguments so far, and whether their root has closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec import convert, to_builtins

from ..events.chunk_response import ArgumentsKind, ExecutedBy
from ..events.fragment import Fragment, JsonError
from .json_machine import JsonMachine
from .limits import Limits
from .whole_json import decode_whole

_BLANKS = " \t\n\r"


class NativeCall:
    """Arguments of kind `json` go through the machine, or through one decode if they arrive whole.

    Arguments of kind `text` become the one field `input`, so that everything later sees fragments alike.
    """

    __slots__ = (
        "_limits",
        "_machine",
        "_whole",
        "error",
        "executed_by",
        "given_id",
        "has_text",
        "index",
        "kind",
        "length",
        "name",
        "native",
        "segment_id",
        "texts",
    )

    def __init__(
        self,
        index: int,
        given_id: str,
        segment_id: str,
        name: str,
        kind: ArgumentsKind,
        executed_by: ExecutedBy,
        limits: Limits,
    ) -> None:
        self.index = index
        self.given_id = given_id
        self.segment_id = segment_id
        self.name = name
        self.kind = kind
        self.executed_by = executed_by
        self.native: dict[str, Any] | None = None
        self.error: JsonError | None = None
        self.has_text = False
        self.length = 0
        self.texts: list[str] = []
        """The text so far, if somebody keeps it here."""
        self._limits = limits
        self._machine: JsonMachine | None = None
        self._whole: str | None = None

    @property
    def closed(self) -> bool:
        """Whether the JSON root has closed, so that another call's beginning seals this one."""
        if self._whole is not None:
            return True
        return self.error is None and self._machine is not None and self._machine.root_closed

    def feed(self, text: str) -> tuple[Fragment, ...] | None:
        """Give the fragments of the next argument text; None where it came whole and nobody has parsed it."""
        machine = self._machine
        if machine is None:
            if self.kind == "text":
                return self._feed_free_form(text)
            if not self.has_text:
                if not text.strip(_BLANKS):
                    return ()
                self.has_text = True
                if decode_whole(text, self._limits) is not None:
                    self._whole = text
                    return None
            machine = self._machine = JsonMachine(self._limits)
            if self._whole is not None:
                machine.feed(self._whole)
                self._whole = None
        fragments = machine.feed(text)
        if machine.error is None:
            return tuple(cast("Sequence[Fragment]", fragments))
        return self._without_error(fragments)

    def end(self) -> tuple[Fragment, ...] | None:
        """Settle what the end settles: a root number, or that the text is truncated."""
        if self.kind == "text":
            if self.error is not None or not self.has_text:
                return None
            return Fragment(("input",), "DONE", None, self.length), Fragment((), "DONE", None, self.length)
        if self._machine is None or self.error is not None:
            return None
        return self._without_error(self._machine.close()) or None

    @property
    def over_limit(self) -> bool:
        """Whether a limit was passed: then the call ends at once, so that nothing piles up."""
        return self.error is not None and self.error.reason == "limit"

    def metadata(self, native: dict[str, Any] | None = None) -> dict[str, Any]:
        metadata: dict[str, Any] = {"tool_name": self.name}
        if self.kind == "text":
            metadata["kind"] = "text"
        if self.executed_by == "provider":
            metadata["executed_by"] = "provider"
        if native or self.native:
            metadata["native"] = native or self.native
        return metadata

    def dump(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in _PLAIN}
        state["error"] = to_builtins(self.error)
        state["machine"] = None if self._machine is None else self._machine.dump()
        return state

    @classmethod
    def loaded(cls, state: dict[str, Any], limits: Limits) -> NativeCall:
        call = cls(0, "", "", "", "json", "client", limits)
        for name in _PLAIN:
            setattr(call, name, state[name])
        call.error = convert(state["error"], JsonError | None)
        if state["machine"] is not None:
            call._machine = JsonMachine(limits)
            call._machine.load(state["machine"])
        return call

    def _feed_free_form(self, text: str) -> tuple[Fragment, ...]:
        if self.error is not None:
            return ()
        at = self.length
        self.length += len(text)
        if self.length > self._limits.arguments_length:
            self.error = JsonError("limit", self._limits.arguments_length, "no more text")
            return ()
        piece = Fragment(("input",), "TEXT", text, at)
        if self.has_text:
            return (piece,)
        self.has_text = True
        return Fragment((), "OPEN", "{"), Fragment(("input",), "OPEN", '"'), piece

    def _without_error(self, fragments: Sequence[Fragment | JsonError]) -> tuple[Fragment, ...]:
        if fragments and isinstance(fragments[-1], JsonError):
            self.error = fragments[-1]
        return tuple(piece for piece in fragments if isinstance(piece, Fragment))


_PLAIN = (
    "index",
    "given_id",
    "segment_id",
    "name",
    "kind",
    "executed_by",
    "native",
    "has_text",
    "length",
    "texts",
    "_whole",
)
