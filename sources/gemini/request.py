"""A tool, the choice of a tool, and a structured answer, in the form of each provider's request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from ...operators.schemas.json_schema import Schema, map_subschemas
from ...operators.schemas.schema_references import inline_references
from ...operators.schemas.strict_schema import ollama_parameters

Said: TypeAlias = dict[str, Any]
ToolForm: TypeAlias = Callable[[Said, Schema, Said], Said]
"""Makes a provider's form of a tool from its name and description, its parameters, and what else
the provider takes, such as the flag for strict mode."""


def function_form(said: Said, parameters: Schema, more: Said) -> Said:
    return {"type": "function", "function": {**said, "parameters": parameters, **more}}


def responses_form(said: Said, parameters: Schema, more: Said) -> Said:
    # Sent even if False, because the API's default is True.
    return {"type": "function", **said, "parameters": parameters, "strict": False, **more}


def anthropic_form(said: Said, parameters: Schema, more: Said) -> Said:
    return {**said, "input_schema": parameters, **more}


def gemini_form(said: Said, parameters: Schema, more: Said) -> Said:
    # The full JSON Schema, not the OpenAPI subset of `parameters`.
    return {**said, "parameters_json_schema": gemini_schema(parameters), **more}


def gemini_schema(schema: Schema) -> Schema:
    """Return a schema in the keywords that Gemini reads, with the references inlined that can be."""
    return _without_const(inline_references(schema), "")


def _without_const(schema: Schema, path: str) -> Schema:
    """Replace `const` by an enum of one value, because Gemini's schema has no `const`."""
    said = {("enum" if key == "const" else key): [value] if key == "const" else value for key, value in schema.items()}
    return map_subschemas(said, _without_const, path)


def ollama_form(said: Said, parameters: Schema, more: Said) -> Said:
    return function_form(said, ollama_parameters(parameters, said["name"]), more)


def bedrock_form(said: Said, parameters: Schema, more: Said) -> Said:
    return {"toolSpec": {**said, "inputSchema": {"json": parameters}, **more}}


def interactions_form(said: Said, parameters: Schema, more: Said) -> Said:
    return {"type": "function", **said, "parameters": gemini_schema(parameters), **more}


def bedrock_choice(name: str) -> Said:
    return {"tool": {"name": name}}


def interactions_choice(name: str) -> Said:
    return {"allowed_tools": {"mode": "any", "tools": [name]}}


def gemini_list(definitions: list[Said]) -> list[Said]:
    return [{"function_declarations": definitions}]


def function_choice(name: str) -> Said:
    return {"type": "function", "function": {"name": name}}


def responses_choice(name: str) -> Said:
    return {"type": "function", "name": name}


def anthropic_choice(name: str) -> Said:
    return {"type": "tool", "name": name}


def gemini_choice(name: str) -> Said:
    return gemini_mode("ANY", name)


def gemini_mode(mode: str, *names: str) -> Said:
    return {"function_calling_config": {"mode": mode, **({"allowed_function_names": [*names]} if names else {})}}


def anthropic_parallel(form: Any, parallel: bool) -> Any:  # noqa: FBT001 - of the signature of a row
    if form == {"type": "none"}:
        return form
    return {**(form or {"type": "auto"}), "disable_parallel_tool_use": not parallel}


OutputForm: TypeAlias = Callable[[str, Schema, bool], dict[str, Any]]
"""Makes a provider's form of an output from its name, its schema, and whether the schema is in strict form."""


def chat_output(name: str, schema: Schema, strict: bool) -> dict[str, Any]:  # noqa: FBT001 - of the signature of a row
    said = {"name": name, "schema": schema, "strict": strict}
    return {"response_format": {"type": "json_schema", "json_schema": said}}


def responses_output(name: str, schema: Schema, strict: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"text": {"format": {"type": "json_schema", "name": name, "schema": schema, "strict": strict}}}


def anthropic_output(_name: str, schema: Schema, _strict: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


def gemini_output(_name: str, schema: Schema, _strict: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"response_mime_type": "application/json", "response_json_schema": gemini_schema(schema)}


def bedrock_output(name: str, schema: Schema, _strict: bool) -> dict[str, Any]:  # noqa: FBT001
    said = {"name": name, "schema": json.dumps(schema, ensure_ascii=False)}
    return {"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": said}}}}


def cohere_output(_name: str, schema: Schema, _strict: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"response_format": {"type": "json_object", "json_schema": schema}}


def interactions_output(_name: str, schema: Schema, _strict: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"response_format": {"type": "text", "mime_type": "application/json", "schema": gemini_schema(schema)}}


def ollama_output(_name: str, schema: Schema, _strict: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"format": schema}
