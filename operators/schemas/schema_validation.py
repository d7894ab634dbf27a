"""Arguments validated: by the user's validator, by a pydantic model and its schema, or by a JSON Schema."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from inspect import formatannotation
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import InitErrorDetails, PydanticCustomError, to_jsonable_python

from ...events.errors import UsageError, how_to_install
from ..engine.where_raised import where_raised
from .argument_schema import inner_schema
from .json_schema import Schema, finite
from .schema_kinds import kinds_of
from .schema_references import object_schema

_LOGGER: Final = logging.getLogger("penstock")
_LONGEST_MESSAGE: Final = 1000
"""The most characters of an error message; a validator may quote a whole file."""
_replace_surrogates: Final = re.compile("[\ud800-\udfff]").sub

P = ParamSpec("P")
R = TypeVar("R")
Errors = list[dict[str, Any]]


def validated(validate: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> tuple[R, None] | tuple[None, Errors]:
    """Call a validator with a value; return what it returns and None, or None and the errors of the value.

    >>> def fails(arguments): raise KeyError("secret")
    >>> _, errors = validated(fails, {})
    >>> errors[0]["type"], errors[0]["loc"]
    ('KeyError', [])

    Every `Exception` becomes an entry, with its class as `type`. The message of a `ValueError` or an `AssertionError`
    is included. Of any other exception only the class and the line are, because its message may be confidential; the
    traceback is logged at DEBUG.
    """
    try:
        return validate(*args, **kwargs), None
    except Exception as error:  # noqa: BLE001 - a validator may raise anything, and the stream goes on
        return None, _errors(error)


def _errors(error: Exception) -> Errors:
    try:
        if isinstance(error, ValidationError):
            details = error.errors(include_url=False, include_context=False, include_input=False)
            return [{**detail, "msg": _bounded(detail["msg"])} for detail in details]
        if isinstance(error, ValueError | AssertionError) and (said := str(error)):
            return [_entry(error, _bounded(said))]
    except Exception as unsayable:  # noqa: BLE001 - the error's own text may be code of the user's, too
        error = unsayable
    _LOGGER.debug("a validation raised %s", type(error).__name__, exc_info=error)
    return [_entry(error, f"the validation raised {where_raised(error)}")]


def _entry(error: Exception, message: str) -> dict[str, Any]:
    return {"type": type(error).__name__, "loc": [], "msg": message}


def _bounded(message: str) -> str:
    short = message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"
    return _replace_surrogates("\ufffd", short)


_Model = TypeVar("_Model", bound=BaseModel)
_Place: TypeAlias = tuple[str | int, ...]
_MOST_BITS = 1024
"""The most bits of a whole number that a float can hold."""
_LONGEST_TUPLE = 100
"""The index from which on all items of an array are checked with one schema."""
# Whether 1.0 may stand for a whole number is left to pydantic.
_TYPES: dict[type, frozenset[str]] = {
    bool: frozenset(("boolean",)),
    int: frozenset(("integer", "number")),
    float: frozenset(("integer", "number")),
    str: frozenset(("string",)),
}
_WANTS_PYTHON = frozenset(
    (
        *("date_type", "datetime_type", "time_type", "time_delta_type", "bytes_type", "is_instance_of"),
        *("set_type", "frozen_set_type", "tuple_type", "deque_type", "ordered_dict_type", "counter_type"),
    )
)
"""The types of pydantic's strict mode errors for a text or list where a Python type such as a date or set is needed."""


def exact_instance(model: type[_Model], arguments: dict[str, Any], schema: Schema) -> _Model:
    """Return a model's instance of arguments with the types that its JSON Schema says; else raise `ValidationError`.

    >>> class Page(BaseModel): number: int
    >>> exact_instance(Page, {"number": 7}, Page.model_json_schema())
    Page(number=7)
    >>> try: exact_instance(Page, {"number": "7"}, Page.model_json_schema())
    ... except ValidationError as error: print(error.errors()[0]["msg"])
    Input should be a valid integer

    It uses pydantic's strict mode for JSON: values that JSON can only write as a text (dates, UUIDs, bytes), as a list
    (tuples, sets) or as a whole number (floats) are accepted. That mode alone is not enough. A model with an `__init__`
    of its own leaves strict mode, and true passes for a listed 1; so the types are also compared with the schema's. And
    after a `before` or `wrap` validator, strict mode accepts only Python's own dates and sets; so these may be made in
    lax mode.
    """
    leaves = list(_Described(schema).leaves(arguments, schema))
    if any(isinstance(value, int) and value.bit_length() > _MOST_BITS for value, _, _ in leaves):
        model.model_validate(arguments)  # which refuses it for a float; the strict mode would make it infinite
    faults = [_fault(*leaf) for leaf in leaves if _is_other(*leaf)]
    try:
        instance = model.model_validate_json(json.dumps(arguments), strict=True)
    except ValidationError as error:
        if faults or any(each["type"] not in _WANTS_PYTHON for each in error.errors(include_input=False)):
            raise
        return model.model_validate(arguments)
    if faults:
        raise ValidationError.from_exception_data(model.__name__, faults)
    return instance


def _is_other(value: object, names: frozenset[str], _place: _Place) -> bool:
    return names.isdisjoint(_TYPES.get(type(value), names))


def _fault(value: Any, names: frozenset[str], place: _Place) -> InitErrorDetails:
    expected = {"expected": " or ".join(sorted(names))}
    kind = PydanticCustomError("type", "Input should be of type {expected}", expected)
    return InitErrorDetails(type=kind, loc=place, input=value)


class _Described:
    """Finds the subschemas of inner values, each looked up once."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._inner: dict[tuple[int, str | int], Any] = {}
        self._names: dict[int, frozenset[str]] = {}

    def leaves(self, value: Any, schema: Any, place: _Place = ()) -> Iterator[tuple[Any, frozenset[str], _Place]]:
        """Yield each scalar value with its allowed types and its path."""
        if isinstance(value, dict):
            for key, each in cast("dict[str, Any]", value).items():
                yield from self.leaves(each, self._look_up(schema, key), (*place, key))
        elif isinstance(value, list):
            for number, each in enumerate(cast("list[object]", value)):
                yield from self.leaves(each, self._look_up(schema, min(number, _LONGEST_TUPLE)), (*place, number))
        else:
            if id(schema) not in self._names:
                self._names[id(schema)] = kinds_of(schema, self._root).names
            yield value, self._names[id(schema)], place

    def _look_up(self, schema: Any, step: str | int) -> Any:
        known = id(schema), step
        if known not in self._inner:
            self._inner[known] = inner_schema(schema, step, self._root)
        return self._inner[known]


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
        said = what_to_write({field.alias or name: field.annotation for name, field in model.model_fields.items()})
        message = f"the parameters of {owner} cannot be turned into a JSON Schema: {str(error).splitlines()[0]}{said}"
        raise UsageError(message) from error
    schema = object_schema(schema, owner)
    schema.pop("title", None)
    return schema


def what_to_write(annotations: Mapping[str, Any]) -> str:
    """Return the end of a message on parameters: which one has a type that JSON has not, and what to write.

    >>> what_to_write({"name": str, "thread": type(lambda: 0)})
    "; for 'thread', which is function, write a type that JSON has: str, int, list, dict, Literal, a pydantic model"
    """
    for name, annotation in annotations.items():
        try:
            TypeAdapter(annotation).json_schema(schema_generator=PlainSchema)
        except Exception:  # noqa: BLE001 - pydantic raises many kinds
            known = "a type that JSON has: str, int, list, dict, Literal, a pydantic model"
            return f"; for {name!r}, which is {formatannotation(annotation)}, write {known}"
    return ""


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
