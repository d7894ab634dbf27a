"""All recorded Anthropic streams, both ways, against the truth of their index."""

from __future__ import annotations

from pathlib import Path

import pytest
from provider_client import ANTHROPIC, ANTHROPIC_BETA
from recording_checks import Recording, assert_sdk_gives_the_same, assert_truth, recordings_of, run_by_wire

# The truth counts a word in place of each redacted block; ours has them in `native` and shows nothing.
REDACTED = {"anthropic-messages/pydantic-ai.test_anthropic_model_thinking_part_redacted_stream.sse": 0}
RUNNERS = {"tool_use": "client", "server_tool_use": "provider", "mcp_tool_use": "provider"}


@pytest.fixture(scope="module")
def recordings(shared: Path) -> list[Recording]:
    return recordings_of(shared, "anthropic")


def test_every_recording_gives_its_truth_by_wire_however_it_is_cut(recordings: list[Recording]) -> None:
    assert len(recordings) >= 40
    for entry, answer, (chunks, ends) in run_by_wire(ANTHROPIC, recordings):
        name = entry["file"]
        assert ends == ["completed"], name
        assert_truth(entry, answer, answer.calls, REDACTED.get(name, entry["reasoning_len"]))
        assert answer.finish_raw == entry["finish"], name
        assert [call.native["type"] for call in answer.calls] == [call["kind"] for call in entry["tool_calls"]], name
        runners = {delta.index: delta.executed_by for chunk in chunks for delta in chunk.tool_calls}
        assert list(runners.values()) == [RUNNERS[call["kind"]] for call in entry["tool_calls"]], name
        assert answer.usage is not None, name


def test_every_block_of_a_call_is_done_but_one_that_another_message_cut_off(recordings: list[Recording]) -> None:
    for entry, answer, _ in run_by_wire(ANTHROPIC, recordings):
        wanted = [True] * len(answer.calls)
        if "several-message_start" in entry["notable"]:
            wanted[0] = False
        assert [call.done for call in answer.calls] == wanted, entry["file"]


def test_every_signature_and_every_redacted_block_is_kept_for_replay(recordings: list[Recording]) -> None:
    for entry, _, (chunks, _) in run_by_wire(ANTHROPIC, recordings):
        kinds = [chunk.native["type"] for chunk in chunks if chunk.native]
        assert ("thinking" in kinds) == ("signature_delta" in entry["notable"]), entry["file"]
        assert ("redacted_thinking" in kinds) == ("block:redacted_thinking" in entry["notable"]), entry["file"]


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_every_recording_gives_the_same_through_the_real_sdk_as_by_wire(
    recordings: list[Recording],
    monkeypatch: pytest.MonkeyPatch,
    is_async: bool,
) -> None:
    assert_sdk_gives_the_same(ANTHROPIC, recordings, monkeypatch, is_async=is_async)


@pytest.mark.slow
def test_every_recording_gives_the_same_through_the_beta_client(
    recordings: list[Recording],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert_sdk_gives_the_same(ANTHROPIC_BETA, recordings, monkeypatch, is_async=False)
