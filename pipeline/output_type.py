"""`OutputType`: the type of a structured answer; and `output_options`, which asks a provider for it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from functools import cached_property
from typing import Annotated, Any, cast, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import SchemaError

from ..events.errors import UsageError
from ..operators.schemas.json_schema import Schema
from ..operators.schemas.schema_references import checked_schema
from ..operators.schemas.schema_validation import PlainSchema, check_schema, raise_for_schema
from ..operators.schemas.strict_schema import strict_schema, without_nulls
from ..sources.recognition.apis import ProviderName, provider_of

_WORDS = "the contents of output_type="
_NEEDED = "a JSON Schema as output_type= needs a JSON Schema validator"


class OutputType:
    """The type of a structured answer: anything that pydantic's `TypeAdapter` takes, or a JSON Schema as a dict.

    It is the `validate` of `partial_output`: called with the JSON text and its plain data, it returns the value.

    >>> OutputType(list[int])("[1, 2]", [1, 2]), OutputType({"type": "integer"})("3", 3)
    ([1, 2], 3)

    The value is that of `TypeAdapter.validate_json`, or the data that fits the JSON Schema. If the text does not
    validate as it is, nulls of optional properties that cannot be null count as not given, because strict modes make
    models write them. Types are equal if they are made of equal values.

    Raises `UsageError` for what is not a type or a schema, and for a schema if jsonschema is not installed.
    """

    def __init__(self, given: Any) -> None:
        self.given = given
        self._fixed_schema: Schema | None = None
        self._adapter: TypeAdapter[Any] | None = None
        if isinstance(given, Mapping):
            self._fixed_schema = checked_schema(cast("Mapping[str, Any]", given), _WORDS)
            check_schema(self._fixed_schema, _WORDS, needed=_NEEDED)
        else:
            self._adapter = _adapter(given)

    @property
    def name(self) -> str:
        """The type's name: that of its class, or the title of its schema."""
        if self._fixed_schema is not None:
            return str(self._fixed_schema.get("title", "output"))
        return str(self.given.__name__) if isinstance(self.given, type) else repr(self.given)

    @cached_property
    def is_text(self) -> bool:
        """Whether the answer's text itself is the value: the type is `str`, with or without constraints."""
        given = self.given
        while get_origin(given) is Annotated:
            given = get_args(given)[0]
        return given is str

    @cached_property
    def schema(self) -> Schema:
        """The JSON Schema of the value as the model writes it; `UsageError` if the type has none."""
        if self._fixed_schema is not None:
            return self._fixed_schema
        adapter = cast("TypeAdapter[Any]", self._adapter)
        try:
            schema = adapter.json_schema(schema_generator=PlainSchema)
        except (PydanticUserError, NameError, LookupError, RecursionError) as error:
            message = f"output_type={self.name} cannot be turned into a JSON Schema: {str(error).splitlines()[0]}"
            raise UsageError(message) from error
        return checked_schema(schema, _WORDS)

    def __call__(self, text: str, data: Any) -> Any:
        """Return the value of a JSON text and its plain data; raises pydantic's `ValidationError`."""
        try:
            return self._validated(text, data)
        except ValidationError:
            given = self._without_nulls(data)
            if given == data:
                raise
            return self._validated(json.dumps(given), given)

    def _validated(self, text: str, data: Any) -> Any:
        if self._adapter is None:
            raise_for_schema(data, self.schema, self.name)
            return data
        return self._adapter.validate_python(text) if self.is_text else self._adapter.validate_json(text)

    def _without_nulls(self, data: Any) -> Any:
        try:
            return without_nulls(data, self.schema) if type(data) in (dict, list) else data
        except UsageError:  # a type without a JSON Schema
            return data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputType) and bool(self.given == other.given)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"OutputType({self.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return OutputType, (self.given,)


def _adapter(given: Any) -> TypeAdapter[Any]:
    message = f"output_type= must be a type that pydantic can validate, or a JSON Schema, got {given!r:.80}"
    if isinstance(given, str):  # which pydantic takes for the name of a type
        raise UsageError(message)
    try:
        adapter = TypeAdapter(given)
        adapter.rebuild(raise_errors=True)  # otherwise a type with undefined names would fail with each answer
    except (PydanticUserError, SchemaError, AttributeError, NameError, TypeError) as error:
        reason, _, _ = str(error).partition("\n")
        message = f"{message}: {reason}"
        raise UsageError(message) from error
    return adapter


_replace_others = re.compile(r"[^a-zA-Z0-9_-]+").sub
_LONGEST_NAME = 64


def output_options(
    output_type: Any, provider: ProviderName, *, name: str | None = None, strict: bool = True
) -> dict[str, Any]:
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
