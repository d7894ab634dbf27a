from __future__ import annotations

import gzip
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
