"""`StateSize`: measure the state of a stage, at a cost per item that does not grow with the state."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from msgspec.msgpack import Encoder

from ..engine.stage import Stage
from ..engine.state import Stateful

_BYTES: Final = 4096
"""The bytes for which an item pays."""
_READERS: dict[type, Callable[[Any], Any]] = {}
"""Reads the declared state of an object of a class, in one call."""


class StateSize:
    """The bytes of a stage's state in MessagePack.

    - `size`: the size when it was measured last.
    - `cost`: the number of items that pay for measuring it again: a large state, or one of many parts, costs more.
    """

    __slots__ = ("_encode", "_parts", "_stage", "cost", "size")

    def __init__(self, stage: Stage[Any, Any]) -> None:
        self._stage = stage
        self._encode = Encoder(enc_hook=self._declared).encode
        self._parts = 0
        self.cost = 0
        self.size = 0

    def measure(self) -> None:
        self._parts = 0
        try:
            self.size = len(self._encode(self._declared(self._stage)))
        except (OverflowError, UnicodeEncodeError):  # MessagePack has no such integers, and no halves of surrogates
            self.size = len(repr(self._stage.dump()))
        self.cost = max(4 * self._parts, self.size // _BYTES)

    def _declared(self, part: Any) -> Any:
        """Return the declared state as it is, without the copy that `dump` makes; of other values what they dump."""
        self._parts += 1
        read = _READERS.get(part.__class__)
        if read is not None:
            return read(part)
        if isinstance(part, Stateful) and (names := (*part.STATE, *part.PIECES)):
            _READERS[part.__class__] = attrgetter(*names)
            return _READERS[part.__class__](part)
        return part.dump() if hasattr(part, "dump") else str(part)
