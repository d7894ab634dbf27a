"""`Pipeline`: a strategy, tools and sinks put together once, for any number of streams."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from inspect import signature
from typing import Any, TypeAlias, TypeVar, Unpack, cast
from weakref import WeakSet

from reactivex import Observable
from reactivex.subject import Subject

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..events.tool_invocation import ToolInvocation
from ..operators.engine.limits import Limits
from ..operators.engine.operator_call import reiterable
from ..operators.engine.stage import Operator, StageChain, stage_of
from ..operators.engine.turn_ids import Attempts
from ..operators.interrupt_on import interrupt_on, interruptible
from ..sinks.acting.step import EventStep, checked_steps, fitted
from ..sinks.running.fan_out import AsyncFanOut, FanOut
from ..sinks.running.sink_line import WhenFull, sink_lines
from ..sources.base.answers import Choices
from ..sources.base.machine import Machine
from ..sources.from_stream import (
    AutoDecoder,
    Decode,
    check_decode,
    decode_through,
    decoder_factory,
    opened,
    stream_through,
    stream_to_read,
    without_await,
)
from ..sources.recognition.apis import ProviderName, provider_of
from ..sources.streams.guarded_source import GuardedSource, asking
from ..sources.streams.wake_stream import wake_stream
from .async_run import AsyncRun
from .chain import (
    Chain,
    ChainChange,
    ChainPart,
    ChangedStrategy,
    chain_of,
    dialect_in,
    is_ours,
    name_of,
    operator_of,
    parted,
    place_of,
)
from .output_type import OutputType, options_for
from .pipeline_views import INDENT, pipeline_code
from .run import AnyFlow, Flow, KeptAnswer, PassingFlow, Run
from .strategies import TEXT_STRATEGIES, StrategyEvent, StrategyOptions, TextStrategy
from .strategy_choice import (
    DEFAULT_IN_TEXT,
    Machines,
    NewChain,
    Settings,
    StrategyLike,
    StreamParts,
    resolved,
    settings_from_environment,
    strategy_by_stream,
    strategy_maker,
    with_output,
)
from .tool import Tool, as_tools
from .tool_schemas import schemas_for, tool_choice

SourceTap: TypeAlias = Callable[[Any], Any]
"""Takes a source, and returns one that yields the same."""
_Cancellable = TypeVar("_Cancellable", bound="Run | AsyncRun | _Signal")


class Pipeline:
    r"""Turns streams of any provider into events, with a strategy, tools, and sinks beside your loop.

        an SDK's stream ──  provider's machine  ──  strategy  ──┬──  your loop
                                                                └──  sinks

    >>> from penstock.events import ChunkResponse
    >>> answer = [ChunkResponse(content="Hi", finish_reason="stop", is_complete=True)]
    >>> for event in Pipeline(turn_id="t").stream(answer):
    ...     print(event)
    SegmentStart(segment_id='t:text_0', segment_type='text', turn_id='t')
    SegmentContent(segment_id='t:text_0', segment_type='text', delta='Hi', turn_id='t', raw='Hi')
    SegmentEnd(segment_id='t:text_0', segment_type='text', status='complete', turn_id='t')
    AnswerEnd(turn_id='t', finish_reason='stop')

    - `strategy`: a name, an operator, several in a list, or a function that makes one of `tools=` and options, as
      `api_tool_call` is, or a `Dialect`. The default is PENSTOCK_STREAM_PARSER, else `api_tool_call` for a provider's
      stream and `auto` for plain text, which has no native calls.
    - `tools`: functions, pydantic models, JSON Schemas or `Tool`s. Calls are validated with them, and other names fail
      as `unknown_tool`. Without `tools=` every call is accepted; with `tools=[]` nothing is invoked, and calls
      in text stay text.
    - `output_type`: the type of the text that a structured answer has, see `output_options`: anything that pydantic's
      `TypeAdapter` takes, or a JSON Schema. The stream then also has a `PartialOutput` for each change of the value,
      and an `Output` or `OutputFailed` directly behind the END of the text; `partial_output` has the details.
    - `model`: in place of a strategy: the name of a model that writes its calls into its text. Its dialect and options
      are those of `dialect_for(model)`; options that you pass win. `request`: the options of the request, which may say
      whether the prompt ends inside the reasoning.
    - `api`: the provider's API, if it cannot be detected from the first item. `choices`, `logprobs`, `decode`,
      `merge`: as with `from_stream`.
    - `turn_id`: the turn id of all streams; `stream(...)` takes one for a single stream.
    - `steps`: functions that add events to an async stream, in a row: `[write_files(root), call_tools(tools)]`. The
      sinks and `AsyncRun.answer` get what they add, too. With steps there is `astream` only.
    - `sinks`: each gets all events, through a queue of `queue_size`. A sink that does not keep up delays the stream
      (`when_full="block"`), is dropped ("drop_sink"), or ends the stream ("fail"). If a sink raises, that is logged,
      and the others go on. After the stream, a sink that neither returns nor takes an event for `close_timeout` seconds
      is abandoned, with a `StuckSinkError`; after a cancel, a close or Ctrl-C it has that time in total.
    - `keep_answer`: whether each run keeps what came, for `Run.answer`, and the assistant's message, for
      `AnswerEnd.message`; without that a run needs no memory for what has passed.
    - `record`: a tap through which what the provider sends is read. `record(path)` of `penstock.studio` returns one
      that writes it, with its times, into a file for one stream, or a folder for any number.
    - `settings`: in place of the environment's. Further options go to the strategy: `fields=`, `start=`, `eager=`...

    A pipeline keeps no state of a stream: use it for many, also at the same time, in threads and in tasks. Wrong
    arguments raise a `UsageError` here, not in mid-stream; only operators in an order that does not fit are not found
    before they get an event that they cannot take.
    """

    def __init__(  # noqa: PLR0913 - one place for everything that a pipeline is made of
        self,
        strategy: StrategyLike | None = None,
        *,
        tools: Iterable[Any] | None = None,
        output_type: Any = None,
        model: str | None = None,
        request: Mapping[str, Any] | None = None,
        api: str | None = None,
        choices: Choices = 0,
        logprobs: bool = False,
        decode: Decode = "sdk",
        merge: bool = False,
        turn_id: str | None = None,
        steps: Iterable[EventStep] = (),
        sinks: Iterable[Callable[..., Any]] = (),
        queue_size: int = 1024,
        when_full: WhenFull = "block",
        close_timeout: float = 10.0,
        keep_answer: bool = True,
        record: SourceTap | None = None,
        settings: Settings | None = None,
        **options: Unpack[StrategyOptions],
    ) -> None:
        settings = settings or settings_from_environment()
        given: dict[str, Any] = {key: reiterable(value) for key, value in options.items()}
        if request is not None and model is None:
            message = "request= says how a model thinks; pass model= too"
            raise UsageError(message)
        if model is not None:
            strategy, given = _for_model(strategy, model, request, given)
        strategy = reiterable(strategy)
        self.tools: tuple[Tool, ...] | None = None if tools is None else as_tools(tools)
        self.steps = checked_steps(steps)
        self._fitted_steps = fitted(self.steps, self.tools or ())
        self.sinks = _checked_sinks(sinks)
        self._output = None if output_type is None else OutputType(output_type)
        self._arguments: dict[str, Any] = {
            "strategy": strategy,
            "tools": self.tools,
            "output_type": output_type,
            "api": api,
            "choices": choices,
            "logprobs": logprobs,
            "decode": decode,
            "merge": merge,
            "turn_id": turn_id,
            "steps": self.steps,
            "sinks": self.sinks,
            "queue_size": queue_size,
            "when_full": when_full,
            "close_timeout": close_timeout,
            "keep_answer": keep_answer,
            "record": record,
            "settings": settings,
            **given,
        }
        check_decode(decode, merge=merge)
        if not isinstance(cast("object", turn_id), str | None):
            message = f"turn_id= must be a str, got {turn_id!r:.80}"
            raise UsageError(message)
        self._api = api
        self._decode: Decode = decode
        self.keeps_answer = keep_answer
        if record is not None and not callable(cast("object", record)):
            message = f"record= takes a tap, got {record!r:.80}; pass what record(path) of penstock.studio returns"
            raise UsageError(message)
        self._tap = record
        self._choices: Choices = choices
        self._limits = _checked_limits(given.get("limits"), settings)
        self._queue: dict[str, Any] = {"maxsize": queue_size, "when_full": when_full, "close_timeout": close_timeout}
        chosen = resolved(settings.strategy if strategy is None else strategy)
        new_chain = strategy_maker(chosen, self.tools, settings, self._limits, given)
        self._new_chain = with_output(new_chain, self._output, self._limits)
        self._new_text_chain: NewChain | None = None
        if (strategy is None and not settings.is_strategy_chosen) or getattr(strategy, "is_default", False):
            self._new_text_chain = self._text_chain_maker(strategy, settings, given)
        self.turn_id = turn_id
        self.chain: Chain = self._new_chain(turn_id)
        """The strategy's operators in order, with the tools and the turn id, and `partial_output` for an output type;
        pipelines with equal chains do the same."""
        if self.sinks:
            operator_of(self.chain, "sinks= run with stream(...), which")
        self._lock = threading.RLock()  # a signal's handler may cancel while its own thread starts a stream
        self._runs: WeakSet[Any] = WeakSet()
        self._of_machines: dict[str, Any] = {
            "choices": choices,
            "turn_id": turn_id,
            "limits": self._limits,
            "keep_message": keep_answer,
            "logprobs": logprobs,
            "merge": merge,
        }
        self._new_machine = decoder_factory(api, **self._of_machines)
        sink_lines(self.sinks, **self._queue)  # raises for wrong options

    def stream(self, source: Any, *, turn_id: str | None = None, sinks: Iterable[Callable[..., Any]] = ()) -> Run:
        """Return the events of a stream, for a plain loop.

            for event in pipeline.stream(lambda: client.chat.completions.create(..., stream=True)): ...

        `source`: what an SDK returned for a streamed request, or a zero-argument callable that starts one when the loop
        begins; an iterable of ChunkResponses, or of texts; the `Path` of a recording, of a body or of a cassette, as
        `from_recording` of `penstock.sources` reads it, or what that returns, which has a pace and other options.
        `UsageError` for a file that cannot be read.
        `sinks`: more sinks for this stream alone, such as a queue, which serves one stream. The SDK's exceptions, and a
        fatal error inside the stream, are raised as `ProviderError` after the END of each open segment.
        """
        self._without_steps("stream")
        all_sinks = (*self.sinks, *_checked_sinks(sinks))
        fan_out = FanOut(all_sinks, **self._queue) if all_sinks else None
        given, new_machine = self._read(source, turn_id)
        return self._started(
            Run(_once(given), self._flow(turn_id, new_machine), fan_out, KeptAnswer(keeps=self.keeps_answer))
        )

    def astream(
        self,
        source: Any,
        *,
        turn_id: str | None = None,
        steps: Iterable[EventStep] = (),
        sinks: Iterable[Callable[..., Any]] = (),
    ) -> AsyncRun:
        """Return the events of a stream, for an async loop.

            async for event in pipeline.astream(lambda: client.messages.create(..., stream=True)): ...

        Works like `stream`, with what an async client returns; the callable may be async. `steps`: more steps for this
        stream alone, behind those of the pipeline.
        """
        given, new_machine = self._read(source, turn_id)
        flow = self._flow(turn_id, new_machine, may_ask=True)
        return self._arun(_once(given), flow, steps, sinks, keeps=self.keeps_answer)

    def act(self, calls: Iterable[ToolInvocation], *, steps: Iterable[EventStep] = ()) -> AsyncRun:
        """Return the events of calls that an earlier stream left open, through the steps, as `astream`, and the sinks.

            async for event in pipeline.act(answer.invocations): ...

        The calls are those of `Answer.unanswered`; a step leaves one alone that it finds `claimed_by` another.
        """
        return self._arun([*calls], PassingFlow(), steps, (), keeps=False)

    def observable(self, source: Any, *, turn_id: str | None = None) -> Observable[StrategyEvent]:
        """Return the events of a stream as an Observable; the request is sent on subscription.

        `source` as with `stream` and `astream`, or an Observable of such items. A subscription after one that did not
        complete, as `ops.retry(2)` of reactivex makes it, has its own turn id: `t#2` after `t`. A pipeline with sinks
        raises a `UsageError`, because sinks need a loop that waits for them.
        """
        self._without_steps("observable")
        if self.sinks:
            message = "sinks= works with stream(...) and astream(...) only; subscribe to the Observable instead"
            raise UsageError(message)
        of_turn = turn_id or self.turn_id
        before, operator, behind = parted(self._chain(turn_id))
        is_decoded = isinstance(source, Observable)
        if is_decoded and self._decode == "wire":
            message = 'decode="wire" needs the stream of a client; an Observable has its items already'
            raise UsageError(message)
        if is_decoded and self._tap is not None:
            message = "record= takes a stream; record what the Observable is made of with record(path)(stream)"
            raise UsageError(message)
        given, new_machine = (cast("Any", source), self._new_machine) if is_decoded else self._read(source, turn_id)
        machines = Machines(partial(new_machine, turn_id=of_turn))
        if operator is not None and self._new_text_chain is not None:
            in_text = operator_of(self._new_text_chain(of_turn), "observable(...)")
            operator = strategy_by_stream(machines.are_of_text, operator, in_text)
        chunks = decode_through(machines)(given) if is_decoded else stream_through(given, machines)
        attempts = Attempts()

        def subscribe(observer: Any, scheduler: Any = None) -> Any:
            signal = self._started(_Signal(None if callable(given) else given))
            asked = stream_through(signal.noting(given), machines) if callable(given) else chunks
            asked = asked.pipe(*before)
            ended = (
                interrupt_on(signal)(asked) if operator is None else interruptible(signal, operator, asked, attempts)
            )
            return ended.pipe(*behind).subscribe(observer, scheduler=scheduler)

        return Observable(subscribe)

    def parts(self, turn_id: str | None = None) -> StreamParts:
        """Return what a stream runs through, for tools that look at each part, such as `penstock.studio.trace_stream`.

        >>> [str(operator) for operator in Pipeline().parts().chain]
        ['to_segments()', 'stream_fields()', 'to_invocations(keep_segments=True)']
        """
        of_turn, new_text_chain = turn_id or self.turn_id, self._new_text_chain
        return StreamParts(
            opened=self._opened,
            api=self._api,
            machine_options=self._of_machines,
            new_machine=partial(self._new_machine, turn_id=of_turn),
            chain=self._chain(turn_id),
            text_chain=None if new_text_chain is None else new_text_chain(of_turn),
        )

    def cancel(self, reason: str = "cancelled") -> None:
        """Stop all running streams: open segments end as `interrupted`, and the providers' streams are closed.

        Call it from any thread. To stop a single stream, call `cancel` of its `Run`.
        """
        with self._lock:
            runs = list(self._runs)
        for run in runs:
            run.cancel(reason)

    def tool_schemas(
        self,
        provider: ProviderName,
        *,
        names: Iterable[str] | None = None,
        strict: bool = False,
        eager_input_streaming: bool | None = None,
    ) -> Any:
        """Return the tools in the form of a provider's request, a list; None without tools.

        Works like the function `tool_schemas`, with the pipeline's tools. It also returns None for a strategy that
        reads calls in text: there the prompt describes the tools, see `instructions()`. Use the function for a server
        that writes the tools into the prompt itself.
        """
        if dialect_in(self.chain) is not None:
            provider_of(provider)  # raises for an unknown provider
            return None
        tools = self.tools or ()
        return schemas_for(tools, provider, names, strict=strict, eager_input_streaming=eager_input_streaming)

    def instructions(self) -> str:
        """Return the text for a system prompt that describes the tools and how to call them in text.

        >>> def now() -> None: ...
        >>> print(Pipeline("hermes", tools=[now]).instructions().partition("Example:")[2].strip())
        <tool_call>
        {"name": "now", "arguments": {}}
        </tool_call>

        It is empty without tools, and for native calls, where `tool_schemas` describes the tools. If the strategy has
        several dialects, the text asks for the first one.
        """
        dialect = dialect_in(self.chain)
        if dialect is None:
            return ""
        from ..operators.writing.dialect_instructions import dialect_instructions  # noqa: PLC0415 - for text only

        return dialect_instructions(dialect, self.tools or ())

    def tool_choice(self, provider: ProviderName, choice: Any, *, parallel: bool | None = None) -> Any:
        """Return the tool choice in the form of a provider's request; see `tool_choice`."""
        return tool_choice(provider, choice, tools=self.tools, parallel=parallel)

    def output_options(self, provider: ProviderName, *, name: str | None = None, strict: bool = True) -> dict[str, Any]:
        """Return the keyword arguments of a provider's request that ask for the `output_type`.

            client.chat.completions.create(..., stream=True, **pipeline.output_options("openai-chat"))

        Works like the function `output_options`; empty without an output type.
        """
        if self._output is None:
            provider_of(provider)  # raises for an unknown provider
            return {}
        return options_for(self._output, provider, name=name, strict=strict)

    @property
    def operator(self) -> Operator[ChunkResponse, StrategyEvent]:
        """The strategy as an operator, for chains of your own."""
        return operator_of(self.chain, "operator")

    def code(self) -> str:
        """Return the pipeline as code that uses the public names of Penstock, and the tools by their names.

        >>> def now() -> None: ...
        >>> print(Pipeline("hermes", tools=[now]).code())
        Pipeline([
            parse_text("hermes"),
            stream_fields(ignore_case=True),
            to_invocations(keep_segments=True, ignore_case=True),
        ], tools=[now])

        Running it makes a pipeline with an equal `chain`. Where a strategy of your own passes the tools to some
        operators only, the code has them there, and not in `tools=`. `UsageError` for values without a name: a lambda,
        a grammar of your own, a sink. If the kind of stream decides between two strategies, the code is that for a
        provider's stream.
        """
        return self._code(indent=INDENT)

    def replace(self, name: str, operator: ChainPart) -> Pipeline:
        """Return a pipeline with another operator in the place of the one with this name.

            Pipeline(tools=[now]).replace("to_segments", to_segments(eager=True))

        Everything else stays the same; the new operator gets the tools and the turn id, and the limits it was made
        with. The new pipeline has one chain for all streams. `UsageError` for a name that is not in the chain, or that
        occurs several times.
        """
        return self._changed(name, "replace", operator)

    def insert(self, operator: ChainPart, *, before: str | None = None, after: str | None = None) -> Pipeline:
        """Return a pipeline with one more operator, before or after the one with this name.

            Pipeline("hermes").insert(whole_calls(), after="parse_text")

        It works like `replace`. `UsageError` unless exactly one of `before` and `after` is passed.
        """
        name = before if after is None else after
        if name is None or (before is not None and after is not None):
            message = "insert(...) needs exactly one of before= and after=, the name of an operator in the chain"
            raise UsageError(message)
        return self._changed(name, "before" if after is None else "after", operator)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002 - IPython passes both, and filters by itself
        from .pipeline_views import flow_picture  # noqa: PLC0415 - for notebooks only

        names = None if self.tools is None else [each.name for each in self.tools]
        return flow_picture(self.chain, tools=names, steps=self.steps, sinks=self.sinks)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._arguments,)

    def __repr__(self) -> str:
        return self._code(is_shown=True)

    def __str__(self) -> str:
        is_plain = self._new_text_chain is not None and self._arguments["strategy"] is None
        in_text = f'  # for plain text: Pipeline("{DEFAULT_IN_TEXT}")' if is_plain else ""
        return self._code(is_shown=True, indent=INDENT) + in_text

    def _code(self, *, is_shown: bool = False, indent: str = "") -> str:
        defaults = signature(Pipeline).parameters
        given = {
            key: each
            for key, each in self._arguments.items()
            if key in defaults and key not in ("strategy", "settings") and each != defaults[key].default
        }
        return pipeline_code(self._new_chain(None), given, self._limits, is_shown=is_shown, indent=indent)

    def _changed(self, name: str, how: ChainChange, operator: ChainPart) -> Pipeline:
        parameters = signature(Pipeline).parameters
        known = {key: each for key, each in self._arguments.items() if key in parameters}
        options = {key: each for key, each in self._arguments.items() if key not in parameters}
        settings: Settings = known["settings"]
        given: Any = known["strategy"]
        is_default = given is None and not settings.is_strategy_chosen
        strategy: Any = settings.strategy if given is None else given
        if self._output is not None and place_of(self.chain, name) == len(self.chain) - 1:
            message = f"{name!r} comes from output_type=; leave that out, and put {name}(...) into a list of operators"
            raise UsageError(message)
        new = chain_of([operator], "replace" if how == "replace" else "insert")
        limits = {each: getattr(self._limits, each) for each in self._limits.__struct_fields__}
        known |= {
            "strategy": ChangedStrategy(
                *([strategy] if is_ours(strategy) else strategy, options, name, how, new),
                is_default=is_default or getattr(given, "is_default", False),
            ),
            "settings": settings.model_copy(update={"limits": limits}),
        }
        return Pipeline(**known)

    def _arun(
        self,
        source: Any,
        flow: AnyFlow,
        steps: Iterable[EventStep],
        sinks: Iterable[Callable[..., Any]],
        *,
        keeps: bool,
    ) -> AsyncRun:
        own = checked_steps(steps)
        all_steps = fitted((*self.steps, *own), self.tools or ()) if own else self._fitted_steps
        all_sinks = (*self.sinks, *_checked_sinks(sinks))
        fan_out = AsyncFanOut(all_sinks, **self._queue) if all_sinks else None
        return self._started(AsyncRun(source, flow, fan_out, KeptAnswer(keeps=keeps), all_steps))

    def _started(self, run: _Cancellable) -> _Cancellable:
        with self._lock:
            self._runs.add(run)
        return run

    def _read(self, source: Any, turn_id: str | None) -> tuple[Any, Callable[..., Machine]]:
        """Return the opened source, and what makes the machine that reads it; a `Path` is that of a recording."""
        if isinstance(source, GuardedSource):
            return self._guarded(self._opened(source), turn_id), partial(AutoDecoder, **self._of_machines)
        if not hasattr(source.__class__, "__fspath__"):
            if callable(source):
                source = asking(source, lambda guarded: self._guarded(guarded, turn_id).opened())
            return self._opened(source), self._new_machine
        from ..sources.recordings.from_recording import recorded_items  # noqa: PLC0415 - for recordings only

        recorded = recorded_items(source, self._api, **self._of_machines)
        return opened(self._recorded(recorded.untimed), name="Pipeline"), recorded.new_machine

    def _opened(self, source: Any) -> Any:
        if isinstance(source, Observable) and isinstance(source := without_await(source), Observable):
            message = "got an Observable; use observable(...), or subscribe to it"
            raise UsageError(message)
        return opened(self._recorded(source), decode=self._decode, name="Pipeline")

    def _guarded(self, source: GuardedSource, turn_id: str | None) -> GuardedSource:
        """Return a source that decodes its items as this pipeline does."""
        return source.decoded_by(partial(self._new_machine, turn_id=turn_id or self.turn_id), keeps_text=True)

    def _recorded(self, source: Any) -> Any:
        # It is checked before a file is made.
        return source if self._tap is None else self._tap(stream_to_read(source, name="Pipeline"))

    def _without_steps(self, name: str) -> None:
        if self.steps:
            message = (
                f"{name}(...) does not run steps=; use astream(...) in a coroutine, which a plain program runs with "
                "asyncio.run(...)"
            )
            raise UsageError(message)

    def _chain(self, turn_id: str | None) -> Chain:
        return self.chain if turn_id is None else self._new_chain(turn_id)

    @cached_property
    def _of_stream(self) -> Operator[Any, Any]:
        return operator_of(self.chain, "stream(...)")

    def _text_chain_maker(self, strategy: Any, settings: Settings, given: dict[str, Any]) -> NewChain | None:
        """Return what makes the chain for plain text; None if a change is of an operator that it does not have."""
        in_text: Any = TEXT_STRATEGIES[DEFAULT_IN_TEXT]
        changes: list[ChangedStrategy] = []
        while isinstance(strategy, ChangedStrategy):
            changes.append(strategy)
            strategy, given = strategy.strategy, {**strategy.options}
        known = {key: value for key, value in given.items() if key in signature(in_text).parameters}
        for change in reversed(changes):
            of_text = strategy_maker(resolved(in_text), self.tools, settings, self._limits, known)
            if [name_of(each) for each in of_text(None)].count(change.name) != 1:
                return None
            in_text, known = replace(change, strategy=in_text, options=known), {}
        new_chain = strategy_maker(resolved(in_text), self.tools, settings, self._limits, known)
        return with_output(new_chain, self._output, self._limits)

    def _flow(self, turn_id: str | None, new_machine: Callable[..., Machine], *, may_ask: bool = False) -> Flow:
        of_turn, new_text_chain = turn_id or self.turn_id, self._new_text_chain
        strategy = self._of_stream if turn_id is None else operator_of(self._new_chain(turn_id), "stream(...)")

        def in_text(new_chain: NewChain) -> StageChain[Any, Any]:
            return stage_of(operator_of(new_chain(of_turn), "stream(...)"), may_ask=may_ask)

        return Flow(
            new_machine(turn_id=of_turn),
            stage_of(strategy, may_ask=may_ask),
            None if new_text_chain is None else partial(in_text, new_text_chain),
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


def _once(source: Any) -> Any:
    """Return one stream of a guarded source, which is closed even if it is never read; any other source as it is."""
    return source.opened() if isinstance(source, GuardedSource) else source


def _for_model(
    strategy: Any, model: str, request: Mapping[str, Any] | None, options: Mapping[str, Any]
) -> tuple[TextStrategy, dict[str, Any]]:
    """Return the strategy and the options for a model that writes calls into its text."""
    if strategy is not None:
        message = f"model={model!r} chooses the strategy; leave out {strategy!r}, or model="
        raise UsageError(message)
    from ..operators.catalogue.dialect_for import dialect_for  # noqa: PLC0415 - for models of this kind only

    row = dialect_for(model, request=request)
    given = {key: each for key, each in options.items() if (key, each) != ("starts_in_reasoning", "auto")}
    return TextStrategy(*row.names), {**row.options, **given}


def _checked_sinks(sinks: Any) -> tuple[Callable[..., Any], ...]:
    if sinks == ():
        return ()
    if isinstance(sinks, str | bytes) or not isinstance(sinks, Iterable):
        message = f"sinks= must be an iterable of sinks, got {sinks!r}; put it in a list"
        raise UsageError(message)
    return tuple(cast("Iterable[Callable[..., Any]]", sinks))


def _checked_limits(limits: Any, settings: Settings) -> Limits:
    if limits is None:
        return settings.checked_limits()
    if not isinstance(limits, Limits):
        message = f"limits= must be a Limits, got {limits!r}"
        raise UsageError(message)
    return limits


def _rebuilt(arguments: dict[str, Any]) -> Pipeline:
    return Pipeline(**arguments)
