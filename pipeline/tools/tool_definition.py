"""Read a tool's definition in the form of any provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ...events.errors import UsageError
from ...operators.schemas.tool_parameters import PARAMETERS
from ..schemas.json_schema import TYPES

_SAID: dict[str, type] = {
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
        schema = {key: value for key, value in given.items() if key not in ("name", "title", *_SAID)}
        return {"name": title, "parameters": schema, **_said(given, title)}
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
    return {"name": title, "parameters": _parameters(definition, title), **_said(definition, title)}


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


def _said(definition: Mapping[str, Any], name: str) -> dict[str, Any]:
    said = {key: definition[key] for key in _SAID if definition.get(key) is not None}
    for key, value in said.items():
        if not isinstance(value, _SAID[key]):
            message = f"{key!r} of tool {name!r} must be of type {_SAID[key].__name__}; got {value!r:.80}"
            raise UsageError(message)
    return said
