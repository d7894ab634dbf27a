"""`without_overridden`: the field specs, without those that a user's own tool of the same name overrides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from ...events.errors import UsageError
from ...operators.calls.field_spec import FieldSpec
from ...operators.to_invocations import Tools


def without_overridden(specs: Iterable[FieldSpec], tools: Tools | None) -> tuple[FieldSpec, ...]:
    """Return the specs without those whose tool the user defines with other parameters.

    >>> from penstock.operators import FILE_TOOLS
    >>> from penstock.pipeline import as_tools
    >>> def write_file(path: str, text: str) -> None: ...
    >>> [spec.tool for spec in without_overridden(FILE_TOOLS, as_tools([write_file]))]
    ['edit_file', 'patch_file', 'run_bash']
    """
    given: Any = tools if tools is not None else ()
    named: Iterable[tuple[str, Any]] = (
        cast("Mapping[str, Any]", given).items()
        if isinstance(given, Mapping)
        else ((str(getattr(each, "name", None) or getattr(each, "__name__", "")), each) for each in given)
    )
    parameters = {name: names for name, each in named if (names := _parameters_of(each))}
    return tuple(
        spec for spec in specs if spec.tool not in parameters or parameters[spec.tool] >= {spec.field, *spec.required}
    )


def checked_fields(fields: Iterable[FieldSpec]) -> tuple[FieldSpec, ...]:
    """Return the specs passed as `fields=`; `UsageError` for anything but an iterable of them."""
    given: Any = fields
    if isinstance(given, FieldSpec) or not isinstance(given, Iterable):
        message = f"fields= must be an iterable of FieldSpec, got {given!r}; put it in a list"
        raise UsageError(message)
    return tuple(fields)


def _parameters_of(given: Any) -> set[str]:
    """Return the names of a tool's parameters; empty if they are unknown."""
    fields: dict[str, Any] = getattr(given, "model_fields", {})
    schema: dict[str, Any] = getattr(given, "parameters", {})
    return {*fields, *(field.alias for field in fields.values() if field.alias), *schema.get("properties", ())}
