"""`penstock schema`: the JSON Schema of the events, and tools in the form of a provider's request."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from ...events.errors import UsageError
from ...events.json_form import json_schema
from ...sources.recordings.recording_format import recording_schema
from ..tools.tool_schemas import tool_schemas
from .cli_parts import ToolNames, beginning_with, complete_provider
from .cli_tools import tools_named

SCHEMA_EXAMPLES = """\b
Examples:
  penstock schema > events.schema.json
  penstock schema ToolInvocation
  penstock schema recording
  penstock schema --tool write_file --tool shop.py:price --provider anthropic
"""

_RECORDING = "recording"
_EVENTS: dict[str, Any] = json_schema()["$defs"]


def schema(
    event: Annotated[
        str | None,
        typer.Argument(
            metavar="EVENT",
            help="One event, by its name or its type; or recording, the lines that penstock record writes.",
            autocompletion=beginning_with((*_EVENTS, _RECORDING)),
        ),
    ] = None,
    *,
    tool: ToolNames = None,
    provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The provider whose form the tools are shown in.", autocompletion=complete_provider
        ),
    ] = None,
) -> None:
    """Show the JSON Schema of the events; with --tool, what a request's tools look like."""
    if tool:
        if provider is None or event is not None:
            message = "--tool needs --provider and cannot be combined with an event"
            raise UsageError(message)
        _print(tool_schemas(tools_named(tool), provider))
    elif provider is not None:
        message = "--provider needs --tool"
        raise UsageError(message)
    else:
        _print(json_schema() if event is None else schema_of(event))


def schema_of(name: str) -> dict[str, Any]:
    """Return the schema of one event, with the definitions that it needs; `UsageError` for an unknown event.

    >>> schema_of("notice")["$ref"]
    '#/$defs/Notice'
    """
    if name.casefold() == _RECORDING:
        return recording_schema()
    definitions: dict[str, Any] = json_schema()["$defs"]
    wanted = name.replace("_", "").casefold()
    for each, definition in definitions.items():
        if wanted in (each.casefold(), *_types(definition)):
            return {**_EMPTY, "$ref": f"#/$defs/{each}", "$defs": _needed(each, definitions)}
    message = f"unknown event {name!r}; known are {', '.join(definitions)}, and recording"
    raise UsageError(message)


_EMPTY = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


def _types(definition: dict[str, Any]) -> list[str]:
    return [word.replace("_", "").casefold() for word in definition["properties"].get("type", {}).get("enum", ())]


def _needed(name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    needed: dict[str, Any] = {}
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each not in needed:
            needed[each] = definitions[each]
            text = json.dumps(definitions[each])
            waiting += [other for other in definitions if f'"#/$defs/{other}"' in text]
    return {each: definitions[each] for each in definitions if each in needed}


def _print(value: Any) -> None:
    text = json.dumps(value, indent=2)
    if sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 - only what a terminal shows is coloured

        Console(highlight=False, soft_wrap=True).print_json(text, indent=2)
    else:
        sys.stdout.write(text + "\n")
