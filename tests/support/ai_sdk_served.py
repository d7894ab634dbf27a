"""Streams served in the AI SDK's protocol over real HTTP, and what its official clients make of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from app_server import serving
from npm_clients import client_answers
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from penstock.events import ChunkResponse, InvocationFailed, SegmentContent, SegmentEnd, SegmentStart, ToolInvocation
from penstock.operators import drive
from penstock.sinks import sse_headers, to_sse

VERSIONS = (5, 6, 7)
DONE = frozenset(("input-available", "output-available", "output-error"))


def answers_of(streams: Mapping[str, Callable[[], Any]], requests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the clients make of streams, by their names; each request has the `name` and the `version`.

    `options`: of the protocol, for each request that has some.
    """

    def loads(request: Request) -> dict[str, Any]:
        options: dict[str, Any] = json.loads(request.query_params.get("options", "{}"))
        return options

    async def answer(request: Request) -> StreamingResponse:
        events = streams[request.query_params["name"]]()
        # A connection that is kept may be closed here just when the client uses it again.
        headers = sse_headers("ai-sdk") | {"connection": "close"}
        return StreamingResponse(to_sse(events, protocol="ai-sdk", **loads(request)), headers=headers)

    app = Starlette(routes=[Route("/chat", answer, methods=["POST"])])
    with serving(app) as address:
        asked = [{**each, "api": f"http://{address}/chat?{_query(each)}"} for each in requests]
        return client_answers("ai_sdk.mjs", asked)


def _query(request: dict[str, Any]) -> str:
    return urlencode({"name": request["name"], "options": json.dumps(request.get("options", {}))})


def every_version(streams: Mapping[str, Callable[[], Any]]) -> list[tuple[str, int, dict[str, Any]]]:
    """Return what each client makes of each stream, with the names of both."""
    asked = [(name, version) for name in streams for version in VERSIONS]
    answers = answers_of(streams, ({"name": name, "version": version} for name, version in asked))
    return [(*each, answer) for each, answer in zip(asked, answers, strict=True)]


def events_of(pieces: Iterable[Any], *chain: Any) -> tuple[list[Any], Exception | None]:
    """Return the events of a stream, and the exception that ended it."""
    events: list[Any] = []
    try:
        for event in drive(pieces, *chain):
            events.append(event)  # noqa: PERF402 - what came before the error counts
    except Exception as error:  # noqa: BLE001 - the client is told of it
        return events, error
    return events, None


async def sent(events: Sequence[Any], error: Exception | None) -> Any:
    for event in events:
        yield event
    if error is not None:
        raise error


def text_of(message: dict[str, Any], kind: str) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == kind)


def calls_in(message: dict[str, Any]) -> dict[str, dict[str, Any]]:
    calls = [part for part in message["parts"] if part["type"] == "dynamic-tool"]
    by_id = {part["toolCallId"]: part for part in calls}
    assert len(by_id) == len(calls), "a call with two parts"
    return by_id


def assert_settled(message: dict[str, Any]) -> None:
    """Assert that no part of a message is still streaming."""
    for part in message["parts"]:
        if part["type"] in ("text", "reasoning"):
            assert part["state"] == "done"
        elif part["type"] == "dynamic-tool":
            assert part["state"] in DONE
        elif part["type"] == "data-segment":
            assert part["data"]["status"] != "streaming"
        else:
            assert part["type"] in ("step-start", "source-url", "source-document", "file"), part["type"]


def assert_same(message: dict[str, Any], events: Sequence[Any]) -> None:
    """Assert that a message says what the events say: texts, reasoning, calls with their input, files."""
    segments: dict[str, str] = {}
    for event in events:
        if isinstance(event, SegmentContent):
            segments[event.segment_id] = segments.get(event.segment_id, "") + event.delta
    for kind, types in (("text", ("text", "refusal")), ("reasoning", ("reasoning",))):
        ids = [event.segment_id for event in events if isinstance(event, SegmentStart) and event.segment_type in types]
        assert text_of(message, kind) == "".join(segments.get(each, "") for each in ids)
    calls = calls_in(message)
    for event in events:
        if isinstance(event, ToolInvocation):
            found = calls[event.id]
            assert found["toolName"] == event.name
            assert found["input"] in (event.arguments, event.arguments.get("input"))
            assert found["state"] != "output-error"
        elif isinstance(event, InvocationFailed):
            assert calls[event.id]["state"] == "output-error"
            assert calls[event.id]["errorText"]
        elif isinstance(event, SegmentEnd) and event.segment_type not in ("text", "reasoning", "refusal", "media"):
            assert event.segment_id in calls or event.segment_type != "tool_call"
    shown = {part["id"]: part["data"].get("content") for part in message["parts"] if part["type"] == "data-segment"}
    assert all(text == segments.get(wire_id, "") for wire_id, text in shown.items())


def input_is(part: dict[str, Any], arguments: str, kind: str) -> bool:
    """Return whether a call's part has the arguments that the wire had."""
    if part["state"] == "output-error" and isinstance(part["input"], str):
        return bool(part["input"] == arguments)
    if kind == "text":
        return bool(part["input"] == arguments)
    return bool(part["input"] == (json.loads(arguments or "{}") or {}))


def argument_deltas(chunks: Iterable[ChunkResponse]) -> int:
    """Return how many deltas of a stream have argument text."""
    return sum(bool(delta.arguments_delta) for chunk in chunks for delta in chunk.tool_calls)
