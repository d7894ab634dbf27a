"""A value may contain anything: markers of its own format, whole calls, other formats."""

from __future__ import annotations

import json
import sys
from collections import Counter
from random import Random
from typing import Any, Final

import pytest
from answered import answered
from content_cases import CLASSES, WRITING, outcome, pieces_of, samples, shape_of, table
from depth import scaled
from looped import looped
from text_laws import joined

from penstock.events.chunk_response import ChunkResponse
from penstock.events.tool_invocation import InvocationFailed, ToolInvocation
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.engine.drive import drive
from penstock.operators.engine.limits import Limits
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations

COUNT: Final = 200
EXACT: Final = ("one marker", "whole call", "two calls", "nested call", "foreign")
OWN_LINES: Final = "aider"
"""Its markers are lines without an escape: such a line in a value is one marker too many, and fails the call."""
FILE: Final = {"write_file": {"properties": {"path": {"type": "string"}, "content": {"type": "string"}}}}


@pytest.mark.laws
@pytest.mark.parametrize("name", WRITING)
def test_a_call_comes_back_or_fails_whatever_is_in_it(name: str, capsys: pytest.CaptureFixture[str]):
    random = Random(name)
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in CLASSES}
    for sample in samples(name, scaled(COUNT), random):
        counts[sample.kind][outcome(name, sample, random)] += 1
    with capsys.disabled():
        sys.stdout.write(f"\n{table({name: counts})}\n")
    total = sum(counts.values(), Counter())
    assert total["wrong"] <= 0.005 * counts["markers"].total()
    for kind in EXACT:
        if name != OWN_LINES or kind != "one marker":
            each = counts[kind]
            assert each["exact"] >= 0.95 * (each.total() - each["refused"]), (kind, each)


@pytest.mark.laws
@looped("name", WRITING)
def test_a_model_that_is_cut_runs_no_part_of_a_call(name: str):
    """Cut at each place, with the reason `length`: the whole call, none, but no other one."""
    random = Random(name)
    shape = shape_of(DIALECTS[name])
    for sample in samples(name, scaled(16), random):
        if not sample.text:
            continue
        for end in random.sample(range(len(sample.text)), min(len(sample.text), 12)):
            chunks: list[Any] = [ChunkResponse(content=sample.text[:end]), ChunkResponse(finish_reason="length")]
            events = answered(chunks, parse_text(name, tools={shape.tool: shape.schema}), to_invocations())
            run = [each.arguments for each in events if isinstance(each, ToolInvocation)]
            assert run in ([], [sample.arguments]), sample.text[:end]


@pytest.mark.laws
@looped("name", WRITING)
def test_nothing_of_it_depends_on_how_the_text_is_cut(name: str):
    random = Random(name)
    shape = shape_of(DIALECTS[name])
    for sample in samples(name, scaled(24), random):
        text = sample.text + random.choice(("", "\nDone.", sample.text[: len(sample.text) // 2]))
        tools = random.choice((None, {shape.tool: shape.schema}))

        def read(pieces: list[str], tools: Any = tools) -> list[Any]:
            return joined(
                list(drive(pieces, parse_text(name, tools=tools, turn_id="t"), to_invocations(keep_segments=True)))
            )

        assert read(list(text)) == read(pieces_of(text, random)) == read([text]), text


def outcomes(text: str, finish: str = "stop", **options: Any) -> list[tuple[str, Any]]:
    chunks = [ChunkResponse(content=letter) for letter in text] + [ChunkResponse(finish_reason=finish)]  # type: ignore[arg-type]
    options.setdefault("tools", FILE)
    events = answered(chunks, parse_text("qwen3_coder", **options), to_invocations())
    return [
        (each.reason, None) if isinstance(each, InvocationFailed) else ("", each.arguments)
        for each in events
        if isinstance(each, ToolInvocation | InvocationFailed)
    ]


def call(content: str, path: str = "a") -> str:
    return (
        f"<tool_call>\n<function=write_file>\n<parameter=path>\n{path}\n</parameter>\n"
        f"<parameter=content>\n{content}\n</parameter>\n</function>\n</tool_call>"
    )


CLOSERS: Final = "</parameter>\n</function>\n</tool_call>"


@looped(
    "content",
    [
        "Close with </tool_call> at the end",
        "</function>",
        "a </parameter> b",
        "<parameter=y>",
        "\n<parameter=y>\n",
        call("inner"),
        call(call("inner")),
        f"one {CLOSERS} two",
        f"{CLOSERS}{CLOSERS}",
    ],
)
def test_a_closer_in_a_value_is_a_part_of_it(content: str):
    assert outcomes(call(content)) == [("", {"path": "a", "content": content})]
    assert outcomes(call(content) + " Done.") == [("", {"path": "a", "content": content})]


def test_text_behind_a_call_waits_until_the_answer_ends_or_another_call_comes():
    text = f"{call('x')} Done. {call('y', 'b')}"
    events = list(drive(list(text), parse_text("qwen3_coder", tools=FILE), to_invocations()))
    assert [each.arguments["path"] for each in events if isinstance(each, ToolInvocation)] == ["a", "b"]
    assert outcomes(call("x") + " Done.", "length") == [("truncated", None)]
    assert outcomes(f"{call('x')} Done. {call('y', 'b')}", "length")[0] == ("", {"path": "a", "content": "x"})


def test_with_the_seal_of_the_closer_text_behind_a_call_comes_at_once_and_a_call_in_a_value_cuts_it():
    text = call("x")
    assert outcomes(text + " Done.", "length", seal="closer") == [("", {"path": "a", "content": "x"})]
    assert outcomes(call(f"one {CLOSERS} two"), seal="closer")[0] == ("", {"path": "a", "content": "one "})


@pytest.mark.parametrize(
    "text",
    [
        call("x</parameter>\n<parameter=path>\nb"),
        call("x </parameter> y").replace("<parameter=path>", "<parameter=mode>"),
        f"{call('x')} or <tool_call>\n<function=other>\n<parameter=a>\n1\n{CLOSERS}",
    ],
    ids=["an argument twice", "an undeclared argument and a closer in a value", "an unknown call behind text"],
)
def test_what_may_be_read_in_two_ways_fails_unless_it_may_be_lenient(text: str):
    (reason, _), *_ = outcomes(text)
    assert reason == "malformed"
    (reason, _), *_ = outcomes(text, lenient=True)
    assert reason == ""


@pytest.mark.parametrize("argument", [{"a": {"b": {"c": "}"}}}, "long " * 400], ids=["deep", "long"])
def test_the_next_call_may_have_any_json_in_its_opener(argument: Any):
    arguments = {"command": argument}
    header = json.dumps({"type": "tool", "tool_name": "run", "arguments": arguments})
    text = f'[[SEG_START {{"type": "write_file", "path": "a"}}]]x[[SEG_END]]\n[[SEG_START {header}]][[SEG_END]]'
    for pieces in ([text], list(text)):
        events = drive(pieces, parse_text("sentinel"), to_invocations())
        found = [each.arguments for each in events if isinstance(each, ToolInvocation)]
        assert found == [{"path": "a", "content": "x"}, arguments]


def test_what_is_held_has_a_limit_at_which_the_call_fails():
    limits = Limits(held_length=len(CLOSERS) + 40)
    text = call("x") + "y" * 100
    found = outcomes(text, limits=limits)
    assert found == [("limit", None)]
    assert outcomes(call("x") + "y" * 30, limits=limits) == [("", {"path": "a", "content": "x"})]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("\na\n", "a"),
        ("a\n", "a\n"),
        ("\na", "a"),
        ("\n\na\n\n", "\na\n"),
        ("\r\na\r\n", "a"),
        ("a\r\n", "a\r\n"),
        ("\n", ""),
    ],
)
def test_a_newline_is_trimmed_in_pairs(written: str, value: str):
    text = call("x").replace("\nx\n", written)
    assert outcomes(text) == [("", {"path": "a", "content": value})]


MUTANTS = {
    "one closer ends a raw value": ("", ("operators/text/value_end.py", "        self._is_enough = self._ends.ends_call(reached, count)\n", "        self._is_enough = True\n")),
    "a call inside a value is not counted": ("", ("operators/text/value_end.py", "                self.depth += 1\n", "                self.depth += 0\n")),
    "what is held behind a call is not refuted by a later closer": ("", ("operators/text/value_end.py", 'return "again" if self._is_enough else', 'return "hold" if self._is_enough else')),
    "a call with text behind it is run although the answer was cut": ("", ("operators/text/value_end.py", "if not ended_regularly(how, finish) or", 'if not ended_regularly(how, "stop") or')),
    "a repeated argument does not fail its call": ("", ("operators/text/value_end.py", "        if (is_used or is_slip) and is_after_closer and not options.lenient:\n", "        if False:\n")),
    "an argument that no schema has counts beside markers in values": ("", ("operators/text/source_buffer.py", "if self.has_markers and self.undeclared is not None:", "if False:")),
}  # fmt: skip
