"""The machine for an API chosen by name; if it understands no item, the stream ends with an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import proxy

from msgspec import Struct, structs

from ...events.chunk_response import ChunkResponse
from ...events.errors import PenstockError, UsageError
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.engine.stage import Completed, Failed, How
from ...operators.engine.state import Stateful
from ..base.answers import Choices
from ..base.machine import Machine, WireLane, lane_of, of_machine
from ..base.sdk_fields import fields_of
from ..cohere.machine import COHERE_V1, is_cohere_v1_body, is_cohere_v1_event
from ..framing.sse import unframed_errors
from .apis import api_of, machine_of
from .recognised_api import KNOWN_APIS, apis_of, apis_of_body, described, described_body, listed, says_nothing

_SHOWN = 3
_NO_API = ("str", "penstock.events.chunk_response.ChunkResponse")
_BYTES = ("bytes", "bytearray", "memoryview")


class _Unknown(Struct, gc=False):
    """The items so far, kept while none has been understood."""

    count: int = 0
    kinds: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    body: str | None = None
    error: Any = None
    """The error that the body is, which no event told."""
    is_cohere_v1: bool = False

    def add(self, kind: str, apis: list[str]) -> None:
        self.count += 1
        if len(self.kinds) <= _SHOWN and kind not in self.kinds:
            self.kinds += (kind,)
        self.apis += tuple(name for name in apis if name not in self.apis)


class CheckedMachine(Stateful):
    """Wraps a provider's machine and checks that the answer is that provider's.

        {"type": "message_start"}    [ChunkResponse(raw=...)]    not of openai-chat
        close(Completed())           []                          `failure` is a UsageError that says whose it looks like

    - An item is understood if the API recognises it, or if no other API does and the machine returns more than `raw`
      for it. One such item, early or late, is enough.
    - Keep-alives and empty items do not count. A failure that the machine reports stays the outcome, and
      an answer that is broken off is not judged.
    """

    STATE = ("_own", "_unknown", "is_understood")

    stopped: bool = of_machine("stopped")
    failure: PenstockError | None = of_machine("failure")

    def __init__(self, machine: Machine, api: str) -> None:
        self._own = self._machine = machine
        self._api = api
        self._unknown = _Unknown()
        self.is_understood = False
        self.feed: Callable[[Any], list[ChunkResponse]]
        self.lane: WireLane | None
        self._its_lane = lane_of(machine)
        self._begin()

    def look_at(self, body: bytes) -> None:
        """Pass the beginning of the body, for the error message; must be called before `close`."""
        if not self.is_understood:
            self._unknown.body = described_body(
                body, may_be_cut_json=bool(api_of(self._api).served.forms & {"rows", "array"})
            )
            self._unknown.apis += tuple(name for name in apis_of_body(body) if name != self._api)
            self._unknown.is_cohere_v1 |= is_cohere_v1_body(body)
            errors = unframed_errors(body.decode("utf-8", "replace").strip())
            self._unknown.error = json.loads(errors[0]) if errors else None

    def close(self, how: How, /) -> list[ChunkResponse]:
        """Close the provider's machine; set `failure` if no item was understood."""
        is_judged = isinstance(how, Completed) and not self.is_understood and not self._machine.stopped
        if is_judged and self._unknown.error is not None:
            return self._own.feed(self._unknown.error)
        if is_judged and (self._unknown.count or self._unknown.body):
            return self._refuse(UsageError(self._message()))
        return self._machine.close(how)

    def dump(self) -> Any:
        """Return the state as plain data."""
        refused = str(self.failure) if isinstance(self._machine, _Refused) else None
        return {**super().dump(), "refused": refused}

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        refused = state["refused"]
        self._machine = self._own if refused is None else _Refused(UsageError(refused))
        self._begin()
        if self.is_understood:
            self._understand()

    def new_part(self, _name: str, _state: Any, /) -> _Unknown:
        return _Unknown()

    def _begin(self) -> None:
        # After the first understood item these are those of the provider's machine itself: one call per item, not two.
        # They hold this object weakly, so that no stream leaves a reference cycle.
        this = proxy(self)
        self.feed = partial(CheckedMachine._first, this)
        self.lane = None if self._its_lane is None else partial(CheckedMachine._first_in_lane, this)

    def _first(self, item: Any, /) -> list[ChunkResponse]:
        responses = self._machine.feed(item)
        apis = apis_of(item)
        if self._api in apis or (not apis and any(map(has_content, responses))):
            self._understand()
        elif not says_nothing(item):
            self._unknown.add(described(item), apis)
            self._unknown.is_cohere_v1 |= is_cohere_v1_event(fields_of(item) or {})
        return responses

    def _first_in_lane(self, data: str, /) -> list[ChunkResponse] | None:
        """Read an event in the lane, which only events of the API fit."""
        responses = self._its_lane(data) if self._its_lane else None
        if responses is not None:
            self._understand()
        return responses

    def _understand(self) -> None:
        self.is_understood, self._unknown = True, _Unknown()
        self.feed, self.lane = self._machine.feed, self._its_lane

    def _refuse(self, error: UsageError) -> list[ChunkResponse]:
        responses = self._own.close(Failed(error))
        self._machine = _Refused(error)
        return responses

    def _message(self) -> str:
        unknown = self._unknown
        if unknown.body and not set(unknown.kinds) - {"str"}:  # lines of text are no items
            what = f"this body has no event of {self._api}: it is {unknown.body}"
        else:
            items = "the only item" if unknown.count == 1 else f"none of the {unknown.count} items"
            is_not = "is not" if unknown.count == 1 else "is"
            what = f"{items} of this stream {is_not} of {self._api}: {listed(unknown.kinds, shown=_SHOWN)}"
        return f"{what}; {self._advice()}"

    def _advice(self) -> str:
        unknown = self._unknown
        if unknown.apis:
            name = unknown.apis[0]
            return f"it looks like {name}; pass api={name!r} to from_stream, from_wire or Pipeline"
        if unknown.is_cohere_v1:
            return COHERE_V1
        if not unknown.body:
            if all(kind in _NO_API for kind in unknown.kinds):
                return "leave api= out for text and ChunkResponses, with from_stream or Pipeline"
            if all(kind in _BYTES for kind in unknown.kinds):
                return f"use from_wire({self._api!r}, ...) for bytes"
            return f"pass what the SDK streams, or another api=, one of {KNOWN_APIS}"
        return f"check the status of the response, request a stream, or pass another api=, one of {KNOWN_APIS}"


def checked_machine(
    api: str,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
) -> CheckedMachine:
    """Return the machine of an API; `UsageError` for an unknown name or an option that the API lacks."""
    known = api_of(api)
    machine = machine_of(
        known, choices=choices, turn_id=turn_id, limits=limits, keep_message=keep_message, logprobs=logprobs
    )
    return CheckedMachine(machine, known.name)


class _Refused(Stateful):
    """The machine after an answer was refused; it emits nothing."""

    stopped = True

    def __init__(self, failure: UsageError) -> None:
        self.failure = failure

    def feed(self, _: Any, /) -> list[ChunkResponse]:
        return []

    def close(self, _: How, /) -> list[ChunkResponse]:
        return []


def has_content(response: ChunkResponse) -> bool:
    """Return whether a chunk has anything besides `raw` and the answer's identity."""
    return structs.replace(response, raw=(), api=None, response_id=None, model=None, choice=0) != ChunkResponse()
