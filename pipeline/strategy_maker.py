"""`strategy_maker`: whatever a `Pipeline` is given as its strategy, as a function that makes the operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import signature
from typing import Any, TypeAlias, cast

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..operators.stage import Operator, compose
from .settings import Settings
from .strategies import Strategy, pass_through, strategy_named
from .tool import Tool

StrategyLike: TypeAlias = str | Operator[Any, Any] | Strategy | Iterable[Operator[Any, Any]]


def strategy_maker(
    strategy: Any, tools: tuple[Tool, ...] | None, settings: Settings, options: Mapping[str, Any]
) -> Callable[[str | None], Operator[ChunkResponse, Any]]:
    """Give what makes the strategy's operator for a turn's id; `UsageError` for what is none, or takes no such option.

    With no tool in `tools` the strategy is `pass_through`, whatever was asked for.
    """
    if isinstance(strategy, Iterable) and not isinstance(strategy, str):
        strategy = compose(*cast("Iterable[Operator[Any, Any]]", strategy))
    if isinstance(strategy, Operator):
        if tools is not None:
            message = "tools= goes to the operator itself, where the strategy is one: to_invocations(tools)"
            raise UsageError(message)
        return partial(_ready_made, strategy, dict(options))
    if isinstance(strategy, str):
        strategy = strategy_named(strategy)
    if not callable(strategy):
        message = f"a strategy is a name, an operator, several, or a function that makes one; got {strategy!r}"
        raise UsageError(message)
    if tools == ():
        strategy, options = pass_through, {key: value for key, value in options.items() if key == "limits"}
    name = getattr(strategy, "__name__", None) or repr(strategy)
    taken = signature(strategy).parameters
    known = {"start": settings.start, "eager": settings.eager, "limits": settings.checked_limits()}
    given = {key: value for key, value in known.items() if key in taken} | dict(options)
    if unknown := [key for key in options if key not in taken]:
        others = ", ".join(key for key in taken if key not in ("tools", "turn_id"))
        message = f"unknown option {unknown[0]!r}; {name} takes {others or 'none'}"
        raise UsageError(message)
    try:
        signature(strategy).bind(tools, turn_id=None, **given)
    except TypeError as error:
        message = f"a strategy function takes (tools, *, turn_id=...); {name} does not: {error}"
        raise UsageError(message) from error
    maker: Any = strategy
    return lambda turn_id: maker(tools, turn_id=turn_id, **given)


def _ready_made(
    operator: Operator[Any, Any], options: dict[str, Any], turn_id: str | None
) -> Operator[ChunkResponse, Any]:
    wrong = [*options, *(["turn_id"] if turn_id is not None else [])]
    if wrong:
        message = f"{wrong[0]}= goes to the operators themselves, where the strategy is one: to_segments(turn_id=...)"
        raise UsageError(message)
    return operator
