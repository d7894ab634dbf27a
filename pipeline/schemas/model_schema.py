"""`model_schema`: a pydantic model's JSON Schema, as a tool's parameters."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_jsonable_python

from ...events.errors import UsageError
from .json_schema import Schema, finite
from .schema_references import object_schema


class PlainSchema(GenerateJsonSchema):
    """Leaves out the titles that pydantic derives from names, and the warnings about non-JSON defaults."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - pydantic's own form

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False

    def named_tuple_schema(self, schema: Any) -> Schema:
        """Describe a named tuple as an object, which is valid too and has the field names."""
        listed = super().named_tuple_schema(schema)
        aliases = [each.get("validation_alias") for each in schema["fields"]]
        names = [
            alias if isinstance(alias, str) else each["name"]
            for alias, each in zip(aliases, schema["fields"], strict=True)
        ]
        properties = dict(zip(names, listed.get("prefixItems", ()), strict=True))
        required = names[: listed.get("minItems", 0)]  # those with a default follow them
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def encode_default(self, dft: Any) -> Any:
        """Keep infinities and NaNs inside a default, where pydantic would put null."""
        named = getattr(dft, "_asdict", None)
        plain: Any = named() if named is not None and isinstance(dft, tuple) else dft
        encoded = super().encode_default(plain)
        exact = to_jsonable_python(plain, by_alias=self.by_alias, bytes_mode="base64")
        return encoded if finite(exact) else exact


def model_schema(model: type[BaseModel], owner: str) -> Schema:
    """Return the JSON Schema of a model's input; `UsageError` if it has none, or one that is not an object's."""
    try:
        schema = model.model_json_schema(schema_generator=PlainSchema)
    except (PydanticUserError, NameError, LookupError, RecursionError) as error:
        message = f"the parameters of {owner} cannot be turned into a JSON Schema: {str(error).splitlines()[0]}"
        raise UsageError(message) from error
    schema = object_schema(schema, owner)
    schema.pop("title", None)
    return schema
