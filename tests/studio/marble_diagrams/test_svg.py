"""Texts are escaped, and never wider than they may be."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from penstock.studio.marble_diagrams.diagram import Markup, columns, element, one_line

ANY_TEXT = st.text(st.characters(codec=None), max_size=40)


@given(ANY_TEXT, ANY_TEXT)
def test_any_text_is_text(text: str, attribute: str):
    read = ET.fromstring(element("text", text, element("b"), class_=attribute))
    assert (read.tag, len(read), set(read.attrib)) == ("text", 1, {"class"})


def test_only_markup_is_left_as_it_is():
    assert element("g", "<b/>", Markup("<c/>")) == "<g>&lt;b/&gt;<c/></g>"
    assert element("g", x=1.0, y=1.25, font_size="1") == '<g x="1" y="1.2" font-size="1"/>'


@given(ANY_TEXT, st.integers(1, 20))
def test_a_line_is_as_wide_as_it_may_be_at_most(text: str, width: int):
    line = one_line(text, width)
    assert columns(line) <= width
    assert "\n" not in line
    assert len(line) <= 10 * (width + 1)
