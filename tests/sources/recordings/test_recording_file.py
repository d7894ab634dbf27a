from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from penstock.events import ProviderError
from penstock.sources import from_recording
from penstock.sources.recordings.read_recording import read_recording
from penstock.sources.recordings.recording_file import RecordingFile, new_file
from penstock.sources.recordings.recording_format import recording_schema

EVENT = b'data: {"object": "chat.completion.chunk", "model": "m", "choices": [{"delta": {"content": "Hi"}}]}\n\n'
REQUEST = {"path": "/v1/messages", "body": {"model": "m"}}


def begun(path: Path, **options: Any) -> RecordingFile:
    return RecordingFile(new_file(path, overwrite=False), **options)


def test_the_first_line_has_the_request(tmp_path: Path):
    file = begun(tmp_path / "a.jsonl", request=REQUEST)
    file.write(EVENT)
    file.end()
    body = (tmp_path / "a.jsonl").read_bytes()
    assert read_recording(body).meta.request == REQUEST
    for line in body.splitlines():
        jsonschema.validate(json.loads(line), recording_schema())


def test_a_refusal_stays_with_its_request_and_goes_without(tmp_path: Path):
    refusal = ProviderError("no connection", transport=True)
    refusal.__cause__ = ConnectionRefusedError()
    for name, options in (("with", {"request": REQUEST}), ("without", {})):
        begun(tmp_path / name, **options).end(refusal)
    assert [each.name for each in tmp_path.iterdir()] == ["with"]
    recording = read_recording((tmp_path / "with").read_bytes())
    assert (recording.meta.request, recording.items, str(recording.error)) == (REQUEST, [], str(refusal))


def test_a_file_gets_no_longer_than_it_may_be_and_can_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "a.jsonl"
    file = begun(path, most=500)
    with caplog.at_level(logging.WARNING, "penstock"):
        for _ in range(20):
            file.write(EVENT)
        file.end()
    assert file.is_closed
    assert path.stat().st_size <= 500
    assert "it would be longer than it may be" in caplog.text
    chunks: list[Any] = []
    from_recording(path).subscribe(chunks.append)
    assert chunks
    assert {chunk.content for chunk in chunks} <= {"Hi", ""}
