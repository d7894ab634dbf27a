"""`wake_stream`: end a blocked read of a provider's stream from another thread."""

from __future__ import annotations

import gc
import inspect
import logging
import socket
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, cast

_LOGGER = logging.getLogger("penstock")
# Their streams are plain generators, with the response somewhere inside.
_GENERATORS_OF = ("google", "ollama")
# A generator that runs is looked into in one way, one that waits in another, and it may change between the two.
_LOOKS = 3


def wake_stream(stream: object) -> bool:
    """End a blocked read of an SDK's sync stream from another thread; return whether its connection was found.

        reader    next(stream) ............ raises, or the stream is over
        other          wake_stream(stream)^

    The connection is shut down in both directions, and not closed: the operating system signals the end to the reader,
    which raises what its SDK raises for a lost connection (or ends, where the body has no stated end), and closes. A
    read that begins later ends in the same way. With TLS the socket below it is shut down, because the TLS object
    belongs to the reader, which then sees an end without a closing alert.

    Returns False, and does nothing, for a stream that has ended, has not connected yet, or is async; for one over
    HTTP/2, whose connection has other readers, too; and for a transport without a socket, such as that of a proxy or a
    test. Google's SDK, if it has a continuation token, reconnects after it has lost a connection; call the function
    again to end the new one. Never raises.
    """
    try:
        found = _socket_of(stream)
        if found is None:
            return False
        # Unbound: `SSLSocket.shutdown` would take the TLS object away from under the reader, who would then take what
        # is encrypted for text.
        socket.socket.shutdown(found, socket.SHUT_RDWR)
    except Exception:  # it is over, or the SDK is not as we know it
        _LOGGER.debug("waking a stream failed", exc_info=True)
        return False
    return True


def _socket_of(stream: Any) -> socket.socket | None:
    while not hasattr(stream, "response") and (within := getattr(stream, "_stream", None)) is not None:
        stream = within  # of the one that tells its exceptions as ours, or that is recorded
    if hasattr(stream, "__anext__"):
        return None
    response = getattr(stream, "response", None)
    for value in _values_in(stream) if response is None else (response,):
        network = _network_of(value)
        if network is not None:
            found = network.get_extra_info("socket")
            return found if isinstance(found, socket.socket) and not _is_shared(network) else None
    return None


def _network_of(value: Any) -> Any:
    """Return the network stream of an open response, or of a connection that reads."""
    value = getattr(value, "response_stream", value)  # Google's responses hold the transport's
    given = getattr(value, "extensions", None)
    extensions = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    if "network_stream" in extensions:
        is_over = bool(getattr(value, "is_closed", False))
        return None if is_over or extensions.get("http_version") == b"HTTP/2" else extensions["network_stream"]
    # Before the response has begun, its connection stands in the frame that reads.
    return value if callable(getattr(value, "get_extra_info", None)) else None


def _is_shared(network: Any) -> bool:
    tls = network.get_extra_info("ssl_object")
    return tls is not None and tls.selected_alpn_protocol() == "h2"


def _values_in(stream: Any) -> Iterator[object]:
    """Yield what an SDK's generator, and those within it, have in their variables."""
    if not inspect.isgenerator(stream) or not stream.gi_frame:
        return
    if str(stream.gi_frame.f_globals.get("__name__", "")).partition(".")[0] not in _GENERATORS_OF:
        return
    for _ in range(_LOOKS):
        for frame in _frames_above(stream.gi_frame):
            yield from list(frame.f_locals.values())
        yield from _held_by(stream)


def _frames_above(frame: FrameType) -> list[FrameType]:
    """Return the frames from a running frame to its innermost call, innermost first; none if it is not running."""
    # Documented, in spite of its name.
    for last in sys._current_frames().values():  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        frames: list[FrameType] = []
        each: FrameType | None = last
        while each is not None:
            frames.append(each)
            if each is frame:
                return frames
            each = each.f_back
    return []


def _held_by(generator: object) -> Iterator[object]:
    """Yield the objects that a suspended generator holds, also on its stack, such as one that it loops over."""
    for value in gc.get_referents(generator):
        yield value
        if inspect.isgenerator(value):
            yield from _held_by(value)
