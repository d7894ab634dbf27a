"""Which declared tools have calls that `write_files` carries out, and which were meant to: `fits` and `fault`.

A tool is told by its name and the names of its parameters. `ROLES`, `_VERBS` and `_VAGUE` are names that people give:
a tool that has all parts of a form, under such names, is near it, and `nearest` returns the `FileTool` to write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dis import get_instructions
from functools import cache
from inspect import signature
from types import CodeType
from typing import Any, Protocol, TypeAlias, cast

from ...operators.machines.json_values import FieldPath
from ...operators.schemas.json_schema import Schema, types_of
from ...operators.schemas.path_in_schema import path_fault
from ...operators.schemas.schema_references import definition
from .file_tool import KNOWN_FILE_CALLS, FileTool


class DeclaredTool(Protocol):
    """What is asked of a tool."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Schema: ...
    @property
    def function(self) -> Callable[..., Any] | None: ...


_FILLERS = ("string", "str", "text", "content", "code", "snippet", "block", "lines")
ROLES: dict[str, tuple[Collection[str], Collection[str]]] = {
    "path": ((), ("path", "file", "filepath", "filename", "file path", "file name", "target file", "relative path")),
    "old": (_FILLERS, ("old", "search", "find", "original")),
    "new": (_FILLERS, ("new", "replace", "replace with", "replacement", "updated")),
    "content": (("file", "new", "full", "whole"), ("content", "contents", "text", "code", "code content", "source")),
    "patch": ((*_FILLERS, "unified", "file"), ("patch", "diff")),
    "line": ((), ("line", "line number", "insert line", "after line")),
    "every": ((), ("all", "every", "replace all", "all occurrences", "allow multiple")),
    "dry_run": ((), ("dry run",)),
}
"""By argument of a `FileTool` the words of a parameter's name that do not matter, and what the others may be."""
_TYPES = {"line": {"integer", "number"}, "every": {"boolean"}, "dry_run": {"boolean"}}
"""The types of the arguments that are not texts."""
_FORMS = {
    "replace": ("path", "old", "new", "edits", "every", "dry_run"),
    "patch": ("path", "patch", "dry_run"),
    "insert": ("path", "line", "new", "dry_run"),
    "write": ("path", "content", "dry_run"),
}
_VERBS = {
    "replace": frozenset(("edit", "replace", "change", "modify", "update", "rewrite", "substitute")),
    "patch": frozenset(("edit", "patch", "apply")),
    "insert": frozenset(("insert",)),
    "write": frozenset(("write", "save", "create", "overwrite")),
}
"""What a tool of each form does, in its name."""
_VAGUE = frozenset(
    ("text", "str", "string", "content", "code", "in", "into", "to", "and", "search", "find", "multi", "tool")
).union(*_VERBS.values())
"""Words of a name that do not say what a tool is about, if not about files."""
_OF_FILES = frozenset(("file", "files", "filename", "filepath"))
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

FileTools: TypeAlias = Mapping[str, Sequence[FileTool]]
"""File tools by name."""


def fits(tools: Iterable[FileTool], parameters: Schema) -> bool:
    """Return whether calls with these parameters can be calls of one of the tools; if they are unknown, they can.

    >>> edit = FileTool(tool="edit", path="path", old="old_text", new="new_text")
    >>> fits([edit], {"properties": {"path": {}, "old_text": {}, "new_text": {}, "why": {}}})
    True
    >>> fits([edit], {"properties": {"path": {}, "old": {}, "new": {}}})
    False
    """
    return any(not _unknown(each, parameters) for each in tools)


def fault(tool: DeclaredTool, known: FileTools, own: Collection[str]) -> str | None:
    """Return what is wrong with a tool that fits no file tool, if it was meant to: it would do nothing.

    - `known`: the file tools; `own`: the names of those that the user has added.

    A function that does something is left alone, unless one of the user's file tools has its name.
    """
    called = f"{tool.name}({', '.join(tool.parameters.get('properties', ()))})"
    if tool.name in own:
        wrong = dict.fromkeys(name for each in known[tool.name] for name in _unknown(each, tool.parameters))
        return (
            f"the FileTool of {tool.name!r} names {', '.join(map(repr, wrong))}, but the tool is {called}; "
            "write the names of its parameters"
        )
    near = nearest(tool.name, tool.parameters)
    if near is None:
        return None
    if tool.function is not None and is_stub(tool.function):
        return (
            f"{called} has no body, and write_files(...) does not know its parameters, so its calls would do nothing; "
            f"pass write_files(..., tools=[{near}]), or write the body"
        )
    if tool.function is None and tool.name in known:
        return (
            f"write_files(...) does not know the parameters of {called}, so it would carry out none of its calls; "
            f"pass write_files(..., tools=[{near}]), or name the tool otherwise"
        )
    return None


def too_late(tool: DeclaredTool) -> str | None:
    """Return what is wrong with a tool that fits, if an earlier step runs it: without a body it would do nothing."""
    if tool.function is None or not is_stub(tool.function):
        return None
    return (
        f"{tool.name}(...) has no body, and a step before write_files(...) would run it, so its calls would do "
        "nothing; put write_files(...) first"
    )


def what_to_write(value: Any) -> str:
    """Return what to write in place of a function, or a tool, that was given as a file tool; empty if it is unclear."""
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    if not isinstance(name, str) or not callable(value):
        return ""
    parameters: Any = getattr(value, "parameters", None)
    if not isinstance(parameters, dict):
        try:
            parameters = {"properties": dict.fromkeys(signature(value).parameters, True)}
        except (TypeError, ValueError):  # of what is built into Python
            return ""
    schema = cast("Schema", parameters)
    if fits((each for each in KNOWN_FILE_CALLS if each.tool == name), schema):
        return f"; leave {name!r} out, because write_files(...) knows it"
    near = nearest(name, schema)
    return "" if near is None else f"; write {near}"


def nearest(name: str, parameters: Schema) -> FileTool | None:
    """Return the file tool that a tool is likely to be, None if it may have nothing to do with files.

    >>> nearest("edit_file", {"properties": {"path": {}, "old": {}, "new": {}, "reason": {}}})
    FileTool(tool='edit_file', path='path', old='old', new='new')
    >>> nearest("change_key", {"properties": {"path": {}, "old": {}, "new": {}}})
    """
    found = _edits(parameters) | _roles(parameters, parameters)
    one, other = ("new", "content") if "line" in found else ("content", "new")
    if one not in found and other in found and "old" not in found:  # `new_content` may be either
        found[one] = found[other]
    form = _form(found)
    if form is None:
        return None
    words = _words(name)
    is_of_files = not _OF_FILES.isdisjoint((*words, *_words(found.get("path", ""))))
    if _VERBS[form].isdisjoint(words) or not (is_of_files or _VAGUE.issuperset(words)):
        return None
    arguments: dict[str, Any] = {role: found[role] for role in _FORMS[form] if role in found}
    return FileTool(tool=name, **arguments)


def _form(found: Mapping[str, str]) -> str | None:
    """Return the form of a tool with these arguments; a patch alone may name its files itself."""
    if "patch" in found:
        return "patch"
    if "path" not in found:
        return None
    if "old" in found:
        return "replace" if "new" in found else None
    if "line" in found:
        return "insert" if "new" in found else None
    return "write" if "content" in found else None


def _roles(schema: Schema, root: Schema) -> dict[str, str]:
    """Return the parameters that are arguments of a file tool, by what they are."""
    found: dict[str, str] = {}
    for name, each in schema.get("properties", {}).items():
        role = _role(name)
        if role is not None and role not in found and _is_of_type(role, each, root):
            found[role] = name
    return found


def _is_of_type(role: str, schema: Any, root: Schema) -> bool:
    if role not in _TYPES:
        return path_fault({**root, "properties": {"text": schema}}, ("text",)) is None
    types = types_of(cast("Schema", schema)) if isinstance(schema, dict) else []
    return not types or not _TYPES[role].isdisjoint(types)


def _edits(root: Schema) -> dict[str, str]:
    """Return the parameter that is a list of edits, and what its items have; nothing without one."""
    for name, each in root.get("properties", {}).items():
        items: Any = cast("Schema", each).get("items") if isinstance(each, dict) else None
        if isinstance(items, dict) and isinstance(reference := cast("Schema", items).get("$ref"), str):
            items = definition(root, reference)
        found = _roles(cast("Schema", items), root) if isinstance(items, dict) else {}
        if {"old", "new"} <= found.keys():
            return {role: found[role] for role in ("old", "new", "path") if role in found} | {"edits": name}
    return {}


@cache
def _role(parameter: str) -> str | None:
    words = _words(parameter)
    for role, (fillers, names) in ROLES.items():
        if not {" ".join(words), " ".join(word for word in words if word not in fillers)}.isdisjoint(names):
            return role
    return None


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(name))


def _unknown(tool: FileTool, parameters: Schema) -> list[str]:
    """Return those arguments of a file tool that a tool with these parameters cannot have."""
    if not parameters.get("properties") and parameters.get("additionalProperties") is not False:
        return []
    inside: FieldPath = (tool.edits, ...) if tool.edits else ()
    texts: list[FieldPath] = [(name,) for name in (tool.content, tool.patch, tool.only[0] if tool.only else "") if name]
    texts += [(*inside, name) for name in (tool.old, tool.new) if name]
    unknown = [str(path[-1]) for path in texts if path_fault(parameters, path)]
    if tool.path and all(path_fault(parameters, path) for path in ((tool.path,), (*inside, tool.path))):
        unknown.append(tool.path)
    if tool.line and tool.line not in parameters.get("properties", {}):
        unknown.append(tool.line)
    return unknown


def is_stub(function: Callable[..., Any]) -> bool:
    """Return whether a function does nothing, and returns None: its body is `...`, `pass` or a docstring.

    >>> def write_file(path: str, content: str) -> None:
    ...     "Write a file."
    >>> is_stub(write_file), is_stub(lambda path: path)
    (True, False)
    """
    code = getattr(function, "__code__", None)
    return isinstance(code, CodeType) and _steps(code) in _STUBS


def _steps(code: CodeType) -> list[tuple[str, Any]]:
    return [(each.opname, each.argval) for each in get_instructions(code) if each.opname != "NOP"]


def _stub() -> None: ...


async def _async_stub() -> None: ...


_STUBS = (_steps(_stub.__code__), _steps(_async_stub.__code__))
