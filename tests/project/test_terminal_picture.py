"""The picture of the live view is made by the live view, and stands alone."""

from __future__ import annotations

import importlib.util
import re
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest

IMAGES = Path(__file__).parents[2] / "docs/images"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_terminal_picture", IMAGES / "make_terminal_picture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words(svg: str) -> str:
    return unescape(" ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))).replace("\xa0", " ")


def test_the_picture_shows_two_files_one_of_them_run_and_the_other_in_the_making(script: ModuleType):
    shown = words(script.picture())
    assert "side by side" in shown
    assert all(path in shown for path, _ in script.FILES)
    assert "→ write_file(path='tests/test_counter.py'" in shown
    assert "def most_common" not in shown


def test_the_picture_in_the_documentation_is_of_this_view_and_needs_nothing_from_elsewhere(script: ModuleType):
    svg = (IMAGES / "terminal.svg").read_text(encoding="utf-8")
    assert words(svg) == words(script.picture()), "make it anew: python docs/images/make_terminal_picture.py"
    assert re.findall(r"url\((?!#)|@import|@font-face|<image|<script|href=", svg) == []
