from __future__ import annotations

import pickle

import pytest

from penstock.operators import FILE_TOOLS, MARKED_FILE_TOOLS, FieldSpec


def test_a_segment_type_that_is_not_given_is_the_tools_name() -> None:
    assert FieldSpec("save", "body").segment_type == "save"
    assert FieldSpec("save", "body", segment_type="note").segment_type == "note"


def test_specs_are_values() -> None:
    spec = FieldSpec("save", "body", ("title",), ("title",), aliases=(("name", "title"),), markers=("<S>", "<E>"))
    assert spec == FieldSpec("save", "body", ("title",), ("title",), "save", (("name", "title"),), ("<S>", "<E>"))
    assert spec.strict
    assert len({spec, pickle.loads(pickle.dumps(spec))}) == 1
    with pytest.raises(AttributeError):
        spec.tool = "other"  # type: ignore[misc]


def test_everybody_has_the_tools_that_write_edit_and_patch_files_and_run_commands() -> None:
    assert {spec.tool: (spec.field, spec.required) for spec in FILE_TOOLS} == {
        "write_file": ("content", ("path",)),
        "edit_file": ("patch", ("path",)),
        "patch_file": ("patch", ("path",)),
        "run_bash": ("command", ()),
    }
    assert not any(spec.strict for spec in (*FILE_TOOLS, *MARKED_FILE_TOOLS))
    assert all(set(spec.required) <= set(spec.metadata) for spec in FILE_TOOLS)
    assert [spec.markers for spec in FILE_TOOLS] == [None] * 4
    assert all(spec.segment_type == spec.tool for spec in FILE_TOOLS)


def test_what_segments_read_back_may_say_in_other_words() -> None:
    assert [dict(spec.aliases) for spec in FILE_TOOLS if spec.aliases] == [
        {"timeoutSeconds": "timeout_seconds", "cmd": "command"},
    ]
