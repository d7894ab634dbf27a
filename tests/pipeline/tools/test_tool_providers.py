from __future__ import annotations

from typing import get_args

import pytest

from penstock.events import UsageError
from penstock.pipeline.tools.tool_providers import ALIASES, ToolProvider, check_name, tool_provider
from penstock.sources.recognition.apis import APIS


def test_every_name_and_alias_means_its_provider():
    assert set(ALIASES) == set(get_args(ToolProvider))
    for provider, aliases in ALIASES.items():
        assert {tool_provider(name) for name in (provider, *aliases)} == {provider}


def test_the_names_of_the_sources_apis_are_understood_and_those_of_one_api_mean_one_provider():
    for api in APIS:
        assert len({tool_provider(name) for name in (api.name, *api.aliases)}) == 1


def test_an_unknown_provider_is_a_usage_error_that_lists_all_names():
    with pytest.raises(UsageError, match=r"unknown provider 'claude'; known are 'openai-chat', 'openai', .*'ollama'$"):
        tool_provider("claude")


LONG = "x" * 65
TAKEN: dict[ToolProvider, list[str]] = {
    "openai-chat": ["a-B_9", "9"],
    "openai-responses": ["a-B_9", "9"],
    "mistral": ["a-B_9", "9"],
    "anthropic": ["a-B_9", "9", LONG],
    "gemini": ["a-B_9", LONG, "a.b:c", "_"],
    "ollama": ["a-B_9", "9", LONG, "a.b:c", "_"],
}


@pytest.mark.parametrize("provider", get_args(ToolProvider))
@pytest.mark.parametrize("name", ["a-B_9", "9", LONG, "a.b:c"])
def test_each_provider_takes_the_names_of_its_rule_and_no_others(provider: ToolProvider, name: str):
    if name in TAKEN[provider]:
        check_name(name, provider)
    else:
        with pytest.raises(
            UsageError, match=rf"{provider} does not accept the tool name '{name}' \(.*\); rename it with tool"
        ):
            check_name(name, provider)
