"""A provider's machine as a stage, which raises the stream's failure."""

from __future__ import annotations

from typing import Any

from ...events.chunk_response import ChunkResponse
from ...operators.engine.stage import Completed, Failed, How
from .machine import Machine
from .provider_error import provider_error


class MachineStage:
    """A stage cannot return values and raise at once, so a failure is raised at the next item or at the end.

    What the machine returns at that end is in `last_words`.

    An exception of an SDK or a transport is raised again as `ProviderError`, so that later stages end open segments as
    failed by the provider or as interrupted.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.dump = machine.dump
        self.load = machine.load
        self.last_words: list[ChunkResponse] = []

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        if self._machine.failure is not None and self._machine.stopped:
            raise self._machine.failure
        return self._machine.feed(item)

    def close(self, how: How, /) -> list[ChunkResponse]:
        if isinstance(how, Failed) and (ours := provider_error(how.error)) is not None and ours is not how.error:
            raise ours
        responses = self._machine.close(how)
        if self._machine.failure is not None and isinstance(how, Completed):
            self.last_words = responses
            raise self._machine.failure
        return responses
