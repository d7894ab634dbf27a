from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import pytest
from chat_client import by_wire, collected
from every_sdk import STREAMS

from penstock.events import UsageError
from penstock.sources import from_recording

yaml = pytest.importorskip("yaml", reason="needs pyyaml")
BODY = (STREAMS / "openai_chat/one_call.sse").read_bytes()


def cassette(path: Path, *bodies: str | bytes, **headers: list[str]) -> Path:
    """Write what VCR.py writes: text as text, and other bytes as `!!binary`."""
    interactions = [{"request": {}, "response": {"body": {"string": body}, "headers": headers}} for body in bodies]
    path.write_text(yaml.safe_dump({"interactions": interactions, "version": 1}))
    return path


@pytest.mark.parametrize("body", [BODY, BODY.decode(), gzip.compress(BODY)], ids=["bytes", "text", "gzip"])
def test_the_streamed_answer_of_a_cassette_is_found(body: str | bytes, tmp_path: Path):
    path = cassette(tmp_path / "a.yaml", '{"whole": "answer"}', body)
    assert collected(from_recording(path, turn_id="t")) == by_wire([BODY])
    assert collected(from_recording(path, turn_id="t", interaction=1, chunk_size=3)) == by_wire([BODY])


@pytest.mark.parametrize(
    ("bodies", "options", "words"),
    [
        ((BODY, BODY), {}, "interactions 0, 1 are the stream of a known API; choose one with interaction="),
        (("{}",), {}, "no interaction is"),
        ((BODY,), {"interaction": 1}, "has 1 interactions"),
        ((BODY,), {"pace": "original"}, "has no times; pass pace='instant'"),
    ],
)
def test_what_cannot_be_replayed_is_told(bodies: Any, options: dict[str, Any], words: str, tmp_path: Path):
    with pytest.raises(UsageError, match=words):
        from_recording(cassette(tmp_path / "a.yaml", *bodies), **options)


def test_another_file_of_yaml_is_no_cassette(tmp_path: Path):
    path = tmp_path / "a.yaml"
    path.write_text("interactions:\n- 5\n")
    with pytest.raises(UsageError, match=r"not a cassette of VCR\.py"):
        from_recording(path)


def test_a_response_that_cannot_be_read_keeps_no_other_one_from_being_found(tmp_path: Path):
    broken = b"\x1f\x8b" + BODY[:50]
    path = cassette(tmp_path / "a.yaml", broken, BODY)
    assert collected(from_recording(path, turn_id="t")) == by_wire([BODY])
    with pytest.raises(UsageError, match="the response of the cassette cannot be read"):
        from_recording(path, interaction=0)


@pytest.mark.parametrize("body", [zlib.compress(BODY), BODY], ids=["packed", "unpacked by the client"])
def test_a_deflated_body_is_read_and_one_that_only_says_so(body: bytes, tmp_path: Path):
    path = cassette(tmp_path / "a.yaml", body, **{"Content-Encoding": ["deflate"]})
    assert collected(from_recording(path, turn_id="t")) == by_wire([BODY])


@pytest.mark.parametrize(
    ("pack", "headers"), [(gzip.compress, {}), (zlib.compress, {"content-encoding": ["deflate"]})], ids=["gzip", "zlib"]
)
def test_a_body_does_not_unpack_to_what_fills_the_memory(pack: Any, headers: dict[str, Any], tmp_path: Path):
    path = cassette(tmp_path / "a.yaml", pack(bytes(65 * 1024 * 1024)), **headers)
    with pytest.raises(UsageError, match="longer than 64 MiB, the most that is read"):
        from_recording(path, interaction=0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("interactions: " + "[" * 5000, r"it is not a cassette of VCR\.py: it is nested too deeply"),
        ("interactions: []", "the cassette has no interactions; record it again"),
        ("interactions: [{response: {body: {string: 100000000000}}}]", "no interaction is the stream of a known API"),
        ('interactions: [{response: {body: {string: "\\uD800"}}}]', "no interaction is the stream of a known API"),
        ("interactions: [{response: 2001-99-99}]", r"it is not a cassette of VCR\.py: month must be in"),
        ("interactions: !!python/object/apply:os.getcwd []", r"not a cassette of VCR\.py: could not determine"),
    ],
)
def test_what_somebody_else_wrote_does_no_harm(text: str, words: str, tmp_path: Path):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        from_recording(path)


def test_an_interaction_of_what_is_no_cassette_is_refused(tmp_path: Path):
    recording, body = tmp_path / "a.jsonl", tmp_path / "a.sse"
    recording.write_text('{"penstock_recording": 1, "form": "texts"}\n')
    body.write_bytes(BODY)
    for path in (recording, body):
        with pytest.raises(UsageError, match="interaction= chooses from a cassette"):
            from_recording(path, interaction=0)


def test_to_find_the_stream_only_the_beginning_of_each_response_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    unpacked: list[int] = []
    read = gzip.GzipFile.read

    def counted(file: gzip.GzipFile, size: int | None = -1) -> bytes:
        data = read(file, size)
        unpacked.append(len(data))
        return data

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    bomb = gzip.compress(bytes(30 * 1024 * 1024))
    path = cassette(tmp_path / "a.yaml", bomb, bomb, gzip.compress(BODY))
    assert collected(from_recording(path, turn_id="t")) == by_wire([BODY])
    assert sum(unpacked) < 3 * 1024 * 1024
