"""`OutputType`: the type of a structured answer, which validates its text and describes itself as a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, cast, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import SchemaError

from ...events.errors import UsageError
from ..schemas.json_schema import Schema
from ..schemas.model_schema import PlainSchema
from ..schemas.schema_references import checked_schema
from ..schemas.schema_validation import check_schema, raise_for_schema
from ..schemas.without_nulls import without_nulls

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
