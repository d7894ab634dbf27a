"""`call_tools(ledger=...)`: what becomes of a call, and what a worker says of one that it meets again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Annotated, Any, NamedTuple

import pytest
import virtual_time
from looped import looped
from pydantic import Field
from simulated_workers import LEASE, MemoryLedger

from penstock.events import (
    ChunkResponse,
    Notice,
    ToolCallDelta,
    ToolCallStatus,
    ToolInvocation,
    ToolResult,
    UsageError,
)
from penstock.events.chunk_response import FinishReason
from penstock.pipeline import Answer, CallKey, Pipeline, call_tools, tool, turns
from penstock.scale import LedgerUnavailableError, SqliteLedger, call_key
from penstock.sinks import Denied, Postponed
from penstock.sinks.acting.ledger import LARGEST_OUTCOME, Change, LedgerEntry

TURN = "turn"
KEY = call_key(TURN, "call_0")
UNKNOWN = "it is unknown whether this call did its work, so it is not run again: "
AWAY = "the call was not run: the ledger that keeps it from running twice cannot be reached"


def chunks(
    name: str = "act", arguments: str = "{}", *, pieces: int = 1, reason: FinishReason = "tool_calls"
) -> list[ChunkResponse]:
    size = -(-len(arguments) // pieces)
    parts = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    deltas = [
        ToolCallDelta(0, "call_0" if not number else None, name if not number else None, part, done=part is parts[-1])
        for number, part in enumerate(parts)
    ]
    return [
        *(ChunkResponse(tool_calls=(delta,)) for delta in deltas),
        ChunkResponse(finish_reason=reason, is_complete=True),
    ]


class Ran(NamedTuple):
    events: list[Any]
    ledger: MemoryLedger

    @property
    def result(self) -> ToolResult:
        (found,) = [event for event in self.events if isinstance(event, ToolResult)]
        return found

    @property
    def states(self) -> list[str]:
        return [event.state for event in self.events if isinstance(event, ToolCallStatus)]

    @property
    def notices(self) -> list[str]:
        return [event.code for event in self.events if isinstance(event, Notice)]

    @property
    def entry(self) -> LedgerEntry:
        return self.ledger.entries[KEY]


async def read(
    tools: list[Any], answer: Any, ledger: Any, until: Callable[[Any, Any], None] | None = None, **options: Any
) -> Ran:
    """Read an answer; `until` is asked with each event and the run."""
    events: list[Any] = []
    run = Pipeline(tools=tools, steps=[call_tools(tools, ledger=ledger, **options)], turn_id=TURN).astream(answer)
    async with run:
        async for event in run:
            events.append(event)
            if until is not None:
                until(event, run)
    return Ran(events, ledger)


def ran(tools: list[Any], answer: Any, ledger: Any = None, until: Any = None, **options: Any) -> Ran:
    return virtual_time.run(read(tools, answer, ledger or MemoryLedger(), until, **options))


def act_that(behave: Callable[[], Coroutine[Any, Any, Any]], **options: Any) -> Any:
    async def act() -> Any:
        return await behave()

    return tool(act, **options)


async def returns() -> dict[str, int]:
    return {"n": 1}


async def raises() -> None:
    message = "no such city"
    raise LookupError(message)


async def exits() -> None:
    raise SystemExit(3)


async def cancels_itself() -> None:
    raise asyncio.CancelledError


async def returns_no_json() -> object:
    return object()


async def hangs() -> None:
    await asyncio.sleep(1e9)


async def returns_much() -> str:
    return "x" * LARGEST_OUTCOME


async def never_runs() -> None:
    pytest.fail("it ran")


async def yes(_: object) -> bool:
    return True


@looped(
    "behave, live, kept",
    [
        (returns, {"value": {"n": 1}}, {"value": {"n": 1}}),
        (raises, {"error": "LookupError: no such city"}, {"error": "LookupError: no such city"}),
        (exits, {"error": "SystemExit: 3"}, {"error": "SystemExit: 3"}),
        (cancels_itself, {"error": "CancelledError"}, {"error": "CancelledError"}),
        (returns_no_json, {"error": None}, {"error": None}),
        (
            returns_much,
            {"value": "x" * LARGEST_OUTCOME},
            {"error": "the tool answered, but the ledger keeps no result of 1,048,667 characters"},
        ),
    ],
)
def test_what_a_tool_answers_is_kept_and_given_again_without_running(behave, live, kept):
    first = ran([act_that(behave)], chunks())
    assert first.entry.state == "done"
    again = ran([act_that(never_runs)], chunks(), first.ledger)
    for found, expected in ((first.result, live), (again.result, kept)):
        said = {key: getattr(found, key) for key in expected}
        assert said == expected or (expected == {"error": None} and "cannot be written as JSON" in str(said["error"]))
        assert (found.id, found.turn_id) == ("call_0", TURN)
    assert first.states == ["started", "finished" if first.result.error is None else "failed"]
    assert (again.states, again.notices) == ([], [])


def cancelled_when(state: str) -> Callable[[Any, Any], None]:
    def until(event: Any, run: Any) -> None:
        if isinstance(event, ToolCallStatus) and event.state == state:
            run.cancel("stop")

    return until


class LeftError(Exception):
    pass


def left_when(state: str) -> Callable[[Any, Any], None]:
    def until(event: Any, run: Any) -> None:
        if isinstance(event, ToolCallStatus) and event.state == state:
            raise LeftError

    return until


async def ctrl_c() -> None:
    raise KeyboardInterrupt


@looped(
    "behave, until, options, reason",
    [
        (hangs, None, {"timeout": 5}, "the tool did not answer within 5 seconds"),
        (hangs, cancelled_when("started"), {}, "the call was cancelled while it ran"),
        (hangs, left_when("started"), {}, "the call was cancelled while it ran"),
        (ctrl_c, None, {}, "the call was interrupted: KeyboardInterrupt"),
    ],
)
def test_what_was_broken_off_is_unknown_and_told_and_not_run_again(behave, until, options, reason):
    ledger = MemoryLedger()
    with suppress(LeftError, KeyboardInterrupt):
        ran([act_that(behave)], chunks(), ledger, until, **options)
    again = ran([act_that(never_runs)], chunks(), ledger)
    assert (again.entry.state, again.entry.reason) == ("unknown", reason)
    assert again.result.error == UNKNOWN + reason
    assert (again.states, again.notices) == (["failed"], ["unknown_call"])
    (notice,) = [event for event in again.events if isinstance(event, Notice)]
    assert KEY in notice.detail


def test_a_thread_that_is_too_slow_is_unknown():
    from threading import Event  # noqa: PLC0415

    held, ledger = Event(), MemoryLedger()

    def act() -> None:
        held.wait(60)

    found = asyncio.run(read([act], chunks(), ledger, timeout=0.01))
    held.set()
    assert found.result.error == "the tool did not answer within 0.01 seconds"
    assert found.entry.state == "unknown"


def test_a_call_that_another_step_answers_while_it_runs_is_unknown():
    ledger = MemoryLedger()

    async def events() -> AsyncIterator[Any]:
        yield ToolInvocation("call_0", TURN, "act")
        await asyncio.sleep(1)
        yield ToolResult("call_0", turn_id=TURN, value="own")

    async def main() -> None:
        async for _ in call_tools([act_that(hangs)], ledger=ledger)(events()):
            pass

    virtual_time.run(main())
    assert ledger.entries[KEY].state == "unknown"


@looped(
    "answer, until, state",
    [
        (False, None, "done"),
        (Denied("not on Fridays"), None, "done"),
        (Postponed(), None, "intended"),
        ("nonsense", None, "intended"),
        (LookupError(), None, "intended"),
        (None, cancelled_when("requested"), "intended"),
        (None, left_when("requested"), "intended"),
    ],
)
def test_a_call_that_was_not_approved_may_be_asked_for_again_but_a_denied_one(answer, until, state):
    async def approve(_: object) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return await hangs() if answer is None else answer

    ledger = MemoryLedger()
    with suppress(LeftError):
        ran([act_that(never_runs)], chunks(), ledger, until, approve=approve)
    assert ledger.entries[KEY].state == state
    again = ran([act_that(returns)], chunks(), ledger, approve=yes)
    if state == "done":
        assert again.result.denied == ("the user said no" if answer is False else "not on Fridays")
        assert again.states == []
    else:
        assert again.result.value == {"n": 1}
        assert again.states == ["requested", "approved", "started", "finished"]


def test_a_denial_that_nobody_gave_in_time_is_kept_too():
    ledger = MemoryLedger()
    late = ran([act_that(never_runs)], chunks(), ledger, approve=lambda _: hangs(), approval_timeout=3)
    assert late.result.denied == "nobody answered within 3 seconds"
    assert ran([act_that(never_runs)], chunks(), ledger, approve=yes).result.denied == late.result.denied


def test_a_call_that_waits_for_its_turn_stays_intended():
    ledger = MemoryLedger()
    calls = tuple(ToolCallDelta(index, f"call_{index}", "act", "{}", done=True) for index in (1, 0))
    answer = [ChunkResponse(tool_calls=(call,)) for call in calls]
    ran([act_that(hangs)], answer, ledger, cancelled_when("started"), concurrency=1)
    assert ledger.entries[call_key(TURN, "call_1")].state == "unknown"
    assert ledger.entries[KEY].state == "intended"


def test_an_idempotent_tool_runs_again_with_the_same_key():
    keys: list[CallKey] = []

    async def act(key: CallKey) -> str:
        keys.append(key)
        if len(keys) == 1:
            await hangs()
        return "charged"

    ledger = MemoryLedger()
    ran([act], chunks(), ledger, timeout=1)
    assert ran([act], chunks(), ledger).result.error == f"{UNKNOWN}the tool did not answer within 1 seconds"
    again = ran([tool(act, idempotent=True)], chunks(), ledger)
    assert (again.result.value, again.notices) == ("charged", [])
    assert keys == [KEY, KEY]
    assert ran([act], chunks(), ledger).result.value == "charged"


def test_the_same_key_with_other_arguments_is_refused_whatever_became_of_it():
    async def act(n: int) -> int:
        if n == 3:
            await hangs()
        return n

    for number, state in ((1, "done"), (3, "unknown")):
        first = ran([act], chunks(arguments=json.dumps({"n": number})), timeout=1)
        assert first.entry.state == state
        other = ran([act], chunks(arguments='{"n": 2}'), first.ledger)
        assert (
            other.result.error == "a call with the same id and other arguments is in the ledger, so this one is not run"
        )
        assert other.states == ["failed"]
        assert first.ledger.entries[KEY] == first.entry


def test_the_order_of_arguments_and_blanks_make_no_other_call():
    async def act(a: int, b: str) -> str:
        return b * a

    first = ran([act], chunks(arguments='{"a": 2, "b": "x"}'))
    assert ran([act], chunks(arguments='{"b":"x","a":2}'), first.ledger).result == first.result


def test_a_call_without_a_turn_id_is_refused():
    async def events() -> AsyncIterator[Any]:
        yield ToolInvocation("call_0", None, "act")

    async def main() -> list[Any]:
        return [event async for event in call_tools([act_that(never_runs)], ledger=MemoryLedger())(events())]

    assert "has no turn id" in (virtual_time.run(main())[-1].error or "")


class AwayLedger(MemoryLedger):
    """One that does not answer the change with this number, and from then on; `is_done`: but makes the change."""

    def __init__(self, first: int, *, is_done: bool = False, last: int = 99) -> None:
        super().__init__()
        self.first, self.last, self.is_done = first, last, is_done
        self.count = 0

    async def change(self, key: str, change: Change) -> LedgerEntry | None:
        self.count += 1
        is_away = self.first <= self.count <= self.last
        after = await super().change(key, change) if self.is_done or not is_away else None
        if is_away:
            message = "postgresql://me:secret@db cannot be reached"
            raise LedgerUnavailableError(message)
        return after


@looped(
    "first, is_done, state", [(1, False, None), (1, True, "intended"), (2, False, "intended"), (2, True, "started")]
)
def test_without_the_ledger_no_call_runs(caplog: pytest.LogCaptureFixture, first, is_done, state):
    ledger = AwayLedger(first, is_done=is_done)
    found = ran([act_that(never_runs)], chunks(), ledger)
    assert (found.result.error, found.states) == (AWAY, ["failed"])
    assert (ledger.entries[KEY].state if ledger.entries else None) == state
    assert "secret" not in caplog.text


def test_a_result_that_the_ledger_does_not_take_is_given_and_told(caplog: pytest.LogCaptureFixture):
    found = ran([act_that(returns)], chunks(), AwayLedger(3))
    assert (found.result.value, found.states, found.notices) == ({"n": 1}, ["started", "finished"], ["result_not_kept"])
    assert found.entry.state == "started"
    assert "secret" not in caplog.text


def test_a_denial_that_the_ledger_does_not_take_is_a_denial():
    async def approve(_: object) -> bool:
        return False

    found = ran([act_that(never_runs)], chunks(), AwayLedger(2), approve=approve)
    assert (found.result.denied, found.notices, found.entry.state) == (
        "the user said no",
        ["result_not_kept"],
        "intended",
    )


def test_a_call_that_is_cancelled_without_the_ledger_is_unknown_when_its_lease_ends():
    ledger = AwayLedger(3, last=3)
    ran([act_that(hangs)], chunks(), ledger, cancelled_when("started"))
    assert ledger.entries[KEY].state == "started"

    async def later() -> Ran:
        await asyncio.sleep(LEASE + 1)
        return await read([act_that(never_runs)], chunks(), ledger)

    assert "the worker that ran it has died" in (virtual_time.run(later()).result.error or "")


def test_a_second_worker_waits_for_the_result_of_the_first():
    count = 0

    async def slow() -> int:
        nonlocal count
        count += 1
        await asyncio.sleep(3 * LEASE)
        return count

    async def main() -> list[Ran]:
        ledger = MemoryLedger()
        first = asyncio.create_task(read([act_that(slow)], chunks(), ledger))
        await asyncio.sleep(LEASE)
        late = read([act_that(never_runs)], chunks(), ledger, timeout=10)
        return [*(await asyncio.gather(late, read([act_that(never_runs)], chunks(), ledger))), await first]

    late, second, first = virtual_time.run(main())
    assert (first.result.value, second.result) == (1, first.result)
    assert late.result.error == "another worker runs this call, and has not answered within 10 seconds"
    assert (second.states, late.states) == ([], ["failed"])


def test_a_second_worker_runs_the_call_that_the_first_left_before_its_tool_began():
    async def main() -> Ran:
        ledger = MemoryLedger()
        held = asyncio.Event()

        class Slow(MemoryLedger):
            entries = ledger.entries

            def __init__(self) -> None:
                pass

            async def change(self, key: str, change: Change) -> LedgerEntry | None:
                after = await super().change(key, change)
                if after is not None and after.state == "started":
                    held.set()
                    await asyncio.sleep(5)
                return after

        first = asyncio.create_task(read([act_that(never_runs)], chunks(), Slow()))
        await held.wait()
        second = asyncio.create_task(read([act_that(returns)], chunks(), ledger))
        await asyncio.sleep(1)
        assert ledger.entries[KEY].state == "started"
        first.cancel()
        await asyncio.wait({first})
        return await second

    assert virtual_time.run(main()).result.value == {"n": 1}


SAVE = '{"path": "a.txt", "content": "one two three"}'


async def slowly(answer: list[ChunkResponse]) -> AsyncIterator[ChunkResponse]:
    for chunk in answer:
        yield chunk
        await asyncio.sleep(1)


def saving(texts: list[Any]) -> Any:
    async def save(path: str, content: AsyncIterator[str], key: CallKey, mode: str = "w") -> str:
        texts.append(key)
        texts.append("".join([piece async for piece in content]))
        return f"saved {path}"

    return save


def test_a_tool_that_reads_while_the_model_writes_begins_before_the_seal_and_once():
    texts: list[Any] = []
    first = ran([saving(texts)], slowly(chunks("save", SAVE, pieces=4)))
    kinds = [type(event).__name__ for event in first.events if isinstance(event, ToolCallStatus | ToolInvocation)]
    assert kinds == ["ToolCallStatus", "ToolInvocation", "ToolCallStatus"]
    assert (first.result.value, first.entry.state) == ("saved a.txt", "done")
    for answer in (
        slowly(chunks("save", SAVE, pieces=4)),
        slowly(chunks("save", SAVE, pieces=9)),
        chunks("save", SAVE),
    ):
        assert ran([saving(texts)], answer, first.ledger).result == first.result
    assert texts == [KEY, "one two three"]


@looped(
    "arguments",
    [
        '{"path": "a.txt", "content": "one two four"}',
        SAVE.replace('"content', '"mode": "a", "content'),
        SAVE.replace("a.", "b."),
    ],
)
def test_a_call_that_was_read_and_comes_again_with_another_text_is_refused(arguments):
    first = ran([saving([])], slowly(chunks("save", SAVE, pieces=4)))
    again = ran([saving([])], slowly(chunks("save", arguments, pieces=4)), first.ledger)
    assert "other arguments" in (again.result.error or "")


@looped("reason", ["length", "stop"])
def test_a_call_that_is_cut_while_a_tool_reads_it_is_unknown(reason):
    texts: list[Any] = []
    cut = chunks("save", SAVE[:-4], pieces=4, reason=reason)
    first = ran([saving(texts)], slowly([cut[0], cut[1], cut[2], cut[-1]]))
    assert texts == [KEY]
    assert not any(isinstance(event, ToolResult) for event in first.events)
    assert first.entry.state == "unknown"
    assert (first.entry.reason or "").startswith("the call was cut: ")
    again = ran([saving(texts)], slowly(chunks("save", SAVE, pieces=4)), first.ledger)
    assert (again.result.error or "").startswith(f"{UNKNOWN}the call was cut: ")
    assert again.notices == ["unknown_call"]
    assert texts == [KEY]
    whole = ran([tool(saving(texts), idempotent=True)], slowly(chunks("save", SAVE, pieces=4)), first.ledger)
    assert whole.result.value == "saved a.txt"
    assert texts == [KEY, KEY, "one two three"]


def test_a_call_that_is_cancelled_while_a_tool_reads_it_is_unknown():
    ledger = MemoryLedger()
    ran([saving([])], slowly(chunks("save", SAVE, pieces=4)), ledger, cancelled_when("started"))
    assert (ledger.entries[KEY].state, ledger.entries[KEY].reason) == ("unknown", "the call was cut: interrupted")


def test_a_call_that_is_denied_before_its_end_is_denied_again():
    async def approve(_: object) -> bool:
        return False

    texts: list[Any] = []
    first = ran([saving(texts)], slowly(chunks("save", SAVE, pieces=4)), approve=approve)
    assert (first.result.denied, first.entry.state) == ("the user said no", "done")
    again = ran([saving(texts)], slowly(chunks("save", SAVE, pieces=4)), first.ledger, approve=yes)
    assert (again.result.denied, again.states, texts) == ("the user said no", [], [])


@looped("first, last", [(1, 1), (2, 2), (1, 99), (2, 99)])
def test_a_tool_that_reads_does_not_begin_without_the_ledger_and_is_asked_for_again_at_the_seal(first, last):
    texts: list[Any] = []
    found = ran([saving(texts)], slowly(chunks("save", SAVE, pieces=4)), AwayLedger(first, last=last))
    if last < 99:
        assert (found.result.value, texts) == ("saved a.txt", [KEY, "one two three"])
    else:
        assert (found.result.error, texts) == (AWAY, [])


def test_two_workers_that_read_the_same_call_while_it_is_written_begin_it_once():
    texts: list[Any] = []

    async def main() -> list[Ran]:
        ledger = MemoryLedger()
        return await asyncio.gather(
            *(read([saving(texts)], slowly(chunks("save", SAVE, pieces=6)), ledger) for _ in range(3))
        )

    found = virtual_time.run(main())
    assert texts == [KEY, "one two three"]
    assert [each.result.value for each in found] == ["saved a.txt"] * 3


def test_the_pending_calls_of_a_conversation_do_not_run_again_after_a_crash():
    ledger = MemoryLedger()
    first = ran([act_that(hangs)], chunks(), ledger, timeout=1)
    kept = Answer([event for event in first.events if not isinstance(event, ToolResult)])

    async def main() -> list[Any]:
        pipeline = Pipeline(tools=[act_that(never_runs)], steps=[call_tools([act_that(never_runs)], ledger=ledger)])
        agent = turns(
            pipeline,
            lambda _: [ChunkResponse(content="Sorry.", finish_reason="stop")],
            "openai-chat",
            messages=[],
            pending=kept,
        )
        async for _ in agent:
            pass
        return agent.messages

    told = [message["content"] for message in virtual_time.run(main()) if message["role"] == "tool"]
    assert told == [f"Error: {UNKNOWN}the tool did not answer within 1 seconds"]


def test_a_tool_gets_its_key_and_the_model_is_not_told_of_it():
    def by_position(key: CallKey, n: int, /) -> tuple[str, int]:
        return key, n

    def by_name(n: int, *, key: Annotated[CallKey, Field(description="idempotency")]) -> tuple[str, int]:
        return key, n

    def with_default(n: int, key: CallKey = CallKey("none")) -> tuple[str, int]:  # noqa: B008
        return key, n

    for function in (by_position, by_name, with_default):
        made = tool(function, name="act")
        assert [*made.parameters["properties"]] == ["n"]
        assert made.run(ToolInvocation("call_0", TURN, "act", {"n": 1})) == (KEY, 1)
        assert ran([made], chunks(arguments='{"n": 1}')).result.value == [KEY, 1]


def test_a_model_cannot_choose_the_key():
    async def act(n: int, key: CallKey) -> str:
        return key

    found = ran([act], chunks(arguments='{"n": 1, "key": "mine"}'))
    assert not any(isinstance(event, ToolInvocation | ToolResult) for event in found.events)


def test_whether_a_tool_is_idempotent_is_kept_when_it_is_made_again():
    made = tool(returns, idempotent=True)
    assert made.idempotent
    assert tool(made, name="other").idempotent
    assert not tool(made, idempotent=False).idempotent
    assert not tool(returns).idempotent
    assert made != tool(returns)


def test_what_is_no_ledger_is_refused_and_a_ledger_is_shown():
    with pytest.raises(
        UsageError, match=r"ledger= must be a ledger, such as SqliteLedger\(path\), or None, got 'calls'"
    ):
        call_tools([returns], ledger="calls")  # type: ignore[arg-type]
    assert repr(call_tools([returns], ledger=SqliteLedger("/tmp/calls.sqlite"))) == (
        "call_tools([returns], ledger=SqliteLedger('/tmp/calls.sqlite'))"
    )
