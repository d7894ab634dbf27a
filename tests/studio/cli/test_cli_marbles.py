"""`penstock marbles` as its user meets it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from cli_command import ONE_CALL, STREAMS, Penstock, penstock
from cli_recordings import events_of, recorded

from penstock.studio import marbles
from penstock.studio.cli.cli_traces import traced_file
from penstock.studio.cli.text_reading import CallReading

__all__ = ["penstock"]  # the fixture


def test_the_picture_of_a_recording_is_that_of_its_trace(penstock: Penstock, tmp_path: Path):
    first, rest = events_of(ONE_CALL)
    file, svg = recorded(tmp_path / "a.jsonl", [(0, first), (0.5, rest)], 1), tmp_path / "a.svg"
    for axis in ("items", "time"):
        assert penstock("marbles", file, "-o", str(svg), "--axis", axis, "--overwrite") == (0, "", "")
        drawn = svg.read_text(encoding="utf-8")
        assert ET.fromstring(drawn).tag.endswith("svg")
        assert drawn == str(marbles(traced_file(file, CallReading("api_tool_call")).trace, axis=axis, title="a.jsonl"))
        assert "to_segments" in drawn
        assert "get_weather" in drawn


def test_it_can_go_to_the_output_with_another_strategy_and_lanes_for_segments(penstock: Penstock):
    code, out, err = penstock("marbles", ONE_CALL, "-o", "-", "--strategy", "auto", "--by", "segment", "--title", "<x>")
    assert (code, err) == (0, "")
    assert out == str(marbles(traced_file(ONE_CALL, CallReading("auto")).trace, by="segment", title="<x>")) + "\n"
    assert "&lt;x&gt;" in out


def test_a_stream_that_failed_is_drawn_up_to_its_error(penstock: Penstock):
    code, out, err = penstock("marbles", str(STREAMS / "error_in_stream.sse"), "-o", "-")
    assert (code, err) == (0, "")
    assert "failed" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([ONE_CALL], "Missing option '-o' / '--output'"),
        ([ONE_CALL, "-o", "there.svg"], "there.svg exists already; choose another name, or pass --overwrite"),
        ([ONE_CALL, "-o", "a.svg", "--axis", "time"], "has no times; leave out --axis time"),
        ([ONE_CALL, "-o", "a.svg", "--axis", "tim"], "'time'"),
        ([ONE_CALL, "-o", "missing/a.svg"], "missing/a.svg cannot be written: No such file or directory"),
        (["there.sv", "-o", "a.svg"], "did you mean 'there.svg'?"),
        ([str(STREAMS), "-o", "a.svg"], "Is a directory; name a file in it"),
        (["there.svg", "-o", "a.svg"], "it is HTML or XML, not a stream"),
        ([ONE_CALL, "-o", "a.svg", "--strategy", "hermess"], "did you mean 'hermes'?"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    penstock: Penstock, arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("there.svg").write_text("<svg/>")
    code, out, err = penstock("marbles", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert [each.name for each in tmp_path.iterdir()] == ["there.svg"]
    assert Path("there.svg").read_text() == "<svg/>"
