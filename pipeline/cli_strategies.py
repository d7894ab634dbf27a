"""`penstock strategies`: the named strategies and their options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from ..events.errors import UsageError
from .cli_parts import complete_strategy
from .settings import DEFAULT_STRATEGY, settings_from_environment
from .strategies import STRATEGIES, Strategy, strategy_named

STRATEGIES_EXAMPLES = """\b
Examples:
  penstock strategies
  penstock strategies api_tool_call
  PENSTOCK_STREAM_PARSER=pass_through penstock strategies
"""
_NOT_OPTIONS = ("tools", "turn_id")
_LONGEST_VALUE = 60


def strategies(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The one to explain.", autocompletion=complete_strategy)
    ] = None,
) -> None:
    """List the named strategies, or explain one; `*` marks what the environment chooses."""
    if name is not None:
        typer.echo("\n".join(_explained(strategy_named(name))))
        return
    problem: UsageError | None = None
    current = ""
    try:
        current = settings_from_environment().strategy
        strategy_named(current)
    except UsageError as error:
        problem = error
    width = max(map(len, STRATEGIES))
    for each, strategy in STRATEGIES.items():
        options = ", ".join(_options(strategy))
        typer.echo(f"{'*' if each == current else ' '} {each:<{width}}  {_documentation(strategy)[0]}")
        typer.echo(f"  {'':<{width}}  options: {options}")
    if problem is not None:
        raise problem


def _explained(strategy: Strategy) -> Iterator[str]:
    yield from _documentation(strategy)
    yield ""
    yield "Options and their defaults:"
    for name, default in _options(strategy).items():
        yield f"    {name}={default}"
    yield ""
    yield f"The environment chooses it with PENSTOCK_STREAM_PARSER; {DEFAULT_STRATEGY} is the default."


def _documentation(strategy: Strategy) -> list[str]:
    return (inspect.getdoc(strategy) or "").splitlines() or [""]


def _options(strategy: Strategy) -> dict[str, str]:
    parameters = inspect.signature(strategy).parameters.values()
    return {each.name: _short(each.default) for each in parameters if each.name not in _NOT_OPTIONS}


def _short(default: Any) -> str:
    text = repr(default)
    return text if len(text) <= _LONGEST_VALUE else f"<{type(default).__name__}>"
