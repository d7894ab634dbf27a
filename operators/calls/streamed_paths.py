"""`Streamed` marks the text arguments of a tool that stream; and the paths of those that are marked, or named."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from msgspec import Struct

from ...events.errors import UsageError
from ..machines.json_values import FieldPath, read_path, write_path
from ..schemas.json_schema import Schema, map_subschemas
from ..schemas.path_in_schema import path_fault
from ..schemas.schema_references import definition
from .field_spec import NOT_CALLS, FieldSpec

_MARK = "x-streamed"
_is_marking: ContextVar[bool] = ContextVar("_is_marking", default=False)


class Streamed(Struct, frozen=True):
    """Marks a text argument of a tool that streams while the model writes it: `Annotated[str, Streamed()]`.

    >>> from typing import Annotated
    >>> from penstock import tool
    >>> from penstock.pipeline import Streamed
    >>> def save(title: str, body: Annotated[str, Streamed()]) -> None: ...
    >>> tool(save).streamed
    ('body',)

    It may be in a function's parameter, in a model's field, and inside lists and other models. A pydantic model's own
    JSON Schema does not show it.
    """

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Callable[[Any], Schema]) -> Schema:
        schema = handler(core_schema)
        return {**schema, _MARK: True} if _is_marking.get() else schema


@contextmanager
def marked_schemas() -> Generator[None, None, None]:
    """Let `Streamed` leave a mark in the JSON Schemas that are made in this block."""
    token = _is_marking.set(True)
    try:
        yield
    finally:
        _is_marking.reset(token)


def marked_paths(schema: Schema, owner: str) -> tuple[Schema, tuple[str, ...]]:
    """Return a schema without the marks of `Streamed`, and the paths that were marked.

    `UsageError` for a mark in a type that contains itself, because the paths to it have no end.
    """
    if not _is_marked(schema):
        return schema, ()
    found: dict[str, None] = {}

    def look(each: Schema, path: FieldPath, around: frozenset[str]) -> None:
        if each.get(_MARK) is True:
            found[write_path(path)] = None
        reference = each.get("$ref")
        if isinstance(reference, str):
            named = definition(schema, reference)
            if reference not in around:
                look(named, path, around | {reference})
            elif _is_marked(named):
                message = f"{owner}: a Streamed() argument is in a type that contains itself; name paths with streamed="
                raise UsageError(message)
        for step, below in _below(each):
            look(below, path if step is None else (*path, step), around)

    look(schema, (), frozenset())
    return _unmarked(schema), tuple(found)


def streamed_paths(streamed: Iterable[str] | str, parameters: Schema, name: str) -> tuple[str, ...]:
    """Return the paths of a tool's streamed arguments in their usual form.

    `UsageError` for a path that can never lead to a string, and for a tool whose name is that of other segments.
    """
    several = cast("object", streamed)
    given: tuple[Any, ...] = (
        tuple(streamed) if isinstance(several, Iterable) and not isinstance(several, str) else (several,)
    )
    if wrong := [each for each in given if not isinstance(each, str)]:
        message = f"the streamed arguments of tool {name!r} must be paths, such as 'content'; got {wrong[0]!r:.80}"
        raise UsageError(message)
    try:
        paths = tuple(dict.fromkeys(write_path(read_path(each)) for each in given))
        if paths:
            FieldSpec("f", paths=paths)
    except UsageError as error:
        message = f"the streamed arguments of tool {name!r}: {error}"
        raise UsageError(message) from None
    if paths and name in NOT_CALLS:
        message = f"segments named {name!r} are not tool calls, so this tool cannot stream; rename the tool"
        raise UsageError(message)
    for path in paths:
        if fault := path_fault(parameters, read_path(path)):
            message = f"tool {name!r} has no text at the streamed path {path!r}, because {fault}; correct the path"
            raise UsageError(message)
    return paths


def _below(schema: Schema) -> Iterator[tuple[str | int | Any, Schema]]:
    """Return the subschemas with the step to each: a key, an index, `...` for any, None for the same value."""
    for key, each in schema.get("properties", {}).items():
        yield key, each
    for number, each in enumerate(schema.get("prefixItems", ())):
        yield number, each
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield ..., schema[key]
    for each in schema.get("patternProperties", {}).values():
        yield ..., each
    for key in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(key, ()):
            yield None, cast("Schema", each)


def _is_marked(schema: Schema) -> bool:
    found: list[bool] = []

    def look(each: Schema, _path: str) -> Schema:
        found.append(each.get(_MARK) is True)
        return map_subschemas(each, look)

    look(schema, "")
    return any(found)


def _unmarked(schema: Schema, path: str = "") -> Schema:
    return map_subschemas({key: value for key, value in schema.items() if key != _MARK}, _unmarked, path)
