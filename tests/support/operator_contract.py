"""What every operator promises, whatever it does: inputs to ask one about, and the ways to run one.

The operators stand in `CONTRACT` of their own test files; `contract_cases.py` finds them.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import reactivex
from reactivex import Observable, abc
from reactivex import operators as rx
from reactivex.disposable import Disposable
from reactivex.subject import Subject

from penstock.events.answer_end import AnswerEnd
from penstock.events.chunk_response import ChunkResponse, ProviderEvent, TokenUsage, ToolCallDelta
from penstock.events.segment_event import SegmentEvent, SegmentStart
from penstock.events.tool_invocation import InvocationFailed, ToolInvocation
from penstock.operators.engine.drive import adrive, drive
from penstock.operators.engine.stage import Failed, How, Operator, lift, stage
from penstock.operators.parse_text import parse_text
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_segments import to_segments

TURN = "turn"


class Case(NamedTuple):
    """An operator with inputs to ask it about: whole ones, and ones that end in the middle of something."""

    name: str
    operator: Operator[Any, Any]
    inputs: tuple[tuple[Any, ...], ...]


def call(
    index: int, call_id: str | None, name: str | None, *texts: str, done: bool = False
) -> tuple[ChunkResponse, ...]:
    """Return the chunks of one call, a chunk for each text."""
    first = ToolCallDelta(index, call_id, name, texts[0] if texts else "")
    rest = [ToolCallDelta(index, arguments_delta=text) for text in texts[1:]]
    deltas = [first, *rest]
    if done:
        deltas[-1] = msgspec.structs.replace(deltas[-1], done=True)
    return tuple(ChunkResponse(tool_calls=(delta,)) for delta in deltas)


def _update(index: int, text: str, **others: Any) -> ToolCallDelta:
    return ToolCallDelta(index, arguments_delta=text, **others)


STOP = (ChunkResponse(finish_reason="tool_calls", is_complete=True),)

TALK = (
    ChunkResponse(reasoning="Let me "),
    ChunkResponse(reasoning="think", content="He"),
    ChunkResponse(content="llo 🔧"),
    ChunkResponse(refusal="I will not", choice=1),
    ChunkResponse(image_urls=("https://a/b.png",)),
    ChunkResponse(native={"signature": "s"}),
    ChunkResponse(content="bye", finish_reason="length"),
)
"""Everything but calls, two choices among it."""

WRITING = (
    *call(
        0,
        "call_1",
        "write_file",
        '{"con',
        'tent": "a\\',
        "n\\ud83d",
        '\\ude00", "meta": {"content": [1e3, ',
        'null]}, "pa',
        'th": "é.py"}',
    ),
    *STOP,
)
"""The path comes last, escapes are cut, a key inside looks like a streamed one."""

SIDE_BY_SIDE = (
    ChunkResponse(content="Two files:"),
    ChunkResponse(tool_calls=(ToolCallDelta(0, "a", "write_file", '{"path": "a.py", "content": "x'),)),
    ChunkResponse(tool_calls=(ToolCallDelta(1, "b", "run_bash", '{"command": "l'), _update(0, " = 1\\"))),
    ChunkResponse(tool_calls=(_update(1, 's", "timeout_seconds": 12'), _update(0, 'n"}'))),
    ChunkResponse(tool_calls=(_update(1, "0}", done=True), ToolCallDelta(2, None, "add", '{"a": 1}'))),
    ChunkResponse(
        tool_calls=(ToolCallDelta(3, "c", "free", "raw {", kind="text"), _update(3, " text", kind="text", done=True))
    ),
    ChunkResponse(tool_calls=(ToolCallDelta(4, "a", "add", '{"a": "no number"}', done=True),)),
    *STOP,
)
"""Calls that are open together, made and repeated ids, free-form, whole in one piece."""

TROUBLE = (
    ChunkResponse(tool_calls=(_update(0, '{"a"'),)),
    *call(0, "late", "add", ": 1", "}"),
    *call(1, "bad", "add", '{"a": 01', '}, "b"}', done=True),
    *call(1, "again", "write_file", '{"content": "a", "pa', 'th": "p", "content": "b"}', done=True),
    *call(2, "none", "look_up", "", done=True),
    *call(3, "null", "look_up", "nu", "ll", done=True),
    *call(4, "cut", "write_file", '{"path": "p", "content": "never en', "ded \\u00"),
)
"""A late name, malformed JSON, a repeated key, no arguments, null, and a call that never ends."""

GROUNDED = (
    ChunkResponse(model="m", response_id="r", usage=TokenUsage(9, 0, 9)),
    *call(0, "srv", "search", '{"query": "x"}', done=True),
    ChunkResponse(provider_events=(ProviderEvent("tool_result", {"n": [1]}, "anthropic", segment_id="srv"),)),
    ChunkResponse(content="It is <", raw=({"type": "unknown"},), api="anthropic"),
    ChunkResponse(provider_events=(ProviderEvent("citation", {"url": "u"}, "anthropic"),)),
    ChunkResponse(content="tool_x", choice=1, error={"detail": "moderated"}),
    ChunkResponse(content=" 21 °C", finish_reason="pause", finish_reason_raw="pause_turn"),
    ChunkResponse(usage=TokenUsage(9, 4, 13), message={"role": "assistant"}, api="anthropic"),
)
"""What only a provider has, what is true of the whole response, and an answer that goes on in another turn."""

CHUNKS = (TALK, WRITING, SIDE_BY_SIDE, TROUBLE, GROUNDED, WRITING[:4])

JSON_TEXTS = (
    ('{"a": "h', "i\\", "n\\ud8", '3d\\ude00", "b', '": [1, {"a": tr', "ue}, -1.5e", '3], "content": ""}'),
    tuple('{"content": "x\\u00e9", "n": 12}'),
    ("[1, 2", ", {", '"k": "never en'),
    ('{"a": 01', "}"),
    ('{"content": 1, "content"', ": 2}"),
    ("12",),
)


def _segments(*operators: Operator[Any, Any]) -> tuple[tuple[Any, ...], ...]:
    """Return what segment operators get: whole streams, and one that stops in the middle without an END."""
    whole = tuple(tuple(drive(chunks, *operators)) for chunks in CHUNKS)
    first = stage(*operators)
    cut = tuple(event for chunk in SIDE_BY_SIDE[:4] for event in first.feed(chunk))
    return (*whole, cut)


def read_back(streams: Iterable[Iterable[Any]]) -> tuple[tuple[Any, ...], ...]:
    """Return segments as they are after their JSON form: nobody has parsed their arguments."""
    return tuple(
        tuple(
            msgspec.structs.replace(event, raw="", fragments=None) if isinstance(event, SegmentEvent) else event
            for event in stream
        )
        for stream in streams
    )


TEXT_CALLS = (
    ("Hi <tool", '_call>{"arguments": {"content": "x\\', 'n<"}, "name": "wri', 'te_file"}</tool', "_call> bye"),
    ("<think>Why", "?</think>\n<tool_call><function=f><para", "meter=a>\n1\n", "\n</parameter></function>", "\n"),
    ("<tool_call>{", '"name": "f", "arguments": {bad', "}</tool_call> a <tool_call>{"),
)

TO_SEGMENTS = to_segments(turn_id=TURN)
FROM_CALLS = _segments(TO_SEGMENTS)
FROM_FIELDS = _segments(TO_SEGMENTS, stream_fields())
FROM_TEXT = tuple(tuple(drive(each, parse_text("hermes", "qwen3_coder", turn_id=TURN))) for each in TEXT_CALLS)


class Pass:
    """A stage that passes everything and raises where it is told to."""

    def __init__(self, raise_at: int, error: Exception) -> None:
        self.raise_at = raise_at
        self.error = error
        self.seen = 0

    def feed(self, item: Any) -> list[Any]:
        self.seen += 1
        if self.seen > self.raise_at:
            raise self.error
        return [item]

    def close(self, _how: How) -> list[Any]:
        return []

    def dump(self) -> int:
        return self.seen

    def load(self, state: int) -> None:
        self.seen = state


def raising_after(passes: int, error: Exception) -> Operator[Any, Any]:
    """Return an operator that lets so many items pass and raises at the next."""
    return lift(lambda: Pass(passes, error))


class Outcome(NamedTuple):
    """What somebody got: the events, and how it ended: "completed", an exception, or None where it did not end."""

    events: list[Any]
    end: Any


def observed(flow: Observable[Any]) -> Outcome:
    """Subscribe, and give what came by the time `subscribe` is back."""
    events: list[Any] = []
    ends: list[Any] = []
    flow.subscribe(events.append, ends.append, lambda: ends.append("completed"))
    assert len(ends) <= 1
    return Outcome(events, ends[0] if ends else None)


def erring(items: Iterable[Any], error: Exception | None) -> Iterator[Any]:
    yield from items
    if error is not None:
        raise error


async def aerring(items: Iterable[Any], error: Exception | None) -> AsyncIterator[Any]:
    for item in erring(items, error):
        await asyncio.sleep(0)
        yield item


def by_rx(items: Sequence[Any], error: Exception | None, *operators: Operator[Any, Any]) -> Outcome:
    source = reactivex.from_iterable(items)
    ending = reactivex.empty() if error is None else reactivex.throw(error)
    return observed(reactivex.concat(source, ending).pipe(*operators))


def by_subject(items: Sequence[Any], error: Exception | None, *operators: Operator[Any, Any]) -> Outcome:
    subject: Subject[Any] = Subject()
    events: list[Any] = []
    ends: list[Any] = []
    subject.pipe(*operators).subscribe(events.append, ends.append, lambda: ends.append("completed"))
    for item in items:
        subject.on_next(item)
    if error is None:
        subject.on_completed()
    else:
        subject.on_error(error)
    assert len(ends) == 1
    return Outcome(events, ends[0])


def by_drive(items: Sequence[Any], error: Exception | None, *operators: Operator[Any, Any]) -> Outcome:
    events: list[Any] = []
    try:
        for event in drive(erring(items, error), *operators):
            events.append(event)  # noqa: PERF402 - what came before the exception counts
    except Exception as raised:  # noqa: BLE001 - it is what the tests compare
        return Outcome(events, raised)
    return Outcome(events, "completed")


def by_adrive(items: Sequence[Any], error: Exception | None, *operators: Operator[Any, Any]) -> Outcome:
    async def run() -> Outcome:
        events: list[Any] = []
        try:
            async for event in adrive(aerring(items, error), *operators):
                events.append(event)  # noqa: PERF401 - what came before the exception counts
        except Exception as raised:  # noqa: BLE001 - it is what the tests compare
            return Outcome(events, raised)
        return Outcome(events, "completed")

    return asyncio.run(run())


def by_step(items: Sequence[Any], error: Exception | None, *operators: Operator[Any, Any]) -> Outcome:
    chain = stage(*operators)
    events: list[Any] = []
    try:
        for item in items:
            events += chain.feed(item)
        events += chain.close() if error is None else chain.close(Failed(error))
    except Exception as raised:  # noqa: BLE001 - it is what the tests compare
        return Outcome([*events, *chain.last_words], raised)
    return Outcome(events, "completed" if error is None else error)


Run = Callable[..., Outcome]
RUNS: dict[str, Run] = {"Rx": by_rx, "Subject": by_subject, "drive": by_drive, "adrive": by_adrive, "step": by_step}


def by_hops(items: Sequence[Any], error: Exception | None, *operators: Operator[Any, Any]) -> Outcome:
    """Run each operator as an Rx hop of its own, each with an error handler of the library's only."""
    flow: Observable[Any] = by_source(items, error)
    for operator in operators:
        flow = flow.pipe(operator)
    return observed(flow)


def by_source(items: Sequence[Any], error: Exception | None) -> Observable[Any]:
    return reactivex.concat(
        reactivex.from_iterable(items), reactivex.empty() if error is None else reactivex.throw(error)
    )


class Source:
    """A hot source that knows whether somebody listens."""

    def __init__(self) -> None:
        self.subject: Subject[Any] = Subject()
        self.listeners = 0

    def observable(self) -> Observable[Any]:
        def subscribe(
            observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            self.listeners += 1
            subscription = self.subject.subscribe(observer, scheduler=scheduler)

            def leave() -> None:
                self.listeners -= 1
                subscription.dispose()

            return Disposable(leave)

        return Observable(subscribe)


def taken(items: Sequence[Any], operator: Operator[Any, Any], number: int) -> Outcome:
    return observed(reactivex.from_iterable(items).pipe(operator, rx.take(number)))


def taken_by_drive(items: Sequence[Any], operator: Operator[Any, Any], number: int) -> list[Any]:
    return list(islice(drive(items, operator), number))


def frozen(chain: Any) -> bytes:
    """Return the state of a chain as it would lie in a database."""
    return msgspec.json.encode(chain.dump())


def thawed(operator: Operator[Any, Any], state: bytes) -> Any:
    chain = stage(operator)
    chain.load(msgspec.json.decode(state))
    return chain


def rest_of_run(operator: Operator[Any, Any], state: bytes, items: Iterable[Any]) -> list[list[Any]]:
    """Return what a thawed chain gives for each further item, and at the close."""
    chain = thawed(operator, state)
    return [*(chain.feed(item) for item in items), chain.close()]


class Worker:
    """Another process, kept for many questions, which thaws chains and runs them on."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("frozen_worker.py"))],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},  # a test file's own models are imported there
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def rests(self, operator: Operator[Any, Any], tails: list[tuple[bytes, Sequence[Any]]]) -> Any:
        """Return, for each state and the items after it, the rest of the run there."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        pickle.dump((operator, tails), self.process.stdin)
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)

    def close(self) -> None:
        self.process.communicate(timeout=60)


def wrong_segments(events: Iterable[Any]) -> list[str]:
    """Say what breaks the grammar of segments: an END without START, CONTENT outside, an id open twice, no END."""
    wrong: list[str] = []
    open_ids: set[str] = set()
    for event in events:
        if not isinstance(event, SegmentEvent):
            continue
        is_open = event.segment_id in open_ids
        if event.type == "SEGMENT_START":
            if is_open:
                wrong.append(f"{event.segment_id} started twice")
            open_ids.add(event.segment_id)
        elif not is_open:
            wrong.append(f"{event.type} of {event.segment_id} while it is not open")
        elif event.type == "SEGMENT_END":
            open_ids.discard(event.segment_id)
    return [*wrong, *(f"{segment_id} has no END" for segment_id in sorted(open_ids))]


def wrong_answers(events: Iterable[Any]) -> list[str]:
    """Say what breaks the grammar of answers: an answer without its end, with two, or with something behind it."""
    wrong: list[str] = []
    answers: dict[tuple[str | None, str], tuple[str | None, int]] = {}
    begun: set[tuple[str | None, int]] = set()
    ended: set[tuple[str | None, int]] = set()
    for event in events:
        if isinstance(event, AnswerEnd | ProviderEvent):
            answer = event.turn_id, event.choice
        elif isinstance(event, SegmentEvent):
            if isinstance(event, SegmentStart):
                answers[event.turn_id, event.segment_id] = event.turn_id, event.metadata.get("choice", 0)
            answer = answers[event.turn_id, event.segment_id]
        elif isinstance(event, ToolInvocation | InvocationFailed) and (event.turn_id, event.id) in answers:
            answer = answers[event.turn_id, event.id]
        else:
            continue
        begun.add(answer)
        if answer in ended:
            wrong.append(f"{type(event).__name__} after the end of {answer}")
        if isinstance(event, AnswerEnd):
            ended.add(answer)
    return [*wrong, *(f"{answer} has no end" for answer in sorted(begun - ended, key=str))]
