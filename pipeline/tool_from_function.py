"""A function as a tool: its parameters as a model, one of them read while it arrives; its documentation, its call."""

from __future__ import annotations

import re
import warnings
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from functools import partial
from inspect import Parameter, cleandoc, getdoc, isasyncgenfunction, iscoroutinefunction, isfunction, signature, unwrap
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from ..events.errors import UsageError
from ..events.tool_invocation import InvocationFailed, ToolInvocation, true_arguments
from ..operators.calls.streamed_paths import Streamed
from ..operators.schemas.schema_validation import what_to_write
from ..operators.schemas.strict_schema import without_nulls
from ..sinks.acting.ledger import CallKey, call_key
from ..sinks.acting.streamed_text import whole_text

if TYPE_CHECKING:
    from .tool import Tool

_SECTION = re.compile(
    r"^(args|arguments|parameters|returns?|yields?|raises|examples?|notes?|attributes):\s*$",
    re.IGNORECASE | re.MULTILINE,
)


class _Parameter(Struct, frozen=True):
    """The name of a parameter, kept in its field's metadata because the field's name and alias may differ from it.

    `is_read`: the function reads its text while it arrives.
    """

    name: str
    is_read: bool = False


_KEYS = "__call_keys__"
"""The attribute of a function's model that has the names of the parameters that are a `CallKey`."""
_ENTRY = re.compile(r"^(\s*)\*{0,2}(\w+)\s*(?:\([^\n]*?\))?:\s*(.*)$")


def function_model(function: Callable[..., Any], name: str) -> type[BaseModel]:
    """Make a pydantic model with one field for each parameter of a function, in order.

    >>> def greet(name: str, times: int = 1): ...
    >>> function_model(greet, "greet")(name="Ann")
    greet(name='Ann', times=1)

    A parameter without an annotation accepts anything; there is a warning, but for a lambda's. With `Field(alias=...)`
    the model uses another name for it, which may be one that is not allowed in Python, such as `from`. Descriptions
    come from `Annotated[..., Field(description=...)]`, else from the `Args:` of a docstring in Google's style.
    Arguments without a parameter are refused. A parameter that is read while its text arrives (`AsyncIterator[str]`,
    `Iterator[str]`) is the last field, a `str`, so that models write it behind the others. One that is a `CallKey` has
    no field. `UsageError` for an async generator, for *args and **kwargs, for an annotation that cannot be resolved or
    has no JSON Schema, for an unbound method, for an alias that is a path or has several names, and for a second
    parameter that is read meanwhile.
    """
    if isasyncgenfunction(_plain(function)):
        message = (
            f"{name}() is an async generator, but a tool returns one result; collect the items and return the list"
        )
        raise UsageError(message)
    fields = _model_fields(function, name)
    for parameter in signature(function).parameters.values():
        if parameter.annotation is Parameter.empty:
            _warn_of_no_type(function, name, parameter.name)
    model = _made_model(function, name, fields)
    setattr(model, _KEYS, tuple(each.name for each, annotation in _parameters(function, name) if _is_key(annotation)))
    return model


def model_without_text(function: Callable[..., Any], name: str) -> type[BaseModel]:
    """Make the model of a function without the parameter that it reads while its text arrives."""
    fields = _model_fields(function, name)
    return _made_model(function, name, {key: each for key, each in fields.items() if not each.is_read})


class _Field(Struct):
    annotation: Any
    """As in the function; where a text is read while it arrives, it is a `str` instead."""
    said: dict[str, Any]
    parameter: Parameter
    is_read: bool

    @property
    def definition(self) -> Any:
        """What pydantic makes the field of; raises `AttributeError` or `TypeError` for what cannot be a type."""
        mark = _Parameter(self.parameter.name, self.is_read)
        field: Any = Annotated[self.annotation, Field(**self.said), mark]
        if self.is_read:
            field = Annotated[field, Streamed()]
        default = self.parameter.default
        return field if default is Parameter.empty else (field, default)


def _model_fields(function: Callable[..., Any], name: str) -> dict[str, _Field]:
    """Return the fields of a function's model by their names."""
    described = _described_parameters(_documentation(function))
    fields: dict[str, _Field] = {}
    names: set[str] = set()
    for parameter, annotated in _parameters(function, name):
        if _is_key(annotated):
            continue
        annotation = _as_text(parameter, annotated, function, name)
        said: dict[str, Any] = {"alias": _name_for_model(parameter, annotation, name)}
        if said["alias"] in names:
            message = f"two parameters of {name}() are named {said['alias']!r}; change one alias"
            raise UsageError(message)
        names.add(said["alias"])
        own = any(each.description for each in _fields(annotation, parameter.default))
        if not own and parameter.name in described:
            said["description"] = described[parameter.name]
        field = _Field(annotation, said, parameter, annotation is not annotated)
        fields[_free_name(parameter.name, fields)] = field
    read = [key for key, each in fields.items() if each.is_read]
    if len(read) > 1:
        first, second = (fields[key].parameter.name for key in read[:2])
        message = (
            f"{name}() reads two arguments while they arrive, {first!r} and {second!r}; annotate one of them as str"
        )
        raise UsageError(message)
    for key in read:
        fields[key] = fields.pop(key)
    return fields


def _is_key(annotation: Any) -> bool:
    return (annotation.__origin__ if get_origin(annotation) is Annotated else annotation) is CallKey


def _made_model(function: Callable[..., Any], name: str, fields: dict[str, _Field]) -> type[BaseModel]:
    annotations = {each.parameter.name: each.annotation for each in fields.values()}
    definitions: dict[str, Any] = {}
    for key, each in fields.items():
        try:
            definitions[key] = each.definition
        except (AttributeError, TypeError):  # of what is no type at all
            raise _no_model(name, f"{each.annotation!r} is no type", annotations) from None
    config = ConfigDict(extra="forbid", protected_namespaces=())
    try:
        return create_model(name, __config__=config, __module__=function.__module__, **definitions)
    except (PydanticUserError, TypeError) as error:
        why = str(error).splitlines()[0].partition(". Set `arbitrary_types_allowed")[0]
        raise _no_model(name, why, annotations) from error


_READ: dict[Any, bool] = {AsyncIterator: True, AsyncIterable: True, Iterator: False}
"""The annotations of a text that is read while it arrives, with whether an async function reads it.

`Iterable[str]` is none of them: pydantic takes it for a list of texts.
"""


def _as_text(parameter: Parameter, annotation: Any, function: Callable[..., Any], name: str) -> Any:
    """Return `str` in place of the iterator of a text; any other annotation as it is."""
    is_annotated = get_origin(annotation) is Annotated
    given = annotation.__origin__ if is_annotated else annotation
    kind = get_origin(given) or given
    is_for_async = _READ.get(kind) if isinstance(kind, type) else None
    if is_for_async is None:
        return annotation
    called = f"parameter {parameter.name!r} of {name}() is an {kind.__name__}"
    if get_args(given) != (str,):
        message = f"{called}, and what a tool reads while it arrives is text; write {kind.__name__}[str]"
        raise UsageError(message)
    if is_for_async and not is_async(function):
        message = f"{called}, which only an async function can read; write async def, or Iterator[str]"
        raise UsageError(message)
    if not is_for_async and is_async(function):
        message = f"{called}, which would block the event loop; write AsyncIterator[str]"
        raise UsageError(message)
    fields = _fields(annotation, parameter.default)
    is_plain = parameter.default is not Parameter.empty and parameter.default not in fields
    if is_plain or not all(each.is_required() for each in fields):
        message = f"{called}, which cannot have a default, because the call begins with it; remove the default"
        raise UsageError(message)
    return Annotated[(str, *annotation.__metadata__)] if is_annotated else str


def read_argument(model: type[BaseModel] | None) -> str | None:
    """Return the argument that a function reads while its text arrives, by its name for the model; None without one."""
    for field in (model.model_fields if model is not None else {}).values():
        if any(isinstance(each, _Parameter) and each.is_read for each in field.metadata):
            return field.alias
    return None


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
    function: Callable[..., Any], model: type[BaseModel], given: BaseModel, key: CallKey, text: Any = None
) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and keyword arguments of a call from a model's instance.

    They are the values themselves and not a dump: nested models stay models. `text` is what the function reads while it
    arrives, which the instance may lack then; without it, the function gets the whole text at once. `key` is for the
    parameters that are a `CallKey`.
    """
    values: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        mark = next((each for each in field.metadata if isinstance(each, _Parameter)), None)
        if mark is not None and mark.is_read:
            is_new = text is None
            values[mark.name] = whole_text(getattr(given, name), is_async=is_async(function)) if is_new else text
        else:
            values[field.alias or name if mark is None else mark.name] = getattr(given, name)
    parameters = signature(function).parameters.values()
    values.update(dict.fromkeys(getattr(model, _KEYS, ()), key))
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
    key = call_key(invocation.turn_id, invocation.id)
    by_position, by_name = function_arguments(tool.function, tool.model, given, key)
    return partial(tool.function, *by_position, **by_name)


def opening_of(tool: Tool[..., Any]) -> Tool[..., Any]:
    """Return a tool that validates what a call has before the argument that the function reads while it arrives."""
    read, function = tool.read_while_written, cast("Callable[..., Any]", tool.function)
    parameters = tool.parameters
    others = {key: each for key, each in parameters["properties"].items() if key != read}
    required = [key for key in parameters.get("required", ()) if key != read]
    schema = {**parameters, "properties": others, "required": required}
    return replace(tool, model=model_without_text(function, tool.name), parameters=schema, streamed=())


def opened_call(tool: Tool[..., Any], opening: BaseModel, text: Any, key: CallKey) -> Callable[[], Any]:
    """Return the function of a tool with the arguments of a call that is still written, and the text to read."""
    function = cast("Callable[..., Any]", tool.function)
    by_position, by_name = function_arguments(function, cast("type[BaseModel]", tool.model), opening, key, text)
    return partial(function, *by_position, **by_name)


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
