"""`Pipeline`, ready-made strategies, tools, settings, and the command line.

Each name is imported when it is first used, because the command line is here, too, and its help needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from .answers.answer import Answer
    from .explorer.explore import explore
    from .outputs.output_options import output_options
    from .outputs.output_type import OutputType
    from .pipeline import Pipeline
    from .runs.async_run import AsyncRun
    from .runs.run import Run
    from .settings import Settings
    from .strategies.strategies import STRATEGIES, api_tool_call, pass_through
    from .strategies.strategy import PipelineEvent, StrategyEvent
    from .strategies.text_strategies import (
        auto,
        harmony,
        hermes,
        json_answer,
        pythonic,
        qwen3_coder,
        sentinel,
        tool_call,
    )
    from .strategies.text_strategies import json as json
    from .strategies.text_strategies import xml as xml
    from .strategies.text_strategy import TextStrategy
    from .tools.call_tools import call_tools
    from .tools.file_tools import FILE_TOOL_DEFINITIONS
    from .tools.streamed import Streamed
    from .tools.tool import Tool, as_tools, tool
    from .tools.tool_choice import tool_choice
    from .tools.tool_schemas import tool_schemas

__all__ = [
    "FILE_TOOL_DEFINITIONS",
    "STRATEGIES",
    "Answer",
    "AsyncRun",
    "OutputType",
    "Pipeline",
    "PipelineEvent",
    "Run",
    "Settings",
    "StrategyEvent",
    "Streamed",
    "TextStrategy",
    "Tool",
    "api_tool_call",
    "as_tools",
    "auto",
    "call_tools",
    "explore",
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
]

# `json` and `xml` are not in `__all__`, as `import *` would then hide Python's modules.
lazy_names(
    __name__,
    __all__,
    {
        "answers.answer": ("Answer",),
        "explorer.explore": ("explore",),
        "outputs.output_options": ("output_options",),
        "outputs.output_type": ("OutputType",),
        "pipeline": ("Pipeline",),
        "runs.async_run": ("AsyncRun",),
        "runs.run": ("Run",),
        "settings": ("Settings",),
        "strategies.strategy": ("PipelineEvent", "StrategyEvent"),
        "strategies.strategies": ("STRATEGIES", "api_tool_call", "pass_through"),
        "strategies.text_strategies": (
            "auto",
            "harmony",
            "hermes",
            "json",
            "json_answer",
            "pythonic",
            "qwen3_coder",
            "sentinel",
            "tool_call",
            "xml",
        ),
        "strategies.text_strategy": ("TextStrategy",),
        "tools.call_tools": ("call_tools",),
        "tools.file_tools": ("FILE_TOOL_DEFINITIONS",),
        "tools.streamed": ("Streamed",),
        "tools.tool": ("Tool", "as_tools", "tool"),
        "tools.tool_choice": ("tool_choice",),
        "tools.tool_schemas": ("tool_schemas",),
    },
)
