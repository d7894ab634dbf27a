"""Running a provider's bytes without its SDK: any framing before any machine, with the end of the framing told."""

from __future__ import annotations

from typing import Any, TypeAlias

from chat_client import Run, collected

from penstock.operators.engine.stage import Completed, How
from penstock.sources.base.machine import Machine
from penstock.sources.framing.ndjson import NdjsonDecoder
from penstock.sources.from_wire import WireMachine
from penstock.sources.gemini.machine import Gemini
from penstock.sources.gemini.wire import GeminiDecoder
from penstock.sources.ollama.machine import Ollama
from penstock.sources.streams.stream_bridge import bridge

Decoder: TypeAlias = Any


class FramedWire(WireMachine):
    """The wire's machine with a framing of the provider's own."""

    def __init__(self, machine: Machine, decoder: Decoder) -> None:
        super().__init__(machine, decoder)
        self._framing = decoder

    def close(self, how: How, /) -> list[Any]:
        responses: list[Any] = []
        if isinstance(how, Completed) and not self.stopped:
            for _, data in self._framing.close():
                if not self.stopped:
                    self._take(data, responses)
        return responses + super().close(how)


def gemini_wire(**options: Any) -> FramedWire:
    return FramedWire(Gemini(turn_id="t", **options), GeminiDecoder())


def ollama_wire(**options: Any) -> FramedWire:
    return FramedWire(Ollama(turn_id="t", **options), NdjsonDecoder())


def by_gemini_wire(pieces: Any, **options: Any) -> Run:
    return collected(bridge(pieces, lambda: gemini_wire(**options), lambda _: None))


def by_ollama_wire(pieces: Any, **options: Any) -> Run:
    return collected(bridge(pieces, lambda: ollama_wire(**options), lambda _: None))
