"""canitoolcall, a neutral suite of 469 answers of models, is read as it says, but for a few cases that a law refuses."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import pytest
from canitoolcall.fixtures import Fixture
from conformance_suite import Judged, all_cases, judged, opens_reasoning, prompt_of, switched, told_of_the_prompt

REFUSED: Final = {
    "llama/l4-truncated-missing-close-bracket": "law 6: a call is run as soon as it seals, and the first of the two has",
    "deepseek/vllm-v3-malformed-missing-call-tokens": "law 6: the call is whole between the section's markers, and llama.cpp reads it too",
}
"""Cases that end otherwise than the suite expects, with the law that says so."""

WAYS: Final[dict[str, tuple[float, Callable[[Fixture], dict[str, Any]]]]] = {
    "by the model's name": (0.985, switched),
    "told of the prompt": (0.99, told_of_the_prompt),
    "auto": (0.78, lambda _: {"strategy": "auto"}),
}
"""How a case is read, and the share of the cases that must be read as the suite says."""


@cache
def read(way: str) -> tuple[Judged, ...]:
    options_of = WAYS[way][1]
    return tuple(judged(case, **options_of(case)) for case in all_cases())


@pytest.mark.parametrize("way", WAYS)
def test_almost_all_cases_are_read_as_the_suite_says(way: str) -> None:
    found = read(way)
    failing = [f"{each.case.id}: {each.failing[0].detail}" for each in found if not each.is_ok]
    assert len(found) >= 469
    assert sum(each.is_ok for each in found) >= WAYS[way][0] * len(found), "\n".join(failing)


@pytest.mark.parametrize("way", WAYS)
def test_no_marker_is_left_in_what_is_shown(way: str) -> None:
    assert [each.case.id for each in read(way) if each.leaks] == []


def test_each_case_that_ends_otherwise_is_named_with_its_law() -> None:
    for way in ("by the model's name", "told of the prompt"):
        assert {each.case.id for each in read(way) if not each.is_ok} == REFUSED.keys()


def test_auto_misses_little_but_what_only_the_prompt_could_tell() -> None:
    """A text that begins inside the reasoning is shown before its closer comes, and is not taken back: law 4."""
    missed = {each.case.id for each in read("auto") if not each.is_ok and not opens_reasoning(prompt_of(each.case))}
    assert missed == REFUSED.keys()
