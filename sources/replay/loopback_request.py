"""One request to a `LoopbackServer`: read within bounds, or refused in a plain sentence."""

from __future__ import annotations

from asyncio import IncompleteReadError, LimitOverrunError, StreamReader, StreamWriter

from ..streams.bounded_read import LONGEST_BODY
from .served_hosts import ServedHosts

LONGEST_HEAD = 64 * 1024
"""Bytes of a request's headers."""
_PIECE = 64 * 1024
_HOSTS = ServedHosts()


async def next_request(reader: StreamReader, writer: StreamWriter) -> bool:
    """Read one request and drop its body; return False if the client closed or was refused."""
    try:
        return await _read(reader)
    except _RefusedError as refused:
        writer.write(refused.response())
        await writer.drain()
        writer.write_eof()
        await _dropped(reader, LONGEST_BODY)  # a client that still sends would meet a reset before the answer
        return False


class _RefusedError(Exception):
    """A request that is answered with an HTTP error, after which the connection ends."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status

    def response(self) -> bytes:
        sentence = str(self).encode()
        head = (
            f"HTTP/1.1 {self.status} -",
            "content-type: text/plain; charset=utf-8",
            f"content-length: {len(sentence)}",
            "connection: close",
        )
        return "\r\n".join((*head, "", "")).encode() + sentence


async def _read(reader: StreamReader) -> bool:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except IncompleteReadError:
        return False
    except LimitOverrunError as error:
        sentence = f"the request's headers are longer than {LONGEST_HEAD // 1024} KiB"
        raise _RefusedError(431, sentence) from error
    headers = [line.partition(b":") for line in head.lower().split(b"\r\n")[1:]]
    hosts = [value.strip().decode("latin-1") for name, _, value in headers if name == b"host"]
    host = hosts[0] if len(hosts) == 1 else None
    if not _HOSTS.has(host):
        raise _RefusedError(403, _HOSTS.refusal(host))
    size = _size_of_body(headers)
    if size > LONGEST_BODY:
        sentence = f"the request's body is longer than {LONGEST_BODY // 1024**2} MiB"
        raise _RefusedError(413, sentence)
    if await _dropped(reader, size) < size:
        raise ConnectionResetError
    return True


async def _dropped(reader: StreamReader, size: int) -> int:
    """Read and drop up to a number of bytes; return how many arrived before the client closed."""
    left = size
    while left and (piece := await reader.read(min(left, _PIECE))):
        left -= len(piece)
    return size - left


def _size_of_body(headers: list[tuple[bytes, bytes, bytes]]) -> int:
    sizes = {value.strip() for name, _, value in headers if name == b"content-length"}
    if any(name == b"transfer-encoding" for name, _, _ in headers):
        raise _RefusedError(411, "this server reads no streamed bodies; send content-length")
    if not sizes:
        return 0
    size = sizes.pop()
    if sizes or not size.isdigit():
        raise _RefusedError(400, "content-length is not a number of bytes")
    return int(size) if len(size) < 20 else LONGEST_BODY + 1
