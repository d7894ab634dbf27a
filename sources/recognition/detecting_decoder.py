"""The machine for a stream whose provider is detected from its first item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...events.chunk_response import ChunkResponse
from ...events.errors import PenstockError, UsageError
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.engine.stage import How
from ..base.answers import Choices
from ..base.machine import Chunks, Machine, Texts, of_machine
from ..base.provider_error import reported_error
from ..base.sdk_fields import Fields, fields_of, plain_json
from ..cohere.wire import COHERE_V1, is_cohere_v1_event
from .apis import api_of, machine_of
from .recognised_api import KNOWN_APIS, apis_of, described, says_nothing

HELD_AT_MOST = 256
"""The most items that are held until the provider is detected; when there are more, the oldest pass as `raw`."""

_PLAIN: dict[str, Callable[[], Machine]] = {"chunks": Chunks, "texts": Texts}


class DetectingDecoder:
    """The machine for any provider: feeds the items to the provider's own machine.

        {"type": "ping"}                              []         held
        {"type": "message_start", "message": {...}}   [...]      Anthropic's machine, from here on
        {"type": "content_block_start", ...}          [...]

    Recognised are the SDKs' objects, the wire's JSON as dicts, ChunkResponses (which pass) and str. A leading error is
    reported. Anything else, and an ambiguous item, raises a `UsageError`.
    """

    stopped: bool = of_machine("stopped")
    failure: PenstockError | None = of_machine("failure")

    def __init__(
        self,
        *,
        choices: Choices = 0,
        turn_id: str | None = None,
        limits: Limits = DEFAULT_LIMITS,
        keep_message: bool = False,
        logprobs: bool = False,
    ) -> None:
        self._options: dict[str, Any] = {
            "choices": choices,
            "turn_id": turn_id,
            "limits": limits,
            "keep_message": keep_message,
            "logprobs": logprobs,
        }
        self._name: str | None = None
        self._held: list[Any] = []
        self._machine: Machine = Chunks()
        # After detection it is the `feed` of the provider's machine itself: one call per item, not two.
        self.feed: Callable[[Any], list[ChunkResponse]] = self._first

    @property
    def is_text(self) -> bool:
        """Whether the stream is plain text, in which no native call can come."""
        return isinstance(self._machine, Texts)

    def close(self, how: How, /) -> list[ChunkResponse]:
        """Close the provider's machine; before detection return the chunk of an error, or nothing."""
        return self._machine.close(how)

    def dump(self) -> Any:
        """Return the state as plain data."""
        return [self._name, [plain_json(item) for item in self._held], self._machine.dump()]

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        name, held, machine = state
        self._name, self._held, self._machine, self.feed = None, list(held), Chunks(), self._first
        if name is not None:
            self._become(name)
        self._machine.load(machine)

    def _become(self, name: str) -> None:
        self._name = name
        if name in _PLAIN:
            self._machine = _PLAIN[name]()
        else:
            self._machine = machine_of(api_of(name), **self._options)
        self.feed = self._machine.feed

    def _first(self, item: Any, /) -> list[ChunkResponse]:
        if item is None or self._machine.stopped:
            return []
        name = _name_of(item)
        if name is None:
            return self._hold(item)
        self._become(name)
        items, self._held = [*self._held, item], []
        return [response for each in items for response in self._machine.feed(each)]

    def _hold(self, item: Any) -> list[ChunkResponse]:
        """Hold an item that does not show the provider; beyond the limit, return the oldest one as `raw`."""
        self._held.append(item)
        if len(self._held) <= HELD_AT_MOST:
            return []
        plain = plain_json(self._held.pop(0))
        return [ChunkResponse(raw=(plain,))] if plain else []


def _name_of(item: Any) -> str | None:
    """Return the API of an item; None for a keep-alive; `UsageError` for an unknown or ambiguous item."""
    if isinstance(item, ChunkResponse):
        return "chunks"
    if isinstance(item, str):
        return "texts"
    if isinstance(item, bytes | bytearray | memoryview):
        message = f"this stream yields bytes; use from_wire(api, ...), with api one of {KNOWN_APIS}"
        raise UsageError(message)
    fields = fields_of(item)
    names = apis_of(item)
    if fields is not None and not names:
        if is_cohere_v1_event(fields):
            raise UsageError(COHERE_V1)
        names = _names_of_error(fields)
    if len(names) == 1:
        return names[0]
    if not names and says_nothing(item):
        return None
    who = f"may be from {' or '.join(names)}" if names else "does not show which provider it is from"
    message = f"the first item of this stream, {described(item)}, {who}; pass api=, one of {KNOWN_APIS}"
    raise UsageError(message)


def _names_of_error(fields: Fields) -> list[str]:
    """Return the machine of the first provider that can read an error."""
    error = fields.get("error")
    inner = fields_of(error) or {}
    if fields.get("type") == "error":
        return ["anthropic-messages" if inner else "openai-responses"]
    if isinstance(inner.get("status"), str):
        return ["gemini"]
    return ["openai-chat"] if reported_error(fields) is not None else []
