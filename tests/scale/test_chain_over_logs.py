"""The chain over streams of every provider, read from each log while they are written: the events of one process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from log_backends import BACKENDS
from logged_streams import differing

from penstock.scale import Retention


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_hundred_streams_at_once_have_the_events_of_a_single_process(backend: str, tmp_path: Path):
    async def main() -> list[str]:
        async with BACKENDS[backend](tmp_path, Retention()) as log:
            return await differing(log, 200)

    assert asyncio.run(main()) == []
