"""`TracedItem`: one item of the input, and what each stage made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ..engine.stage import How
from ..engine.withheld import Withheld


class StageTrace(Struct, frozen=True):
    """What one stage did with one item.

    - `outputs`: the events that it returned, as the same objects that went on.
    - `withheld`: what it keeps back after the item.
    - `state_size`: the bytes of its state in MessagePack. It is measured from time to time, less often if it is large
      or has many parts; for the items between, the last size stands.
    - `time_ns`: the time that it took.
    """

    outputs: tuple[Any, ...]
    withheld: tuple[Withheld, ...]
    state_size: int
    time_ns: int


class TracedItem(Struct, frozen=True, repr_omit_defaults=True):
    """One item of the input, or its end.

    - `number`: the place in the input, from 0.
    - `t_ns`: when it came, in nanoseconds since the first item; None if no times are known.
    - `item`: what came; None for the end of the input.
    - `raw`: the JSON that the provider sent, if the first stage is a provider's machine; else None.
    - `stages`: one entry for each stage.
    - `ended`: how the input ended, if this is the end. An item at which a stage raised has it, too.
    """

    number: int
    t_ns: int | None
    item: Any
    stages: tuple[StageTrace, ...]
    ended: How | None = None
    read_raw: Callable[[Any], Any] | None = None
    """Returns the JSON of an item; it is read when somebody asks, so that nothing is kept twice."""

    @property
    def raw(self) -> Any:
        return None if self.read_raw is None or self.item is None else self.read_raw(self.item)
