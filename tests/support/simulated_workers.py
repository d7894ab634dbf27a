"""Workers that read the same answer at the same time, one of which dies, pauses or is left at a chosen step.

All is in one event loop with virtual time, and so the same each time. A step is every moment at which something outside
of a worker happens: before and behind each change of the ledger, before and behind what a tool does, and at each event.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextvars import ContextVar
from random import Random
from typing import Literal, NamedTuple

import virtual_time

from penstock.events import ChunkResponse, Notice, ToolCallDelta, ToolResult
from penstock.pipeline import CallKey, Pipeline, call_tools, tool
from penstock.scale import LedgerEntry, LedgerUnavailableError, call_key
from penstock.sinks import ApprovalRequest
from penstock.sinks.acting.ledger import Change, as_of

Kind = Literal["killed", "left", "paused", "away"]
KINDS: tuple[Kind, ...] = ("killed", "left", "paused", "away")
LEASE = 30.0
TURN = "turn"
CALLS = (
    ("call_pay", "pay", ('{"n": 1}',)),
    ("call_slow", "slow", ('{"n": 2}',)),
    ("call_fail", "fail", ('{"n": 3}',)),
    ("call_again", "again", ('{"n": 4}',)),
    ("call_no", "refused", ('{"n": 5}',)),
    ("call_save", "save", ('{"n": 6, "text": "a', "b", 'c"}')),
)
"""The calls of the answer: each id, the tool, and the pieces of the arguments."""


class Fault(NamedTuple):
    """What happens to a worker at one of its steps.

    killed: nothing of it goes on. left: its reader leaves. paused: all of it stands still for longer than its lease.
    away: the ledger does not answer, before or behind the change.
    """

    step: int
    kind: Kind


class MemoryLedger:
    """A `Ledger` in a dict, whose clock is that of the event loop."""

    lease = LEASE

    def __init__(self) -> None:
        self.entries: dict[str, LedgerEntry] = {}

    async def change(self, key: str, change: Change) -> LedgerEntry | None:
        after = change(self.entries.get(key), _now())
        if after is not None:
            self.entries[key] = after
        return after

    async def entry(self, key: str) -> LedgerEntry | None:
        found = self.entries.get(key)
        return None if found is None else as_of(found, _now())

    async def unknown_calls(self, *, most: int = 1000) -> list[LedgerEntry]:
        found = sorted((as_of(each, _now()) for each in self.entries.values()), key=lambda each: each.changed)
        return [each for each in found if each.state == "unknown"][:most]

    async def aclose(self) -> None:
        pass


def _now() -> float:
    return asyncio.get_running_loop().time()


class World:
    """What is outside of the workers: the ledger, and how often each tool did its work, by the key of the call."""

    def __init__(self, seed: int) -> None:
        self.ledger = MemoryLedger()
        self.done: Counter[str] = Counter()
        self.random = Random(seed)
        self.is_over = asyncio.Event()


class Worker:
    """One reader of the answer, with its tools.

    - `steps`: how many it took. `results`: by the ids of the calls. `unknown`: the notices of calls that are unknown.
    """

    def __init__(self, world: World, fault: Fault | None = None) -> None:
        self.world = world
        self.fault = fault
        self.steps = 0
        self.results: dict[str, ToolResult] = {}
        self.unknown: list[Notice] = []
        self.is_dead = False
        self._goes_on = asyncio.Event()
        self._goes_on.set()
        self._task: asyncio.Task[None] | None = None

    async def change(self, key: str, change: Change) -> LedgerEntry | None:
        await self.step(asks_ledger=True)
        after = await self.world.ledger.change(key, change)
        await self.step(asks_ledger=True)
        return after

    async def entry(self, key: str) -> LedgerEntry | None:
        await self.step(asks_ledger=True)
        return await self.world.ledger.entry(key)

    async def step(self, *, asks_ledger: bool = False) -> None:
        await self._standing()
        self.steps += 1
        if self.fault is not None and self.steps == self.fault.step:
            await self._fail(self.fault.kind, asks_ledger=asks_ledger)
        for _ in range(self.world.random.randrange(3)):
            await asyncio.sleep(0)
        await self._standing()

    async def _fail(self, kind: Kind, *, asks_ledger: bool) -> None:
        assert self._task is not None
        if kind == "killed":
            self.is_dead = True
        elif kind == "left":
            self._task.cancel()
        elif kind == "paused":
            self._goes_on.clear()
            asyncio.get_running_loop().call_later(4 * LEASE, self._goes_on.set)
        elif asks_ledger:
            message = "away"
            raise LedgerUnavailableError(message)

    async def _standing(self) -> None:
        """Wait while the worker stands still; a dead one does nothing more, not even to clean up."""
        if self.is_dead:
            await self.world.is_over.wait()
            raise asyncio.CancelledError
        await self._goes_on.wait()

    def begin(self) -> asyncio.Task[None]:
        self._task = asyncio.get_running_loop().create_task(self._read())
        return self._task

    async def _read(self) -> None:
        _WORKER.set(self)
        run = PIPELINE.astream(self._answer())
        async with run:
            async for event in run:
                await self.step()
                if isinstance(event, ToolResult):
                    assert event.id not in self.results
                    self.results[event.id] = event
                elif isinstance(event, Notice):
                    self.unknown.append(event)

    async def _answer(self) -> AsyncIterator[ChunkResponse]:
        for index, (call_id, name, pieces) in enumerate(CALLS):
            for number, piece in enumerate(pieces, 1):
                await self.step()
                is_first, is_last = number == 1, number == len(pieces)
                delta = ToolCallDelta(
                    index, call_id if is_first else None, name if is_first else None, piece, done=is_last
                )
                yield ChunkResponse(tool_calls=(delta,))
        yield ChunkResponse(finish_reason="tool_calls", is_complete=True)


_WORKER: ContextVar[Worker] = ContextVar("_WORKER")


async def pay(n: int, key: CallKey) -> int:
    worker = _WORKER.get()
    await worker.step()
    worker.world.done[key] += 1
    await worker.step()
    return n


async def slow(n: int, key: CallKey) -> int:
    await asyncio.sleep(LEASE)
    await pay(n, key)
    await asyncio.sleep(LEASE)
    return n


async def fail(n: int, key: CallKey) -> int:
    await pay(n, key)
    message = f"failed {n}"
    raise LookupError(message)


async def save(n: int, text: AsyncIterator[str], key: CallKey) -> int:
    await pay(n, key)
    assert "".join([piece async for piece in text]) == "abc"
    return n


TOOLS = [
    tool(pay),
    tool(slow),
    tool(fail),
    tool(pay, name="again", idempotent=True),
    tool(pay, name="refused"),
    tool(save),
]


async def approve(request: ApprovalRequest) -> bool:
    await _WORKER.get().step()
    return request.name != "refused"


class _LedgerOfWorker(MemoryLedger):
    """The ledger as the worker sees it whose task asks."""

    async def change(self, key: str, change: Change) -> LedgerEntry | None:
        return await _WORKER.get().change(key, change)

    async def entry(self, key: str) -> LedgerEntry | None:
        return await _WORKER.get().entry(key)


PIPELINE = Pipeline(tools=TOOLS, turn_id=TURN, steps=[call_tools(TOOLS, approve=approve, ledger=_LedgerOfWorker())])


class Simulated(NamedTuple):
    """What became of it: the workers, and one more that reads the answer at the end."""

    workers: list[Worker]
    last: Worker
    done: Counter[str]
    """As it was when the last one had ended."""


def simulated(seed: int, faults: list[Fault | None]) -> Simulated:
    """Let a worker for each fault read the answer, and one more when they have ended or died."""

    async def main() -> Simulated:
        world = World(seed)
        workers = [Worker(world, fault) for fault in faults]
        last = Worker(world)
        async with asyncio.timeout(10_000):
            tasks: list[asyncio.Task[None]] = []
            for worker in workers:
                tasks.append(worker.begin())
                await asyncio.sleep(world.random.choice((0, 0, 1, LEASE / 2)))
            for worker, task in zip(workers, tasks, strict=True):
                while not (task.done() or worker.is_dead):
                    await asyncio.wait({task}, timeout=1)
            await last.begin()
        done = world.done.copy()
        world.is_over.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error
        return Simulated(workers, last, done)

    return virtual_time.run(main())


KEYS = {call_id: call_key(TURN, call_id) for call_id, _, _ in CALLS}
