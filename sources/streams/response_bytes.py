"""The bytes of an SDK's response, read in place of the SDK: its request, its retries and its errors stay the SDK's."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

from ...events.errors import ProviderError, UsageError
from ...operators.engine.pump import close_all
from ..base.endings import error_in_body
from ..base.sdk_fields import fields_of
from ..framing.served import WireBody
from .workarounds import close_request

_LOGGER = logging.getLogger("penstock")
_CLIENTS = ("httpx", "httpx2")
_SDKS = ("anthropic", "openai")
_AWS = "application/vnd.amazon.eventstream"
_DRAINED_FOR = 0.1
"""Seconds that the rest of a body behind its last event is waited for, as OpenAI's async client does."""


def raw_bytes(source: Any) -> Iterator[Any] | AsyncIterator[Any] | None:
    """Return the bytes of a response that an SDK has not decoded; None for anything else.

    That is what `with_streaming_response.create(...)` and `with_raw_response.create(...)` of OpenAI's and Anthropic's
    clients return, the response that Google's transport returns, and an open response of `httpx2` or `httpx`. The first
    item is a `WireBody`, the others are bytes.
    """
    if isinstance(source, _Bytes | _AsyncBytes):
        return source
    root, kind = _root_of(source), type(source).__name__
    if root in _SDKS and kind in ("ResponseContextManager", "AsyncResponseContextManager"):
        return _AsyncBytes(source, root) if kind.startswith("Async") else _Bytes(source, root)
    if root in _SDKS and _is_response(getattr(source, "http_response", None)):
        _check_streams(source)
        return _opened(source.http_response, root)
    if root == "google" and _is_response(getattr(source, "response_stream", None)):
        return _opened(source.response_stream, root)
    return _opened(source, root) if _is_response(source) else None


def bytes_of_stream(stream: Any, *, name: str) -> Iterator[Any] | AsyncIterator[Any]:
    """Return the bytes of an SDK's stream that nothing has been read from; `UsageError` for anything else."""
    response = getattr(stream, "response", None)
    if not _is_response(response):
        message = (
            f'{name} got decode="wire" and a {type(stream).__qualname__}, which has no response to read; pass what '
            "create(..., stream=True) of OpenAI's, Anthropic's or Mistral's client returns, or leave decode= out"
        )
        raise UsageError(message)
    return _opened(response, _root_of(stream), stream)


def _opened(response: Any, root: str, stream: Any = None) -> Iterator[Any] | AsyncIterator[Any]:
    _check_unread(response)
    closed = response if stream is None else stream
    if _is_async(response):
        return _AsyncBytes(None, root, response, closed)
    return _Bytes(None, root, response, closed)


class _Bytes:
    """The bytes of a sync response; it may be opened when the first item is asked for."""

    def __init__(self, manager: Any, root: str, response: Any = None, closed: Any = None) -> None:
        self._manager, self._root, self._closed = manager, root, closed
        self.response = response
        """The response, which `wake_stream` shuts down; None before the request is made."""
        self._pieces: Iterator[bytes] | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        if self._pieces is None:
            return self._begin()
        try:
            return next(self._pieces)
        except StopIteration:
            raise
        except Exception as error:
            raise _as_sdk(error, self._root, self.response) from error

    def close(self) -> None:
        pieces, self._pieces = self._pieces, iter(())
        try:
            close_all(pieces)
        finally:
            if self._closed is not None:
                self._closed.close()

    def _begin(self) -> WireBody:
        if self.response is None:
            opened = self._manager.__enter__()
            self.response = self._closed = opened.http_response
            _check_streams(opened)
        if self.response.status_code >= 400:
            self.response.read()
            raise status_error(self.response.status_code, self.response.content)
        self._pieces = self.response.iter_bytes()
        return _body_of(self.response, self._root)


class _AsyncBytes:
    """The bytes of an async response; it may be opened when the first item is asked for."""

    def __init__(self, manager: Any, root: str, response: Any = None, closed: Any = None) -> None:
        self._manager, self._root, self._closed = manager, root, closed
        self.response = response
        self._pieces: AsyncIterator[bytes] | None = None
        self._is_begun = False
        self._last = b""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if self._pieces is None:
            return await self._begin()
        try:
            self._last = await anext(self._pieces)
        except StopAsyncIteration:
            raise
        except Exception as error:
            raise _as_sdk(error, self._root, self.response) from error
        return self._last

    async def aclose(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            close_request(self._manager)
        pieces, self._pieces = self._pieces, _nothing()
        try:
            if pieces is not None:
                await self._drain(pieces)
                if (aclose := getattr(pieces, "aclose", None)) is not None:
                    await aclose()
        finally:
            if self._closed is not None:
                await (getattr(self._closed, "aclose", None) or self._closed.close)()

    async def _begin(self) -> WireBody:
        self._is_begun = True
        if self.response is None:
            opened = await self._manager.__aenter__()
            self.response = self._closed = opened.http_response
            _check_streams(opened)
        if self.response.status_code >= 400:
            await self.response.aread()
            raise status_error(self.response.status_code, self.response.content)
        self._pieces = self.response.aiter_bytes()
        return _body_of(self.response, self._root)

    async def _drain(self, pieces: AsyncIterator[bytes]) -> None:
        """Read what stands behind the last event: HTTP/1.1 uses a connection again only after a whole body."""
        if self._last.rstrip().endswith(b"[DONE]") and self.response.http_version == "HTTP/1.1":
            try:
                async with asyncio.timeout(_DRAINED_FOR):
                    async for _ in pieces:
                        pass
            except Exception:  # the answer is whole, and the connection is closed in place of kept
                _LOGGER.debug("reading behind the last event failed", exc_info=True)


async def _nothing() -> AsyncIterator[bytes]:
    nothing: tuple[bytes, ...] = ()
    for each in nothing:
        yield each


def _body_of(response: Any, root: str) -> WireBody:
    if str(response.headers.get("content-type", "")).startswith(_AWS):
        message = (
            "this response is in Amazon's event stream format, which only the SDK decodes; pass what "
            "create(..., stream=True) returns, and leave decode= out"
        )
        raise UsageError(message)
    return WireBody(root, str(response.request.url.path))


def _check_unread(response: Any) -> None:
    if not (response.is_stream_consumed or response.is_closed):
        return
    try:
        _ = response.content  # of a body that was read whole, as tests make them, the bytes are still there
    except Exception as error:
        message = "this stream was read or closed before; pass it unread, or a callable that makes a new request"
        raise UsageError(message) from error


def _check_streams(opened: Any) -> None:
    """Raise `UsageError` for the raw response of a request that was not for a stream."""
    if not getattr(opened, "_is_sse_stream", getattr(opened, "_stream", True)):
        message = f"got the {type(opened).__name__} of a whole answer; pass stream=True to create(...)"
        raise UsageError(message)


def status_error(status: int, content: bytes) -> ProviderError:
    """Return the error of a response that no SDK has looked at.

    >>> str(status_error(429, b'{"error": {"message": "slow down", "type": "rate_limit_error"}}'))
    'provider error (429, rate_limit_error): slow down'
    """
    try:
        body: Any = json.loads(content)
    except ValueError:
        body = content.decode(errors="replace")
    found = error_in_body((fields_of(body) or {}).get("error") or body)
    return ProviderError(found.detail, code=found.code, type=found.type, status=status)


def _as_sdk(error: Exception, root: str, response: Any) -> Exception:
    """Return an exception of the connection as the SDK raises it: OpenAI's has its own, the others pass httpx's on."""
    if root != "openai":
        return error
    kinds = {kind.__name__ for kind in type(error).__mro__}
    sdk: Any = sys.modules["openai"]
    ours: Exception = error
    if "TimeoutException" in kinds:
        ours = sdk.APITimeoutError(request=response.request)
    elif kinds & {"RequestError", "SSLError", "EndOfStream"}:
        ours = sdk.APIConnectionError(request=response.request)
    return ours


def _is_response(value: Any) -> bool:
    return type(value).__name__ == "Response" and _root_of(value) in _CLIENTS


def _is_async(response: Any) -> bool:
    stream = response.stream
    return hasattr(stream, "__aiter__") and not hasattr(stream, "__iter__")


def _root_of(value: object) -> str:
    return type(value).__module__.partition(".")[0]
