"""`FileTool`: which tools write files and from which arguments; and the edits that a call of one means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeAlias, cast

from msgspec import Meta, Struct
from msgspec.structs import replace

from ...events.errors import UsageError
from ...operators.calls.field_spec import CATALOGUE
from ..acting.approval import Approve
from ..edits.edit_blocks import STARTS, added_content, codex_patch, hunks_of
from ..edits.hunk import FilePatch, RefusedError, bare, split_lines, with_lf
from ..edits.unified_diff import HEADER, HUNK, unified_diff
from .path_rules import ProtectedPaths


class FileTool(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """A tool whose calls `write_files` carries out, by the names of its arguments.

    >>> FileTool(tool="save_report", path="name", content="text").form
    'write'
    >>> FileTool(tool="edit_report", path="name", old="search", new="replacement").form
    'replace'

    One form each: `content`, `old` and `new`, `patch`, or `line` and `new`. Only a call that has its arguments, as
    texts, is taken for it. Raises `UsageError` for anything but one form.
    """

    tool: Annotated[str, Meta(description="The tool's name, exactly as the model calls it.")]
    path: Annotated[str, Meta(description="The file's path; empty if the patch names its files.")] = ""
    content: Annotated[str, Meta(description="The whole content of the file.")] = ""
    old: Annotated[str, Meta(description="The text to replace.")] = ""
    new: Annotated[str, Meta(description="The text to put there.")] = ""
    edits: Annotated[
        str, Meta(description="A list of objects with `old` and `new`, and with `path` unless the call itself has one.")
    ] = ""
    every: Annotated[str, Meta(description="Whether each occurrence of the old text is replaced.")] = ""
    count: Annotated[str, Meta(description="How often the old text must stand there.")] = ""
    line: Annotated[str, Meta(description="The number of the line behind which `new` is inserted; 0 is the top.")] = ""
    patch: Annotated[
        str,
        Meta(description="A unified diff, a patch from `*** Begin Patch` on, or blocks of SEARCH and REPLACE."),
    ] = ""
    dry_run: Annotated[str, Meta(description="Whether the call only asks what would happen.")] = ""
    only: Annotated[tuple[str, str] | None, Meta(description="An argument and the value that it must have.")] = None

    def __post_init__(self) -> None:
        forms = [bool(self.content), bool(self.old), bool(self.patch), bool(self.line)]
        if sum(forms) != 1 or (not self.path and not self.patch) or (bool(self.old or self.line) and not self.new):
            message = (
                f"the FileTool {self.tool!r} needs path= and one of content=, old= with new=, line= with new=, patch="
            )
            raise UsageError(message)

    @property
    def form(self) -> str:
        """One of write, replace, insert and patch."""
        return "write" if self.content else "replace" if self.old else "insert" if self.line else "patch"

    def fits(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether a call with these arguments is one of this tool."""
        return not self.lacks(arguments)

    def lacks(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return what keeps a call with these arguments from being one of this tool, in words for the model."""
        lacks: list[str] = []
        if self.only is not None and arguments.get(self.only[0]) != self.only[1]:
            lacks.append(f"{self.only[0]!r} must be {self.only[1]!r}")
        if self.line and type(arguments.get(self.line)) is not int:
            lacks.append(f"{self.line!r} must be a whole number" if self.line in arguments else _MISSING % self.line)
        if not self.edits:
            needed = (self.path, self.content, self.old, self.patch, "" if self.only and not self.line else self.new)
            return lacks + [why for name in needed if name and (why := _lacks(arguments, name))]
        of_each = [name for name in (self.old, self.new, "" if self.path in arguments else self.path) if name]
        edits: object = arguments.get(self.edits, ())
        if edits == ():
            lacks.append(_MISSING % self.edits)
        elif not isinstance(edits, list) or not edits:
            lacks.append(f"{self.edits!r} must be a list of objects, at least one")
        else:
            lacks += dict.fromkeys(why for each in cast("list[object]", edits) for why in self._lacks_of(each, of_each))
        if self.path in arguments and (why := _lacks(arguments, self.path)):
            lacks.append(why)
        return lacks

    def _lacks_of(self, edit: object, names: Iterable[str]) -> Iterator[str]:
        if not isinstance(edit, dict):
            yield f"{self.edits!r} must be a list of objects"
            return
        for name in names:
            if why := _lacks(cast("dict[str, object]", edit), name):
                yield f"{why} in one of {self.edits!r}"

    @property
    def arguments(self) -> set[str]:
        """The names of its arguments."""
        names = (self.path, self.content, self.old, self.new, self.edits, self.line, self.patch)
        return {name for name in names if name}


_MISSING = "%r is missing"


def _lacks(arguments: Mapping[str, object], name: str) -> str | None:
    if name not in arguments:
        return _MISSING % name
    value = arguments[name]
    return None if isinstance(value, str) else f"{name!r} must be a string, not {type(value).__name__}"


def _distance(tool: FileTool, arguments: Mapping[str, Any]) -> tuple[int, int]:
    return len(tool.lacks(arguments)), -len(tool.arguments & arguments.keys())


def misfit(tools: Sequence[FileTool], arguments: Mapping[str, Any]) -> str | None:
    """Return what a call lacks that fits none of the tools of its name; None if it is a call of another tool.

    >>> misfit([FileTool(tool="save", path="path", content="text")], {"text": "x"})
    "the call is not carried out: 'path' is missing"

    A call of another tool has another command, such as `view`, or the text of a tool of the catalogue that is not
    carried out, such as `code_edit`.
    """
    if not tools:
        return None
    known = set[str]().union(*(each.arguments for each in tools))
    if not _NOT_CARRIED_OUT.get(tools[0].tool, set[str]()).isdisjoint(arguments.keys() - known):
        return None
    commands = [each.only for each in tools if each.only is not None]
    if len(commands) == len(tools) and all(
        isinstance(arguments.get(name), str) and arguments[name] != value for name, value in commands
    ):
        return None
    nearest = min(_distance(each, arguments) for each in tools)
    lacks = (" and ".join(each.lacks(arguments)) for each in tools if _distance(each, arguments) == nearest)
    return f"the call is not carried out: {', or '.join(dict.fromkeys(lacks))}"


_EDITORS = ("str_replace_based_edit_tool", "str_replace_editor")
_STRING, _CAMEL, _TEXT = ("old_string", "new_string"), ("oldString", "newString"), ("oldText", "newText")


def _replacing_tool(
    tool: str,
    path: str,
    texts: tuple[str, str],
    edits: str = "",
    *,
    every: str = "",
    count: str = "",
    dry_run: str = "",
) -> FileTool:
    old, new = texts
    return FileTool(tool=tool, path=path, old=old, new=new, edits=edits, every=every, count=count, dry_run=dry_run)


_WRITING = (
    FileTool(tool="write_file", path="path", content="content"),
    *(
        FileTool(
            tool=each.tool,
            path=each.others[0],
            content=each.text,
            only=("command", "create") if each.tool in _EDITORS else None,
        )
        for each in CATALOGUE
        if each.segment_type == "write_file"
    ),
)
_REPLACING = (
    _replacing_tool("Edit", "file_path", _STRING, every="replace_all"),
    _replacing_tool("MultiEdit", "file_path", _STRING, "edits", every="replace_all"),
    _replacing_tool("replace", "file_path", _STRING, every="allow_multiple", count="expected_replacements"),
    _replacing_tool("edit", "file_path", _STRING, every="replace_all"),
    _replacing_tool("edit", "filePath", _CAMEL, every="replaceAll"),
    _replacing_tool("edit", "path", _TEXT),
    _replacing_tool("edit_file", "file_path", _STRING, count="expected_replacements"),
    _replacing_tool("edit_file", "path", _TEXT, "edits", dry_run="dryRun"),
    _replacing_tool("search_replace", "file_path", _STRING),
    _replacing_tool("replace_string_in_file", "filePath", _CAMEL),
    _replacing_tool("multi_replace_string_in_file", "filePath", _CAMEL, "replacements"),
    *(
        FileTool(tool=name, path="path", old="old_str", new="new_str", only=("command", "str_replace"))
        for name in _EDITORS
    ),
    *(
        FileTool(tool=name, path="path", line="insert_line", new=text, only=("command", "insert"))
        for name in _EDITORS
        for text in ("insert_text", "new_str")
    ),
)
_PATCHING = (
    FileTool(tool="edit_file", path="path", patch="patch"),
    FileTool(tool="patch_file", path="path", patch="patch"),
    FileTool(tool="replace_in_file", path="path", patch="diff"),
    FileTool(tool="apply_diff", path="path", patch="diff"),
    FileTool(tool="apply_patch", patch="input"),
    FileTool(tool="apply_patch", patch="patch"),
    FileTool(tool="apply_patch", patch="patchText"),
    FileTool(tool="apply_patch", path="path", patch="diff"),
)
KNOWN_FILE_CALLS: tuple[FileTool, ...] = (*_WRITING, *_REPLACING, *_PATCHING)
"""The file tools of known agents, as far as their calls say all that is to be done."""
_NOT_CARRIED_OUT: dict[str, set[str]] = {}
"""By tool the texts of those in the catalogue whose calls do not say all that is to be done."""
for _each in CATALOGUE:
    _NOT_CARRIED_OUT.setdefault(_each.tool, set()).add(_each.text.split("[")[0])


def tools_by_name(own: Iterable[FileTool]) -> dict[str, tuple[FileTool, ...]]:
    """Return the tools by name, those of the user first."""
    by_name: dict[str, tuple[FileTool, ...]] = {}
    for each in (*own, *KNOWN_FILE_CALLS):
        by_name[each.tool] = (*by_name.get(each.tool, ()), each)
    return by_name


class FileOptions(Struct, frozen=True, kw_only=True):
    """The options of `write_files`, which say what each is."""

    tools: Mapping[str, tuple[FileTool, ...]]
    own: frozenset[str]
    """The names of the user's."""
    approve: Approve | None
    approval_timeout: float | None
    keep_partial: bool
    dry_run: bool
    quota: int | None
    protected: ProtectedPaths
    absolute_paths: bool
    diff_limit: int
    on_edit: Callable[[Any], object] | None = None


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
    patches = read_patches(text, path, str(arguments.get("type", "")))
    if path is not None:
        patches = of_one_file(patches, path)
    return [
        PatchFile(confined(each.path), each, None if each.target is None else confined(each.target)) for each in patches
    ]


def read_patches(text: str, path: str | None, operation: str) -> tuple[FilePatch, ...]:
    """Return what a patch of any form but SEARCH and REPLACE does; raises `RefusedError`."""
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


def of_one_file(patches: tuple[FilePatch, ...], path: str) -> tuple[FilePatch, ...]:
    """Check that a patch of a call with a path is one of this file, and name it as the call does."""
    first = patches[0]
    if len(patches) > 1 or first.target is not None:
        message = f"the call is for {path!r}, but its patch names other files, too"
        raise RefusedError(message)
    if not are_of_one_file(first.path, path):
        message = f"the call is for {path!r}, but its patch for {first.path!r}"
        raise RefusedError(message)
    return (replace(first, path=path),)


def are_of_one_file(one: str, other: str) -> bool:
    """Return whether one path ends with the other.

    >>> are_of_one_file("src/a.py", "a.py"), are_of_one_file("src/a.py", "c/a.py")
    (True, False)
    """
    return f"/{one}".endswith(f"/{other}") or f"/{other}".endswith(f"/{one}")
