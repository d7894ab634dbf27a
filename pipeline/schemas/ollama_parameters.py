"""`ollama_parameters`: a tool's parameters in the keywords that Ollama's client sends."""

from __future__ import annotations

from typing import Any, cast

from ...events.errors import UsageError
from .json_schema import Schema, types_of, with_note
from .schema_references import inline_references, recursive_references

_CARRIED = ("type", "description", "enum", "items")
_SAY_NOTHING = ("title", "$schema", "$comment", "discriminator")


def ollama_parameters(parameters: Schema, tool: str) -> Schema:
    """Return parameters in the keywords that Ollama's client sends: type, enum, items and description.

    >>> ollama_parameters({"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}, "f")["properties"]
    {'a': {'type': 'integer', 'description': '{"minimum": 1}'}}

    Other keywords go to the description. `UsageError` for a recursive schema, which needs `$ref`.
    """
    if recursive := recursive_references(parameters):
        message = f"tool {tool!r}: Ollama cannot take {min(recursive)!r}, which refers to itself; inline it"
        raise UsageError(message)
    whole = inline_references(parameters)
    properties = {name: _property(each) for name, each in whole["properties"].items()}
    required = {"required": whole["required"]} if whole.get("required") else {}
    return {"type": "object", "properties": properties, **required}


def _property(given: Any) -> Schema:
    if not isinstance(given, dict):  # True: anything
        return {}
    schema = cast("Schema", given)
    alternatives: list[Any] = schema.get("anyOf") or schema.get("oneOf") or []
    values = [each for each in alternatives if each != {"type": "null"}]
    if len(values) == 1 and isinstance(values[0], dict):
        # The usual form of an optional value: the value's own, and null among its types.
        schema = cast("Schema", values[0]) | {key: schema[key] for key in schema if key not in ("anyOf", "oneOf")}
        if "type" in schema and len(alternatives) > 1:
            schema["type"] = [*types_of(schema), "null"]
    elif alternatives and all("type" in each for each in alternatives):
        # Described in full below; the client can send only the types.
        names = list(dict.fromkeys(name for each in alternatives for name in types_of(each)))
        schema = {**schema, "type": names if len(names) > 1 else names[0]}
    if "const" in schema:
        schema = {key: schema[key] for key in schema if key != "const"} | {"enum": [schema["const"]]}
    carried = {key: schema[key] for key in _CARRIED if key in schema}
    told = {key: value for key, value in schema.items() if key not in (*_CARRIED, *_SAY_NOTHING) and value is not None}
    return with_note(carried, told)
