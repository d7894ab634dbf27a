"""`strategy_by_stream`: one strategy for a provider's stream, another one for plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ..events.chunk_response import ChunkResponse
from ..operators.engine.stage import How, Operator, StageChain, lift, stage
from ..operators.engine.turn_ids import TurnIds
from ..sources.from_stream import SdkOrWire
from ..sources.machine.machine import Machine


class Machines:
    """Makes the machines for a source's streams, and remembers their kind."""

    def __init__(self, new_machine: Callable[[], Machine]) -> None:
        self._new_machine = new_machine
        self._last: Machine | None = None

    def __call__(self) -> Machine:
        self._last = self._new_machine()
        return self._last

    def are_of_text(self) -> bool:
        return isinstance(self._last, SdkOrWire) and self._last.is_text


def strategy_by_stream(
    is_text: Callable[[], bool], native: Operator[ChunkResponse, Any], in_text: Operator[ChunkResponse, Any]
) -> Operator[ChunkResponse, Any]:
    """Run `in_text` if `is_text` returns True at the first chunk, else `native`.

    >>> from penstock.operators import drive
    >>> from penstock.pipeline import api_tool_call, hermes
    >>> chunk = ChunkResponse(content='<tool_call>{"name": "f", "arguments": {}}</tool_call>')
    >>> for is_text in (True, False):
    ...     print(next(drive([chunk], strategy_by_stream(lambda: is_text, api_tool_call(), hermes()))).segment_type)
    tool_call
    text
    """
    return lift(partial(_ByStream, is_text, native, in_text))


class _ByStream:
    def __init__(
        self,
        is_text: Callable[[], bool],
        native: Operator[ChunkResponse, Any],
        in_text: Operator[ChunkResponse, Any],
    ) -> None:
        self._is_text = is_text
        self._native = native
        self._in_text = in_text
        self._chosen: bool | None = None
        self._chain: StageChain[ChunkResponse, Any] = stage(native)

    @property
    def ids(self) -> TurnIds | None:
        return self._chain.ids

    def feed(self, chunk: ChunkResponse) -> Iterable[Any]:
        if self._chosen is None:
            self._choose(is_text=self._is_text())
        return self._chain.feed(chunk)

    def close(self, how: How) -> Iterable[Any]:
        return self._chain.close(how)

    def dump(self) -> Any:
        return [self._chosen, self._chain.dump()]

    def load(self, state: Any) -> None:
        chosen, chain = state
        self._choose(is_text=bool(chosen))
        self._chosen = chosen
        self._chain.load(chain)

    def _choose(self, *, is_text: bool) -> None:
        self._chosen = is_text
        before = self.ids
        self._chain = stage(self._in_text if is_text else self._native)
        if before is not None and self.ids is not None:
            self.ids.retry(before.former)
