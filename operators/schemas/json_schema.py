"""JSON Schemas as data: subschemas, types, notes for providers; and a tool's name, description and parameters."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple, TypeAlias, cast

from pydantic import BaseModel

from ...events.chunk_response import ToolCallDelta
from ...events.errors import UsageError

Schema: TypeAlias = dict[str, Any]

# Where JSON Schema (2020-12, and draft 7 under its own names) keeps schemas in a schema.
_NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
_NESTED = frozenset(
    (
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
        *("additionalProperties", "unevaluatedProperties", "propertyNames"),
        *("anyOf", "oneOf", "allOf", "not", "if", "then", "else"),
    )
)

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
_SHAPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("properties", "$defs", "definitions"), (dict,)),
    **dict.fromkeys(("required", "enum", "anyOf", "oneOf", "allOf"), (list,)),
    **dict.fromkeys(("$ref", "description"), (str,)),
    "type": (str, list),
}


def map_subschemas(schema: Schema, change: Callable[[Schema, str], Schema], path: str = "") -> Schema:
    """Return a copy of a schema with each direct subschema changed; `path` is written as `properties/a/items`."""

    def changed(value: Any, place: str) -> Any:
        if isinstance(value, dict):
            return change(cast("Schema", value), f"{path}/{place}".lstrip("/"))
        if isinstance(value, list):
            several = cast("list[object]", value)
            return [changed(each, f"{place}/{number}") for number, each in enumerate(several)]
        return value

    copied: Schema = {}
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, dict):
            named = cast("dict[str, Any]", value)
            copied[key] = {name: changed(each, f"{key}/{name}") for name, each in named.items()}
        else:
            copied[key] = changed(value, key) if key in _NESTED else deepcopy(value)
    return copied


def malformed(schema: Schema) -> str | None:
    """Return the first error in the parts of a JSON Schema that this library reads, or None."""
    faults: list[str] = []

    def look(each: Schema, path: str) -> Schema:
        for key, shapes in _SHAPES.items():
            if key in each and not isinstance(each[key], shapes):
                faults.append(f"{key!r} cannot be {each[key]!r:.60}{_at(path)}")
                return each
        faults.extend(f"{name!r} is not a JSON Schema type{_at(path)}" for name in types_of(each) if name not in TYPES)
        return map_subschemas(each, look, path)

    look(schema, "")
    return faults[0] if faults else None


def _at(path: str) -> str:
    return f" at {path}" if path else ""


def types_of(schema: Schema) -> list[str]:
    """Return the types that a schema names: none, one or several."""
    named = schema.get("type", [])
    return [named] if isinstance(named, str) else list(named)


def finite(value: Any) -> bool:
    """Return whether a value has neither infinity nor NaN, which JSON cannot represent."""
    if isinstance(value, dict):
        value = [*cast("dict[str, object]", value).values()]
    if isinstance(value, list):
        return all(finite(each) for each in cast("list[object]", value))
    return not isinstance(value, float) or math.isfinite(value)


def with_finite_defaults(schema: Schema, path: str = "") -> Schema:
    """Return a copy of a schema with non-finite defaults moved to descriptions.

    >>> with_finite_defaults({"properties": {"most": {"type": "number", "default": float("inf")}}})
    {'properties': {'most': {'type': 'number', 'description': '{"default": Infinity}'}}}
    """
    copied = map_subschemas(schema, with_finite_defaults, path)
    if finite(copied.get("default")):
        return copied
    told = {"default": copied.pop("default")}
    return with_note(copied, told)


def with_note(schema: Schema, told: Mapping[str, Any]) -> Schema:
    """Return a schema with a note in its description about keywords that the provider cannot read."""
    if not told:
        return schema
    note = json.dumps(told, ensure_ascii=False)
    description = schema.get("description")
    return {**schema, "description": f"{description}\n{note}" if description else note}


def grown_name(name: str, piece: str, tools: Collection[str]) -> str | None:
    """Return a call's name with its next piece; None where the piece may as well be the whole name.

    >>> grown_name("search", "_files", ()), grown_name("search", "search", ())
    ('search_files', 'search')
    >>> grown_name("se", "search", ()), grown_name("se", "search", ("search",))
    (None, 'search')
    """
    if not name or piece == name:
        return piece
    whole = name + piece
    if not piece.startswith(name):
        return whole
    fitting = [each for each in (whole, piece) if any(tool.startswith(each) for tool in tools)]
    if len(fitting) == 1:
        return fitting[0]
    return whole if tools and not fitting else None


def may_grow(head: ToolCallDelta, delta: ToolCallDelta, tools: Collection[str]) -> bool:
    """Return whether the START of a call waits for a further piece of its name.

    `head`: its first delta, with the name so far; `delta`: the last one. Without declared tools any name may go on
    until anything else of the call comes.
    """
    if delta.done or delta.status or delta.contradiction:
        return False
    if is_begun_name(head, tools):
        return True
    if delta.arguments_delta or not head.name_open:
        return False
    name = head.name or ""
    return not tools or any(tool != name and tool.startswith(name) for tool in tools)


def is_begun_name(head: ToolCallDelta, tools: Collection[str]) -> bool:
    """Return whether the name so far is that of no declared tool, and one of them begins with it."""
    name = head.name or ""
    return name not in tools and any(tool.startswith(name) for tool in tools)


PARAMETERS = ("parameters", "input_schema", "inputSchema", "parameters_json_schema", "parametersJsonSchema")
"""The keys for parameters in tool definitions: of OpenAI and plain ones; Anthropic; MCP; Gemini, in two spellings."""


class ToolShape(NamedTuple):
    """What a dialect needs of a tool; `parameters` is a JSON Schema, or None if unknown."""

    name: str
    description: str
    parameters: Schema | None


def tool_parameters(tools: Any) -> dict[str, Schema | None]:
    """Return the JSON Schema of each tool's parameters by the tool's name, None for one without.

    >>> tool_parameters({"now": None, "add": {"type": "object", "properties": {"a": {"type": "integer"}}}})
    {'now': None, 'add': {'type': 'object', 'properties': {'a': {'type': 'integer'}}}}

    Takes what `tool_shapes` takes, and raises as it does. `known_name` finds the entry for a name that a model wrote.
    """
    return {shape.name: shape.parameters for shape in tool_shapes(tools)}


def tool_shapes(tools: Any) -> list[ToolShape]:
    """Return the name, description and parameters of each tool.

    >>> tool_shapes([{"type": "function", "function": {"name": "now", "description": "The time."}}])
    [ToolShape(name='now', description='The time.', parameters=None)]

    - A mapping: names, and for each a pydantic model, a JSON Schema, a definition or None.
    - Anything else that can be iterated: pydantic models, which are named as their classes; definitions in any
      provider's form; objects with a `name` and `parameters`.

    Raises `UsageError` for anything else, and if two tools have the same name.
    """
    if isinstance(tools, Mapping):
        shapes = [_named(name, value) for name, value in cast("Mapping[object, Any]", tools).items()]
    elif isinstance(tools, Iterable) and not isinstance(tools, str | bytes):
        shapes = [_shape(value) for value in cast("Iterable[object]", tools)]
    else:
        message = f"tools must be a list of tools or a mapping by name, got {tools!r:.80}"
        raise UsageError(message)
    names: set[str] = set()
    for shape in shapes:
        if shape.name in names:
            message = f"two tools are named {shape.name!r}; rename one of them"
            raise UsageError(message)
        names.add(shape.name)
    return shapes


def known_name(names: Iterable[str], written: str) -> str | None:
    """Return the known name that is equal to what a model wrote, else the first that differs only in case, else None.

    >>> known_name(["Add", "add", "now"], "add"), known_name(["Add"], "ADD"), known_name(["Add"], "sub")
    ('add', 'Add', None)
    """
    folded = written.casefold()
    found = None
    for name in names:
        if name == written:
            return name
        if found is None and name.casefold() == folded:
            found = name
    return found


def _named(name: Any, value: Any) -> ToolShape:
    if not isinstance(name, str):
        message = f"a tool's name must be a str, got {name!r}"
        raise UsageError(message)
    if value is None:
        return ToolShape(name, "", None)
    if isinstance(value, Mapping):
        schema = cast("Mapping[str, Any]", value)
        if not _is_definition(schema):
            return ToolShape(name, _text(schema.get("description")), dict(schema))
    shape = _shape(value)
    return ToolShape(name, shape.description, shape.parameters)


def _shape(value: Any) -> ToolShape:
    if isinstance(value, Mapping):
        return _from_definition(cast("Mapping[str, Any]", value))
    if isinstance(value, type):
        if issubclass(value, BaseModel):
            of_model = value.model_json_schema()
            return ToolShape(value.__name__, _text(of_model.pop("description", "")), of_model)
    elif isinstance(name := getattr(value, "name", None), str):
        parameters = getattr(value, "parameters", None)
        if isinstance(parameters, Mapping | None):
            schema = None if parameters is None else dict(cast("Mapping[str, Any]", parameters))
            return ToolShape(name, _text(getattr(value, "description", "")), schema)
    message = (
        f"a tool must be a pydantic model, a definition, or an object with a name and parameters; got {value!r:.80}"
    )
    raise UsageError(message)


def _from_definition(given: Mapping[str, Any]) -> ToolShape:
    inner = given.get("function")
    function = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else given
    name = function.get("name")
    if not isinstance(name, str):
        message = f"a tool definition needs 'name' and 'parameters', got the keys {', '.join(map(repr, function))}"
        raise UsageError(message)
    parameters: Any = next((function[key] for key in PARAMETERS if function.get(key) is not None), None)
    if not isinstance(parameters, Mapping | None):
        message = f"the parameters of tool {name!r} must be a JSON Schema; got {parameters!r:.80}"
        raise UsageError(message)
    schema = None if parameters is None else dict(cast("Mapping[str, Any]", parameters))
    return ToolShape(name, _text(function.get("description")), schema)


def _is_definition(value: Mapping[str, Any]) -> bool:
    """Return whether a mapping is a tool definition rather than a JSON Schema."""
    return isinstance(value.get("function"), Mapping) or (
        isinstance(value.get("name"), str) and any(key in value for key in PARAMETERS)
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
