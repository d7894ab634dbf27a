"""The request for a structured answer, in the form of each provider: keyword arguments of its request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from ..schemas.json_schema import Schema
from .tool_forms import gemini_schema

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
