"""Events of the Responses API, made by hand."""

from __future__ import annotations

from typing import Any

from penstock.events import (
    ChunkResponse,
)
from penstock.operators.engine.stage import Completed
from penstock.sources.openai_responses.machine import OpenAIResponses


def fed(*events: Any, **options: Any) -> list[ChunkResponse]:
    machine = OpenAIResponses(turn_id="t", **options)
    chunks = [chunk for event in events for chunk in machine.feed(event)]
    return chunks + machine.close(Completed())


def added(index: Any, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: Any, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def ended(how: str, **response: Any) -> dict[str, Any]:
    return {"type": f"response.{how}", "response": {"status": how, "output": [], **response}}
