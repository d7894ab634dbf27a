"""A few live streams, whose buffers, gateways, readers and log server are killed: `make chaos` has many, and JetStream."""

from __future__ import annotations

from pathlib import Path

import pytest
from killed_streams import killed_streams

pytestmark = pytest.mark.tooling


def test_nothing_is_lost_or_doubled_when_processes_are_killed(tmp_path: Path):
    summary = killed_streams("redis", tmp_path, 14, streams=12, pause=0.5)
    assert summary.faults == []
    assert {"buffers": 1, "log servers": 2}.items() <= summary.killed.items()
    assert summary.found["whole"] >= 12
