"""Sources: turn provider streams, wire bytes, recordings and text into Observables of ChunkResponse."""

from .decode_sdk import decode_sdk
from .decode_wire import decode_wire
from .from_anthropic import from_anthropic
from .from_gemini import from_gemini
from .from_ollama import from_ollama
from .from_openai_chat import from_openai_chat
from .from_openai_responses import from_openai_responses
from .from_recording import from_recording
from .from_stream import from_stream
from .from_text import from_text
from .from_wire import from_wire
from .record import record
from .streams.wake_stream import wake_stream

__all__ = [
    "decode_sdk",
    "decode_wire",
    "from_anthropic",
    "from_gemini",
    "from_ollama",
    "from_openai_chat",
    "from_openai_responses",
    "from_recording",
    "from_stream",
    "from_text",
    "from_wire",
    "record",
    "wake_stream",
]
