"""Read the metadata of a call's segment: the tool's name, and arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...events.segment_event import SegmentEnd, SegmentStart
from .field_spec import FieldSpec

RESERVED = frozenset(("tool_name", "kind", "native", "executed_by", "error", "arguments", "mistyped")) | {
    "choice",
    "duplicate_of",
    "repeats",
    "call_id",
    "streamed",
}
"""Reserved metadata keys, which an argument never has."""

Specs = Mapping[str, FieldSpec]
"""Field specs by segment type."""


def spec_by_type(specs: Iterable[FieldSpec]) -> dict[str, FieldSpec]:
    """Return the first spec of each segment type, which says what a segment means that was read back from JSON."""
    by_type: dict[str, FieldSpec] = {}
    for spec in specs:
        if not spec.paths:  # the segments of several arguments are not calls
            by_type.setdefault(spec.segment_type, spec)
    return by_type


def called_name(start: SegmentStart, specs: Specs) -> str | None:
    """Return the name of the tool that a START calls.

    None for other segments, those of a call's arguments among them, and for calls that the provider runs.
    """
    metadata = start.metadata
    if is_argument(start):
        return None
    name: str | None = metadata.get("tool_name")
    if name is None and (spec := specs.get(start.segment_type or "")) is not None:
        name = spec.tool
    if metadata.get("executed_by") == "provider" or (name is None and start.segment_type != "tool_call"):
        return None
    return name or ""


def is_argument(event: SegmentStart | SegmentEnd) -> bool:
    """Return whether a segment is one argument of a call that has a segment of its own."""
    call_id = event.metadata.get("call_id")
    return isinstance(call_id, str) and event.segment_id.startswith(f"{call_id}/")


def told_arguments(metadata: Mapping[str, Any], spec: FieldSpec | None) -> dict[str, Any]:
    """Return the arguments in a segment's metadata; with `spec`, one under an alias gets its own name, if any."""
    aliases = {} if spec is None else dict(spec.aliases)
    named = ((aliases.get(key, key), value) for key, value in metadata.items() if key not in RESERVED)
    arguments = {name: value for name, value in named if name}
    more = metadata.get("arguments")
    return arguments | more if isinstance(more, dict) else arguments
