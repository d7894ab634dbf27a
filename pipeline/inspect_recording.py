"""What a recorded answer amounts to, by the bytes of its wire or through the provider's real SDK."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..sources.apis import APIS, api_of
from ..sources.from_recording import recognised_api
from ..sources.from_wire import from_wire
from ..sources.loopback_server import LoopbackServer
from .inspect_chunks import Inspected, inspect_chunks
from .loopback_sdks import SDKS
from .strategies import Strategy, api_tool_call

Via: TypeAlias = Literal["wire", "sdk"]


def inspect_recording(
    path: str,
    *,
    api: str | None = None,
    via: Via = "wire",
    strategy: Strategy = api_tool_call,
) -> tuple[str, Inspected]:
    """Give the name of a recording's API and what the answer amounts to; all of n choices count.

    `via`: "wire" decodes the bytes, "sdk" plays them over a local connection to the provider's SDK. `UsageError` for a
    file that cannot be read and for a body whose API is not known; what went wrong inside the answer stands in it.
    """
    try:
        body = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = error.strerror if isinstance(error, OSError) else error
        message = f"cannot be read: {reason}"
        raise UsageError(message) from error
    name = api_of(api).name if api is not None else _recognised(body)
    with (_by_sdk if via == "sdk" else _by_wire)(name, body) as chunks:
        return name, inspect_chunks(chunks, strategy())


@contextmanager
def _by_wire(api: str, body: bytes) -> Generator[Observable[ChunkResponse], None, None]:
    yield from_wire(api, [body], choices="all")


@contextmanager
def _by_sdk(api: str, body: bytes) -> Generator[Observable[ChunkResponse], None, None]:
    if api not in SDKS:
        message = f"no SDK is at hand for {api!r}; use --via wire"
        raise UsageError(message)
    with LoopbackServer(body) as server, SDKS[api](server.url) as chunks:
        yield chunks


def _recognised(body: bytes) -> str:
    try:
        return recognised_api(body)
    except UsageError as error:
        known = ", ".join(api.name for api in APIS)
        message = f"its content does not say which API it is of; name it with --api, one of: {known}"
        raise UsageError(message) from error
