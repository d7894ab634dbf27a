"""`Tool`, and `tool`, which makes one from a function, a pydantic model or a JSON Schema."""

from __future__ import annotations

import re
import sys
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from inspect import isawaitable
from typing import Any, Generic, Protocol, cast, overload

from msgspec import Struct
from msgspec.structs import force_setattr, replace
from pydantic import BaseModel
from typing_extensions import ParamSpec, TypeVar

from ..events.errors import UsageError
from ..events.tool_invocation import ToolInvocation
from ..operators.calls.streamed_paths import marked_paths, marked_schemas, streamed_paths
from ..operators.schemas.json_schema import PARAMETERS, TYPES
from ..operators.schemas.schema_references import object_schema
from ..operators.schemas.schema_validation import check_schema, exact_instance, model_schema, raise_for_schema
from ..operators.schemas.strict_schema import without_nulls
from .tool_from_function import (
    checked_call,
    function_description,
    function_model,
    function_name,
    in_thread,
    is_async,
    read_argument,
)

_READ_FIELDS: dict[str, type] = {
    "description": str,
    "strict": bool,
    "cache_control": dict,
    "eager_input_streaming": bool,
}
"""What a definition may say beside its parameters; the last two are Anthropic's."""
_DEFINING = frozenset(("name", "description", "strict", "title", *PARAMETERS))
_SCHEMA = (
    *("properties", "required", "additionalProperties", "patternProperties"),
    *("$ref", "$defs", "definitions", "allOf", "anyOf", "oneOf"),
)
_KINDS = ("function", "custom")
_RESULTS = ("outputSchema", "output_schema", "response", "response_json_schema", "responseJsonSchema")
"""Keywords for results in some forms of definitions; they are ignored, because no request has a place for them."""


def read_definition(given: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
    """Return the name, the parameters and what else is said in a definition in any provider's form.

    >>> read_definition({"type": "function", "function": {"name": "now", "description": "The time."}})
    {'name': 'now', 'parameters': {}, 'description': 'The time.'}

    A JSON Schema is a definition's parameters, if it has a name: from `name`, as its name, or as its title. Whether it
    describes an object is not checked here. `UsageError` for a tool that the provider runs itself, for a missing name,
    and for a schema in the wrong place.
    """
    if _is_schema(given):
        own = given.get("name")
        title = name or own or given.get("title")
        if not isinstance(title, str):
            message = "a JSON Schema has no tool name; pass one with tool(schema, name=...)"
            raise UsageError(message)
        if not isinstance(own, str | None):
            message = f"'name' beside the JSON Schema of tool {title!r} must be a str; put properties into 'properties'"
            raise UsageError(message)
        schema = {key: value for key, value in given.items() if key not in ("name", "title", *_READ_FIELDS)}
        return {"name": title, "parameters": schema, **_read_fields(given, title)}
    definition = _function(given)
    own = definition.get("name")
    title = name or own
    if (
        not isinstance(title, str)
        or not isinstance(own, str | None)
        or (definition and _DEFINING.isdisjoint(definition))
    ):
        message = f"a tool definition needs 'name' and 'parameters', got the keys {', '.join(map(repr, definition))}"
        raise UsageError(message)
    return {"name": title, "parameters": _parameters(definition, title), **_read_fields(definition, title)}


def _is_schema(given: Mapping[str, Any]) -> bool:
    kind: Any = given.get("type")
    if kind in _KINDS or "function" in given or any(key in given for key in PARAMETERS):
        return False
    return isinstance(kind, list) or kind in TYPES or any(key in given for key in _SCHEMA)


def _function(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition without its wrapper; keys beside "function" count too."""
    kind: Any = given.get("type", "function")
    if kind not in (*_KINDS, *TYPES) or (kind == "custom" and "input_schema" not in given):
        message = f"a tool of type {kind!r} has no parameters of its own; add it to the request yourself"
        raise UsageError(message)
    function: Any = given.get("function", {})
    if not isinstance(function, Mapping):
        message = f"'function' must be a tool definition, got {function!r}"
        raise UsageError(message)
    around = {key: value for key, value in given.items() if key != "function"}
    if kind in _KINDS:
        around.pop("type", None)
    return {**around, **cast("Mapping[str, Any]", function)}


def _parameters(definition: Mapping[str, Any], name: str) -> Any:
    """Return the parameters' schema; `UsageError` for a part of a schema in the wrong place."""
    given: dict[str, Any] = {key: definition[key] for key in PARAMETERS if definition.get(key) is not None}
    for value in given.values():
        if not isinstance(value, Mapping):
            message = f"the parameters of tool {name!r} must be a JSON Schema; got {value!r:.80}"
            raise UsageError(message)
    if lost := [key for key in ("type", *_SCHEMA) if key in definition]:
        message = f"{lost[0]!r} of tool {name!r} is beside its schema, where it has no effect; move it inside"
        raise UsageError(message)
    if not given:
        for key in set(definition).difference(_DEFINING, _RESULTS):
            other: Any = definition[key]
            if isinstance(other, Mapping) and _is_schema(cast("Mapping[str, Any]", other)):
                message = f"tool {name!r} has its JSON Schema under {key!r}; move it to 'parameters'"
                raise UsageError(message)
    several = [value for value in given.values() if value]
    if any(each != several[0] for each in several):
        message = f"tool {name!r} has different parameters under {', '.join(map(repr, given))}; keep one"
        raise UsageError(message)
    return several[0] if several else {}


def _read_fields(definition: Mapping[str, Any], name: str) -> dict[str, Any]:
    said = {key: definition[key] for key in _READ_FIELDS if definition.get(key) is not None}
    for key, value in said.items():
        if not isinstance(value, _READ_FIELDS[key]):
            message = f"{key!r} of tool {name!r} must be of type {_READ_FIELDS[key].__name__}; got {value!r:.80}"
            raise UsageError(message)
    return said


# The widest rule of all providers; `tool_schemas` asks for that of its provider.
_NAME = re.compile(r"[a-zA-Z0-9_.:-]{1,128}")
_SAID = ("name", "description", "strict", "coerce", "streamed", "idempotent", "cache_control", "eager_input_streaming")
"""The arguments that a tool made again from its function would lose."""


# A plain `Tool` is one of which nothing is known.
P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)
T = TypeVar("T")


class Tool(Struct, Generic[P, R], frozen=True, eq=False, kw_only=True):
    """A tool that a model can call: its definition, and how to validate and run a call; made with `tool`.

    - `name`: letters, digits and `_ - . :`, at most 128; some providers take less. `description`: for the model.
    - `parameters`: a JSON Schema of type object.
    - `model`: the pydantic model that validates; `function`: what `run` calls, and calling the tool itself.
    - `strict`: True for the provider's strict mode wherever there is one, False for never, None for whatever
      `tool_schemas(strict=...)` says.
    - `validates`: whether a tool without a model checks arguments against `parameters`.
    - `coerce`: whether the model may turn one type of JSON into another, as "12" into 12. False implies `validates`.
    - `streamed`: paths of the text arguments that stream while the model writes them.
    - `idempotent`: whether a second call with the same `CallKey` does nothing more than the first.
    - `cache_control`, `eager_input_streaming`: keys of Anthropic's definitions, which no other provider gets.

    Tools are equal if they are made of the same thing, with the same definition.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}  # msgspec gives each instance its own
    model: type[BaseModel] | None = None
    function: Callable[P, R] | None = None
    strict: bool | None = None
    validates: bool = False
    coerce: bool = True
    streamed: tuple[str, ...] = ()
    idempotent: bool = False
    cache_control: dict[str, Any] | None = None
    eager_input_streaming: bool | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            message = (
                f"{self.name!r} is not a valid tool name; use 1 to 128 letters, digits and _ - . : only, or pass name="
            )
            raise UsageError(message)
        parameters = object_schema(self.parameters, f"tool {self.name!r}")
        force_setattr(self, "parameters", parameters)
        if not self.coerce:
            force_setattr(self, "validates", True)  # noqa: FBT003 - the value itself
        if self.validates and self.model is None:
            check_schema(parameters, f"the parameters of tool {self.name!r}")
        force_setattr(self, "streamed", streamed_paths(self.streamed, parameters, self.name))

    @property
    def read_while_written(self) -> str | None:
        """The argument that the function reads while the model writes it: its `AsyncIterator[str]` or `Iterator[str]`.

        None without one.
        """
        return None if self.function is None else read_argument(self.model)

    def validate(self, arguments: dict[str, Any]) -> BaseModel | None:
        """Return the model's instance of a call's arguments, None without a model; raises pydantic's `ValidationError`.

        A null for a parameter that is optional and cannot be null counts as not given. Other exceptions of the model's
        own validators pass through; in a stream they make the call `invalid`.
        """
        if self.model is None and not self.validates:
            return None
        given = without_nulls(arguments, self.parameters)
        if self.model is None:
            raise_for_schema(given, self.parameters, self.name)
            return None
        return self.model.model_validate(given) if self.coerce else exact_instance(self.model, given, self.parameters)

    def run(self, invocation: ToolInvocation) -> R:
        """Call the function with the validated arguments of a call; for an async function return an awaitable.

        An argument that the function reads while the model writes it is there at once, in one piece. `UsageError` for a
        call of another tool, for anything but a `ToolInvocation`, or if there is no function.
        """
        result: R = checked_call(self, invocation)()
        return result

    @overload
    async def arun(self: Tool[P, Awaitable[T]], invocation: ToolInvocation) -> T: ...
    @overload
    async def arun(self, invocation: ToolInvocation) -> R: ...
    async def arun(self, invocation: ToolInvocation) -> Any:
        """Call the function as `run` does, and await it; a function that is not async runs in a thread.

        Context variables have their values in the thread, too. Cancelling does not stop a function in a thread.
        """
        call = checked_call(self, invocation)
        result: Any = call() if is_async(self.function) else await to_thread(in_thread, call)
        return await result if isawaitable(result) else result

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function or the model that the tool was made from, with plain arguments."""
        called: Any = self.function or self.model
        if called is None:
            message = f"tool {self.name!r} was made from a JSON Schema, so it has no function to call"
            raise UsageError(message)
        result: R = called(*args, **kwargs)
        return result

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tool) and self._compared() == other._compared()

    def __ne__(self, other: object) -> bool:  # msgspec's own does not ask `__eq__`
        return not self == other

    def __hash__(self) -> int:
        return hash((self.name, self.description))

    def _compared(self) -> tuple[Any, ...]:
        # A function's model is made anew with each tool.
        return (self.function or self.model, self.parameters, self.validates, *(getattr(self, each) for each in _SAID))

    def __reduce__(self) -> tuple[Any, ...]:
        # A function's model cannot be pickled, so it is made again. Under `@tool` the tool has the function's place.
        made_of = self.function or self.model
        module, path = getattr(made_of, "__module__", None), getattr(made_of, "__qualname__", "")
        if module in sys.modules and _found(module, path) is self:
            return _found, (module, path)
        if self.function is not None and self.model is not None:
            return partial(_make, **{name: getattr(self, name) for name in _SAID}), (self.function,)
        return partial(Tool, **{name: getattr(self, name) for name in self.__struct_fields__}), ()


class _MakesTool(Protocol):
    def __call__(self, value: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(
    value: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool | None = None,
    validate: bool = False,
    coerce: bool | None = None,
    streamed: str | Iterable[str] | None = None,
    idempotent: bool | None = None,
) -> Tool[P, R]: ...
@overload
def tool(
    value: Mapping[str, Any],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool | None = None,
    validate: bool = False,
    coerce: bool | None = None,
    streamed: str | Iterable[str] | None = None,
    idempotent: bool | None = None,
) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool | None = None,
    validate: bool = False,
    coerce: bool | None = None,
    streamed: str | Iterable[str] | None = None,
    idempotent: bool | None = None,
) -> _MakesTool: ...
def tool(
    value: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool | None = None,
    validate: bool = False,
    coerce: bool | None = None,
    streamed: str | Iterable[str] | None = None,
    idempotent: bool | None = None,
) -> Any:
    """Make a tool from a typed function, a pydantic model, a JSON Schema or a provider's definition; also a decorator.

    >>> @tool
    ... def add(a: int, b: int = 0) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> add.name, add.description, add.parameters["required"], add(1, b=2)
    ('add', 'Add two numbers.', ['a'], 3)

    - A function is described by its docstring, its parameters by `Annotated[..., Field(description=...)]` or the
      `Args:` of a docstring in Google's style. With `Field(alias="from")` the model uses that name for the parameter.
      Arguments that the function does not have are refused.
    - One parameter may be an `AsyncIterator[str]`, or in a function that is not async an `Iterator[str]`: the model
      writes a text, which `call_tools` lets the function read meanwhile. It is `streamed`, too.
    - A parameter that is a `CallKey` gets the key of the call, and the model is not told of it.
    - A model's docstring describes it.
    - A definition has a name and parameters, in the form of any provider that `tool_schemas` supports, or of MCP; a
      plain JSON Schema needs `name=`. With `validate=True` arguments are checked against it, which needs
      `pip install ".[jsonschema]"`; otherwise every object is accepted.
    - `coerce`: with True, the default, pydantic converts between types of JSON where it can: "yes" to True, "1_000" to
      1000, true to 1. With False a value of another type than the schema's is refused; types that JSON does not have,
      such as dates, are still read from text. Arguments for a JSON Schema are then checked as with `validate=True`, and
      never converted.
    - `streamed`: the path of the text argument that streams while the model writes it, as "content", or several, as
      ("summary", "edits[*].new_text"); `Annotated[str, Streamed()]` says the same of a parameter or of a model's field.
      `UsageError` for a path that leads to no text in the schema.
    - `idempotent`: whether a second call with the same `CallKey` does nothing more than the first. Then
      `call_tools(ledger=...)` runs a call again that was running when its process died.
    - `name`, `description`, `strict`, `coerce`, `streamed` and `idempotent` override those of the value; see `Tool`.
    """
    said: dict[str, Any] = {"name": name, "description": description, "strict": strict, "coerce": coerce}
    said["validates"], said["idempotent"] = validate or None, idempotent
    said["streamed"] = tuple(streamed) if isinstance(streamed, Iterable) and not isinstance(streamed, str) else streamed
    chosen: dict[str, Any] = {key: each for key, each in said.items() if each is not None}
    return partial(_make, **chosen) if value is None else _make(value, **chosen)


def _make(value: Any, **chosen: Any) -> Tool:
    if isinstance(value, Tool):
        given = cast("Tool", value)
        return replace(given, **chosen) if chosen else given
    return Tool(**(_read(value, chosen) | chosen))


def _read(value: Any, chosen: Mapping[str, Any]) -> dict[str, Any]:
    name: str | None = chosen.get("name")
    if isinstance(value, Mapping):
        return read_definition(cast("Mapping[str, Any]", value), name)
    if isinstance(value, type) and issubclass(value, BaseModel) and value is not BaseModel:
        schema, streamed = _schema_of(value, value.__name__, chosen)
        description = schema.pop("description", "")
        return {
            "name": value.__name__,
            "description": description,
            "parameters": schema,
            "model": value,
            "streamed": streamed,
        }
    if not isinstance(value, type) and callable(value):
        function: Callable[..., Any] = value
        name = name or function_name(function)
        model = function_model(function, name)
        said = {"name": name, "description": function_description(function)}
        schema, streamed = _schema_of(model, f"{name}()", chosen)
        return {**said, "parameters": schema, "model": model, "function": function, "streamed": streamed}
    if isinstance(value, classmethod):
        message = "a classmethod has no class yet inside the class body; write tool(TheClass.method) below it"
        raise UsageError(message)
    message = f"a tool must be a function, a pydantic model or a JSON Schema; got {value!r}"
    raise UsageError(message)


def _schema_of(model: type[BaseModel], owner: str, chosen: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a model's JSON Schema, and the paths of the arguments that are `Streamed`, unless others were chosen."""
    if "streamed" in chosen:
        return model_schema(model, owner), ()
    with marked_schemas():
        schema = model_schema(model, owner)
    return marked_paths(schema, owner)


def as_tools(values: Iterable[Any]) -> tuple[Tool, ...]:
    """Make a tool from each value, as `tool` does; `UsageError` if two have the same name."""
    given: Any = values
    if isinstance(given, str | Mapping) or callable(given) or not isinstance(given, Iterable):
        message = f"tools= must be an iterable of tools; put it in a list; got {values!r:.80}"
        raise UsageError(message)
    tools = tuple(_make(each) for each in values)
    names = [each.name for each in tools]
    for name in names:
        if names.count(name) > 1:
            message = f"two tools are named {name!r}; rename one with tool(..., name=...)"
            raise UsageError(message)
    return tools


def _found(module: str, path: str) -> Any:
    found: Any = import_module(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return found
