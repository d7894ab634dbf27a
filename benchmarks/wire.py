"""What reading a provider's bytes costs, as a ratio to the provider's SDK that only decodes them, in one process.

    python benchmarks/wire.py              prints a table; exits with 1 if a bound is passed or an output is wrong
    python benchmarks/wire.py FOLDER ...   prints how many events of recorded bodies have a lane, by API

The bytes come an event at a time; a delta is four characters. Ratios of CPU time, taken in turns, hardly move. An
answer that falls back has an unknown key in each event; it is compared with reading it by `json.loads` and without a
lane, which is what all events cost before there was one.
"""

from __future__ import annotations

import gc
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
import anthropic
import checkout  # noqa: F401 - first of all
import httpx2 as httpx
import openai
from google import genai
from lanes import APIS, lane_counts

from penstock.events import SegmentContent
from penstock.operators import lift, stage, to_segments
from penstock.sources import decode_wire
from penstock.sources.base.machine import MachineStage
from penstock.sources.from_wire import WireMachine
from penstock.sources.recognition.apis import api_of
from penstock.sources.recognition.checked_machine import checked_machine
from penstock.sources.recognition.recognised_api import apis_of_body

ROUNDS = 15
DELTAS = 500
DELTA = 4
LEAST_IN_LANES = 0.9
MOST_BACK = 1.15
SOURCE = Path(json.__file__).read_text(encoding="utf-8")[: DELTAS * DELTA]
MESSAGES: Any = [{"role": "user", "content": "-"}]


def cut(text: str) -> list[str]:
    return [text[place : place + DELTA] for place in range(0, len(text), DELTA)]


def sse(name: str, data: Any) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def chat(deltas: list[dict[str, Any]], finish: str) -> list[bytes]:
    def event(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return sse(
            "",
            {
                "id": "chatcmpl-CxYz0123456789abcdefgh",
                "object": "chat.completion.chunk",
                "created": 1767225600,
                "model": "gpt-5-2025-08-07",
                "service_tier": "default",
                "system_fingerprint": None,
                "choices": [choice],
                "usage": None,
                "obfuscation": "aBcDeFgH",
            },
        )

    return [*map(event, deltas), event({}, finish), b"data: [DONE]\n\n"]


def chat_text() -> list[bytes]:
    return chat([{"role": "assistant", "content": ""}, *({"content": each} for each in cut(SOURCE))], "stop")


def chat_call() -> list[bytes]:
    function = {"name": "write_file", "arguments": ""}
    first = {"role": "assistant", "content": None}
    begin = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
    pieces = [{"tool_calls": [{"index": 0, "function": {"arguments": each}}]} for each in cut(arguments())]
    return chat([first | begin, *pieces], "tool_calls")


def arguments() -> str:
    return json.dumps({"path": "a.py", "content": SOURCE})


def responses(kind: str, item: dict[str, Any], events: list[dict[str, Any]], done: dict[str, Any]) -> list[bytes]:
    response = {"id": "resp_1", "object": "response", "created_at": 1767225600, "model": "gpt-5", "output": []}
    begin = {"type": "response.created", "response": {**response, "status": "in_progress"}}
    added = {"type": "response.output_item.added", "output_index": 0, "item": item}
    end = {"type": "response.output_item.done", "output_index": 0, "item": {**item, **done}}
    usage = {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10}
    last = {"type": "response.completed", "response": {**response, "status": "completed", "usage": usage}}
    deltas = [{"type": kind, "item_id": item["id"], "output_index": 0, **each} for each in events]
    all_events = [begin, added, *deltas, end, last]
    return [sse(str(each["type"]), {**each, "sequence_number": at}) for at, each in enumerate(all_events)]


def responses_text() -> list[bytes]:
    item = {"id": "msg_1", "type": "message", "status": "in_progress", "content": [], "role": "assistant"}
    deltas = [{"content_index": 0, "delta": each, "logprobs": [], "obfuscation": "aBcDeFgH"} for each in cut(SOURCE)]
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": SOURCE}
    return responses("response.output_text.delta", item, deltas, {"status": "completed", "content": [part]})


def responses_call() -> list[bytes]:
    item = {"id": "fc_1", "type": "function_call", "status": "in_progress", "arguments": "", "call_id": "call_1"}
    deltas = [{"delta": each, "obfuscation": "aBcDeFgH"} for each in cut(arguments())]
    done = {"status": "completed", "arguments": arguments()}
    return responses("response.function_call_arguments.delta", item | {"name": "write_file"}, deltas, done)


def messages(block: dict[str, Any], deltas: list[dict[str, Any]], reason: str) -> list[bytes]:
    usage = {"input_tokens": 5, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [], "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": each} for each in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return [sse(each["type"], each) for each in events]


def anthropic_text() -> list[bytes]:
    deltas = [{"type": "text_delta", "text": each} for each in cut(SOURCE)]
    return messages({"type": "text", "text": ""}, deltas, "end_turn")


def anthropic_call() -> list[bytes]:
    deltas = [{"type": "input_json_delta", "partial_json": each} for each in cut(arguments())]
    return messages({"type": "tool_use", "id": "toolu_1", "name": "write_file", "input": {}}, deltas, "tool_use")


def gemini(parts: list[dict[str, Any]]) -> list[bytes]:
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 5, "totalTokenCount": 10}

    def event(part: dict[str, Any], **more: Any) -> bytes:
        candidate = {"content": {"parts": [part], "role": "model"}, **more, "index": 0}
        data = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-pro", "responseId": "r"}
        return sse("", data).replace(b"\n", b"\r\n")

    return [*map(event, parts), event({"text": ""}, finishReason="STOP")]


def gemini_text() -> list[bytes]:
    return gemini([{"text": each} for each in cut(SOURCE)])


def gemini_call() -> list[bytes]:
    return gemini(
        [
            {"functionCall": {"name": "write_file", "willContinue": True}},
            *(
                {
                    "functionCall": {
                        "partialArgs": [{"jsonPath": "$.content", "stringValue": each, "willContinue": True}],
                        "willContinue": True,
                    }
                }
                for each in cut(SOURCE)
            ),
            {"functionCall": {"partialArgs": [{"jsonPath": "$.content", "stringValue": "", "willContinue": False}]}},
        ]
    )


def unfit(pieces: list[bytes]) -> list[bytes]:
    """Return the events with one more key, which no lane knows."""
    return [piece.replace(b"data: {", b'data: {"new_key":0,') for piece in pieces]


def by_openai(*path: str) -> Callable[[list[bytes]], Iterator[Any]]:
    def start(pieces: list[bytes]) -> Iterator[Any]:
        http = httpx.Client(transport=httpx.MockTransport(lambda _: served(pieces)))
        client = openai.OpenAI(api_key="none", base_url="http://test/v1", http_client=http)
        if path == ("responses",):
            return iter(client.responses.create(model="m", input="-", stream=True))
        return iter(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))

    return start


def by_anthropic(pieces: list[bytes]) -> Iterator[Any]:
    http = httpx.Client(transport=httpx.MockTransport(lambda _: served(pieces)))
    client = anthropic.Anthropic(api_key="none", base_url="http://test", http_client=http)
    return iter(client.messages.create(model="m", max_tokens=9, messages=MESSAGES, stream=True))


def by_google(pieces: list[bytes]) -> Iterator[Any]:
    http = httpx.Client(transport=httpx.MockTransport(lambda _: served(pieces)))
    options = genai.types.HttpOptions(base_url="http://test", httpx_client=http)
    client = genai.Client(api_key="none", http_options=options)
    return client.models.generate_content_stream(model="m", contents="-")


def served(pieces: list[bytes]) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=iter(pieces))


class Work(NamedTuple):
    """One kind of answer: its bytes, the SDK that decodes them, and how many times as costly that must be at least."""

    api: str
    what: str
    pieces: Callable[[], list[bytes]]
    by_sdk: Callable[[list[bytes]], Iterator[Any]]
    bound: float


WORKS = (
    Work("openai-chat", "text", chat_text, by_openai(), 18),
    Work("openai-chat", "call", chat_call, by_openai(), 18),
    Work("openai-responses", "text", responses_text, by_openai("responses"), 10),
    Work("openai-responses", "call", responses_call, by_openai("responses"), 10),
    Work("anthropic-messages", "text", anthropic_text, by_anthropic, 3.5),
    Work("anthropic-messages", "call", anthropic_call, by_anthropic, 3.5),
    Work("gemini", "text", gemini_text, by_google, 15),
    Work("gemini", "call", gemini_call, by_google, 15),
)


def sdk_seconds(work: Work, pieces: list[bytes]) -> float:
    stream = work.by_sdk(pieces)
    next(stream)  # the request is made with the first item at the latest
    begin = thread_time()
    for _ in stream:
        pass
    return thread_time() - begin


def own_seconds(feed: Callable[[bytes], Any], pieces: list[bytes]) -> float:
    feed(pieces[0])
    begin = thread_time()
    for piece in pieces[1:]:
        feed(piece)
    return thread_time() - begin


def own(api: str) -> Callable[[bytes], Any]:
    return stage(decode_wire(api), to_segments()).feed


def without_lane(api: str) -> Callable[[bytes], Any]:
    def new() -> MachineStage:
        machine = checked_machine(api)
        machine.lane = machine._its_lane = None  # noqa: SLF001 - as if the API had none
        return MachineStage(WireMachine(machine, api_of(api).new_decoder()))

    return stage(lift(new), to_segments()).feed


def general_seconds(api: str, pieces: list[bytes]) -> float:
    """Read in the way of all events before there were lanes."""
    module: Any = sys.modules[WireMachine.__module__]
    fast, module.json_value = module.json_value, json.loads
    try:
        return own_seconds(without_lane(api), pieces)
    finally:
        module.json_value = fast


def is_right(work: Work, pieces: list[bytes]) -> bool:
    run = stage(decode_wire(work.api), to_segments())
    events = [event for piece in pieces for event in run.feed(piece)] + run.close()
    text = "".join(event.delta for event in events if isinstance(event, SegmentContent))
    return text == SOURCE if work.what == "text" else json.loads(text)["content"] == SOURCE


def shares(folders: list[Path]) -> int:
    """Print how many events of the bodies in folders have a lane; return 1 if fewer than nine of ten are."""
    in_lanes: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        body = path.read_bytes()
        api = next((api for api in apis_of_body(body) if api in APIS), None)
        if api is not None and path.name != "index.json":
            fits, count = lane_counts(api, body)
            in_lanes[api] += fits
            total[api] += count
    for api, count in total.items():
        print(f"{api:20} {in_lanes[api]:6} of {count:6} events have a lane: {in_lanes[api] / count:.1%}")
    return int(not total or any(in_lanes[api] < LEAST_IN_LANES * count for api, count in total.items()))


def main() -> int:
    gc.disable()
    failed = False
    for work in WORKS:
        pieces = work.pieces()
        right = is_right(work, pieces)
        sdk_seconds(work, pieces)
        ratio = median(sdk_seconds(work, pieces) / own_seconds(own(work.api), pieces) for _ in range(ROUNDS))
        others = unfit(pieces)
        back = median(own_seconds(own(work.api), others) / general_seconds(work.api, others) for _ in range(ROUNDS))
        failed |= ratio < work.bound or back > MOST_BACK or not right
        name, verdict = f"{work.api}, {work.what}: wire → segments", "right" if right else "WRONG"
        print(f"{name:46} {ratio:5.1f} times cheaper than the SDK's decoding   (bound {work.bound})   output {verdict}")
        print(f"{'    the same, where each event falls back':46} {back:5.2f} of the general way   (bound {MOST_BACK})")
    return int(failed)


if __name__ == "__main__":
    sys.exit(shares([Path(each) for each in sys.argv[1:]]) if sys.argv[1:] else main())
