"""Plain lines: each as soon as it is complete, each told whose it is, none obeyed."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from segment_events import content, end, file, start, together, whole

from penstock import Pipeline
from penstock.events import (
    AnswerEnd,
    InvocationFailed,
    Notice,
    OutputFailed,
    ProviderError,
    ProviderEvent,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolInvocation,
    ToolResult,
)
from penstock.sinks.plain_view import plain_view


def plain(*events: Any) -> str:
    output = io.StringIO()
    plain_view(output)(events)
    return output.getvalue()


def test_each_line_comes_when_it_is_complete():
    output = io.StringIO()
    seen: list[str] = []

    def stream():
        for event in (start("text"), content("one\ntw"), content("o\n"), content("three"), end()):
            yield event
            seen.append(output.getvalue())

    plain_view(output)(stream())
    assert seen == ["", "one\n", "one\ntwo\n", "one\ntwo\n", "one\ntwo\nthree\n"]


def test_each_line_is_flushed():
    class Buffered(io.StringIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed = len(self.getvalue())

    output = Buffered()
    plain_view(output)([start("text"), content("one\ntwo\n")])
    assert output.flushed == len("one\ntwo\n")


def test_a_files_lines_are_below_its_path_and_lose_nothing():
    assert plain(*file("a.py", "x = 1\n\ny")) == (
        "write_file a.py\n    x = 1\n    \n    y\n→ write_file(path='a.py', content='x = 1\\n\\ny')\n"
    )


def test_an_argument_beside_its_call_is_named_by_its_path():
    metadata = {"call_id": "c", "tool_name": "edit", "path": ["edits", 0, "new_text"]}
    events = [
        SegmentStart("c/edits/0/new_text", "edit", metadata),
        SegmentContent("c/edits/0/new_text", "edit", "x = 1\n"),
        SegmentEnd("c/edits/0/new_text", "edit", "complete", metadata=metadata),
    ]
    assert plain(*events).startswith("edit edits[0].new_text\n")


def test_a_command_has_a_prompt():
    assert plain(*whole("run_bash", "ls &&\npw", "d", tool_name="run_bash")) == "$ ls &&\n  pwd\n"


def test_reasoning_and_other_calls_are_named_and_indented():
    assert plain(*whole("reasoning", "Hm.\n\nSo."), *whole("text", "Hi")) == "reasoning\n  | Hm.\n  | \n  | So.\nHi\n"
    call = whole("tool_call", '{"a"', ": 1}", tool_name="f")
    assert plain(*call, ToolInvocation("s", name="f", arguments={"a": 1})) == 'f\n    {"a": 1}\n→ f(a=1)\n'
    assert plain(*whole("media", "https://x.y/a.png", media_type="image")) == "image\n    https://x.y/a.png\n"


def test_segments_that_are_open_together_are_kept_apart():
    bash = whole("run_bash", "l", "s", segment_id="b")
    assert plain(start("text"), *bash[:2], content("A"), *bash[2:], content("B"), end()) == "$ ls\nAB\n"


def test_where_several_calls_are_open_each_line_says_whose_it_is():
    lines = plain(*together(file("a.py", "1\n", segment_id="a"), file("b.py", "2\n", segment_id="b"))).splitlines()
    assert lines[:4] == ["write_file a.py", "write_file b.py", "a.py | 1", "b.py | 2"]


def test_two_calls_about_the_same_are_told_apart():
    lines = plain(*together(file("a.py", "1\n", segment_id="a"), file("a.py", "2\n", segment_id="b"))).splitlines()
    assert lines[2:4] == ["a.py | 1", "a.py#2 | 2"]


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ToolInvocation("i", name="f", arguments={"a": 1, "b": "x\x1b"}), "→ f(a=1, b='x\\x1b')\n"),
        (ToolInvocation("i", name="f", arguments={"a": "x" * 5000}), "→ f(a=<5,000 characters>)\n"),
        (InvocationFailed("i", name="f\a", reason="truncated"), "✗ f\\x07 is not run: truncated\n"),
        (Notice("late", "so late"), "! so late\n"),
        (OutputFailed("s", reason="malformed"), "✗ no output: malformed\n"),
    ],
)
def test_what_is_run_and_what_is_not_has_a_line(event: Any, line: str):
    assert plain(event) == line


def test_how_a_segment_ended_badly_is_said_once():
    cut = [start("write_file", path="a.py"), content("x"), end("truncated", reason="length")]
    head = "write_file a.py\n    x\n"
    assert plain(*cut) == head + "[a.py: truncated: length]\n"
    failed = InvocationFailed("s", name="write_file", reason="truncated")
    assert plain(*cut, failed) == head + "✗ write_file is not run: truncated\n"
    assert plain(*cut, Notice("x", "y")) == head + "[a.py: truncated: length]\n! y\n"


@given(st.lists(st.text(st.sampled_from("ab\n\r\x1b\u2028é"), max_size=8), max_size=6))
def test_however_a_text_is_cut_its_lines_are_the_same(pieces: list[str]):
    assert plain(*whole("text", *pieces)) == plain(*whole("text", "".join(pieces)))


@given(st.text())
def test_nothing_in_an_answer_moves_the_terminal(text: str):
    for kind in ("text", "reasoning", "write_file", "run_bash", "tool_call"):
        shown = plain(*whole(kind, text, path=text, tool_name=text))
        shown.encode("utf-8")
        assert not any(ord(each) < 32 and each not in "\n\t" for each in shown)


def test_an_error_of_the_stream_has_a_line_and_passes():
    output = io.StringIO()

    def stream():
        yield from (start("text"), content("half a l"))
        raise error

    error = ProviderError("overloaded", status=529)
    with pytest.raises(ProviderError, match="overloaded"):
        plain_view(output)(stream())
    assert output.getvalue() == "half a l\n✗ provider error (529): overloaded\n"


def test_a_reader_that_has_left_is_not_written_to_again():
    class Closed(io.StringIO):
        tries = 0

        def write(self, text: str) -> int:
            self.tries += 1
            raise BrokenPipeError

    output = Closed()
    with pytest.raises(BrokenPipeError):
        plain_view(output)(whole("text", "one\n", "two\n"))
    assert output.tries == 1


def test_an_output_that_fails_is_told_once(caplog: pytest.LogCaptureFixture):
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise full

    full = OSError(28, "the disk is full")
    with pytest.raises(OSError, match="full") as raised:
        plain_view(Full())(whole("text", "one\n", "two\n"))
    assert raised.value is full
    assert full.__context__ is None
    run = Pipeline(sinks=[plain_view(Full())]).stream(["one\n", "two\n"])
    assert len(list(run)) > 2
    assert run.results == [full]
    assert [record.message.count("OSError") for record in caplog.records] == [1]


def test_standard_output_is_the_one_of_the_moment(capsys: pytest.CaptureFixture[str]):
    view = plain_view()

    async def stream():
        for event in whole("text", "Hi"):
            yield event

    asyncio.run(view(stream()))
    view(whole("text", "again"))
    assert capsys.readouterr().out == "Hi\nagain\n"


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("ascii", "\\u2192 f(a='\\xe9\\u20ac')\n"), ("cp1252", "\\u2192 f(a='é€')\n"), ("utf-8", "→ f(a='é€')\n")],
)
def test_what_the_files_encoding_cannot_say_is_shown_by_its_number(encoding: str, shown: str):
    output = io.TextIOWrapper(io.BytesIO(), encoding, newline="\n")
    plain_view(output)([ToolInvocation("c", name="f", arguments={"a": "é€"})])
    output.seek(0)
    assert output.read() == shown


def test_a_file_that_has_its_own_way_with_what_it_cannot_say_keeps_it():
    output = io.TextIOWrapper(io.BytesIO(), "ascii", errors="replace", newline="\n")
    plain_view(output)([ToolInvocation("c", name="f")])
    output.seek(0)
    assert output.read() == "? f()\n"


CUT = AnswerEnd(status="truncated", finish_reason="length")


def test_an_answer_that_is_not_complete_has_a_line_and_one_that_is_has_none():
    assert plain(*whole("text", "Hi"), CUT) == "Hi\n! the answer is truncated: length\n"
    assert plain(*whole("text", "Hi"), AnswerEnd(), ProviderEvent("citation", {}), ToolResult("c")) == "Hi\n"
    assert plain(CUT, AnswerEnd(choice=1, status="paused"), *whole("text", "on")) == (
        "! the answer is truncated: length\n! answer 1 is paused\non\n"
    )


def test_an_error_of_the_stream_is_not_told_as_the_end_of_the_answer_too():
    error = ProviderError("overloaded")

    def broken():
        yield AnswerEnd(status="failed", error={"detail": error.detail})
        raise error

    output = io.StringIO()
    with pytest.raises(ProviderError):
        plain_view(output)(broken())
    assert output.getvalue() == f"✗ {error}\n"


def test_a_result_that_is_an_error_has_a_line():
    assert plain(ToolResult("c", error="no city"), ToolResult("d", denied="not now")) == (
        "✗ c failed: no city\n✗ d was not run: not now\n"
    )
