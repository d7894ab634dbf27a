"""`decode_sdk`: decode the items of a provider's SDK to ChunkResponses, as an operator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..events.chunk_response import ChunkResponse
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from ..operators.engine.public_operator import public_operator
from ..operators.engine.stage import Failed, How, Operator, lift
from .from_stream import any_exception, any_machine
from .machine.choices import Choices
from .machine.machine import Machine
from .machine.machine_stage import MachineStage


@public_operator
def decode_sdk(
    api: str | None = None,
    *,
    choices: Choices = 0,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep_message: bool = False,
    logprobs: bool = False,
) -> Operator[Any, ChunkResponse]:
    """Decode the objects of an SDK's stream, or the wire's JSON as dicts: for loops, with real backpressure.

        stream = await client.chat.completions.create(..., stream=True)
        async for event in adrive(stream, decode_sdk(), to_segments(), to_invocations()): ...

    >>> from penstock.operators import drive
    >>> chunks = [{"choices": [{"delta": {"content": "Hi"}}]}]
    >>> [chunk.content for chunk in drive(chunks, decode_sdk())]
    ['Hi']

    The next item is read when the loop asks for it, so a slow loop slows the provider down. `api` and the other
    options are those of `from_stream`: without `api` the provider is detected from the first item. An exception of the
    SDK, and a fatal error inside the stream, is raised as `ProviderError` after the END of each open segment; other
    exceptions pass unchanged.
    """
    return decode_through(
        any_machine(api, choices=choices, turn_id=turn_id, limits=limits, keep_message=keep_message, logprobs=logprobs)
    )


def decode_through(new_machine: Callable[[], Machine]) -> Operator[Any, ChunkResponse]:
    """Return `decode_sdk` with a given function that makes the machine of each stream."""
    return lift(partial(_stage, new_machine))


class _SdkStage(MachineStage):
    def close(self, how: How, /) -> list[ChunkResponse]:
        if isinstance(how, Failed) and (ours := any_exception(how.error)):
            raise ours
        return super().close(how)


def _stage(new_machine: Callable[[], Machine]) -> MachineStage:
    return _SdkStage(new_machine())
