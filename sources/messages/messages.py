"""The interface of what keeps the messages of a stream."""

from __future__ import annotations

from typing import Any, Protocol


class Messages(Protocol):
    """Takes the same items as a provider's machine, and never raises because of one.

    `messages` returns the message of each choice that came, by its number: what the provider itself would take back,
    whole or cut. Call it once, at the end.
    """

    def feed(self, item: Any, /) -> None: ...
    def messages(self) -> dict[int, Any]: ...
    def dump(self) -> Any: ...
    def load(self, state: Any, /) -> None: ...
