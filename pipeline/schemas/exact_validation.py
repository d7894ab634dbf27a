"""`exact_instance`: validate arguments with a pydantic model without converting one JSON type into another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from ...operators.schemas.inner_schema import inner_schema
from ...operators.schemas.schema_kinds import kinds_of
from .json_schema import Schema

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
