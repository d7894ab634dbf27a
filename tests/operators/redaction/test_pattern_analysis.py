from __future__ import annotations

import re
from itertools import product

import pytest

from penstock.events import UsageError
from penstock.operators.redaction.pattern_analysis import analysed


@pytest.mark.parametrize(
    ("pattern", "width", "tail"),
    [
        ("abc", 3, ""),
        ("a{2,5}b?", 6, ""),
        ("key_[a-z]{8,}", 12, "[a-z]"),
        ("(?:ab|cde)x++", 4, "x"),
        (r"\bB-\d{4}\b", 8, ""),
        ("a(?!bc)", 3, ""),
        ("x.+", 2, "."),
        ("[^ ]{3,}", 3, "[^\\ ]"),
        ("(?i:k)ey(?P<name>[0-9]){1,3}", 6, ""),
        ("(?>a|ab)c", 3, ""),
    ],
)
def test_a_pattern_has_a_width_or_a_tail(pattern: str, width: int, tail: str):
    forms = analysed(re.compile(pattern))
    assert (forms.width, re.sub(r"\(\?[a-z]*:(.*)\)$", r"\1", forms.tail)) == (width, tail)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("a+b", "has no bounded width"),
        ("(?:ab)+", "has no bounded width"),
        ("a+|b", "has no bounded width"),
        ("ab+?", "has no bounded width"),
        ("x[a-z]+(?!1)", "has no bounded width"),
        ("a*", "may match no text at all"),
        ("(?=a)", "may match no text at all"),
        (r"(a)b\1", "refers to a group"),
        ("a{20000}", "may be 20,000 characters long"),
        ("(?:a{9000}|b)c{9000}", "may be 18,000 characters long"),
    ],
)
def test_any_other_is_refused(pattern: str, why: str):
    with pytest.raises(UsageError, match=re.escape(why)):
        analysed(re.compile(pattern))


PATTERNS = ("ab[01]{1,2}x?", "a(?:b|cd){1,2}", "(?:a|ab-)[a-c]{2}", r"\ba[^b]{1,2}\b", "(?s)a.{2}$", "a{2,3}+b")


@pytest.mark.parametrize("pattern", [*PATTERNS, "(?<!x)a(?=bc).", "a(?!bb)c?"])
def test_every_beginning_of_a_match_is_cut(pattern: str):
    compiled = re.compile(pattern)
    is_cut = re.compile(analysed(compiled).cut).match
    matches = [found for text in _texts(4) if (found := compiled.match(text)) is not None]
    assert matches
    for text in {found[0][:size] for found in matches for size in range(1, found.end())}:
        assert is_cut(text, 0) is not None, text


@pytest.mark.parametrize("pattern", PATTERNS)
def test_nothing_else_is(pattern: str):
    compiled = re.compile(pattern)
    is_cut = re.compile(analysed(compiled).cut).match
    for text in _texts(2):
        goes_on = any(compiled.match(text + more) for more in ("", *_texts(3)))
        assert goes_on or is_cut(text, 0) is None, text


def _texts(longest: int) -> list[str]:
    return ["".join(each) for size in range(1, longest + 1) for each in product("abcdx-01\n", repeat=size)]
