from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.events import UsageError
from penstock.studio.replay.replay_recordings import Recordings, Timing

CHAT = b'data: {"object": "chat.completion.chunk", "choices": []}\n\n'
OLLAMA = b'{"message": {"content": "a"}, "done": false}\n'


def test_a_folder_is_searched_at_any_depth_and_what_is_no_stream_is_left_out(tmp_path: Path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "one.txt").write_bytes(CHAT)
    (tmp_path / "two.ndjson").write_bytes(OLLAMA)
    (tmp_path / "truth.json").write_bytes(b'{"text": ""}')
    (tmp_path / "whole.json").write_bytes(b'{"object": "chat.completion", "choices": []}')
    (tmp_path / "other.md").write_bytes(CHAT)
    found = Recordings(tmp_path)
    assert [(each.name, each.api) for each in found.all] == [("a/b/one.txt", "openai-chat"), ("two.ndjson", "ollama")]
    assert found.left_out == ["truth.json", "whole.json"]


def test_the_model_or_the_name_chooses_and_equals_take_turns():
    found = Recordings({"x/one.sse": CHAT, "y/one.sse": CHAT, "z/two.sse": CHAT})
    by_model = [found.choose("openai-chat", model="one").name for _ in range(3)]
    assert by_model == ["x/one.sse", "y/one.sse", "x/one.sse"]
    assert [found.choose("openai-chat", model="gpt").name for _ in range(3)] == ["x/one.sse", "y/one.sse", "z/two.sse"]
    assert found.choose("openai-chat", model="one", name="z/two").name == "z/two.sse"
    with pytest.raises(UsageError, match=r"'thr.e'.*x/one.sse"):
        found.choose("openai-chat", name="thr.e")
    with pytest.raises(UsageError, match=r"ollama.*x/one.sse"):
        found.choose("ollama")


def test_where_nothing_is_left_the_error_says_what_was_looked_at(tmp_path: Path):
    with pytest.raises(UsageError, match="no folder"):
        Recordings(tmp_path / "none")
    (tmp_path / "strange.json").write_bytes(b"{}")
    with pytest.raises(UsageError, match=r"not recognised: strange\.json"):
        Recordings(tmp_path)
    with pytest.raises(UsageError, match="dictionary"):
        Recordings({})


def test_timing_is_read_from_a_file_beside_the_body_or_from_the_index(tmp_path: Path):
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.sse").write_bytes(CHAT)
    index = [{"file": "one.sse", "network_chunk_sizes": [8, len(CHAT) - 8]}, {"file": "three.sse"}, "else"]
    (tmp_path / "index.json").write_text(json.dumps(index))
    timing = {"network_chunk_sizes": [len(CHAT)], "network_chunk_times": [0.5]}
    (tmp_path / "two.timing.json").write_text(json.dumps(timing))
    found = {each.name: each.timing for each in Recordings(tmp_path).all}
    assert found == {
        "one.sse": Timing((8, len(CHAT) - 8), None),
        "two.sse": Timing((len(CHAT),), (0.5,)),
        "three.sse": None,
    }


@pytest.mark.parametrize(
    "timing",
    [
        "[",
        "[]",
        "{}",
        '{"network_chunk_sizes": 5}',
        '{"network_chunk_sizes": [1]}',
        '{"network_chunk_sizes": [60, -1]}',
        '{"network_chunk_sizes": [30, 29], "network_chunk_times": [1]}',
        '{"network_chunk_sizes": [30, 29], "network_chunk_times": [2, 1]}',
    ],
)
def test_timing_that_does_not_fit_is_a_usage_error(tmp_path: Path, timing: str):
    (tmp_path / "one.sse").write_bytes(CHAT.ljust(59))
    (tmp_path / "one.timing.json").write_text(timing)
    with pytest.raises(UsageError, match=r"one\."):
        Recordings(tmp_path)


def test_a_strict_choice_refuses_a_model_that_no_recording_is_named_like():
    recordings = Recordings({"gpt-5.sse": CHAT, "other.sse": CHAT}, "openai-chat")
    assert recordings.choose("openai-chat", model="gpt-5", strict=True).name == "gpt-5.sse"
    assert recordings.choose("openai-chat", model="gpt-4", name="other", strict=True).name == "other.sse"
    assert recordings.choose("openai-chat", model="gpt-4").name == "gpt-5.sse"
    with pytest.raises(UsageError, match=r"named like the model 'gpt-4' of openai-chat; there is gpt-5.sse, other.sse"):
        recordings.choose("openai-chat", model="gpt-4", strict=True)
