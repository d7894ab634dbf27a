"""`CallTimes`: how long a model takes to write its calls, and how many of them fail."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import InvocationFailed, ToolInvocation
from ...operators.calls.field_spec import called_name, is_argument
from .otel_setup import OtelSetup, seconds

_Identity: TypeAlias = tuple[str | None, str]


class _Call(Struct):
    started_at: int
    first_at: int | None = None
    is_open: bool = True
    is_settled: bool = False


class CallTimes:
    """The calls of one stream, from the START of their segment; calls that a provider runs itself are left out."""

    def __init__(self, setup: OtelSetup) -> None:
        self._setup = setup
        self._calls: dict[_Identity, _Call] = {}
        self._arguments: dict[_Identity, _Call] = {}
        """The calls by their open arguments that have segments of their own."""

    def start(self, event: SegmentStart, now: int) -> None:
        identity = (event.turn_id, event.segment_id)
        if is_argument(event):
            call = self._calls.get((event.turn_id, event.metadata["call_id"]))
            if call is not None:
                self._arguments[identity] = call
        elif called_name(event, {}) is not None:
            self._calls[identity] = _Call(now)
            self._setup.instruments.open_calls.add(1)

    def content(self, event: SegmentContent, now: int) -> None:
        identity = (event.turn_id, event.segment_id)
        call = self._calls.get(identity) or self._arguments.get(identity)
        if call is not None and call.first_at is None:
            call.first_at = now

    def end(self, event: SegmentEnd) -> None:
        identity = (event.turn_id, event.segment_id)
        self._arguments.pop(identity, None)
        if (call := self._calls.get(identity)) is not None:
            self._close(call)
            if call.is_settled:
                del self._calls[identity]

    def seal(self, event: ToolInvocation, now: int) -> None:
        call = self._settled((event.turn_id, event.id))
        if call is None:
            return
        names, instruments = self._setup.names, self._setup.instruments
        labels = {names.tool_name: event.name}
        instruments.call_time_to_seal.record(seconds(call.started_at, now), labels)
        if call.first_at is not None:
            instruments.call_time_to_first_argument.record(seconds(call.started_at, call.first_at), labels)

    def fail(self, event: InvocationFailed) -> None:
        names = self._setup.names
        self._settled((event.turn_id, event.id))
        labels: dict[str, str] = {names.error_type: event.reason}
        if event.reason != "unknown_tool":  # a model may invent any number of names
            labels[names.tool_name] = event.name
        self._setup.instruments.call_failures.add(1, labels)

    def close(self) -> None:
        """Count the calls that are still open as open no more."""
        for call in self._calls.values():
            self._close(call)

    def _settled(self, identity: _Identity) -> _Call | None:
        call = self._calls.get(identity)
        if call is not None:
            call.is_settled = True
            if not call.is_open:
                del self._calls[identity]
        return call

    def _close(self, call: _Call) -> None:
        if call.is_open:
            call.is_open = False
            self._setup.instruments.open_calls.add(-1)
