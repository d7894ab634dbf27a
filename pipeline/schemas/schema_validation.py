"""Check JSON data against a JSON Schema with the library jsonschema, if it is installed."""

from __future__ import annotations

from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from ...events.errors import UsageError, how_to_install

_LONGEST = 200
"""The most characters of a message, because it quotes the wrong value, which may be a whole file."""


FOR_TOOLS = "validate=True needs a JSON Schema validator, and so does coerce=False for a JSON Schema"


def check_schema(schema: dict[str, Any], words: str, *, needed: str = FOR_TOOLS) -> None:
    """Raise `UsageError` for an invalid schema, which `words` name, or if jsonschema, which is `needed`, is missing."""
    try:
        from jsonschema.exceptions import SchemaError  # noqa: PLC0415 - an extra, and slow to import
    except ModuleNotFoundError as error:
        message = f"{needed}: {how_to_install('jsonschema')}"
        raise UsageError(message) from error
    try:
        _validator(schema).check_schema(schema)
    except SchemaError as error:
        message = f"{words} are not a JSON Schema: {error.message:.{_LONGEST}} at {error.json_path}"
        raise UsageError(message) from None


def raise_for_schema(data: Any, schema: dict[str, Any], name: str) -> None:
    """Raise pydantic's `ValidationError`, with one entry for each fault, if JSON data does not fit a schema.

    >>> raise_for_schema({"a": "x"}, {"properties": {"a": {"type": "integer"}}}, "add")
    Traceback (most recent call last):
    pydantic_core._pydantic_core.ValidationError: 1 validation error for add
    a
      'x' is not of type 'integer' [type=type, input_value='x', input_type=str]

    An entry's type is the schema's keyword. Formats are not checked.
    """
    faults: list[InitErrorDetails] = []
    for fault in _validator(schema).iter_errors(data):
        message: Any = fault.message if len(fault.message) <= _LONGEST else f"{fault.message[:_LONGEST]}…"
        kind = PydanticCustomError(fault.validator or "false", message)  # `false` as a schema has no keyword
        faults.append(InitErrorDetails(type=kind, loc=tuple(fault.absolute_path), input=fault.instance))
    if faults:
        raise ValidationError.from_exception_data(name, faults)


def _validator(schema: dict[str, Any]) -> Any:
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.validators import validator_for  # noqa: PLC0415
    from referencing.jsonschema import EMPTY_REGISTRY  # noqa: PLC0415

    # Nothing is ever fetched: what a schema refers to is in it.
    return cast("Any", validator_for)(schema, default=Draft202012Validator)(schema, registry=EMPTY_REGISTRY)
