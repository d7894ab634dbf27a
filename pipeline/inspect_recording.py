"""What a recorded answer amounts to, by the bytes of its wire or through the provider's real SDK."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from msgspec import structs
from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import ProviderError, UsageError
from ..sources.apis import APIS, api_of
from ..sources.from_recording import recognised_api
from ..sources.from_wire import from_wire
from ..sources.loopback_server import LoopbackServer
from ..sources.provider_error import error_in_body
from .inspect_chunks import Inspected, error_record, inspect_chunks
from .loopback_sdks import SDKS
from .strategies import api_tool_call
from .strategy import Strategy

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
        body = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = error.strerror if isinstance(error, OSError) else error
        message = f"cannot be read: {reason}"
        raise UsageError(message) from error
    name = api_of(api).name if api is not None else _recognised(body)
    with (_by_sdk if via == "sdk" else _by_wire)(name, body) as chunks:
        answer = inspect_chunks(chunks, strategy())
    if answer == _NOTHING and body.strip():
        return name, structs.replace(answer, error=_no_answer(name, body))
    return name, answer


_NOTHING = Inspected("", 0, (), None, None, None)


def _no_answer(api: str, body: bytes) -> dict[str, Any]:
    """Say what a body is that has no answer in it: often the provider's error, which came instead of the stream."""
    try:
        whole: Any = json.loads(body)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and "error" in whole:
        error = error_in_body(cast("dict[str, Any]", whole)["error"])
    elif whole is not None:
        error = ProviderError(f"a whole JSON document, and no stream of {api}", type="no_stream")
    else:
        error = ProviderError(f"no event of {api} in {len(body):,} bytes", type="no_stream")
    return error_record(error)


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
