"""A worker dies, pauses, is left or loses the ledger at each of its steps: no call is doubled, what is unknown is told."""

from __future__ import annotations

from itertools import count, islice

import pytest
from depth import some_of
from simulated_workers import CALLS, KEYS, KINDS, TURN, Fault, Simulated, Worker, simulated

from penstock.events import ToolResult

POINTS = 10_000
PARTS = 8
"""So that they can run side by side."""
VALUES = {"call_pay": 1, "call_slow": 2, "call_again": 4, "call_save": 6}
MAY_RUN_TWICE = {"call_again"}


def points(part: int) -> list[tuple[int, list[Fault | None]]]:
    """Return seeds and faults: each step of the first worker in each way, then the same with a second that dies later."""

    def every():
        for seed in count(part, PARTS):
            steps = simulated(seed, [None, None]).workers[0].steps
            for step in range(1, steps + 1):
                for number, kind in enumerate(KINDS):
                    second = Fault(1 + (7 * step + 31 * seed) % steps, KINDS[(step + number) % len(KINDS)])
                    yield seed, [Fault(step, kind), second if seed // PARTS % 2 else None]

    return list(islice(every(), POINTS // PARTS))


def says_unknown(result: ToolResult) -> bool:
    return result.error is not None and "unknown whether this call did its work" in result.error


def is_right(call_id: str, result: ToolResult) -> bool:
    if call_id == "call_fail":
        return result.error == "LookupError: failed 3"
    if call_id == "call_no":
        return result.denied is not None
    return (result.value, result.error) == (VALUES[call_id], None)


def check(found: Simulated) -> int:
    """Check one run; return how many calls the last worker told as unknown."""
    unknown = 0
    for call_id, _, _ in CALLS:
        done, result = found.done[KEYS[call_id]], found.last.results[call_id]
        assert result.turn_id == TURN
        if call_id not in MAY_RUN_TWICE:
            assert done <= 1, f"{call_id} is doubled"
        if says_unknown(result):
            unknown += 1
            assert call_id not in MAY_RUN_TWICE
            assert any(KEYS[call_id] in notice.detail for notice in found.last.unknown)
        else:
            assert is_right(call_id, result), result
            assert done >= (call_id != "call_no"), f"{call_id} has a result, and did nothing"
    for worker in found.workers:
        check_worker(worker)
    return unknown


def check_worker(worker: Worker) -> None:
    """What a worker said of a call is right, or says that it does not know, or that it was broken off."""
    for call_id, result in worker.results.items():
        assert is_right(call_id, result) or any(
            words in (result.error or "")
            for words in ("unknown whether", "ledger that keeps it", "was interrupted", "could be asked")
        ), result
    if worker.fault is None:
        assert worker.results.keys() == KEYS.keys()
        assert all(is_right(call_id, each) or says_unknown(each) for call_id, each in worker.results.items())


@pytest.mark.laws
@pytest.mark.parametrize("part", range(PARTS))
def test_no_call_is_doubled_wherever_a_worker_fails_and_each_unknown_one_is_told(part: int):
    told = 0
    for seed, faults in some_of(points(part), 60):
        try:
            told += check(simulated(seed, faults))
        except AssertionError as error:
            error.add_note(f"simulated({seed}, {faults})")
            raise
    assert told > 0


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_without_a_fault_nothing_is_unknown_and_each_call_runs_once(workers: int):
    found = simulated(workers, [None] * workers)
    assert check(found) == 0
    assert found.done == {KEYS[call_id]: 1 for call_id, _, _ in CALLS if call_id != "call_no"}
    assert all(not worker.unknown for worker in (*found.workers, found.last))
    assert all(is_right(call_id, each) for worker in found.workers for call_id, each in worker.results.items())
