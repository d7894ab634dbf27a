"""Ways to cut a text: what chunk invariance is asked with."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st


def cut_at(text: str, places: list[int]) -> list[str]:
    """Cut at the given places (any order, repeats give empty pieces)."""
    bounds = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(bounds)]


@st.composite
def cuts(draw: st.DrawFn, text: str) -> list[str]:
    """Draw a cutting: whole, character by character, or at random places, empty pieces among them."""
    way = draw(st.sampled_from(("whole", "characters", "places")))
    if way == "whole":
        return [text]
    if way == "characters":
        return list(text)
    return cut_at(text, draw(st.lists(st.integers(0, len(text)), max_size=24)))


def every_cut_in_two(text: str) -> list[list[str]]:
    return [[text[:place], text[place:]] for place in range(len(text) + 1)]
