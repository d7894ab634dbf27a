from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from penstock.events import UsageError
from penstock.operators import FieldSpec
from penstock.operators.calls.field_spec import FILE_TOOLS, MARKED_FILE_TOOLS


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


def test_several_or_nested_arguments_are_paths_and_a_single_one_is_a_field() -> None:
    assert FieldSpec("edit", paths=("content",)) == FieldSpec("edit", "content")
    assert FieldSpec("edit", paths=("edits[*].new_text", '["edits"][*].new_text')).paths == ("edits[*].new_text",)
    assert FieldSpec("edit", paths=("*",)).paths == ("[*]",)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FieldSpec("edit"), "needs either field= or paths="),
        (lambda: FieldSpec("edit", "a", paths=("b",)), "needs either field= or paths="),
        (lambda: FieldSpec("edit", paths="a"), r"write paths=\('a',\)"),  # type: ignore[arg-type]
        (lambda: FieldSpec("edit", paths=("a..b",)), "is not a path"),
        (lambda: FieldSpec("edit", paths=("[0].a",)), "must begin with an argument's name"),
        (lambda: FieldSpec("edit", required=("c",), paths=("a", "b")), "leave required="),
    ],
)
def test_what_names_no_arguments_is_refused(make: Callable[[], FieldSpec], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


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
        {"timeoutSeconds": "timeout_seconds", "cmd": "command", "background": ""},
    ]
