"""Real processes are killed while they run calls: none is doubled, none is lost, and each unknown one is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from killed_callers import killed_callers
from ledger_backends import BACKENDS, new_address

KILLS = 20


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_workers_that_are_killed_double_no_call_and_lose_none(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
):
    server = request.getfixturevalue("postgres") if backend == "postgres" else ""
    found = killed_callers(new_address(backend, tmp_path, server), tmp_path, KILLS)
    assert found.faults == [], str(found)
    assert found.kills >= KILLS
    assert found.calls > 0
