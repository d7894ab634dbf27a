"""`call_tools`: each call runs once, whatever the timing; time is virtual."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from hashlib import sha256
from typing import Any, Literal, NamedTuple

import virtual_time
from hypothesis import given
from hypothesis import strategies as st

from penstock.events import (
    AnswerEnd,
    ProviderError,
    SegmentContent,
    ToolCallStatus,
    ToolInvocation,
    ToolResult,
)
from penstock.pipeline import call_tools, tool
from penstock.sinks import ApprovalRequest, Denied

Behaviour = Literal["value", "raise", "hang", "no json", "exit", "cancelled", "stubborn"]
Approval = Literal["yes", "no", "reason", "never", "raise", "nonsense"]
Ending = Literal["complete", "error", "cancel", "leave", "cut", "interrupted"]


class Call(NamedTuple):
    gap: int
    """Seconds after the event before."""
    behaviour: Behaviour
    seconds: int
    approval: Approval
    approval_seconds: int
    is_repeated: bool
    is_claimed: bool


class Case(NamedTuple):
    calls: list[Call]
    asks: bool
    concurrency: int | None
    ordered: bool
    timeout: int | None
    approval_timeout: int | None
    ending: Ending
    ends_at: int
    """When the stream is cancelled, left or cut."""


@st.composite
def cases(draw: st.DrawFn) -> Case:
    seconds = st.integers(0, 6)
    calls = st.builds(
        Call,
        seconds,
        st.sampled_from(["value", "value", "raise", "hang", "no json", "exit", "cancelled", "stubborn"]),
        seconds,
        st.sampled_from(["yes", "yes", "yes", "no", "reason", "never", "raise", "nonsense"]),
        seconds,
        st.integers(0, 5).map(lambda n: n == 0),
        st.integers(0, 5).map(lambda n: n == 0),
    )
    limit = st.one_of(st.none(), st.integers(1, 4))
    ending: Ending = draw(st.sampled_from(["complete", "complete", "error", "cancel", "leave", "cut", "interrupted"]))
    case = Case(
        draw(st.lists(calls, max_size=6)),
        draw(st.booleans()),
        draw(limit),
        draw(st.booleans()),
        draw(limit),
        draw(limit),
        ending,
        draw(st.integers(1, 40)),
    )
    if ending != "complete":
        return case
    # What never ends needs a limit, or the stream would not end either.
    return case._replace(timeout=case.timeout or 3, approval_timeout=case.approval_timeout or 3)


class World:
    """What the tools and the callback did, and when."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.running = self.most_running = 0
        self.runs: list[int] = []
        self.asked: list[ApprovalRequest] = []
        self.seen: list[tuple[float, Any]] = []
        self.sent: list[tuple[float, Any]] = []
        self.error: BaseException | None = None
        self.is_closed = False

    async def act(self, number: int) -> Any:
        call = self.case.calls[number]
        self.runs.append(number)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            if call.behaviour in ("hang", "stubborn"):
                await self.hang(is_stubborn=call.behaviour == "stubborn")
            else:
                await asyncio.sleep(call.seconds)
        finally:
            self.running -= 1
        match call.behaviour:
            case "raise":
                message = f"no {number}"
                raise ValueError(message)
            case "exit":
                raise SystemExit(2)
            case "cancelled":
                raise asyncio.CancelledError
            case "no json":
                return object()
            case _:
                return {"number": number}

    async def hang(self, *, is_stubborn: bool) -> None:
        if is_stubborn:  # hears the first cancellation only as a wish
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            await asyncio.sleep(1)
            return
        await asyncio.Event().wait()

    async def approve(self, request: ApprovalRequest) -> Any:
        self.asked.append(request)
        call = self.case.calls[request.arguments["number"]]
        request.arguments["number"] = -1  # what the callback does to its copy has no effect
        if call.approval == "never":
            await asyncio.Event().wait()
        await asyncio.sleep(call.approval_seconds)
        if call.approval == "raise":
            message = "secret"
            raise KeyError(message)
        return {"yes": True, "no": False, "reason": Denied("because"), "nonsense": "yes"}[call.approval]

    async def source(self) -> AsyncIterator[Any]:
        try:
            now = asyncio.get_running_loop().time
            for event in self.events():
                if isinstance(event, int):
                    await asyncio.sleep(event)
                    continue
                self.sent.append((now(), event))
                yield event
            if self.case.ending == "error":
                message = "the line is cut"
                raise ProviderError(message)
        finally:
            self.is_closed = True

    def events(self) -> list[Any]:
        events: list[Any] = []
        for number, call in enumerate(self.case.calls):
            claimed = "another" if call.is_claimed else None
            invocation = ToolInvocation(
                f"call_{number}", "t", "act", {"number": number}, raw=f'{{"number": {number}}}', claimed_by=claimed
            )
            events += [call.gap, SegmentContent(f"s{number}", "text", "x"), invocation]
            events += [invocation] if call.is_repeated else []
        status: Any = "interrupted" if self.case.ending == "interrupted" else "complete"
        return [*events, 1, SegmentContent("s", "text", "x"), AnswerEnd("t", status=status)]


def lived(case: Case) -> World:
    world = World(case)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        step = call_tools(
            [tool(world.act, name="act")],
            approve=world.approve if case.asks else None,
            concurrency=case.concurrency,
            ordered=case.ordered,
            timeout=case.timeout,
            approval_timeout=case.approval_timeout,
        )
        stream = step(world.source())

        async def read() -> None:
            async for event in stream:
                world.seen.append((loop.time(), event))
                if case.ending == "leave" and loop.time() >= case.ends_at:
                    break
            await stream.aclose()

        task = asyncio.create_task(read())
        await asyncio.wait({task}, timeout=case.ends_at if case.ending in ("cancel", "cut") else 1000)
        if case.ending == "cancel":
            stream.cancel("enough")
        elif case.ending in ("cut", "leave"):
            task.cancel()
        await asyncio.wait({task}, timeout=1000)
        assert task.done()
        world.error = asyncio.CancelledError() if task.cancelled() else task.exception()
        await stream.aclose()
        if any(call.behaviour == "stubborn" and 1 + call.seconds >= 5 for call in case.calls):
            await asyncio.sleep(10)  # one that was left alone after five seconds ends by itself
        assert [each for each in asyncio.all_tasks() if each is not asyncio.current_task()] == []

    virtual_time.run(main())
    return world


def in_order(events: list[Any]) -> bool:
    return events == sorted(events)


@given(cases())
def test_each_call_runs_at_most_once_and_is_answered_once_and_the_rest_passes(case: Case):
    world = lived(case)
    seen = [event for _, event in world.seen]
    ours = [each for each in range(len(case.calls)) if not case.calls[each].is_claimed]
    results = [event for event in seen if isinstance(event, ToolResult)]
    statuses = [event for event in seen if isinstance(event, ToolCallStatus)]

    # The model's own events come through in order, and at once.
    passed = [(when, e) for when, e in world.seen if not isinstance(e, ToolResult | ToolCallStatus)]
    assert len(passed) <= len(world.sent)
    for (when, event), (sent_at, sent) in zip(passed, world.sent, strict=False):
        assert when == sent_at
        assert type(event) is type(sent)
        if not isinstance(event, ToolInvocation):
            assert event == sent

    # Each call once: run, answered, and told of.
    assert len(world.runs) == len(set(world.runs))
    assert set(world.runs) <= set(ours)
    ids = [result.id for result in results]
    assert len(ids) == len(set(ids))
    began = {e.id for _, e in passed if isinstance(e, ToolInvocation) and e.claimed_by == "call_tools"}
    if case.ending in ("complete", "error", "interrupted", "cancel"):
        assert set(ids) == began
    if case.ordered:
        assert in_order(ids)
    if case.concurrency is not None:
        assert world.most_running <= case.concurrency
    assert world.running == 0
    assert world.is_closed or not world.sent

    # The life of each call.
    for number in ours:
        told = [event for event in statuses if event.id == f"call_{number}"]
        states = [event.state for event in told]
        assert all(event.sha256 == sha256(b'{"number": %d}' % number).hexdigest() for event in told)
        asked = ["requested"] if case.asks else []
        approved = ["requested", "approved"] if case.asks else []
        lives = [
            [*asked, "denied"],
            [*asked, "failed"],
            [*approved, "failed"],
            [*approved, "started", "finished"],
            [*approved, "started", "failed"],
        ]
        assert any(states == life[: len(states)] for life in lives), states
        result = next((each for each in results if each.id == f"call_{number}"), None)
        if result is not None:
            last = "denied" if result.denied is not None else "failed" if result.error is not None else "finished"
            assert states[-1] == last
        assert (number in world.runs) == ("started" in states) or case.ending in (
            "leave",
            "cut",
            "cancel",
            "error",
            "interrupted",
        )
    for request in world.asked:
        assert request.sha256 == sha256(request.call.raw.encode()).hexdigest()
    if case.ending == "error":
        assert isinstance(world.error, ProviderError)
    elif case.ending in ("complete", "interrupted", "cancel"):
        assert world.error is None


@given(cases().filter(lambda case: case.ending == "complete"))
def test_what_a_completed_stream_says_of_each_call(case: Case):
    world = lived(case)
    results = {event.id: event for _, event in world.seen if isinstance(event, ToolResult)}
    when = {(event.id, event.state): at for at, event in world.seen if isinstance(event, ToolCallStatus)}
    assert case.timeout is not None
    assert case.approval_timeout is not None
    for number, call in enumerate(case.calls):
        if call.is_claimed:
            assert f"call_{number}" not in results
            continue
        result = results[f"call_{number}"]
        is_late = call.approval == "never" or call.approval_seconds > case.approval_timeout
        is_tie = call.approval != "never" and call.approval_seconds == case.approval_timeout
        if case.asks and (is_late or (is_tie and "nobody answered" in (result.denied or ""))):
            assert result.denied == f"nobody answered within {case.approval_timeout} seconds"
            assert when[result.id, "denied"] - when[result.id, "requested"] == case.approval_timeout
            assert number not in world.runs
        elif case.asks and call.approval != "yes":
            assert number not in world.runs
            assert {
                "no": result.denied == "the user said no",
                "reason": result.denied == "because",
                "raise": result.error == "nobody could be asked whether this call may run",
                "nonsense": "must return True, False, Denied(...) or Postponed(), got 'yes'" in (result.error or ""),
            }[call.approval]
        elif call.behaviour in ("hang", "stubborn") or call.seconds > case.timeout:
            assert result.error == f"the tool did not answer within {case.timeout} seconds"
        elif call.seconds < case.timeout:
            assert (
                when[result.id, "finished" if result.error is None else "failed"] - when[result.id, "started"]
                == call.seconds
            )
            assert {
                "value": result.value == {"number": number},
                "raise": result.error == f"ValueError: no {number}",
                "exit": result.error == "SystemExit: 2",
                "cancelled": result.error == "CancelledError",
                "no json": "returned a object, which cannot be written as JSON" in (result.error or ""),
            }[call.behaviour]


MUTANTS = {
    "a repeated call runs twice": ("", ("pipeline/call_tools.py", "if identity in self._known:", "if identity in ():")),
    "results come out of order": ("", ("pipeline/call_tools.py", "if not self._options.ordered:", "if True:")),
    "a claimed call runs": ("", ("pipeline/call_tools.py", "event.claimed_by is not None or not", "not")),
    "a callback changes what runs": ("", ("sinks/acting/approval.py", "deepcopy(call.arguments)", "call.arguments")),
}  # fmt: skip
