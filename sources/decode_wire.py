"""`decode_wire`: the bytes of a provider's answer to ChunkResponses, as an operator."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, cast

from ..events.chunk_response import ChunkResponse
from ..events.errors import ProviderError, UsageError
from ..operators.limits import DEFAULT_LIMITS, Limits
from ..operators.stage import Completed, Failed, How, Operator, lift
from .apis import Decoder, api_of
from .machine import Machine
from .machine_stage import MachineStage
from .openai_chat import Choices
from .provider_error import invalid_data
from .sse import ServerSentEvent, SseDecoder


def decode_wire(
    api: str,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[bytes, ChunkResponse]:
    r"""Decode a provider's server-sent events, cut anywhere, without its SDK.

        bytes               b'data: {"choic'------b'es":[{"delta":{"content":"Hi"}}]}\n\n'--|
        decode_wire("chat") --------------------- ChunkResponse(content="Hi")-------------|

    >>> from penstock.operators import drive
    >>> body = b'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\n'
    >>> [chunk.content for chunk in drive([body], decode_wire("openai-chat"))]
    ['Hi']

    `api` is `openai-chat`, `openai-responses`, `anthropic-messages`, `gemini` or `ollama` (or an alias); `UsageError`
    for another. A fatal error of the stream is a chunk with `error`, then a `ProviderError` at the next item or at the
    end. Follows the WHATWG event-stream format and the providers' other framings; the wire and the SDK give equal
    ChunkResponses.
    """
    return lift(partial(_stage, api_of(api).name, choices, turn_id, limits))


class WireMachine:
    """The bytes of one answer through the machine of its provider."""

    def __init__(self, machine: Machine, decoder: Decoder | None = None) -> None:
        self._decoder = decoder or SseDecoder()
        self._machine = machine
        self._failure: ProviderError | None = None
        self._is_done = False

    @property
    def stopped(self) -> bool:
        return self._is_done or self._machine.stopped

    @property
    def failure(self) -> ProviderError | None:
        return self._failure or self._machine.failure

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        if not isinstance(item, bytes | bytearray | memoryview):
            message = f"the wire is bytes, got {type(item).__name__}; encode text with .encode()"
            raise UsageError(message)
        return self._events(self._decoder.feed(bytes(cast("bytes", item))))

    def close(self, how: How, /) -> list[ChunkResponse]:
        last = self._events(self._decoder.close()) if isinstance(how, Completed) and not self.stopped else []
        return last + self._machine.close(how)

    def dump(self) -> Any:
        failure = self._failure and [self._failure.detail, self._failure.type]
        return [self._decoder.dump(), self._machine.dump(), self._is_done, failure]

    def load(self, state: Any, /) -> None:
        decoder, machine, self._is_done, failure = state
        self._decoder.load(decoder)
        self._machine.load(machine)
        self._failure = ProviderError(failure[0], type=failure[1]) if failure else None

    def _events(self, events: list[ServerSentEvent]) -> list[ChunkResponse]:
        responses: list[ChunkResponse] = []
        for _, data in events:
            if self.stopped:
                break
            if data.startswith("[DONE]"):
                self._is_done = True
            elif data and not data.isspace():
                self._take(data, responses)
        return responses

    def _take(self, data: str, responses: list[ChunkResponse]) -> None:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError) as error:
            self._failure = invalid_data(error)
            self._failure.__cause__ = error
            responses += self._machine.close(Failed(self._failure))
        else:
            responses += self._machine.feed(event)


def _stage(api: str, choices: Choices, turn_id: str | None, limits: Limits) -> MachineStage:
    known = api_of(api)
    machine = known.new_machine(choices=choices, turn_id=turn_id, limits=limits)
    return MachineStage(WireMachine(machine, known.new_decoder()))
