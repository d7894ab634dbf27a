"""`model_schema`: a pydantic model's JSON Schema, as a tool's parameters."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from ..events.errors import UsageError
from .json_schema import Schema
from .schema_references import object_schema


class _PlainSchema(GenerateJsonSchema):
    """Without the titles that pydantic makes of names, and without warnings of defaults that JSON cannot say."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - pydantic's own form

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False


def model_schema(model: type[BaseModel], owner: str) -> Schema:
    """Give the JSON Schema of what a model validates; `UsageError` where it has none, or none of an object."""
    try:
        schema = model.model_json_schema(schema_generator=_PlainSchema)
    except (PydanticUserError, NameError) as error:
        message = f"the parameters of {owner} have no JSON Schema: {str(error).splitlines()[0]}"
        raise UsageError(message) from error
    schema = object_schema(schema, owner)
    schema.pop("title", None)
    return schema
