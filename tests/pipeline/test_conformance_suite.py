"""canitoolcall, a neutral suite of 469 answers of models, is read as it says, but for a few cases that a law refuses."""

from __future__ import annotations

from typing import Final

import pytest
from conformance_suite import PAGE, WAYS, matrix, opens_reasoning, prompt_of, published, read

REFUSED: Final = {
    "llama/l4-truncated-missing-close-bracket": "law 6: a call runs as soon as it seals, and the first of the two has",
    "deepseek/vllm-v3-malformed-missing-call-tokens": "law 6: the call is whole, only markers around it are missing",
}
"""Cases that end otherwise than the suite expects, with the law that says so."""

pytestmark = pytest.mark.laws


@pytest.mark.parametrize("way", WAYS)
def test_almost_all_cases_are_read_as_the_suite_says(way: str) -> None:
    found = read(way)
    failing = [f"{each.case.id}: {each.failing[0].detail}" for each in found if not each.is_ok]
    assert len(found) >= 469
    assert sum(each.is_ok for each in found) >= WAYS[way].share * len(found), "\n".join(failing)


@pytest.mark.parametrize("way", WAYS)
def test_no_marker_is_left_in_what_is_shown(way: str) -> None:
    assert [each.case.id for each in read(way) if each.leaks] == []


@pytest.mark.parametrize("way", ["by the model's name", "told of the prompt"])
def test_each_case_that_ends_otherwise_is_named_with_its_law(way: str) -> None:
    assert {each.case.id for each in read(way) if not each.is_ok} == REFUSED.keys()


def test_auto_misses_little_but_what_only_the_prompt_could_tell() -> None:
    """A text that begins inside the reasoning is shown before its closer comes, and is not taken back: law 4."""
    missed = {each.case.id for each in read("`auto`") if not each.is_ok and not opens_reasoning(prompt_of(each.case))}
    assert missed == REFUSED.keys()


def test_the_page_has_the_matrix_the_peers_figures_and_each_refused_case() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert matrix() in page, "python tests/support/conformance_suite.py writes it anew"
    engines = published()
    assert {"vLLM", "SGLang", "llama.cpp", "Ollama"} <= engines.keys()
    for engine, (right, supported) in engines.items():
        assert f"| {engine} |" in page
        assert f"| {supported} | {right} | {right / supported:.1%} |" in page
    assert [case for case in REFUSED if f"`{case}`" not in page] == []
