"""What a drawn marble diagram shows, read from its SVG."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from msgspec import Struct

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = frozenset(
    ("svg", "title", "desc", "style", "defs", "pattern", "rect", "g", "line", "path", "circle", "text"),
)
"""All elements of a picture: none of them runs or fetches anything."""
ATTRIBUTES = re.compile(r"(on.*|style|href|.*:href|src)", re.IGNORECASE)
"""Attributes that might."""


class DrawnLane(Struct):
    """A lane: its name, what stands on its marks, the signs of its end, and the titles of what is held back."""

    name: str
    labels: list[str]
    titles: list[str]
    ends: list[str]
    held: list[str]
    at: list[float]
    """Where the marks begin."""


class Drawn(Struct):
    """A picture: its lanes, and all of its text."""

    lanes: list[DrawnLane]
    text: str
    said: str
    width: float


def drawn(svg: str) -> Drawn:
    """Read a picture; it must be well-formed, and have nothing that runs or comes from elsewhere."""
    root = ET.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    for each in root.iter():
        assert each.tag.removeprefix(SVG) in ELEMENTS, each.tag
        assert [name for name in each.attrib if ATTRIBUTES.fullmatch(name)] == []
        for value in each.attrib.values():
            assert "url(" not in value or value == f"url(#{root.get('id')}-held)"
    ids = {each.get("id"): each for each in root.iter() if each.get("id")}
    title, said = (ids[name] for name in (root.get("aria-labelledby") or "").split())
    assert (root.get("role"), title.tag, said.tag) == ("img", f"{SVG}title", f"{SVG}desc")
    lanes = [_lane(each) for each in root.iter(f"{SVG}g") if each.get("class") == "lane"]
    return Drawn(lanes, "\n".join(root.itertext()), said.text or "", float(root.get("width") or 0))


def _lane(group: ET.Element) -> DrawnLane:
    name = next(each.text or "" for each in group if each.tag == f"{SVG}text")
    marks = [each for each in group if each.tag == f"{SVG}g" and each.get("class") is None]
    items = [each for each in marks if each.find(f"{SVG}rect") is not None or each.find(f"{SVG}circle") is not None]
    return DrawnLane(
        name,
        [text.text or "" for each in items if (text := each.find(f"{SVG}text")) is not None],
        [title.text or "" for each in items if (title := each.find(f"{SVG}title")) is not None],
        [
            each.get("class") or ""
            for each in group.iter()
            if each.get("class") in ("completed", "failed", "interrupted")
        ],
        [each.findtext(f"{SVG}title") or "" for each in group.iter() if each.get("class") == "held"],
        [_begin(each) for each in items],
    )


def _begin(mark: ET.Element) -> float:
    rect = mark.find(f"{SVG}rect")
    if rect is not None:
        return float(rect.get("x") or 0)
    circle = mark.find(f"{SVG}circle")
    assert circle is not None
    return float(circle.get("cx") or 0)
