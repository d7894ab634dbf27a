"""`is_refusal`: whether a request failed before it had a stream."""

from __future__ import annotations

_NOT_CONNECTED = frozenset({"ConnectError", "ConnectTimeout", "ClientConnectorError", "ConnectionRefusedError"})
"""What httpx, aiohttp and the system raise for a server that they do not reach."""


def is_refusal(error: BaseException) -> bool:
    """Return whether an SDK got an HTTP error in place of a stream, or no connection.

    An error inside a stream comes with the response's status, which is 200, or with none.

    >>> is_refusal(ConnectionRefusedError()), is_refusal(ConnectionResetError())
    (True, False)
    """
    raised = error.__cause__ or error  # ours come from the SDK's
    if _NOT_CONNECTED & {kind.__name__ for kind in type(raised).__mro__}:
        return True
    response = getattr(raised, "response", None)
    status = getattr(raised if response is None else response, "status_code", None)
    return isinstance(status, int) and 400 <= status < 600
