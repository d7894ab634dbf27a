"""The live view shows everything in its place, draws calmly, and leaves a clean terminal."""

from __future__ import annotations

import asyncio
import io
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from played_terminal import Played, shown
from rich.console import Console
from rich.syntax import Syntax
from segment_events import content, end, file, start, together, whole
from terminal_screen import TerminalScreen

from penstock import Pipeline
from penstock.events import (
    AnswerEnd,
    InvocationFailed,
    Notice,
    OutputFailed,
    ProviderError,
    ToolCallUpdate,
    ToolInvocation,
    ToolResult,
)
from penstock.sinks.plain_view import PlainTarget
from penstock.sinks.terminal import file_panel
from penstock.sinks.terminal.markdown_flow import MarkdownRows
from penstock.sinks.terminal.markdown_reader import FileTail
from penstock.sinks.terminal_target import FRAME, REST, TerminalTarget, new_target
from penstock.sinks.terminal_view import terminal_view

ROOT = Path(__file__).parents[2]
LOREM = "The quick brown fox jumps over the lazy dog, and then it rests under a tree until the evening comes."


def test_text_is_on_the_screen_as_it_comes_and_stays():
    played = Played()
    assert played.feed(start("text"), content("Hel")) == "Hel"
    assert played.feed(content("lo\nyou")) == "Hello\nyou"
    assert played.feed(content("!\n"), end()) == "Hello\nyou!"
    assert played.close() == "Hello\nyou!"
    assert played.screen.is_clean


def test_plain_text_wraps_between_words_and_only_its_last_row_is_drawn_again():
    played = Played(width=20, markdown=False)
    played.feed(start("text"))
    for word in LOREM.split(" "):
        played.feed(content(word + " "))
        assert len(played.target._region._rows) <= 1
    assert all(len(line) <= 20 for line in played.screen.lines)
    assert " ".join(played.screen.lines) == LOREM


@given(st.text(st.sampled_from("ab é世👍🏽\u200d\n \t\r"), max_size=60), st.data())
def test_however_a_text_is_cut_it_looks_the_same(text: str, data: st.DataObject):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    pieces = [text[begin:stop] for begin, stop in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole_text = shown(*whole("text", text), width=12)
    played = Played(width=12)
    played.feed(start("text"))
    for piece in pieces:
        played.feed(content(piece))
    played.feed(end())
    assert played.close() == whole_text


def test_blank_lines_around_a_text_are_one():
    text = shown(*whole("reasoning", "Hm.\n\n"), *whole("text", "\n\nSo:\n\n"), *whole("run_bash", "ls"))
    assert text == "reasoning\n│ Hm.\n\nSo:\n\n$ ls"


def test_reasoning_has_a_heading_and_a_bar_and_is_dimmed_and_text_is_not():
    played = Played(width=20)
    text = played.feed(*whole("reasoning", "Hm, two things.\nI try\n\nboth."), *whole("text", "So."))
    assert text == "reasoning\n│ Hm, two things.\n│ I try\n│\n│ both.\n\nSo."
    assert played.screen.styles["│ both."].startswith("2")
    assert played.screen.styles["So."] in ("", "0")


def test_the_heading_of_reasoning_is_there_while_its_first_row_grows_and_once():
    played = Played(width=20)
    assert played.feed(start("reasoning"), content("Hm, ")) == "reasoning\n│ Hm,"
    assert played.feed(content("a rather long thought")) == "reasoning\n│ Hm, a rather long\n│ thought"
    assert shown(*whole("reasoning", "  \n")) == ""


def test_a_long_refusal_keeps_all_of_its_words():
    text = shown(*whole("refusal", LOREM), width=20)
    assert " ".join(text.split()) == f"refused: {LOREM}"


def test_a_file_grows_in_a_panel_with_its_path_its_lines_and_their_number():
    played = Played(width=40)
    text = played.feed(start("write_file", tool_name="write_file", path="src/a.py"), content("x = 1\ny"))
    assert text == ("╭─ write_file  src/a.py\n│ 1 x = 1\n│ 2 y\n╰─ 2 lines")
    assert "│ 2 y = 2\n" in played.feed(content(" = 2\n"))
    assert "\n│ 3 " in played.feed(content("z"))
    assert played.close() == played.feed()


def test_a_file_is_coloured_as_soon_as_its_path_is_known():
    played = Played()
    played.feed(start("write_file", path="a.py"), content("def f(): pass\n"))
    assert played.screen.styles["def"] not in ("", "0")


def test_a_path_that_comes_at_the_end_is_shown_and_colours_the_file():
    played = Played()
    text = played.feed(start("write_file"), content("def f(): pass\n"))
    assert "─ write_file\n" in text
    assert "def" not in played.screen.styles
    text = played.feed(end(tool_name="write_file", path="late.py"))
    assert "write_file  late.py ─" in text
    assert played.screen.styles["def"] not in ("", "0")


def test_a_path_too_long_for_its_panel_keeps_its_end():
    text = shown(*file("a/very/long/path/" * 5 + "name.py", "x"), width=40)
    assert re.search(r"─ write_file  …[a-z/]+/name\.py ─", text)


def test_a_tool_of_ones_own_has_a_panel_with_what_it_is_about():
    assert "save_note  Shopping" in shown(*whole("save_note", "milk", tool_name="save_note", title="Shopping"))


def test_a_long_file_shows_its_last_rows_and_how_many_there_are():
    played = Played(height=12)
    text = played.feed(start("write_file", path="a.txt"), content("".join(f"line {n}\n" for n in range(1, 501))))
    assert "│ 500 line 500" in text
    assert "│ 496 line 496" in text
    assert "line 495" not in text
    assert "500 lines" in text
    assert len(played.screen.lines) == 7


def test_a_line_too_long_for_its_panel_is_cropped_while_it_is_written_and_wrapped_in_the_end():
    played = Played(width=40)
    played.feed(start("write_file", path="a.txt"), content("x" * 5000), content("\n"), content("世" * 5000))
    written = played.screen.text
    assert [line[:6] for line in written.splitlines()[:4]] == ["╭─ wri", "│ 1 xx", "│ 2 世世", "╰─ 2 l"]
    assert all(line.endswith("…") for line in written.splitlines()[1:3])
    played.feed(end("complete"))
    played.close()
    assert (played.screen.text.count("x"), played.screen.text.count("世")) == (5001, 5000)  # and the x of a.txt
    assert "…" not in played.screen.text


def test_the_whole_file_stays_when_it_has_ended():
    lines = [f"line {number}\n" for number in range(1, 601)]
    text = shown(*file("a.txt", *lines), width=40)
    assert [f"│ {number:>3} line {number} " in text for number in range(1, 601)] == [True] * 600
    assert text.count("╭") == text.count("╰") == 1


def test_files_written_at_once_stand_side_by_side_until_both_have_ended():
    played = Played(width=100)
    one, other = file("a.py", "a = 1\n", segment_id="a"), file("b.py", "b = 1\n", "b = 2\n", "b = 3\n", segment_id="b")
    played.feed(*together(one[:2], other[:2]))
    assert re.search(r"─ write_file  a\.py ─+╮ ╭─ write_file  b\.py ─+╮\n│ 1 a = 1 +│ │ 1 b = 1", played.screen.text)
    text = played.feed(*one[2:])
    assert "a.py ─" in text.splitlines()[0]
    assert text.splitlines()[-1] == "→ write_file(path='a.py', content='a = 1\\n')"
    text = played.feed(*other[2:])
    assert played.close() == text
    assert text.count("a.py ─") == text.count("b.py ─") == 1
    assert text.splitlines()[-2:] == [
        "→ write_file(path='a.py', content='a = 1\\n')",
        "→ write_file(path='b.py', content='b = 1\\nb = 2\\nb = 3\\n')",
    ]


def test_where_the_terminal_is_narrow_they_stand_one_below_the_other():
    text = shown(*together(file("a.py", "a = 1\n", segment_id="a"), file("b.py", "b = 1\n", segment_id="b")), width=60)
    places = [number for number, line in enumerate(text.splitlines()) if "write_file  " in line]
    assert places == [0, 3]


def test_files_written_one_after_the_other_stand_one_below_the_other():
    text = shown(*file("a.py", "a = 1\n", segment_id="a"), *file("b.py", "b = 1\n", segment_id="b"), width=120)
    assert [line[:20] for line in text.splitlines()] == [
        "╭─ write_file  a.py ", "│ 1 a = 1".ljust(20), "╰" + "─" * 19, "→ write_file(path='a",
        "╭─ write_file  b.py ", "│ 1 b = 1".ljust(20), "╰" + "─" * 19, "→ write_file(path='b",
    ]  # fmt: skip


def test_a_line_that_has_to_wait_is_cut_and_then_given_in_full():
    played = Played(width=40)
    call = ToolInvocation("c", name="f", arguments={"city": "Paris", "units": "metric", "days": 3})
    text = played.feed(start("write_file", "a", path="a.py"), call)
    assert text.splitlines()[-1] == "→ f(city='Paris', units='metric', days=…"
    text = played.feed(end("complete", "a"))
    assert text.splitlines()[-2:] == ["→ f(city='Paris', units='metric',", "  days=3)"]


def test_more_files_at_once_than_there_is_room_for_have_a_line_each():
    played = Played(width=60, height=16)
    streams = [file(f"{n}.py", "x = 1\n", segment_id=str(n)) for n in range(8)]
    text = played.feed(*together(*(stream[:2] for stream in streams)))
    assert [f"write_file {n}.py  1 line" for n in range(8)] == text.splitlines()
    played.feed(*together(*(stream[2:] for stream in streams)))
    text = played.close()
    assert text.count("╭─") == 8
    assert text.count("→ write_file") == 8


def test_where_the_region_becomes_smaller_nothing_of_it_is_left():
    played = Played(width=60, height=22)
    names = "abcd"
    assert played.feed(*(start("write_file", name, path=name) for name in names[:3])).count("╭─") == 3
    text = played.feed(start("write_file", "d", path="d"))
    assert text.splitlines() == [f"write_file {name}  0 lines" for name in names]


def test_a_command_is_shown_as_one_and_in_full():
    played = Played(width=30)
    assert played.feed(start("run_bash", tool_name="run_bash"), content("pytest -q")) == "$ pytest -q"
    text = played.feed(content(" tests &&\nrm -rf everything-that-is-here"), end())
    assert text == "$ pytest -q tests &&\n  rm -rf\n  everything-that-is-here"


def test_other_calls_show_their_arguments_as_they_come_and_then_what_is_run():
    played = Played(width=40)
    played.feed(start("tool_call", "c", tool_name="get_weather"), content('{"city": "Par', "c"))
    assert played.screen.text == "get_weather\n  city: Par"
    text = played.feed(content('is", "units": "metric", "days": 3}', "c"))
    assert text == "get_weather\n  city: Paris\n  units: metric\n  days: 3"
    arguments = {"city": "Paris", "units": "metric", "days": 3, "lang": None}
    text = played.feed(end("complete", "c"), ToolInvocation("c", name="get_weather", arguments=arguments))
    assert text == "→ get_weather\n  city: Paris\n  units: metric\n  days: 3\n  lang: null"
    assert played.close() == text


def test_a_call_that_nobody_says_anything_of_stays_with_its_arguments():
    assert shown(*whole("tool_call", '{"a": 1}', tool_name="f"), *whole("text", "Done.")) == "f\n  a: 1\n\nDone."


def test_a_call_by_the_provider_says_so():
    text = shown(*whole("tool_call", '{"q": "x"}', tool_name="web_search", executed_by="provider"))
    assert text == "web_search (by the provider)\n  q: x"


def test_many_calls_at_once_share_the_room_and_have_a_row_each_at_last():
    played = Played(width=60)
    calls = [whole("tool_call", f'{{"city": "c{n}", "days": {n}}}', segment_id=str(n), tool_name="f") for n in range(9)]
    three = played.feed(*together(*(call[:2] for call in calls[:3])))
    assert three.splitlines() == [line for n in range(3) for line in ("f", f"  city: c{n}", f"  days: {n}")]
    nine = played.feed(*together(*(call[:2] for call in calls[3:])))
    assert nine.splitlines() == [f"f days: {n}" for n in range(9)]


def test_a_call_that_failed_keeps_its_arguments_and_says_why():
    errors = ({"at": 8, "expected": "a value", "found": ""},)
    text = shown(
        start("tool_call", tool_name="f"),
        content('{"a": 1'),
        end("truncated", reason="length"),
        InvocationFailed("s", name="f", raw='{"a": 1', reason="truncated", errors=errors),
    )
    assert text == ('f {"a": 1 [truncated: length]\n✗ f is not run: truncated (at 8: expected a value, found the end)')


@pytest.mark.parametrize(
    ("events", "line", "style"),
    [
        ([InvocationFailed("i", name="f", reason="unknown_tool")], "✗ f is not run: unknown_tool", "31"),
        ([Notice("late", "so late")], "! so late", "33"),
        ([OutputFailed("s", reason="refusal")], "✗ no output: refusal", "31"),
        ([ToolInvocation("i", name="f", arguments={"a": 1})], "→ f(a=1)", "1;32"),
        (whole("refusal", "I cannot."), "refused: I cannot.", "33"),
        (whole("media", "https://x.y/a.png", media_type="image"), "image https://x.y/a.png", "2"),
    ],
)
def test_what_else_there_is_has_a_line(events: list[Any], line: str, style: str):
    played = Played()
    played.feed(*events)
    assert played.close() == line
    assert played.screen.styles[line] == style


def test_a_picture_inside_the_answer_is_not_poured_over_the_screen():
    text = shown(*whole("media", "data:image/png;base64," + "A" * 50_000, media_type="image"))
    assert text.startswith("image\n  data:image/png;base64,AAA")
    assert text.endswith("A… (50,022 characters)")
    assert len(text) < 200


def test_a_segment_that_ended_badly_says_how():
    assert shown(start("text"), content("So"), end("truncated", reason="length")) == "So\n… truncated: length"
    text = shown(start("write_file", path="a.py"), content("x"), end("failed", reason="malformed"))
    assert "1 line · failed: malformed ─" in text


def test_segments_of_two_turns_are_kept_apart():
    events = [*(start("write_file", "s", turn, path=f"{turn}.py") for turn in "ab"), content("x = 1", "s", "b")]
    text = shown(*events, end("complete", "s", "a"), end("complete", "s", "b"), width=100)
    assert re.search(r"(?s)a\.py.*0 lines.*b\.py.*│ 1 x = 1 .*1 line", text)


def test_texts_that_are_open_together_follow_each_other():
    played = Played()
    text = played.feed(start("text", "a"), content("first, ", "a"), start("text", "b"), content("second, ", "b"))
    assert text == "first,\n\nsecond,"
    played.feed(content("more", "b"), end("complete", "b"), content("more", "a"), end("complete", "a"))
    assert played.close() == "first, more\n\nsecond, more"


def test_what_it_does_not_know_is_ignored():
    update = ToolCallUpdate("c", "f", "{}", is_complete=False)
    assert shown(update, content("no start", "x"), end("complete", "x"), *whole("text", "Hi"), object()) == "Hi"


def test_redraws_are_at_most_twelve_a_second():
    played = Played()
    played.feed(start("write_file", path="a.py"), seconds=0)
    for number in range(2000):
        played.feed(content(f"n = {number}\n"), seconds=0.001)
    assert 20 <= played.screen.frames <= 2 * 12 + 2


def test_what_came_last_is_drawn_even_if_nothing_follows():
    played = Played()
    assert played.feed(start("text"), content("Hello"), content(", you"), seconds=0) == ""
    assert played.feed(seconds=FRAME) == "Hello, you"
    frames = played.screen.frames
    played.feed(seconds=60)
    assert played.screen.frames == frames


def test_where_drawing_is_slow_it_is_done_less_often():
    played = Played()
    write = played.screen.write

    def slow(text: str) -> int:
        if "\x1b[?2026h" in text:
            played.time.sleep(0.5)
        return write(text)

    played.screen.write = slow  # type: ignore[method-assign]
    played.feed(start("text"), content("a\n"), seconds=0)
    begun, frames = played.time.now, played.screen.frames
    while (played.time.now - begun).total_seconds() < 50:
        played.feed(content("b\n"), seconds=0.25)
    assert played.screen.frames - frames <= 50 / (0.5 * (1 + REST)) + 1


def test_nothing_is_drawn_for_a_frame_like_the_one_before():
    played = Played()
    played.feed(start("write_file", path="a.py"), content("x"))
    frames = played.screen.frames
    for _ in range(5):
        played.feed(content(""))
    assert played.screen.frames == frames


def test_a_frame_costs_the_same_in_a_large_file(monkeypatch: pytest.MonkeyPatch):
    coloured: list[int] = []

    class Counting(Syntax):
        def highlight(self, code: str, *arguments: Any) -> Any:
            coloured.append(len(code))
            return super().highlight(code, *arguments)

    monkeypatch.setattr(file_panel, "Syntax", Counting)
    file_panel._syntax.cache_clear()
    try:
        played = Played()
        played.feed(start("write_file", path="a.py"))
        for _ in range(30):
            played.feed(content("".join(f"value_{n} = 'some text'\n" for n in range(100))))
    finally:
        file_panel._syntax.cache_clear()
    assert len(coloured) >= 30
    assert max(coloured) < 100 * 30


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["text", "reasoning", "write_file", "edit_file", "run_bash", "tool_call", "media", "mine"]),
        st.lists(st.text(st.sampled_from("ab \n\t世👍\x1b\x9b\r\u202e\ud800\u200d[2J"), max_size=30), max_size=3),
        st.sampled_from(["complete", "truncated", "failed", "open"]),
    ),
    max_size=6,
)


def made(segments: list[tuple[str, list[str], str]]) -> Iterator[Any]:
    streams: list[list[Any]] = []
    for number, (kind, pieces, status) in enumerate(segments):
        name = str(number)
        events: list[Any] = [start(kind, name, path="a.py"), *(content(piece, name) for piece in pieces)]
        if status != "open":
            verdict = ToolInvocation(name, name=kind, arguments={"a": "".join(pieces)})
            events.append([end(status, name), *([] if kind == "text" else [verdict])])
        streams.append(events)
    for each in together(*streams):
        yield from each if isinstance(each, list) else [each]


@settings(max_examples=scaled(100))
@given(EVENTS, st.sampled_from([(30, 8), (60, 12), (110, 24), (12, 4)]))
def test_whatever_comes_the_screen_is_never_left_and_ends_the_same_as_if_drawn_once(
    segments: list[tuple[str, list[str], str]], size: tuple[int, int]
):
    often, once = Played(*size), Played(*size)
    for event in made(segments):
        often.feed(event)
        assert len(often.target._region._rows) < size[1]
        once.target._page.feed(event)
    assert often.close() == once.close()
    assert often.screen.is_clean
    assert all(character not in often.screen.text for character in "\x9b\u202e\ud800")


def test_control_characters_are_shown_and_not_obeyed():
    text = "a\x1b[2Jb\x9bc\rd\u202ee"
    for kind in ("text", "reasoning", "refusal", "write_file", "run_bash", "tool_call", "media", "own"):
        assert "a\\x1b[2Jb\\x9bc\\rd\\u202ee" in shown(*whole(kind, text, tool_name=kind))
    for event in (
        start("write_file", path=text),
        start("write_file\x1b[2J"),
        start("tool_call", tool_name=text),
        Notice("x", text),
        ToolInvocation("i", name=text),
        InvocationFailed("i", name=text),
    ):
        assert "\\x1b[2J" in shown(event)


def test_line_ends_of_windows_are_no_control_characters():
    assert shown(*whole("text", "a\r", "\nb\r\n")) == "a\nb"
    assert "\\r" not in shown(*whole("write_file", "a\r\nb\r\n", path="a.txt"))


def test_no_color_is_honoured():
    played = Played(NO_COLOR="1")
    played.feed(*file("a.py", "def f(): pass\n"), *whole("reasoning", "Hm."), Notice("x", "y"))
    played.close()
    codes = {number for style in played.screen.styles.values() for number in style.split(";")}
    assert codes <= {"", "0", "1", "2", "3", "4"}


@pytest.mark.parametrize("width", [25, 50, 70, 110])
def test_after_a_resize_the_old_region_is_gone(width: int):
    played = Played(width=80, height=60)
    played.feed(*whole("text", "Before."), start("write_file", "a", path="a.py"), start("write_file", "b", path="b.py"))
    played.feed(content("x = 1\n" * 3, "a"), content("y = 1\n" * 3, "b"))
    played.resize(width)
    text = played.feed(content("x = 2\n", "a"))
    assert text.startswith("Before.\n\n╭─ write_file  a.py")
    assert (text.count("a.py"), text.count("b.py"), text.count("x = 1")) == (1, 1, 3)
    assert max(map(len, text.splitlines())) == (width if width > 100 else 19)  # with frames where they are side by side
    played.close()
    assert played.screen.is_clean


LONG_PARAGRAPH = " ".join(f"word{number}" for number in range(200))


@pytest.mark.parametrize(
    "events",
    [
        [start("write_file", path="a.py"), content("".join(f"x = {'y' * 70}{n}\n" for n in range(40)))],
        [start("text"), content(LONG_PARAGRAPH)],
        [start("text"), content("```\n" + "x" * 70 + "\n" + "y\n" * 30)],
        [
            start("tool_call", tool_name="f"),
            content(str({f"k{n}": "v" * 90 for n in range(20)}).replace("'", '"')[:-1]),
        ],
    ],
)
def test_in_a_window_of_half_the_width_nothing_is_left_of_rows_that_were_drawn_before(events: list[Any]):
    played = Played(width=80, height=24)
    played.feed(*whole("text", "Before.\n" * 30, segment_id="before"), *events)
    assert len(played.target._region._rows) > 8
    before = shown(*whole("text", "Before.\n" * 30, segment_id="before")).splitlines()
    played.resize(40)
    played.feed(content("z"), Notice("n", "so"))
    text = played.close()
    assert text.splitlines()[: len(before)] == before
    assert text.count("a.py") <= 1
    assert text.count("word3 ") <= 1
    assert text.count("k3:") <= 1
    assert text.count("x" * 30) <= 2


def test_what_a_row_had_before_wraps_no_line_of_a_narrower_window():
    played = Played(width=80, height=24)
    played.feed(start("write_file", path="a.py"), content("x" * 70 + "\n" * 12))
    played.feed(content("y\n" * 12))
    played.resize(40)
    assert all(line.strip() for line in played.screen.lines)


def broken(error: BaseException) -> Iterator[Any]:
    yield from whole("text", "Before.")
    yield start("write_file", "a", path="a.py")
    yield content("x = 1\n", "a")
    raise error


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (KeyboardInterrupt(), "✗ interrupted"),
        (ProviderError("overloaded", status=529), "✗ provider error (529): overloaded"),
        (ValueError("a\x1b[2J"), "✗ ValueError: a\\x1b[2J"),
    ],
)
def test_what_ends_the_stream_is_said_and_passes_and_the_terminal_is_clean(error: BaseException, line: str):
    played = Played()
    with pytest.raises(type(error)) as raised:
        terminal_view(played.console, scheduler=played.time)(broken(error))
    assert raised.value is error
    assert played.screen.lines[-1] == line
    assert "1 line · interrupted ─" in played.screen.text
    assert played.screen.text.count("a.py") == 1
    assert played.screen.is_clean


def test_a_task_that_is_cancelled_leaves_the_terminal_clean():
    played = Played()

    async def main() -> None:
        begun = asyncio.Event()

        async def stream():
            yield start("text")
            yield content("Hel")
            begun.set()
            await asyncio.Event().wait()

        task = asyncio.ensure_future(terminal_view(played.console, scheduler=played.time)(stream()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert played.screen.text == "Hel\n\n✗ interrupted"
    assert played.screen.is_clean


def test_an_async_stream_is_shown_too():
    played = Played()

    async def stream():
        for event in file("a.py", "x = 1\n"):
            yield event

    asyncio.run(terminal_view(played.console, scheduler=played.time)(stream()))
    assert played.screen.text == shown(*file("a.py", "x = 1\n"))


def test_with_a_time_of_its_own_it_shows_the_same_and_its_thread_ends():
    screen = TerminalScreen()
    console = Console(file=screen, force_terminal=True, width=80, height=24, _environ={"TERM": "xterm"})
    target = new_target(console, None, None)
    assert isinstance(target, TerminalTarget)
    drawn = threading.Event()
    before = set(threading.enumerate())
    for event in (start("text"), content("Hello")):
        target.feed(event)
    flush = screen.flush
    screen.flush = lambda: (flush(), "Hello" in screen.text and drawn.set())[0]  # type: ignore[method-assign,func-returns-value]
    target.feed(content(", you"))
    assert drawn.wait(30)
    mine = set(threading.enumerate()) - before
    target.feed(end())
    target.close(None)
    for thread in mine:
        thread.join(30)
        assert not thread.is_alive()
    assert screen.text == "Hello, you"


def test_what_others_print_stands_above_and_after_what_came_before_it():
    played = Played()
    played.feed(start("write_file", path="a.py"), content("x = 1"))
    played.feed(content("\ny = 2"), seconds=0)
    played.console.print("by the way")
    assert played.screen.lines[0] == "by the way"
    assert played.screen.text.count("a.py") == 1
    assert "2 y = 2" in played.screen.text
    played.close()
    played.console.print("afterwards")
    assert played.screen.lines[-1] == "afterwards"


def test_what_is_printed_on_standard_output_meanwhile_does_not_disturb(monkeypatch: pytest.MonkeyPatch):
    played = Played()
    monkeypatch.setattr(sys, "stdout", played.screen)
    played.feed(start("write_file", path="a.py"), content("x = 1"))
    print("from a tool")  # noqa: T201 - as a tool may
    text = played.feed(content("\ny = 2"))
    assert text.startswith("from a tool\n╭─ write_file  a.py")
    assert text.count("a.py") == 1
    played.close()
    assert sys.stdout is played.screen


def test_a_frame_that_cannot_be_written_is_raised_with_the_next_event():
    played = Played()
    played.feed(start("text"), seconds=1)

    def fail(text: str) -> int:
        raise full

    full = OSError("the disk is full")

    played.feed(content("a"), content("b"), seconds=0)
    played.screen.write = fail  # type: ignore[method-assign]
    played.time.advance_by(1)
    with pytest.raises(OSError, match="full"):
        played.target.feed(content("c"))


@pytest.mark.parametrize("is_late", [False, True])
def test_an_output_that_fails_is_told_once(caplog: pytest.LogCaptureFixture, is_late: bool):
    played = Played()
    played.feed(start("text"), content("Before."), seconds=1)
    full = OSError(28, "the disk is full")

    def fail(text: str) -> int:
        raise full

    if is_late:  # the frame of a timer, and then no event
        played.feed(content("a"), content("b"), seconds=0)
    played.screen.write = fail  # type: ignore[method-assign]
    if is_late:
        played.time.advance_by(1)
        with pytest.raises(OSError, match="full") as raised:
            played.close()
    else:
        with pytest.raises(OSError, match="full") as raised:
            terminal_view(played.console, scheduler=played.time)(whole("text", "one\n", "two\n"))
        run = Pipeline(sinks=[terminal_view(played.console)]).stream(["one\n", "two\n"])
        assert len(list(run)) > 2
        assert run.results == [full]
        assert [record.message.count("OSError") for record in caplog.records] == [1]
    assert raised.value is full
    assert full.__context__ is None
    assert "disk" not in played.screen.written


def test_what_fails_in_drawing_is_raised_and_not_written_on_the_screen_too(monkeypatch: pytest.MonkeyPatch):
    played = Played()

    def fail(*_: Any) -> None:
        raise ValueError(3)

    monkeypatch.setattr(MarkdownRows, "lines", fail)
    with pytest.raises(ValueError, match="3"):
        terminal_view(played.console, scheduler=played.time)(whole("text", "one\n"))
    assert "ValueError" not in played.screen.text
    assert played.screen.is_clean


def test_after_the_close_nothing_is_drawn():
    played = Played()
    text = played.feed(*whole("text", "Hi"))
    played.target.close(None)
    played.target.close(None)
    played.feed(*whole("text", "more", segment_id="x"))
    assert played.screen.text == text


@pytest.mark.parametrize(
    "make",
    [
        lambda: Console(file=io.StringIO()),
        lambda: Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"}),
        lambda: Console(file=TerminalScreen(), force_interactive=False),
    ],
)
def test_where_no_cursor_can_be_moved_lines_are_written(make: Callable[[], Console]):
    console = make()
    terminal_view(console)(file("a.py", "x = 1\n"))
    assert isinstance(console.file, io.StringIO)
    written = console.file.written if isinstance(console.file, TerminalScreen) else console.file.getvalue()
    assert written == "write_file a.py\n    x = 1\n→ write_file(path='a.py', content='x = 1\\n')\n"


def test_a_pipe_gets_lines_even_if_colours_are_forced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert isinstance(new_target(None, None, None), PlainTarget)
    terminal_view()(whole("text", "Hi"))
    assert capsys.readouterr().out == "Hi\n"


def test_without_rich_it_says_what_to_install_and_the_folder_can_be_imported():
    code = f"""
import sys
from types import ModuleType
sys.modules["rich"] = None
sys.modules["penstock"] = ModuleType("penstock")
sys.modules["penstock"].__path__ = [{str(ROOT)!r}]
import penstock.sinks, penstock.sinks.plain_view
from penstock.events import UsageError
from penstock.sinks.terminal_view import terminal_view
try:
    terminal_view()
except UsageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (
        done.stdout
        == 'the terminal view needs rich; pip install "penstock[terminal]", or in a clone pip install ".[terminal]"\n'
    ), done.stderr


def test_what_is_kept_of_a_file_does_not_grow_with_it():
    tail = FileTail()
    for number in range(20_000):
        tail.feed(f"line {number}\n" + "x" * 10_000)
    kept: Iterable[str] = tail.last(10**6)
    assert sum(map(len, kept)) < 500_000
    assert tail.count == 20_001


def test_an_answer_that_is_not_complete_and_a_result_that_is_an_error_have_lines():
    cut = AnswerEnd(status="truncated", finish_reason="length")
    assert "! the answer is truncated: length" in shown(*whole("text", "Hi"), cut)
    assert "answer" not in shown(*whole("text", "Hi"), AnswerEnd(), ToolResult("c"))
    assert "✗ c failed: no city" in shown(ToolResult("c", error="no city"))


def test_an_error_of_the_stream_is_not_told_as_the_end_of_the_answer_too():
    played = Played()
    played.feed(AnswerEnd(status="failed", error={"detail": "overloaded"}))
    assert played.close(ProviderError("overloaded")).count("overloaded") == 1
