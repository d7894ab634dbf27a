"""`Recorder`: what stands in a folder after requests over sockets, and what does not."""

from __future__ import annotations

import json
import logging
import os
import stat
from pathlib import Path
from typing import Any

import httpx2
import pytest
from scripted_upstream import ScriptedUpstream, body_of, chunk, gateway, text_chunks
from starlette.responses import JSONResponse

from penstock import Pipeline, UsageError
from penstock.events import AnswerEnd, ProviderError, SegmentContent
from penstock.gateway.operating.recorder import ClientRequest, Recorder, without_keys
from penstock.operators import KEYS
from penstock.sources.recordings.read_recording import read_recording

PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")
ID = "chatcmpl-" + "0" * 32
SECRET = "sk-do-not-write-me"


def asked(**more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Go."}]
    return {"model": "m", "stream": True, "max_tokens": 9, "messages": messages, "input": "Go.", **more}


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


@pytest.mark.parametrize("stream", [True, False])
def test_each_request_is_a_recording_with_what_the_upstream_sent(stream: bool, tmp_path: Path):
    server = ScriptedUpstream(body_of(text_chunks(["Hel", "lo"])))
    with gateway(server, record=tmp_path / "new" / "folder", dialect="hermes") as url:
        for path in PATHS:
            assert httpx2.post(url + path, json=asked(stream=stream), timeout=20).status_code == 200
    files = files_in(tmp_path / "new" / "folder")
    assert len(files) == 3
    for path, file in zip(PATHS, files, strict=True):
        assert read_recording(file.read_bytes()).meta.request == {"path": path, "body": asked(stream=stream)}
        *_, last = events = list(Pipeline().stream(file))
        assert "".join(event.delta for event in events if isinstance(event, SegmentContent)) == "Hello"
        assert isinstance(last, AnswerEnd)
        assert (last.finish_reason, last.usage and last.usage.prompt) == ("stop", 11)


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (JSONResponse({"error": {"message": "broken"}}, 500), ("broken", 500)),
        (body_of([{"error": {"message": "no", "code": 500}}]), None),
        (JSONResponse({"choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}), None),
    ],
)
def test_what_was_refused_or_did_not_stream_is_recorded_too(script: Any, error: Any, tmp_path: Path):
    with gateway(ScriptedUpstream(script), record=tmp_path, dialect="hermes") as url:
        httpx2.post(url + PATHS[0], json=asked(), timeout=20)
    [file] = files_in(tmp_path)
    recording = read_recording(file.read_bytes())
    assert (recording.end is None, bool(recording.items)) == (False, error is None)
    if error is not None:
        assert recording.error is not None
        assert (recording.error.detail, recording.error.status) == error


def test_an_answer_that_the_client_has_left_is_recorded_as_far_as_it_came(tmp_path: Path):
    server = ScriptedUpstream([*body_of(text_chunks(["Hi"], None), done=False), None])
    with gateway(server, record=tmp_path, dialect="hermes") as url:
        with httpx2.stream("POST", url + PATHS[0], json=asked(), timeout=20) as response:
            next(response.iter_lines())
        assert server.closed.get(timeout=20) == "closed"
    [file] = files_in(tmp_path)
    recording = read_recording(file.read_bytes())
    assert recording.end is not None
    assert (recording.end.end, len(recording.items)) == ("closed", 2)


def test_no_key_is_in_the_folder_or_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    server = ScriptedUpstream(body_of(text_chunks(["Hi"])))
    mcp = {"type": "mcp", "server_label": "a", "authorization": SECRET, "headers": {"X-Own": SECRET}}
    servers = [{"type": "url", "url": f"https://me:{SECRET}@a.example?key={SECRET}", "authorization_token": SECRET}]
    headers = {"authorization": f"Bearer {SECRET}", "cookie": SECRET}
    with caplog.at_level(logging.DEBUG), gateway(server, record=tmp_path, dialect="hermes") as url:
        for path in PATHS:
            body = asked(tools=[mcp] if path == "/v1/responses" else [], mcp_servers=servers, api_key=SECRET)
            assert httpx2.post(url + path, json=body, headers=headers, timeout=20).status_code == 200
    assert [each["authorization"] for each in server.headers] == [f"Bearer {SECRET}"] * 3, "it was passed on"
    files = list(tmp_path.iterdir())
    assert len(files) >= 4
    assert [each for each in files if SECRET.encode() in each.read_bytes()] == []
    assert SECRET not in "".join(record.getMessage() for record in caplog.records if "penstock" in record.name)


@pytest.mark.parametrize("stream", [True, False])
def test_what_is_redacted_for_clients_is_not_in_a_recording(stream: bool, tmp_path: Path):
    key = "AKIA0123456789ABCDEF"
    server = ScriptedUpstream(body_of([chunk({"reasoning_content": key}), *text_chunks([*f"So {key}, {key}"])]))
    with gateway(server, record=tmp_path, redact=KEYS) as url:
        for path in PATHS:
            body = asked(stream=stream, store=False, instructions=f"My key is {key}", system=f"My key is {key}")
            assert httpx2.post(url + path, json=body, timeout=20).status_code == 200
    assert key in json.dumps(server.requests[1]), "the upstream is asked what the client asked"
    for file in files_in(tmp_path):
        assert key not in file.read_text()
        events = list(Pipeline().stream(file))
        said = "".join(
            each.delta for each in events if isinstance(each, SegmentContent) and each.segment_type == "text"
        )
        assert said == "So [redacted:aws key], [redacted:aws key]"
        assert isinstance(events[-1], AnswerEnd)
        assert events[-1].status == "complete"


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions")
def test_what_is_kept_is_for_nobody_else_to_read_also_in_a_folder_that_was_there(tmp_path: Path):
    tmp_path.chmod(0o755)
    with gateway(ScriptedUpstream(body_of(text_chunks(["Hi"]))), record=tmp_path) as url:
        assert httpx2.post(url + PATHS[1], json=asked(), timeout=20).status_code == 200
        files = list(tmp_path.iterdir())
        assert len(files) >= 2
        assert [each.name for each in files if stat.S_IMODE(each.stat().st_mode) != 0o600] == []


def test_what_people_and_models_say_is_not_changed():
    body = {"messages": [{"role": "user", "content": "authorization: x"}], "tools": [{"type": "function", "a": None}]}
    schema = {"type": "object", "properties": {"api_key": {"type": "string"}, "headers": {"type": "object"}}}
    assert without_keys({**body, "schema": schema}) == {**body, "schema": schema}
    deep: Any = "x"
    for _ in range(10_000):
        deep = [deep]
    assert without_keys(deep) is deep


def test_the_oldest_recordings_go_and_no_other_file(tmp_path: Path):
    (tmp_path / "2020-01-01T00-00-00.000000.jsonl").write_text("x" * 5000)  # as penstock record names it
    recorder = Recorder(tmp_path, most=3000)
    for number in range(9):
        file = recorder.begin(ID, ClientRequest("/v1/messages", b'{"n": %d}' % number))
        file.write(b"data: " + b"x" * 1000 + b"\n\n")
        file.end()
    names = [each.name for each in files_in(tmp_path)]
    assert len(names) == 4, "the foreign one, two as long as allowed, and the last one"
    kept: list[Any] = [read_recording(each.read_bytes()).meta.request for each in files_in(tmp_path)[1:]]
    assert [each["body"]["n"] for each in kept] == [6, 7, 8]
    Recorder(tmp_path, most=0).begin(ID, ClientRequest("/", b"{}")).end()
    assert len(files_in(tmp_path)) == 2, "those of an earlier start count"


def test_a_recording_that_is_written_is_not_removed(tmp_path: Path):
    recorder = Recorder(tmp_path, most=100)
    first = recorder.begin(ID, ClientRequest("/", b"{}"))
    first.write(b"data: " + b"x" * 1000 + b"\n\n")
    recorder.begin(ID, ClientRequest("/", b"{}")).end()
    first.write(b"data: y\n\n")
    first.end(ProviderError("cut", transport=True))
    assert len(read_recording(Path(first.path).read_bytes()).items) == 2


def test_where_nothing_can_be_written_requests_are_answered_and_the_start_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with gateway(ScriptedUpstream(body_of(text_chunks(["Hi"]))), record=tmp_path / "a", dialect="hermes") as url:
        for each in (tmp_path / "a").iterdir():
            each.unlink()
        (tmp_path / "a").rmdir()
        response = httpx2.post(url + PATHS[0], json=asked(), timeout=20)
    assert (response.status_code, "Hi" in response.text) == (200, True)
    assert "cannot write the recording" in caplog.text
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot record into .*file: .*; name another folder"):
        Recorder(tmp_path / "file")


def test_the_line_of_the_log_names_the_recording(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with (
        caplog.at_level("INFO", "penstock.gateway"),
        gateway(ScriptedUpstream(body_of(text_chunks(["Hi"]))), record=tmp_path, dialect="hermes") as url,
    ):
        answer = httpx2.post(url + PATHS[2], json=asked(stream=False), timeout=20).json()
    [file] = files_in(tmp_path)
    assert file.name.endswith(f"-{answer['id']}.jsonl")
    assert f"recorded={file.name}" in caplog.text
    assert json.loads(file.read_text().splitlines()[0])["api"] == "openai-chat"
