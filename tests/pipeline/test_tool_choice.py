from __future__ import annotations

import re
from typing import Any

import pytest
from anthropic.types import ToolChoiceParam
from looped import looped
from openai.types.chat import ChatCompletionToolChoiceOptionParam
from openai.types.responses import response_create_params
from pydantic import TypeAdapter

from penstock.events import UsageError
from penstock.pipeline.tool import Tool, tool
from penstock.pipeline.tool_schemas import tool_choice
from penstock.sources.recognition.apis import PROVIDERS as TABLE

PROVIDERS = tuple(TABLE)
FUNCTION = {"type": "function", "function": {"name": "f"}}
FORMS: dict[str, list[Any]] = {  # of auto, none, required, the tool f
    "openai-chat": ["auto", "none", "required", FUNCTION],
    "openai-responses": ["auto", "none", "required", {"type": "function", "name": "f"}],
    "anthropic": [{"type": "auto"}, {"type": "none"}, {"type": "any"}, {"type": "tool", "name": "f"}],
    "gemini": [
        {"function_calling_config": {"mode": "AUTO"}},
        {"function_calling_config": {"mode": "NONE"}},
        {"function_calling_config": {"mode": "ANY"}},
        {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}},
    ],
    "mistral": ["auto", "none", "any", FUNCTION],
}


@pytest.mark.parametrize("provider", FORMS)
def test_each_choice_in_each_providers_form(provider: Any):
    assert [tool_choice(provider, choice) for choice in ("auto", "none", "required", "f")] == FORMS[provider]
    assert tool_choice(provider, "any") == tool_choice(provider, "required")
    assert tool_choice(provider, Tool(name="f")) == FORMS[provider][3]


@looped("provider", PROVIDERS)
def test_no_choice_is_left_out(provider: Any):
    assert tool_choice(provider, None) is None


def test_a_tool_that_is_named_as_a_choice_is_meant_as_a_tool():
    assert tool_choice("anthropic", Tool(name="auto")) == {"type": "tool", "name": "auto"}
    assert tool_choice("openai", Tool(name="none")) == {"type": "function", "function": {"name": "none"}}


def test_gemini_can_hold_calls_to_their_schemas():
    assert tool_choice("google", "validated") == {"function_calling_config": {"mode": "VALIDATED"}}
    for provider in ("openai", "responses", "anthropic", "mistral"):
        with pytest.raises(UsageError, match=r"has no tool choice 'validated'; .* tool_schemas\(..., strict=True\)"):
            tool_choice(provider, "validated")


def test_ollama_decides_by_itself():
    assert tool_choice("ollama", "auto") is None
    for choice, said in (
        ("none", "send no tools"),
        ("any", "leave tool_choice out"),
        ("f", "send that tool alone"),
        ("validated", ""),
    ):
        with pytest.raises(UsageError, match=f"ollama has no tool choice '{choice}'; .*{said}"):
            tool_choice("ollama", choice)


def test_with_tools_another_name_is_a_usage_error():
    tools = [tool({"name": "f"}), {"name": "g"}]
    assert tool_choice("chat", "g", tools=tools) == {"type": "function", "function": {"name": "g"}}
    assert tool_choice("chat", "auto", tools=tools) == "auto"
    with pytest.raises(UsageError, match="unknown tool 'requierd'; known are f, g"):
        tool_choice("chat", "requierd", tools=tools)
    with pytest.raises(UsageError, match="known are none"):
        tool_choice("chat", "f", tools=[])


def test_a_name_that_the_provider_does_not_take_is_a_usage_error():
    with pytest.raises(UsageError, match=r"openai-chat does not accept the tool name 'a.b'"):
        tool_choice("openai", "a.b")
    assert tool_choice("gemini", "a.b")["function_calling_config"]["allowed_function_names"] == ["a.b"]


@looped("choice", [None, "auto", "any", "f", "none"])
@looped("parallel", [True, False])
def test_anthropic_says_here_whether_calls_come_in_parallel(choice: str | None, parallel: bool):
    plain = tool_choice("anthropic", choice) or {"type": "auto"}
    disabled = {} if choice == "none" else {"disable_parallel_tool_use": not parallel}
    assert tool_choice("anthropic", choice, parallel=parallel) == {**plain, **disabled}
    assert "disable_parallel_tool_use" not in plain


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        *(
            (name, "takes it in the request as parallel_tool_calls=")
            for name in ("openai-chat", "openai-responses", "mistral")
        ),
        *((name, "has no option for parallel calls") for name in ("gemini", "ollama")),
    ],
)
def test_the_others_tell_where_it_is_said(provider: Any, said: str):
    with pytest.raises(UsageError, match=f"{provider} {said}.*; leave parallel= out here"):
        tool_choice(provider, "auto", parallel=False)


def test_an_unknown_provider_is_a_usage_error():
    with pytest.raises(UsageError, match=re.escape("unknown provider 'x'")):
        tool_choice("x", None)  # type: ignore[arg-type]


# What the SDKs' own types accept


def all_of(provider: str) -> list[Any]:
    return FORMS[provider]


def test_openais_types_accept_them():
    chat = TypeAdapter[Any](ChatCompletionToolChoiceOptionParam)
    responses = TypeAdapter[Any](response_create_params.ToolChoice)
    assert [chat.validate_python(each) for each in all_of("openai-chat")] == all_of("openai-chat")
    assert [responses.validate_python(each) for each in all_of("openai-responses")] == all_of("openai-responses")


def test_anthropics_types_accept_them():
    adapter = TypeAdapter[Any](ToolChoiceParam)
    for parallel in (None, True, False):
        for choice in ("auto", "none", "required", "f"):
            given = tool_choice("anthropic", choice, parallel=parallel)
            assert adapter.validate_python(given) == given


def test_googles_types_accept_them():
    types = pytest.importorskip("google.genai.types", reason="needs google-genai")
    for each in (*all_of("gemini"), tool_choice("gemini", "validated")):
        assert types.ToolConfig.model_validate(each).model_dump(exclude_none=True, mode="json") == each


def test_mistrals_types_accept_them():
    models = pytest.importorskip("mistralai.client.models", reason="needs mistralai")
    for each in all_of("mistral"):
        request = models.ChatCompletionStreamRequest(model="m", messages=[], tool_choice=each)
        assert request.model_dump(mode="json")["tool_choice"] == each
