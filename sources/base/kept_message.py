"""`MessageKeeper`: a provider's machine that returns the assistant's message with its last chunk."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

from ...events.chunk_response import ChunkResponse
from ...events.errors import PenstockError
from ...operators.engine.stage import How
from ...operators.engine.state import Stateful
from .machine import Machine
from .sdk_fields import encodable


class Messages(Protocol):
    """Takes the same items as a provider's machine, and never raises because of one.

    `messages` returns the message of each choice that came, by its number: what the provider itself would take back,
    whole or cut. Call it once, at the end.
    """

    def feed(self, item: Any, /) -> None: ...
    def messages(self) -> dict[int, Any]: ...
    def dump(self) -> Any: ...
    def load(self, state: Any, /) -> None: ...


class MessageKeeper(Stateful):
    """Feeds a machine and what keeps its messages; the end adds a chunk with the `message` of each choice that came.

        {"choices": [...]}    [ChunkResponse(content="Hi")]
        close(Completed())    [ChunkResponse(message={"role": "assistant", "content": "Hi"}, api="openai-chat")]

    These chunks follow the machine's own, also of an answer that was cut or failed.
    """

    STATE = ("_is_told", "_machine", "_messages", "_model", "_response_id")

    if TYPE_CHECKING:

        @property
        def stopped(self) -> bool: ...
        @property
        def failure(self) -> PenstockError | None: ...
    else:  # read after every item, and so without a call
        stopped = property(attrgetter("_machine.stopped"))
        failure = property(attrgetter("_machine.failure"))

    def __init__(self, machine: Machine, messages: Messages, api: str) -> None:
        self._machine = machine
        self._messages = messages
        self._api = api
        self._is_told = False
        self._response_id: str | None = None
        self._model: str | None = None

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        machine = self._machine
        if machine.stopped:
            return machine.feed(item)
        chunks = machine.feed(item)
        self._messages.feed(item)
        self._identify(chunks)
        return chunks + self._told() if machine.stopped else chunks

    def close(self, how: How, /) -> list[ChunkResponse]:
        """Close the machine; return its last chunks, then the messages if they were not returned before."""
        chunks = self._machine.close(how)
        self._identify(chunks)
        return chunks + self._told()

    def _identify(self, chunks: list[ChunkResponse]) -> None:
        if chunks:
            last = chunks[-1]
            self._response_id, self._model = last.response_id, last.model

    def _told(self) -> list[ChunkResponse]:
        if self._is_told:
            return []
        self._is_told = True
        return [
            ChunkResponse(
                response_id=self._response_id,
                model=self._model,
                choice=choice,
                api=self._api,
                message=encodable(message),
            )
            for choice, message in self._messages.messages().items()
        ]
