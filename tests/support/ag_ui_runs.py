"""Streams as runs of AG-UI: their frames, an endpoint that serves them, and what its clients have to end up with."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

from every_sdk import SDKS, STREAMS
from msgspec.json import decode
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from two_turns import first_turn, second_turn

from penstock.events import ProviderError, SegmentContent, SegmentStart, ToolInvocation, ToolResult
from penstock.operators import drive, parse_text, stream_fields, to_invocations, to_segments
from penstock.operators.engine.stage import Completed, Failed, How, stage
from penstock.sinks import SSE_HEADERS, to_sse
from penstock.sinks.web.protocols import UiFrames
from penstock.sources import decode_wire

PLAIN = (to_invocations(keep_segments=True),)
"""A chain in which each delta of the arguments is sent as it came."""
FIELDS = (stream_fields(), *PLAIN)
"""The usual chain: here the first deltas of a file's call wait until its path is known."""


class Run(NamedTuple):
    """The events of one stream, and the error that ended it, if one did."""

    name: str
    events: list[Any]
    error: ProviderError | None = None
    truth: Mapping[str, Any] = {}
    deltas: int = 0
    """How many deltas of arguments that are not empty came from the source."""

    @property
    def how(self) -> How:
        return Completed() if self.error is None else Failed(self.error)


def run_of(api: str, body: bytes, *chain: Any, name: str = "", turn_id: str = "t", truth: Any = None) -> Run:
    """Return the run that the bytes of an answer are."""
    choices: Any = {"choices": truth["choices"]} if truth and "choices" in truth else {}
    chunks: list[Any] = []
    error: ProviderError | None = None
    try:
        for chunk in drive([body], decode_wire(api, turn_id=turn_id, **choices)):
            chunks.append(chunk)  # noqa: PERF402 - what came before an error counts
    except ProviderError as broke:
        error = broke
    deltas = sum(bool(delta.arguments_delta) for chunk in chunks for delta in chunk.tool_calls)
    steps = stage(to_segments(turn_id=turn_id), *(chain or FIELDS))
    events = [event for chunk in chunks for event in steps.feed(chunk)]
    events += steps.close(Completed() if error is None else Failed(error))
    return Run(name, events, error, truth or {}, deltas)


def own_runs(*chain: Any) -> list[Run]:
    """Return each stream of ours as a run."""
    return [
        run_of(
            sdk.api, path.read_bytes(), *chain, name=f"{sdk.api}/{path.stem}", truth=_truth(path.with_suffix(".json"))
        )
        for sdk in SDKS
        for path in sorted((STREAMS / sdk.folder).iterdir())
        if path.suffix != ".json"
    ]


def _truth(path: Any) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def loop_run(api: str) -> Run:
    """Return an agent's loop as one run: calls, their results, and the answer to them."""
    first = run_of(api, first_turn(api.removesuffix("-messages")), turn_id="t1")
    calls = [event for event in first.events if isinstance(event, ToolInvocation)]
    said: tuple[Any, ...] = ({"value": {"celsius": 21}}, {"error": "no such city"}, {"denied": "not this one"})
    results = [ToolResult(call.id, turn_id="t1", **each) for call, each in zip(calls, said, strict=True)]
    second = run_of(api, second_turn(api.removesuffix("-messages")), turn_id="t2")
    return Run(f"loop {api}", [*first.events, *results, *second.events])


TEXTS = {
    "hermes": 'Now. <tool_call>{"name": "add", "arguments": {"a": [1, null], "b": "\\"x\\" 🌱"}}</tool_call>',
    "qwen3_coder": "Now. <tool_call>\n<function=write_file>\n<parameter=path>\na.py\n</parameter>\n"
    '<parameter=content>\nprint("1")\n</parameter>\n</function>\n</tool_call>',
}


def text_run(dialect: str) -> Run:
    """Return a call that a model writes into its text, in pieces of three characters."""
    text = TEXTS[dialect]
    pieces = [text[place : place + 3] for place in range(0, len(text), 3)]
    chain: Any = (parse_text(dialect, turn_id="t"), to_invocations(keep_segments=True))
    return Run(f"text {dialect}", list(drive(pieces, *chain)))


def frames_of(run: Run, **options: Any) -> list[dict[str, Any]]:
    frames = UiFrames("ag-ui", **options)
    sent = [frame for event in run.events for frame in frames.feed(event)]
    return [decode(frame) for frame in [*sent, *frames.close(run.how)]]


def endpoint(runs: Mapping[str, Run], **options: Any) -> Starlette:
    """Return an application that answers `/NAME` with a run."""

    async def answer(request: Request) -> StreamingResponse:
        asked = await request.json()
        ids = {"thread_id": asked["threadId"], "run_id": asked["runId"]}
        events = _stream(runs[request.path_params["name"]])
        sent = to_sse(events, protocol="ag-ui", **ids, **options)
        return StreamingResponse(sent, headers=SSE_HEADERS)

    return Starlette(routes=[Route("/{name:path}", answer, methods=["POST"])])


async def _stream(run: Run) -> AsyncIterator[Any]:
    for event in run.events:
        yield event
    if run.error is not None:
        raise run.error


class Told(NamedTuple):
    """What a reader has to have at the end."""

    text: str
    reasoning: str
    calls: dict[str, tuple[str, Any]]
    """The calls that may be run: id -> name and arguments."""


def told_by(run: Run) -> Told:
    """Return what the events say, read without any encoder."""
    kinds = {
        (each.turn_id, each.segment_id): each.segment_type for each in run.events if isinstance(each, SegmentStart)
    }
    texts: dict[str | None, dict[Any, str]] = {}
    for event in run.events:
        if isinstance(event, SegmentContent):
            identity = (event.turn_id, event.segment_id)
            of_kind = texts.setdefault(kinds[identity], {})
            of_kind[identity] = of_kind.get(identity, "") + event.delta
    order = [each for each in kinds if kinds[each] in ("text", "refusal")]
    said = {**texts.get("text", {}), **texts.get("refusal", {})}
    calls = {each.id: (each.name, each.arguments) for each in run.events if isinstance(each, ToolInvocation)}
    return Told("".join(said.get(each, "") for each in order), "".join(texts.get("reasoning", {}).values()), calls)
