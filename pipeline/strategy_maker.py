"""`strategy_maker`: turn the `strategy` argument of a `Pipeline` into a function that makes the operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import signature
from typing import Any, TypeAlias, cast

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..operators.engine.limits import Limits
from ..operators.engine.stage import Operator, compose
from ..operators.grammar.dialect import Dialect
from .settings import Settings
from .strategies.strategies import pass_through, strategy_named
from .strategies.strategy import Strategy
from .strategies.text_strategy import TextStrategy
from .tools.tool import Tool

StrategyLike: TypeAlias = str | Dialect | Operator[Any, Any] | Strategy | Iterable[Operator[Any, Any] | str | Dialect]


def resolved(strategy: Any) -> Operator[Any, Any] | Callable[..., Any]:
    """Return the operator or the strategy function for a `strategy` argument; `UsageError` for anything else.

    >>> resolved("Hermes"), resolved(["hermes", "qwen3_coder"])
    (<TextStrategy hermes>, <TextStrategy hermes+qwen3_coder>)
    """
    if isinstance(strategy, str):
        return strategy_named(strategy)
    if isinstance(strategy, Dialect):
        return TextStrategy(strategy)
    if isinstance(strategy, Iterable):
        several = tuple(cast("Iterable[Operator[Any, Any] | str | Dialect]", strategy))
        named = [each for each in several if isinstance(each, str | Dialect)]
        if several and len(named) == len(several):
            return TextStrategy(*named)
        return compose(*cast("tuple[Operator[Any, Any], ...]", several))
    if not callable(strategy):
        message = f"a strategy must be a name, an operator, several, or a function that returns one; got {strategy!r}"
        raise UsageError(message)
    return cast("Callable[..., Any]", strategy)


def strategy_maker(
    strategy: Operator[Any, Any] | Callable[..., Any],
    tools: tuple[Tool, ...] | None,
    settings: Settings,
    limits: Limits,
    options: Mapping[str, Any],
) -> Callable[[str | None], Operator[ChunkResponse, Any]]:
    """Return a function that makes the strategy's operator for a turn id; `UsageError` for an unknown option.

    `strategy`: the result of `resolved`. If `tools` is empty, the strategy is always `pass_through`.
    """
    if isinstance(strategy, Operator):
        if tools is not None:
            message = "the strategy is an operator, so pass tools= to the operator itself: to_invocations(tools)"
            raise UsageError(message)
        return partial(_ready_made, strategy, dict(options))
    maker = strategy
    given = _checked(maker, tools, {"start": settings.start, "eager": settings.eager, "limits": limits}, options)
    if tools == ():
        return lambda turn_id: pass_through(turn_id=turn_id, limits=limits)
    return lambda turn_id: maker(tools, turn_id=turn_id, **given)


def _checked(
    strategy: Callable[..., Any], tools: Any, known: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options for a strategy: those of `known` that it accepts, and all that were passed."""
    name = getattr(strategy, "__name__", None) or repr(strategy)
    taken = signature(strategy).parameters
    if unknown := [key for key in options if key not in taken]:
        others = ", ".join(key for key in taken if key not in ("tools", "turn_id"))
        message = f"unknown option {unknown[0]!r}; {name} takes {others or 'none'}"
        raise UsageError(message)
    given = {key: value for key, value in known.items() if key in taken} | dict(options)
    try:
        signature(strategy).bind(tools, turn_id=None, **given)
    except TypeError as error:
        message = f"a strategy function must take (tools, *, turn_id=...); {name} does not: {error}"
        raise UsageError(message) from error
    return given


def _ready_made(
    operator: Operator[Any, Any], options: dict[str, Any], turn_id: str | None
) -> Operator[ChunkResponse, Any]:
    wrong = [*options, *(["turn_id"] if turn_id is not None else [])]
    if wrong:
        message = (
            f"the strategy is an operator, so pass {wrong[0]}= to the operators themselves: to_segments(turn_id=...)"
        )
        raise UsageError(message)
    return operator
