"""What a tool that is run in a thread raises."""

from __future__ import annotations

import asyncio

import pytest

from penstock import tool
from penstock.events import ToolInvocation


@tool
def first(texts: list[str]) -> str:
    """Return the first text."""
    return next(iter(texts))


def test_a_tool_that_raises_stop_iteration_ends_with_an_error():
    async def run() -> str:
        return await asyncio.wait_for(first.arun(ToolInvocation("c", name="first", arguments={"texts": []})), 60)

    with pytest.raises(RuntimeError, match="a tool raised StopIteration") as raised:
        asyncio.run(run())
    assert isinstance(raised.value.__cause__, StopIteration)
