"""Where lines stand among others: as a search at every line finds them, in steps that grow with the lines alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sinks.edits.edit_blocks import codex_patch, search_replace
from penstock.sinks.edits.hunk import LinePlaces, RefusedError, apply_hunks, line_places
from penstock.sinks.edits.unified_diff import unified_diff

LINES = st.lists(st.sampled_from(["", "a", "b"]), max_size=20)
FEW, MANY = 1_000, 64_000


@given(LINES, st.lists(st.lists(st.sampled_from(["", "a", "b"]), min_size=1, max_size=4), max_size=5))
def test_the_places_are_those_of_a_search_at_every_line(lines: list[str], patterns: list[list[str]]):
    def places(pattern: list[str]) -> LinePlaces:
        found = [at for at in range(len(lines)) if lines[at : at + len(pattern)] == pattern]
        last, before = [*reversed(found), -1, -1][:2]
        return LinePlaces(len(found), last, before)

    assert line_places(lines, patterns) == [places(each) for each in patterns]


def steps(function: Callable[[], Any]) -> int:
    """Return how many lines of Python run while a function does, which may refuse."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except RefusedError:
        pass
    finally:
        sys.settrace(before)
    return count


def codex(*body: str) -> str:
    return "\n".join(("*** Begin Patch", "*** Update File: a", *body, "*** End Patch"))


def blank_ends(length: int) -> Callable[[], Any]:
    patch = codex("@@", "-x", "+y", *[""] * length)
    return lambda: apply_hunks("x\n", codex_patch(patch)[0].hunks)


def blank_lines(length: int) -> Callable[[], Any]:
    """As many blank lines, half of them in the patch: the worst for a search at every line."""
    patch = codex("@@", *["-"] * (length // 2), "-x", "+y")
    return lambda: apply_hunks("\n" * length, codex_patch(patch)[0].hunks)


def many_hunks(length: int) -> Callable[[], Any]:
    text = "".join(f"{at}\n\n\n" for at in range(length // 3))
    patch = codex(*(line for at in range(0, length // 3, 10) for line in ("@@", " ", f"-{at}", "+y")))
    return lambda: apply_hunks("\n" + text, codex_patch(patch)[0].hunks)


def many_anchors(length: int) -> Callable[[], Any]:
    text = "".join(f"def f{at}():\n    return\n\n" for at in range(length // 3))
    patch = codex(
        *(line for at in range(0, length // 3, 10) for line in (f"@@ def f{at}():", "-    return", "+    pass"))
    )
    return lambda: apply_hunks(text, codex_patch(patch)[0].hunks)


def wrong_numbers(length: int) -> Callable[[], Any]:
    text = "".join(f"{at}\n" for at in range(length))
    diff = "".join(f"@@ -{at + 7} +{at + 7} @@\n-{at}\n+y\n" for at in range(0, length, 10))
    return lambda: apply_hunks(text, unified_diff(f"--- a/a\n+++ b/a\n{diff}")[0].hunks)


def blocks(length: int) -> Callable[[], Any]:
    text = "".join(f"{at}\n\n\n" for at in range(length // 3))
    given = "".join(f"<<<<<<< SEARCH\n\n\n{at}\n=======\n\n\ny\n>>>>>>> REPLACE\n" for at in range(10, length // 3, 10))
    return lambda: search_replace(text, given)


def hints(length: int) -> Callable[[], Any]:
    given = f"<<<<<<< SEARCH\n{':start_line:1' + chr(10)}" * 1 + ":start_line:1\n" * length
    return lambda: search_replace("x\n", f"{given}-------\nx\n=======\ny\n>>>>>>> REPLACE\n")


@pytest.mark.parametrize(
    "edit",
    [blank_ends, blank_lines, many_hunks, many_anchors, wrong_numbers, blocks, hints],
    ids=lambda each: each.__name__,
)
def test_the_steps_of_an_edit_grow_with_its_lines(edit: Callable[[int], Callable[[], Any]]):
    few, many = steps(edit(FEW)), steps(edit(MANY))
    assert many < 1.2 * few * MANY / FEW


def test_a_search_can_be_ended_while_it_runs():
    asked = 0

    def go_on() -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            message = "the call was cancelled"
            raise RefusedError(message)

    hunks = codex_patch(codex("@@", "-x", "+y"))[0].hunks
    for edit in (
        lambda: apply_hunks("\n" * MANY, hunks, go_on),
        lambda: search_replace("\n" * MANY, "<<<<<<< SEARCH\nx\n=======\n>>>>>>> REPLACE", go_on),
    ):
        asked = 0
        with pytest.raises(RefusedError, match="was cancelled"):
            edit()
        assert asked == 3
