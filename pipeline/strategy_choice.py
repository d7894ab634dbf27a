"""`Settings`, the defaults from environment variables, and `strategy_maker`: what a pipeline's `strategy` means."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from inspect import signature
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeGuard, cast

from pydantic import AliasChoices, Field, PositiveInt, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..operators.engine.limits import Limits
from ..operators.engine.stage import How, Operator, StageChain, lift, stage
from ..operators.engine.turn_ids import TurnIds
from ..operators.grammar.dialect import Dialect
from ..operators.interrupt_on import RxOperator
from ..operators.partial_output import partial_output
from ..sources.base.machine import Machine
from ..sources.from_stream import AutoDecoder
from .chain import Chain, ChangedStrategy, chain_of, name_of, with_tools, with_turn_id
from .output_type import OutputType
from .strategies import Strategy, StrategyName, TextStrategy, pass_through, strategy_named
from .tool import Tool

DEFAULT_STRATEGY = "api_tool_call"
DEFAULT_IN_TEXT: Final = "auto"
"""The strategy for streams of plain text, in which no native call can come."""

_OURS = ("PENSTOCK_", "AUTOBYTEUS_STREAM_PARSER")

LimitName: TypeAlias = Literal[
    "depth", "key_length", "number_length", "arguments_length", "open_calls", "deferred_length", "held_length"
]


class Settings(BaseSettings):
    """The default options of every `Pipeline`; its arguments override them.

        PENSTOCK_STREAM_PARSER=hermes          the strategy, by name; AUTOBYTEUS_STREAM_PARSER is understood too
        PENSTOCK_START=immediate               when segments with metadata begin
        PENSTOCK_EAGER=true                    seal a call as soon as its JSON closes
        PENSTOCK_LIMITS__DEPTH=64              any field of `Limits`

    Blanks around a value and the case of a strategy's name do not matter; an empty value counts as none.
    """

    model_config = SettingsConfigDict(
        env_prefix="PENSTOCK_", env_nested_delimiter="__", env_ignore_empty=True, populate_by_name=True
    )

    stream_parser: str = Field(
        default="",
        validation_alias=AliasChoices("PENSTOCK_STREAM_PARSER", "AUTOBYTEUS_STREAM_PARSER"),
    )
    start: Literal["deferred", "immediate"] = "deferred"
    eager: bool = False
    limits: dict[LimitName, PositiveInt] = Field(default_factory=dict[LimitName, int])

    @field_validator("*", mode="before")
    @classmethod
    def _without_blanks(cls, value: Any) -> Any:
        return value.strip() if isinstance(value, str) else value

    @property
    def strategy(self) -> str:
        """The name of the strategy for a provider's stream: the one that was named, else `api_tool_call`."""
        return self.stream_parser.lower() or DEFAULT_STRATEGY

    @property
    def is_strategy_chosen(self) -> bool:
        """Whether a strategy was named; if not, the kind of stream decides."""
        return bool(self.stream_parser)

    def checked_limits(self) -> Limits:
        """Return the limits, the defaults with those of the settings in their places."""
        given: dict[str, int] = {str(name): number for name, number in self.limits.items()}
        return Limits(**given)


def settings_from_environment() -> Settings:
    """Read the settings from the environment; `UsageError` names each variable with an invalid value."""
    ours = tuple(each for each in os.environ.items() if each[0].upper().startswith(_OURS))
    return _settings_of(ours).model_copy(deep=True)


@lru_cache(maxsize=8)
def _settings_of(_environment: tuple[tuple[str, str], ...]) -> Settings:
    """Return the settings of an environment; reading them takes longer than all else of a pipeline's making."""
    try:
        return Settings()
    except ValidationError as error:
        wrong = "; ".join(
            f"{_variable(each['loc'])}: {each['msg'].lower()}, got {each['input']!r}" for each in error.errors()
        )
        message = f"invalid value in the environment: {wrong}"
        raise UsageError(message) from None
    except SettingsError as error:
        message = f"invalid value in the environment: {error} ({error.__cause__})"
        raise UsageError(message) from error


def _variable(place: tuple[int | str, ...]) -> str:
    name = "__".join(str(each) for each in place if each != "[key]").upper()
    return name if "STREAM_PARSER" in name else f"PENSTOCK_{name}"


class StreamParts(NamedTuple):
    """What one stream runs through, from a client's answer to its events.

    - `opened`: checks a source, and reads it through the pipeline's tap. `api`: the provider's API, if it was given.
    - `new_machine`: makes the provider's machine; `machine_options`: the options of each machine of the pipeline.
    - `chain`: the strategy's operators. `text_chain`: those for plain text, if they are others.
    """

    opened: Callable[[Any], Any]
    api: str | None
    machine_options: Mapping[str, Any]
    new_machine: Callable[[], Machine]
    chain: Chain
    text_chain: Chain | None


class Machines:
    """Makes the machines for a source's streams, and remembers their kind."""

    def __init__(self, new_machine: Callable[[], Machine]) -> None:
        self._new_machine = new_machine
        self._last: Machine | None = None

    def __call__(self) -> Machine:
        self._last = self._new_machine()
        return self._last

    def are_of_text(self) -> bool:
        return isinstance(self._last, AutoDecoder) and self._last.is_text


def strategy_by_stream(
    is_text: Callable[[], bool], native: Operator[ChunkResponse, Any], in_text: Operator[ChunkResponse, Any]
) -> Operator[ChunkResponse, Any]:
    """Run `in_text` if `is_text` returns True at the first chunk, else `native`.

    >>> from penstock.operators import drive
    >>> from penstock.pipeline import api_tool_call
    >>> from penstock.pipeline.strategies import hermes
    >>> chunk = ChunkResponse(content='<tool_call>{"name": "f", "arguments": {}}</tool_call>')
    >>> for is_text in (True, False):
    ...     print(next(drive([chunk], strategy_by_stream(lambda: is_text, api_tool_call(), hermes()))).segment_type)
    tool_call
    text
    """
    return lift(partial(_ByStream, is_text, native, in_text))


class _ByStream:
    def __init__(
        self,
        is_text: Callable[[], bool],
        native: Operator[ChunkResponse, Any],
        in_text: Operator[ChunkResponse, Any],
    ) -> None:
        self._is_text = is_text
        self._native = native
        self._in_text = in_text
        self._chosen: bool | None = None
        self._chain: StageChain[ChunkResponse, Any] = stage(native)

    @property
    def ids(self) -> TurnIds | None:
        return self._chain.ids

    def feed(self, chunk: ChunkResponse) -> Iterable[Any]:
        if self._chosen is None:
            self._choose(is_text=self._is_text())
        return self._chain.feed(chunk)

    def close(self, how: How) -> Iterable[Any]:
        return self._chain.close(how)

    def dump(self) -> Any:
        return [self._chosen, self._chain.dump()]

    def load(self, state: Any) -> None:
        chosen, chain = state
        self._choose(is_text=bool(chosen))
        self._chosen = chosen
        self._chain.load(chain)

    def _choose(self, *, is_text: bool) -> None:
        self._chosen = is_text
        before = self.ids
        self._chain = stage(self._in_text if is_text else self._native)
        if before is not None and self.ids is not None:
            self.ids.retry(before.former)


StrategyLike: TypeAlias = (
    StrategyName
    | Dialect
    | Operator[Any, Any]
    | Strategy
    | Iterable[Operator[Any, Any] | StrategyName | Dialect | RxOperator]
)

NewChain: TypeAlias = Callable[[str | None], Chain]
"""Makes the chain for a turn id."""


def resolved(strategy: Any) -> Operator[Any, Any] | Chain | ChangedStrategy | Callable[..., Any]:
    """Return the operator, chain or function that a `strategy` argument stands for; `UsageError` for anything else.

    >>> resolved("Hermes"), resolved(["hermes", "qwen3_coder"])
    (<TextStrategy hermes>, <TextStrategy hermes+qwen3_coder>)
    """
    if isinstance(strategy, str):
        return strategy_named(strategy)
    if isinstance(strategy, Dialect):
        return TextStrategy(strategy)
    if isinstance(strategy, ChangedStrategy):
        return strategy
    if isinstance(strategy, Iterable):
        several = tuple(cast("tuple[Any, ...]", strategy))
        named = [each for each in several if isinstance(each, str | Dialect)]
        if several and len(named) == len(several):
            return TextStrategy(*named)
        return chain_of(several)
    if not callable(strategy):
        message = f"a strategy must be a name, an operator, a list of operators or a function; got {strategy!r}"
        raise UsageError(message)
    return cast("Callable[..., Any]", strategy)


def strategy_maker(
    strategy: Operator[Any, Any] | Chain | ChangedStrategy | Callable[..., Any],
    tools: tuple[Tool, ...] | None,
    settings: Settings,
    limits: Limits,
    options: Mapping[str, Any],
) -> NewChain:
    """Return a function that makes the strategy's chain for a turn id; `UsageError` for an unknown option.

    `strategy`: what `resolved` returned. If `tools` is empty, a strategy for native calls becomes `pass_through`, one
    for calls in text reads the reasoning only, and `to_invocations` is removed from a chain.
    """
    if isinstance(strategy, ChangedStrategy):
        change = strategy
        before = strategy_maker(resolved(change.strategy), tools, settings, limits, change.options)
        return lambda turn_id: change.changed(before(turn_id), tools, turn_id)
    if isinstance(strategy, Operator):
        if tools is not None:
            message = (
                "the strategy is an operator, so pass tools= to the operator itself: to_invocations(tools); "
                "operators in a list get the tools from here"
            )
            raise UsageError(message)
        ready = chain_of([strategy])
        return lambda turn_id: _ready_made(ready, options, [] if turn_id is None else ["turn_id"])
    if _is_chain(strategy):
        chain = with_tools(_ready_made(strategy, options), tools) or chain_of([pass_through(limits=limits)])
        return lambda turn_id: with_turn_id(chain, turn_id)
    maker = cast("Callable[..., Any]", strategy)
    given = _checked(maker, tools, {"start": settings.start, "eager": settings.eager, "limits": limits}, options)
    if tools == () and isinstance(maker, TextStrategy):
        return lambda turn_id: with_tools(chain_of([maker(None, turn_id=turn_id, **given)]), ())
    if tools == ():
        return lambda turn_id: chain_of([pass_through(turn_id=turn_id, limits=limits)])
    return lambda turn_id: chain_of([maker(tools, turn_id=turn_id, **given)])


def with_output(new_chain: NewChain, output: OutputType | None, limits: Limits) -> NewChain:
    """Return a function that makes the same chain with `partial_output` behind it, if there is an output type."""
    if output is None:
        return new_chain
    reading = chain_of([partial_output(output, as_text=output.is_text, limits=limits)])

    def made(turn_id: str | None) -> Chain:
        chain = new_chain(turn_id)
        if any(name_of(each) == "partial_output" for each in chain):
            message = "the chain has partial_output(...) already; leave output_type= out"
            raise UsageError(message)
        return (*chain, *reading)

    return made


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


def _is_chain(strategy: object) -> TypeGuard[Chain]:
    return isinstance(strategy, tuple)


def _ready_made(chain: Chain, options: Iterable[str], more: Iterable[str] = ()) -> Chain:
    for wrong in (*options, *more):
        message = (
            f"the strategy is made of operators, so pass {wrong}= to the operators themselves: to_segments({wrong}=...)"
        )
        raise UsageError(message)
    return chain
