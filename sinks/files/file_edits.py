"""What a call does, one edit for each place: read from its arguments, before any file is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .edits.codex_patch import added_content, codex_patch, hunks_of
from .edits.hunk import FilePatch
from .edits.lines import bare, split_lines, with_lf
from .edits.refused import RefusedError
from .edits.search_replace import STARTS
from .edits.unified_diff import HEADER, HUNK, unified_diff
from .file_tool import FileTool

Names: TypeAlias = tuple[str, ...]
"""The names of the folders and of the file, below the root."""


class WriteFile(Struct, frozen=True):
    names: Names
    content: str


class ReplaceText(Struct, frozen=True):
    names: Names
    old: str
    new: str
    every: bool = False
    count: int | None = None


class InsertText(Struct, frozen=True):
    names: Names
    line: int
    text: str


class SearchReplace(Struct, frozen=True):
    names: Names
    blocks: str


class PatchFile(Struct, frozen=True):
    names: Names
    patch: FilePatch
    target: Names | None = None


FileEdit: TypeAlias = WriteFile | ReplaceText | InsertText | SearchReplace | PatchFile


def file_edits(tool: FileTool, arguments: Mapping[str, Any], confined: Callable[[object], Names]) -> list[FileEdit]:
    """Return what a call does, in its order; `confined` turns a path into names. Raises `RefusedError`."""
    match tool.form:
        case "write":
            return [WriteFile(confined(arguments[tool.path]), arguments[tool.content])]
        case "insert":
            return [InsertText(confined(arguments[tool.path]), arguments[tool.line], arguments.get(tool.new, ""))]
        case "replace":
            several: list[Mapping[str, Any]] = arguments[tool.edits] if tool.edits else [arguments]
            return [_replacing(tool, arguments, each, confined) for each in several]
        case _:
            return _patching(tool, arguments, confined)


def touched(edits: Sequence[FileEdit]) -> list[Names]:
    """Return the files that edits read or write."""
    pairs = ((each.target if isinstance(each, PatchFile) else None, each.names) for each in edits)
    return [names for pair in pairs for names in pair if names is not None]


def _replacing(
    tool: FileTool, arguments: Mapping[str, Any], edit: Mapping[str, Any], confined: Callable[[object], Names]
) -> ReplaceText:
    path = edit[tool.path] if tool.path in edit else arguments[tool.path]
    count = edit.get(tool.count)
    return ReplaceText(
        confined(path),
        edit[tool.old],
        _text(edit, tool.new),
        edit.get(tool.every) is True,
        count if type(count) is int else None,
    )


def _text(edit: Mapping[str, Any], name: str) -> str:
    text: object = edit.get(name, "")
    if not isinstance(text, str):
        message = f"{name!r} must be a string, got {type(text).__name__}"
        raise RefusedError(message)
    return text


def _patching(tool: FileTool, arguments: Mapping[str, Any], confined: Callable[[object], Names]) -> list[FileEdit]:
    text: str = arguments[tool.patch]
    path: str | None = arguments[tool.path] if tool.path else None
    if path is not None and STARTS.search(text):
        return [SearchReplace(confined(path), text)]
    patches = _patches(text, path, str(arguments.get("type", "")))
    if path is not None:
        patches = _of_one_file(patches, path)
    return [
        PatchFile(confined(each.path), each, None if each.target is None else confined(each.target)) for each in patches
    ]


def _patches(text: str, path: str | None, operation: str) -> tuple[FilePatch, ...]:
    if text.lstrip().startswith("*** Begin Patch"):
        return codex_patch(text)
    if path is not None and operation == "create_file":
        lines = bare(split_lines(with_lf(text)))
        return (FilePatch(path=path, action="add", content=added_content(lines, path)),)
    if HUNK.search(text) or HEADER.search(text) or path is None:
        return unified_diff(text, path)
    hunks = hunks_of(bare(split_lines(with_lf(text))), path)
    if not hunks:
        message = f"the patch changes nothing in {path!r}"
        raise RefusedError(message)
    return (FilePatch(path=path, action="update", hunks=hunks),)


def _of_one_file(patches: tuple[FilePatch, ...], path: str) -> tuple[FilePatch, ...]:
    """Check that a patch of a call with a path is one of this file, and name it as the call does."""
    first = patches[0]
    if len(patches) > 1 or first.target is not None:
        message = f"the call is for {path!r}, but its patch names other files, too"
        raise RefusedError(message)
    if not (f"/{path}".endswith(f"/{first.path}") or f"/{first.path}".endswith(f"/{path}")):
        message = f"the call is for {path!r}, but its patch for {first.path!r}"
        raise RefusedError(message)
    return (replace(first, path=path),)
