"""AWS's binary event stream, written: what the replay server sends to boto3."""

from __future__ import annotations

from binascii import crc32
from struct import pack

from ..wire.sse import SseDecoder
from .bedrock_fields import is_error_key

_LEAST = 16
"""The length of an empty frame."""
_TEXT = 7
"""The number of the type of headers that are texts."""


def event_stream(body: bytes) -> bytes:
    r"""Return named server-sent events as the frames in which Bedrock sends them; frames as they are.

    >>> event_stream(b'event: messageStop\ndata: {"stopReason": "end_turn"}\n\n')[:4]
    b'\x00\x00\x00{'
    """
    if body.startswith(b"\0"):
        return body
    return b"".join(frame(event, data.encode()) for event, data in SseDecoder().feed(body) if event)


def frame(kind: str, payload: bytes) -> bytes:
    """Return one frame: an event or an exception of this type."""
    word = "exception" if is_error_key(kind) else "event"
    headers = {":content-type": "application/json", f":{word}-type": kind, ":message-type": word}
    return framed(headers, payload)


def frame_ends(body: bytes) -> list[int]:
    """Return where the frames of a body end; what follows the last whole one belongs to none."""
    ends: list[int] = []
    at = 0
    while at + _LEAST <= len(body):
        at += max(int.from_bytes(body[at : at + 4]), _LEAST)
        if at <= len(body):
            ends.append(at)
    return ends


def framed(headers: dict[str, str], payload: bytes) -> bytes:
    """Return a frame: its lengths, their checksum, the headers, the payload and the checksum of it all."""
    head = b"".join(_header(name, value) for name, value in headers.items())
    prelude = pack("!II", len(head) + len(payload) + _LEAST, len(head))
    whole = prelude + pack("!I", crc32(prelude)) + head + payload
    return whole + pack("!I", crc32(whole))


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return pack("!B", len(key)) + key + pack("!BH", _TEXT, len(text)) + text
