"""`Upstream`: the server of the model: what it is, what models it has, and the stream of an answer."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator, Mapping
from time import monotonic
from typing import Any, Final, NamedTuple, Self, cast

import httpx2

from ...events.errors import ProviderError, UsageError
from ...sinks.running.event_pump import close_both
from ...sources.base.endings import reported_error
from ...sources.base.sdk_fields import Fields, fields_of
from ...sources.streams.bounded_read import LONGEST, too_long
from ..completion_body import GENERATE
from ..operating.listening import checked_upstream
from ..upstream_body import Lane
from .api_errors import upstream_error
from .server_profiles import PARSING, PROFILES, Profile, ServerName, find_server, models_in

CHAT: Final = "/v1/chat/completions"
_LONGEST_ERROR: Final = 64 * 1024
_EVENT: Final = re.compile(rb"(?:\xef\xbb\xbf)?(?:data|event|id|retry)?:")
_FINDING: Final = 5.0
"""Seconds that a server has to say what it is."""
_COUNTING: Final = 30.0
"""Seconds that a server has to count the tokens of a request."""
_LONGEST_LIST: Final = 4 * 1024 * 1024
"""Bytes of what a server says of itself: the list of its models, and the template that llama.cpp has in it."""
AWAY: Final = 5.0
"""Seconds for which a server that could not be reached is not asked, if there is another one."""
_ONE_TOOL: Final = {"type": "function", "function": {"name": "none", "parameters": {"type": "object"}}}


class Found(NamedTuple):
    """What is known of the server."""

    server: ServerName
    lane: Lane
    why: str
    models: tuple[Fields, ...]

    @property
    def profile(self) -> Profile:
        return PROFILES[self.server]


class Upstream:
    """A server with OpenAI's chat completions, by its address with or without `/v1`.

    - `server`: which one it is; by default it is found out by `find`.
    - `key`: sent as a bearer token in place of what the client sends.
    - `silence`: seconds without a byte after which a stream counts as broken.

    `UsageError` for what is no address, and for a key that no header can have.
    """

    def __init__(
        self, url: str, *, server: ServerName | None = None, key: str | None = None, silence: float = 600.0
    ) -> None:
        checked_upstream(url)
        self.url = url.rstrip("/").removesuffix("/v1")
        self._given: ServerName | None = server
        self._key = checked_key(key)
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(silence, connect=10.0), limits=httpx2.Limits(max_connections=None), trust_env=False
        )
        self._found: Found | None = None
        self._away_until = -math.inf

    @property
    def is_away(self) -> bool:
        """Whether the server could not be reached a moment ago."""
        return monotonic() < self._away_until

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def find(self) -> Found:
        """Return what the server is; it is asked until it has answered once.

        `ProviderError` if it does not answer.
        """
        if self._found is None:
            listed = await self._get("/v1/models", strict=True)
            server: ServerName = self._given or await find_server(self._get, listed)
            models = models_in(listed)
            lane, why = PROFILES[server].lane, PROFILES[server].why
            if server == "vllm" and models and await self._has_parser(models[0]["id"]):
                lane, why = "parsed", PARSING
            found = Found(server, lane, why, models)
            if not models:  # it may answer later, or to those with a key only
                return found
            self._found = found
        return self._found

    async def stream(self, body: Mapping[str, Any], headers: Mapping[str, str], path: str = CHAT) -> httpx2.Response:
        """Return the open response to a request; who takes it must close it.

        `ProviderError` where the connection fails, and for any other status than 2xx.
        """
        request = self._http.build_request("POST", self.url + path, json=dict(body), headers=self._headers(headers))
        try:
            response = await self._http.send(request, stream=True)
        except httpx2.TransportError as error:
            if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
                self._away_until = monotonic() + AWAY
            raise _lost(error) from error
        if response.is_success:
            return response
        try:
            raise upstream_error(response.status_code, await _beginning(response), response.headers.get("retry-after"))
        finally:
            await response.aclose()

    async def count_tokens(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> int | None:
        """Return how many tokens the server counts in a request; None if it does not count."""
        if (counts := (await self.find()).profile.counts) is None:
            return None
        path, key = counts
        try:
            request = {"json": dict(body), "headers": self._headers(headers)}
            counted = await self._json("POST", path, _COUNTING, **request)
        except (httpx2.RequestError, TimeoutError):
            return None
        number = (fields_of(counted) or {}).get(key)
        return number if isinstance(number, int) else None

    def _headers(self, client: Mapping[str, str]) -> dict[bytes, bytes]:
        headers = {name.encode(): value.encode("latin-1") for name, value in client.items()}  # the bytes that came
        return headers | ({b"authorization": f"Bearer {self._key}".encode()} if self._key else {})

    async def _get(self, path: str, *, strict: bool = False) -> Any:
        try:
            return await self._json("GET", path, _FINDING, headers=self._headers({}))
        except (httpx2.RequestError, TimeoutError) as error:
            if strict:
                self._away_until = monotonic() + AWAY
                raise _lost(error) from error
            return None

    async def _json(self, method: str, path: str, within: float, **request: Any) -> Any:
        """Return the JSON of a short answer; None if it is no JSON, is too long, or has another status than 2xx."""
        async with asyncio.timeout(within), self._http.stream(method, self.url + path, **request) as response:
            text = await _beginning(response, _LONGEST_LIST + 1) if response.is_success else b""
        try:
            return json.loads(text) if 0 < len(text) <= _LONGEST_LIST else None
        except (ValueError, RecursionError):
            return None

    async def _has_parser(self, model: str) -> bool:
        """Return whether vLLM makes calls of what its model writes: without a parser it refuses `auto`."""
        asked = {"model": model, "messages": [{"role": "user", "content": "-"}], "max_tokens": 1, "tools": [_ONE_TOOL]}
        request = self._http.stream("POST", self.url + CHAT, json=asked, headers=self._headers({}))
        try:
            async with request as response:  # of whose body nothing is needed
                return response.is_success
        except httpx2.RequestError:
            return False


async def source_of(response: httpx2.Response) -> Any:
    """Return what a pipeline reads: the open response, or the object of a server that did not stream when asked to.

    What it begins with tells which it is: servers send either under the type of the other. `ProviderError` for an
    object that is no answer. Ollama's stream is of objects, and one of them alone is a whole answer, too.
    """
    if response.request.url.path.endswith(GENERATE):
        return response
    is_object = "json" in response.headers.get("content-type", "")
    if "content-encoding" not in response.headers:
        response.stream = body = _Peeked(cast("httpx2.AsyncByteStream", response.stream))
        try:
            beginning = await body.begin()
        except httpx2.TransportError as error:
            await response.aclose()
            raise _lost(error) from error
        is_object = beginning[:1] in (b"{", b"[") or (is_object and _EVENT.match(beginning) is None)
    if not is_object:
        return response
    try:
        whole = await _beginning(response, LONGEST + 1)
    except httpx2.TransportError as error:
        raise _lost(error) from error
    finally:
        await response.aclose()
    if len(whole) > LONGEST:
        raise upstream_error(502, f"the answer is in one piece, and {too_long(LONGEST)}".encode())
    try:
        answer = json.loads(whole)
    except (ValueError, RecursionError) as error:
        raise upstream_error(502, whole) from error
    fields = fields_of(answer) or {}
    if not isinstance(fields.get("choices"), list) and reported_error(fields) is None:
        raise upstream_error(502, whole)
    return [answer]


class _Peeked(httpx2.AsyncByteStream):
    """The bytes of a body, the first of which may be looked at before the others are asked for.

    Blanks before these are left out: a server may send them for ever.
    """

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream
        self._pieces = aiter(stream)
        self._first = b""

    async def begin(self) -> bytes:
        """Return the beginning of the body, without blanks in front; empty if there is nothing else."""
        async for piece in self._pieces:
            if said := piece.lstrip():
                self._first = piece
                return said
        return b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._first:
            yield self._first
        async for piece in self._pieces:
            yield piece

    async def aclose(self) -> None:
        await close_both(self._pieces, self._stream)


def checked_key(key: str | None) -> str | None:
    """Return a key without the blanks around it, as of a file that it was read from."""
    bare = None if key is None else key.strip()
    if bare and not bare.isprintable():  # what refuses such a header tells it to all
        message = "a key has a line end or a control character; set it as one line"
        raise UsageError(message)
    return bare


def _lost(error: httpx2.RequestError | TimeoutError) -> ProviderError:
    return ProviderError(str(error) or type(error).__name__, type=type(error).__name__, transport=True)


async def _beginning(response: httpx2.Response, longest: int = _LONGEST_ERROR) -> bytes:
    """Return a body, of a longer one as much as came until it was that."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) >= longest:
            break
    return bytes(body)
