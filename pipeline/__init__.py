"""`Pipeline`, ready-made strategies, tools, settings, and the command line.

`json` and `xml` are imported by name only: a star would hide the standard library's modules.
"""

from .pipeline import Pipeline
from .runs.async_run import AsyncRun
from .runs.run import Run
from .settings import Settings
from .strategies.strategies import STRATEGIES, api_tool_call, pass_through
from .strategies.text_strategies import (
    auto,
    harmony,
    hermes,
    pythonic,
    qwen3_coder,
    sentinel,
    structured_output,
    tool_call,
)
from .strategies.text_strategies import (
    json as json,
)
from .strategies.text_strategies import (
    xml as xml,
)
from .strategies.text_strategy import TextStrategy
from .tools.file_tools import FILE_TOOL_DEFINITIONS
from .tools.tool import Tool, as_tools, tool
from .tools.tool_choice import tool_choice
from .tools.tool_schemas import tool_schemas

__all__ = [
    "FILE_TOOL_DEFINITIONS",
    "STRATEGIES",
    "AsyncRun",
    "Pipeline",
    "Run",
    "Settings",
    "TextStrategy",
    "Tool",
    "api_tool_call",
    "as_tools",
    "auto",
    "harmony",
    "hermes",
    "pass_through",
    "pythonic",
    "qwen3_coder",
    "sentinel",
    "structured_output",
    "tool",
    "tool_call",
    "tool_choice",
    "tool_schemas",
]
