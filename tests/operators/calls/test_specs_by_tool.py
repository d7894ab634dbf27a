from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

from penstock.events import SegmentStart, UsageError
from penstock.operators import FieldSpec
from penstock.operators.calls.field_spec import FILE_TOOLS, called_name, spec_by_type, specs_by_tool
from penstock.pipeline import as_tools, tool

TEXT, BODY = FieldSpec("save", "text", strict=False), FieldSpec("save", "body", required=("title",), strict=False)
OWN = FieldSpec("save", "note")


def save(title: str, body: str) -> None: ...


class Save(BaseModel):
    title: str
    written: str = Field(alias="text")


def test_a_strict_spec_is_the_only_one_of_its_tool() -> None:
    assert specs_by_tool([TEXT, BODY]) == {"save": (TEXT, BODY)}
    assert specs_by_tool([TEXT, OWN, BODY]) == {"save": (OWN,)}
    with pytest.raises(UsageError, match="two specs are for the tool 'save'; keep one"):
        specs_by_tool([OWN, FieldSpec("save", "other")])


def test_specs_that_a_tool_does_not_fit_are_left_out_unless_they_are_strict() -> None:
    assert specs_by_tool([TEXT, BODY], as_tools([save])) == {"save": (BODY,)}
    assert specs_by_tool([TEXT, BODY], {"save": Save}) == {"save": (TEXT,)}
    assert specs_by_tool([TEXT], as_tools([save])) == {}
    assert specs_by_tool([OWN], as_tools([save])) == {"save": (OWN,)}
    assert specs_by_tool([TEXT], {"save": None, "other": Save}) == {"save": (TEXT,)}
    written = tool(save, name="SAVE")
    assert specs_by_tool([TEXT, BODY], [written]) == {"save": (TEXT, BODY)}
    assert specs_by_tool([TEXT, BODY], [written], ignore_case=True) == {"save": (BODY,)}


def test_a_segment_type_means_the_first_spec_that_has_it() -> None:
    nested = FieldSpec("edit", segment_type="first", paths=("a[*].b",))
    others = [FieldSpec("b", "y", segment_type="first"), FieldSpec("c", "z", segment_type="first")]
    assert spec_by_type([nested, *others]) == {"first": others[0]}
    assert [*spec_by_type(FILE_TOOLS)] == [spec.tool for spec in FILE_TOOLS]


def test_a_segment_of_an_argument_is_not_a_call() -> None:
    metadata = {"call_id": "c", "tool_name": "edit"}
    assert called_name(SegmentStart("c/a/0", "edit", metadata), {}) is None
    assert called_name(SegmentStart("d/a/0", "edit", metadata), {}) == "edit"
