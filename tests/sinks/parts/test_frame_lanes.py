"""What further text of a segment looks like in each protocol is written as the encoder would write it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import pytest
from looped import looped
from reemitted import broken, own_streams, wire_chunks

from penstock.events import ProviderError, SegmentContent, SegmentEnd, SegmentStart
from penstock.operators import drive, stream_fields, to_invocations, to_segments
from penstock.operators.engine.stage import Completed, How, Interrupted
from penstock.sinks.web.protocols import UiFrames, UiProtocol

AGENTS = "anthropic-messages for agents"
PROTOCOLS = (*get_args(UiProtocol), AGENTS)
OPTIONS: dict[str, dict[str, Any]] = {
    "ag-ui": {"thread_id": "t", "run_id": "r"},
    AGENTS: {"interleave": False, "for_agents": True},
}


def frames(events: Iterable[Any], protocol: Any, how: How, *, lanes: bool, **options: Any) -> list[bytes]:
    """Return the frames of events; without lanes as the encoder alone writes them."""
    ui = UiFrames(protocol.partition(" ")[0], **OPTIONS.get(protocol, {}), **options)
    if not lanes:
        ui._new_lane = None
    if hasattr(ui._encoder, "_created"):
        ui._encoder._created = 0
    found = [frame for event in events for frame in ui.feed(event)]
    return [*found, *ui.close(how)]


def events_of(api: str, path: str, chain: tuple[Any, ...]) -> list[Any]:
    chunks, error = wire_chunks(api, Path(path).read_bytes())
    events: list[Any] = []
    try:
        for event in drive(broken(chunks, error), *chain):
            events.append(event)  # noqa: PERF402 - a copy would keep nothing of what came before
    except ProviderError:
        assert error is not None
    return events


@pytest.mark.parametrize("protocol", PROTOCOLS)
@looped("api, path", own_streams)
def test_each_stream_has_the_frames_of_its_encoder(protocol: Any, api: str, path: str):
    for chain in (
        (to_segments(turn_id="t"),),
        (to_segments(turn_id="t"), stream_fields(), to_invocations(keep_segments=True)),
    ):
        events = events_of(api, path, chain)
        for how in (Completed(), Interrupted("enough")):
            expected = frames(events, protocol, how, lanes=False)
            assert frames(events, protocol, how, lanes=True) == expected


PIECES = ("a", "", "é✓", "\ud83d", "\ude00 ", '"\\\n', "\0", "x" * 40, "b")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", ["text", "reasoning", "refusal", "media", "tool_call", "write_file", "other"])
def test_any_text_of_any_segment_has_the_frames_of_its_encoder(
    protocol: Any, kind: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("penstock.sinks.web.ag_ui_values.LONGEST_PIECE", 16)
    metadata: dict[str, Any] = {"tool_name": "f"} if kind in ("tool_call", "write_file") else {}
    for fragments in (None, ()):
        contents = [SegmentContent("s", kind, each, turn_id="t", raw=each, fragments=fragments) for each in PIECES]
        beside = [SegmentContent("u", "text", "y", turn_id="t") for _ in PIECES]
        events = [
            SegmentStart("s", kind, metadata, turn_id="t", fragments=fragments),
            SegmentStart("u", "text", {}, turn_id="t"),
            *(each for pair in zip(contents, beside, strict=True) for each in pair),
            SegmentContent("s", None, "no type", turn_id="t", raw="no type", fragments=fragments),
            SegmentEnd("u", "text", "complete", turn_id="t"),
            *contents,
            SegmentEnd("s", kind, "complete", turn_id="t", fragments=fragments),
            SegmentContent("s", kind, "late", turn_id="t"),
        ]
        expected = frames(events, protocol, Completed(), lanes=False)
        assert frames(events, protocol, Completed(), lanes=True) == expected


def test_what_is_not_selected_is_not_written():
    events = [
        SegmentStart("s", "text", {}, turn_id="t"),
        *(SegmentContent("s", "text", each, turn_id="t") for each in ("a", "b", "c")),
    ]
    found = frames(events, "segments", Completed(), lanes=True, select=lambda event: getattr(event, "delta", "") != "b")
    assert [b'"a"' in each or b'"c"' in each for each in found[1:3]] == [True, True]
    assert not any(b'"b"' in each for each in found)
