"""What is told of an edit while it streams holds when it is whole, and its result is that of the whole text."""

from __future__ import annotations

from typing import Any

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from live_calls import as_json, carried_out, played, result_of
from patch_texts import blocks, cut, texts, unified, v4a

EXAMPLES = 500
FILES = st.fixed_dictionaries({"a": texts(), "b": texts()})


def check(data: st.DataObject, name: str, arguments: dict[str, Any], files: dict[str, str]) -> None:
    """Compare what is told on the way, and in the end, with what the plan of the whole call says."""
    keys = data.draw(st.permutations(list(arguments)))
    text = as_json({key: arguments[key] for key in keys})
    expected = carried_out(name, arguments, files)
    pieces = data.draw(cut(text))
    edit, certain = played(name, pieces, files, data.draw(st.integers(0, len(pieces))))
    if edit.faults:
        assert isinstance(expected, str), (edit.faults, expected)
    elif not isinstance(expected, str):
        assert result_of(edit) == expected
    if not isinstance(expected, str):
        assert not any(hunk.fault for hunk in certain), certain
        if edit.is_clear:
            assert {(each.number, each.line) for each in certain} <= {
                (hunk.number, hunk.line) for file in edit.files for hunk in file.hunks
            }
    same, _ = played(name, [text], files)
    assert [(file.path, file.hunks, file.fault, file.text) for file in same.files] == [
        (file.path, file.hunks, file.fault, file.text) for file in edit.files
    ]
    # What cannot be known from the texts of the files alone is left to the plan.
    if isinstance(expected, str) and not edit.faults:
        assert any(words in expected for words in LEFT_TO_THE_PLAN), expected


LEFT_TO_THE_PLAN = ("is there already", "twice", "does not exist", "are one file")


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_v4a_patches(data: st.DataObject):
    files = data.draw(FILES)
    check(data, "apply_patch", {"input": data.draw(v4a(files))}, files)


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_hunks_alone(data: st.DataObject):
    files = data.draw(FILES)
    text = "\n".join(data.draw(v4a(files)).split("\n")[2:-1])
    check(data, "apply_patch", {"path": "a", "diff": text, "type": "update_file"}, files)


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_unified_diffs(data: st.DataObject):
    files = data.draw(FILES)
    check(data, "apply_patch", {"input": data.draw(unified(files))}, files)


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_unified_diffs_of_the_file_that_the_call_names(data: st.DataObject):
    files = data.draw(FILES)
    text = data.draw(unified({"a": files["a"]}, named=data.draw(st.booleans())))
    check(data, "patch_file", {"path": "a", "patch": text}, files)


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_blocks(data: st.DataObject):
    files = data.draw(FILES)
    path = data.draw(st.sampled_from(("a", "a", "a", "none")))
    check(data, "replace_in_file", {"path": path, "diff": data.draw(blocks(files["a"]))}, files)


@st.composite
def replacements(draw: st.DrawFn, text: str) -> dict[str, Any]:
    start = draw(st.integers(0, len(text)))
    old = draw(st.sampled_from((text[start : start + draw(st.integers(0, 9))], draw(texts(2)))))
    if draw(st.booleans()):
        old = old.replace("\r\n", "\n")
    new = draw(st.sampled_from((draw(texts(2)), old)))
    made: dict[str, Any] = {"old_string": old, "new_string": new}
    if draw(st.integers(0, 3)) == 0:
        made["replace_all"] = draw(st.booleans())
    return made


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_replacements(data: st.DataObject):
    files = data.draw(FILES)
    path = data.draw(st.sampled_from(("a", "a", "a", "none")))
    check(data, "Edit", {"file_path": path, **data.draw(replacements(files["a"]))}, files)


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_lists_of_replacements(data: st.DataObject):
    files = data.draw(FILES)
    edits = data.draw(st.lists(replacements(files["a"]), min_size=1, max_size=3))
    shuffled = [dict(data.draw(st.permutations(list(each.items())))) for each in edits]
    check(data, "MultiEdit", {"file_path": "a", "edits": shuffled}, files)


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_insertions(data: st.DataObject):
    files = data.draw(FILES)
    arguments = {
        "command": "insert",
        "path": "a",
        "insert_line": data.draw(st.integers(-1, 9)),
        "new_str": data.draw(texts(2)),
    }
    check(data, "str_replace_editor", arguments, files)
