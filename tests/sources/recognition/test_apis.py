from __future__ import annotations

from typing import get_args

import pytest
from looped import looped

from penstock.events import UsageError
from penstock.sources.base.request import check_name
from penstock.sources.recognition.apis import APIS, PROVIDERS, ProviderName, provider_of


def test_every_name_and_alias_means_its_provider():
    for provider in PROVIDERS.values():
        assert {provider_of(name).name for name in (provider.name, *provider.aliases)} == {provider.name}


def test_the_names_of_the_sources_apis_are_understood_and_those_of_one_api_mean_one_provider():
    for api in APIS:
        assert len({provider_of(name).name for name in (api.name, *api.aliases)}) == 1


def test_an_unknown_provider_is_a_usage_error_that_lists_all_names():
    names = [repr(name) for each in PROVIDERS.values() for name in (each.name, *each.aliases)]
    assert names[:3] == ["'openai-chat'", "'openai'", "'chat'"]
    with pytest.raises(UsageError, match=rf"^unknown provider 'claude'; known are {', '.join(names)}$"):
        provider_of("claude")


LONG = "x" * 65
TAKEN: dict[str, list[str]] = {
    "openai-chat": ["a-B_9", "9"],
    "openai-responses": ["a-B_9", "9"],
    "mistral": ["a-B_9", "9"],
    "anthropic": ["a-B_9", "9", LONG],
    "gemini": ["a-B_9", LONG, "a.b:c", "_"],
    "ollama": ["a-B_9", "9", LONG, "a.b:c", "_"],
    "bedrock": ["a-B_9", "9"],
    "cohere": ["a-B_9", "9", LONG, "a.b:c", "_"],
    "gemini-interactions": ["a-B_9", LONG, "a.b:c", "_"],
    "openai-assistants": ["a-B_9", "9"],
}


@looped("provider", TAKEN)
@looped("name", ["a-B_9", "9", LONG, "a.b:c"])
def test_each_provider_takes_the_names_of_its_rule_and_no_others(provider: str, name: str):
    if name in TAKEN[provider]:
        check_name(name, PROVIDERS[provider])
    else:
        with pytest.raises(
            UsageError, match=rf"{provider} does not accept the tool name '{name}': .*; rename it with tool"
        ):
            check_name(name, PROVIDERS[provider])


def test_type_checkers_know_the_names_of_all_providers():
    known = [name for each in PROVIDERS.values() for name in (each.name, *each.aliases)]
    assert sorted(get_args(ProviderName)) == sorted(known)
