"""`Pipeline`, ready-made strategies, tools and settings. Each name is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from ..operators.calls.streamed_paths import Streamed
    from ..sinks.acting.ledger import CallKey
    from .answer import Answer
    from .call_tools import call_tools
    from .output_type import OutputType, output_options
    from .pipeline import Pipeline
    from .strategies import (
        STRATEGIES,
        TextStrategy,
        api_tool_call,
        auto,
        harmony,
        hermes,
        json_answer,
        pass_through,
        pythonic,
        qwen3_coder,
        sentinel,
        strategy_named,
        tool_call,
    )
    from .strategies import json as json
    from .strategies import xml as xml
    from .strategy_choice import Settings
    from .tool import Tool, as_tools, tool
    from .tool_schemas import FILE_TOOL_DEFINITIONS, provider_named, tool_choice, tool_schemas
    from .turns import turns

__all__ = [
    "FILE_TOOL_DEFINITIONS",
    "STRATEGIES",
    "Answer",
    "CallKey",
    "OutputType",
    "Pipeline",
    "Settings",
    "Streamed",
    "TextStrategy",
    "Tool",
    "api_tool_call",
    "as_tools",
    "auto",
    "call_tools",
    "harmony",
    "hermes",
    "json_answer",
    "output_options",
    "pass_through",
    "provider_named",
    "pythonic",
    "qwen3_coder",
    "sentinel",
    "strategy_named",
    "tool",
    "tool_call",
    "tool_choice",
    "tool_schemas",
    "turns",
]

# `json` and `xml` are not in `__all__`, as `import *` would then hide Python's modules.
lazy_names(
    __name__,
    __all__,
    {
        ".operators.calls.streamed_paths": ("Streamed",),
        ".sinks.acting.ledger": ("CallKey",),
        "answer": ("Answer",),
        "call_tools": ("call_tools",),
        "output_type": ("OutputType", "output_options"),
        "pipeline": ("Pipeline",),
        "strategies": (
            "STRATEGIES",
            "TextStrategy",
            "api_tool_call",
            "auto",
            "harmony",
            "hermes",
            "json",
            "json_answer",
            "pass_through",
            "pythonic",
            "qwen3_coder",
            "sentinel",
            "strategy_named",
            "tool_call",
            "xml",
        ),
        "strategy_choice": ("Settings",),
        "tool": ("Tool", "as_tools", "tool"),
        "tool_schemas": ("FILE_TOOL_DEFINITIONS", "provider_named", "tool_choice", "tool_schemas"),
        "turns": ("turns",),
    },
)
