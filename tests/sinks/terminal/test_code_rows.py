"""Rows of code have the file's last lines, whatever is in them, in the colours of their language."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from rich.style import Style

from penstock.sinks.parts.event_words import harmless
from penstock.sinks.terminal.file_panel import CONTEXT, code_rows, lexer_of
from penstock.sinks.terminal.markdown_reader import FileTail


@looped(
    "path, lexer",
    [
        ("a.py", "python"),
        ("src\\A.PY", "python"),
        ("deploy/values.yml", "yaml"),
        ("Makefile", "make"),
        ("docker/Dockerfile", "docker"),
        ("a.h", "c"),
        ("README", "default"),
        ("a.unheardof", "default"),
        ("", "default"),
    ],
)
def test_a_files_language_is_known_by_its_name(path: str, lexer: str):
    assert lexer_of("write_file", path) == lexer


def test_a_patch_is_a_patch_whatever_it_is_for():
    assert lexer_of("edit_file", "a.py") == lexer_of("patch_file", "a.py") == "diff"


@given(
    st.lists(st.text(st.sampled_from("ab'\"\\/*# \x1b\r世\u2028"), max_size=8), max_size=30),
    st.sampled_from(["python", "default", "markdown", "html", "c", "json", "diff", "make"]),
    st.integers(0, 12),
)
def test_rows_are_the_last_lines_with_their_numbers(lines: list[str], lexer: str, rows: int):
    tail = FileTail()
    tail.feed("".join(f"{line}\n" for line in lines))
    width = len(str(len(lines)))
    expected = [f"{n:>{width}} {harmless(line.removesuffix(chr(13)))}" for n, line in enumerate(lines, 1)]
    assert [row.plain for row in code_rows(tail, rows, lexer, None)] == (expected[-rows:] if rows else [])


def test_the_middle_of_a_large_file_is_coloured_like_its_beginning():
    tail = FileTail()
    tail.feed("def f():\n    return 'x'\n\n\n" * 5 * CONTEXT)
    first = FileTail()
    first.feed("def f():\n    return 'x'\n\n\n")
    late, early = (code_rows(each, 4, "python", None) for each in (tail, first))
    colours = [[str(span.style) for span in row.spans] for row in (*late, *early)]
    assert colours[:4] == colours[4:]
    assert any(colours[0])


def test_colours_are_the_terminals_own_and_neither_the_brightest_nor_the_darkest():
    tail = FileTail()
    tail.feed("import os\n# so\nclass A(B):\n    @c\n    def f(self) -> int: return not 1 + len('x')\n")
    spans = [span for row in code_rows(tail, 9, "python", None) for span in row.spans if isinstance(span.style, Style)]
    colours = {span.style.color.name for span in spans if isinstance(span.style, Style) and span.style.color}
    assert {"magenta", "cyan", "green", "yellow"} <= colours <= {"magenta", "cyan", "green", "yellow", "red"}


def test_a_theme_of_pygments_can_be_asked_for():
    tail = FileTail()
    tail.feed("return 'x'")
    (usual,), (other,) = code_rows(tail, 1, "python", None), code_rows(tail, 1, "python", "monokai")
    assert usual.plain == other.plain
    assert usual.spans != other.spans
