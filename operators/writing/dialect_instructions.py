"""The part of a system prompt about tools and how to call them in a dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from ...events.errors import UsageError
from ..calls.field_spec import MARKED_FILE_TOOLS
from ..grammar.dialect import Dialect, Json, Text
from ..grammar.grammar_items import leaves_of
from ..schemas.json_schema import ToolShape, tool_shapes
from ..schemas.schema_kinds import ANYTHING, ValueKinds, example_arguments, kinds_of, plain_schema
from .call_writer import CallToRender
from .render_call import render_calls
from .render_values import json_text

_HOW: Final = """\
You can call the tools below. To call one, write a call exactly in the form of its example, with values of your own. \
After your calls write nothing more: wait for their results."""
_ORDER: Final = ("string", "integer", "number", "boolean", "array", "object", "null")
_BOUNDS: Final = (
    ("minimum", "at least"),
    ("exclusiveMinimum", "more than"),
    ("maximum", "at most"),
    ("exclusiveMaximum", "less than"),
    ("format", "format"),
)
_DEEPEST: Final = 3
"""The most levels of nested objects and arrays that are described, because a recursive schema has no end."""


def dialect_instructions(dialect: Dialect, tools: Any, *, layout: str | None = None) -> str:
    """Return the text for a system prompt that describes the tools and how to call them in a dialect.

    >>> from penstock.operators.grammar.dialect import Json
    >>> tool = {"name": "now", "parameters": {"properties": {"zone": {"type": "string"}}, "required": ["zone"]}}
    >>> hermes = Dialect("hermes", ("<tool_call>", Json(), "</tool_call>"))
    >>> print(dialect_instructions(hermes, [tool]))  # doctest: +ELLIPSIS
    # Tools
    ...
    ## now
    <BLANKLINE>
    Parameters:
    - zone (string, required)
    <BLANKLINE>
    Example:
    <tool_call>{"name": "now", "arguments": {"zone": "some zone"}}</tool_call>

    - `tools`: as `parse_text` takes them; without any, the text is empty.
    - `layout`: as `render_call` takes it.

    Raises `UsageError` for a tool that the dialect cannot call, and for an invalid tool.
    """
    shapes = tool_shapes(tools)
    if not shapes:
        return ""
    guards = [_guards(dialect, each) for each in shapes]
    examples = [_in_lines(dialect, example_arguments(each.parameters)) for each in shapes]
    calls = [
        CallToRender(each.name, _guarded(arguments, some), None, each.parameters)
        for each, arguments, some in zip(shapes, examples, guards, strict=True)
    ]
    written = [render_calls(dialect, [call], layout=layout) for call in calls]
    parts = ["# Tools", _HOW, *_answers(dialect)]
    for shape, example, some in zip(shapes, written, guards, strict=True):
        parts.append(f"## {shape.name}")
        if shape.description:
            parts.append(shape.description.strip())
        parts.append(_parameters(shape))
        parts += [
            f"Write {opener} before the {key} and {closer} after it; nothing between them can end the call."
            for key, (opener, closer) in some.items()
        ]
        parts.append(f"Example:\n{example}")
    if len(calls) > 1 and (several := _several(dialect, calls[:2], written[:2], layout)):
        parts += ["## Several calls", f"Several calls at once look like this:\n{several}"]
    return "\n\n".join(parts)


def _guards(dialect: Dialect, shape: ToolShape) -> dict[str, tuple[str, str]]:
    """Return the markers to put around a tool's arguments, which `MARKED_FILE_TOOLS` removes."""
    of_values = {pair for leaf in leaves_of(dialect.grammar) if isinstance(leaf, Text) for pair in _all_guards(leaf)}
    said: Any = (shape.parameters or {}).get("properties") or ()
    return {
        spec.field: spec.markers
        for spec in MARKED_FILE_TOOLS
        if spec.tool == shape.name and spec.field in said and spec.markers in of_values
    }


def _all_guards(leaf: Text) -> tuple[tuple[str, str], ...]:
    return (*leaf.guards, *(pair for _, item in leaf.instead for pair in item.guards))


def _guarded(arguments: dict[str, Any], guards: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Return example arguments with their guards; those that are not written as text stay as they are."""
    return arguments | {
        key: f"{opener}\n{arguments[key]}\n{closer}"
        for key, (opener, closer) in guards.items()
        if isinstance(arguments.get(key), str)
    }


def _in_lines(dialect: Dialect, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return example arguments, each of which ends its line if the dialect has its markers on lines of their own."""
    own = {leaf.key for leaf in leaves_of(dialect.grammar) if isinstance(leaf, Text) and leaf.at_line}
    return arguments | {key: f"{value}\n" for key, value in arguments.items() if key in own}


def _several(dialect: Dialect, calls: list[CallToRender], written: list[str], layout: str | None) -> str:
    """Return an example of two calls in one answer; empty if the dialect allows only one."""
    if any(isinstance(leaf, Json) and leaf.under == "object" for leaf in leaves_of(dialect.grammar)):
        return ""
    try:
        several = render_calls(dialect, calls, layout=layout)
    except UsageError:
        return ""  # each could be written: one is in the way of the other
    # Separate blocks are easier to read on separate lines.
    return "\n".join(written) if several == "".join(written) else several


def _answers(dialect: Dialect) -> list[str]:
    """Return the sentence that says where text for the user goes, for dialects whose whole answer is an object."""
    keys = (key for leaf in leaves_of(dialect.grammar) if isinstance(leaf, Json) for key in leaf.content)
    return [
        f"Your whole answer is one JSON object. What you say to the user is its {json_text(key)}; an answer without a "
        f"call is {json_text({key: 'some text'})}."
        for key in keys
    ]


def _parameters(shape: ToolShape) -> str:
    if shape.parameters is None:
        return "Its parameters are not described."
    lines = _lines(shape.parameters, shape.parameters, 0)
    return "\n".join(["Parameters:", *lines]) if lines else "It takes no parameters."


def _lines(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> list[str]:
    plain = plain_schema(schema, root)
    properties, required = plain.get("properties"), plain.get("required")
    if not isinstance(properties, Mapping) or depth >= _DEEPEST:
        return []
    needed = cast("list[object]", required) if isinstance(required, list) else []
    lines: list[str] = []
    for key, each in cast("Mapping[str, Any]", properties).items():
        inner = plain_schema(each, root)
        said = [_type(each, inner, root, 0), *_bounds(inner), "required" if key in needed else "optional"]
        if "default" in inner:
            said.append(f"default {json_text(inner['default'])}")
        description = inner.get("description")
        told = f": {' '.join(description.split())}" if isinstance(description, str) and description else ""
        lines.append(f"{'  ' * depth}- {key} ({', '.join(said)}){told}")
        items = inner.get("items")
        lines += _lines(cast("Mapping[str, Any]", items) if isinstance(items, Mapping) else inner, root, depth + 1)
    return lines


def _bounds(plain: Mapping[str, Any]) -> list[str]:
    return [f"{told} {json_text(plain[word])}" for word, told in _BOUNDS if word in plain]


def _type(schema: Any, plain: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    kinds = kinds_of(schema, root)
    if kinds == ANYTHING:
        return "any value"
    return " or ".join([*_open(kinds, plain, root, depth), *map(json_text, kinds.members)])


def _open(kinds: ValueKinds, plain: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> list[str]:
    hidden = {"integer"} if "number" in kinds.open else set[str]()
    names: list[str] = [name for name in _ORDER if name in kinds.open - hidden]
    items = plain.get("items")
    if "array" in names and isinstance(items, Mapping) and depth < _DEEPEST:
        of_item = cast("Mapping[str, Any]", items)
        inside = _type(of_item, plain_schema(of_item, root), root, depth + 1)
        names[names.index("array")] = f"array of {f'({inside})' if ' or ' in inside else inside}"
    return names
