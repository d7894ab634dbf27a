"""`penstock strategies` and `penstock schema`: what there is to choose from, and how events and tools look."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator
from textwrap import indent
from typing import Annotated, Any

import typer

from ...events.errors import UsageError
from ...events.json_form import json_schema
from ...operators.catalogue.catalogue import about_dialect, catalogue_entry
from ...operators.catalogue.dialect_for import DIALECTS
from ...operators.writing.draw_grammar import state_table
from ...pipeline.pipeline_views import strategy_code
from ...pipeline.strategies import STRATEGIES, Strategy, strategy_named
from ...pipeline.strategy_choice import DEFAULT_IN_TEXT, DEFAULT_STRATEGY, settings_from_environment
from ...pipeline.tool_schemas import provider_named, tool_schemas
from ...sources.recordings.recording_format import recording_schema
from .cli_parts import ToolNames, beginning_with, complete_provider, complete_strategy, tools_named

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
        _print(tool_schemas(tools_named(tool), provider_named(provider)))
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


STRATEGIES_EXAMPLES = """\b
Examples:
  penstock strategies
  penstock strategies --find qwen
  penstock strategies hermes
  penstock strategies hermes --table
  PENSTOCK_STREAM_PARSER=pass_through penstock strategies
"""
_NOT_OPTIONS = ("tools", "turn_id")
_LONGEST_VALUE = 60


def strategies(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The strategy to describe.", autocompletion=complete_strategy)
    ] = None,
    *,
    find: Annotated[
        str, typer.Option(metavar="TEXT", help="List only those with this in the name or the description.")
    ] = "",
    table: Annotated[
        bool, typer.Option("--table", help="Show the states of a dialect's grammar, as its reader has them.")
    ] = False,
) -> None:
    """List the named strategies, or explain one; `*` marks what the environment chooses."""
    if table:
        _show_table(name)
        return
    if name is not None:
        _show_markdown("\n".join(_explained(strategy_named(name))))
        return
    problem: UsageError | None = None
    current = ""
    try:
        current = settings_from_environment().strategy
        strategy_named(current)
    except UsageError as error:
        problem = error
    rows = [(each, _summary(each, strategy)) for each, strategy in STRATEGIES.items()]
    found = [row for row in rows if find.casefold() in " ".join(row).casefold()]
    if not found:
        message = f"no strategy has {find!r} in its name or description; penstock strategies lists all"
        raise UsageError(message)
    _show_rows([("*" if each == current else " ", each, said) for each, said in found])
    if problem is not None:
        raise problem


def _show_table(name: str | None) -> None:
    """Print the states of a dialect's grammar, one a row."""
    if name is None or name not in DIALECTS:
        message = f"--table needs a dialect, got {name!r}; penstock strategies lists them"
        raise UsageError(message)
    lines = [("state", "call", "read", "next", "")]
    for row in state_table(DIALECTS[name]):
        following = [*map(str, row.follows), *(["end"] if row.may_end else [])]
        lines.append((str(row.number), row.call, row.item, " ".join(following), row.notes))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        typer.echo("  ".join(f"{each:<{width}}" for each, width in zip(line, widths, strict=True)).rstrip())


def _summary(name: str, strategy: Strategy) -> str:
    """Return a one-line description of a strategy; for a dialect, which models write it."""
    return (about_dialect(name) if name in DIALECTS else _documentation(strategy)).partition("\n")[0]


def _explained(strategy: Strategy) -> Iterator[str]:
    """Yield the lines, in Markdown, that describe a strategy."""
    name = getattr(strategy, "__name__", "")
    yield catalogue_entry(name) if name in DIALECTS else _in_markdown(_documentation(strategy))
    yield ""
    yield "Options and their defaults:"
    yield ""
    for option, default in _options(strategy).items():
        yield f"    {option}={default}"
    yield ""
    yield "The chain, as operators with their settings:"
    yield ""
    yield indent(strategy_code(strategy), "    ")
    yield ""
    yield f"The environment chooses it with PENSTOCK_STREAM_PARSER={name}; where that says nothing, it is"
    yield f"{DEFAULT_STRATEGY}, and {DEFAULT_IN_TEXT} for streams of plain text."


def _documentation(strategy: Strategy) -> str:
    return inspect.getdoc(strategy) or ""


def _in_markdown(documentation: str) -> str:
    """Return a docstring with its example as a block of code."""
    paragraphs = documentation.split("\n\n")
    return "\n\n".join(f"```pycon\n{each}\n```" if each.startswith(">>>") else each for each in paragraphs)


def _options(strategy: Strategy) -> dict[str, str]:
    parameters = inspect.signature(strategy).parameters.values()
    return {each.name: _short(each.default) for each in parameters if each.name not in _NOT_OPTIONS}


def _short(default: Any) -> str:
    text = repr(default)
    return text if len(text) <= _LONGEST_VALUE else f"<{type(default).__name__}>"


def _show_markdown(text: str) -> None:
    """Print a text: formatted on a terminal, unchanged in a pipe or a file."""
    if not sys.stdout.isatty():
        typer.echo(text)
        return
    from rich.console import Console  # noqa: PLC0415 - rich is not needed for help
    from rich.markdown import Markdown  # noqa: PLC0415

    Console().print(Markdown(text, code_theme="ansi_dark"))


def _show_rows(rows: list[tuple[str, str, str]]) -> None:
    width = max(len(name) for _, name, _ in rows)
    if not sys.stdout.isatty():
        for mark, name, said in rows:
            typer.echo(f"{mark} {name:<{width}}  {said}")
        return
    from rich.console import Console  # noqa: PLC0415 - rich is not needed for help
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table.grid(padding=(0, 2, 0, 0))
    for mark, name, said in rows:
        table.add_row(Text(f"{mark} {name}", style="bold" if mark == "*" else "", no_wrap=True), Text(said))
    Console().print(table)
