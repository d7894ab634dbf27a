"""`FieldSpec`: the argument of a tool that streams as a segment of its own; `FILE_TOOLS`: the built-in ones."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import force_setattr, replace

from ...events.errors import UsageError

_OURS = frozenset(("text", "reasoning", "refusal", "media", "tool_call"))


class FieldSpec(Struct, frozen=True):
    """A tool whose calls become segments of their own type, with one decoded argument as content.

    Raises `UsageError` for a segment type that means something else: text, reasoning, refusal, media, tool_call.

    >>> FieldSpec("save_note", "body", metadata=("title",)).segment_type
    'save_note'
    """

    tool: Annotated[str, Meta(description="The tool's name, exactly as the model calls it.")]
    field: Annotated[str, Meta(description="The top-level string argument that streams.")]
    metadata: Annotated[
        tuple[str, ...], Meta(description="Arguments shown beside the content, at START if known.")
    ] = ()
    required: Annotated[
        tuple[str, ...],
        Meta(description="Those of `metadata` that a deferred START waits for."),
    ] = ()
    segment_type: Annotated[str, Meta(description="The segment's type; the tool's name unless given.")] = ""
    aliases: Annotated[
        tuple[tuple[str, str], ...],
        Meta(description="(other name, argument) pairs understood in the metadata of segments read back from JSON."),
    ] = ()
    markers: Annotated[
        tuple[str, str] | None,
        Meta(description="Sentinels (start, end) to be stripped from the content, and from the invocation."),
    ] = None
    strict: Annotated[
        bool,
        Meta(
            description="Whether a call without those of `required` is refused. Otherwise it runs: as a plain "
            "tool_call segment, or, where START was out, with an END that lacks them. The built-in specs are not "
            "strict."
        ),
    ] = True

    def __post_init__(self) -> None:
        if not self.segment_type:
            force_setattr(self, "segment_type", self.tool)
        if self.segment_type in _OURS:
            message = (
                f"segment_type={self.segment_type!r} is reserved for segments that are not tool calls; choose another"
            )
            raise UsageError(message)


FILE_TOOLS: tuple[FieldSpec, ...] = (
    FieldSpec("write_file", "content", metadata=("path",), required=("path",), strict=False),
    FieldSpec("edit_file", "patch", metadata=("path",), required=("path",), strict=False),
    FieldSpec("patch_file", "patch", metadata=("path",), required=("path",), strict=False),
    FieldSpec(
        "run_bash",
        "command",
        metadata=("timeout_seconds", "cwd"),
        aliases=(("timeoutSeconds", "timeout_seconds"), ("cmd", "command")),
        strict=False,
    ),
)
"""The file tools and the shell, each with the argument that streams. They refuse no call, because a tool with the same
name may have other arguments."""

MARKED_FILE_TOOLS: tuple[FieldSpec, ...] = tuple(
    replace(spec, markers=(f"__START_{spec.field.upper()}__", f"__END_{spec.field.upper()}__"))
    if spec.field in ("content", "patch")
    else spec
    for spec in FILE_TOOLS
)
"""`FILE_TOOLS` for prompts that ask for `__START_CONTENT__` and `__END_CONTENT__` around a file, `…_PATCH__` around a
patch; these markers are removed."""
