"""The tools named on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from ...events.errors import UsageError
from ..recordings.read_input import read_input
from ..tools.file_tools import FILE_TOOL_DEFINITIONS
from ..tools.tool import Tool, as_tools


def tools_named(names: Iterable[str], *, option: str = "--tool") -> tuple[Tool, ...]:
    """Return the named tools: built-in ones, MODULE:FUNCTION, FILE.py:FUNCTION, or a JSON file of definitions.

    `option`: the option named at the start of an error message.

    >>> [tool.name for tool in tools_named(["write_file", "base64:b64encode"])]
    ['write_file', 'b64encode']
    """
    values: list[Any] = []
    for name in names:
        try:
            values += as_tools(_values(name))
        except UsageError as error:
            message = f"{option} {name}: {error}"
            raise UsageError(message) from error
    return as_tools(values)


def _values(name: str) -> list[Any]:
    if name in FILE_TOOL_DEFINITIONS:
        return [FILE_TOOL_DEFINITIONS[name]]
    if name.endswith(".json") or Path(name).is_file():
        return _definitions(Path(name))
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        known = ", ".join(FILE_TOOL_DEFINITIONS)
        message = f"no such tool; pass one of {known}, MODULE:FUNCTION, or a JSON file"
        raise UsageError(message)
    return [_imported(module, path)]


def _definitions(path: Path) -> list[Any]:
    try:
        content: Any = json.loads(read_input(str(path)))
    except (ValueError, RecursionError) as error:
        message = f"is not JSON: {error}"
        raise UsageError(message) from error
    return list(_unwrapped(content))


def _unwrapped(content: Any) -> Iterator[Any]:
    """Yield the definitions of a list, of a request, or of Gemini's declarations."""
    match content:
        case [*inner] | {"tools": [*inner]} | {"function_declarations": [*inner]} | {"functionDeclarations": [*inner]}:
            for each in inner:
                yield from _unwrapped(each)
        case _:
            yield content


def _imported(module: str, path: str) -> Any:
    folder = Path.cwd()
    if module.endswith(".py"):
        folder, module = Path(module).resolve().parent, Path(module).stem
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # as `python` itself has it; an installed command has not
    try:
        found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:  # whatever the user's module raises is reported in one line
        message = f"cannot be imported: {type(error).__name__}: {error}"
        raise UsageError(message) from error
    return found
