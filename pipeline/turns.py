"""`turns`: ask the model, act on its calls and ask again, as one stream of events."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec.structs import replace

from ..events.errors import UsageError
from ..events.tool_invocation import Notice, ToolInvocation, ToolResult
from ..operators.engine.pump import loop_here
from ..sinks.acting.step import EventStep, checked_steps
from ..sinks.running.event_pump import LoopStream, apart
from ..sources.recognition.apis import form_of
from .answer import Answer
from .async_run import AsyncRun

if TYPE_CHECKING:
    from .pipeline import Pipeline

Ask: TypeAlias = Callable[[list[Any]], Any]
"""Takes the messages of a request, and returns an async SDK's stream, or an awaitable of one."""
OnTurn: TypeAlias = Callable[[list[Any], Answer], Awaitable[object] | object]
"""Takes the messages that a turn has added, and its answer; may be async."""


def turns(
    pipeline: Pipeline,
    ask: Ask,
    api: str,
    *,
    messages: Iterable[Any],
    pending: Answer | None = None,
    steps: Iterable[EventStep] = (),
    on_turn: OnTurn | None = None,
    most: int | None = None,
) -> Turns:
    """Ask the model, act on its calls, and ask again with the results, until its answer expects no reply.

        ask(messages)             ask(messages)
        turn 1  S C E call AnswerEnd result
        turn 2                    S C C E AnswerEnd |
        on_turn                 |                   |

        async for event in turns(pipeline, ask, "anthropic", messages=messages): ...

    >>> from penstock import ChunkResponse, Pipeline, ToolCallDelta, call_tools
    >>> def double(n: int) -> int:
    ...     return 2 * n
    >>> def ask(messages):  # in your program, a request of an async SDK with stream=True
    ...     if len(messages) == 1:
    ...         calls = (ToolCallDelta(0, "call_1", "double", '{"n": 21}', done=True),)
    ...         return [ChunkResponse(tool_calls=calls, finish_reason="tool_calls")]
    ...     return [ChunkResponse(content=f"It is {messages[-1]['content']}.", finish_reason="stop")]
    >>> pipeline = Pipeline(tools=[double], steps=[call_tools([double])])
    >>> agent = turns(pipeline, ask, "openai-chat", messages=[{"role": "user", "content": "Twice 21?"}])
    >>> for event in agent.blocking():
    ...     pass
    >>> agent.answer.text, len(agent.messages)
    ('It is 42.', 4)

    - `pipeline`: has the strategy, the tools, and in `steps` what runs the calls. `api`: as in `Answer.to_messages`.
    - `steps`: more steps for this stream alone, behind those of the pipeline.
    - `ask`: gets the messages so far and returns the stream, as `Pipeline.astream` takes it; may be async.
    - `messages`: those of the first request. They are copied; `Turns.messages` has them and what each turn adds.
    - `pending`: the last answer of a conversation, some calls of which wait for approval. The steps get these calls
      first, before the model is asked.
    - `on_turn`: called once at the end of each turn, also of one that was stopped, with the messages that it added and
      its answer. The stream goes on when it has returned.
    - `most`: how many turns there may be; the default is no limit. At the limit a Notice `too_many_turns` ends the
      stream.

    However it ends, `messages` can be sent: what was cut is in the form that the API takes, and a call without a result
    has an error that says why. A call that is `Postponed` ends the stream; keep the events or the answer, and pass it
    as `pending` later. `UsageError` for tools without a step, and for wrong arguments; else raises what
    `Pipeline.astream` raises.
    """
    form_of(api)
    if not pipeline.keeps_answer:
        message = "turns(...) makes the messages from the answers; make the Pipeline with keep_answer=True"
        raise UsageError(message)
    own_steps = checked_steps(steps)
    if pipeline.tools and not (pipeline.steps or own_steps):
        message = "turns(...) runs the calls by steps; pass steps=[call_tools(tools)] here, or to the Pipeline"
        raise UsageError(message)
    if not callable(ask):
        message = f"ask must be a function from messages to a stream, got {ask!r:.80}"
        raise UsageError(message)
    if not isinstance(cast("object", pending), Answer | None):
        message = f"pending= must be an Answer, such as Answer([*stored_events(path)]), or None; got {pending!r:.80}"
        raise UsageError(message)
    if not (on_turn is None or callable(on_turn)):
        message = f"on_turn= must be a function of the messages and the answer of a turn, or None; got {on_turn!r:.80}"
        raise UsageError(message)
    if most is not None and (type(most) is not int or most < 1):
        message = f"most= must be at least 1 or None, got {most!r}"
        raise UsageError(message)
    if isinstance(messages, str | bytes | dict) or not isinstance(cast("object", messages), Iterable):
        message = f"messages= must be a list of the API's messages, got {messages!r:.80}"
        raise UsageError(message)
    return Turns(_Conversation(pipeline, ask, api, [*messages], pending, own_steps, on_turn, most))


class Turns(LoopStream[Any]):
    """The events of several turns, for one loop; `turns` makes it.

    It is read, left and cancelled as an `AsyncRun` is.
    """

    _instead = ", or loop over turns(...).blocking()"

    def __init__(self, conversation: _Conversation) -> None:
        # The generator does not refer to this object, so that the loop closes it when this is garbage-collected.
        super().__init__(_events(conversation), None)
        self._conversation = conversation

    @property
    def messages(self) -> list[Any]:
        """The messages so far; between the turns and at the end they can be sent."""
        return self._conversation.messages

    @property
    def answer(self) -> Answer | None:
        """The answer of the last turn that has ended; None before."""
        return self._conversation.answer

    @property
    def has_waiting(self) -> bool:
        """Whether the next event is there without waiting."""
        run = self._conversation.run
        return run is not None and run.has_waiting

    def cancel(self, reason: str = "cancelled") -> None:
        """Stop in order: open segments end as `interrupted`, tools are cancelled, and no further turn begins.

        Call it from any thread.
        """
        self._conversation.cancel(reason)

    def blocking(self) -> Iterator[Any]:
        """Yield the events in a plain loop; they are read in an event loop of their own.

        Only what waits for an event lets the tools go on. `UsageError` where an event loop is running.
        """
        if loop_here() is not None:
            message = "an event loop is running here; use `async for` over turns(...)"
            raise UsageError(message)
        return self._read_blocking()

    def _read_blocking(self) -> Iterator[Any]:
        with asyncio.Runner() as runner:
            try:
                while True:
                    try:
                        event = runner.run(_next(self))
                    except StopAsyncIteration:
                        return
                    yield event
            finally:
                runner.run(self.aclose())


async def _next(events: AsyncIterator[Any]) -> Any:
    return await anext(events)


@dataclass
class _Conversation:
    """The messages of several turns, and the run of the one that goes on."""

    pipeline: Pipeline
    ask: Ask
    api: str
    messages: list[Any]
    pending: Answer | None
    steps: tuple[EventStep, ...]
    on_turn: OnTurn | None
    most: int | None
    count: int = 0
    run: AsyncRun | None = None
    answer: Answer | None = None
    reason: str | None = None
    """Why it was cancelled, if it was."""

    def cancel(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason
        if self.run is not None:
            self.run.cancel(reason)

    def begin(self) -> AsyncRun:
        """Start the next turn: with the open calls of the pending answer, else with a request."""
        if self.pending is not None:
            still_open = {*self.pending.unanswered}
            calls = [replace(each, claimed_by=None) for each in self.pending.invocations if each.id in still_open]
            self.run = self.pipeline.act(calls, steps=self.steps)
        else:
            self.count += 1
            own = self.pipeline.turn_id
            turn_id = own if own is None or self.count == 1 else f"{own}#{self.count}"
            self.run = self.pipeline.astream(partial(self.ask, self.messages), turn_id=turn_id, steps=self.steps)
        if self.reason is not None:  # cancelled from another thread meanwhile
            self.run.cancel(self.reason)
        return self.run

    async def end(self, run: AsyncRun, results: list[ToolResult], error: BaseException | None) -> bool:
        """Add the messages of the turn that has ended; return whether another one follows.

        `results`: those of a pending answer's calls; any other answer has its own.
        """
        answer = run.answer if self.pending is None else self.pending
        unanswered = answer.unanswered
        if self.pending is not None:
            waiting = answer.to_messages(self.api, _refused(unanswered, _WAITS))
            so_far = self.messages[-len(waiting) :]
            # A process that died since then may have left some of the results.
            if len(so_far) == len(waiting) and all(map(_is_same_or_waits, so_far, waiting)):
                del self.messages[-len(waiting) :]
        answered = {each.id for each in results}
        still_open = [each for each in unanswered if each not in answered]
        added = answer.to_messages(self.api, [*results, *_refused(still_open, self._why(error))])
        self.messages += added
        self.answer, self.pending, self.run = answer, None, None
        if self.on_turn is not None and inspect.isawaitable(told := self.on_turn(added, answer)):
            task = apart(told)
            await asyncio.wait({task})
            task.result()
        return answer.expects_reply and not still_open and error is None and self.reason is None

    def _why(self, error: BaseException | None) -> str:
        """Return why a call has no result, for the model."""
        if self.reason is not None:
            return f"the call was cancelled: {self.reason}"
        if error is None:
            return _WAITS
        return "the call was cancelled: the answer " + ("failed" if isinstance(error, Exception) else "was left")


_WAITS = "the call was not run: it waits for approval"


def _is_same_or_waits(message: Any, new: Any) -> bool:
    return message == new or _WAITS in repr(message)


def _refused(calls: Iterable[str], why: str) -> list[ToolResult]:
    return [ToolResult(each, error=why) for each in calls]


async def _events(state: _Conversation) -> AsyncGenerator[Any, None]:
    goes_on = True
    while goes_on and state.reason is None:
        if state.count == state.most:
            yield Notice("too_many_turns", f"the model wants another turn after {state.most}, the most of this stream")
            return
        run = state.begin()
        is_pending = state.pending is not None
        results: list[ToolResult] = []
        error: BaseException | None = None
        try:
            async for event in run:
                if is_pending and isinstance(event, ToolInvocation):
                    continue  # the reader has it already
                if is_pending and isinstance(event, ToolResult):
                    results.append(event)
                yield event
        except BaseException as raised:
            error = raised
            raise
        finally:
            await run.aclose()
            goes_on = await state.end(run, results, error)
