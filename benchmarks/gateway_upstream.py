"""A server of a model for the load of the gateway: it streams pieces of text that say when they were due.

Started by load_gateway.py. Prints its port. What is asked stands in the message of the user: `pieces=300 rate=30`, and
`hold=25` for a stream that is silent so many seconds behind its first piece.
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
import socket
import time
from typing import Any

from load_text import piece

_ASKED = re.compile(rb"(pieces|rate|hold)=([\d.]+)")
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ntransfer-encoding: chunked\r\n\r\n"
_MODELS = {"object": "list", "data": [{"id": "m", "owned_by": "llamacpp"}]}
_SIZE = 50
"""Characters of a piece."""


def _event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}
    return b"data: %b\n\n" % json.dumps(chunk).encode()


_BEFORE, _BEHIND = _event({"content": "\0"}).split(b"\\u0000")
_END = b"".join(
    (
        _event({}, "stop"),
        _event({}, choices=[], usage={"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}),
        b"data: [DONE]\n\n",
    )
)


class Upstream(asyncio.Protocol):
    """One connection: requests one after the other."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._received = b""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        if not found or (length is not None and len(body) < int(length[1])):
            return
        self._received = b""
        self._is_last = b"onnection: close" in head
        if head.startswith(b"GET"):
            self._transport.write(_HEAD % b"application/json")
            self._write(json.dumps(_MODELS).encode())
            self._transport.write(b"0\r\n\r\n")
            return
        asked = {name.decode(): float(value) for name, value in _ASKED.findall(body)}
        self._pieces, self._rate, self._hold = int(asked["pieces"]), asked["rate"], asked.get("hold", 0.0)
        self._transport.write(_HEAD % b"text/event-stream")
        self._write(_event({"role": "assistant", "content": None}))
        self._begin = time.monotonic()
        self._number = 0
        self._next()

    def _next(self) -> None:
        due = self._begin + self._number / self._rate + (self._hold if self._number else 0)
        if due > time.monotonic():
            self._timer = self._loop.call_at(due, self._next)
            return
        if self._number == self._pieces:
            self._write(_END)
            self._transport.write(b"0\r\n\r\n")
            if self._is_last:
                self._transport.close()
            return
        self._write(b"%b%b%b" % (_BEFORE, piece(self._number, round(due * 1e9), _SIZE).encode(), _BEHIND))
        self._number += 1
        self._next()

    def _write(self, data: bytes) -> None:
        self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))


async def main() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = await asyncio.get_running_loop().create_server(Upstream, sock=listening)
        print(listening.getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    gc.disable()
    asyncio.run(main())
