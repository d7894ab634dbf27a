"""All recorded Responses streams, both ways, against the truth of their index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chunk_grammar import Answer
from provider_client import RESPONSES
from recording_checks import Recording, assert_sdk_gives_the_same, assert_truth, recordings_of, run_by_wire

from penstock.events import ProviderError

# Built-in tools, which the truth does not count as calls.
BUILT_IN = (
    *("shell_call", "local_shell_call", "apply_patch_call", "code_interpreter_call"),
    *("web_search_call", "file_search_call", "tool_search_call"),
)


@pytest.fixture(scope="module")
def recordings(shared: Path) -> list[Recording]:
    return recordings_of(shared, "responses")


def named_calls(answer: Answer) -> list[Any]:
    return [call for call in answer.calls if call.native["type"] not in BUILT_IN]


def test_every_recording_gives_its_truth_by_wire_however_it_is_cut(recordings: list[Recording]) -> None:
    assert len(recordings) >= 48
    for entry, answer, (_, ends) in run_by_wire(RESPONSES, recordings):
        name, calls = entry["file"], named_calls(answer)
        assert_truth(entry, answer, calls, entry["reasoning_len"])
        assert [call.native["type"] for call in calls] == [call["kind"] for call in entry["tool_calls"]], name
        assert all(call.done for call in answer.calls), name
        if "error-event" in entry["notable"]:
            assert isinstance(ends[0], ProviderError), name
            assert answer.errors, name
        else:
            assert ends == ["completed"], name
            assert list(answer.finish) == [0], name


def test_every_built_in_call_has_its_text_and_its_runner(recordings: list[Recording]) -> None:
    found: dict[str, set[str]] = {}
    for entry, answer, (chunks, _) in run_by_wire(RESPONSES, recordings):
        runners = {delta.index: delta.executed_by for chunk in chunks for delta in chunk.tool_calls}
        for call in answer.calls:
            assert call.arguments, entry["file"]
            found.setdefault(call.native["type"], set()).add(runners[call.index])
        for kind in BUILT_IN:
            has_one = any(call.native["type"] == kind for call in answer.calls)
            assert has_one == (f"item:{kind}" in entry["notable"]), entry["file"]
    assert found == {
        "function_call": {"client"},
        "custom_tool_call": {"client", "provider"},
        "mcp_call": {"provider"},
        "code_interpreter_call": {"provider"},
        "shell_call": {"client", "provider"},
        "local_shell_call": {"client"},
        "apply_patch_call": {"client"},
        "web_search_call": {"provider"},
        "file_search_call": {"provider"},
        "tool_search_call": {"provider"},
    }


def test_the_finish_says_whether_the_client_has_calls_to_run(recordings: list[Recording]) -> None:
    for entry, answer, (chunks, _) in run_by_wire(RESPONSES, recordings):
        has_calls = any(delta.executed_by == "client" for chunk in chunks for delta in chunk.tool_calls)
        if entry["finish"] == ["response.completed"]:
            assert answer.finish == {0: "tool_calls" if has_calls else "stop"}, entry["file"]
        elif entry["finish"] == ["response.incomplete"]:
            assert answer.finish == {0: "length"}, entry["file"]


def test_encrypted_reasoning_is_kept_for_replay(recordings: list[Recording]) -> None:
    for entry, _, (chunks, _) in run_by_wire(RESPONSES, recordings):
        natives = [chunk.native for chunk in chunks if chunk.native]
        has_encrypted = any("encrypted_content" in native for native in natives)
        assert has_encrypted == ("encrypted-reasoning" in entry["notable"]), entry["file"]


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_every_recording_gives_the_same_through_the_real_sdk_as_by_wire(
    recordings: list[Recording],
    monkeypatch: pytest.MonkeyPatch,
    is_async: bool,
) -> None:
    assert_sdk_gives_the_same(RESPONSES, recordings, monkeypatch, is_async=is_async)
