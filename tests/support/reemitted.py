"""Answers in the stream of another API, read back: by our own sources and by the SDK of that API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import openai
from body_server import BodyServer
from every_sdk import STREAMS

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    ProviderError,
    ProviderEvent,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
)
from penstock.events.chunk_response import TokenUsage
from penstock.operators import adrive, drive, to_segments
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_invocations import to_invocations
from penstock.sinks.remote_readers import to_sse
from penstock.sources.from_wire import decode_wire

Target: TypeAlias = Literal["openai-chat", "openai-responses"]
TARGETS: tuple[Target, ...] = get_args(Target)
APIS = {
    "openai_chat": "openai-chat",
    "openai_responses": "openai-responses",
    "anthropic_messages": "anthropic-messages",
    "gemini": "gemini",
    "ollama": "ollama",
}
WITH_CHOICES = frozenset(("openai-chat", "gemini"))

# What becomes of our finish reasons: written here once more, as what a reader of each API gets back.
CHAT: dict[Any, str | None] = {"refusal": "content_filter", "pause": "stop", "other": "stop", "error": None}
RESPONSES: dict[Any, str | None] = {**CHAT, "tool_calls": "stop"}


class SaidCall(NamedTuple):
    id: str
    name: str
    arguments: str
    is_free_form: bool


class Said(NamedTuple):
    """What one answer says, put together from the events of `to_segments` alone."""

    content: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[SaidCall, ...] = ()
    whole: tuple[bool | None, ...] = ()
    """Of each call: whether it ended as complete; None if it did not, and its arguments do not show it."""
    is_cut: bool = False
    """Whether a call was cut although its arguments do not show it."""
    finish: str | None = None
    usage: TokenUsage | None = None
    speech: str = ""
    images: tuple[str, ...] = ()


class Read(NamedTuple):
    answers: dict[int, Said]
    error: ProviderError | None
    """What broke the stream."""
    first: int = 0
    """The answer that spoke first."""


def own_streams() -> Iterator[tuple[str, str]]:
    """Yield the API and the path of every stream of our own."""
    for folder, api in APIS.items():
        for path in sorted((STREAMS / folder).iterdir()):
            if path.suffix != ".json":
                yield api, str(path)


def wire_chunks(api: str, body: bytes) -> tuple[list[ChunkResponse], ProviderError | None]:
    """Return the chunks of a body, and the error that breaks it."""
    options: dict[str, Any] = {"choices": "all"} if api in WITH_CHOICES else {}
    chunks: list[ChunkResponse] = []
    try:
        for chunk in drive([body], decode_wire(api, turn_id="t", **options)):
            chunks.append(chunk)  # noqa: PERF402 - a copy would keep nothing of what came before
    except ProviderError as error:
        return chunks, error
    return chunks, None


def broken(chunks: Iterable[ChunkResponse], error: ProviderError | None) -> Iterator[ChunkResponse]:
    """Yield chunks, then raise the error that breaks the stream."""
    yield from chunks
    if error is not None:
        raise error


def reemitted(chunks: Iterable[ChunkResponse], error: ProviderError | None, target: Target, **options: Any) -> bytes:
    """Return an answer as the body of another API, behind the chain that most programs have."""
    chain = (to_segments(turn_id="t"), stream_fields(), to_invocations(keep_segments=True))
    return body_of(adrive(broken(chunks, error), *chain), target, **options)


def body_of(events: Any, target: Target, **options: Any) -> bytes:
    async def main() -> bytes:
        return b"".join([each async for each in to_sse(events, protocol=target, **options)])

    return asyncio.run(main())


def read(chunks: Iterable[ChunkResponse], error: ProviderError | None) -> Read:
    """Return what chunks say."""
    events: list[Any] = []
    try:
        for event in drive(broken(chunks, error), to_segments(turn_id="t")):
            events.append(event)  # noqa: PERF402 - a copy would keep nothing of what came before
    except ProviderError:
        assert error is not None
    spoken = (event for event in events if isinstance(event, SegmentStart | ProviderEvent | AnswerEnd))
    first = next(iter(spoken), None)
    choice = first.metadata.get("choice", 0) if isinstance(first, SegmentStart) else getattr(first, "choice", 0)
    return Read(_said(events), error, choice)


def read_back(body: bytes, target: Target) -> Read:
    return read(*wire_chunks(target, body))


def _said(events: Iterable[Any]) -> dict[int, Said]:
    starts: dict[str, SegmentStart] = {}
    texts: dict[str, list[str]] = {}
    ends: dict[str, SegmentEnd] = {}
    answers: dict[int, Said] = {}
    for event in events:
        match event:
            case SegmentStart():
                starts[event.segment_id], texts[event.segment_id] = event, []
            case SegmentContent():
                texts[event.segment_id].append(event.delta)
            case SegmentEnd():
                ends[event.segment_id] = event
            case AnswerEnd():
                is_cancelled = event.finish_reason == "other" and event.status in ("interrupted", "failed")
                finish = None if is_cancelled else event.finish_reason
                answers[event.choice] = Said(finish=finish, usage=event.usage)
            case _:
                pass
    for segment_id, start in starts.items():
        choice, text = start.metadata.get("choice", 0), "".join(texts[segment_id])
        answers[choice] = _with(answers[choice], start, text, ends[segment_id])
    return answers


def _with(said: Said, start: SegmentStart, text: str, end: SegmentEnd) -> Said:
    match start.segment_type:
        case "text":
            return said._replace(content=said.content + text)
        case "reasoning":
            return said._replace(reasoning=said.reasoning + text)
        case "refusal":
            return said._replace(refusal=said.refusal + text)
        case "media":
            kind, _, data = text.partition("base64,")
            if kind == "data:audio/pcm;":
                return said._replace(speech=said.speech + data)
            return said._replace(images=(*said.images, text)) if kind.startswith("data:image/") else said
        case _ if start.metadata.get("executed_by") == "provider":  # left out
            return said
        case _:
            is_free_form = start.metadata.get("kind") == "text"
            segment_id, is_whole_json = start.segment_id, not is_free_form and _is_json(text)
            call = SaidCall(segment_id, start.metadata["tool_name"], text, is_free_form)
            is_refused = end.reason == "contradiction" or "duplicate_of" in end.metadata
            whole = True if end.status == "complete" else None if is_whole_json else False
            shows_nothing = is_free_form or not text.strip()
            return said._replace(
                calls=(*said.calls, call),
                whole=(*said.whole, whole),
                is_cut=said.is_cut
                or (end.status == "truncated" and shows_nothing)
                or (is_refused and (is_free_form or is_whole_json)),
            )


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=int)  # which refuses NaN and Infinity, as JSON does
    except ValueError:
        return False
    return True


def carried(truth: Read, target: Target) -> Read:
    """Return what of an answer its target can carry: what a reader must get back."""
    answers = {number: _carried(said, target) for number, said in truth.answers.items()}
    if is_failed(truth, target) and target == "openai-responses":  # a failed response has no other finish
        answers = {number: said._replace(finish=None) for number, said in answers.items()}
    if target == "openai-responses":
        answers = {0: answers[truth.first]}
    return truth._replace(answers=answers)


def is_failed(truth: Read, target: Target) -> bool:
    """Return whether the stream of an answer must end with an error: it broke, or one of its answers has no end."""
    sent = truth.answers if target == "openai-chat" else {0: truth.answers[truth.first]}
    return truth.error is not None or any(said.finish in ("error", None) for said in sent.values())


def _carried(said: Said, target: Target) -> Said:
    calls = tuple(
        call._replace(arguments=f"{call.arguments}{{}}")
        if whole and not call.is_free_form and not call.arguments.strip()
        else call
        for call, whole in zip(said.calls, said.whole, strict=True)
    )
    if target == "openai-responses":
        finish = RESPONSES.get(said.finish, said.finish)
        return said._replace(finish="tool_calls" if calls and finish == "stop" else finish, calls=calls, speech="")
    # Of a call whose text shows nothing, nothing but the finish of the answer says whether it was finished.
    whole = tuple(
        None if call.is_free_form or not call.arguments.strip() else each
        for call, each in zip(calls, said.whole, strict=True)
    )
    finish = "tool_calls" if calls and said.finish in ("stop", "pause") else CHAT.get(said.finish, said.finish)
    if said.is_cut and finish in ("stop", "tool_calls"):
        finish = "length"
    return said._replace(finish=finish, calls=calls, whole=whole, images=())


def data_of(body: bytes) -> list[Any]:
    """Return the objects of server-sent events with one line of data each."""
    lines = [line.removeprefix("data: ") for line in body.decode().split("\n") if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


@contextmanager
def client_of(body: bytes) -> Iterator[openai.OpenAI]:
    """Yield a client of the real SDK that gets a body as its answer."""
    with (
        BodyServer(body, pieces=1400) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0) as client,
    ):
        yield client


def by_chat_helper(body: bytes) -> Any:
    """Return the completion that the SDK's stream helper puts together.

    It is not the final one: that is refused for a length or a content filter, and cannot have calls of custom tools.
    """
    with (
        client_of(body) as client,
        client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "-"}]) as stream,
    ):
        stream.until_done()
        return stream.current_completion_snapshot


def by_responses_helper(body: bytes) -> Any:
    """Return the last event of the SDK's stream helper."""
    with client_of(body) as client, client.responses.stream(model="m", input="-") as stream:
        return list(stream)[-1]


def named(path: str) -> str:
    return "/".join(Path(path).parts[-2:])
