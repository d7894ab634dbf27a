"""`Provider`: the server that a proxy asks: with the method, the path, the headers and the body of its client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Final, Self

import httpx2
from starlette.requests import Request

from ...events.errors import UsageError
from ...gateway.operating.listening import checked_upstream
from ...sources.base.request import is_this_machine

Headers = list[tuple[bytes, bytes]]
_HOP_BY_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te")
) | {b"trailer", b"transfer-encoding", b"upgrade"}
_OWN: Final = b"x-penstock-"
"""How the headers begin that are for the buffer itself."""
_DECODED: Final = frozenset(("identity", "gzip", "x-gzip", "deflate"))


class Provider:
    """The server that is asked, by its address, which may have a path in front of those of the requests.

    - `silence`: seconds without a byte after which a response counts as broken.

    `UsageError` for what is no address.
    """

    def __init__(self, url: str, *, silence: float) -> None:
        self._url = checked_upstream(url, "https://api.openai.com")
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(silence, connect=10.0, pool=None),
            limits=httpx2.Limits(max_connections=None),
            trust_env=not is_this_machine(self._url.host),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    def request(self, request: Request, body: bytes | AsyncIterator[bytes]) -> httpx2.Request:
        """Return what is asked for a client's request; `UsageError` for one whose target is no path.

        A body that is whole is one to be kept, so that the answer is asked for as it is, not compressed.
        """
        query: bytes = request.scope["query_string"]
        target: bytes = request.scope["raw_path"] + (b"?" + query if query else b"")
        if not target.startswith(b"/"):
            message = "the target of a request must be a path, such as /v1/responses"
            raise UsageError(message)
        url = self._url.copy_with(raw_path=self._url.raw_path.partition(b"?")[0].rstrip(b"/") + target)
        headers: Headers = [
            each for each in end_to_end(request.headers.raw) if each[0] != b"host" and not each[0].startswith(_OWN)
        ]
        if isinstance(body, bytes):
            headers = [each for each in headers if each[0] not in (b"accept-encoding", b"content-length", b"expect")]
            headers.append((b"accept-encoding", b"identity"))
        content = body if isinstance(body, bytes) or has_body(request) else None
        return httpx2.Request(request.method, url, headers=headers, content=content)

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Return the open response, a redirect too; who takes it must close it."""
        response = await self._http.send(request, stream=True, follow_redirects=False)
        location = response.headers.get("location", "")
        base = str(self._url).rstrip("/")
        if location.startswith(f"{base}/"):  # to itself, where the buffer stands in front of it
            response.headers["location"] = location.removeprefix(base)
        return response


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers that a proxy passes on, their names in lower case.

    >>> end_to_end([(b"Connection", b"close, X-Mine"), (b"X-Mine", b"1"), (b"Accept", b"*/*")])
    [(b'accept', b'*/*')]
    """
    given = [(name.lower(), value) for name, value in headers]
    named = {each.strip().lower() for name, value in given if name == b"connection" for each in value.split(b",")}
    return [(name, value) for name, value in given if name not in _HOP_BY_HOP and name not in named]


def read_response(response: httpx2.Response) -> tuple[Headers, AsyncIterator[bytes]]:
    """Return the headers for a client, and the body, decoded if it was compressed although that was not asked for.

    In a compression that not every Python knows it stays as it came.
    """
    headers = end_to_end(response.headers.raw)
    encodings = {each.strip().lower() for each in response.headers.get("content-encoding", "identity").split(",")}
    if not encodings <= _DECODED:
        return headers, response.aiter_raw()
    if encodings != {"identity"}:
        headers = [each for each in headers if each[0] not in (b"content-encoding", b"content-length")]
    return headers, response.aiter_bytes()


def has_body(request: Request) -> bool:
    """Return whether a request has a body, by its headers."""
    return "content-length" in request.headers or "transfer-encoding" in request.headers
