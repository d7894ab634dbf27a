"""Markdown is drawn so that it can be read at any width, in any colours, and nothing that was written is hidden."""

from __future__ import annotations

import re
from typing import Any

from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.theme import Theme

from penstock.sinks.terminal.markdown_flow import MarkdownRows
from penstock.sinks.terminal.markdown_reader import MarkdownReader


def segments(text: str, width: int = 80, **options: Any) -> list[list[Segment]]:
    console = Console(width=width, **options)
    reader, draw = MarkdownReader(), MarkdownRows(console, None)
    reader.feed(text)
    reader.end()
    gap: list[list[Segment]] = [[]]
    return [line for part in reader.parts for line in ([] if part.joined else gap) + draw.lines(part, width)]


def rows(text: str, width: int = 80) -> list[str]:
    return ["".join(segment.text for segment in line) for line in segments(text, width)]


@looped(
    "text, shown",
    [
        ("# One\n## Two\n", ["One", "Two"]),
        ("*a* **b** `c` ~~d~~", ["a b c d"]),
        ("a\nb  \nc\\\nd", ["a", "b", "c", "d"]),
        ("[text](http://x.y)", ["text (http://x.y)"]),
        ("<http://x.y> and [http://x.y](http://x.y)", ["http://x.y and", "http://x.y"]),
        ("<me@x.y>", ["me@x.y"]),
        ("![alt](a.png)", ["![alt](a.png)"]),
        ("[a]: http://x.y 'title'", ["[a]: http://x.y", "'title'"]),
        ("<div>\nx <b>y</b>\n</div>", ["<div>", "x <b>y</b>", "</div>"]),
        ("<!-- note -->", ["<!-- note -->"]),
        ("&lt;a&gt; &#8238;b &#27;c", ["<a> \\u202eb \ufffdc"]),
        ("- a\n- b\n  - c", [" • a", " • b", "    • c"]),
        ("9. a\n10. b", ["  9 a", " 10 b"]),
        ("> a\n> b", ["▌ a", "▌ b"]),
        ("a\n\n---\n\nb", ["a", "", "-" * 20, "", "b"]),
        ("```py\nif x:\n\n    y\n```", ["  if x:", "  ", "      y"]),
        ("1. a\n   ```\n   b\n     c\n   ```", [" 1 a", "     b", "       c"]),
        ("1986.", ["1986."]),
        ("-", ["-"]),
        ("#", ["#"]),
        ('{"a_b_c": "*x*",\n   "d": 1}', ['{"a_b_c": "*x*",', '   "d": 1}']),
        ('[{"a": "*x*"}]', ['[{"a": "*x*"}]']),
        ("snake_case_name 2*3*4", ["snake_case_name 234"]),
    ],
)
def test_it_looks_like_this(text: str, shown: list[str]):
    assert rows(text, 20) == shown


def test_a_table_has_columns_and_wraps_long_words_instead_of_cutting_them():
    text = "| name | text |\n|:-----|-----:|\n| a | " + "x" * 50 + " |\n"
    assert rows(text, 80)[0].split() == ["name", "text"]
    assert rows(text, 80)[2].endswith("x" * 50)
    narrow = rows(text, 30)
    assert sum(row.count("x") for row in narrow) == 51
    assert max(map(cell_len, narrow)) <= 30


def test_where_a_table_or_a_nested_list_has_no_room_it_is_shown_as_written():
    table = "| a | b | c | d |\n|---|---|---|---|\n| 1 | 2 | 3 | 4 |"
    assert rows(table, 30) == table.split("\n")
    nested = "".join(f"{'  ' * depth}- x{depth}\n" for depth in range(9))
    assert rows(nested, 30) == nested.rstrip("\n").split("\n")
    assert rows(nested, 80)[8].strip() == "• x8"


def test_what_is_nested_without_end_is_not_lost():
    assert "".join(rows("> " * 60 + "deep", 500)).endswith("deep")
    assert "".join(rows("- " * 60 + "deep", 500)).endswith("deep")


WORDS = st.sampled_from(
    ["wa", "wb ", "wc\n", "wd\n\n", "- ", "  - ", "1. ", "> ", "# ", "`", "```\n", "*", "**", "_", "[", "](u)", "| ", "|-|-|\n",
     "|wx|wy|\n", "<b>", "&amp;", "\\", "    ", "世", "---\n", "{", "!["]
)  # fmt: skip


@settings(max_examples=scaled(150))
@given(st.lists(WORDS, max_size=25), st.sampled_from([1, 5, 12, 20, 40, 80]))
def test_no_word_is_lost_and_no_row_is_too_wide(pieces: list[str], width: int):
    text = "".join(pieces)
    shown = rows(text, width)
    assert all(cell_len(row.rstrip()) <= max(width, 2) for row in shown if width > 4)
    words = "".join(shown)
    for letter in "abcdxy":
        before, after = text.replace("![", "").count(f"w{letter}"), re.sub(r"\s|│|▌|•", "", words).count(letter)
        fenced = "```" in text  # what is behind the fence names its language
        assert after >= before or fenced or ("\\" in text) or width < 12


def test_styles_are_readable_everywhere_and_those_of_the_console_are_kept():
    def style_of(word: str, **options: Any) -> str:
        lines = segments("# head\n\nsome `code`\n\n> said", force_terminal=True, color_system="truecolor", **options)
        return next(str(segment.style) for line in lines for segment in line if word in segment.text)

    assert (style_of("head"), style_of("code"), style_of("said")) == ("bold underline", "bold cyan", "dim")
    own = Theme({"markdown.code": "red"})
    assert style_of("code", theme=own) == "red"


def test_code_is_coloured_by_its_language():
    lines = segments("```py\ndef f(): pass\n```\n```\ndef f(): pass\n```", force_terminal=True, color_system="standard")
    colours = [
        {segment.style.color.name for segment in line if segment.style and segment.style.color} for line in lines
    ]
    assert colours[0]
    assert not colours[1]
