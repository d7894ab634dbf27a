"""`wake_stream`: a reader that waits for a silent provider goes on, whichever SDK it reads with."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx2
import openai
import pytest
from body_server import BodyServer
from chat_client import create
from dispose_scene import Scene
from every_sdk import CHAT, GEMINI, OLLAMA, SDKS, Sdk, nothing_left
from mistral_stream import mistral_body
from own_certificate import own_pem

from penstock.events import ProviderError
from penstock.sources.from_stream import any_exception, check_any_stream
from penstock.sources.streams.sdk_stream import translated
from penstock.sources.streams.wake_stream import wake_stream

every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])
lazy_sdks = pytest.mark.parametrize("sdk", [GEMINI, OLLAMA], ids=["gemini", "ollama"])
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class Reader:
    """A thread that reads a stream to its end, and says when it has taken items enough and asks for more."""

    def __init__(self, stream: Any, enough: int = 1) -> None:
        self.stream = stream
        self.items: list[Any] = []
        self.end: BaseException | None = None
        self.asks = threading.Event()
        self._enough = enough
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self.asks.wait(20)
        return self

    def __exit__(self, *_: object) -> None:
        self.join()

    def join(self) -> None:
        self._thread.join(20)
        assert not self._thread.is_alive(), "the reader still waits"

    def _read(self) -> None:
        try:
            while True:
                if len(self.items) >= self._enough:
                    self.asks.set()
                self.items.append(next(self.stream))
        except BaseException as error:  # noqa: BLE001 - how it ends is what is asked
            self.end = error
        finally:
            if (close := getattr(self.stream, "close", None)) is not None:
                close()


def woken_when_it_reads(stream: Any) -> bool:
    """Wake a stream whose request the server has, although the client may not read yet: it writes, or has yet to ask."""
    return any(wake_stream(stream) for _ in range(100_000))


def opened(start: Callable[[], Any], *, is_ours: bool) -> Any:
    return translated(start, check_any_stream, any_exception)() if is_ours else start()


# Every SDK


@pytest.mark.parametrize("is_ours", [False, True], ids=["the SDK's", "ours"])
@every_sdk
def test_a_reader_that_waits_is_woken_and_the_server_sees_it_leave(sdk: Sdk, is_ours: bool):
    scene = Scene(sdk)
    with nothing_left(), scene.server() as server, sdk.client(server.url) as client:
        server.allow()
        with Reader(opened(lambda: sdk.create(client), is_ours=is_ours)) as reader:
            assert woken_when_it_reads(reader.stream)
        scene.assert_left(server, after_pieces=1)
    assert isinstance(reader.end, Exception)
    assert not isinstance(reader.end, StopIteration)
    if is_ours:
        assert isinstance(reader.end, ProviderError)
        assert reader.end.transport


@pytest.mark.parametrize("sdk", SDKS[:3], ids=[sdk.api for sdk in SDKS[:3]])
def test_woken_before_the_first_item_it_goes_on_too(sdk: Sdk):
    scene = Scene(sdk)
    with nothing_left(), scene.server() as server, sdk.client(server.url) as client:
        with Reader(sdk.create(client), enough=0) as reader:
            assert wake_stream(reader.stream)
        scene.assert_left(server, after_pieces=0)
    assert reader.items == []
    assert isinstance(reader.end, Exception)


@every_sdk
def test_a_read_that_begins_after_the_call_ends_too(sdk: Sdk):
    scene = Scene(sdk)
    with nothing_left(), scene.server() as server, sdk.client(server.url) as client:
        server.allow()
        stream = sdk.create(client)
        next(stream)
        assert wake_stream(stream)
        with pytest.raises(Exception, match=r"[Cc]onnection"):
            list(stream)
        stream.close()
        scene.assert_left(server, after_pieces=1)


def test_mistrals_stream_is_woken():
    module = pytest.importorskip("mistralai.client", reason="needs mistralai")
    first, second = mistral_body({"content": "Hi"}, {"content": "never"})
    with BodyServer(first + second, pieces=[len(first)], gated=True) as server:
        server.allow()
        with module.Mistral(api_key="-", server_url=server.url) as client:
            with Reader(client.chat.stream(model="m", messages=[{"role": "user", "content": "-"}])) as reader:
                assert wake_stream(reader.stream)
            server.wait_for("client_left")
    assert len(reader.items) == 1
    assert isinstance(reader.end, httpx2.HTTPError)


# A server of one connection, which stalls where it is told to


class Stall:
    """What a stalling server is asked, and when it is left."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked = threading.Event()
        self.left = threading.Event()


@contextmanager
def stalling(answer: bytes, pem: Path | None = None) -> Iterator[Stall]:
    """Serve one request with the beginning of an answer, over TLS if a certificate is given, then say nothing more."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stall = Stall(f"http{'s' * bool(pem)}://127.0.0.1:{listener.getsockname()[1]}")

        def serve() -> None:
            connection, _ = listener.accept()
            if pem:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(pem)
                connection = context.wrap_socket(connection, server_side=True)
            with connection:
                request = b""
                while b"\r\n\r\n" not in request:
                    request += connection.recv(65536)
                connection.sendall(answer)
                stall.asked.set()
                while connection.recv(65536):  # the rest of the request, then nothing until the client leaves
                    pass
                stall.left.set()

        thread = threading.Thread(target=serve)
        thread.start()
        yield stall
        thread.join(20)
        assert not thread.is_alive()


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


def first_event(sdk: Sdk) -> bytes:
    return chunked(Scene(sdk).body.split(b"\n\n" if sdk is not OLLAMA else b"\n")[0] + b"\n\n")


@lazy_sdks
def test_an_sdk_that_asks_with_the_first_read_is_woken_before_the_answer_begins(sdk: Sdk):
    with stalling(b"") as stall, sdk.client(stall.url) as client:
        with Reader(sdk.create(client), enough=0) as reader:
            assert stall.asked.wait(20)
            assert woken_when_it_reads(reader.stream)
        assert stall.left.wait(20)
    assert reader.items == []
    assert isinstance(reader.end, Exception)


def test_a_body_without_a_stated_end_just_ends():
    head = HEAD.replace(b"transfer-encoding: chunked", b"connection: close")
    event = CHAT.body_of("one_call").split(b"\n\n")[0] + b"\n\n"
    with stalling(head + event) as stall, CHAT.client(stall.url) as client:
        with Reader(create(client)) as reader:
            assert wake_stream(reader.stream)
        assert stall.left.wait(20)
    assert isinstance(reader.end, StopIteration)


def test_over_tls_a_reader_is_woken_by_an_end_without_a_farewell(tmp_path: Path):
    pem = own_pem(tmp_path)
    trust = ssl.create_default_context(cafile=pem)
    with stalling(HEAD + first_event(CHAT), pem) as stall:
        http = httpx2.Client(verify=trust)
        with openai.OpenAI(base_url=f"{stall.url}/v1", api_key="-", max_retries=0, http_client=http) as client:
            with Reader(create(client)) as reader:
                tls = reader.stream.response.extensions["network_stream"].get_extra_info("ssl_object")
                assert tls.version() == "TLSv1.3"
                assert wake_stream(reader.stream)
            assert stall.left.wait(20)
    assert len(reader.items) == 1
    assert isinstance(reader.end, openai.APIConnectionError)
    cause = reader.end.__cause__
    assert isinstance(cause, httpx2.RemoteProtocolError)
    assert "peer closed connection" in str(cause), "the reader took something else for text"


# What it leaves alone


@every_sdk
def test_a_stream_that_has_ended_is_left_alone(sdk: Sdk):
    body = sdk.body_of("plain_text")
    with BodyServer(body) as server, sdk.client(server.url) as client:
        stream = sdk.create(client)
        list(stream)
        assert not wake_stream(stream)
        list(sdk.create(client))  # over the same connection, where it was kept
        stream = sdk.create(client)
        stream.close()
        assert not wake_stream(stream)


@lazy_sdks
def test_a_lazy_stream_that_nobody_read_has_nothing_to_wake(sdk: Sdk):
    with BodyServer(sdk.body_of("plain_text")) as server, sdk.client(server.url) as client:
        stream = sdk.create(client)
        assert not wake_stream(stream)
        assert server.log == []
        assert len(list(stream)) > 1


class Network:
    """A connection as httpcore has it."""

    def __init__(self, one: object, protocol: str | None = None) -> None:
        self._socket = one
        self._protocol = protocol

    def get_extra_info(self, info: str) -> Any:
        return {"socket": self._socket, "ssl_object": self if self._protocol else None}[info]

    def selected_alpn_protocol(self) -> str | None:
        return self._protocol


class Response:
    """A response as httpx has it."""

    def __init__(self, network: object, **more: Any) -> None:
        self.is_closed = False
        self.extensions = {"network_stream": network, "http_version": b"HTTP/1.1", **more}


class Stream:
    """A stream of an SDK's, sync."""

    def __init__(self, response: object) -> None:
        self.response = response

    def __next__(self) -> Any:
        raise StopIteration


class Raising:
    """A stream that is not as we know it."""

    @property
    def response(self) -> Any:
        message = "not open"
        raise RuntimeError(message)


def test_a_connection_that_others_read_too_is_left_alone():
    here, there = socket.socketpair()
    with here, there:
        assert not wake_stream(Stream(Response(Network(here), http_version=b"HTTP/2")))
        assert not wake_stream(Stream(Response(Network(here, "h2"))))
        closed = Response(Network(here))
        closed.is_closed = True
        assert not wake_stream(Stream(closed))
        here.sendall(b"x")
        assert there.recv(1) == b"x"
        assert wake_stream(Stream(Response(Network(here, "http/1.1"))))
        assert there.recv(1) == b""


def test_what_has_no_socket_or_cannot_be_shut_down_is_told_by_false():
    def ones_own() -> Iterator[Any]:
        stream = Stream(Response(Network(here)))
        yield stream

    async def asynchronous() -> Any:
        yield 1

    class Async(Stream):
        async def __anext__(self) -> Any: ...

    here, there = socket.socketpair()
    with here, there:
        generator = ones_own()
        next(generator)
        others: list[Any] = [generator, asynchronous(), Async(Response(Network(here)))]
        nothing: list[Any] = [
            None,
            5,
            "text",
            iter([1]),
            object(),
            Stream(None),
            Stream(Response(Network("no socket"))),
            Raising(),
        ]
        assert [wake_stream(each) for each in [*others, *nothing]] == [False] * 11
        here.sendall(b"x")
        assert there.recv(1) == b"x"
    assert not wake_stream(Stream(Response(Network(here)))), "a socket that is closed"


def test_a_clients_own_transport_has_nothing_to_wake():
    body = CHAT.body_of("one_call")
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, content=body))
    with openai.OpenAI(api_key="-", http_client=httpx2.Client(transport=transport)) as client:
        stream = create(client)
        assert not wake_stream(stream)
        assert list(stream)
