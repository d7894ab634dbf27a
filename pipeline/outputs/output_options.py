"""`output_options`: the part of a request that asks for a structured answer, in the form of each provider."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

from ...events.errors import UsageError
from ..providers.providers import provider_of
from ..schemas.json_schema import Schema
from ..schemas.strict_schema import strict_schema
from .output_type import OutputType

_replace_others = re.compile(r"[^a-zA-Z0-9_-]+").sub
_LONGEST_NAME = 64


def output_options(output_type: Any, provider: str, *, name: str | None = None, strict: bool = True) -> dict[str, Any]:
    """Return the keyword arguments of a provider's request that ask for a structured answer.

    >>> output_options(list[int], "gemini")["response_json_schema"]
    {'items': {'type': 'integer'}, 'type': 'array'}

    - `output_type`: a type that pydantic's `TypeAdapter` takes, or a JSON Schema; for `str`, which needs none of this,
      the result is empty.
    - `provider`: "openai-chat", "openai-responses", "anthropic", "gemini" (for `config=`), "mistral", "ollama",
      "bedrock", "cohere", "gemini-interactions", "openai-assistants".
    - `name`: the name of the output for the model, where the provider has a place for it; by default the type's.
    - `strict`: use the provider's strict mode, where it has one. The schema is changed for it, see `strict_schema`;
      optional properties may then be null. With False it is sent unchanged.

    `UsageError` for a type without a JSON Schema, for a schema that the strict mode does not allow, and for a type that
    is not an object where the provider accepts objects only.
    """
    return options_for(OutputType(output_type), provider, name=name, strict=strict)


def options_for(output: OutputType, provider: str, *, name: str | None, strict: bool) -> dict[str, Any]:
    """Implement `output_options` and `Pipeline.output_options`."""
    known = provider_of(provider)
    if output.is_text:
        return {}
    owner = f"output type {output.name}"
    schema: Schema = {key: value for key, value in deepcopy(output.schema).items() if key != "$schema"}
    if known.output_is_object and schema.get("type") != "object":
        message = f"{owner}: {known.name} accepts objects only; put it into a field of a model"
        raise UsageError(message)
    is_strict = strict and known.strict is not None
    if is_strict and known.strict is not None:
        schema = strict_schema(schema, known.strict, owner)
    said = _replace_others("_", name or output.name).strip("_")[:_LONGEST_NAME] or "output"
    return known.output(said, schema, is_strict)
