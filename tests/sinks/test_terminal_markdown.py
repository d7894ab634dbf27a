"""Markdown of an answer on the live terminal: what is finished stays as it is, what is open is drawn again."""

from __future__ import annotations

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from played_terminal import Played, shown
from segment_events import content, end, file, start, whole

from penstock.events import Notice
from penstock.sinks.terminal.markdown_reader import LONGEST, MarkdownReader

ANSWER = """# Plan

Two *short* paragraphs,
and a list:

1. one
2. two
   - nested

```py
def f():
    return 1
```

| a | b |
|---|---|
| 1 | 2 |

The **end**.
"""
DRAWN = """Plan

Two short paragraphs,
and a list:

 1 one
 2 two
    • nested

  def f():
      return 1

 a  b
 ────
 1  2

The end."""


def test_an_answer_is_drawn_as_markdown_however_it_is_cut():
    assert shown(*whole("text", ANSWER)) == DRAWN
    played = Played()
    played.feed(start("text"))
    for character in ANSWER:
        played.feed(content(character))
    played.feed(end())
    assert played.close() == DRAWN
    assert played.screen.is_clean


PIECES = st.sampled_from(
    ["a", "b ", "\n", "\n\n", "- ", "1. ", "# ", "> ", "```", "`", "**", "_", "|", "|-|-|\n", "| a | b |\n", "---\n", "    ", "世"]
)  # fmt: skip


@settings(max_examples=scaled(60))
@given(st.lists(PIECES, max_size=25), st.sampled_from([(12, 4), (30, 8), (80, 24)]))
def test_the_screen_ends_the_same_as_if_it_had_been_drawn_once(pieces: list[str], size: tuple[int, int]):
    often = Played(*size)
    often.feed(start("text"))
    for piece in pieces:
        often.feed(content(piece))
        assert len(often.target._region._rows) < size[1]
    often.feed(end())
    assert often.close() == shown(*whole("text", "".join(pieces)), width=size[0], height=size[1])
    assert often.screen.is_clean


def test_a_finished_block_is_not_drawn_again():
    played = Played()
    played.feed(start("text"), content("# Head\n\nOne paragraph.\n\nNext"))
    assert [segment.text for row in played.target._region._rows for segment in row] == ["Next"]
    written = len(played.screen.written)
    assert played.feed(content(" word")) == "Head\n\nOne paragraph.\n\nNext word"
    assert "paragraph" not in played.screen.written[written:]


def test_marks_take_effect_once_they_are_closed():
    played = Played()
    assert played.feed(start("text"), content("so **bo")) == "so **bo"
    assert played.feed(content("ld**")) == "so bold"
    assert played.screen.styles["bold"] == "1"


def test_a_line_of_marks_alone_waits_for_what_it_means():
    played = Played()
    assert played.feed(start("text"), content("So:\n")) == "So:"
    assert played.feed(content("-")) == "So:"
    assert played.feed(content(" one")) == "So:\n • one"
    assert shown(*whole("text", "So:\n-")) == "So:\n-"


def test_open_code_grows_as_code_and_stands_whole_when_it_is_closed():
    played = Played(height=24)
    lines = [f"line_{number} = {number}\n" for number in range(30)]
    text = played.feed(start("text"), content("So:\n```python\n" + "".join(lines)), content("last = '"))
    assert text.splitlines()[-2:] == ["  line_29 = 29", "  last = '"]
    assert "line_9 " not in text
    assert played.screen.styles["'"] not in ("", "0")  # coloured, though the string is open
    text = played.feed(content("x'\n```\nDone"), end())
    assert text.splitlines() == ["So:", *("  " + line.rstrip() for line in lines), "  last = 'x'", "Done"]


def test_a_paragraph_longer_than_the_region_shows_its_end_and_then_stands_whole():
    played = Played(width=20, height=12)
    words = [f"word{number}" for number in range(60)]
    text = played.feed(start("text"), content(" ".join(words)))
    assert text.endswith("word59")
    assert "word1 " not in text
    played.feed(end())
    assert " ".join(played.close().split()) == " ".join(words)


def test_what_waits_for_another_block_shows_little_and_then_all():
    played = Played()
    played.feed(start("write_file", "f", path="a.py"), content("x = 1\n", "f"))
    text = played.feed(start("text", "t"), content("# Head\n\nOne.\n\n" + "Two and more.\n" * 5, "t"))
    assert "Head" not in text
    assert text.endswith("One.")
    text = played.feed(end("complete", "f"), end("complete", "t"))
    assert text.endswith("Head\n\nOne.\n\n" + "\n".join(["Two and more."] * 5))


def test_with_an_open_text_above_a_file_has_half_of_the_rows():
    played = Played()
    played.feed(start("text", "t"), content("word " * 400, "t"))
    text = played.feed(start("write_file", "f", path="a.py"), content("x = 1\n" * 50, "f"))
    assert text.count("x = 1") >= 2
    assert text.count("word") > 16
    assert len(played.target._region._rows) <= 11


def test_it_can_be_left_as_it_is_written():
    assert shown(*whole("text", ANSWER), markdown=False) == ANSWER.rstrip()


def test_how_a_text_ended_is_told_below_it():
    assert shown(start("text"), content("So **it"), end("truncated", reason="length")) == "So **it\n… truncated: length"


def test_what_was_written_about_code_is_told_behind_it():
    text = shown(*whole("text", "```\nx"), *file("a.py", "y\n", segment_id="f"), Notice("n", "so"), width=40)
    assert text.splitlines()[0] == "  x"
    assert text.splitlines()[-1] == "! so"


@pytest.mark.parametrize(
    "unit",
    [
        "One paragraph.\n\n",
        "- item\n",
        "words ",
        "line\n",
        "```\n" + "x = 1\n" * 50 + "```\n",
        "    code\n",
        "> said\n",
    ],
)
def test_a_frame_of_a_long_answer_reads_no_more_than_one_of_a_short_answer(unit: str, monkeypatch: pytest.MonkeyPatch):
    read: list[int] = []
    blocks = MarkdownReader._blocks

    def counting(reader: MarkdownReader, text: str) -> object:
        read.append(len(text))
        return blocks(reader, text)

    monkeypatch.setattr(MarkdownReader, "_blocks", counting)
    played = Played()
    played.feed(start("text"))
    costs: list[int] = []
    for size in (3_000, 30_000):
        played.feed(content(unit * (size // len(unit))))
        read.clear()
        for _ in range(4):
            played.feed(content(unit))
        costs.append(sum(read))
    assert costs[1] <= max(1.2 * costs[0], 4 * 3 * LONGEST)
