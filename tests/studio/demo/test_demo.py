"""The demo shows files before they are written, and its proofs are the servers'."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from cli_command import ENVIRONMENT, Penstock, penstock, started

from penstock.events import InvocationFailed, ProviderError, SegmentEvent, ToolInvocation
from penstock.pipeline import api_tool_call
from penstock.pipeline.strategies import StrategyEvent
from penstock.sinks import collect
from penstock.sources import from_recording
from penstock.studio.demo.demo import ANTHROPIC, CHAT, GEMINI, RESPONSES, DemoAnswer, Proof, answers, play
from penstock.studio.replay.replay_server import ReplayServer

__all__ = ["penstock"]  # the fixture

Played = tuple[DemoAnswer, list[StrategyEvent], Proof]
STREAMS = Path(__file__).parents[3] / "studio" / "demo"


def by_sdk(answer: DemoAnswer, *, seconds: float = 0) -> Played:
    if answer is GEMINI:
        pytest.importorskip("google.genai", reason="needs google-genai, the extra `gemini`")
    events: list[StrategyEvent] = []
    return answer, events, play(answer, events.extend, seconds=seconds)


def by_wire(answer: DemoAnswer) -> list[StrategyEvent]:
    events: list[StrategyEvent] = []
    from_recording(STREAMS / answer.file).pipe(api_tool_call()).subscribe(events.append)
    return events


def told(events: list[StrategyEvent]) -> tuple[Any, ...]:
    """Return what an answer amounts to, without the ids that are made anew each time."""
    amount = collect(events)
    return amount.text, amount.reasoning, [(each.name, each.arguments) for each in amount.invocations]


@pytest.fixture(scope="module", params=[CHAT, ANTHROPIC, GEMINI, RESPONSES], ids=lambda answer: answer.api)
def played(request: pytest.FixtureRequest) -> Played:
    return by_sdk(request.param)


def test_the_first_content_is_out_before_the_last_byte_is_sent(played: Played) -> None:
    answer, _, proof = played
    assert proof.total == len(answer.body)
    assert 0 < proof.sent < proof.total / 4
    assert proof.ahead > 0
    assert proof.holds


def test_the_real_sdk_gives_what_the_wire_gives(played: Played) -> None:
    answer, events, _ = played
    assert told(events) == told(by_wire(answer))


def test_every_call_is_whole_and_every_program_compiles(played: Played) -> None:
    _, events, proof = played
    calls = [event for event in events if isinstance(event, ToolInvocation)]
    assert [event for event in events if isinstance(event, InvocationFailed)] == []
    assert len(calls) == 2
    assert calls[0].arguments["path"] == proof.path
    for each in calls:
        if each.arguments.get("path", "").endswith(".py"):
            compile(each.arguments["content"], each.arguments["path"], "exec")


def test_each_call_is_run_when_it_ends() -> None:
    events = by_wire(CHAT)
    write = next(event for event in events if isinstance(event, ToolInvocation))
    assert events.index(write) < next(
        number for number, event in enumerate(events) if getattr(event, "segment_type", "") == "run_bash"
    )


def test_the_two_forms_of_the_last_answer_say_the_same() -> None:
    assert told(by_wire(GEMINI)) == told(by_wire(RESPONSES))


def test_without_googles_sdk_openais_other_api_plays_and_says_so(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google.genai", None)
    code, out, err = penstock("demo", "--pace", "0")
    assert (code, err) == (0, "")
    assert 'in place of google-genai: pip install ".[gemini]"' in out
    assert "write_file docs/garden.md\n" in out


def test_the_proof_is_read_from_the_servers_log(monkeypatch: pytest.MonkeyPatch) -> None:
    servers: list[ReplayServer] = []

    def serve(*arguments: Any, **options: Any) -> ReplayServer:
        servers.append(ReplayServer(*arguments, **options))
        return servers[0]

    monkeypatch.setattr("penstock.studio.demo.demo.ReplayServer", serve)
    seen: list[int] = []

    def show(events: Iterable[StrategyEvent]) -> None:
        for event in events:
            if not isinstance(event, SegmentEvent) or event.type != "SEGMENT_CONTENT":
                continue
            if event.segment_type == "write_file":
                seen.append(sum(len(entry.sent) for entry in servers[0].log))

    proof = play(CHAT, show, seconds=0)
    [entry] = servers[0].log
    sent = [write.bytes_sent for write in entry.sent]
    assert sent[-1] == proof.total
    # What had been sent when we looked, or the piece that was on its way to the log.
    assert proof.sent in sent[seen[0] - 1 : seen[0] + 2]
    # The reader is never more than a piece behind, so its events came as the pieces did, one after the other.
    assert seen == sorted(seen)
    assert seen[-1] < len(sent)


def test_at_a_pace_the_server_does_not_wait_for_the_reader() -> None:
    answer, events, proof = by_sdk(CHAT, seconds=0.3)
    assert proof.total == len(answer.body)
    assert sum(isinstance(event, ToolInvocation) for event in events) == 2


def test_a_proof_that_does_not_hold_says_so() -> None:
    assert str(Proof("a.py", 3, 10, 1.5)) == f"{'a.py':<20}  after 3 of 10 bytes, 1.50 s before the last"
    late = Proof("a.py", 10, 10, 0.0)
    assert not late.holds
    assert str(late).endswith("10 of 10 bytes: not before the last")


def test_an_error_of_the_stream_is_raised(tmp_path: Path) -> None:
    broken = tmp_path / "broken.sse"
    broken.write_bytes(b'data: {"error": {"message": "overloaded"}}\n\n')
    with pytest.raises(ProviderError, match="overloaded"):
        play(CHAT._replace(file=str(broken)), list, seconds=0)


def test_the_command_shows_all_of_it_and_the_proofs(penstock: Penstock) -> None:
    code, out, err = penstock("demo", "--pace", "0")
    assert (code, err) == (0, "")
    chosen = answers()
    assert [answer.title for answer in chosen if f": {answer.title} ──" not in out] == []
    assert "            sys.exit(main(sys.argv[1:]))".removeprefix("    ") in out.splitlines()
    assert (out.count("→ write_file("), out.count("→ run_bash(")) == (4, 2)
    line = re.compile(r"^  (\S+) +after ([\d,]+) of ([\d,]+) bytes, \d+\.\d\d s before the last$", re.MULTILINE)
    proofs = line.findall(out)
    assert [path for path, _, _ in proofs] == ["src/garden.py", "tests/test_garden.py", "docs/garden.md"]
    for answer, (_, *numbers) in zip(chosen, proofs, strict=True):
        sent, total = (int(number.replace(",", "")) for number in numbers)
        assert 0 < sent < total == len(answer.body)


@pytest.mark.parametrize("columns", [40, 80])
def test_its_own_lines_fit_the_terminal(penstock: Penstock, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setitem(sys.modules, "google.genai", None)  # what is played in its place has the longest heading
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, err = penstock("demo", "--pace", "0")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    headings = [at for at, line in enumerate(lines) if line.startswith("── ")]
    log = next(at for at, line in enumerate(lines) if line.startswith("By the server's log"))
    own = [line for at in headings for line in lines[at : at + 2] if line.startswith(("── ", "   "))] + lines[log:-1]
    assert len(headings) == 3
    assert [line for line in own if len(line) > columns] == []
    assert lines[-1].endswith(" app --demo")


def test_ctrl_c_ends_it_at_once_and_leaves_the_terminal_clean() -> None:
    ours, theirs = pty.openpty()
    environment = {**ENVIRONMENT, "TERM": "xterm"}
    with started(
        "demo", "--pace", "10", stdout=theirs, stderr=subprocess.PIPE, env=environment, start_new_session=True
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
    assert output.rindex(b"\x1b[?7h") > output.rindex(b"\x1b[?7l"), "long lines are cut"
    assert "✗ interrupted".encode() in output
