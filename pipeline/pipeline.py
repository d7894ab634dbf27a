"""`Pipeline`: a strategy, tools and sinks put together once, for any number of streams."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from inspect import signature
from typing import Any, TypeAlias, TypeVar, cast
from weakref import WeakSet

from reactivex import Observable
from reactivex.subject import Subject

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..operators.engine.attempts import Attempts
from ..operators.engine.limits import Limits
from ..operators.engine.stage import Operator, stage
from ..operators.interrupt_on import interruptible
from ..operators.writing.dialect_instructions import dialect_instructions
from ..sinks.running.fan_out import AsyncFanOut, FanOut
from ..sinks.running.sink_line import WhenFull, sink_lines
from ..sources.decode_sdk import decode_through
from ..sources.from_stream import any_exception, any_machine, check_any_stream, stream_through
from ..sources.machine.choices import Choices
from ..sources.streams.sdk_stream import translated
from ..sources.streams.wake_stream import wake_stream
from .runs.async_run import AsyncRun
from .runs.flow import Flow
from .runs.run import Run
from .settings import DEFAULT_IN_TEXT, Settings, settings_from_environment
from .strategies.strategy import StrategyEvent
from .strategies.text_strategies import TEXT_STRATEGIES
from .strategies.text_strategy import TextStrategy
from .strategy_by_stream import Machines, strategy_by_stream
from .strategy_maker import StrategyLike, resolved, strategy_maker
from .tools.tool import Tool, as_tools
from .tools.tool_choice import tool_choice
from .tools.tool_providers import tool_provider
from .tools.tool_schemas import schemas_for

_NewStrategy: TypeAlias = Callable[[str | None], Operator[ChunkResponse, StrategyEvent]]
_Cancellable = TypeVar("_Cancellable", bound="Run | AsyncRun | _Signal")


class Pipeline:
    r"""Turns streams of any provider into events, with one strategy, one set of tools, and sinks beside the loop.

        an SDK's stream ──  provider's machine  ──  strategy  ──┬──  your loop
                                                                └──  sinks

    >>> from penstock.events import ChunkResponse
    >>> answer = [ChunkResponse(content="Hi", finish_reason="stop", is_complete=True)]
    >>> for event in Pipeline(turn_id="t").stream(answer):
    ...     print(event)
    SegmentStart(segment_id='t:text_0', segment_type='text', turn_id='t')
    SegmentContent(segment_id='t:text_0', segment_type='text', delta='Hi', turn_id='t', raw='Hi')
    SegmentEnd(segment_id='t:text_0', segment_type='text', status='complete', turn_id='t')

    - `strategy`: a name, an operator, several in a row, or a function that makes one of `tools=` and options, as
      `api_tool_call` is, or a `Dialect`. Without one the environment decides: PENSTOCK_STREAM_PARSER, else the stream:
      `api_tool_call` for a provider's, `auto` for plain text, in which native calls cannot come.
    - `tools`: functions, pydantic models, JSON Schemas or `Tool`s. Calls are validated with them, and other names fail
      as `unknown_tool`. Without `tools=` every call is accepted; with none in it (`tools=[]`) everything passes through
      and nothing is invoked.
    - `api`: the provider's API, where the first item of a stream does not say it. `choices`: as with `from_stream`.
    - `turn_id`: for all streams; `stream(...)` takes one for a single stream.
    - `sinks`: each gets all events, through a queue of `queue_size`; a sink that does not keep up holds the stream
      (`when_full="block"`), is left behind ("drop_sink"), or ends the stream ("fail"). One that raises is logged, and
      the others go on. After the stream a sink that neither ends nor takes an event for `close_timeout` seconds is
      given up, with a `StuckSinkError`; after a cancellation, a close or Ctrl-C it has that time in all.
    - `settings`: instead of the environment's. Further options go to the strategy: `fields=`, `start=`, `eager=`...

    It keeps no state of a stream: use it for many, also at the same time, in threads and in tasks. What is wrong with
    the arguments is a `UsageError` here, not in mid-stream.
    """

    def __init__(  # noqa: PLR0913 - one place for everything that a pipeline is made of
        self,
        strategy: StrategyLike | None = None,
        *,
        tools: Iterable[Any] | None = None,
        api: str | None = None,
        choices: Choices = 0,
        turn_id: str | None = None,
        sinks: Iterable[Callable[..., Any]] = (),
        queue_size: int = 1024,
        when_full: WhenFull = "block",
        close_timeout: float = 10.0,
        settings: Settings | None = None,
        **options: Any,
    ) -> None:
        settings = settings or settings_from_environment()
        options = {key: _lasting(value) for key, value in options.items()}
        strategy = _lasting(strategy)
        self.tools: tuple[Tool, ...] | None = None if tools is None else as_tools(tools)
        self.sinks = _checked_sinks(sinks)
        self._arguments: dict[str, Any] = {
            "strategy": strategy,
            "tools": self.tools,
            "api": api,
            "choices": choices,
            "turn_id": turn_id,
            "sinks": self.sinks,
            "queue_size": queue_size,
            "when_full": when_full,
            "close_timeout": close_timeout,
            "settings": settings,
            **options,
        }
        self._api = api
        self._choices: Choices = choices
        self._limits = _checked_limits(options.get("limits"), settings)
        self._queue: dict[str, Any] = {"maxsize": queue_size, "when_full": when_full, "close_timeout": close_timeout}
        chosen = resolved(settings.strategy if strategy is None else strategy)
        self._dialect = chosen.dialects[0] if isinstance(chosen, TextStrategy) else None
        self._new_strategy = strategy_maker(chosen, self.tools, settings, self._limits, options)
        self._new_text_strategy: _NewStrategy | None = None
        if strategy is None and not settings.is_strategy_chosen:
            in_text = TEXT_STRATEGIES[DEFAULT_IN_TEXT]
            known = {key: value for key, value in options.items() if key in signature(in_text).parameters}
            self._new_text_strategy = strategy_maker(in_text, self.tools, settings, self._limits, known)
        self._turn_id = turn_id
        self.operator: Operator[ChunkResponse, StrategyEvent] = self._new_strategy(turn_id)
        """The strategy as an operator, for chains of your own."""
        self._lock = threading.RLock()  # a signal's handler may cancel while its own thread starts a stream
        self._runs: WeakSet[Any] = WeakSet()
        self._new_machine = any_machine(api, choices=choices, turn_id=turn_id, limits=self._limits)
        sink_lines(self.sinks, **self._queue)  # says what is wrong with them

    def stream(self, source: Any, *, turn_id: str | None = None, sinks: Iterable[Callable[..., Any]] = ()) -> Run:
        """Return the events of a stream, for a plain loop.

            for event in pipeline.stream(lambda: client.chat.completions.create(..., stream=True)): ...

        `source`: what an SDK returned for a streamed request, or a zero-argument callable that starts one when the loop
        begins; an iterable of ChunkResponses, or of texts. `sinks`: for this stream, besides the pipeline's own, as a
        queue of which each serves one stream. The SDK's exceptions, and a fatal error inside the stream,
        are raised as `ProviderError` after the ENDs of what was open.
        """
        all_sinks = (*self.sinks, *_checked_sinks(sinks))
        fan_out = FanOut(all_sinks, **self._queue) if all_sinks else None
        return self._started(Run(_opened(source), self._flow(turn_id), fan_out))

    def astream(self, source: Any, *, turn_id: str | None = None, sinks: Iterable[Callable[..., Any]] = ()) -> AsyncRun:
        """Return the events of a stream, for an async loop.

            async for event in pipeline.astream(lambda: client.messages.create(..., stream=True)): ...

        As `stream`, with what an async client returns; the callable may be async.
        """
        all_sinks = (*self.sinks, *_checked_sinks(sinks))
        fan_out = AsyncFanOut(all_sinks, **self._queue) if all_sinks else None
        return self._started(AsyncRun(_opened(source), self._flow(turn_id), fan_out))

    def observable(self, source: Any, *, turn_id: str | None = None) -> Observable[StrategyEvent]:
        """Return the events of a stream as an Observable; nothing is requested until somebody subscribes.

        `source` as with `stream` and `astream`, or an Observable of such items. A subscription after one that broke
        off, as `ops.retry(2)` of reactivex makes it, has a turn id of its own: `t#2` after `t`. Sinks need a loop that
        can wait for them: a pipeline with sinks is a `UsageError` here.
        """
        if self.sinks:
            message = "sinks= run with stream(...) and astream(...); subscribe to an Observable instead, or share it"
            raise UsageError(message)
        of_turn = turn_id or self._turn_id
        machines = Machines(partial(self._new_machine, turn_id=of_turn))
        operator = self._operator(turn_id)
        if self._new_text_strategy is not None:
            in_text = self._new_text_strategy(of_turn)
            operator = strategy_by_stream(machines.are_of_text, operator, in_text)
        given: Any = source
        is_decoded = isinstance(source, Observable)
        chunks = decode_through(machines)(given) if is_decoded else stream_through(given, machines)
        attempts = Attempts()

        def subscribe(observer: Any, scheduler: Any = None) -> Any:
            signal = self._started(_Signal(None if callable(given) else given))
            asked = stream_through(signal.noting(given), machines) if callable(given) else chunks
            return interruptible(signal, operator, asked, attempts).subscribe(observer, scheduler=scheduler)

        return Observable(subscribe)

    def cancel(self, reason: str = "cancelled") -> None:
        """Stop all streams on their way: what is open ends as `interrupted`, the providers' streams are closed.

        From any thread; to stop one of several, call `cancel` of what `stream(...)` gave.
        """
        with self._lock:
            runs = list(self._runs)
        for run in runs:
            run.cancel(reason)

    def tool_schemas(self, provider: str, *, names: Iterable[str] | None = None, strict: bool = False) -> Any:
        """Return the tools as the request of a provider wants them, a list; None, to be left out, where there are none.

        As the function `tool_schemas`, with the pipeline's tools. None, too, where the strategy finds calls in text:
        then the prompt tells the model of the tools, with `instructions()`. For a server that writes them into the
        prompt itself there is the function.
        """
        if self._dialect is not None:
            tool_provider(provider)  # says what is wrong with it
            return None
        return schemas_for(self.tools or (), provider, names, strict=strict)

    def instructions(self) -> str:
        """Return the text for a system prompt: which tools there are and how to call them in text.

        >>> def now() -> None: ...
        >>> print(Pipeline("hermes", tools=[now]).instructions().partition("Example:")[2].strip())
        <tool_call>
        {"name": "now", "arguments": {}}
        </tool_call>

        Empty without tools, and where calls are native: then `tool_schemas` tells of them. Of several dialects it is
        the first in which the model is asked to call.
        """
        return "" if self._dialect is None else dialect_instructions(self._dialect, self.tools or ())

    def tool_choice(self, provider: str, choice: Any, *, parallel: bool | None = None) -> Any:
        """Return which tool the model may or must call, as the request of a provider wants it; see `tool_choice`."""
        return tool_choice(provider, choice, tools=self.tools, parallel=parallel)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        from .runs.flow_picture import flow_picture  # noqa: PLC0415 - for notebooks only

        names = None if self.tools is None else [each.name for each in self.tools]
        return flow_picture(self.operator, tools=names, sinks=self.sinks)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._arguments,)

    def __repr__(self) -> str:
        parts = [repr(self.operator)]
        if self.tools is not None:
            parts.append(f"tools=[{', '.join(each.name for each in self.tools)}]")
        if self.sinks:
            parts.append(f"sinks={list(self.sinks)}")
        return f"Pipeline({', '.join(parts)})"

    def _started(self, run: _Cancellable) -> _Cancellable:
        with self._lock:
            self._runs.add(run)
        return run

    def _operator(self, turn_id: str | None) -> Operator[ChunkResponse, StrategyEvent]:
        return self.operator if turn_id is None else self._new_strategy(turn_id)

    def _flow(self, turn_id: str | None) -> Flow:
        of_turn, in_text = turn_id or self._turn_id, self._new_text_strategy
        return Flow(
            self._new_machine(turn_id=of_turn),
            stage(self._operator(turn_id)),
            None if in_text is None else lambda: stage(in_text(of_turn)),
        )


class _Signal(Subject[str]):
    """Cancels one subscription, and wakes the reader of its stream."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    def noting(self, source: Callable[[], Any]) -> Callable[[], Any]:
        def opened() -> Any:
            self._stream = source()
            return self._stream

        return opened

    def cancel(self, reason: str) -> None:
        self.on_next(reason)
        if self._stream is not None:
            wake_stream(self._stream)


def _opened(source: Any) -> Any:
    if isinstance(source, Observable):
        message = "this is an Observable: use observable(...), or subscribe to it"
        raise UsageError(message)
    return translated(source, partial(check_any_stream, name="Pipeline"), any_exception)


def _lasting(value: Any) -> Any:
    """Return a tuple for what can be read only once, and would serve only one stream."""
    return tuple(value) if hasattr(value, "__next__") else value


def _checked_sinks(sinks: Any) -> tuple[Callable[..., Any], ...]:
    if callable(sinks) and not isinstance(sinks, Iterable):
        message = f"sinks= is an iterable of sinks, got {sinks!r}; put it in a list"
        raise UsageError(message)
    return tuple(cast("Iterable[Callable[..., Any]]", sinks))


def _checked_limits(limits: Any, settings: Settings) -> Limits:
    if limits is None:
        return settings.checked_limits()
    if not isinstance(limits, Limits):
        message = f"limits= is a Limits, got {limits!r}"
        raise UsageError(message)
    return limits


def _rebuilt(arguments: dict[str, Any]) -> Pipeline:
    return Pipeline(**arguments)
