from __future__ import annotations

import sys
import urllib.request
from typing import Any

import pytest
from pydantic import ValidationError

from penstock.events import UsageError
from penstock.operators.schemas.schema_validation import check_schema, raise_for_schema

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/Small"}}, "b": {"type": "string"}},
    "required": ["b"],
    "$defs": {"Small": {"type": "integer", "maximum": 3}},
}


def faults(arguments: dict[str, Any], schema: dict[str, Any] = SCHEMA) -> list[dict[str, Any]]:
    with pytest.raises(ValidationError) as raised:
        raise_for_schema(arguments, schema, "f")
    assert raised.value.title == "f"
    return [dict(each) for each in raised.value.errors(include_url=False, include_context=False, include_input=False)]


def test_what_fits_passes():
    raise_for_schema({"a": [1, 2], "b": ""}, SCHEMA, "f")


def test_each_fault_has_its_place_its_words_and_its_keyword():
    assert faults({"a": [1, 9, "{x} %s"]}) == [
        {"loc": ("a", 1), "msg": "9 is greater than the maximum of 3", "type": "maximum"},
        {"loc": ("a", 2), "msg": "'{x} %s' is not of type 'integer'", "type": "type"},
        {"loc": (), "msg": "'b' is a required property", "type": "required"},
    ]


def test_a_message_does_not_quote_a_whole_file():
    (fault,) = faults({"b": ["x" * 100_000]})
    assert fault["msg"].startswith("['xxx")
    assert len(fault["msg"]) == 201


def test_a_schema_says_which_draft_it_is_of():
    tuple_of_draft_7 = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"a": {"items": [{"type": "string"}]}},
    }
    check_schema(tuple_of_draft_7, "the parameters of tool 'f'")
    assert faults({"a": [1]}, tuple_of_draft_7)[0]["loc"] == ("a", 0)
    with pytest.raises(
        UsageError, match=r"the parameters of tool 'f' are not a JSON Schema: .* at \$\.properties\.a\.items"
    ):
        check_schema(
            {key: value for key, value in tuple_of_draft_7.items() if key != "$schema"}, "the parameters of tool 'f'"
        )


@pytest.mark.filterwarnings("ignore")  # jsonschema's own fetching warns, which would hide it here
def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []
    monkeypatch.setattr(urllib.request, "urlopen", lambda *request, **_: asked.append(request))
    with pytest.raises(Exception, match="Unresolvable"):
        raise_for_schema({"a": 1}, {"properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}}, "f")
    assert asked == []


def test_without_jsonschema_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    monkeypatch.setitem(sys.modules, "jsonschema.exceptions", None)
    with pytest.raises(
        UsageError,
        match=r'^validate=True needs .*: pip install "penstock\[jsonschema\]", or in a clone pip install "\.\[jsonschema\]"$',
    ):
        check_schema(SCHEMA, "f")
