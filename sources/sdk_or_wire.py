"""The machine for a stream of which the first item shows whether an SDK has decoded it."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..events.chunk_response import ChunkResponse
from ..events.errors import PenstockError, UsageError
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from ..operators.engine.stage import How
from .decode_wire import wire_machine
from .machine.choices import Choices
from .machine.machine import Machine
from .recognition.any_provider import AnyProvider
from .recognition.apis import APIS
from .recognition.checked_machine import checked_machine
from .recognition.item_kinds import KNOWN_APIS
from .wire.wire_body import WireBody


class SdkOrWire:
    """The machine for what an SDK streams, or for the bytes of its response, after a `WireBody`.

    {"type": "message_start", ...}         the machine of the SDK's items, from here on
    WireBody("openai", "/v1/responses")    the wire's, which takes bytes
    """

    if TYPE_CHECKING:

        @property
        def stopped(self) -> bool: ...
        @property
        def failure(self) -> PenstockError | None: ...
        def feed(self, item: Any, /) -> list[ChunkResponse]: ...
    else:  # read for every item, and so without a call; the machines change their `feed`, too
        stopped = property(attrgetter("_machine.stopped"))
        failure = property(attrgetter("_machine.failure"))
        feed = property(attrgetter("_machine.feed"))

    def __init__(
        self,
        api: str | None = None,
        *,
        choices: Choices = 0,
        turn_id: str | None = None,
        limits: Limits = DEFAULT_LIMITS,
        keep_message: bool = False,
        logprobs: bool = False,
    ) -> None:
        self._api = api
        self._options: dict[str, Any] = {
            "choices": choices,
            "turn_id": turn_id,
            "limits": limits,
            "keep_message": keep_message,
            "logprobs": logprobs,
        }
        self._wire: str | None = None
        self._of_items: Machine = AnyProvider(**self._options) if api is None else checked_machine(api, **self._options)
        self._machine: Machine = _First(self, self._of_items)

    @property
    def is_text(self) -> bool:
        """Whether the stream is plain text, in which no native call can come."""
        return isinstance(self._machine, AnyProvider) and self._machine.is_text

    def close(self, how: How, /) -> list[ChunkResponse]:
        return self._machine.close(how)

    def dump(self) -> Any:
        """Return the state as plain data."""
        return [self._wire, self._machine is not self._of_items, self._machine.dump()]

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        wire, is_first, machine = state
        self._wire = None
        if wire is not None:
            self.become_wire(wire)
        elif is_first:
            self._machine = _First(self, self._of_items)
        else:
            self.become_sdk()
        self._machine.load(machine)

    def become_sdk(self) -> None:
        self._machine = self._of_items

    def become_wire(self, api: str) -> None:
        self._wire = api
        self._machine = wire_machine(api, **self._options)

    def api_of_body(self, body: WireBody) -> str:
        return self._api or _api_of(body)


class _First:
    """The machine before the first item; it hands over to the one that reads it."""

    stopped = False
    failure = None

    def __init__(self, owner: SdkOrWire, of_items: Machine) -> None:
        self._owner = owner
        self.close, self.dump, self.load = of_items.close, of_items.dump, of_items.load

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        if isinstance(item, WireBody):
            self._owner.become_wire(self._owner.api_of_body(item))
            return []
        self._owner.become_sdk()
        return self._owner.feed(item)


def _api_of(body: WireBody) -> str:
    """Return the API that a request went to; `UsageError` where neither the SDK nor the path shows it."""
    of_sdk = [api for api in APIS if body.sdk in api.sdks]
    found = of_sdk if len(of_sdk) == 1 else [api for api in of_sdk or APIS if api.served.path.search(body.path)]
    if len(found) == 1:
        return found[0].name
    message = f"the request went to {body.path}, which does not show the API; pass api=, one of {KNOWN_APIS}"
    raise UsageError(message)
