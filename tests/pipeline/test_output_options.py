from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Annotated, Any

import anthropic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from looped import looped
from openai.lib._pydantic import to_strict_json_schema
from pydantic import BaseModel, Field, TypeAdapter
from strategies.output_types import Typed, output_types

from penstock.events import UsageError
from penstock.pipeline import Pipeline, output_options
from penstock.sources.recognition.apis import PROVIDERS

by_provider = pytest.mark.parametrize("provider", PROVIDERS)


class Step(BaseModel):
    """What to do."""

    title: str
    minutes: Annotated[int, Field(ge=0)]


class Recipe(BaseModel):
    name: str
    steps: list[Step]
    source: str | None


STRICT = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "steps": {"type": "array", "items": {"$ref": "#/$defs/Step"}},
        "source": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["name", "steps", "source"],
    "additionalProperties": False,
    "$defs": {
        "Step": {
            "description": "What to do.",
            "type": "object",
            "properties": {"title": {"type": "string"}, "minutes": {"type": "integer", "minimum": 0}},
            "required": ["title", "minutes"],
            "additionalProperties": False,
        }
    },
}
FORMS: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "Recipe", "schema": STRICT, "strict": True},
        }
    },
    "openai-responses": {
        "text": {"format": {"type": "json_schema", "name": "Recipe", "schema": STRICT, "strict": True}}
    },
    "mistral": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "Recipe", "schema": STRICT, "strict": True},
        }
    },
}


PLACES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("openai-chat", "mistral", "openai-assistants"), ("response_format", "json_schema", "schema")),
    "bedrock": ("outputConfig", "textFormat", "structure", "jsonSchema", "schema"),
    "cohere": ("response_format", "json_schema"),
    "gemini-interactions": ("response_format", "schema"),
    "openai-responses": ("text", "format", "schema"),
    "anthropic": ("output_config", "format", "schema"),
    "gemini": ("response_json_schema",),
    "ollama": ("format",),
}


def schema_for(output_type: Any, provider: Any) -> Any:
    """Return the schema in a request."""
    place: Any = output_options(output_type, provider)
    for key in PLACES[provider]:
        place = place[key]
    return json.loads(place) if isinstance(place, str) else place


@pytest.mark.parametrize("provider", FORMS)
def test_a_request_in_the_form_of_openai_and_mistral(provider: Any):
    assert output_options(Recipe, provider) == FORMS[provider]


def test_a_request_in_the_form_of_the_others():
    assert output_options(list[int], "anthropic") == {
        "output_config": {
            "format": {"type": "json_schema", "schema": {"type": "array", "items": {"type": "integer"}}},
        }
    }
    assert output_options(list[int], "gemini") == {
        "response_mime_type": "application/json",
        "response_json_schema": {"type": "array", "items": {"type": "integer"}},
    }
    assert output_options(list[int], "ollama") == {"format": {"type": "array", "items": {"type": "integer"}}}


def without_titles(schema: Any) -> Any:
    if isinstance(schema, list):
        return [without_titles(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: without_titles(each) for key, each in schema.items() if key not in ("title", "description")}


def test_strict_schemas_are_those_of_the_sdks():
    """But for notes in descriptions, and the titles that pydantic makes of names."""
    ours = schema_for(Recipe, "openai-chat")
    assert without_titles(ours) == without_titles(to_strict_json_schema(Recipe))
    ours = schema_for(Recipe, "anthropic")
    assert without_titles(ours) == without_titles(anthropic.transform_schema(Recipe))


@by_provider
def test_the_method_of_a_pipeline_returns_the_same(provider: Any):
    assert Pipeline(output_type=Recipe).output_options(provider) == output_options(Recipe, provider)
    assert Pipeline().output_options(provider) == {}


@by_provider
def test_a_text_is_not_asked_for(provider: Any):
    assert output_options(str, provider) == {}


@looped("provider", ["openai-chat", "openai-responses", "mistral"])
@looped("output_type", [list[int], int, Recipe | None, {"type": "array"}])
@looped("strict", [True, False])
def test_what_is_no_object_is_refused_where_a_provider_takes_objects_only(
    provider: Any, output_type: Any, *, strict: bool
):
    with pytest.raises(UsageError, match=rf"{provider} accepts objects only; put it into a field of a model"):
        output_options(output_type, provider, strict=strict)


def test_what_a_strict_mode_does_not_allow_is_refused_with_the_place():
    class Counts(BaseModel):
        by_word: dict[str, int]

    with pytest.raises(
        UsageError, match=r"^output type Counts: OpenAI's strict mode does not .* at properties/by_word"
    ):
        output_options(Counts, "openai-chat")
    loose = output_options(Counts, "openai-chat", strict=False)["response_format"]["json_schema"]
    assert loose["strict"] is False
    assert loose["schema"]["properties"]["by_word"]["additionalProperties"] == {"type": "integer"}


def test_a_type_without_a_json_schema_is_refused_in_a_request_only():
    class Odd(BaseModel):
        function: Callable[[], int]

    with pytest.raises(UsageError, match="output_type=Odd cannot be turned into a JSON Schema: "):
        Pipeline(output_type=Odd).output_options("gemini")


def test_a_name_is_one_that_apis_take():
    def name(output_type: Any, **options: Any) -> Any:
        return output_options(output_type, "openai-responses", **options)["text"]["format"]["name"]

    schema = {"title": "A point (2D)", "type": "object", "properties": {}}
    assert name(schema) == "A_point_2D"
    assert name({**schema, "title": "ß" * 99}) == "output"
    assert name({**schema, "title": "a" * 99}) == "a" * 64
    assert name(Recipe, name="dish") == "dish"


def test_a_json_schema_stays_as_it_was():
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"a": {}}}
    before = copy.deepcopy(schema)
    options = output_options(schema, "ollama")
    assert options == {"format": {"type": "object", "properties": {"a": {}}}}
    options["format"]["properties"].clear()
    assert schema == before


def test_a_root_that_is_a_reference_is_followed():
    class Node(BaseModel):
        value: int
        next: Node | None

    Node.model_rebuild(_types_namespace={"Node": Node})
    schema = schema_for(Node, "openai-chat")
    assert schema["type"] == "object"
    assert schema["properties"]["next"] == {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}


@by_provider
@given(data=st.data())
def test_the_schema_of_any_type_is_one_that_its_values_fit_or_it_is_refused(provider: str, data: st.DataObject):
    typed: Typed = data.draw(output_types)
    try:
        schema = schema_for(typed.type, provider)
    except UsageError:
        return
    Draft202012Validator.check_schema(schema)
    value = TypeAdapter(typed.type).dump_python(data.draw(typed.values), mode="json", by_alias=True)
    Draft202012Validator(schema).validate(value)
