"""Patches are read while they arrive, to the same as by what reads them whole; however they are cut, and frozen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from live_calls import read
from msgspec.structs import replace
from patch_texts import blocks, cut, texts, unified, v4a

from penstock.sinks.edits.edit_blocks import STARTS, codex_patch, hunks_of, parsed_blocks
from penstock.sinks.edits.hunk import FilePatch, RefusedError, bare, split_lines, with_lf
from penstock.sinks.edits.patch_events import (
    BlockEnds,
    FileBegins,
    FileEnds,
    HunkBegins,
    HunkEnds,
    HunkLine,
    PatchFails,
    PatchUnclear,
)
from penstock.sinks.edits.unified_diff import unified_diff
from penstock.sinks.edits.unified_reader import UnifiedDiff
from penstock.sinks.edits.v4a_reader import V4APatch

pytestmark = pytest.mark.laws
EXAMPLES = 500


def patches_of(events: Iterable[Any]) -> list[FilePatch] | None:
    """Return what events say of each file; None if the patch fails."""
    patches: list[FilePatch] = []
    for event in events:
        match event:
            case FileBegins(path, action, target, of_original):
                patches.append(FilePatch(path=path or "?", action=action, target=target, of_original=of_original))
            case HunkEnds(hunk):
                last = patches[-1]
                if last.action == "add":
                    patches[-1] = replace(last, content=last.content + "".join(hunk.new))
                elif last.action == "delete":
                    patches[-1] = replace(last, removed=(last.removed or "") + "".join(hunk.old))
                else:
                    patches[-1] = replace(last, hunks=(*last.hunks, hunk))
            case PatchFails():
                return None
            case _:
                pass
    return patches


def refused(read_whole: Any) -> Any:
    try:
        return [*read_whole()]
    except RefusedError:
        return None


def check(text: str, pieces: list[str], expected: list[FilePatch] | None, *, has_path: bool) -> None:
    whole = read([text], has_path=has_path)
    assert read(pieces, has_path=has_path) == whole
    assert read(pieces, has_path=has_path, frozen=True) == whole
    if PatchUnclear() in whole:
        return
    found = patches_of(whole)
    assert (found is None) == (expected is None), whole
    if found is not None and expected is not None:
        for mine, theirs in zip(found, expected, strict=True):
            # Modes and the content that a deleted file must have are looked at when the call is carried out.
            same = replace(theirs, is_executable=None, removed=theirs.removed or None, path=mine.path)
            assert replace(mine, removed=mine.removed or None) == same


FILES = st.fixed_dictionaries({"a": texts(), "b": texts()})


@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_a_v4a_patch_is_read_as_the_whole_text_is(data: st.DataObject):
    text = data.draw(v4a(data.draw(FILES)))
    check(text, data.draw(cut(text)), refused(lambda: codex_patch(text)), has_path=False)


@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_a_unified_diff_is_read_as_the_whole_text_is(data: st.DataObject):
    text = data.draw(unified(data.draw(FILES)))
    check(text, data.draw(cut(text)), refused(lambda: unified_diff(text)), has_path=False)


@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_blocks_are_read_as_the_whole_text_is(data: st.DataObject):
    text = data.draw(blocks(data.draw(texts())))
    whole = read([text], has_path=True)
    pieces = data.draw(cut(text))
    assert read(pieces, has_path=True) == read(pieces, has_path=True, frozen=True) == whole
    if PatchUnclear() in whole or not STARTS.search(text):
        return
    found: Any = [([*each.old], [*each.new], each.line) for each in whole if isinstance(each, BlockEnds)]
    is_refused = any(isinstance(each, PatchFails) for each in whole)
    assert (None if is_refused else found) == refused(lambda: parsed_blocks(with_lf(text)))


@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_hunks_alone_are_read_as_the_whole_text_is(data: st.DataObject):
    files = data.draw(FILES)
    text = "\n".join(data.draw(v4a(files)).split("\n")[2:-1])
    whole = read([text], has_path=True)
    pieces = data.draw(cut(text))
    assert read(pieces, has_path=True) == read(pieces, has_path=True, frozen=True) == whole
    if not any(isinstance(each, PatchUnclear) for each in whole):
        expected = refused(lambda: hunks_of(bare(split_lines(with_lf(text))), "a"))
        found = [each.hunk for each in whole if isinstance(each, HunkEnds)]
        is_refused = any(isinstance(each, PatchFails) for each in whole)
        if not (is_refused and expected == []) and "\n<<<<<<< SEARCH" not in f"\n{text}":
            assert is_refused == (expected is None)
            assert is_refused or found == expected


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
