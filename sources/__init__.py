"""Sources: turn provider streams, wire bytes and text into Observables of ChunkResponse."""

from .from_stream import decode_sdk, from_stream, from_text
from .from_wire import decode_wire, from_wire
from .sdk_sources import from_anthropic, from_gemini, from_ollama, from_openai_chat, from_openai_responses
from .streams.wake_stream import wake_stream

__all__ = [
    "decode_sdk",
    "decode_wire",
    "from_anthropic",
    "from_gemini",
    "from_ollama",
    "from_openai_chat",
    "from_openai_responses",
    "from_stream",
    "from_text",
    "from_wire",
    "wake_stream",
]
