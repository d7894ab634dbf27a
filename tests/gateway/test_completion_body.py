"""`completion_body`: what each server is asked to complete, and what a prompt has no field for."""

from __future__ import annotations

from typing import Any

from chat_templates import TEMPLATES, TOKENS
from looped import looped
from msgspec.structs import replace

from penstock.gateway.chat_template import ChatTemplate
from penstock.gateway.completion_body import Completion, completion_body
from penstock.gateway.neutral import AnswerSchema, Image, Message, NeutralRequest, Text, ToolSpec

ASKED = NeutralRequest(
    api="openai-chat",
    model="any",
    messages=(Message("user", (Text("Go."),)),),
    tools=(ToolSpec("now"), ToolSpec("then")),
    max_tokens=99,
    stop=("END",),
    extra={"temperature": 0.5, "seed": 7, "chat_template_kwargs": {"enable_thinking": True}},
)


SAID = "{{ messages | map(attribute='content') | join(' ') }}"
NAMES = "{% for tool in tools or [] %}{{ tool.function.name }} {% endfor %}"


def completion(
    asked: NeutralRequest = ASKED,
    source: str = SAID,
    *,
    server: str = "lmstudio",
    dialect: str = "hermes",
    dropped: list[str] | None = None,
    end: str = "",
) -> Completion:
    template = ChatTemplate(source, tokens={"eos_token": end})
    lost = [] if dropped is None else dropped
    return completion_body(asked, template, server=server, model="m", dialects=[dialect], dropped=lost)


OPENAI = {
    "model": "m",
    "prompt": "Go.",
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_tokens": 99,
    "stop": ["END"],
    "temperature": 0.5,
    "seed": 7,
}


@looped(
    "server, more",
    [
        ("lmstudio", {}),
        ("openai", {}),
        ("vllm", {"skip_special_tokens": False}),
        ("sglang", {"skip_special_tokens": False}),
        ("llamacpp", {"preserved_tokens": ["<tool_call>", "</tool_call>", "<think>", "</think>"]}),
    ],
)
def test_openais_completions_are_asked_with_what_each_server_needs(server: str, more: dict[str, Any]):
    asked = completion(server=server)
    assert (asked.path, asked.api) == ("/v1/completions", "openai-chat")
    assert asked.body == {**OPENAI, **more}


def test_ollama_is_asked_for_the_text_as_it_is():
    asked = completion(server="ollama")
    assert (asked.path, asked.api) == ("/api/generate", "ollama")
    options = {"temperature": 0.5, "seed": 7, "stop": ["END"], "num_predict": 99}
    as_it_is = {"raw": True, "think": False, "truncate": False}
    assert asked.body == {"model": "m", "prompt": "Go.", "stream": True, **as_it_is, "options": options}


@looped("server, limit", [("lmstudio", -1), ("vllm", None), ("sglang", None), ("openai", None)])
def test_an_answer_that_has_no_limit_is_not_cut_at_the_default(server: str, limit: int | None):
    body = completion(replace(ASKED, max_tokens=None), server=server).body
    assert "max_tokens" in body
    assert body["max_tokens"] == limit


def test_what_has_no_limit_of_its_own_is_asked_without_one():
    unlimited = replace(ASKED, max_tokens=None, stop=())
    assert completion(unlimited, server="ollama").body["options"]["num_predict"] == -1
    assert "max_tokens" not in completion(unlimited, server="llamacpp").body
    assert "stop" not in completion(unlimited).body


@looped(
    "dialect, ends, stop",
    [
        ("hermes", ("<|im_end|>", "</s>"), ["<|im_end|>", "</s>"]),
        ("harmony", ("<|return|>",), []),
        ("solar_open", ("<|end|>",), []),
        ("cohere_r7b", ("<|END_RESPONSE|>", "<|END_OF_TURN_TOKEN|>"), []),
        ("hermes", ("\n<|END_OF_TURN|><|START_OF_TURN|>Write JSON: {}",), ["<|END_OF_TURN|>"]),
        ("hermes", ("Done.",), []),
        ("auto", ("<|im_end|>", "<|end|>"), ["<|im_end|>"]),
    ],
)
def test_the_server_stops_at_the_ends_that_no_dialect_reads(dialect: str, ends: tuple[str, ...], stop: list[str]):
    source = f"{SAID}{{% if not add_generation_prompt %}}{ends[0]}{{% endif %}}"
    assert completion(source=source, dialect=dialect, end=ends[1] if ends[1:] else "").body["stop"] == ["END", *stop]


@looped(
    "dialect, prompt, starts",
    [
        ("hermes", "assistant\n<think>\n", True),
        ("hermes", "assistant\n", False),
        ("hermes", "assistant\n<think>\n\n</think>\n\n", False),
        ("harmony", "assistant<think>", True),
        ("mistral_v11", "[INST]Go.[/INST][THINK]", True),
        ("gemma4", "model\n<|channel>thought\n", True),
        ("seed_oss", "assistant\n<seed:think>", True),
        ("llama3_json", "assistant\n\n", False),
    ],
)
def test_the_end_of_the_prompt_says_whether_the_answer_starts_in_the_reasoning(dialect: str, prompt: str, starts: bool):
    asked = completion(source=f"{{{{ {prompt!r} }}}}", server="ollama", dialect=dialect)
    assert asked.starts_in_reasoning is starts


def test_harmonys_tags_are_kept_one_by_one():
    kept = completion(server="llamacpp", dialect="harmony").body["preserved_tokens"]
    assert {"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|call|>", "<|end|>"} <= {*kept}


@looped(
    "asked, said",
    [
        (replace(ASKED, tool_choice="required"), "Answer with a call of a tool."),
        (replace(ASKED, tool_choice="required", named_tool="now"), "Answer with a call of the tool now."),
        (replace(ASKED, parallel_calls=False), "Call at most one tool in an answer."),
        (replace(ASKED, schema=AnswerSchema({"type": "object"})), 'this schema, and nothing else:\n{"type": "object"}'),
        (replace(ASKED, tools=(), schema=AnswerSchema()), "Give the final answer as a JSON object"),
    ],
)
def test_what_a_prompt_has_no_field_for_is_said(asked: NeutralRequest, said: str):
    body = completion(asked).body
    assert said in body["prompt"]
    assert not {"tools", "tool_choice", "parallel_tool_calls", "response_format"} & body.keys()


@looped(
    "more, names",
    [({}, "now then "), ({"tool_choice": "none"}, ""), ({"tool_choice": "required", "named_tool": "then"}, "then ")],
)
def test_a_template_gets_the_tools_that_may_be_called(more: dict[str, Any], names: str):
    assert completion(replace(ASKED, **more), NAMES).body["prompt"] == names


def test_tools_that_the_template_does_not_show_are_told():
    dropped: list[str] = []
    completion(dropped=dropped)
    assert dropped == ["tools, which the template does not show"]
    shown: list[str] = []
    completion(source=NAMES, dropped=shown)
    assert shown == []


def test_what_the_system_says_is_said_by_the_user_where_it_may_not_speak():
    refusing = "{% if messages[0].role == 'system' %}{{ raise_exception('No.') }}{% endif %}" + SAID
    asked = replace(ASKED, system=(Text("Be kind."),), tools=())
    assert completion(asked, refusing).body["prompt"] == "Be kind.\n\nGo."
    answered = replace(asked, messages=(Message("assistant", (Text("Hi."),)), *ASKED.messages))
    assert completion(answered, refusing).body["prompt"] == "Be kind. Hi. Go."


def test_images_are_words_and_are_told():
    dropped: list[str] = []
    shown = replace(ASKED, messages=(Message("user", (Text("Look."), Image("data:image/png;base64,AA"))),))
    assert "an image, which you cannot see" in completion(shown, dropped=dropped).body["prompt"]
    assert dropped == ["images", "tools, which the template does not show"]


def test_an_effort_of_none_switches_the_thinking_of_the_template_off():
    template = ChatTemplate(TEMPLATES["chatml"], tokens=TOKENS)
    asked = replace(ASKED, extra={}, effort="none")
    completed = completion_body(asked, template, server="ollama", model="m", dialects=["hermes"], dropped=[])
    assert completed.body["prompt"].endswith("<think>\n\n</think>\n\n")
    assert completed.starts_in_reasoning is False
