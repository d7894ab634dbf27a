"""The workshop: the command line, `record`, the replay server, traces, marbles, the explorer and the app.

It imports the library; no file of the library imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from ..sources.recordings.from_recording import from_recording
    from .explorer.explore import explore
    from .marble_diagrams.marble_string import marble_string
    from .marble_diagrams.marbles import marbles
    from .record import record
    from .replay.replay_server import ReplayServer
    from .tracing.first_divergence import first_divergence
    from .tracing.trace import trace as trace
    from .tracing.trace_stream import atrace_stream, trace_stream

__all__ = [
    "ReplayServer",
    "atrace_stream",
    "explore",
    "first_divergence",
    "from_recording",
    "marble_string",
    "marbles",
    "record",
    "trace_stream",
]

# `trace` is not in `__all__`, as `import *` would then hide Python's module.
lazy_names(
    __name__,
    __all__,
    {
        ".sources.recordings.from_recording": ("from_recording",),  # its home is `penstock.sources`
        "explorer.explore": ("explore",),
        "marble_diagrams.marble_string": ("marble_string",),
        "marble_diagrams.marbles": ("marbles",),
        "replay.replay_server": ("ReplayServer",),
        "tracing.first_divergence": ("first_divergence",),
        "tracing.trace": ("trace",),
        "tracing.trace_stream": ("atrace_stream", "trace_stream"),
    },
)
