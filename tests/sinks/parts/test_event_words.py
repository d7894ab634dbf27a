"""What the views say of calls, ends and errors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock.events import AnswerEnd, InvocationFailed, Output, OutputFailed, ProviderError, ToolInvocation, UsageError
from penstock.sinks.parts.event_words import ending, event_line, stream_error, subject


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ((), "invalid"),
        (({"loc": ["path"], "msg": "Field required", "type": "missing"},), "invalid (path: Field required)"),
        (({"loc": [], "msg": "arguments must be an object"},), "invalid (arguments must be an object)"),
        (({"at": 3, "expected": "a value", "found": "}", "path": []},), "invalid (at 3: expected a value, found })"),
        (
            ({"at": 3, "expected": "a value", "found": "", "path": []},),
            "invalid (at 3: expected a value, found the end)",
        ),
        (({"msg": "x" * 1000},), f"invalid ({'x' * 119}…)"),
    ],
)
def test_a_failure_says_its_reason_and_what_is_wrong_first(errors: tuple[dict[str, Any], ...], said: str):
    assert event_line(InvocationFailed("i", name="f", reason="invalid", errors=errors)) == f"✗ f is not run: {said}"


def test_an_output_and_its_failure_have_a_line():
    assert event_line(Output("s", data={"a": [1]})) == "→ output {'a': [1]}"
    assert event_line(OutputFailed("s", reason="invalid", errors=({"loc": ["a"], "msg": "no"},))) == (
        "✗ no output: invalid (a: no)"
    )


def test_a_call_that_has_no_name_is_not_called_nothing():
    assert event_line(InvocationFailed("i")) == "✗ a call without a name is not run: malformed"


def test_a_value_too_long_for_a_line_is_cut_or_counted():
    arguments = {"short": "a", "cut": "b" * 100, "counted": "c" * 1000, "lines": "d\n" * 50, "many": list(range(1000))}
    line = event_line(ToolInvocation("i", name="f", arguments=arguments))
    assert line.startswith("→ f(short='a', cut='bbb")
    assert "b…, counted=<1,000 characters>, lines=<100 characters>, many=[0, 1, 2" in line
    assert len(line) < 250


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ProviderError("gone", transport=True), "✗ connection lost: gone"),
        (UsageError("say which"), "✗ say which"),
        (ValueError("x\n\x1b"), "✗ ValueError: x\\n\\x1b"),
        (ValueError(), "✗ ValueError"),
        (KeyboardInterrupt(), "✗ interrupted"),
        (asyncio.CancelledError(), "✗ interrupted"),
        (GeneratorExit(), "✗ interrupted"),
    ],
)
def test_what_ended_a_stream_is_said_in_a_line(error: BaseException, line: str):
    assert stream_error(error) == line


def test_an_end_that_is_fine_needs_no_words():
    assert [ending(*each) for each in (("complete", None), (None, None), ("failed", "limit"), ("interrupted", None))] == [
        "", "", "failed: limit", "interrupted",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("metadata", "about"),
    [
        ({}, ""),
        ({"tool_name": "write_file"}, ""),
        ({"tool_name": "write_file", "reason": "so", "path": "a.py"}, "a.py"),
        ({"tool_name": "save_note", "count": 3, "title": "Shopping"}, "Shopping"),
        ({"path": 3}, ""),
    ],
)
def test_a_segment_is_about_its_path_or_its_first_text(metadata: dict[str, Any], about: str):
    assert subject(metadata) == about


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (AnswerEnd(finish_reason="stop"), ""),
        (AnswerEnd(status="truncated"), "! the answer is truncated"),
        (AnswerEnd(status="paused", finish_reason="pause", finish_reason_raw="pause_turn"), "is paused: pause_turn"),
        (AnswerEnd(choice=2, status="interrupted"), "! answer 2 was interrupted"),
        (AnswerEnd(status="failed", error={"detail": "over\x1bloaded"}), "failed: over"),
    ],
)
def test_the_end_of_an_answer_says_why_it_is_not_complete(end: AnswerEnd, said: str):
    line = event_line(end)
    assert said in line
    assert bool(said) == bool(line)
    assert "\x1b" not in line
