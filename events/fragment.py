"""Pieces of a JSON value, as they arrive."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

Path: TypeAlias = tuple[str | int, ...]
FragmentKind: TypeAlias = Literal["OPEN", "TEXT", "SCALAR", "DONE"]


class Fragment(Struct, frozen=True, gc=False, tag="FRAGMENT", tag_field="type"):
    """One piece of a JSON value that is still being written.

    Every value is `OPEN` (containers and strings), then `TEXT` pieces or one `SCALAR` or the fragments of its
    entries, then `DONE`:

        {"a": "hi"}   OPEN ()   OPEN a   TEXT a "hi"   DONE a   DONE ()

    `nested()` returns the recursive form. It has no `OPEN`, so an empty object, an empty array and an empty string look
    alike in it.
    """

    path: Annotated[Path, Meta(description="Keys and indexes from the root to the value; () is the root itself.")]
    kind: Annotated[FragmentKind, Meta(description="OPEN, TEXT, SCALAR or DONE.")]
    value: Annotated[
        Any,
        Meta(
            description="OPEN: the opening character, one of { [ and the double quote. TEXT: decoded text. "
            "SCALAR: a number, a boolean or null. DONE: null.",
        ),
    ] = None
    at: Annotated[
        int,
        Meta(description="Offset in the raw text, in characters, of the first character of this piece."),
    ] = 0

    def nested(self) -> dict[str, Any] | str | None:
        """Return the recursive form (object_entry, array_item, string, scalar, done); None for `OPEN`, which has none.

        >>> Fragment(("a", 0), "TEXT", "hi").nested()
        {'object_entry': {'key': 'a', 'value': {'array_item': {'index': 0, 'value': {'string': 'hi'}}}}}
        """
        if self.kind == "OPEN":
            return None
        value: dict[str, Any] | str
        if self.kind == "DONE":
            value = "done"
        else:
            value = {"string" if self.kind == "TEXT" else "scalar": self.value}
        for step in reversed(self.path):
            if isinstance(step, str):
                value = {"object_entry": {"key": step, "value": value}}
            else:
                value = {"array_item": {"index": step, "value": value}}
        return value


JsonErrorReason: TypeAlias = Literal["malformed", "truncated", "limit", "duplicate_key", "unknown_tool"]


class JsonError(Struct, frozen=True, gc=False, tag="JSON_ERROR", tag_field="type"):
    """Where a JSON text is malformed, as a value in the stream; it is the last value of that text."""

    reason: Annotated[
        JsonErrorReason,
        Meta(description="malformed, truncated (it stopped), limit, duplicate_key (on a streamed path), unknown_tool."),
    ]
    at: Annotated[int, Meta(description="Offset in the text, in characters, of the first character that is wrong.")]
    expected: Annotated[str, Meta(description="What would have been right there, in words.")]
    found: Annotated[str, Meta(description="The character found; empty at the end of the text.")] = ""
    path: Annotated[Path, Meta(description="The value in which it happened.")] = ()

    def __str__(self) -> str:
        found = f"found {self.found!r}" if self.found else "the text ended"
        return f"{self.reason} at {self.at}: expected {self.expected}, {found}"
