"""Diffs as properties: what `file_diff` writes, `unified_diff`, patch and git read; and no edit touches anything else."""

from __future__ import annotations

import shutil
import subprocess
from difflib import unified_diff as difflib_diff
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from penstock.sinks.edits.edit_blocks import codex_patch, replace_text, search_replace
from penstock.sinks.edits.file_diff import file_diff
from penstock.sinks.edits.hunk import RefusedError, apply_hunks, split_lines
from penstock.sinks.edits.unified_diff import unified_diff

LINES = st.text(st.sampled_from("ab -+@\\*<=>é\t\x0c\u2028"), max_size=4)
TEXTS = st.lists(LINES, max_size=12).map("\n".join) | st.lists(LINES, max_size=12).map(
    lambda each: "".join(f"{x}\n" for x in each)
)


def changed(before: str, after: str) -> str:
    diff = file_diff("a", before, after, limit=1_000_000).text
    assert diff is not None
    (patch,) = unified_diff(diff)
    return apply_hunks(before, patch.hunks)


@given(TEXTS, TEXTS)
@example("a", "a\n")
@example("-- a\n", "++ b\n")
@example("\n\n\n\n\n\n\n\n", "\n\n\n")
def test_a_diff_applied_is_the_new_text(before: str, after: str):
    assume(before != after)
    assert changed(before, after) == after


@given(TEXTS, TEXTS)
def test_the_figures_are_those_of_the_diff(before: str, after: str):
    diff = file_diff("a", before, after, limit=1_000_000)
    assert diff.text is not None
    body = [line for line in split_lines(diff.text)[2:] if not line.startswith("@@")]
    assert diff.additions == sum(line.startswith("+") for line in body)
    assert diff.deletions == sum(line.startswith("-") for line in body)
    assert bool(diff.text) == (before != after)


@pytest.mark.parametrize(
    "command", [["patch", "-s", "-p1"], ["git", "apply", "--whitespace=nowarn"]], ids=["patch", "git"]
)
@given(before=TEXTS, after=TEXTS)
def test_patch_and_git_read_it_the_same_way(command: list[str], before: str, after: str):
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    assume(before != after and before and after)
    diff = file_diff("a", before, after, limit=1_000_000).text or ""
    with TemporaryDirectory() as folder:
        (Path(folder) / "a").write_bytes(before.encode())
        done = subprocess.run(command, cwd=folder, input=diff.encode(), capture_output=True, check=False)
        assert done.returncode == 0, done
        assert (Path(folder) / "a").read_bytes() == after.encode()


@given(TEXTS, TEXTS, st.integers(0, 3))
def test_the_diffs_of_others_apply(before: str, after: str, context: int):
    assume(before != after and (not before or before.endswith("\n")) and (not after or after.endswith("\n")))
    old, new = split_lines(before), split_lines(after)
    (patch,) = unified_diff("".join(difflib_diff(old, new, "a/a", "b/a", n=context)))
    assert apply_hunks(before, patch.hunks) == after


@given(TEXTS, TEXTS, st.data())
def test_a_diff_that_was_cut_is_refused_or_changes_less(before: str, after: str, data: st.DataObject):
    """Half a hunk is seen; whole hunks that are missing, and what a last line has lost, cannot be."""
    assume(before != after)
    diff = file_diff("a", before, after, limit=1_000_000).text or ""
    cut = diff[: data.draw(st.integers(0, len(diff) - 1))]
    try:
        (patch,) = unified_diff(cut)
    except (RefusedError, ValueError):
        return
    whole = unified_diff(diff)[0].hunks
    if cut.endswith("\n"):
        assert [_bare(each.old) for each in patch.hunks] == [_bare(each.old) for each in whole[: len(patch.hunks)]]


def _bare(lines: tuple[str, ...]) -> list[str]:
    return [line.rstrip("\n") for line in lines]


@given(st.lists(st.sampled_from(["a", "b", "", " ", "x"]), min_size=1, max_size=10), st.data())
def test_a_hunk_goes_to_the_only_place_or_nowhere(lines: list[str], data: st.DataObject):
    text = "".join(f"{line}\n" for line in lines)
    start = data.draw(st.integers(0, len(lines) - 1))
    end = data.draw(st.integers(start + 1, len(lines)))
    old = lines[start:end]
    count = sum(lines[at : at + len(old)] == old for at in range(len(lines)))
    body = "".join(f"-{line}\n" for line in old)
    patch = f"*** Begin Patch\n*** Update File: a\n@@\n{body}+new\n*** End Patch"
    searched = "".join(f"{line}\n" for line in old)
    blocks = f"<<<<<<< SEARCH\n{searched}=======\nnew\n>>>>>>> REPLACE"
    expected = "".join(f"{line}\n" for line in [*lines[:start], "new", *lines[end:]])
    for act in (lambda: apply_hunks(text, codex_patch(patch)[0].hunks), lambda: search_replace(text, blocks)):
        if count == 1:
            assert act() == expected
        else:
            with pytest.raises(RefusedError, match=f"occur {count} times"):
                act()


@given(
    st.text(st.sampled_from("ab\n"), max_size=12),
    st.text(st.sampled_from("ab\n"), min_size=1, max_size=3),
    st.text(st.sampled_from("cd\r\n"), max_size=3),
)
def test_a_text_is_replaced_where_it_stands_once(text: str, old: str, new: str):
    assume(old != new)
    places = [at for at in range(len(text)) if text.startswith(old, at)]
    if len(places) == 1:
        assert replace_text(text, old, new) == text[: places[0]] + new + text[places[0] + len(old) :]
        return
    with pytest.raises(RefusedError):
        replace_text(text, old, new)


def test_a_long_diff_is_left_out_and_counted():
    diff = file_diff("a", "x\n" * 100, "y\n" * 200, limit=50)
    assert (diff.additions, diff.deletions, diff.text) == (200, 100, None)


def test_two_long_texts_are_compared_in_a_moment():
    """A smallest change of 40,000 equal lines would take minutes."""
    before, after = "a\nb\n" * 20_000, "b\na\nc\n" * 20_000
    diff = file_diff("a", before, after, limit=10_000_000)
    assert diff.additions == 60_000
    assert changed(before, after) == after
