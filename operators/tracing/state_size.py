"""`StateSize`: measure the state of a stage, at a cost per item that does not grow with the state."""

from __future__ import annotations

from typing import Any

from msgspec.msgpack import Encoder

from ..engine.stage import Stage
from ..engine.state import Stateful

ALLOWANCE = 4096
"""The bytes that may be measured for each item."""


class StateSize:
    """The bytes of a stage's state in MessagePack.

    A state that is larger than the allowance is measured when enough items have come to pay for it; between, the last
    size stands.
    """

    __slots__ = ("_encode", "_saved", "_size", "_stage")

    def __init__(self, stage: Stage[Any, Any]) -> None:
        self._stage = stage
        self._encode = Encoder(enc_hook=_declared).encode
        self._saved = 0
        self._size = 0

    def measured(self) -> int:
        self._saved += ALLOWANCE
        if self._saved >= self._size:
            self._saved = 0
            self._size = self._measure()
        return self._size

    def _measure(self) -> int:
        try:
            return len(self._encode(_declared(self._stage)))
        except (OverflowError, UnicodeEncodeError):  # MessagePack has no such integers, and no halves of surrogates
            return len(repr(self._stage.dump()))


def _declared(part: Any) -> Any:
    """Return the declared state as it is, without the copy that `dump` makes; of other values what they dump."""
    if isinstance(part, Stateful):
        return [getattr(part, name) for name in (*part.STATE, *part.PIECES)]
    return part.dump() if hasattr(part, "dump") else str(part)
