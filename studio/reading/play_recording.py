"""`Player`: replay what a file holds, at a pace; and each event in one line, of the kinds that a command shows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Literal, TypeAlias

from ...events.answer_end import AnswerEnd, Output, OutputFailed
from ...events.chunk_response import ChunkResponse, ProviderEvent, ToolCallDelta
from ...events.errors import ProviderError, UsageError
from ...events.json_form import to_dict
from ...events.segment_event import AnySegmentEvent, Path, SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from ...events.tool_invocation import InvocationFailed, Notice, ToolCallArgumentProgress, ToolCallUpdate, ToolInvocation
from ...operators.argument_progress import argument_progress
from ...operators.engine.stage import Completed, Failed, How, Interrupted, Operator, StageChain, StreamStopped, stage
from ...operators.tool_call_updates import tool_call_updates
from ...pipeline.pipeline import Pipeline
from ...pipeline.strategies import strategy_named
from ...sinks.parts.event_words import event_line, printable, shortened
from ...sources.from_stream import decode_sdk
from ...sources.from_wire import decode_wire
from ...sources.recordings.from_recording import recut
from ...sources.recordings.read_recording import TimedItem
from .recorded import Recorded

Emit: TypeAlias = Literal["deltas", "fragments", "segments", "updates", "invocations"]
EmitEvents: TypeAlias = Literal["fragments", "segments", "updates", "invocations"]
"""The kinds that can be made from stored events, which have no deltas."""

_KINDS: dict[Emit, tuple[type, ...]] = {
    "deltas": (ChunkResponse,),
    "fragments": (ToolCallArgumentProgress,),
    "segments": (SegmentEvent,),
    "updates": (ToolCallUpdate,),
    "invocations": (ToolInvocation, InvocationFailed),
}
_MADE_BEHIND: dict[Emit | None, Callable[[], Operator[Any, Any]]] = {
    "fragments": argument_progress,
    "updates": tool_call_updates,
}


def made_behind(emit: Emit | None) -> list[Operator[Any, Any]]:
    """Return the operators that make events of a kind from a strategy's events; empty if the strategy emits them.

    >>> made_behind("updates"), made_behind("segments")
    ([tool_call_updates()], [])
    """
    return [_MADE_BEHIND[emit]()] if emit in _MADE_BEHIND else []


def only(events: Any, emit: Emit | None) -> Generator[Any, None, None]:
    """Yield the events of a kind, or all of them for None; close their source at the end.

    >>> from penstock import Notice, SegmentContent
    >>> list(only((each for each in (Notice("c", "d"), SegmentContent("t", "text", "Hi"))), "segments"))
    [SegmentContent(segment_id='t', segment_type='text', delta='Hi')]
    """
    kinds = (object,) if emit is None else _KINDS[emit]
    with closing(events):
        yield from (event for event in events if isinstance(event, kinds))


LONGEST = 100
"""The most characters shown of a text; `--json` shows all of them."""


def short_line(event: Any) -> str:
    """Return an event in one line, escaped for a terminal; long texts are truncated.

    >>> short_line(SegmentContent("call_1", "write_file", "x = 1"))
    "CONTENT write_file call_1 'x = 1'"
    >>> short_line(AnswerEnd(status="truncated", finish_reason="length", model="m"))
    'ANSWER truncated finish=length model=m'
    >>> short_line(ToolInvocation("call_1", name="add", arguments={"a": 1}))
    '→ add(a=1)'
    """
    match event:
        case ChunkResponse():
            words = _chunk(event)
        case SegmentStart() | SegmentContent() | SegmentEnd():
            words = _segment(event)
        case ToolCallArgumentProgress(tool_call_id=call_id, tool_name=name, fragment=fragment):
            value = [] if fragment.value is None and fragment.kind != "SCALAR" else [_text(fragment.value)]
            words = [name, call_id, _path(fragment.path), fragment.kind, *value]
        case ToolCallUpdate():
            end = [event.status or "complete"] if event.is_complete else [_text(event.arguments)]
            words = [event.tool_name, event.tool_call_id, *end]
        case ToolInvocation() | InvocationFailed() | Notice() | Output() | OutputFailed():
            return event_line(event)
        case AnswerEnd():
            words = ["ANSWER", *_answer(event)]
        case ProviderEvent():
            words = ["PROVIDER", event.kind, *([event.segment_id] if event.segment_id else []), _text(event.data)]
        case _:
            words = [_text(to_dict(event))]
    return printable(" ".join(words))


def _segment(event: AnySegmentEvent) -> list[str]:
    words = [event.type.removeprefix("SEGMENT_"), event.segment_type or "-", event.segment_id]
    if isinstance(event, SegmentContent):
        return [*words, _text(event.delta)]
    if isinstance(event, SegmentEnd):
        words += [word for word in (event.status, event.reason) if word]
    return [*words, *(f"{key}={_text(value)}" for key, value in event.metadata.items())]


def _chunk(chunk: ChunkResponse) -> list[str]:
    texts = {"reasoning": chunk.reasoning, "content": chunk.content, "refusal": chunk.refusal}
    words = [f"choice={chunk.choice}"] if chunk.choice else []
    words += [f"{name}={_text(text)}" for name, text in texts.items() if text]
    words += [_call(call) for call in chunk.tool_calls]
    urls = (*chunk.image_urls, *chunk.audio_urls, *chunk.video_urls)
    words += [f"media={shortened(url, LONGEST)}" for url in urls]
    words += _outcome(chunk)
    words += [f"{each.kind}={_text(each.data)}" for each in chunk.provider_events]
    words += [f"raw={_text(each)}" for each in chunk.raw]
    words += [f"{each.code}={_text(each.detail)}" for each in chunk.notices]
    words += [f"interrupted={_text(chunk.interrupted)}"] if chunk.interrupted is not None else []
    return words or ["-"]


def _answer(end: AnswerEnd) -> list[str]:
    choice = [f"choice={end.choice}"] if end.choice else []
    model = [f"model={end.model}"] if end.model else []
    return [*choice, end.status, *_outcome(end), *model]


def _outcome(event: ChunkResponse | AnswerEnd) -> list[str]:
    words = [f"finish={event.finish_reason}"] if event.finish_reason is not None else []
    if event.usage is not None:
        words.append(f"tokens={event.usage.prompt}+{event.usage.completion}")
    if event.error is not None:
        words.append(f"error={_text(event.error)}")
    return words


def _call(call: ToolCallDelta) -> str:
    words = [f"call {call.index}"]
    words += [word for word in (call.name, call.call_id) if word]
    words += [_text(call.arguments_delta)] if call.arguments_delta else []
    words += ["done"] if call.done else []
    return f"[{' '.join(words)}]"


def _path(path: Path) -> str:
    """Return a path in readable form, with `$` for the root."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def _text(value: object) -> str:
    return shortened(repr(value), LONGEST)


LONGEST_WAIT = 86400.0
"""The seconds of one wait; the system cannot wait a million years at once."""


class Player:
    """Replays what a file holds once; `stop` ends it in order, even while it waits for the next item.

    `speed`: 1.0 for the recorded times, 2.0 for twice as fast, None for none. `every`: the seconds before each item
    instead. `chunk`: the bytes of an item, by default as recorded; `UsageError` where no bytes were recorded.
    """

    def __init__(
        self, recorded: Recorded, *, speed: float | None = None, every: float = 0.0, chunk: int | None = None
    ) -> None:
        self._recorded = recorded
        self._speed = speed
        self._every = every
        self._items: Sequence[TimedItem] = recorded.items if chunk is None else _recut(recorded, chunk)
        self._stops: SimpleQueue[None] = SimpleQueue()
        """Not an `Event`, whose `set` in a signal handler may wait for the lock of the `wait` that it interrupts."""
        self._reason = ""

    def stop(self, reason: str) -> None:
        """End open segments as interrupted; may be called in a signal handler."""
        self._reason = reason
        self._stops.put(None)

    def play(self, strategy: str, emit: Emit | None = None) -> Generator[Any, None, None]:
        """Return the strategy's events, or those of one kind; "deltas" are the chunks that the strategy gets."""
        operators = self._operators(strategy, emit)
        return only(self._through(stage(*operators)) if operators else self._paced(), emit)

    def _operators(self, strategy: str, emit: Emit | None) -> list[Operator[Any, Any]]:
        operators: list[Operator[Any, Any]] = decoders(self._recorded)
        if emit != "deltas" and (operators or isinstance(self._recorded.items[0].item, ChunkResponse)):
            operators.append(Pipeline(strategy_named(strategy)).operator)  # with the options of the environment
        return [*operators, *made_behind(emit)]

    def _through(self, chain: StageChain[Any, Any]) -> Generator[Any, None, None]:
        how: How = Completed()
        try:
            for item in self._paced():
                yield from chain.feed(item)
            error = self._recorded.error
            if not self._stops.empty():
                how = Interrupted(self._reason)
            elif error is not None:
                how = Failed(error)
            yield from chain.close(how)
        except StreamStopped as stop:
            yield from (*stop.events, *chain.close(Interrupted(stop.reason)))
            return
        except ProviderError:
            yield from chain.last_words
            raise
        if isinstance(how, Failed):
            raise how.error

    def _paced(self) -> Generator[Any, None, None]:
        begun = monotonic()
        for number, (at, item) in enumerate(self._items, 1):
            if self._is_stopped_by(begun, at, number):
                return
            yield item
        self._is_stopped_by(begun, self._recorded.ends_at, len(self._items))

    def _is_stopped_by(self, begun: float, at: float, number: int) -> bool:
        due = at / self._speed if self._speed is not None else number * self._every
        # By the clock, so that what one wait takes too long the next ones make up for.
        while due and begun + due - monotonic() > LONGEST_WAIT:
            if self._is_stopped_within(LONGEST_WAIT):
                return True
        return self._is_stopped_within(max(0.0, begun + due - monotonic()) if due else 0.0)

    def _is_stopped_within(self, seconds: float) -> bool:
        if not seconds:
            return not self._stops.empty()
        try:
            self._stops.get(timeout=seconds)
        except Empty:
            return False
        self._stops.put(None)
        return True


def decoders(recorded: Recorded) -> list[Operator[Any, Any]]:
    """Return the operator that makes ChunkResponses of a file's items, of all choices; none for stored events."""
    match recorded.kind:
        case "wire":
            return [decode_wire(recorded.api or "", choices="all")]
        case "items":
            return [decode_sdk(recorded.api, choices="all")]
        case "events":
            return []


def _recut(recorded: Recorded, chunk: int) -> list[TimedItem]:
    if recorded.kind != "wire":
        message = "--chunk cuts bytes, and this file has none; leave it out"
        raise UsageError(message)
    return recut(recorded.items, chunk)
