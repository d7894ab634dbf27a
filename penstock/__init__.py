"""Act on a language model's output while it is still streaming.

The names of a first hour are here; each room has all of its own:
`penstock.events`, `penstock.operators`, `penstock.sources`, `penstock.sinks`, `penstock.pipeline`,
`penstock.gateway`, `penstock.scale`, and the workshop `penstock.studio`.
"""

from __future__ import annotations

import os.path
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.events import (
        AnswerEnd,
        ChunkResponse,
        InvocationFailed,
        Notice,
        ProviderError,
        SegmentContent,
        SegmentEnd,
        SegmentStart,
        ToolCallDelta,
        ToolInvocation,
        ToolResult,
        UsageError,
    )
    from penstock.operators import Dialect, adrive, compose, drive, lift, parse_text, stage, to_invocations, to_segments
    from penstock.pipeline import Pipeline, Tool, call_tools, tool, turns
    from penstock.sinks import acollect, collect, terminal_view, write_files

__all__ = [
    "AnswerEnd",
    "ChunkResponse",
    "Dialect",
    "InvocationFailed",
    "Notice",
    "Pipeline",
    "ProviderError",
    "SegmentContent",
    "SegmentEnd",
    "SegmentStart",
    "Tool",
    "ToolCallDelta",
    "ToolInvocation",
    "ToolResult",
    "UsageError",
    "acollect",
    "adrive",
    "call_tools",
    "collect",
    "compose",
    "drive",
    "lift",
    "parse_text",
    "stage",
    "terminal_view",
    "to_invocations",
    "to_segments",
    "tool",
    "turns",
    "write_files",
]

ROOMS = ("events", "operators", "sources", "sinks", "pipeline", "gateway", "scale", "studio")
"""The folders of Penstock. All that builds, checks and tests it reads here what they are called and where they lie."""

_HERE = os.path.dirname(__file__)  # noqa: PTH120 - importing pathlib takes longer than all that is done here
if not os.path.isdir(os.path.join(_HERE, ROOMS[0])):  # noqa: PTH112, PTH118
    # This is a clone: its rooms lie beside this folder.
    __path__.append(os.path.dirname(_HERE))  # noqa: PTH120


def __getattr__(name: str) -> Any:
    """Import a public name from its room when it is first used, so that `import penstock.operators` stays small."""
    if name == "__version__":
        return _version()
    if name in ROOMS:
        return import_module(f".{name}", __name__)
    if name in __all__:
        for room in ROOMS:
            names = import_module(f".{room}", __name__)
            if name in names.__all__:
                value = globals()[name] = getattr(names, name)
                return value
    message = f"module {__name__!r} has no attribute {name!r}; {_hint(name)}"
    raise AttributeError(message)


def _hint(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a message

    if near := get_close_matches(name, __all__, 1):
        return f"did you mean {near[0]!r}?"
    rooms = ", ".join(f"{__name__}.{room}" for room in ROOMS)
    return f"look for it in {rooms}"


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *ROOMS, "__version__"})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow, and rarely asked for

    try:
        return version(__name__)
    except PackageNotFoundError:
        return "0+checkout"
