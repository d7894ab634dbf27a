"""Whose stream a body is, and in one sentence what it is where it is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from looped import looped

from penstock.events import UsageError
from penstock.sources.recognition.apis import APIS
from penstock.studio.reading.read_input import checked_stream

TESTS = Path(__file__).parents[2]


def folder_of(api: str) -> Path:
    """Return where an API's recordings are: with the others, or with its test."""
    name = api.replace("-", "_")
    return next(folder for folder in (TESTS / "streams" / name, TESTS / "sources" / name) if folder.is_dir())


FOLDERS = {api.name: folder_of(api.name) for api in APIS}
RECORDINGS = [
    (name, path)
    for name, folder in FOLDERS.items()
    for path in sorted(folder.iterdir())
    if path.suffix in (".sse", ".ndjson")
]
ONE_OF_EACH = {name: path.read_bytes() for name, path in reversed(RECORDINGS)}
CHAT = b'data: {"object": "chat.completion.chunk", "choices": []}\n\n'


def test_every_api_has_recordings_to_look_at():
    assert set(ONE_OF_EACH) == {api.name for api in APIS}


@looped("name, path", RECORDINGS, ids=[f"{path.parent.name}/{path.name}" for _, path in RECORDINGS])
def test_a_recording_is_a_stream_of_its_own_api(name: str, path: Path):
    assert checked_stream(path.read_bytes(), name) == name


@looped("name, path", RECORDINGS, ids=[f"{path.parent.name}/{path.name}" for _, path in RECORDINGS])
def test_a_recording_is_no_stream_of_another_api(name: str, path: Path):
    body = path.read_bytes()
    if checked_stream(body) != name:
        return
    for other in FOLDERS.keys() - {name}:
        with pytest.raises(UsageError) as told:
            checked_stream(body, other)
        assert str(told.value) == f"it has no event of {other}; its events are those of {name}, so leave api= out"


@looped("api", [None, *FOLDERS])
@looped(
    "body, words",
    [
        (b"", "it is empty; record the body"),
        (b" \r\n\xef\xbb\xbf\n", "it is empty"),
        (b"\n" * 10_000, "it is empty"),
        (b"<!doctype html><html><body>502 Bad Gateway</body></html>", "HTML"),
        (b"\xef\xbb\xbf\n  <html>", "HTML"),
        (
            b'{"error": {"message": "bad key", "type": "invalid_request_error"}}',
            "error response, not a stream: .*bad key",
        ),
        (b'{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}', "overloaded_error.*busy"),
        (b'[{"error": {"code": 400, "message": "API key not valid", "status": "X"}}]', "400.*API key not valid"),
        (b'{\n  "error": "model not found"\n}\n', "model not found"),
        (b"Bad Gateway\n", "api="),
        (b"Bad Gateway\n" * 1000, "api="),
        (b"\x00\x01 nothing", "api="),
        (b'{"detail": "Not Found"}', "error response, not a stream: .*Not Found"),
        (b'{"id": "r", "object": "response", "output": []}', "a whole JSON document, not a stream"),
        (b'{"object": "chat.completion", "choices": [{"message": {"content": "Hi"}}]}', "a whole JSON document"),
        (b"null", "a whole JSON document|api="),
        (b"[" * 100_000, "api="),
        (b"data: [DONE]\n\n", "api="),
        (b"data: {oops\n\n", "api="),
        (b": ping\n\n", "api="),
        (b'data: {"a": 1}\n\n', "api="),
        (b"event: x\ndata: \xff\n\n", "api="),
    ],
)
def test_what_is_no_stream_is_told_in_a_sentence(body: bytes, words: str, api: str | None):
    with pytest.raises(UsageError) as told:
        checked_stream(body, api)
    assert re.search(words, str(told.value))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("api", [None, "chat", "openai-chat"])
def test_a_stream_that_was_cut_before_it_said_anything_is_one(api: str | None):
    assert checked_stream(CHAT, api) == "openai-chat"


@pytest.mark.parametrize(
    ("body", "api"),
    [
        (b'data: {"error": {"message": "busy"}}\n\n', "openai-chat"),
        (b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}\n\n', "anthropic-messages"),
        (b'data: {"x": 1}\n\n' * 50 + CHAT.replace(b"[]", b'[{"index": 0, "delta": {"content": "Hi"}}]'), "openai-chat"),
        (b'data: {"error": {"code": 503, "message": "x", "status": "UNAVAILABLE"}}\n\n', "gemini"),
    ],
)  # fmt: skip
def test_an_error_in_a_stream_and_an_event_far_behind_are_enough_for_a_named_api(body: bytes, api: str):
    assert checked_stream(body, api) == api


def test_another_name_of_the_api_is_understood_and_an_unknown_one_is_told():
    assert checked_stream(ONE_OF_EACH["gemini"], "google") == "gemini"
    with pytest.raises(UsageError, match="opnai"):
        checked_stream(CHAT, "opnai")


MUTANTS = {
    "a body of another API is a stream": (["tests/studio/reading/test_checked_stream.py", "tests/studio/cli/test_cli_ends.py another_api"], ("studio/reading/read_input.py", "    if _has_events(given, body,", "    if given or _has_events(given, body,")),
    "an error that came instead of a stream is one": ("", ("studio/reading/read_input.py", "(why := why_no_stream(body)) is not None", "(why := None) is not None")),
}  # fmt: skip
