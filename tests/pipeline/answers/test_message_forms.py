from __future__ import annotations

import re
from pathlib import Path

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


def test_the_table_of_the_page_is_that_of_the_code():
    page = Path(__file__).parents[3] / "docs" / "next-turn.md"
    section = page.read_text(encoding="utf-8").split("### Relatives of OpenAI's chat", 1)[1].split("##", 1)[0]
    _, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if "|" in line]
    told = {name.strip("`"): (tuple(re.findall("`(.+?)`", returned)), source) for name, returned, source in rows}
    assert told == {name: tuple(relative) for name, relative in RELATIVES.items()}


def test_the_page_has_a_line_for_each_provider():
    page = (Path(__file__).parents[3] / "docs" / "next-turn.md").read_text(encoding="utf-8")
    assert all(f'answer.to_messages("{name}", results)' in page for name in PROVIDERS)
