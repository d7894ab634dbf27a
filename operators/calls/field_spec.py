"""`FieldSpec`: the arguments of a tool that stream as segments of their own; `FILE_TOOLS`: the built-in ones."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import force_setattr, replace

from ...events.errors import UsageError
from ..machines.path_tree import read_path, write_path

NOT_CALLS = frozenset(("text", "reasoning", "refusal", "media", "tool_call"))
"""The segment types that no call of a tool can have."""


class FieldSpec(Struct, frozen=True):
    """A tool whose calls become segments of their own type, with one decoded argument as content.

    >>> FieldSpec("save_note", "body", metadata=("title",)).segment_type
    'save_note'

    With several `paths`, or one to a nested argument, a call stays a `tool_call` segment, and each argument becomes a
    segment beside it. `required`, `aliases` and `markers` are for a single argument.

    >>> FieldSpec("edit", paths=("summary", "edits[*].new_text")).paths
    ('summary', 'edits[*].new_text')

    Raises `UsageError` for a segment type that means something else: text, reasoning, refusal, media, tool_call; and
    for anything but a `field` or valid `paths`.
    """

    tool: Annotated[str, Meta(description="The tool's name, exactly as the model calls it.")]
    field: Annotated[str, Meta(description="The top-level string argument that streams.")] = ""
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
        Meta(
            description="(other name, argument) pairs understood in the metadata of segments read back from JSON; "
            "with an empty argument, what is under the name is left out."
        ),
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
    paths: Annotated[
        tuple[str, ...],
        Meta(description="Paths of several or nested string arguments that stream, such as edits[*].new_text."),
    ] = ()

    def __post_init__(self) -> None:
        if not self.segment_type:
            force_setattr(self, "segment_type", self.tool)
        if self.segment_type in NOT_CALLS:
            message = (
                f"segment_type={self.segment_type!r} is reserved for segments that are not tool calls; choose another"
            )
            raise UsageError(message)
        self._check_paths()

    def _check_paths(self) -> None:
        given: object = self.paths
        if isinstance(given, str):
            message = f"paths= must be a tuple of paths, got {given!r}; write paths=({given!r},)"
            raise UsageError(message)
        if bool(self.field) == bool(self.paths):
            message = f"the spec for the tool {self.tool!r} needs either field= or paths="
            raise UsageError(message)
        paths = tuple(dict.fromkeys(write_path(read_path(each)) for each in self.paths))
        steps = [read_path(each) for each in paths]
        if wrong := next((each for each in steps if isinstance(each[0], int)), None):
            message = f"the path {write_path(wrong)!r} must begin with an argument's name"
            raise UsageError(message)
        only = steps[0][0] if len(steps) == 1 and len(steps[0]) == 1 else None
        if isinstance(only, str):  # the same as a field
            force_setattr(self, "field", only)
            paths = ()
        force_setattr(self, "paths", paths)
        if paths and (self.required or self.aliases or self.markers):
            message = f"the spec for the tool {self.tool!r} has paths=, so leave required=, aliases= and markers= out"
            raise UsageError(message)


FILE_TOOLS: tuple[FieldSpec, ...] = (
    FieldSpec("write_file", "content", metadata=("path",), required=("path",), strict=False),
    FieldSpec("edit_file", "patch", metadata=("path",), required=("path",), strict=False),
    FieldSpec("patch_file", "patch", metadata=("path",), required=("path",), strict=False),
    FieldSpec(
        "run_bash",
        "command",
        metadata=("timeout_seconds", "cwd"),
        aliases=(("timeoutSeconds", "timeout_seconds"), ("cmd", "command"), ("background", "")),
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
