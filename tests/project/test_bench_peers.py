"""`make bench-peers` and `make live-streams` at tiny sizes: the form of what they write, and that results are right."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

import pytest

from penstock.operators.machines.json_machine import IS_NATIVE

pytestmark = pytest.mark.tooling
Bench: TypeAlias = Callable[..., str]
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ROW = r"\| {reader} \|(?: -?[\d.]+ \|){{{figures}}} {pieces} \| {behind} \| {result}"
SOME = r"[\d.]+ \([1-9]\d*\)"
"""Characters behind: on average, and at most."""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    """Return a function that runs bench_peers with one round and returns what it printed."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    bench_peers = import_module("bench_peers")

    def run(*options: str) -> str:
        assert bench_peers.main([*options, "--rounds", "1"]) == 0
        return capsys.readouterr().out

    return run


def live_streams(*options: str) -> str:
    """Return what live_streams prints; in a process of its own, which it ties to one core."""
    command = [sys.executable, str(BENCHMARKS / "live_streams.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_the_page_of_json_readers_has_tables_verdicts_sentences_and_a_picture(bench: Bench, tmp_path: Path):
    options = ("--work", "W1", "--groups", "deltas", "--sizes", "1000,2000", "--into", str(tmp_path))
    bench(*options)
    page = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert f"python benchmarks/bench_peers.py {' '.join(options)} --rounds 1`" in page
    assert re.search(
        r"^\| reader \| 1 KB \| 2 KB \| growth \| times JSON machine \| times chain to invocations \| pieces seen \| characters behind \| result \|$",
        page,
        re.MULTILINE,
    )
    for reader, pieces, behind, result in (
        *([(r"\*\*Penstock: chain to invocations, in Python\*\*", r"\d+", "0", "right")] if IS_NATIVE else []),
        (r"\*\*Penstock: chain to invocations\*\*", r"\d+", "0", "right"),
        (r"\*\*Penstock: JSON machine\*\*", r"\d+", "0", r"right \(fragments only\)"),
        ("jiter, all again per delta", r"\d+", "0", "right"),
        ("jsonriver", r"\d+", "0", "right"),
        (r"streaming-json-parser \(Rust\)", r"\d+", SOME, "right"),
        (r"ijson \(C\)", "at its end", SOME, "right"),
        ("json.loads once, at the end", "-", "-", "right"),
    ):
        row = ROW.format(reader=reader, figures=5, pieces=pieces, behind=behind, result=result)
        assert re.search("^" + row, page, re.MULTILINE), page
    twin = r", and [\d.]+ times that in Python" if IS_NATIVE else ""
    assert re.search(
        rf"At 2 KB, Penstock: chain to invocations takes [\d.]+ µs a delta{twin}\. It (loses|is even|beats)",
        page,
        re.MULTILINE,
    )
    assert re.search(r"^\| c, a plain Python call \| [1-9]\d* ns \|$", page, re.MULTILINE)
    [picture] = (tmp_path / "images").iterdir()
    assert f"(images/{picture.name})" in page
    assert "jsonriver" in picture.read_text(encoding="utf-8")


def test_the_sdks_and_the_wire_read_the_same_bytes(bench: Bench):
    page = bench("--work", "W2", "--groups", "bytes", "--sizes", "8000", "--delta", "40", "--print")
    for reader in ("openai: chat, create", "openai: responses, create", "anthropic: create"):
        row = ROW.format(
            reader=reader, figures=3, pieces=r"\d+", behind="0", result=r"right \(decodes the events only\)"
        )
        assert re.search("^" + row, page, re.MULTILINE), page
    row = ROW.format(reader=r"\*\*Penstock: bytes → \w+\*\*", figures=3, pieces=r"\d+", behind="0", result="right")
    assert len(re.findall(row, page)) == 6
    # Two indices in turns are more than the helper of strict tools takes; that is said, and is no failure of the run.
    assert re.search(r"^\| openai: chat\.stream\(\), strict tool \|.*\| raises JSONDecodeError \|$", page, re.MULTILINE)
    assert "Not right: openai: chat.stream(), strict tool" in page


def test_arguments_that_gemini_streams_are_read_too(bench: Bench):
    pytest.importorskip("google.genai", reason="needs google-genai, the extra `gemini`")
    page = bench("--work", "W1", "--groups", "gemini", "--sizes", "1000", "--delta", "40", "--print")
    row = r"^\| {} \|.*\| \d+ \| 0 \| right "
    assert re.search(row.format("google-genai: Vertex AI, streamed arguments"), page, re.MULTILINE), page
    assert len(re.findall(row.format(r"\*\*Penstock: bytes → \w+\*\*"), page, re.MULTILINE)) == 2


def test_calls_in_text_are_read_in_each_dialect(bench: Bench):
    page = bench("--work", "W4", "--groups", "text", "--sizes", "1000", "--peers", "penstock", "--print")
    for reader in ("hermes", "qwen3_coder", "all dialects"):
        row = ROW.format(
            reader=rf"\*\*Penstock: {reader}\*\*", figures=3, pieces=r"\d+", behind=f"(?:0|{SOME})", result="right"
        )
        assert re.search("^" + row, page, re.MULTILINE), page


def test_frames_are_written_beside_other_encoders_and_are_right(bench: Bench):
    page = bench("--part", "frames", "--print")
    for protocol, writer in (
        ("ag-ui", r"\*\*Penstock: to_sse\(\.\.\.\)\*\*"),
        ("ag-ui", "pydantic-ai: AGUIEventStream"),
        ("ai-sdk", r"\*\*Penstock: the frames alone\*\*"),
        ("ai-sdk", "pydantic-ai: VercelAIEventStream"),
    ):
        assert re.search(rf"^\| {protocol} \| {writer} \|(?: [\d.]+ \|){{4}} right \|$", page, re.MULTILINE), page
    assert "WRONG" not in page


def test_the_bare_generator_sends_the_bytes_that_the_library_sends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    app = import_module("load_app")

    async def body(stream: Callable[..., AsyncIterator[bytes]]) -> bytes:
        return b"".join([chunk async for chunk in stream(app.Asked(pieces=5, rate=1000))])

    with_library, bare = (
        re.sub(rb"\d{16}", b"time", asyncio.run(body(each))) for each in (app.with_penstock, app.bare)
    )
    assert bare == with_library


def test_a_wrong_option_is_named(bench: Bench, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        bench("--sizes", "0")
    assert "--sizes: 0 is not above 0" in capsys.readouterr().err


def test_a_few_live_streams_are_right_and_measured_beside_nothing():
    printed = live_streams("--streams", "3", "--rate", "200", "--seconds", "0.4", "--no-search")
    for loop in ("gc on", "penstock", "nothing"):
        row = rf"^{loop} +3 +[\d.]+ +[\d.]+ +\d+% +[\d.]+ +\d+% +[\d.]+ +[\d.]+ +[1-9]\d*$"
        assert re.search(row, printed, re.MULTILINE), printed
    assert "PASS every call is right" in printed
    assert re.search(r"^(PASS|FAIL) 3 streams: p99 [\d.]+ ms of added delay, bound 100 ms$", printed, re.MULTILINE)


def test_the_profile_names_functions_of_the_library():
    printed = live_streams("--streams", "160", "--rate", "20", "--seconds", "0.3", "--profile")
    assert re.search(r"^ +[\d.]+% +[\d.]+ us +[\d.]+ calls  \w+\.py:\d+ feed$", printed, re.MULTILINE), printed
