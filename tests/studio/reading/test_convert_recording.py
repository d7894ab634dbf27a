"""Every own stream, converted there and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chat_client import collected
from looped import looped
from own_streams import OWN, options_of

from penstock.events import UsageError
from penstock.sources import from_recording, from_stream, from_wire
from penstock.sources.recordings.read_recording import read_recording
from penstock.studio import record
from penstock.studio.reading.recorded import converted


@looped("api, name, body", OWN)
def test_a_body_is_the_same_there_and_back_and_its_recording_is_the_stream(
    api: str, name: str, body: bytes, tmp_path: Path
):
    recording, losses = converted(body, "recording", api)
    assert losses == ("times, for a body has none",)
    assert converted(recording, "body").content == body
    assert not read_recording(recording).has_times
    file, options = tmp_path / "a.jsonl", options_of(api, name)
    file.write_bytes(recording)
    wanted = collected(from_wire(api, [body], turn_id="t", **options))
    again = collected(from_recording(file, api, turn_id="t", **options))
    assert (again[0], list(map(str, again[1]))) == (wanted[0], list(map(str, wanted[1])))
    with pytest.raises(UsageError, match="has no times"):
        from_recording(file, api, pace="original")


@looped("api, name, body", OWN)
def test_a_recording_as_a_body_is_what_was_recorded(api: str, name: str, body: bytes, tmp_path: Path):
    file = tmp_path / "a.jsonl"
    pieces = [body[at : at + 50] for at in range(0, len(body), 50)]
    _, ends = collected(from_wire(api, record(file, api=api, overwrite=True)(pieces), **options_of(api, name)))
    content, (first, *others) = converted(file.read_bytes(), "body", api)
    assert body.startswith(content)
    assert content == body or len(ends) == 1  # what follows a fatal error, or [DONE], nobody reads
    assert first == "the times"
    assert all(each.startswith("the error that ended the stream") for each in others)


def test_the_items_of_an_sdk_are_framed_anew_and_decoded_alike(tmp_path: Path):
    file = tmp_path / "a.jsonl"
    items = [
        {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi"}}]},
        {"object": "chat.completion.chunk", "choices": [{"delta": {}, "finish_reason": "stop"}]},
    ]
    chunks, _ = collected(from_stream(record(file)(items), turn_id="t"))
    body, losses = converted(file.read_bytes(), "body")
    assert body.endswith(b"data: [DONE]\n\n")
    assert [each.split(":")[0] for each in losses] == ["the times", "the bytes as the provider framed them"]
    assert collected(from_wire("chat", [body], turn_id="t"))[0] == chunks


@pytest.mark.parametrize("is_killed", [False, True])
def test_what_a_body_cannot_hold_is_said(tmp_path: Path, is_killed: bool):
    meta = {"penstock_recording": 1, "form": "items", "api": "openai-chat", "sdk": "openai", "sdk_version": "2.4.0"}
    lines = [
        {**meta, "start": "2026-01-01T00:00:00.000000Z"},
        {"t_ns": 1, "raw": {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi"}}]}},
    ]
    if not is_killed:
        lines.append({"t_ns": 2, "end": "error", "error": {"detail": "lost", "transport": True}})
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    body, losses = converted(content + b'{"t_', "body") if is_killed else converted(content, "body")
    assert b"[DONE]" not in body
    assert losses[:2] == ("the times", "the SDK that made the items: openai 2.4.0")
    assert ("broken off" if is_killed else "connection lost: lost") in losses[-1]
