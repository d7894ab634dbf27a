"""The format of a recording: a line about the stream, a line for each of its items, and a line about its end."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ...events.errors import ProviderError, error_fields, without_credentials

FORMAT: Final = 1
Form: TypeAlias = Literal["wire", "items", "texts", "chunks"]
"""What the items are: events of the wire, objects of an SDK or of the wire's JSON, texts, or ChunkResponses."""


LONGEST_TIME: Final = 10**9
"""The seconds of the longest recording, some thirty years; no system can wait for any time."""
Nanoseconds: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LONGEST_TIME * 10**9)]
"""A time since the start."""


class RecordingMeta(Struct, frozen=True, kw_only=True):
    """The first line: which stream it was. What is not known is null."""

    penstock_recording: Literal[1] = 1
    form: Form
    api: str | None = None
    model: str | None = None
    sdk: str | None = None
    """The distribution that made the items, as on PyPI."""
    sdk_version: str | None = None
    start: str | None = None
    """When the stream was opened: ISO 8601, UTC, microseconds; null if no times are known, and each `t_ns` is 0."""


class RecordedItem(Struct, frozen=True):
    """One item, or one event of the wire; `t_ns`: nanoseconds since `start`, by a clock that is never set back."""

    t_ns: Nanoseconds
    raw: Any
    """The JSON of an item; a text, as for an event of the wire; `{"base64": ...}` for bytes that are not UTF-8."""


class RecordingEnd(Struct, frozen=True):
    """The last line: how the stream ended. A recording that was killed has none."""

    t_ns: Nanoseconds
    end: Literal["complete", "error", "closed"]
    """It came to its end, it raised, or its reader closed it."""
    error: dict[str, Any] | UnsetType = UNSET
    """The fields of a `ProviderError`."""

    @classmethod
    def of(cls, t_ns: int, error: Exception | None) -> RecordingEnd:
        """Return the end of a stream that raised, or that did not."""
        if error is None:
            return cls(t_ns, "complete")
        fields = error_fields(error)
        return cls(t_ns, "error", {**fields, "detail": without_credentials(str(fields.get("detail", "")))})

    def without_detail(self) -> RecordingEnd:
        """Return the end without the words of its error, which may cite what was redacted."""
        if self.error is UNSET:
            return self
        return RecordingEnd(self.t_ns, self.end, {**self.error, "detail": "the words of the error are redacted"})

    def exception(self) -> ProviderError | None:
        """Return what the stream raised; None if it raised nothing."""
        if self.error is UNSET:
            return None
        known = {key: self.error.get(key) for key in ("code", "type", "status")}
        return ProviderError(str(self.error.get("detail", "")), transport=bool(self.error.get("transport")), **known)


def recording_schema() -> dict[str, Any]:
    """Return the JSON Schema of a recording's lines.

    >>> sorted(recording_schema()["$defs"])
    ['RecordedItem', 'RecordingEnd', 'RecordingMeta']
    """
    kinds = (RecordingMeta, RecordedItem, RecordingEnd)
    schemas, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a penstock recording",
        "anyOf": list(schemas),
        "$defs": definitions,
    }
