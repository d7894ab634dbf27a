"""Sources: turn provider streams, wire bytes, recordings and text into Observables of ChunkResponse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from .failover import failover
    from .from_stream import decode_sdk, from_stream, from_text
    from .from_wire import decode_wire, from_wire
    from .recordings.from_recording import from_recording
    from .sdk_sources import from_anthropic, from_gemini, from_ollama, from_openai_chat, from_openai_responses
    from .shown import Shown
    from .streams.wake_stream import wake_stream
    from .watchdog import watchdog

__all__ = [
    "Shown",
    "decode_sdk",
    "decode_wire",
    "failover",
    "from_anthropic",
    "from_gemini",
    "from_ollama",
    "from_openai_chat",
    "from_openai_responses",
    "from_recording",
    "from_stream",
    "from_text",
    "from_wire",
    "wake_stream",
    "watchdog",
]

lazy_names(
    __name__,
    __all__,
    {
        "failover": ("failover",),
        "from_stream": ("decode_sdk", "from_stream", "from_text"),
        "from_wire": ("decode_wire", "from_wire"),
        "recordings.from_recording": ("from_recording",),
        "sdk_sources": ("from_anthropic", "from_gemini", "from_ollama", "from_openai_chat", "from_openai_responses"),
        "shown": ("Shown",),
        "streams.wake_stream": ("wake_stream",),
        "watchdog": ("watchdog",),
    },
)
