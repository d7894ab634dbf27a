"""Patches are read while they arrive, to the same as by what reads them whole; however they are cut, and frozen."""

from __future__ import annotations

from typing import Any

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from live_calls import assert_blocks_alike, assert_hunks_alike, assert_unified_alike, assert_v4a_alike
from patch_texts import blocks, cut, texts, unified, v4a

from penstock.sinks.edits.patch_events import (
    FileBegins,
    FileEnds,
    HunkBegins,
    HunkEnds,
    HunkLine,
)
from penstock.sinks.edits.unified_reader import UnifiedDiff
from penstock.sinks.edits.v4a_reader import V4APatch

pytestmark = pytest.mark.laws
EXAMPLES = 500


FILES = st.fixed_dictionaries({"a": texts(), "b": texts()})


@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_a_v4a_patch_is_read_as_the_whole_text_is(data: st.DataObject):
    text = data.draw(v4a(data.draw(FILES)))
    assert_v4a_alike(text, data.draw(cut(text)))


@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_a_unified_diff_is_read_as_the_whole_text_is(data: st.DataObject):
    text = data.draw(unified(data.draw(FILES)))
    assert_unified_alike(text, data.draw(cut(text)))


@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_blocks_are_read_as_the_whole_text_is(data: st.DataObject):
    text = data.draw(blocks(data.draw(texts())))
    assert_blocks_alike(text, data.draw(cut(text)))


@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_hunks_alone_are_read_as_the_whole_text_is(data: st.DataObject):
    text = "\n".join(data.draw(v4a(data.draw(FILES))).split("\n")[2:-1])
    assert_hunks_alike(text, data.draw(cut(text)))


@pytest.mark.parametrize(
    ("text", "piece", "told"),
    [
        ("*** Begin Patch\n*** Update File: a\n@@\n", "-", [FileBegins]),
        ("*** Begin Patch\n*** Update File: a\n@@\n-x\n", "+", [HunkBegins, HunkLine]),
        ("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n", "@", [HunkLine]),
        ("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n@@\n", "-", [HunkEnds]),
        ("--- a/x\n+++ b/x", "\n", [FileBegins]),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-x", "\n", [HunkLine]),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n", "@", [HunkEnds]),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n\\ No newline at end of file", "\n", [HunkEnds]),
    ],
)
def test_what_is_certain_is_told_with_the_character_that_makes_it_so(text: str, piece: str, told: list[Any]):
    reader: Any = V4APatch(has_path=False) if text.startswith("*") else UnifiedDiff(has_path=False)
    for each in text:
        reader.feed(each)
    assert [type(each) for each in reader.feed(piece)] == told


def test_a_patch_whose_lines_end_as_those_of_windows_is_read_at_its_end():
    text = "*** Begin Patch\r\n*** Add File: a\r\n+x\r\n*** End Patch"
    reader = V4APatch(has_path=False)
    assert reader.feed(text) == []
    assert [type(each) for each in reader.close()] == [FileBegins, HunkBegins, HunkLine, HunkEnds, FileEnds]


MUTANTS = {
    "lines that end as those of Windows are told at once": ("whole_text", ("sinks/edits/patch_events.py", 'if all(line.endswith("\\r\\n") for line in lines)', "if not lines")),
    "a hunk is told before the line that says of its last one that it has no end": ("unified", ("sinks/edits/unified_reader.py", 'self._lines.begun not in ("", "\\\\")', 'self._lines.begun != ""')),
    "empty lines within a hunk are lost": ("v4a", ("sinks/edits/v4a_reader.py", 'in (*[""] * self._blank, line)', "in (line,)")),
}  # fmt: skip
