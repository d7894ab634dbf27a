"""A tool's definition as data: what people write for one provider or another, read the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..events.errors import UsageError

# Chat and plain; Anthropic; MCP; Gemini, in both spellings.
_PARAMETERS = ("parameters", "input_schema", "inputSchema", "parameters_json_schema", "parametersJsonSchema")


def read_definition(given: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
    """Give the name, description, parameters and strictness of a definition in any provider's form.

    >>> read_definition({"type": "function", "function": {"name": "now", "description": "The time."}})
    {'name': 'now', 'parameters': {}, 'description': 'The time.'}

    A JSON Schema of an object is a definition's parameters, if it has a name: from `name`, or as its title.
    `UsageError` for a tool that the provider runs itself, and for what has no name.
    """
    if given.get("type") == "object":
        title = name or given.get("title")
        if not isinstance(title, str):
            message = "a JSON Schema does not say the tool's name; give it one: tool(schema, name=...)"
            raise UsageError(message)
        schema = {key: value for key, value in given.items() if key not in ("title", "description")}
        return {"name": title, "parameters": schema, **_said(given, "description", str)}
    kind = given.get("type", "function")
    if kind != "function" and not (kind == "custom" and "input_schema" in given):
        message = f"a tool of type {kind!r} is no function with parameters: add it to the request yourself"
        raise UsageError(message)
    function: Any = given.get("function", given)
    if not isinstance(function, Mapping):
        message = f"'function' must hold the definition of a tool; got {function!r}"
        raise UsageError(message)
    definition = cast("Mapping[str, Any]", function)
    if not isinstance(definition.get("name", name), str):
        message = f"a tool's definition has a 'name' and 'parameters'; got the keys {', '.join(map(repr, definition))}"
        raise UsageError(message)
    parameters: Any = {}
    for key in _PARAMETERS:
        parameters = definition.get(key) or parameters
    if not isinstance(parameters, Mapping):
        message = f"the parameters of tool {definition.get('name', name)!r} must be a JSON Schema; got {parameters!r}"
        raise UsageError(message)
    return {
        "name": definition.get("name", name),
        "parameters": parameters,
        **_said(definition, "description", str),
        **_said(definition, "strict", bool),
    }


def _said(definition: Mapping[str, Any], key: str, kind: type) -> dict[str, Any]:
    return {key: definition[key]} if isinstance(definition.get(key), kind) else {}
