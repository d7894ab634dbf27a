from __future__ import annotations

import pytest

from penstock.pipeline.answers.message_forms import RELATIVES, form_of
from penstock.pipeline.providers.providers import PROVIDERS


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_of_tool_schemas_has_a_form(name: str):
    assert form_of(name).name == name


def test_aliases_and_relatives_have_one_too():
    assert form_of("openai") is form_of("openai-chat")
    for name in RELATIVES:
        assert (form_of(name).name, form_of(name).api) == (name, "openai-chat")


def test_no_relative_has_the_name_of_a_provider_and_each_has_its_source():
    assert RELATIVES.keys().isdisjoint(PROVIDERS)
    for relative in RELATIVES.values():
        assert relative.source.count(",") >= 1
        assert "://" not in relative.source
