"""Sources: provider streams, wire bytes, recordings and text become Observables of ChunkResponse."""

from .decode_wire import decode_wire
from .from_openai_chat import from_openai_chat
from .from_recording import from_recording
from .from_text import from_text
from .from_wire import from_wire

__all__ = ["decode_wire", "from_openai_chat", "from_recording", "from_text", "from_wire"]
