"""A function as a tool: its parameters as a model, those that are `Streamed`, its documentation, its call."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from inspect import Parameter, cleandoc, getdoc, isasyncgenfunction, iscoroutinefunction, isfunction, signature, unwrap
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from ..events.errors import UsageError
from ..events.tool_invocation import InvocationFailed, ToolInvocation, true_arguments
from ..operators.calls.field_spec import NOT_CALLS, FieldSpec
from ..operators.machines.json_values import FieldPath, read_path, write_path
from ..operators.schemas.json_schema import Schema, map_subschemas
from ..operators.schemas.path_in_schema import path_fault
from ..operators.schemas.schema_references import definition
from ..operators.schemas.schema_validation import what_to_write
from ..operators.schemas.strict_schema import without_nulls

if TYPE_CHECKING:
    from .tool import Tool

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


_SECTION = re.compile(
    r"^(args|arguments|parameters|returns?|yields?|raises|examples?|notes?|attributes):\s*$",
    re.IGNORECASE | re.MULTILINE,
)


class _Parameter(Struct, frozen=True):
    """The name of a parameter, kept in its field's metadata because the field's name and alias may differ from it."""

    name: str


_ENTRY = re.compile(r"^(\s*)\*{0,2}(\w+)\s*(?:\([^\n]*?\))?:\s*(.*)$")


def function_model(function: Callable[..., Any], name: str) -> type[BaseModel]:
    """Make a pydantic model with one field for each parameter of a function, in order.

    >>> def greet(name: str, times: int = 1): ...
    >>> function_model(greet, "greet")(name="Ann")
    greet(name='Ann', times=1)

    A parameter without an annotation accepts anything; there is a warning, but for a lambda's. With `Field(alias=...)`
    the model uses another name for it, which may be one that is not allowed in Python, such as `from`. Descriptions
    come from `Annotated[..., Field(description=...)]`, else from the `Args:` of a docstring in Google's style.
    Arguments without a parameter are refused. `UsageError` for an async generator, for *args and **kwargs, for an
    annotation that cannot be resolved or has no JSON Schema, for an unbound method, and for an alias that is a path or
    has several names.
    """
    if isasyncgenfunction(_plain(function)):
        message = (
            f"{name}() is an async generator, but a tool returns one result; collect the items and return the list"
        )
        raise UsageError(message)
    described = _described_parameters(_documentation(function))
    fields: dict[str, Any] = {}
    annotations: dict[str, Any] = {}
    names: set[str] = set()
    for parameter, annotation in _parameters(function, name):
        said: dict[str, Any] = {"alias": _name_for_model(parameter, annotation, name)}
        if said["alias"] in names:
            message = f"two parameters of {name}() are named {said['alias']!r}; change one alias"
            raise UsageError(message)
        names.add(said["alias"])
        annotations[parameter.name] = annotation
        if parameter.annotation is Parameter.empty:
            _warn_of_no_type(function, name, parameter.name)
        own = any(each.description for each in _fields(annotation, parameter.default))
        if not own and parameter.name in described:
            said["description"] = described[parameter.name]
        try:
            field: Any = Annotated[annotation, Field(**said), _Parameter(parameter.name)]
        except (AttributeError, TypeError):  # of what is no type at all
            raise _no_model(name, f"{annotation!r} is no type", annotations) from None
        fields[_free_name(parameter.name, fields)] = (
            field if parameter.default is Parameter.empty else (field, parameter.default)
        )
    config = ConfigDict(extra="forbid", protected_namespaces=())
    try:
        return create_model(name, __config__=config, __module__=function.__module__, **fields)
    except (PydanticUserError, TypeError) as error:
        why = str(error).splitlines()[0].partition(". Set `arbitrary_types_allowed")[0]
        raise _no_model(name, why, annotations) from error


def _no_model(name: str, why: str, annotations: dict[str, Any]) -> UsageError:
    what = what_to_write(annotations)
    return UsageError(f"the parameters of {name}() cannot be turned into a pydantic model: {why}{what}")


def _warn_of_no_type(function: Callable[..., Any], name: str, parameter: str) -> None:
    code = getattr(unwrap(_plain(function)), "__code__", None)
    if code is None or code.co_name == "<lambda>":  # which cannot say it
        return
    message = (
        f"parameter {parameter!r} of {name}() has no annotation, so the model is told no type; write {parameter}: str, "
        "or what it is; Any takes anything"
    )
    warnings.warn_explicit(message, UserWarning, code.co_filename, code.co_firstlineno)


def function_arguments(
    function: Callable[..., Any], model: type[BaseModel], given: BaseModel
) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and keyword arguments of a call from a model's instance.

    They are the values themselves and not a dump: nested models stay models.
    """
    values: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        marks = [each.name for each in field.metadata if isinstance(each, _Parameter)]
        values[marks[0] if marks else field.alias or name] = getattr(given, name)
    parameters = signature(function).parameters.values()
    return [values.pop(each.name) for each in parameters if each.kind is Parameter.POSITIONAL_ONLY], values


def function_name(function: Callable[..., Any]) -> str:
    """Return the name of a function; `UsageError` if it has none."""
    name = getattr(_plain(function), "__name__", None)
    if not isinstance(name, str):
        message = f"{function!r} has no name; pass one with tool(..., name=...)"
        raise UsageError(message)
    return name


def function_description(function: Callable[..., Any]) -> str:
    """Return a function's docstring up to its first section (`Args:`, `Returns:` and so on)."""
    documentation = _documentation(function)
    section = _SECTION.search(documentation)
    return documentation[: section.start() if section else None].strip()


def _plain(function: Any) -> Any:
    while isinstance(function, partial):
        function = cast("partial[object]", function).func
    return function


def _documentation(function: Callable[..., Any]) -> str:
    plain = _plain(function)
    by_class = type(plain).__call__
    return getdoc(plain) or (getdoc(by_class) if isfunction(by_class) else None) or ""


def _parameters(function: Callable[..., Any], name: str) -> Iterator[tuple[Parameter, Any]]:
    try:
        parameters = signature(function).parameters
    except (TypeError, ValueError) as error:
        message = f"{name}() has no signature to read; wrap it in a function that has one"
        raise UsageError(message) from error
    try:
        annotated = {each.name: each.annotation for each in parameters.values() if each.annotation is not each.empty}
        plain = unwrap(_plain(function))
        known = getattr(plain, "__globals__", None) or getattr(type(plain).__call__, "__globals__", {})
        # Of the parameters only: what a function returns may be known to type checkers alone.
        hints = get_type_hints(SimpleNamespace(__annotations__=annotated), known, include_extras=True)
    except (NameError, SyntaxError, TypeError) as error:
        message = f"the annotations of {name}() cannot be resolved: {error}; import those names at module level"
        raise UsageError(message) from error
    for number, parameter in enumerate(parameters.values()):
        if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            message = f"{name}() takes {str(parameter).split(':')[0]}, but a tool needs named parameters"
            raise UsageError(message)
        if number == 0 and parameter.name in ("self", "cls") and parameter.name not in annotated:
            message = f"{name}() is unbound; pass a bound method: tool(thing.{name})"
            raise UsageError(message)
        yield parameter, hints.get(parameter.name, Any)


def _fields(annotation: Any, default: Any) -> list[FieldInfo]:
    """Return the `Field(...)`s of a parameter; the later one takes precedence."""
    return [each for each in (*getattr(annotation, "__metadata__", ()), default) if isinstance(each, FieldInfo)]


def _name_for_model(parameter: Parameter, annotation: Any, function: str) -> str:
    given: Any = parameter.name
    for field in _fields(annotation, parameter.default):
        given = field.validation_alias or field.alias or given
    if not isinstance(given, str):
        message = f"parameter {parameter.name!r} of {function}() needs one name with Field(alias=...), got {given!r}"
        raise UsageError(message)
    return given


def _free_name(name: str, taken: dict[str, Any]) -> str:
    """Return a field's name for a parameter; pydantic's models have methods and private names of their own."""
    free = name.lstrip("_") or "field"
    if free != name or hasattr(BaseModel, free):
        free += "_"
    while free in taken:
        free += "_"
    return free


def _described_parameters(documentation: str) -> dict[str, str]:
    """Return what `Args:` says of each parameter, on one line each."""
    section = next(
        (each for each in _SECTION.finditer(documentation) if each[1].lower().startswith(("arg", "par"))), None
    )
    if section is None:
        return {}
    after = documentation[section.end() :]
    following = _SECTION.search(after)
    described: dict[str, str] = {}
    name, depth = "", -1
    for line in cleandoc(after[: following.start() if following else None]).splitlines():
        entry = _ENTRY.match(line)
        if entry is not None and (depth < 0 or len(entry[1]) <= depth):
            name, depth = entry[2], len(entry[1])
            described[name] = entry[3].strip()
        elif name and line.strip():
            described[name] = f"{described[name]} {line.strip()}".strip()
    return {name: text for name, text in described.items() if text}


def checked_call(tool: Tool[..., Any], invocation: object) -> Callable[[], Any]:
    """Return the function of a tool with the validated arguments of a call; `UsageError` if the tool cannot run it."""
    if isinstance(invocation, InvocationFailed):
        message = (
            f"the call of {invocation.name!r} failed as {invocation.reason!r} and cannot run; "
            "run only ToolInvocations, and answer this call with an error"
        )
        raise UsageError(message)
    if not isinstance(invocation, ToolInvocation):
        message = f"a tool runs a ToolInvocation, which a Pipeline or to_invocations emits; got {invocation!r:.80}"
        raise UsageError(message)
    if tool.function is None or invocation.name != tool.name:
        what = "has no function to run" if tool.function is None else f"is not {invocation.name!r}"
        message = f"tool {tool.name!r} {what}"
        raise UsageError(message)
    arguments = true_arguments(invocation)
    if tool.model is None:
        tool.validate(arguments)
        return partial(tool.function, **without_nulls(arguments, tool.parameters))
    given: Any = invocation.model
    if not isinstance(given, tool.model):  # read back from JSON, redacted, or not validated so far
        given = tool.validate(arguments)
    by_position, by_name = function_arguments(tool.function, tool.model, given)
    return partial(tool.function, *by_position, **by_name)


def is_async(function: Any) -> bool:
    """Return whether calling a function only makes a coroutine, which has to be awaited."""
    while isinstance(function, partial):
        function = function.func
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def in_thread(call: Callable[[], Any]) -> Any:
    """Call a function in a thread; a `StopIteration`, which no future can have, becomes a `RuntimeError`."""
    try:
        return call()
    except StopIteration as error:
        message = "a tool raised StopIteration; pass a default to next(...), or catch it in the tool"
        raise RuntimeError(message) from error
