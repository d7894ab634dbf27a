"""`WireBody`: the first item of a stream of bytes, which says whose answer they are."""

from __future__ import annotations

from typing import NamedTuple


class WireBody(NamedTuple):
    """The SDK that got a response, and the path that its request went to; the pieces of the body follow it."""

    sdk: str
    path: str
