"""A provider's error is told with its message in every API, in whatever form, place and cutting it comes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from chat_client import collected
from chunk_grammar import checked
from depth import stride
from looped import looped

from penstock import Pipeline, SegmentEnd, SegmentStart
from penstock.events import AnswerEnd, ChunkResponse, ProviderError
from penstock.operators import drive
from penstock.sources import decode_wire, from_stream, from_wire
from penstock.sources.recognition.apis import APIS, api_of

STREAMS = Path(__file__).parents[1] / "streams"
ROWS = frozenset({"ollama"})
EVERY_API = [api.name for api in APIS]
SSE_APIS = [name for name in EVERY_API if name not in ROWS]

ERRORS: dict[str, dict[str, Any]] = {
    "error": {"error": {"message": "out of memory", "type": "server_error", "code": 500}},
    "error as text": {"error": "out of memory"},
    "typed": {"type": "error", "error": {"type": "overloaded_error", "message": "out of memory"}},
    "object": {"object": "error", "message": "out of memory", "code": 400},
    "code and message": {"code": "Throttling", "message": "out of memory", "request_id": "r"},
    "error_message": {"error_type": "invalid_request_error", "error_message": "out of memory"},
    "base_resp": {"base_resp": {"status_code": 1008, "status_msg": "out of memory"}},
    "detail": {"detail": "out of memory"},
    "message": {"message": "out of memory"},
}
FRAMES = {
    "data": "data: {}\n\n",
    "named": "event: error\ndata: {}\n\n",
    "named, with a comment": "id:1\nevent:error\n:HTTP_STATUS/429\ndata:{}\n\n",
    "CRLF": "event: error\r\ndata: {}\r\n\r\n",
    "a line of its own": "error: {}\n\n",
    "no frame": "{}\n\n",
    "no frame and no blank line": "{}\n",
    "a list": "[{}]\n\n",
}
PAGE = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n\n<body>out of memory</body></html>\n"


def body_of(api: str) -> bytes:
    folder = api.replace("-", "_").removesuffix("_generate")
    [path] = [path for path in (STREAMS / folder).glob("write_file.*") if path.suffix != ".json"]
    return path.read_bytes()


def events_of(body: bytes) -> list[bytes]:
    return [event for event in re.split(rb"(?<=\n\n)|(?<=\n\r\n)", body) if event]


def by_byte(body: bytes) -> list[bytes]:
    return [body[at : at + 1] for at in range(len(body))]


def ended(api: str, pieces: Any) -> tuple[list[ChunkResponse], Any]:
    chunks, [end] = collected(from_wire(api, pieces, turn_id="t", keep_message=True))
    return chunks, end


def told(end: object) -> ProviderError:
    assert isinstance(end, ProviderError)
    assert "out of memory" in end.detail
    return end


@looped("api", SSE_APIS)
@looped("frame", FRAMES)
@looped("form", ERRORS)
def test_as_the_whole_body_however_it_is_framed_and_cut(api: str, frame: str, form: str):
    body = FRAMES[frame].replace("{}", json.dumps(ERRORS[form])).encode()
    for whole in (body, body.rstrip(), b"\xef\xbb\xbf" + body, b": wait\n\n" + body):
        chunks, end = ended(api, [whole])
        cut_chunks, cut_end = ended(api, by_byte(whole))
        assert told(end).args == told(cut_end).args
        assert chunks == cut_chunks
        assert [chunk.error["detail"] for chunk in chunks if chunk.error] == [end.detail]


@looped("api", EVERY_API)
@looped("form", ERRORS)
def test_as_an_item_and_as_a_bare_body(api: str, form: str):
    item = ERRORS[form]
    chunks, [end] = collected(from_stream([item], api, turn_id="t"))
    assert [bool(chunk.error) for chunk in chunks if not chunk.raw] == [True]
    for indent in (None, 2):
        body = json.dumps(item, indent=indent).encode()
        for pieces in ([body], by_byte(body)):
            assert told(ended(api, pieces)[1]).args == told(end).args


@pytest.mark.parametrize("form", ["code and message", "error_message", "base_resp", "detail", "object"])
def test_an_error_that_comes_first_needs_no_named_api(form: str):
    _, [end] = collected(from_stream([ERRORS[form]]))
    told(end)


@looped("api", EVERY_API)
def test_a_page_in_place_of_the_stream(api: str):
    for page in (PAGE, PAGE.replace("\n", "\r\n"), PAGE.strip(), "\n " + PAGE):
        for pieces in ([page.encode()], by_byte(page.encode())):
            _, end = ended(api, pieces)
            assert "502 Bad Gateway out of memory" in told(end).detail
            assert end.type == "html"


@pytest.mark.laws
@looped("api", SSE_APIS)
@looped("form", [*FRAMES, "page"])
def test_at_any_place_of_a_stream_it_ends_all_that_is_open(api: str, form: str):
    events = events_of(body_of(api))
    said = PAGE if form == "page" else FRAMES[form].replace("{}", json.dumps(ERRORS["error"]))
    places = sorted({0, 1, 2, *range(3, len(events), max(1, len(events) // 8)), len(events) - 1})
    for place in places[:: stride(5)]:
        body = b"".join([*events[:place], said.encode(), *events[place:]])
        seen, end, error = events_from(api, [body])
        assert [seen, end] == [*events_from(api, by_byte(body))[:2]]
        told(error)
        begun = [event.segment_id for event in seen if isinstance(event, SegmentStart)]
        assert sorted(event.segment_id for event in seen if isinstance(event, SegmentEnd)) == sorted(begun)
        [last] = [event for event in seen if isinstance(event, AnswerEnd)]
        assert last.status == "failed"
        assert last.error is not None
        checked(ended(api, [body])[0])


def events_from(api: str, pieces: list[bytes]) -> tuple[list[Any], tuple[Any, ...], Any]:
    """Return the events of a stream, what its error has, and the error."""
    seen: list[Any] = []
    run = Pipeline(turn_id="t").stream(drive(pieces, decode_wire(api, turn_id="t", keep_message=True)))
    with pytest.raises(ProviderError) as told:
        seen.extend(run)
    return seen, told.value.args, told.value


# Chat


def chunk(delta: dict[str, Any], finish: str | None = None, *, of_choice: Any = None, **top: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, **(of_choice or {})}], **top}


CALL = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "read", "arguments": '{"path": "a"}'}}]}
BESIDE = {
    "at the top": chunk({}, "error", error={"code": 502, "message": "out of memory"}),
    "in the choice": chunk({}, "error", of_choice={"error": {"code": 502, "message": "out of memory"}}),
    "as text in the choice": chunk({}, None, of_choice={"error": "out of memory"}),
    "MiniMax's": chunk({}, None, base_resp={"status_code": 1027, "status_msg": "out of memory"}),
    "Venice's": chunk({}, None, error_type="t", error_message="out of memory"),
    "Groq's": chunk({}, None, x_groq={"id": "r", "error": "out of memory"}),
}


@looped("before", [[], [chunk({"content": "Hal"})], [chunk(CALL)], [chunk({"content": "Hi"}, "stop")]])
@looped("form", BESIDE)
def test_beside_a_chunk_or_in_a_choice_by_wire_and_as_items(form: str, before: list[dict[str, Any]]):
    items = [*before, BESIDE[form]]
    wanted, [end] = collected(from_stream(items, "openai-chat", turn_id="t", keep_message=True))
    told(end)
    body = "".join(f"data: {json.dumps(item)}\n\n" for item in items).encode()
    for ending in (b"", b"data: [DONE]\n\n", b"data: [done]\n\n"):
        for pieces in ([body + ending], [body, ending], by_byte(body + ending)):
            chunks, cut_end = ended("openai-chat", pieces)
            assert chunks == wanted
            assert told(cut_end).args == told(end).args
            by_drive: list[ChunkResponse] = []
            with pytest.raises(ProviderError, match="out of memory"):
                by_drive.extend(drive(pieces, decode_wire("openai-chat", turn_id="t", keep_message=True)))
            assert by_drive == wanted


def test_a_call_beside_which_an_error_came_is_not_run():
    seen: list[Any] = []
    with pytest.raises(ProviderError, match="out of memory"):
        seen.extend(Pipeline(api="openai-chat").stream([chunk(CALL), BESIDE["at the top"]]))
    assert [type(event).__name__ for event in seen if "Invocation" in type(event).__name__] == ["InvocationFailed"]


def test_what_an_error_has_besides_its_message_is_kept():
    for item in ({"code": "c", "message": "m", "request_id": "r"}, {"error": "m", "request_id": "r"}):
        for api in EVERY_API:
            if api in ("ollama", "gemini", "cohere"):
                continue
            chunks, _ = collected(from_stream([item], api))
            assert [chunk.raw for chunk in chunks if chunk.raw] == [({"request_id": "r"},)], api


@pytest.mark.parametrize(
    "base_resp", [{"status_code": 0, "status_msg": ""}, {"status_code": 0, "status_msg": "success"}]
)
def test_a_vendor_that_says_all_is_well_tells_no_error(base_resp: dict[str, Any]):
    assert collected(from_stream([chunk({"content": "Hi"}, "stop", base_resp=base_resp)], "openai-chat"))[1] == [
        "completed"
    ]
    assert collected(from_stream([{"choices": [], "base_resp": base_resp}], "openai-chat"))[1] == ["completed"]


def test_every_api_has_a_stream_of_its_own_here():
    for api in SSE_APIS:
        assert events_of(body_of(api))
        assert api_of(api).name == api
