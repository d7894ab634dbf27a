"""A server that breaks HTTP itself, and the table of its faults: what it writes for a body, and what may come of it."""

from __future__ import annotations

import gzip
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from penstock.sources.base.request import listen

Outcome: TypeAlias = Literal["whole", "lost", "error", "nothing"]
"""The whole answer; an error that may be asked again; an error; or at least no answer that looks whole."""
_RESET = struct.pack("ii", 1, 0)
_WAIT = 20


class Connection:
    """One connection, whose request has been read."""

    def __init__(self, own: socket.socket, body: bytes, content_type: str) -> None:
        self._own = own
        self.body = body
        self.content_type = content_type

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self._own.sendall(piece)

    def head(self, *fields: str, status: str = "200 OK", content_type: str | None = None) -> None:
        given = ("connection: close", f"content-type: {content_type or self.content_type}", *fields)
        self.send("\r\n".join((f"HTTP/1.1 {status}", *given, "", "")).encode())

    def chunked(self, *pieces: bytes, end: bytes = b"0\r\n\r\n") -> None:
        self.head("transfer-encoding: chunked")
        for piece in pieces:
            self.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.send(end)

    def reset(self) -> None:
        """Let the close be a reset."""
        self._own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

    def wait(self) -> None:
        """Send nothing more until the client has left."""
        with suppress(OSError):
            self._own.recv(1)


class SocketFault(NamedTuple):
    play: Callable[[Connection], None]
    outcome: Outcome


class FaultServer:
    """Answers each request of HTTP with a body as a fault writes it, and closes the connection.

        with FaultServer(FAULTS["reset in the middle"].play, body) as server:
            client = OpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0)

    - `lists`: bodies for paths that are asked with GET, as JSON.
    """

    def __init__(
        self,
        play: Callable[[Connection], None],
        body: bytes,
        content_type: str = "text/event-stream",
        *,
        tls: ssl.SSLContext | None = None,
        lists: dict[str, bytes] | None = None,
    ) -> None:
        self.play, self.body, self.content_type = play, body, content_type
        self._tls, self._lists = tls, lists or {}
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.failed: list[BaseException] = []

    def __enter__(self) -> Self:
        self._listening = listen("127.0.0.1", 0)
        scheme = "http" if self._tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._listening.getsockname()[1]}"
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for each in [*self._open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_WAIT)
            assert not thread.is_alive(), "a connection of the server is still open"
        assert self.failed == []

    def _start(self, work: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=work, args=args, name="fault-server", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listening.accept()
            except OSError:
                return
            self._open.add(accepted)
            self._start(self._answer, accepted)

    def _answer(self, accepted: socket.socket) -> None:
        own = accepted
        try:
            if self._tls is not None:
                own = self._tls.wrap_socket(accepted, server_side=True)
                self._open |= {own}
            path = _read_request(own)
            connection = Connection(own, self.body, self.content_type)
            if path in self._lists:
                listed = self._lists[path]
                connection.head(f"content-length: {len(listed)}", content_type="application/json")
                connection.send(listed)
            elif path:
                self.play(connection)
        except OSError:
            return  # the client has left
        except BaseException as error:
            self.failed.append(error)
            raise
        finally:
            own.close()
            accepted.close()
            self._open -= {own, accepted}


def _read_request(own: socket.socket) -> str:
    """Read a request to its end, and return its path; empty for a connection on which nothing is asked."""
    head = b""
    while b"\r\n\r\n" not in head:
        if not (came := own.recv(65536)):
            return ""
        head += came
    head, _, body = head.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
    if fields.get(b"transfer-encoding", b"").strip() == b"chunked":
        while not body.endswith(b"0\r\n\r\n"):
            body += own.recv(65536)
    for _ in range(int(fields.get(b"content-length", b"0")) - len(body)):
        if len(body) >= int(fields[b"content-length"]):
            break
        body += own.recv(65536)
    return head.split(b" ")[1].decode()


def _halves(body: bytes) -> tuple[bytes, bytes]:
    return body[: len(body) // 2], body[len(body) // 2 :]


def _sized(sent: Callable[[bytes], bytes], *, length: Callable[[bytes], object] = len) -> Callable[[Connection], None]:
    """Return a play with a length in its head, behind which `sent` is what is sent of the body."""

    def play(of: Connection) -> None:
        of.head(f"content-length: {length(of.body)}")
        of.send(sent(of.body))

    return play


def _whole(body: bytes) -> bytes:
    return body


def _first_half(body: bytes) -> bytes:
    return _halves(body)[0]


def _chunks(*, middle: bytes = b"", end: bytes = b"0\r\n\r\n", size: int | None = None) -> Callable[[Connection], None]:
    """Return a play in chunks, with bytes between the halves of the body that stand there in place of a chunk's head."""

    def play(of: Connection) -> None:
        if size is not None:
            of.chunked(*(of.body[at : at + size] for at in range(0, len(of.body), size)), end=end)
            return
        first, rest = _halves(of.body)
        of.chunked(first, end=middle)
        if not middle or middle.endswith(b"..."):
            return
        of.send(b"%x\r\n%b\r\n" % (len(rest), rest), end)

    return play


def _with_extensions(of: Connection) -> None:
    first, rest = _halves(of.body)
    of.head("transfer-encoding: chunked")
    of.send(b"%X;name=value\r\n%b\r\n" % (len(first), first), b"000%x\r\n%b\r\n0\r\n\r\n" % (len(rest), rest))


def _with_trailers(of: Connection) -> None:
    of.chunked(of.body, end=b"0\r\nx-trailer: 1\r\n\r\n")


def _until_the_close(of: Connection) -> None:
    of.head()
    of.send(of.body)


def _early_hints(of: Connection) -> None:
    of.send(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")
    of.chunked(of.body)


def _byte_by_byte(of: Connection) -> None:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {of.content_type}\r\ncontent-length: {len(of.body)}\r\n\r\n"
    of.send(*(bytes([each]) for each in head.encode()), of.body)


def _packed(of: Connection) -> None:
    packed = gzip.compress(of.body)
    of.head("content-encoding: gzip", f"content-length: {len(packed)}")
    of.send(packed)


def _packed_and_cut(of: Connection) -> None:
    packed = gzip.compress(of.body)
    of.head("content-encoding: gzip", f"content-length: {len(packed)}")
    of.send(packed[: len(packed) // 2])


def _not_packed(of: Connection) -> None:
    of.head("content-encoding: gzip", f"content-length: {len(of.body)}")
    of.send(of.body)


def _reset_at(part: float) -> Callable[[Connection], None]:
    def play(of: Connection) -> None:
        if part:
            of.head(f"content-length: {len(of.body)}")
            of.send(of.body[: int(len(of.body) * part)])
        of.reset()

    return play


def _bytes(answer: bytes) -> Callable[[Connection], None]:
    return lambda of: of.send(answer)


def _to_itself(of: Connection) -> None:
    of.head("location: /again", "content-length: 0", status="302 Found")


def _endless_head(of: Connection) -> None:
    of.send(b"HTTP/1.1 200 OK\r\n")
    for _ in range(64):
        of.send(b"x-more: %b\r\n" % (b"x" * 65536))


def _instead(body: bytes, content_type: str) -> Callable[[Connection], None]:
    def play(of: Connection) -> None:
        of.head(f"content-length: {len(body)}", content_type=content_type)
        of.send(body)

    return play


PAGE = b"<!DOCTYPE html><html><title>502 Bad Gateway</title><body>nginx</body></html>"
FAULTS: dict[str, SocketFault] = {
    # HTTP that few servers write, and that is right.
    "a length": SocketFault(_sized(_whole), "whole"),
    "chunks of three bytes": SocketFault(_chunks(size=3), "whole"),
    "chunks with extensions and zeros": SocketFault(_with_extensions, "whole"),
    "trailers": SocketFault(_with_trailers, "whole"),
    "no length until the close": SocketFault(_until_the_close, "whole"),
    "answers before the answer": SocketFault(_early_hints, "whole"),
    "a head byte by byte": SocketFault(_byte_by_byte, "whole"),
    "a packed body": SocketFault(_packed, "whole"),
    "more behind the length": SocketFault(_sized(lambda body: body + b"HTTP/1.1 200 OK\r\n\r\n"), "whole"),
    # Cut.
    "closed without an answer": SocketFault(_bytes(b""), "lost"),
    "reset without an answer": SocketFault(_reset_at(0), "lost"),
    "cut in the head": SocketFault(_bytes(b"HTTP/1.1 200 OK\r\ncontent-ty"), "lost"),
    "cut behind the head": SocketFault(_sized(lambda _: b""), "lost"),
    "cut in the middle": SocketFault(_sized(_first_half), "lost"),
    "reset in the middle": SocketFault(_reset_at(0.5), "lost"),
    "a length that is too long by one": SocketFault(
        _sized(_first_half, length=lambda body: len(body) // 2 + 1), "lost"
    ),
    "chunks without an end": SocketFault(_chunks(), "lost"),
    "a packed body that is cut": SocketFault(_packed_and_cut, "lost"),
    # HTTP that is wrong.
    "a chunk of no size": SocketFault(_chunks(middle=b"\r\n"), "lost"),
    "a chunk whose size is no number": SocketFault(_chunks(middle=b"zz\r\n"), "lost"),
    "a chunk whose size is negative": SocketFault(_chunks(middle=b"-5\r\n"), "lost"),
    "a chunk of any size": SocketFault(_chunks(middle=b"ffffffffffffffffffff\r\n..."), "lost"),
    "a chunk that is longer than its size": SocketFault(_chunks(middle=b"1\r\nxxxx\r\n"), "lost"),
    "no HTTP": SocketFault(_bytes(b"\x15\x03\x01\x00\x02\x02\x50" * 4), "lost"),
    "an answer of nothing but line ends": SocketFault(_bytes(b"\r\n" * 1000), "lost"),
    "two lengths": SocketFault(
        _bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd"), "lost"
    ),
    "a length that is no number": SocketFault(_bytes(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\nabcd"), "lost"),
    "a head without an end": SocketFault(_endless_head, "lost"),
    "a body that says it is packed": SocketFault(_not_packed, "lost"),
    # Something else in the place of an answer.
    "a page": SocketFault(_instead(PAGE, "text/html"), "nothing"),
    "a page as a stream": SocketFault(_instead(PAGE, "text/event-stream"), "nothing"),
    "an error with 200": SocketFault(
        _instead(b'{"error": {"message": "busy", "code": 503}}', "application/json"), "nothing"
    ),
    "an error as a stream": SocketFault(
        _instead(b'data: {"error": {"message": "busy"}}\n\n', "text/event-stream"), "nothing"
    ),
    "a redirection to itself": SocketFault(_to_itself, "error"),
}
