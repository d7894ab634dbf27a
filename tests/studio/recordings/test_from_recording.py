from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chat_client import by_wire, collected
from chat_streams import NAMES, STREAMS, body_of, options_of
from looped import looped

from penstock.events import UsageError
from penstock.studio import from_recording


@looped("name", NAMES)
@looped("chunk_size", [None, 1, 100])
def test_a_recording_is_recognised_and_gives_what_its_bytes_give(name: str, chunk_size: int | None):
    source = from_recording(STREAMS / f"{name}.sse", chunk_size=chunk_size, turn_id="t", **options_of(name))
    chunks, ends = collected(source)
    wanted, wanted_ends = by_wire([body_of(name)], **options_of(name))
    assert chunks == wanted
    assert list(map(str, ends)) == list(map(str, wanted_ends))
    assert collected(source)[0] == chunks


def test_the_api_may_be_named_and_the_path_a_text():
    path = str(STREAMS / "one_call.sse")
    assert collected(from_recording(path, "openai-chat", turn_id="t")) == by_wire([body_of("one_call")])


@pytest.mark.parametrize(
    "body", [b"", b"data: [DONE]\n\n", b'data: {"type": "message_stop"}\n\n', b"data: words\n\n", b"\x00\x01"]
)
def test_a_body_that_says_nothing_of_its_provider_asks_for_the_api(tmp_path: Path, body: bytes):
    path = tmp_path / "answer.sse"
    path.write_bytes(body)
    with pytest.raises(UsageError, match="pass api="):
        from_recording(path)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("missing.sse", {}, "cannot read the recording"),
        ("one_call.sse", {"chunk_size": 0}, "at least 1"),
        ("one_call.sse", {"api": "nobody"}, "known are"),
    ],
)
def test_a_mistake_is_said_at_once(name: str, options: dict[str, Any], words: str):
    with pytest.raises(UsageError, match=words):
        from_recording(STREAMS / name, **options)
