"""A strategy with one operator replaced or added, everything else as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .chain import Chain, place_of, takes, with_tools, with_turn_id
from .tools.tool import Tool

Change: TypeAlias = Literal["replace", "before", "after"]


@dataclass(frozen=True)
class ChangedStrategy:
    """What `Pipeline.replace` and `Pipeline.insert` make of a strategy; `options` are those of the strategy."""

    strategy: Any
    options: Mapping[str, Any]
    name: str
    """The name of the operator that is replaced, or beside which the other one is put."""
    how: Change
    new: Chain

    def changed(self, chain: Chain, tools: tuple[Tool, ...] | None, turn_id: str | None) -> Chain:
        """Return a chain of the strategy after the change; only the new operators are completed with tools and turn id.

        `UsageError` if a new operator has other tools or another turn id, or if no operator is left to use the turn id.
        """
        place = place_of(chain, self.name)
        new = with_tools(self.new, tools)
        if turn_id is not None and takes(new, "turn_id"):
            new = with_turn_id(new, turn_id)
        begin, end = place + (self.how == "after"), place + (self.how != "before")
        whole = (*chain[:begin], *new, *chain[end:])
        if turn_id is not None and takes(chain, "turn_id") and not takes(whole, "turn_id"):
            with_turn_id(whole, turn_id)  # raises, and says which operators would take it
        return whole
