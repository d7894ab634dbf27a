"""The values of the header `Host` that a server on this machine answers to.

A page of the web can let its own name point to this machine (DNS rebinding) and then read what a server here answers.
The browser sends the page's name as `Host`, so a request with a name that is not the server's is refused.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection

from .request import is_this_machine

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/?#@\[\]]+?)\.?)(?::[0-9]{0,5})?")
_EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not bound
_SHOWN = 100


class ServedHosts:
    """The hosts that a server answers to: this machine, the address where it listens, and names allowed by the user.

    A server that listens everywhere also answers to every plain IP address and to this machine's own name. A page on
    the web always has a name, never a plain address.
    """

    def __init__(self, listens_at: str = "127.0.0.1", names: Collection[str] = ()) -> None:
        self._takes_addresses = listens_at in _EVERYWHERE
        own = (socket.gethostname(),) if self._takes_addresses else (listens_at,)
        self._names = frozenset(name.lower().rstrip(".") for name in (*own, *names))

    def has(self, header: str | None) -> bool:
        """Return whether a request's `Host` header, with any port, names this server.

        >>> hosts = ServedHosts()
        >>> hosts.has("localhost:8080"), hosts.has("[::1]:8080"), hosts.has("example.org"), hosts.has(None)
        (True, True, False, False)
        """
        found = _HOST.fullmatch(header or "")
        if found is None:
            return False
        host = (found[1] or found[2]).lower()
        return is_this_machine(host) or host in self._names or (self._takes_addresses and _is_address(host))

    def refusal(self, header: str | None) -> str:
        """Return the error message for a request with another `Host`."""
        asked = "a request without Host" if header is None else f"Host {header[:_SHOWN]!r}"
        others = sorted(self._names - {"127.0.0.1", "::1", "localhost"})
        known = ", ".join(["localhost", "127.0.0.1", "[::1]", *others])
        return f"this server does not answer {asked}; it answers to {known}"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
