"""The colours read on white and on black, and white text on them."""

from __future__ import annotations

import pytest
from looped import looped

from penstock.studio.marble_diagrams.diagram import BAD, GOOD, WARNING, colour_of, known_kinds

WHITE, DARK = "#ffffff", "#0d1117"
OTHERS = {colour_of(f"kind {number}") for number in range(200)}
EVERY = {*map(colour_of, known_kinds()), *OTHERS, BAD, GOOD, WARNING}


def luminance(colour: str) -> float:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, as the guidelines of the web count it."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@looped("colour", sorted(EVERY))
def test_a_colour_is_seen_on_both_grounds_and_carries_white_text(colour: str):
    assert contrast(colour, WHITE) >= 4.5
    assert contrast(colour, DARK) >= 3


def test_kinds_that_are_known_differ():
    assert len({*map(colour_of, known_kinds())}) == len(known_kinds())
    assert len(OTHERS) == 6


@pytest.mark.parametrize("kind", ["mine", "\ud83d", ""])
def test_a_kind_has_always_the_same_colour(kind: str):
    assert colour_of(kind) == colour_of(kind)
