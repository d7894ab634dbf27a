"""A stage that follows each call of a stream of segments, from its START to its END, with a machine of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

from ...events.segment_event import SegmentEvent
from ..engine.limits import Limits
from ..engine.stage import How, Operator, lift
from ..engine.state import Stateful
from .call_arguments import CallArguments
from .field_spec import FieldSpec
from .segment_end import OpenSegments, end_payload, end_status


class CallMachine(Protocol):
    """What is done with one call: `start`, any number of `content`, then `end`, each with the segment's event.

    The call is part of its state.
    """

    call: CallArguments

    def start(self, event: SegmentEvent, /) -> Sequence[Any]: ...
    def content(self, event: SegmentEvent, /) -> Sequence[Any]: ...
    def end(self, event: SegmentEvent, /) -> Sequence[Any]: ...
    def dump(self) -> Any: ...
    def load(self, state: Any, /) -> None: ...


NewMachine: TypeAlias = Callable[[CallArguments], CallMachine]


def each_call(
    new_machine: NewMachine, *, keep_segments: bool, fields: Iterable[FieldSpec], limits: Limits
) -> Operator[Any, Any]:
    """Make an operator of what is done with one call.

    Calls that the provider runs itself are left out, as everywhere where calls are acted on. What is no segment event
    passes. With `keep_segments` the segment events pass too: what is made of one follows it, what is made of an END
    precedes it, so that an invocation still follows its END directly.
    """
    return lift(partial(_EachCall, new_machine, tuple(fields), limits, keep_segments=keep_segments))


class _EachCall(Stateful):
    STATE = ("_machines", "_others")

    def __init__(
        self, new_machine: NewMachine, fields: tuple[FieldSpec, ...], limits: Limits, *, keep_segments: bool
    ) -> None:
        self._new_machine = new_machine
        self._specs = {spec.segment_type: spec for spec in fields}
        self._limits = limits
        self._keep = keep_segments
        self._machines: dict[tuple[str | None, str], CallMachine] = {}
        self._others = OpenSegments()

    def feed(self, event: Any) -> Sequence[Any]:
        if type(event) is not SegmentEvent:
            return (event,)
        identity = event.turn_id, event.segment_id
        if event.type == "SEGMENT_CONTENT":
            machine = self._machines.get(identity)
            made = () if machine is None else machine.content(event)
            return (event, *made) if self._keep else made
        machine = self._machines.pop(identity, None)
        if event.type == "SEGMENT_END":
            if machine is not None:
                return self._ended(machine, event)
        else:
            # An id that starts again: nothing more can come for the call that had it.
            broken_off = () if machine is None else self._ended(machine, _end(machine.call, "truncated"))
            call = CallArguments.opened(event, self._specs, self._limits)
            if call is not None:
                machine = self._machines[identity] = self._new_machine(call)
                made = machine.start(event)
                return (*broken_off, event, *made) if self._keep else (*broken_off, *made)
            if broken_off:
                return (*broken_off, *self._passed(event))
        return self._passed(event)

    def close(self, how: How) -> Sequence[Any]:
        events: list[Any] = list(self._others.ends(how))
        for machine in self._machines.values():
            events += self._ended(machine, _end(machine.call, *end_status(how)))
        self._machines.clear()
        return events

    def _ended(self, machine: CallMachine, end: SegmentEvent) -> Sequence[Any]:
        made = machine.end(end)
        return (*made, end) if self._keep else made

    def _passed(self, event: SegmentEvent) -> Sequence[Any]:
        if not self._keep:
            return ()
        self._others.note(event)
        return (event,)

    def new_part(self, _name: str, _state: Any, /) -> CallMachine:
        return self._new_machine(CallArguments(SegmentEvent("SEGMENT_START", ""), "", self._specs, self._limits))


def _end(call: CallArguments, status: Any, reason: str | None = None) -> SegmentEvent:
    payload = end_payload(status, reason, {"tool_name": call.name})
    return SegmentEvent("SEGMENT_END", call.segment_id, call.segment_type, payload, call.turn_id)
