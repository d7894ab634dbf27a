"""Names of models, as hubs and servers write them, and the dialects behind them."""

from __future__ import annotations

from typing import Any, Final, get_args

import pytest
from answered import answered
from auto_cases import CALLS, reading
from looped import looped
from msgspec.structs import replace
from strategies.rendered_calls import schema_of

from penstock.events.errors import UsageError
from penstock.operators.catalogue.dialect_for import (
    DIALECTS,
    MODELS,
    PARSERS,
    DialectName,
    dialect_for,
    thinking_switch,
)
from penstock.operators.grammar.dialect import Dialect, Json, ModelDialect
from penstock.operators.parse_text import parse_text
from penstock.operators.writing.render_call import can_render, render_call

IDS: Final = {
    "Qwen/Qwen2.5-7B-Instruct": "hermes",
    "qwen2.5-coder:14b": "hermes, fenced_json",
    "Qwen2.5-7B-Instruct-Q4_K_M.gguf": "hermes",
    "Qwen/Qwen3-8B": "hermes",
    "qwen3:30b": "hermes",
    "Qwen/Qwen3-30B-A3B-Instruct-2507": "hermes",
    "Qwen/Qwen3-VL-8B-Instruct": "hermes",
    "Qwen/Qwen3-30B-A3B-Thinking-2507": "hermes, thinks",
    "Qwen/Qwen3-Next-80B-A3B-Thinking": "hermes, thinks",
    "qwen3-vl:8b-thinking": "hermes, thinks",
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": "qwen3_coder",
    "qwen3-coder:30b": "qwen3_coder",
    "unsloth/Qwen3-Coder-Next-GGUF": "qwen3_coder",
    "Qwen/Qwen3.5-397B-A17B": "qwen3_coder, thinks",
    "qwen3.6:27b": "qwen3_coder, thinks",
    "Qwen/Qwen3.7-35B-A3B": "qwen3_coder, thinks",
    "Qwen/Qwen3.8-27B": "qwen3_coder, thinks",
    "qwen3:8b-q4_K_M": "hermes",
    "Qwen/QwQ-32B": "hermes, thinks",
    "qwq": "hermes, thinks",
    "deepseek-ai/DeepSeek-R1": "deepseek_v3_r1, thinks",
    "deepseek-ai/DeepSeek-R1-Distill-Llama-8B": "deepseek_v3_r1, thinks",
    "us.deepseek.r1-v1:0": "deepseek_v3_r1, thinks",
    "deepseek-ai/DeepSeek-R1-0528": "deepseek_v3_r1",
    "deepseek-r1:8b-0528-qwen3-q4_K_M": "deepseek_v3_r1",
    "deepseek-ai/DeepSeek-V3-0324": "deepseek_v3_r1",
    "deepseek-v3:671b": "deepseek_v3_r1",
    "deepseek-ai/DeepSeek-V3.1-Terminus": "deepseek_v31",
    "deepseek-ai/DeepSeek-V3.2-Exp": "deepseek_v31",
    "deepseek-ai/DeepSeek-V3.2": "deepseek_v32_dsml",
    "deepseek/deepseek-v4": "deepseek_v4_dsml, thinks",
    "deepseek-ai/DeepSeek-V4.1": "deepseek_v4_dsml, thinks",
    "meta-llama/Llama-3.1-8B-Instruct": "llama3_json, llama_python_tag",
    "meta-llama/Meta-Llama-3.1-70B-Instruct-Turbo": "llama3_json, llama_python_tag",
    "meta.llama3-1-8b-instruct-v1:0": "llama3_json, llama_python_tag",
    "llama-3.3-70b-versatile": "llama3_json, llama_python_tag",
    "llama3.2:3b": "llama3_json, pythonic",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "llama4_pythonic, llama3_json",
    "llama4:maverick": "llama4_pythonic, llama3_json",
    "mistralai/Mistral-7B-Instruct-v0.3": "mistral_v11, mistral_old",
    "mistral-small3.2:24b": "mistral_v11, mistral_old",
    "mistralai/Mixtral-8x22B-Instruct-v0.1": "mistral_v11, mistral_old",
    "mistralai/Ministral-3-14B-Reasoning-2512": "mistral_v11, mistral_old",
    "mistralai/Magistral-Small-2509": "mistral_v11, mistral_old",
    "devstral:24b": "mistral_v11, mistral_old",
    "openai/gpt-oss-120b": "harmony",
    "gpt-oss:20b": "harmony",
    "openai/gpt-oss-safeguard-20b": "harmony",
    "google/gemma-2-2b-it": "tool_code, fenced_json",
    "gemma3:27b": "tool_code, fenced_json",
    "google/gemma-3n-E4B-it": "tool_code, fenced_json",
    "google/gemma-4-31B-it": "gemma4",
    "gemma4:31b": "gemma4",
    "google/functiongemma-270m-it": "functiongemma",
    "microsoft/Phi-4-mini-instruct": "phi4_mini",
    "phi4-mini:3.8b": "phi4_mini",
    "ibm-granite/granite-3.3-8b-instruct": "granite3",
    "granite3.3:8b": "granite3",
    "ibm-granite/granite-4.0-h-small": "hermes_granite4",
    "granite4:micro": "hermes_granite4",
    "ibm-granite/granite-4.2-8b": "qwen3_coder, thinks",
    "ibm-granite/granite-20b-functioncalling": "granite_20b_fc",
    "moonshotai/Kimi-K2-Instruct-0905": "kimi_k2",
    "moonshotai/Kimi-K2-Thinking": "kimi_k2",
    "kimi-k2:1t-cloud": "kimi_k2",
    "moonshotai/Kimi-K2.5": "kimi_k2, thinks",
    "moonshotai/Kimi-Linear-48B-A3B-Instruct": "kimi_k2",
    "moonshotai/Kimi-K2.7": "kimi_k2, thinks",
    "moonshotai/Kimi-K3": "kimi_k3, thinks",
    "zai-org/GLM-4.5-Air": "glm45",
    "zai-org/GLM-4.6-FP8": "glm45",
    "glm-4.7-flash": "glm47, thinks",
    "zai-org/GLM-5": "glm47, thinks",
    "MiniMaxAI/MiniMax-M1-80k": "minimax_m1",
    "MiniMaxAI/MiniMax-M2.5": "minimax_m2, thinks",
    "minimax-m2:cloud": "minimax_m2, thinks",
    "MiniMaxAI/MiniMax-M3": "minimax_m3",
    "stepfun-ai/step3": "step3, thinks",
    "stepfun-ai/Step-3.5-Flash": "step3p5, thinks",
    "nvidia/NVIDIA-Nemotron-Nano-9B-v2": "nemotron_toolcall, thinks",
    "nvidia/Llama-3_3-Nemotron-Super-49B-v1_5": "nemotron_toolcall",
    "nvidia/Llama-3.1-Nemotron-70B-Instruct-HF": "llama3_json, llama_python_tag",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "qwen3_coder, thinks",
    "CohereLabs/c4ai-command-r-plus-08-2024": "cohere_r_plus",
    "CohereForAI/c4ai-command-r7b-12-2024": "cohere_r7b",
    "command-r:35b": "cohere_r_plus",
    "CohereLabs/command-a-reasoning-08-2025": "cohere_r7b",
    "NousResearch/Hermes-3-Llama-3.1-8B": "hermes",
    "NousResearch/Hermes-2-Pro-Mistral-7B": "hermes",
    "NousResearch/Hermes-4-14B": "hermes",
    "Groq/Llama-3-Groq-8B-Tool-Use": "hermes",
    "HuggingFaceTB/SmolLM3-3B": "hermes",
    "LGAI-EXAONE/EXAONE-4.0-32B": "hermes",
    "RekaAI/reka-edge": "reka_edge",
    "cogito-2.1:671b": "deepseek_v3_cogito",
    "deepcogito/cogito-v1-preview-qwen-14B": "hermes",
    "swiss-ai/Apertus-8B-Instruct-2509": "apertus",
    "ServiceNow-AI/Apriel-1.5-15b-Thinker": "apriel",
    "ServiceNow-AI/Apriel-1.6-15b-Thinker": "apriel, thinks",
    "rednote-hilab/dots.llm1.inst": "dots",
    "baidu/ERNIE-4.5-21B-A3B-PT": "ernie45",
    "baidu/ERNIE-4.5-21B-A3B-Thinking": "ernie45, thinks",
    "fireworks-ai/llama-3-firefunction-v2": "firefunction_v2",
    "meetkai/functionary-medium-v3.1": "functionary_v31",
    "meetkai/functionary-medium-v3.2": "functionary_v32",
    "ai-sage/GigaChat3-10B-A1.8B": "gigachat3",
    "ai-sage/GigaChat3.1-10B-A1.8B": "gigachat3",
    "ai-sage/GigaChat3.5": "gigachat35",
    "tencent/Hunyuan-A13B-Instruct": "hunyuan_a13b",
    "tencent/Hy3": "hunyuan_v3",
    "tencent/Hy4": "hunyuan_v3, thinks",
    "IFM/K2-Horizon-7B": "k2_horizon, thinks",
    "poolside/Laguna": "poolside_v1",
    "inclusionAI/Ling-3.0-flash": "poolside_v1, thinks",
    "internlm/internlm2_5-7b-chat": "internlm2",
    "ai21labs/AI21-Jamba-1.5-Mini": "jamba",
    "LiquidAI/LFM2.5-1.2B-Instruct": "lfm2",
    "meituan-longcat/LongCat-Flash-Chat-FP8": "longcat",
    "meituan-longcat/LongCat-Flash-Thinking": "longcat, thinks",
    "XiaomiMiMo/MiMo-V2-Flash": "mimo",
    "openbmb/MiniCPM5-1B": "minicpm5_xml",
    "allenai/Olmo-3-7B-Instruct": "olmo3_pythonic",
    "allenai/Olmo-3.1-32B-Think": "olmo3_pythonic, thinks",
    "ByteDance-Seed/Seed-OSS-36B-Instruct": "seed_oss",
    "Team-ACE/ToolACE-8B": "pythonic",
    "Team-ACE/ToolACE-2-Llama-3.1-8B": "pythonic",
    "Salesforce/Llama-xLAM-2-8b-fc-r": "xlam",
    "NousResearch/DeepHermes-3-Mistral-24B-Preview": "hermes",
    "NousResearch/DeepHermes-3-Llama-3-8B-Preview": "hermes",
    "deepseek/deepseek-chat-v3-0324": "deepseek_v3_r1",
    "deepseek/deepseek-chat-v3.1": "deepseek_v31",
    "LGAI-EXAONE/K-EXAONE-236B-A23B": "hermes",
    "arcee-ai/Trinity-Mini": "hermes",
    "PrimeIntellect/INTELLECT-3": "qwen3_coder, thinks",
    "skt/A.X-4.0-Light": "hermes",
    "watt-ai/watt-tool-8B": "pythonic",
    "tencent/Hunyuan-7B-Instruct": "hunyuan_a13b",
    "upstage/Solar-Open-2": "solar_open2, thinks",
    "pfnet/plamo-3-nict-8b-base": "plamo3",
    "tencent/Hunyuan-V4": "hunyuan_v3, thinks",
    "zai-org/GLM-5.3-Flash": "glm47, thinks",
    "Spark25-4B": "glm47",
    "naver-hyperclovax/HyperCLOVAX-SEED-Think-32B": "glm47",
    "naver-hyperclovax/HyperCLOVAX-SEED-Think-14B": "hyperclovax_think",
    "upstage/Solar-Open-100B": "solar_open",
    "miromind-ai/MiroThinker-v1.0-72B": "mirothinker",
    "XiaomiMiMo/MiMo-VL-7B-RL": "hermes",
    "CohereLabs/command-a-plus-05-2026": "cohere_r7b, thinks",
    "IQuestLab/IQuest-Coder-V1-40B-Instruct": "qwen3_coder",
    "FreedomIntelligence/openPangu-Embedded-7B-V2": "lfm2",
}
UNKNOWN: Final = ("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro", "llama3:8b", "acme/plumber-7b", "tinyllama", "auto")


def told(found: ModelDialect) -> str:
    thinks = ["thinks"] if found.starts_in_reasoning else []
    return ", ".join([*map(str, found.names), *thinks])


@looped("model, expected", IDS.items())
def test_a_model_is_known_by_its_name(model: str, expected: str) -> None:
    assert told(dialect_for(model)) == expected
    assert dialect_for(model.upper()) == dialect_for(model.replace("-", "_")) == dialect_for(model)


@pytest.mark.parametrize("model", UNKNOWN)
def test_a_model_that_nobody_knows_is_read_as_auto(model: str) -> None:
    assert dialect_for(model) == ModelDialect(("auto",))


@looped("name", DIALECTS)
def test_the_name_of_a_dialect_is_its_own(name: str) -> None:
    assert dialect_for(name) == ModelDialect((name,))


@looped("parser, names", PARSERS.items())
def test_what_servers_call_their_parsers_is_understood(parser: str, names: tuple[str, ...]) -> None:
    assert dialect_for(parser).names == names


def test_what_the_tables_name_is_there() -> None:
    named = {name for family in MODELS.values() for name in family.names} | {
        name for names in PARSERS.values() for name in names
    }
    assert named <= DIALECTS.keys()
    assert [name for name in PARSERS if name in DIALECTS] == []
    for each in DIALECTS.values():
        patterns = (*each.models, *each.thinking, *each.thinking_if_asked, *each.thinking_always)
        assert len(patterns) == len(set(patterns))
        assert all(each.name in MODELS[pattern].names for pattern in each.all_models)
        assert all(MODELS[pattern].starts_in_reasoning is True for pattern in each.thinking)
        assert all(MODELS[pattern].starts_in_reasoning == "asked" for pattern in each.thinking_if_asked)
        assert all(MODELS[pattern].switches == () for pattern in each.thinking_always)
        assert bool(each.reasoning_from) >= (each.calls_in_reasoning or bool(each.switches or each.thinking_always))


@looped("pattern", MODELS)
def test_each_pattern_is_the_one_that_counts_for_some_name(pattern: str) -> None:
    """None is hidden by another one: the name that a pattern is made of is its own."""
    model, row = f"owner/{pattern.replace('.*', '.9').replace('*', '-9b-')}-x", MODELS[pattern]
    is_always = row.switches == ()
    assert dialect_for(model, request={"think": True}) == replace(
        row, starts_in_reasoning=bool(row.starts_in_reasoning)
    )
    assert dialect_for(model, request={"think": False}) == replace(row, starts_in_reasoning=is_always)
    assert dialect_for(model) == replace(row, starts_in_reasoning=row.starts_in_reasoning is True)


def kwargs(**variables: Any) -> dict[str, Any]:
    return {"extra_body": {"chat_template_kwargs": variables}}


@looped(
    "request_options, expected",
    [
        ({}, None),
        ({"temperature": 0}, None),
        ({"think": False}, False),
        ({"think": "high"}, True),
        ({"reasoning_effort": "none"}, False),
        ({"reasoning_effort": "no_think"}, False),
        ({"reasoning_effort": 40}, True),
        ({"enable_thinking": False}, False),
        ({"thinking": {"type": "disabled"}}, False),
        ({"thinking": {"type": "adaptive"}}, None),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, True),
        ({"reasoning": {"enabled": False}}, False),
        ({"reasoning": {"effort": "low"}}, True),
        ({"reasoning": {"max_tokens": 2000}}, True),
        (kwargs(enable_thinking=False), False),
        (kwargs(enable_thinking=True), True),
        (kwargs(thinking=True), True),
        (kwargs(thinking_mode="chat"), False),
        (kwargs(reasoning_effort="none"), False),
        ({"chat_template_args": {"enable_thinking": False}}, False),
        ({"options": {"num_ctx": 4096}, "think": None}, None),
        ({"reasoning_effort": "high", **kwargs(enable_thinking=False)}, False),
        ({"thinking": {"type": "enabled"}, "reasoning_effort": "none"}, False),
    ],
)
def test_a_request_switches_thinking_on_or_off(request_options: dict[str, Any], expected: bool | None) -> None:
    assert thinking_switch(request_options) is expected
    assert dialect_for("deepseek-v3.2", request=request_options).starts_in_reasoning is (expected is True)
    assert dialect_for("deepseek-v4", request=request_options).starts_in_reasoning is (expected is not False)
    assert dialect_for("Qwen3-8B", request=request_options).starts_in_reasoning is False
    assert dialect_for("qwq", request=request_options).starts_in_reasoning is True


@looped(
    "model, request_options, expected",
    [
        ("zai-org/GLM-5.2", kwargs(thinking=False), True),
        ("zai-org/GLM-5.2", kwargs(enable_thinking=False), False),
        ("zai-org/GLM-5.2", kwargs(reasoning_effort="none"), True),
        ("zai-org/GLM-5.2", {"reasoning_effort": "none"}, False),
        ("zai-org/GLM-5.3-Flash", kwargs(enable_thinking=False), True),
        ("inclusionAI/Ling-3.0-flash", kwargs(thinking=False), True),
        ("Qwen/Qwen3.5-9B", kwargs(thinking=False), True),
        ("stepfun-ai/Step-3.7-Flash", kwargs(enable_thinking=False), True),
        ("Qwen/Qwen3-4B-Thinking-2507", kwargs(enable_thinking=False), True),
        ("MiniMaxAI/MiniMax-M2.5", kwargs(enable_thinking=False), True),
        ("MiniMaxAI/MiniMax-M3", kwargs(enable_thinking=True), False),
        ("MiniMaxAI/MiniMax-M3", kwargs(thinking_mode="enabled"), True),
        ("MiniMaxAI/MiniMax-M3", kwargs(thinking_mode="adaptive"), False),
        ("MiniMaxAI/MiniMax-M3", {}, False),
        ("upstage/Solar-Open2-250B", kwargs(enable_thinking=False), True),
        ("upstage/Solar-Open2-250B", kwargs(reasoning_effort="low"), False),
        ("upstage/Solar-Open2-250B", {"reasoning_effort": "medium"}, True),
        ("upstage/Solar-Open2-250B", {"reasoning": {"effort": "minimal"}}, False),
        ("tencent/Hy4", kwargs(reasoning_effort="no_think"), False),
        ("tencent/Hy4", kwargs(enable_thinking=False), True),
        ("tencent/Hy4", {}, True),
        ("tencent/Hy3", {}, False),
        ("tencent/Hy3", {"reasoning_effort": "high"}, True),
        ("LGAI-EXAONE/EXAONE-4.0-32B", kwargs(enable_thinking=True), True),
        ("LGAI-EXAONE/EXAONE-4.0-32B", {}, False),
    ],
)
def test_a_switch_counts_only_if_the_models_template_has_it(
    model: str, request_options: dict[str, Any], expected: bool
) -> None:
    assert dialect_for(model, request=request_options).starts_in_reasoning is expected


def test_the_options_of_a_row_are_those_of_parse_text() -> None:
    row = dialect_for("Qwen3.5-9B")
    assert row.options == {"starts_in_reasoning": True}
    call = "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"
    events = answered([f"Let me see. {call}"], parse_text(*row.names, **row.options))
    assert [each.segment_type for each in events if each.type == "SEGMENT_START"] == ["reasoning", "tool_call"]


@pytest.mark.parametrize("names", sorted({family.names for family in MODELS.values() if len(family.names) > 1}))
def test_dialects_that_are_named_together_can_be_told_apart(names: tuple[str, ...]) -> None:
    for name in names:
        for tool, arguments in CALLS:
            schema = schema_of(arguments)
            if can_render(DIALECTS[name], tool, arguments, schema=schema) is None:
                text = render_call(DIALECTS[name], tool, arguments, schema=schema)
                options = {"tools": {tool: schema}}
                assert reading(text, names, options) == reading(text, [name], options), (name, text)


def test_patterns_of_ones_own_come_first_and_need_no_change_here() -> None:
    mine = Dialect("mine", ("<<call>>", Json()))
    more = {
        "plumber": ModelDialect(("kimi_k2",)),
        "plumber*pro": ModelDialect((mine,), starts_in_reasoning=True),
        "qwen3": ModelDialect(("glm47",)),
    }
    assert dialect_for("acme/Plumber-7B", more=more).names == ("kimi_k2",)
    assert dialect_for("acme/Plumber-7B-Pro", more=more) == more["plumber*pro"]
    assert dialect_for("Qwen/Qwen3-Coder-30B-A3B-Instruct", more=more).names == ("glm47",)
    assert dialect_for("Qwen/Qwen2.5-7B-Instruct", more=more).names == ("hermes",)
    names = dialect_for("plumber-pro", more=more).names
    events = answered(['<<call>>{"name": "f", "arguments": {}}'], parse_text(*names))
    assert next(event.type for event in events if event.segment_type == "tool_call") == "SEGMENT_START"


def test_a_pattern_agrees_with_whole_words_and_numbers_only() -> None:
    more = {"plumber-1": ModelDialect(("kimi_k2",))}
    known = ("plumber-1", "Plumber1b", "acme/plumber_1.5", "big-plumber:1")
    assert all(dialect_for(name, more=more).names == ("kimi_k2",) for name in known)
    other = ("plumber-10b", "eplumber-1", "plumber", "plumbers-1")
    assert all(dialect_for(name, more=more).names == ("auto",) for name in other)


@pytest.mark.parametrize("nothing", ["", " ", "/", "*"])
def test_a_name_or_a_pattern_with_nothing_in_it_is_refused(nothing: str) -> None:
    with pytest.raises(UsageError, match="a model's name must be a str such as"):
        dialect_for(nothing)
    with pytest.raises(UsageError, match="a pattern of a model's name must be a str such as"):
        dialect_for("qwen3", more={nothing: ModelDialect(("hermes",))})


@pytest.mark.parametrize("odd", [5, True, b"qwen3", ["qwen3"], object()])
def test_what_is_no_name_and_no_request_is_refused_in_words(odd: Any) -> None:
    with pytest.raises(UsageError, match="a model's name must be a str such as"):
        dialect_for(odd)
    with pytest.raises(UsageError, match="request= must be the options of the request as a dict"):
        dialect_for("qwen3", request=odd)


def test_type_checkers_know_the_name_of_every_dialect():
    assert sorted(get_args(DialectName)) == sorted(DIALECTS)


@looped(
    "name, is_guess",
    [
        *[(name, True) for name in ("qwen", "Qwen", "glm", "llama", "granite", "gemma")],
        *[
            (name, False)
            for name in ("Qwen/Qwen3-8B", "qwen3", "gpt-oss", "hermes", "openai", "acme", "deepseek", "auto")
        ],
    ],
)
def test_the_bare_name_of_a_family_with_several_dialects_is_a_guess(name: str, is_guess: bool):
    assert dialect_for(name).is_guess is is_guess
    assert dialect_for(name, more={name: ModelDialect(("kimi_k2",))}).is_guess is False
