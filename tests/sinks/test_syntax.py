"""Code in a notebook: coloured so that it reads on dark and on light, and never more than text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from harmless_html import EVIL, Page
from hypothesis import given
from hypothesis import strategies as st
from looped import looped

from penstock.sinks import card
from penstock.sinks.card import COLOURS, MOST_PIECES, code_name, coloured, html_of

ROOT = Path(__file__).parents[2]
PYTHON = 'def f(a):\n    """Say\n    it."""\n    return [a, 12, "x"]  # twelve\n'
NAMES = [
    "a.py",
    "a.js",
    "a.html",
    "a.json",
    "a.diff",
    "a.md",
    ".sh",
    "Makefile",
    "a.toml",
    "a.css",
    "a.rs",
    "a.unknown",
    "",
]
CODE = st.text() | st.text(st.sampled_from("<>&\"'`{}()[]#@-+=:;/\\\n\t $abc01")) | st.sampled_from([PYTHON, EVIL])


def test_what_is_code_has_the_colours_of_its_language():
    kinds = {value.strip(): letter for letter, value in coloured(PYTHON, "a.py")}
    assert (kinds["def"], kinds["f"], kinds["12"], kinds["# twelve"]) == ("k", "f", "n", "c")
    assert kinds['"""Say\n    it."""'] == "s"
    assert coloured("-a\n+b\n", ".diff") == [("d", "-a\n"), ("s", "+b\n")]


@given(CODE, st.sampled_from(NAMES), CODE)
def test_the_text_stays_what_it_was(text: str, name: str, lead: str):
    pieces = coloured(text, name, lead)
    assert "".join(value for _, value in pieces) == text
    html = html_of(pieces, 0, len(text))
    page = Page(html)
    assert page.text == text
    assert page.elements <= {"span"}


@given(CODE, st.sampled_from(NAMES), st.data())
def test_two_parts_are_together_the_whole(text: str, name: str, data: st.DataObject):
    pieces = coloured(text, name)
    cut = data.draw(st.integers(0, len(text)))
    assert [Page(html_of(pieces, *part)).text for part in ((0, cut), (cut, len(text)))] == [text[:cut], text[cut:]]


def test_code_in_front_decides_what_the_text_is():
    opened = 'text = """\n'
    assert coloured("return 12\n", "a.py", opened) == [("s", "return 12\n")]
    assert coloured("return 12\n", "a.py")[0][0] == "k"


def test_a_file_name_decides_the_language_however_it_is_written():
    for name in ("a.py", "src/a.py", "C:\\src\\a.py", "/etc/a.py"):
        assert coloured("12", name) == [("n", "12")]
    for name in ("", "a.unknown", "py", "a.py/"):
        assert coloured("12", name) == [("", "12")]


@looped(
    "kind, path, content, name",
    [
        ("write_file", "a.py", "@@ -1 +1 @@", "a.py"),
        ("write_file", None, "x", ""),
        ("write_file", ["edits", 0], "x", ""),
        ("edit_file", "a.py", "x = 1", "a.py"),
        ("edit_file", "a.py", "--- a.py\n+++ a.py\n", ".diff"),
        ("patch_file", "a.py", "x", ".diff"),
        ("run_bash", None, "ls", ".sh"),
        ("tool_call", None, "{", ".json"),
        ("tool_call", None, "\n [1", ".json"),
        ("tool_call", None, "<arg>city", ""),
        ("tool_call", None, "", ""),
        ("save_note", None, "ls", ""),
    ],
)
def test_the_kind_of_a_segment_and_its_path_decide_the_language(kind: str, path: object, content: str, name: str):
    assert code_name(kind, path, content) == name


def test_the_number_of_colours_is_bounded():
    pieces = coloured("1 if " * 10_000, "a.py")
    assert sum(bool(letter) for letter, _ in pieces) == MOST_PIECES
    assert pieces[-1] == ("", pieces[-1][1])


def test_without_pygments_code_is_plain(monkeypatch: pytest.MonkeyPatch):
    card._lexer.cache_clear()
    monkeypatch.setattr(card, "find_spec", lambda _: None)
    try:
        assert coloured(PYTHON, "a.py") == [("", PYTHON)]
    finally:
        card._lexer.cache_clear()


def test_pygments_is_imported_for_code_alone():
    code = f"""
import sys
from types import ModuleType
sys.modules["penstock"] = ModuleType("penstock")
sys.modules["penstock"].__path__ = [{str(ROOT)!r}]
from penstock.sinks.collect import Segment
Segment("s", "text", content="Hi")._repr_mimebundle_()
print("pygments" in sys.modules)
Segment("s", "write_file", {{"path": "a.py"}}, "x = 1")._repr_mimebundle_()
print("pygments" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True"], done.stderr


def luminance(colour: list[float]) -> float:
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def channels(colour: str) -> list[float]:
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


@pytest.mark.parametrize(
    ("page", "text"),
    [("#ffffff", "#212121"), ("#f5f5f5", "#3b3b3b"), ("#111111", "#ffffff"), ("#1e1e1e", "#d4d4d4")],
    ids=["JupyterLab light", "VS Code light", "JupyterLab dark", "VS Code dark"],
)
def test_every_colour_has_the_contrast_of_readable_text_on_dark_and_on_light(page: str, text: str):
    """WCAG 2, level AA: 4.5."""
    mixes = [rule.partition("currentColor ")[2].rstrip(")").split("%,") for rule in COLOURS.split(";") if rule]
    assert len(mixes) == 5
    for share, hue in mixes:
        own = int(share) / 100
        mixed = [own * a + (1 - own) * b for a, b in zip(channels(text), channels(hue), strict=True)]
        low, high = sorted((luminance(mixed), luminance(channels(page))))
        assert (high + 0.05) / (low + 0.05) >= 4.5, hue
