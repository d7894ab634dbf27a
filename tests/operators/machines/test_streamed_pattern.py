from __future__ import annotations

import pickle
import re
from typing import Any

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from strategies.cuts import cuts

from penstock.events import UsageError
from penstock.operators.machines.streamed_pattern import StreamedPattern

ATOMS = ("a", "b", "[ab]", "[^a]", r"\w", r"\d", ".", r"\s", "(?:a|b)", "(?:ab|a)", "(?i:A)", "\n", " ", r"[\d\sb-c]")
REPEATS = ("*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?")


def _larger(smaller: Any) -> Any:
    return st.one_of(
        st.tuples(smaller, smaller).map("".join),
        st.tuples(smaller, smaller).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(smaller, st.sampled_from(REPEATS)).map(lambda two: f"(?:{two[0]}){two[1]}"),
        st.tuples(st.sampled_from(["^", r"\b", r"\A"]), smaller).map("".join),
        st.tuples(smaller, st.sampled_from([r"\b", r"\Z", "$"])).map("".join),
    )


patterns = st.recursive(st.sampled_from(ATOMS), _larger, max_leaves=6)
flags = st.sampled_from([0, re.IGNORECASE, re.MULTILINE, re.DOTALL, re.ASCII, re.MULTILINE | re.IGNORECASE])
texts = st.text(st.sampled_from("abA1 \n_é"), max_size=9)


def matched(pattern: StreamedPattern, pieces: list[str]) -> tuple[int | None, bool]:
    """Return where the answer became certain, and whether the pattern matches at the end; dumped after each piece."""
    match, at = pattern.match(), 0
    for piece in pieces:
        position = match.read(piece)
        if position is not None:
            return at + position, False
        at += len(piece)
        state = match.dump()
        match = pattern.match()
        match.load(state)
    return None, match.ends()


def streamed(pattern: re.Pattern[str], *, whole: bool) -> StreamedPattern | None:
    try:
        return StreamedPattern(pattern, whole=whole)
    except UsageError as error:
        is_right = ("matches the empty text" in str(error) and pattern.search("")) or "not at its end" in str(error)
        if not is_right:
            raise
        return None


@settings(max_examples=scaled(500), deadline=None)
@given(pattern=patterns, given_flags=flags, text=texts, data=st.data())
def test_it_finds_what_re_finds_however_it_is_cut(pattern: str, given_flags: int, text: str, data: st.DataObject):
    compiled = re.compile(pattern, given_flags)
    one = streamed(compiled, whole=False)
    if one is not None:
        at, ends = matched(one, data.draw(cuts(text)))
        assert (at is not None or ends) == bool(compiled.search(text))
        assert (at, ends) == matched(one, [text])


@settings(max_examples=scaled(500), deadline=None)
@given(pattern=patterns, given_flags=flags, text=texts, more=texts, data=st.data())
def test_a_whole_text_that_can_no_longer_match_does_not(
    pattern: str, given_flags: int, text: str, more: str, data: st.DataObject
):
    compiled = re.compile(pattern, given_flags)
    one = streamed(compiled, whole=True)
    if one is not None:
        at, ends = matched(one, data.draw(cuts(text)))
        assert (at is None and ends) == bool(compiled.fullmatch(text))
        if at is not None:
            assert not compiled.fullmatch(text[: at + 1] + more)


@settings(max_examples=scaled(500), deadline=None)
@given(
    pattern=st.recursive(
        st.sampled_from(ATOMS),
        lambda each: _larger(each).filter(lambda one: not re.search(r"[$^\\]", one)),
        max_leaves=5,
    ),
    text=texts,
)
def test_it_is_told_at_the_earliest_character(pattern: str, text: str):
    compiled = re.compile(pattern)
    one = streamed(compiled, whole=False)
    if one is not None:
        at, _ = matched(one, [*text])
        ending = next((end for end in range(1, len(text) + 1) if compiled.search(text[:end])), None)
        assert at == (None if ending is None else ending - 1)


def test_a_match_may_begin_inside_of_what_became_none():
    assert matched(StreamedPattern("aab"), ["aa", "ab"]) == (3, False)
    assert matched(StreamedPattern(r"ab\b"), ["aba", "b c"]) == (4, False)
    assert matched(StreamedPattern(r"\bab\b"), ["aba ab c"]) == (6, False)


def test_the_work_is_linear_and_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch):
    from penstock.operators.machines import streamed_pattern  # noqa: PLC0415 - its bound is made small

    monkeypatch.setattr(streamed_pattern, "_MOST_STEPS", 50)
    one = StreamedPattern(r"(a|b)*a(a|b){5}c")
    text = "".join("ab"[(number * number) % 3 % 2] for number in range(2000))
    assert matched(one, [text]) == (None, False)
    assert len(one._states) <= 52
    assert matched(one, [text, "aaaaaac"])[0] == 2006


def test_equal_patterns_are_equal_and_go_through_pickle():
    one = StreamedPattern("a+b", whole=True)
    again = pickle.loads(pickle.dumps(one))
    assert again == one != StreamedPattern("a+b")
    assert hash(again) == hash(one)
    assert matched(again, ["aab"]) == (None, True)


@looped(
    "pattern, words",
    [
        ("(?=a)b", "cannot be matched while the text arrives"),
        (r"(a)\1", "cannot be matched while the text arrives"),
        ("(?>a)b", "cannot be matched while the text arrives"),
        ("a++b", "cannot be matched while the text arrives"),
        ("a|", "matches the empty text"),
        ("a$b", "not at its end"),
        ("(a{100}){100}", "too large"),
        ("[", "not a regular expression"),
        (b"a", "must be a str"),
        (3, "must be a str"),
    ],
)
def test_a_pattern_that_cannot_stream_is_a_usage_error(pattern: Any, words: str):
    with pytest.raises(UsageError, match=words):
        StreamedPattern(pattern)


MUTANTS = {
    "a pattern forgets that a match may begin anew": ("", ("operators/machines/streamed_pattern.py", "            nodes.add(self._entry)\n", "            nodes = nodes or {self._entry}\n")),
}  # fmt: skip
