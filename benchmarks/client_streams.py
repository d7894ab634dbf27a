"""What a streamed event costs through the real clients: their own objects, `decode="wire"`, and the bytes alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any, NamedTuple

import anthropic
import openai
from httpcore2._sync.http11 import HTTP11Connection

from penstock.sources import from_stream

EVENTS = 1500
ROUNDS = 7
FOR_MANY = 16
SERVER = Path(__file__).with_name("one_answer_server.py")
_HEAD = (
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nx-padding: {padding}\r\n\r\n"
)


class Asked(NamedTuple):
    """One API: the events of an answer, and how its client is asked."""

    name: str
    first: list[bytes]
    event: bytes
    last: bytes
    client: Callable[[str], Any]
    create: Callable[[Any], Any]


def _event(data: Any, *, is_named: bool) -> bytes:
    name = f"event: {data['type']}\n" if is_named else ""
    return f"{name}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def _chat() -> Asked:
    def chunk(delta: Any) -> bytes:
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "gpt-test"}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        return _event(
            {**head, "system_fingerprint": "fp_1", "choices": [choice], "usage": None, "obfuscation": "x" * 6},
            is_named=False,
        )

    def create(client: Any) -> Any:
        messages = [{"role": "user", "content": "-"}]
        return client.chat.completions.create(model="m", messages=messages, stream=True)

    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "write_file", "arguments": ""}}
    return Asked(
        "OpenAI chat",
        [chunk({"role": "assistant", "content": None, "tool_calls": [call]})],
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": "abcd"}}]}),
        b"data: [DONE]\n\n",
        lambda url: openai.OpenAI(base_url=url, api_key="-", max_retries=0),
        create,
    )


def _anthropic() -> Asked:
    def create(client: Any) -> Any:
        return client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "-"}], stream=True)

    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": [], "usage": usage}
    block = {"type": "tool_use", "id": "toolu_1", "name": "write_file", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": "abcd"}
    return Asked(
        "Anthropic",
        [
            _event({"type": "message_start", "message": message}, is_named=True),
            _event({"type": "content_block_start", "index": 0, "content_block": block}, is_named=True),
        ],
        _event({"type": "content_block_delta", "index": 0, "delta": delta}, is_named=True),
        _event({"type": "message_stop"}, is_named=True),
        lambda url: anthropic.Anthropic(base_url=url, api_key="-", max_retries=0),
        create,
    )


def _chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _answer(asked: Asked, in_one: int) -> tuple[bytes, int]:
    """Return the bytes of an answer, and how many of them a read must take for `in_one` events.

    The head is padded, so that the ends of reads are the ends of events.
    """
    frame = _chunked(asked.event * in_one)
    begin = b"".join(map(_chunked, asked.first))
    padding = -(len(_HEAD.format(padding="").encode()) + len(begin)) % len(frame)
    body = begin + frame * (EVENTS // in_one) + _chunked(asked.last) + b"0\r\n\r\n"
    return _HEAD.format(padding="x" * padding).encode() + body, len(frame)


@contextmanager
def _served(answer: bytes) -> Iterator[str]:
    command = [sys.executable, str(SERVER), str(len(answer))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(answer)
        server.stdin.flush()
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.kill()


@contextmanager
def _reads_of(size: int) -> Iterator[None]:
    """Let each read of the HTTP client take so many bytes at most."""
    before = HTTP11Connection.READ_NUM_BYTES
    HTTP11Connection.READ_NUM_BYTES = size
    try:
        yield
    finally:
        HTTP11Connection.READ_NUM_BYTES = before


def _by_objects(stream: Any) -> None:
    for _ in stream:
        pass


def _by_wire(stream: Any) -> None:
    from_stream(stream, decode="wire").subscribe()


def _by_bytes(stream: Any) -> None:
    for _ in stream.response.iter_bytes():
        pass
    stream.close()


WAYS = (_by_objects, _by_wire, _by_bytes)


def _costs(asked: Asked, in_one: int) -> list[list[float]]:
    """Return for each round the seconds of each way; the ways take turns."""
    answer, size = _answer(asked, in_one)
    rounds: list[list[float]] = []
    with _served(answer) as url, _reads_of(size), asked.client(url) as client:
        for _ in range(ROUNDS):
            rounds.append([])
            for way in WAYS:
                stream = asked.create(client)
                begin = thread_time()
                way(stream)
                rounds[-1].append(thread_time() - begin)
    return rounds


def client_rows() -> list[tuple[str, float, float]]:
    """Return a row for each case: its name, how many times cheaper than the client's objects, and the lower bound."""
    rows: list[tuple[str, float, float]] = []
    for make, in_one, bound in ((_chat, 1, 2.2), (_chat, FOR_MANY, 4.0), (_anthropic, 1, 1.5)):
        asked = make()
        costs = _costs(asked, in_one)
        cheaper, most = (median(each[0] / each[way] for each in costs) for way in (1, 2))
        name = f'{asked.name}\'s client, decode="wire", {in_one} a read (bytes alone: {most:.1f})'
        rows.append((name, cheaper, bound))
    return rows
