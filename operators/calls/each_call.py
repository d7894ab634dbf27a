"""A stage that runs a machine for each call in a stream of segments, from START to END."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ..engine.limits import Limits
from ..engine.stage import Operator, lift
from ..engine.straight_way import FurtherEvent, StraightWay
from ..engine.withheld import Withheld
from .call_follower import CallFollower, FollowedCall
from .field_spec import FieldSpec
from .segment_metadata import Specs, called_name, spec_by_type


class CallMachine(FollowedCall, Protocol):
    """The machine of one call: `start`, any number of `content`, then `end`, each with the segment's event."""

    def start(self, event: SegmentStart, /) -> Sequence[Any]: ...
    def content(self, event: SegmentContent, /) -> Sequence[Any]: ...
    def end(self, event: SegmentEnd, /) -> Sequence[Any]: ...
    def withheld(self, *, in_raw: bool) -> Sequence[Withheld]: ...
    def dump(self) -> Any: ...
    def load(self, state: Any, /) -> None: ...
    def straight(self) -> FurtherEvent | None:
        """Return what makes the one event of further text of an open string; None while that is not all."""


NewMachine: TypeAlias = Callable[[SegmentStart, str, Specs, Limits], CallMachine]


def each_call(
    new_machine: NewMachine, *, keep_segments: bool, fields: Iterable[FieldSpec], limits: Limits
) -> Operator[Any, Any]:
    """Make an operator that runs a machine for each call.

    Calls that the provider runs itself are left out, as everywhere where calls are acted on. What is no segment event
    passes. With `keep_segments` the segment events pass too: what is made of one follows it, what is made of an END
    precedes it, so that an invocation still follows its END directly.
    """
    return lift(partial(_EachCall, new_machine, tuple(fields), limits, keep_segments=keep_segments))


class _EachCall(CallFollower[CallMachine]):
    def __init__(
        self, new_machine: NewMachine, fields: tuple[FieldSpec, ...], limits: Limits, *, keep_segments: bool
    ) -> None:
        super().__init__(keep_segments=keep_segments)
        self._new_machine = new_machine
        self._specs = spec_by_type(fields)
        self._limits = limits

    def feed(self, event: Any) -> Sequence[Any]:
        if type(event) is SegmentContent:
            machine = self._calls.get((event.turn_id, event.segment_id))
            made = () if machine is None else machine.content(event)
            return (event, *made) if self._keep else made
        if type(event) is SegmentStart or type(event) is SegmentEnd:
            return self._border(event)
        return (event,)

    def withheld(self) -> Sequence[Withheld]:
        found: list[Withheld] = []
        for call in self._calls.values():
            found += call.withheld(in_raw=self._keep)
        return found

    def take_straight(self, way: StraightWay) -> bool:
        """Let the event of the text pass if segments are kept, and add that of its call."""
        call = self._calls.get((way.turn_id, way.segment_id))
        if call is not None:
            make = call.straight()
            if make is None:
                return False
            way.further.insert(0, make)
        way.is_heard = self._keep
        return True

    def new_part(self, _name: str, _state: Any, /) -> CallMachine:
        return self._new_machine(SegmentStart("", "tool_call"), "", self._specs, self._limits)

    def _opened(self, start: SegmentStart) -> CallMachine | None:
        name = called_name(start, self._specs)
        return None if name is None else self._new_machine(start, name, self._specs, self._limits)

    def _started(self, call: CallMachine, start: SegmentStart) -> Sequence[Any]:
        made = call.start(start)
        return (start, *made) if self._keep else made

    def _ended(self, call: CallMachine, end: SegmentEnd) -> Sequence[Any]:
        made = call.end(end)
        return (*made, end) if self._keep else made
