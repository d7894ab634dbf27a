"""Recordings of every form are streams to explore."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from penstock import ChunkResponse, Pipeline, UsageError
from penstock.events import to_json
from penstock.operators import Completed, Failed
from penstock.sources.recordings.from_recording import recorded_items
from penstock.studio import record
from penstock.studio.explorer.explored_stream import read_stream

STREAMS = Path(__file__).parents[2] / "streams"
BODY = STREAMS / "openai_chat" / "write_file.sse"


def test_a_body_is_cut_into_its_events_and_a_timing_beside_it_gives_their_times(tmp_path: Path):
    stream = read_stream(BODY)
    assert (stream.form, stream.api, stream.times, stream.title) == ("wire", "openai-chat", None, "write_file.sse")
    assert b"".join(stream.items) == BODY.read_bytes()
    assert all(each.endswith(b"\n\n") for each in stream.items)
    path = tmp_path / "a.sse"
    path.write_bytes(BODY.read_bytes())
    first = len(stream.items[0]) + 5
    sizes = [first, len(BODY.read_bytes()) - first]
    timing = {"network_chunk_sizes": sizes, "network_chunk_times": [1.0, 3.5]}
    path.with_suffix(".timing.json").write_text(json.dumps(timing))
    times = read_stream(path).times
    assert times is not None
    assert [*times] == [0, 2_500_000_000]
    assert b"".join(read_stream(path).items) == BODY.read_bytes()


def recorded(path: Path, items: list[object]) -> Path:
    for _ in record(path)(items):
        pass
    return path


def test_a_recording_has_its_items_and_times(tmp_path: Path):
    chunk = {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi"}}]}
    stream = read_stream(recorded(tmp_path / "a.jsonl", [chunk, chunk]))
    assert (stream.form, stream.items, stream.end) == ("items", [chunk, chunk], Completed())
    assert stream.times is not None
    assert stream.times[0] <= stream.times[1]
    assert stream.unit == "bytes"
    texts = read_stream(recorded(tmp_path / "b.jsonl", ["a", "b"]))
    assert (texts.form, texts.items, texts.unit) == ("texts", ["a", "b"], "characters")
    chunks = read_stream(recorded(tmp_path / "c.jsonl", [ChunkResponse(content="a")]))
    assert (chunks.form, chunks.items, chunks.unit) == ("chunks", [ChunkResponse(content="a")], "")


@pytest.mark.parametrize("lines", [2, 3])
def test_a_recording_that_was_broken_off_says_so_where_it_matters(tmp_path: Path, lines: int):
    whole = recorded(tmp_path / "a.jsonl", ["a", "b"]).read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(whole[:lines]))
    assert isinstance(read_stream(cut).end, Failed)


def test_a_cassette_and_stored_chunks_are_read(tmp_path: Path):
    cassette = tmp_path / "a.yaml"
    body = BODY.read_text(encoding="utf-8")
    cassette.write_text(
        f"interactions:\n- response:\n    body:\n      string: {json.dumps(body, ensure_ascii=False)}\nversion: 1\n"
    )
    assert b"".join(read_stream(cassette).items).decode() == body
    stored = tmp_path / "b.jsonl"
    stored.write_bytes(to_json(ChunkResponse(content="Hi")) + b"\n")
    assert read_stream(stored).items == [ChunkResponse(content="Hi")]


def test_what_is_explored_is_what_a_pipeline_reads(tmp_path: Path):
    cassette, stored = tmp_path / "a.yaml", tmp_path / "b.jsonl"
    body = json.dumps(BODY.read_text(encoding="utf-8"), ensure_ascii=False)
    cassette.write_text(f"interactions: [{{response: {{body: {{string: {body}}}}}}}]")
    stored.write_bytes(to_json(ChunkResponse(content="Hi")) + b"\n")
    forms: list[list[Any]] = [[BODY.read_bytes()], [{"choices": [{"delta": {"content": "Hi"}}]}], ["a", "b"]]
    recordings = [recorded(tmp_path / f"{number}.jsonl", items) for number, items in enumerate(forms)]
    for path in (BODY, cassette, stored, *recordings):
        explored, items = read_stream(path), [each.item for each in recorded_items(path).items]
        is_wire = explored.form == "wire"
        assert (b"".join(explored.items) == b"".join(items)) if is_wire else (explored.items == items)


def test_what_cannot_be_explored_is_told(tmp_path: Path):
    with pytest.raises(UsageError, match=r"nothing\.sse cannot be read: No such file"):
        read_stream(tmp_path / "nothing.sse")
    other = tmp_path / "a.txt"
    other.write_text("no stream")
    with pytest.raises(UsageError, match=r"a\.txt.*cannot tell which API"):
        read_stream(other)
    events = tmp_path / "b.jsonl"
    answer = [ChunkResponse(content="Hi", is_complete=True, finish_reason="stop")]
    events.write_bytes(b"".join(to_json(cast("Any", each)) + b"\n" for each in Pipeline().stream(answer)))
    with pytest.raises(UsageError, match="the events of a strategy"):
        read_stream(events)
