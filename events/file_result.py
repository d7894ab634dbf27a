"""`FileResult`: what became of a call that writes files."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from .tool_result import ToolResult

FileAction: TypeAlias = Literal["created", "changed", "unchanged", "deleted", "moved"]


class FileChange(Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """What a call did to one file, or would do."""

    path: Annotated[str, Meta(description="The file, relative to the root, with '/' between folders.")]
    action: Annotated[FileAction, Meta(description="What happened to it; moved: it was `moved_from` before.")]
    moved_from: Annotated[str | None, Meta(description="Where the file was before it was moved.")] = None
    size: Annotated[int | None, Meta(description="Its bytes; null of a deleted file.")] = None
    sha256: Annotated[str | None, Meta(description="SHA-256 of its bytes, hexadecimal; null of a deleted file.")] = None
    additions: Annotated[int | None, Meta(description="Lines that are new; null if they were not counted.")] = None
    deletions: Annotated[int | None, Meta(description="Lines that are gone; null if they were not counted.")] = None
    diff: Annotated[
        str | None,
        Meta(description="The change as a unified diff; null if the file is not text, or the diff is too long."),
    ] = None
    executable: Annotated[
        bool | None, Meta(description="Whether the file may be executed from now on; null if that does not change.")
    ] = None


class FileResult(
    ToolResult, frozen=True, gc=False, kw_only=True, repr_omit_defaults=True, tag="FILE_RESULT", tag_field="type"
):
    """The `ToolResult` of a call that writes files: `value` is a sentence for the model, `files` is for programs.

        ToolInvocation  FileResult(value="created a.py (2 lines)", files=(FileChange("a.py", "created", ...),))
        ToolInvocation  FileResult(error="the path '../a.py' is refused: '..' leads out of a folder")

    With an error or a denial nothing was written, and `files` is empty.
    """

    files: Annotated[tuple[FileChange, ...], Meta(description="What happened to each file, in the call's order.")] = ()
    dry_run: Annotated[bool, Meta(description="Whether nothing was written, because only a trial was asked for.")] = (
        False
    )
