"""What the original systems call things where calls are in the text, and what they are called here."""

from __future__ import annotations

import json
from typing import Any

from seeds_mapping import Case

from penstock.events.chunk_response import ChunkResponse
from penstock.operators.calls.field_spec import MARKED_FILE_TOOLS, FieldSpec
from penstock.operators.grammar.dialect import Dialect, Json

TOOLS = {"run_bash": {"type": "object", "properties": {"timeout_seconds": {"type": "integer"}}}}
"""What the original's parser knows of the tools itself."""

FIELDS: dict[str, tuple[FieldSpec, ...]] = {
    "xml": MARKED_FILE_TOOLS,
    "sentinel": MARKED_FILE_TOOLS,
    "json": (),
    "prompt_engineering": (),
    "structured_outputs": (),
}
"""Which calls are segments of their own: in JSON the original has none."""

UPDATES = {"structured_outputs": False}
"""Whether an engine gives updates of a call while it is written; all others do. A pipeline has the option `updates`."""

DIALECTS = {
    "xml": "xml",
    "json": "json",
    "sentinel": "sentinel",
    "prompt_engineering": "tool_call",
    "structured_outputs": "json_answer",
}

PROFILES = {
    "default": '{"tool": {"function": "add", "parameters": {"a": 1}}}',
    "gemini": '{"name": "add", "args": {"a": 1}}',
}
"""How prompts for a provider ask for a call: one dialect reads them all, so that there is no profile to be chosen."""

RECOGNISED = {
    "generic tool": "tool_call",
    "json tool": "tool_call",
    "write_file tool": "write_file",
    "write_file custom tag": "write_file",
    "run_bash custom tag": "run_bash",
    "text": "text",
}
"""What takes over after a tag -> the type of our segment."""

A_CALL = '[{"name": "f", "arguments": {}}]}'
REST = {
    **dict.fromkeys(('{"name"', '{"action"', '{"command"'), '"f", "arguments": {}}'),
}
"""How JSON that begins so goes on if it is a call."""


def dialects(case: Case) -> tuple[str | Dialect, ...]:
    """Return the dialect of a case; keys that a user names are a grammar of one item."""
    patterns = case["config"].get("json_patterns")
    if isinstance(patterns, list):
        return (Dialect("custom", (Json(name=tuple(each.strip('{"') for each in patterns)),)),)
    return (DIALECTS[case["strategy"]],)


def in_profile(profile: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of the call in a profile's example."""
    call = json.loads(PROFILES[profile])
    inner = call.get("tool", call)
    return inner.get("function", inner.get("name")), inner.get("parameters", inner.get("args"))


def from_text_chunk(chunk: str | dict[str, Any]) -> str | ChunkResponse:
    """Read a text, or Tarko's delta."""
    if isinstance(chunk, str):
        return chunk
    return ChunkResponse(
        content=chunk.get("content") or "",
        reasoning=chunk.get("reasoning_content") or "",
        finish_reason=chunk.get("finish_reason"),
    )


def from_text_state(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the delta that leads to the state in which Tarko's test begins."""
    text = state.get("raw_content") or state.get("content") or state.get("normal_content")
    return [{"content": text, "finish_reason": state.get("finish_reason")}] if text else []


def as_tags(events: list[dict[str, Any]]) -> list[str]:
    """Return the texts of which AutoByteus' parser makes the segment events of a call."""
    end = "</tool>"
    texts: list[str] = []
    for event in events:
        match event["type"]:
            case "SEGMENT_START" if event.get("segment_type") == "run_bash":
                texts.append('<tool name="run_bash"><arguments><arg name="command">')
                end = "</arg></arguments></tool>"
            case "SEGMENT_START":
                texts.append(f'<tool name="{event["payload"]["metadata"]["tool_name"]}">')
            case "SEGMENT_CONTENT":
                texts.append(event["payload"]["delta"])
            case _:
                texts.append(end)
    return texts
