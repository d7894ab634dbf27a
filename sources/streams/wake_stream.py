"""`wake_stream`: end a blocked read of a provider's stream from another thread."""

from __future__ import annotations

import logging
import socket
from typing import Any, cast

from .guarded_stream import GuardedStream
from .sdk_stream import unwrapped
from .workarounds import values_in

_LOGGER = logging.getLogger("penstock")


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
        _leave(stream)
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


def _leave(stream: Any) -> None:
    """Tell the guards around a stream that nobody waits for another one."""
    while stream is not None:
        if isinstance(stream, GuardedStream):
            stream.is_left = True
        stream = getattr(stream, "_stream", None)


def _socket_of(stream: Any) -> socket.socket | None:
    stream = unwrapped(stream)
    if hasattr(stream, "__anext__"):
        return None
    response = getattr(stream, "response", None)
    for value in values_in(stream) if response is None else (response,):
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
