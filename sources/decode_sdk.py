"""`decode_sdk`: what a provider's SDK yields, item by item, to ChunkResponses, as an operator."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..events.chunk_response import ChunkResponse
from ..operators.limits import DEFAULT_LIMITS, Limits
from ..operators.stage import Completed, Failed, How, Operator, lift
from .apis import api_of
from .openai_chat import Choices
from .provider_error import provider_error


def decode_sdk(
    api: str,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[Any, ChunkResponse]:
    """Decode the objects of an SDK's stream, or the wire's JSON as dicts: for loops, with real backpressure.

        stream = await client.chat.completions.create(..., stream=True)
        async for event in adrive(stream, decode_sdk("openai-chat"), to_segments(), to_invocations()): ...

    >>> from penstock.operators import drive
    >>> chunks = [{"choices": [{"delta": {"content": "Hi"}}]}]
    >>> [chunk.content for chunk in drive(chunks, decode_sdk("openai-chat"))]
    ['Hi']

    The next item is asked for when the loop asks for more, so a slow loop slows the provider down. `api` and the other
    options are those of `from_wire`. What the SDK raises, and a fatal error inside the stream, is raised as
    `ProviderError` after the ENDs of what was open; other exceptions pass as they are.
    """
    return lift(partial(_SdkStage, api_of(api).name, choices, turn_id, limits))


class _SdkStage:
    def __init__(self, api: str, choices: Choices, turn_id: str | None, limits: Limits) -> None:
        self._machine = api_of(api).new_machine(choices=choices, turn_id=turn_id, limits=limits)

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        if self._machine.failure is not None and self._machine.stopped:
            raise self._machine.failure
        return self._machine.feed(item)

    def close(self, how: How, /) -> list[ChunkResponse]:
        if isinstance(how, Failed) and (ours := provider_error(how.error)) is not None and ours is not how.error:
            raise ours  # so that the stages behind end what is open as the provider's failure
        responses = self._machine.close(how)
        if self._machine.failure is not None and isinstance(how, Completed):
            raise self._machine.failure
        return responses

    def dump(self) -> Any:
        return self._machine.dump()

    def load(self, state: Any, /) -> None:
        self._machine.load(state)
