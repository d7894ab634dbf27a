"""Every API over sockets on which HTTP itself is broken: the whole answer or a typed error, and nothing stays open."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from chat_client import Run, acollected, collected, plain
from depth import is_deep, some_of
from every_sdk import OLLAMA, SDKS, WITH_CALLS, Sdk, nothing_left
from further_sdks import ASYNC_CLIENTS, FRAMES, FURTHER_SDKS, FurtherSdk
from looped import looped
from operator_contract import wrong_answers, wrong_segments
from own_certificate import own_pem
from socket_faults import FAULTS, Connection, FaultServer, SocketFault

from penstock.events import AnswerEnd, PenstockError, ProviderError, ToolInvocation, UsageError
from penstock.operators import stage
from penstock.operators.engine.stage import Completed, Failed
from penstock.pipeline.strategies import api_tool_call
from penstock.sources import from_stream, from_wire
from penstock.sources.bedrock.wire import event_stream


class Asked(NamedTuple):
    """One API, and the ways in which it is asked: each gives what came and how it ended."""

    api: str
    body: bytes
    content_type: str
    ways: dict[str, Callable[[str], Run]]


def by_wire(api: str, **options: Any) -> Callable[[str], Run]:
    """Return the way without an SDK: an HTTP client's response."""

    def run(url: str) -> Run:
        with httpx2.Client(trust_env=False, timeout=20, follow_redirects=True, **options) as client:

            def pieces() -> Iterator[bytes]:
                with client.stream("POST", url, json={}) as response:
                    yield from response.iter_bytes()

            return collected(from_wire(api, pieces, turn_id="t"))

    return run


def of_sdk(sdk: Sdk) -> Asked:
    kind = "application/x-ndjson" if sdk is OLLAMA else "text/event-stream"
    ways = {"sync": sdk.by_sdk, "async": sdk.by_async_sdk, "wire": by_wire(sdk.api)}
    return Asked(sdk.api, sdk.body_of(WITH_CALLS[sdk.api]), kind, ways)


def of_further(sdk: FurtherSdk) -> Asked:
    def by_sdk(url: str) -> Run:
        with sdk.client(url) as start:
            return collected(from_stream(start, api=sdk.api, turn_id="t"))

    def by_async_sdk(url: str) -> Run:
        async def main() -> Run:
            async with ASYNC_CLIENTS[sdk.api](url) as start:
                return await acollected(from_stream(start, api=sdk.api, turn_id="t"))

        return asyncio.run(main())

    body = sdk.streams()[0].read_bytes()
    is_frames = sdk.api == "bedrock-converse"
    ways = {"sync": by_sdk, "wire": by_wire(sdk.api)}
    if sdk.api in ASYNC_CLIENTS:
        ways["async"] = by_async_sdk
    kind = FRAMES if is_frames else "text/event-stream"
    return Asked(sdk.api, event_stream(body) if is_frames else body, kind, ways)


BOTOCORE = ("bedrock-converse", "sync")
"""It takes the end of a connection for the end of its events."""
NOT_OF_AWS = [
    FAULTS[name]
    for name in (
        "answers before the answer",
        "a packed body",
        "a packed body that is cut",
        "a body that says it is packed",
    )
]
"""What botocore does not read as HTTP has it: it unpacks nothing, and takes the first answer for the one."""
EVERY = [*map(of_sdk, SDKS), *map(of_further, FURTHER_SDKS)]


def checked(run: Run) -> list[Any]:
    """Assert what every run has to keep however it ended; return the events that a chain makes of it."""
    chunks, [end] = run
    assert end == "completed" or isinstance(end, PenstockError), repr(end)
    chain = stage(api_tool_call(turn_id="t"))
    how = Failed(end) if isinstance(end, PenstockError) else Completed()
    events = [event for chunk in chunks for event in chain.feed(chunk)] + list(chain.close(how))
    assert wrong_segments(events) == []
    assert wrong_answers(events) == []
    assert isinstance(events[-1], AnswerEnd)
    return events


def calls_in(events: list[Any]) -> list[ToolInvocation]:
    return [event for event in events if isinstance(event, ToolInvocation)]


def ways_of(asked: Asked, number: int) -> list[str]:
    """Return the ways in which one fault is asked: in `make test` one after the other takes its turn."""
    names = sorted(asked.ways)
    return names if is_deep() else [names[number % len(names)]]


@pytest.mark.laws
@looped("asked", EVERY, [asked.api for asked in EVERY])
def test_whatever_a_socket_does_the_answer_is_whole_or_a_typed_error_and_nothing_stays_open(asked: Asked):
    if asked.api == BOTOCORE[0]:
        pytest.importorskip("botocore")
    whole = whole_of(asked)
    is_further = asked.api in {each.api for each in FURTHER_SDKS}
    for number, (name, fault) in enumerate(some_of(FAULTS.items(), 12 if is_further else len(FAULTS))):
        for way in ways_of(asked, number):
            try:
                with nothing_left(), FaultServer(fault.play, asked.body, asked.content_type) as server:
                    check(fault, asked.ways[way](server.url), whole, asked, way)
            except BaseException as error:
                error.add_note(f"{name}, {way}")
                raise


def cut_over_tls(of: Connection) -> None:
    """Send a half of a body that ends with the connection, and end that without a farewell of TLS."""
    of.head()
    of.send(of.body[: len(of.body) // 2])


@looped("asked", EVERY, [asked.api for asked in EVERY])
def test_the_end_of_a_connection_over_tls_is_no_end_of_an_answer(asked: Asked, pem: Path):
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(pem)
    ask = by_wire(asked.api, verify=ssl.create_default_context(cafile=str(pem)))
    if asked.api == BOTOCORE[0]:
        pytest.importorskip("botocore")
    whole = whole_of(asked)
    for play in (FAULTS["a length"].play, FAULTS["cut in the middle"].play, cut_over_tls):
        with nothing_left(), FaultServer(play, asked.body, asked.content_type, tls=server_side) as server:
            events = checked(ask(server.url))
        is_whole = play is FAULTS["a length"].play
        assert (events == checked(whole)) == is_whole
        assert is_whole or events[-1].status not in ("complete", "paused")
        assert all(call in calls_in(checked(whole)) for call in calls_in(events))


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return own_pem(tmp_path_factory.mktemp("tls"))


def whole_of(asked: Asked) -> Run:
    run = collected(from_wire(asked.api, [asked.body], turn_id="t"))
    assert run[1] == ["completed"]
    return run


def check(fault: SocketFault, run: Run, whole: Run, asked: Asked, way: str) -> None:
    events = checked(run)
    (end,) = run[1]
    if (asked.api, way) == BOTOCORE and fault in NOT_OF_AWS:
        assert events == checked(whole) or events[-1].status not in ("complete", "paused")
        return
    if fault.outcome == "whole":
        assert (plain(run[0]), end) == (plain(whole[0]), "completed")
        return
    if end == "completed" and (fault.outcome == "nothing" or (asked.api, way) == BOTOCORE):
        assert events[-1].status == "truncated", "an SDK hears no error, and the answer is not told as whole"
        return
    if isinstance(end, UsageError):
        assert fault.outcome in ("error", "nothing")
        assert ";" in str(end), "it says what to do"
        return
    assert isinstance(end, ProviderError), end
    assert end.detail.strip()
    if fault.outcome == "lost":
        assert end.transport or end.status is not None, f"{end!r} does not say that it may be asked again"
    assert all(call in calls_in(checked(whole)) for call in calls_in(events)), "a call was run that was cut"
