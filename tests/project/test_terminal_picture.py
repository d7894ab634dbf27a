"""The pictures of terminals are made of what is shown and printed there, and stand alone."""

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


def test_the_picture_of_the_doctor_shows_all_that_it_prints(script: ModuleType):
    shown, printed = words(script.doctors_picture()).split(), script.printed_by_the_doctor().split()
    assert "mended" in printed
    assert shown[-len(printed) :] == printed


@pytest.mark.parametrize(("name", "made_by"), [("terminal", "picture"), ("doctor", "doctors_picture")])
def test_a_picture_in_the_documentation_is_of_today_and_needs_nothing_from_elsewhere(
    name: str, made_by: str, script: ModuleType
):
    svg = (IMAGES / f"{name}.svg").read_text(encoding="utf-8")
    assert words(svg) == words(getattr(script, made_by)()), "make it anew: python docs/images/make_terminal_picture.py"
    assert re.findall(r"url\((?!#)|@import|@font-face|<image|<script|href=", svg) == []
