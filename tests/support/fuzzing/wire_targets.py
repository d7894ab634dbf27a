"""Bodies of answers: framings against the SDKs' own, lanes against the general way, cut and frozen against whole."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from random import Random
from typing import Any

import anthropic._streaming
import openai._streaming
from every_sdk import STREAMS
from fuzzing.drawn_bytes import HEAD, ByteRandom
from lanes import APIS, assert_mutated, mutated
from operator_contract import TURN, wrong_answers, wrong_segments
from untyped import stage

from penstock.events.errors import PenstockError
from penstock.operators.engine.stage import Completed
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_invocations import to_invocations
from penstock.operators.to_segments import to_segments
from penstock.sources.anthropic.wire import AnthropicDecoder
from penstock.sources.framing.ndjson import JsonArrayDecoder, NdjsonDecoder
from penstock.sources.framing.sse import SseDecoder
from penstock.sources.from_wire import wire_machine
from penstock.sources.gemini.wire import GeminiDecoder
from penstock.sources.openai_assistants.machine import AssistantsDecoder
from penstock.sources.recognition.apis import APIS as ALL_APIS

DECODERS: tuple[Callable[[], Any], ...] = (
    SseDecoder,
    AnthropicDecoder,
    AssistantsDecoder,
    GeminiDecoder,
    JsonArrayDecoder,
    NdjsonDecoder,
)
SDKS: tuple[Any, ...] = (openai._streaming.SSEDecoder, anthropic._streaming.SSEDecoder)
LINES = (
    *(b"data: ", b"data:", b"event: ", b"id: ", b"retry: ", b"error: ", b": ", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n"),
    *(
        b"event: ping\n",
        b"event: error\n",
        b"event: x\n",
        b"data: a\n\n",
        b"data: {}\n\n",
        b'{"error": "a"}',
        b"[DONE]",
    ),
    *(
        b"<html>",
        b"</html>",
        b"\xef\xbb\xbf",
        "é\u2028\u0085😀".encode(),
        b"\xff",
        b"\xe2\x82",
        b'{"a": ',
        b'"\\"',
        b"[1]",
    ),
)
NOT_OF_THE_FORMAT = re.compile(
    rb"(?:^|[\r\n])(?:error|[{\[<]|event: ?(?:ping|error|heartbeat|keep-?alive)[\r\n])|\A\xef\xbb\xbf"
)
"""What servers send besides events, which no SDK reads."""


def cut_by(random: Random, body: bytes) -> list[bytes]:
    places = sorted(random.randrange(len(body) + 1) for _ in range(random.randrange(6)))
    if random.random() < 0.2:
        places = [*range(len(body))]
    return [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]


def framings(data: bytes) -> None:
    random = Random(int.from_bytes(data[:HEAD], "little"))
    body = b"".join(bytes((byte,)) if byte < 128 else LINES[(byte - 128) % len(LINES)] for byte in data[HEAD:])
    new = random.choice(DECODERS)
    decoder = new()
    fed = decoder.feed(body)
    events = [*fed, *decoder.close()]
    pieces = cut_by(random, body)
    decoder, freeze_at = new(), random.randrange(len(pieces))
    again: list[tuple[str, str]] = []
    for number, piece in enumerate(pieces):
        data_alone = decoder.whole(piece) if hasattr(decoder, "whole") and random.random() < 0.5 else None
        again += [("", data_alone)] if data_alone is not None else decoder.feed(piece)
        if number == freeze_at:
            state = json.loads(json.dumps(decoder.dump()))
            decoder = new()
            decoder.load(state)
    again += decoder.close()
    assert [each[1] for each in again] == [each.data for each in events], (new, pieces)
    if new is SseDecoder and _is_utf8(body) and not NOT_OF_THE_FORMAT.search(body):
        for sdk in SDKS:
            theirs = [(each.event or "", each.data) for each in sdk().iter_bytes(iter([body]))]
            assert [tuple(each) for each in fed if each.data] == [each for each in theirs if each[1]], (sdk, body)


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def lanes(data: bytes) -> None:
    random = ByteRandom(data)
    assert_mutated(random.choice([*APIS]), random)


@cache
def own_events(api: str) -> tuple[list[bytes], ...]:
    """Return the streams of an API, each as the pieces that its events are."""
    folder = STREAMS / api.replace("-", "_")
    bodies = [path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix != ".json"]
    return tuple(
        re.findall(rb".*?(?:\n\n|\Z)" if b"\n\n" in body else rb".*?(?:\n|\Z)", body, re.DOTALL) for body in bodies
    )


def _changed(event: bytes, other: bytes, random: Random) -> bytes:
    """Return an event with something else in its JSON."""
    own, donor = (re.search(r"[{\[].*", each.decode("utf-8", "replace")) for each in (event, other))
    if own is None or donor is None:
        return event
    text = event.decode("utf-8", "replace")
    changed = mutated(own[0], donor[0], random).encode("utf-8", "replace").decode()
    return (text[: own.start()] + changed + text[own.end() :]).encode()


def body_by(random: Random, api: str) -> list[bytes]:
    """Draw events of an answer: one of our own, cut, with events changed, doubled, exchanged, left out or of another."""
    streams = own_events(api)
    events = list(random.choice(streams))
    for _ in range(random.randrange(5)):
        at = random.randrange(len(events))
        way = random.randrange(6)
        if way < 3:
            events[at] = _changed(events[at], random.choice(random.choice(streams)), random)
        elif way == 3:
            events.insert(at, random.choice(events))
        elif way == 4 and len(events) > 1:
            del events[at]
        else:
            events.insert(at, random.choice(random.choice(streams)))
    return events[: random.randrange(1, len(events) + 1)] if random.random() < 0.2 else events


def _read(api: str, pieces: Iterable[bytes], freeze_at: int = -1) -> tuple[list[Any], str]:
    """Return the chunks and the failure that pieces of a body give."""
    machine: Any = wire_machine(api, choices="all" if api in ("openai-chat", "gemini") else 0, turn_id=TURN)
    chunks: list[Any] = []
    for number, piece in enumerate(pieces):
        chunks += machine.feed(piece)
        if number == freeze_at:
            state = json.loads(json.dumps(machine.dump()))
            machine = wire_machine(api, choices="all" if api in ("openai-chat", "gemini") else 0, turn_id=TURN)
            machine.load(state)
    chunks += machine.close(Completed())
    assert machine.failure is None or isinstance(machine.failure, PenstockError)
    return chunks, str(machine.failure)


def bodies(data: bytes) -> None:
    random = ByteRandom(data)
    api = random.choice(ALL_APIS).name
    body = b"".join(body_by(random, api))
    chunks, failure = _read(api, [body])
    pieces = cut_by(random, body)
    again = _read(api, pieces, random.randrange(len(pieces)))
    assert again == (chunks, failure), (api, pieces)
    chain = stage(to_segments(turn_id=TURN), stream_fields(), to_invocations(keep_segments=True))
    events = [*(event for chunk in chunks for event in chain.feed(chunk)), *chain.close()]
    assert wrong_segments(events) == [], (api, body)
    assert wrong_answers(events) == [], (api, body)


TARGETS = {"framings": framings, "lanes": lanes, "bodies": bodies}
