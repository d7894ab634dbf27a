"""`specs_by_tool`: the field specs for each tool, those that the tools themselves ask for among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from ...events.errors import UsageError
from ..calls.field_spec import FieldSpec
from ..machines.path_tree import read_path


def specs_by_tool(
    specs: Iterable[FieldSpec], tools: Any = None, *, ignore_case: bool = False
) -> dict[str, tuple[FieldSpec, ...]]:
    """Return the specs by tool, in their order; a call takes the first that fits.

    >>> short, long = FieldSpec("save", "text", strict=False), FieldSpec("save", "body", strict=False)
    >>> [spec.field for spec in specs_by_tool([short, long])["save"]]
    ['text', 'body']

    A strict spec is the only one of its tool; otherwise the arguments count that the tool itself says to stream
    (`Tool.streamed`). Specs that are not strict are left out if the tool does not have their arguments. `tools` is what
    `to_invocations` takes. `UsageError` for two strict specs of one tool.
    """
    by_tool: dict[str, list[FieldSpec]] = {}
    for spec in specs:
        several = by_tool.setdefault(_key(spec.tool, ignore_case=ignore_case), [])
        if spec.strict and any(each.strict and each.tool == spec.tool for each in several):
            message = f"two specs are for the tool {spec.tool!r}; keep one"
            raise UsageError(message)
        several.append(spec)
    by_tool = {tool: [spec for spec in several if spec.strict] or several for tool, several in by_tool.items()}
    for name, tool in _named(tools):
        key = _key(name, ignore_case=ignore_case)
        several = by_tool.get(key, [])
        if any(spec.strict for spec in several):
            continue
        streamed: tuple[str, ...] = getattr(tool, "streamed", ())
        names = _names(tool)
        if streamed:
            by_tool[key] = [FieldSpec(name, paths=streamed, metadata=_scalars(tool, streamed))]
        elif names:
            by_tool[key] = [spec for spec in several if names >= _needed(spec)]
    return {tool: tuple(several) for tool, several in by_tool.items() if several}


def checked_specs(given: object, owner: str) -> tuple[FieldSpec, ...]:
    """Return specs as a tuple; `UsageError`, naming the function `owner`, for anything but an iterable of them."""
    if isinstance(given, str | FieldSpec) or not isinstance(given, Iterable):
        message = f"{owner} takes an iterable of FieldSpecs, such as FILE_TOOLS; got {given!r}"
        raise UsageError(message)
    specs = tuple(cast("Iterable[object]", given))
    for spec in specs:
        if not isinstance(spec, FieldSpec):
            message = f"{owner} takes FieldSpec(tool, field, ...), got {spec!r}"
            raise UsageError(message)
    return cast("tuple[FieldSpec, ...]", specs)


def _needed(spec: FieldSpec) -> set[str]:
    """Return the arguments without which a tool does not fit a spec."""
    if spec.paths:
        return {step for each in spec.paths if isinstance(step := read_path(each)[0], str)}
    return {spec.field, *spec.required}


def _named(tools: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(tools, Mapping):
        return cast("Mapping[str, Any]", tools).items()
    return ((str(getattr(each, "name", None) or getattr(each, "__name__", "")), each) for each in tools or ())


def _names(tool: Any) -> set[str]:
    """Return the names of a tool's parameters; empty if they are unknown."""
    fields: dict[str, Any] = getattr(tool, "model_fields", {})
    schema: dict[str, Any] = getattr(tool, "parameters", {})
    return {*fields, *(field.alias for field in fields.values() if field.alias), *schema.get("properties", ())}


def _scalars(tool: Any, streamed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parameters that are shown beside the streamed ones: all but objects and arrays."""
    properties: dict[str, Any] = getattr(tool, "parameters", {}).get("properties", {})
    first = {read_path(each)[0] for each in streamed}
    others = [name for name in properties if name not in first]
    return tuple(name for name in others if not _is_container(properties[name]))


def _is_container(schema: object) -> bool:
    # A schema may be a boolean.
    return isinstance(schema, dict) and cast("dict[str, Any]", schema).get("type") in ("object", "array")


def _key(name: str, *, ignore_case: bool) -> str:
    return name.casefold() if ignore_case else name
