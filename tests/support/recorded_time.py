"""Recordings that are replayed in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reactivex.testing import TestScheduler

from penstock.events import ChunkResponse
from penstock.sources import from_recording


def in_virtual_time(path: Path, **options: Any) -> tuple[list[ChunkResponse], list[str]]:
    scheduler = TestScheduler()
    chunks: list[ChunkResponse] = []
    ends: list[str] = []
    source = from_recording(path, turn_id="t", **options)
    source.subscribe(
        chunks.append, lambda error: ends.append(str(error)), lambda: ends.append("completed"), scheduler=scheduler
    )
    scheduler.start()
    return chunks, ends
