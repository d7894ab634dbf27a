"""`Pipeline`, ready-made strategies, tools and settings. Each name is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from .answers.answer import Answer
    from .outputs.output_type import OutputType, output_options
    from .pipeline import Pipeline
    from .runs.turns import turns
    from .settings import Settings
    from .strategies.strategies import (
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
        tool_call,
    )
    from .strategies.strategies import json as json
    from .strategies.strategies import xml as xml
    from .tools.call_tools import call_tools
    from .tools.file_tools import FILE_TOOL_DEFINITIONS
    from .tools.streamed import Streamed
    from .tools.tool import Tool, as_tools, tool
    from .tools.tool_schemas import tool_choice, tool_schemas

__all__ = [
    "FILE_TOOL_DEFINITIONS",
    "STRATEGIES",
    "Answer",
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
    "pythonic",
    "qwen3_coder",
    "sentinel",
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
        "answers.answer": ("Answer",),
        "outputs.output_type": ("OutputType", "output_options"),
        "pipeline": ("Pipeline",),
        "runs.turns": ("turns",),
        "settings": ("Settings",),
        "strategies.strategies": (
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
            "tool_call",
            "xml",
        ),
        "tools.call_tools": ("call_tools",),
        "tools.file_tools": ("FILE_TOOL_DEFINITIONS",),
        "tools.streamed": ("Streamed",),
        "tools.tool": ("Tool", "as_tools", "tool"),
        "tools.tool_schemas": ("tool_choice", "tool_schemas"),
    },
)
