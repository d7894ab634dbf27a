"""For tests of applications: `ReplayServer`, and the pytest fixture `replay_server`.

In a conftest: `pytest_plugins = ["penstock.studio.testing"]`, or `from penstock.studio.testing import replay_server`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import Any, TypeAlias

from .replay.replay_log import ReplayEntry
from .replay.replay_recordings import RecordingSource
from .replay.replay_server import ReplayServer

__all__ = ["ReplayEntry", "ReplayServer", "StartReplay"]

StartReplay: TypeAlias = Callable[..., ReplayServer]
"""Starts a `ReplayServer` with the given arguments; the server is stopped at the end of the test."""

try:
    import pytest
except ModuleNotFoundError:  # the server serves other test runners too
    pass
else:
    __all__ += ["replay_server"]

    @pytest.fixture
    def replay_server() -> Generator[StartReplay, None, None]:
        """Return a function that starts a `ReplayServer` of its arguments; the end of the test stops it.

        def test_what_came_before_a_cut_is_kept(replay_server):
            server = replay_server("recordings", fault="cut:500")
        """
        with ExitStack() as running:

            def start(recordings: RecordingSource, **options: Any) -> ReplayServer:
                return running.enter_context(ReplayServer(recordings, **options))

            yield start
