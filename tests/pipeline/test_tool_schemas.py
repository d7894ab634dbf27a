from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from anthropic.types import ToolParam
from every_sdk import ANTHROPIC_SDK, CHAT, GEMINI, OLLAMA, RESPONSES_SDK, Sdk
from looped import looped
from openai.types.chat import ChatCompletionToolParam
from openai.types.responses import FunctionToolParam
from provider_client import MESSAGES
from pydantic import BaseModel, Field, TypeAdapter
from request_bodies import keeping_bodies

from penstock.events import UsageError
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.tool import as_tools, tool
from penstock.pipeline.tool_schemas import provider_named, tool_choice, tool_schemas
from penstock.sources.recognition.apis import PROVIDERS as TABLE

PROVIDERS = tuple(TABLE)
WITH_STRICT_MODE: tuple[str, ...] = ("openai-chat", "openai-responses", "anthropic", "mistral")


class Place(BaseModel):
    """Where."""

    city: str
    zone: Literal["north"] = "north"


def weather(place: Annotated[Place, Field(description="The place.")], days: int = 1) -> str:
    """Tell the weather."""
    return f"{place}{days}"


def now() -> str:
    return ""


class Node(BaseModel):
    children: list[Node]


TOOLS = [weather, now]
CACHED = tool({"name": "cached", "input_schema": {}, "cache_control": {"type": "ephemeral"}})
EAGER = tool({"name": "eager", "input_schema": {}, "eager_input_streaming": True})
LAZY = tool({"name": "lazy", "input_schema": {}, "eager_input_streaming": False})
WRITES = tool(lambda text: text, name="writes", streamed="text")  # without an annotation it takes anything
OPEN = {"type": "object", "properties": {}, "additionalProperties": False}
PLACE: dict[str, Any] = {
    "description": "Where.",
    "properties": {"city": {"type": "string"}, "zone": {"const": "north", "default": "north", "type": "string"}},
    "required": ["city"],
    "title": "Place",
    "type": "object",
}
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "place": {"$ref": "#/$defs/Place", "description": "The place."},
        "days": {"default": 1, "type": "integer"},
    },
    "required": ["place"],
    "$defs": {"Place": PLACE},
    "additionalProperties": False,
}
DESCRIBED = {"name": "weather", "description": "Tell the weather."}
FUNCTIONS = [
    {"type": "function", "function": {**DESCRIBED, "parameters": PARAMETERS}},
    {"type": "function", "function": {"name": "now", "parameters": OPEN}},
]
FORMS: dict[str, list[dict[str, Any]]] = {
    "openai-chat": FUNCTIONS,
    "mistral": FUNCTIONS,
    "openai-responses": [
        {"type": "function", **DESCRIBED, "parameters": PARAMETERS, "strict": False},
        {"type": "function", "name": "now", "parameters": OPEN, "strict": False},
    ],
    "anthropic": [{**DESCRIBED, "input_schema": PARAMETERS}, {"name": "now", "input_schema": OPEN}],
    "gemini": [
        {
            "function_declarations": [
                {
                    **DESCRIBED,
                    "parameters_json_schema": {
                        "type": "object",
                        "properties": {
                            "place": {
                                **PLACE,
                                "properties": {
                                    "city": {"type": "string"},
                                    "zone": {"enum": ["north"], "default": "north", "type": "string"},
                                },
                                "description": "The place.",
                            },
                            "days": {"default": 1, "type": "integer"},
                        },
                        "required": ["place"],
                        "additionalProperties": False,
                    },
                },
                {"name": "now", "parameters_json_schema": OPEN},
            ]
        }
    ],
    "ollama": [
        {
            "type": "function",
            "function": {
                **DESCRIBED,
                "parameters": {
                    "type": "object",
                    "properties": {
                        "place": {
                            "type": "object",
                            "description": 'The place.\n{"properties": {"city": {"type": "string"}, "zone": {"const": "north", '
                            '"default": "north", "type": "string"}}, "required": ["city"]}',
                        },
                        "days": {"type": "integer", "description": '{"default": 1}'},
                    },
                    "required": ["place"],
                },
            },
        },
        {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
    ],
}
STRICT_PARAMETERS = {
    **PARAMETERS,
    "properties": {
        "place": {"anyOf": [{"$ref": "#/$defs/Place"}], "description": "The place."},
        "days": {"type": ["integer", "null"], "description": '{"default": 1}'},
    },
    "required": ["place", "days"],
    "$defs": {
        "Place": {
            "description": "Where.",
            "properties": {
                "city": {"type": "string"},
                "zone": {
                    "anyOf": [{"const": "north", "type": "string"}, {"type": "null"}],
                    "description": '{"default": "north"}',
                },
            },
            "required": ["city", "zone"],
            "type": "object",
            "additionalProperties": False,
        }
    },
}


def flag_of(definition: dict[str, Any]) -> Any:
    return definition.get("function", definition).get("strict")


def parameters_of(definition: dict[str, Any]) -> Any:
    function = definition.get("function", definition)
    return function.get("parameters") or function.get("input_schema")


@pytest.mark.parametrize("provider", FORMS)
def test_tools_in_each_providers_form(provider: Any):
    assert tool_schemas(TOOLS, provider) == FORMS[provider]


@looped("provider", PROVIDERS)
def test_no_tools_are_left_out(provider: Any):
    assert tool_schemas([], provider) is None
    assert tool_schemas(TOOLS, provider, names=()) is None


@looped("provider", PROVIDERS)
def test_what_is_given_may_be_changed_without_the_tools(provider: Any):
    tools = as_tools(TOOLS)
    given = tool_schemas(tools, provider)
    expected = copy.deepcopy(given)
    empty(given)
    assert tool_schemas(tools, provider) == expected


def empty(value: Any) -> None:
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        empty(each)
    if isinstance(value, dict | list):
        value.clear()


def test_what_has_no_place_in_a_request_is_not_in_it():
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "x", "type": "object"}
    for provider in PROVIDERS:
        assert "$" not in str(tool_schemas([{"name": "f", "parameters": schema}], provider))  # type: ignore[arg-type]


# names


def test_tools_can_be_chosen_by_name_in_their_order():
    given = tool_schemas(TOOLS, "openai", names=["now", "weather", "now"])
    assert given == FUNCTIONS[::-1]


def test_unknown_names_are_skipped_with_a_warning_that_points_at_the_caller():
    with pytest.warns(UserWarning, match="unknown tool 'wether' is skipped; known are weather, now") as warned:
        assert tool_schemas(TOOLS, "openai", names=["wether", "now"]) == FUNCTIONS[1:]
    assert [each.filename for each in warned] == [__file__]
    with pytest.warns(UserWarning, match="known are none"):
        assert tool_schemas([], "openai", names=["x"]) is None


def test_the_warning_points_at_the_caller_of_a_pipeline_too():
    with pytest.warns(UserWarning, match="unknown tool 'wether' is skipped") as warned:
        Pipeline(tools=TOOLS).tool_schemas("openai", names=["wether", "now"])
    assert [each.filename for each in warned] == [__file__]


def test_one_name_alone_is_a_usage_error():
    for ask in (partial(tool_schemas, TOOLS), Pipeline(tools=TOOLS).tool_schemas):
        with pytest.raises(UsageError, match="names= must be an iterable of names; put it in a list; got 'weather'"):
            ask("openai", names="weather")


def test_no_default_is_sent_that_json_cannot_say():
    def find(text: str, most: float = float("inf")) -> None: ...

    for provider in PROVIDERS:
        sent = json.dumps(tool_schemas([find], provider), allow_nan=False)  # type: ignore[arg-type]
        assert "Infinity" in sent
        assert '"default":' not in sent


def test_a_name_that_the_provider_does_not_take_is_a_usage_error():
    tools = [{"name": "a.b"}]
    with pytest.raises(UsageError, match=r"anthropic does not accept the tool name 'a\.b'"):
        tool_schemas(tools, "anthropic")
    assert tool_schemas(tools, "ollama") is not None


# strict modes


@pytest.mark.parametrize("provider", WITH_STRICT_MODE)
def test_strict_is_said_and_the_schema_is_what_it_demands(provider: Any):
    given = tool_schemas(TOOLS, provider, strict=True)
    assert given is not None
    assert [flag_of(each) for each in given] == [True, True]
    if provider != "anthropic":
        assert parameters_of(given[0]) == STRICT_PARAMETERS


def test_what_anthropics_strict_mode_demands():
    (given, _) = tool_schemas(TOOLS, "anthropic", strict=True) or []
    assert given["input_schema"]["required"] == ["place"]
    assert given["input_schema"]["properties"]["days"] == {"type": "integer", "description": '{"default": 1}'}
    assert given["input_schema"]["$defs"]["Place"]["additionalProperties"] is False


@pytest.mark.parametrize("provider", WITH_STRICT_MODE)
def test_a_tool_may_decide_for_itself(provider: Any):
    tools = [tool(now, name=str(each), strict=each) for each in (True, False, None)]
    not_strict = False if provider == "openai-responses" else None
    for strict, expected in ((False, [True, not_strict, not_strict]), (True, [True, not_strict, True])):
        assert [flag_of(each) for each in tool_schemas(tools, provider, strict=strict) or []] == expected


def test_a_tool_that_wants_to_be_strict_is_not_where_there_is_no_such_mode():
    for provider in ("gemini", "ollama"):
        assert tool_schemas([tool(now, strict=True)], provider) == tool_schemas([now], provider)


@pytest.mark.parametrize(
    ("provider", "said"), [("gemini", r"tool_choice\('gemini', 'validated'\)"), ("ollama", "leave strict= out")]
)
def test_to_ask_for_it_there_is_a_usage_error(provider: Any, said: str):
    with pytest.raises(UsageError, match=said):
        tool_schemas(TOOLS, provider, strict=True)


def test_what_a_strict_mode_cannot_carry_is_told_with_the_tool_and_the_place():
    def tag(labels: dict[str, str]) -> None: ...

    assert tool_schemas([tag], "openai") is not None
    with pytest.raises(UsageError, match=r"tool 'tag': OpenAI's strict mode does not allow .* at properties/labels"):
        tool_schemas([tag], "openai", strict=True)


# references


def test_recursion_goes_to_every_provider_that_can_say_it():
    for provider in ("openai-chat", "openai-responses", "anthropic", "mistral"):
        (given,) = tool_schemas([Node], provider) or []
        assert parameters_of(given)["type"] == "object"
        assert parameters_of(given)["$defs"].keys() == {"Node"}
    (gemini,) = tool_schemas([Node], "gemini") or []
    schema = gemini["function_declarations"][0]["parameters_json_schema"]
    assert schema["properties"] == {"children": {"items": {"$ref": "#/$defs/Node"}, "type": "array"}}
    assert schema["$defs"].keys() == {"Node"}
    with pytest.raises(UsageError, match="tool 'Node': Ollama cannot take"):
        tool_schemas([Node], "ollama")
    assert tool_schemas([Node], "openai", strict=True) is not None
    with pytest.raises(UsageError, match="tool 'Node': Anthropic's strict mode does not allow"):
        tool_schemas([Node], "anthropic", strict=True)


# What the SDKs' own types accept


@pytest.mark.parametrize(
    ("provider", "accepted"),
    [("openai-chat", ChatCompletionToolParam), ("openai-responses", FunctionToolParam), ("anthropic", ToolParam)],
)
@pytest.mark.parametrize("strict", [True, False])
def test_the_sdks_typed_dicts_accept_them(provider: Any, accepted: Any, strict: bool):
    given = tool_schemas(TOOLS, provider, strict=strict)
    assert TypeAdapter[Any](list[accepted]).validate_python(given) == given


def test_googles_types_accept_them():
    types = pytest.importorskip("google.genai.types", reason="needs google-genai")
    given = tool_schemas([*TOOLS, Node], "gemini") or []
    config = types.GenerateContentConfig(tools=given, tool_config=tool_choice("gemini", "any"))
    assert [each.model_dump(exclude_none=True) for each in config.tools] == given


@pytest.mark.parametrize("strict", [True, False])
def test_mistrals_types_accept_them(strict: bool):
    models = pytest.importorskip("mistralai.client.models", reason="needs mistralai")
    given = tool_schemas(TOOLS, "mistral", strict=strict)
    request = models.ChatCompletionStreamRequest(model="m", messages=[], tools=given)
    assert request.model_dump(mode="json")["tools"] == given


def test_ollamas_types_accept_them():
    ollama = pytest.importorskip("ollama", reason="needs ollama")
    given = tool_schemas(TOOLS, "ollama") or []
    assert [ollama.Tool.model_validate(each).model_dump(exclude_none=True) for each in given] == given


# What the SDKs really send


def _camel(value: Any) -> Any:
    """Return our form in the spelling that Google's SDK sends; it leaves `parameters_json_schema` as it is."""
    spelled = {
        "function_declarations": "functionDeclarations",
        "function_calling_config": "functionCallingConfig",
        "allowed_function_names": "allowedFunctionNames",
    }
    if isinstance(value, list):
        return [_camel(each) for each in value]
    return {spelled.get(key, key): _camel(each) for key, each in value.items()} if isinstance(value, dict) else value


def _ask_chat(client: Any, **asked: Any) -> Any:
    return client.chat.completions.create(model="m", messages=MESSAGES, stream=True, **asked)


def _ask_responses(client: Any, **asked: Any) -> Any:
    return client.responses.create(model="m", input="-", stream=True, **asked)


def _ask_anthropic(client: Any, **asked: Any) -> Any:
    return client.messages.create(model="m", max_tokens=9, messages=MESSAGES, stream=True, **asked)


def _ask_gemini(client: Any, tools: Any, tool_choice: Any) -> Any:
    config = {"tools": tools, "tool_config": tool_choice}
    return client.models.generate_content_stream(model="m", contents="-", config=config)


def _ask_ollama(client: Any, tools: Any) -> Any:
    return client.chat(model="m", messages=[], stream=True, tools=tools)


SENT: list[tuple[str, Sdk, Callable[..., Any]]] = [
    ("openai-chat", CHAT, _ask_chat),
    ("openai-responses", RESPONSES_SDK, _ask_responses),
    ("anthropic", ANTHROPIC_SDK, _ask_anthropic),
    ("gemini", GEMINI, _ask_gemini),
    ("ollama", OLLAMA, _ask_ollama),
]


@pytest.mark.parametrize(("provider", "sdk", "ask"), SENT, ids=lambda each: each if isinstance(each, str) else "")
def test_the_real_sdk_sends_what_it_was_given(provider: Any, sdk: Sdk, ask: Callable[..., Any]):
    tools = tool_schemas([*TOOLS, *([Node] if provider != "ollama" else [])], provider)
    choice = None if provider == "ollama" else tool_choice(provider, "weather")
    given = {"tools": tools} if choice is None else {"tools": tools, "tool_choice": choice}
    with keeping_bodies(sdk.body_of("plain_text")) as server, sdk.client(server.url) as client:
        assert len(list(ask(client, **given))) > 0
    (body,) = server.bodies
    if provider == "gemini":
        assert {"tools": body["tools"], "tool_choice": body["toolConfig"]} == _camel(given)
    else:
        assert {key: body[key] for key in given} == given


@pytest.mark.parametrize(
    ("eager", "wanted"),
    [(None, [None, True, False, True]), (False, [None] * 4), (True, [True] * 4)],
)
def test_anthropic_alone_gets_its_own_keys_back(eager: bool | None, wanted: list[bool | None]):
    tools = [CACHED, EAGER, LAZY, WRITES]
    for made in (
        tool_schemas(tools, "anthropic-messages", eager_input_streaming=eager),
        Pipeline(tools=tools).tool_schemas("anthropic", eager_input_streaming=eager),
    ):
        assert [each.get("eager_input_streaming") for each in made] == wanted
        assert [each.get("cache_control") for each in made] == [{"type": "ephemeral"}, None, None, None]
        TypeAdapter(list[ToolParam]).validate_python(made)
    for provider in PROVIDERS:
        written = json.dumps(tool_schemas(tools, provider))  # type: ignore[arg-type]
        assert (provider == "anthropic") == ("eager_input_streaming" in written) == ("cache_control" in written)


def test_a_name_in_a_variable_is_checked_and_becomes_the_providers_own():
    assert [provider_named(each) for each in ("openai", "gemini", "converse")] == ["openai-chat", "gemini", "bedrock"]
    with pytest.raises(UsageError, match="unknown provider 'opnai'; known are 'openai-chat'"):
        provider_named("opnai")
