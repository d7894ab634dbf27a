"""The demo shows a file before it is written, and its proof is the server's."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import subprocess
from typing import Any

import pytest
from rich.console import Console
from test_cli import ENVIRONMENT, command, run

from penstock.events import InvocationFailed, Notice, SegmentEvent, ToolInvocation
from penstock.pipeline.demo import STREAM, Proof, play
from penstock.pipeline.demo_view import LiveView, PlainView, view_for
from penstock.pipeline.strategies import StrategyEvent
from penstock.sources.loopback_server import LoopbackServer

START = SegmentEvent("SEGMENT_START", "s", "text", {})
END = SegmentEvent("SEGMENT_END", "s", "text", {"status": "complete"})


def content(text: str, segment_id: str = "s") -> SegmentEvent:
    return SegmentEvent("SEGMENT_CONTENT", segment_id, None, {"delta": text})


@pytest.fixture(scope="module")
def played() -> tuple[list[StrategyEvent], Proof]:
    events: list[StrategyEvent] = []
    return events, play(events.append, seconds=0)


def test_the_first_content_is_out_before_the_last_byte_is_sent(played: tuple[list[StrategyEvent], Proof]) -> None:
    _, proof = played
    assert proof.total == len(STREAM.read_bytes())
    assert 0 < proof.sent < proof.total / 4
    assert proof.ahead > 0
    assert proof.holds


def test_the_proof_is_read_from_the_servers_log(monkeypatch: pytest.MonkeyPatch) -> None:
    servers: list[LoopbackServer] = []

    def serve(*arguments: Any, **options: Any) -> LoopbackServer:
        servers.append(LoopbackServer(*arguments, **options))
        return servers[0]

    monkeypatch.setattr("penstock.pipeline.demo.LoopbackServer", serve)
    seen: list[int] = []

    def show(event: StrategyEvent) -> None:
        if isinstance(event, SegmentEvent) and event.type == "SEGMENT_CONTENT" and event.segment_type == "write_file":
            seen.append(len([entry for entry in servers[0].log if entry.kind == "sent"]))

    proof = play(show, seconds=0)
    sent = [entry.number for entry in servers[0].log if entry.kind == "sent"]
    assert sent[-1] == proof.total
    # What had been sent when we looked, or the piece that was on its way to the log.
    assert proof.sent in sent[seen[0] - 1 : seen[0] + 2]
    # The reader is never more than a piece behind, so its events came as the pieces did, one after the other.
    assert seen == sorted(seen)
    assert seen[-1] < len(sent)


def test_text_file_and_command_come_and_each_call_is_run_when_it_ends(
    played: tuple[list[StrategyEvent], Proof],
) -> None:
    events, _ = played
    types = [
        event.segment_type for event in events if isinstance(event, SegmentEvent) and event.type == "SEGMENT_START"
    ]
    assert types == ["text", "write_file", "run_bash"]
    write, bash = (event for event in events if isinstance(event, ToolInvocation))
    assert (write.name, bash.name) == ("write_file", "run_bash")
    compile(write.arguments["content"], write.arguments["path"], "exec")
    assert events.index(write) < next(
        number for number, event in enumerate(events) if getattr(event, "segment_type", "") == "run_bash"
    )


def test_at_a_pace_the_server_does_not_wait_for_the_reader() -> None:
    events: list[StrategyEvent] = []
    proof = play(events.append, seconds=0.3)
    assert proof.total == len(STREAM.read_bytes())
    assert sum(isinstance(event, ToolInvocation) for event in events) == 2


def test_a_proof_that_does_not_hold_says_so() -> None:
    assert (
        str(Proof(3, 10, 1.5))
        == "first CONTENT of write_file was out after 3 of 10 bytes sent,\n1.50 s before the last one"
    )
    late = Proof(10, 10, 0.0)
    assert not late.holds
    assert str(late).endswith("10 of 10 bytes sent: not before the last one")


def test_an_error_of_the_stream_is_raised(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    broken = tmp_path / "broken.sse"
    broken.write_bytes(b'data: {"error": {"message": "overloaded"}}\n\n')
    monkeypatch.setattr("penstock.pipeline.demo.STREAM", broken)
    with pytest.raises(Exception, match="overloaded"):
        play(lambda event: None, seconds=0)


def plain(*events: StrategyEvent) -> str:
    output = io.StringIO()
    with view_for(Console(file=output)) as show:
        assert isinstance(show, PlainView)
        for event in events:
            show(event)
    return output.getvalue()


def test_off_a_terminal_each_line_comes_when_it_is_complete() -> None:
    assert plain(START, content("one\ntw")) == "one\n"
    assert plain(START, content("one\ntw"), content("o\n"), content("three"), END) == "one\ntwo\nthree\n"


def test_off_a_terminal_a_files_lines_are_below_its_path_and_lose_nothing() -> None:
    start = SegmentEvent("SEGMENT_START", "s", "write_file", {"metadata": {"path": "a.py"}})
    assert plain(start, content("x = 1\n\ny"), END) == "write_file a.py\n    x = 1\n    \n    y\n"


def test_segments_that_are_open_together_are_kept_apart() -> None:
    other = SegmentEvent("SEGMENT_START", "o", "run_bash", {"metadata": {}})
    other_end = SegmentEvent("SEGMENT_END", "o", "run_bash", {"status": "complete"})
    lines = plain(START, other, content("l", "o"), content("A"), content("s", "o"), other_end, content("B"), END)
    assert lines == "run_bash\n    ls\nAB\n"


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ToolInvocation("i", None, "f", {"a": 1, "b": "x\x1b"}), "→ f(a=1, b='x\\x1b')\n"),
        (ToolInvocation("i", None, "f", {"a": "x" * 5000}), "→ f(a=<5,000 characters>)\n"),
        (InvocationFailed("i", name="f\a", reason="truncated"), "✗ f\\x07 is not run: truncated\n"),
        (Notice("late", "so late"), "! so late\n"),
    ],
)
def test_what_is_run_and_what_is_not_has_a_line(event: StrategyEvent, line: str) -> None:
    assert plain(event) == line


def test_nothing_in_an_answer_moves_the_terminal() -> None:
    text = "a\x1b[2Jb\x9bc\rd"
    for segment_type, metadata in (("text", {}), ("write_file", {"path": "a\x1b.py"}), ("run_bash", {})):
        events = (SegmentEvent("SEGMENT_START", "s", segment_type, {"metadata": metadata}), content(text), END)
        assert "a\\x1b[2Jb\\x9bc\\rd" in plain(*events)
        assert "a\\x1b[2Jb\\x9bc\\rd" in live(*events)


def live(*events: StrategyEvent, height: int = 30) -> str:
    """Give what a terminal was sent, without styles."""
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=80, height=height, _environ={"TERM": "xterm"})
    with view_for(console) as show:
        assert isinstance(show, LiveView)
        for event in events:
            show(event)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", output.getvalue())


def test_on_a_terminal_a_file_grows_in_a_panel_with_its_path_and_its_lines() -> None:
    start = SegmentEvent("SEGMENT_START", "s", "write_file", {"metadata": {"path": "a.py"}})
    shown = live(start, content("x = 1\ny = 2\n"))
    assert "write_file  a.py" in shown
    assert "1 x = 1" in shown
    assert "2 y = 2" in shown
    assert "2 lines" in shown


def test_on_a_terminal_a_long_file_shows_its_end() -> None:
    start = SegmentEvent("SEGMENT_START", "s", "write_file", {"metadata": {"path": "a.py"}})
    shown = live(start, content("".join(f"n = {number}\n" for number in range(100))), END, height=20)
    assert "n = 99" in shown
    assert "n = 89" not in shown
    assert "100 lines" in shown


def test_on_a_terminal_what_has_ended_is_printed_once_and_stays() -> None:
    bash = SegmentEvent("SEGMENT_START", "b", "run_bash", {"metadata": {}})
    end = SegmentEvent("SEGMENT_END", "b", "run_bash", {"status": "complete"})
    shown = live(bash, content("ls -l", "b"), end, ToolInvocation("b", None, "run_bash", {"command": "ls -l"}))
    assert shown.rindex("ls -l") > shown.index("run_bash")
    assert "→ run_bash(command='ls -l')" in shown


def test_the_command_shows_all_of_it_and_the_proof() -> None:
    code, out, err = run("demo", "--pace", "0")
    assert (code, err) == (0, "")
    *lines, proof, ahead = out.splitlines()
    chunks = [json.loads(line[6:]) for line in STREAM.read_text(encoding="utf-8").splitlines() if line[6:7] == "{"]
    text = "".join(each["choices"][0]["delta"].get("content") or "" for each in chunks if each["choices"])
    assert lines[0] == text
    assert "write_file src/garden.py" in lines
    assert "        sys.exit(main(sys.argv[1:]))" in lines
    assert any(line.startswith("→ write_file(path='src/garden.py'") for line in lines)
    assert any(line.startswith("→ run_bash(") for line in lines)
    numbers = re.fullmatch(r"first CONTENT of write_file was out after ([\d,]+) of ([\d,]+) bytes sent,", proof)
    assert numbers is not None
    sent, total = (int(number.replace(",", "")) for number in numbers.groups())
    assert 0 < sent < total == len(STREAM.read_bytes())
    assert re.fullmatch(r"\d+\.\d\d s before the last one", ahead)


def test_ctrl_c_ends_it_at_once_and_leaves_the_terminal_clean() -> None:
    ours, theirs = pty.openpty()
    environment = {**ENVIRONMENT, "TERM": "xterm"}
    with subprocess.Popen(
        command("demo", "--pace", "10"), stdout=theirs, stderr=subprocess.PIPE, env=environment, start_new_session=True
    ) as process:
        os.close(theirs)
        assert process.stderr is not None
        output = b""
        while b"src/garden.py" not in output:  # the file is being written: in the middle of everything
            output += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        try:
            while piece := os.read(ours, 4096):
                output += piece
        except OSError:  # how Linux says that the other side of a terminal is closed
            pass
        complaints = process.stderr.read()
        assert process.wait(30) == 130
    os.close(ours)
    assert complaints == b""
    assert b"Traceback" not in output
    assert output.rindex(b"\x1b[?25h") > output.rindex(b"\x1b[?25l"), "the cursor is hidden"
