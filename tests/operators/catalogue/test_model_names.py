"""A model is read as its row says, however a hub or a provider spells its name; no version takes another one's row."""

from __future__ import annotations

from typing import Final

import pytest
from looped import looped

from penstock.operators.catalogue.dialect_for import dialect_for
from penstock.operators.grammar.dialect import ModelDialect

SPELLINGS: Final = {
    ("qwen3_coder",): (
        *(
            "Qwen/Qwen3.6-27B",
            "accounts/fireworks/models/qwen3p6-27b",
            "qwen3-6-27b",
            "Qwen3_6-27B",
            "qwen3.6:27b-q8_0",
        ),
        *("qwen/qwen3.6-27b:free", "hf.co/unsloth/Qwen3.6-27B-GGUF:UD-Q4_K_XL", "qwen3p6-27b-fp8", "QWEN-3.6-27B"),
        *("qwen.qwen3-coder-480b-a35b-v1:0", "accounts/fireworks/models/qwen3-coder-480b-a35b-instruct"),
        *("nvidia.nemotron-nano-3-30b", "nvidia/nemotron-3-super-120b-a12b:free", "nemotron-3-nano:30b"),
        *("Aleph-Alpha/Kolibri-1", "webmp3/Sakura-MicroQuality-Kolibri-1-GGUF", "rwb-ai/BerryLM-OS"),
    ),
    ("hermes",): (
        *(
            "Qwen/Qwen3-8B",
            "qwen3:8b",
            "qwen3-0.6b",
            "Qwen3-235B-A22B-fp8-tput",
            "accounts/fireworks/models/qwen3-30b-a3b",
        ),
        *("accounts/fireworks/models/qwen2p5-72b-instruct", "qwen-2.5-7b-instruct", "qwen2-5-7b-instruct"),
        *(
            "NousResearch/Hermes-4.3-36B",
            "nousresearch/hermes-3-llama-3.1-405b:free",
            "ai21labs/AI21-Jamba-Reasoning-3B",
        ),
        *(
            "jamba-reasoning-3b-Q4_K_M.gguf",
            "tiiuae/Falcon-H1-7B-Instruct",
            "inclusionAI/Ring-1T",
            "inclusionAI/Ling-1T",
        ),
        *("LGAI-EXAONE/EXAONE-4.0-1.2B", "inclusionAI/Ring-flash-2.0"),
    ),
    ("hermes", "fenced_json"): ("accounts/fireworks/models/qwen2p5-coder-32b-instruct", "qwen2.5-coder:14b"),
    ("hermes", "think_tags"): ("moonshotai/Kimi-Dev-72B", "moonshotai/kimi-dev-72b:free"),
    ("think_tags",): ("moonshotai/Kimi-VL-A3B-Thinking-2506", "mlx-community/Kimi-VL-A3B-Thinking-4bit"),
    ("llama3_json", "llama_python_tag"): (
        *("accounts/fireworks/models/llama-v3p1-405b-instruct", "accounts/fireworks/models/llama-v3p3-70b-instruct"),
        *(
            "databricks-meta-llama-3-3-70b-instruct",
            "meta.llama3-1-8b-instruct-v1:0",
            "us.meta.llama3-3-70b-instruct-v1:0",
        ),
    ),
    ("llama3_json", "pythonic"): ("accounts/fireworks/models/llama-v3p2-3b-instruct", "llama3.2:3b-instruct-q4_K_M"),
    ("llama4_pythonic", "llama3_json"): ("accounts/fireworks/models/llama4-scout-instruct-basic",),
    ("deepseek_v3_r1",): ("accounts/fireworks/models/deepseek-v3-0324", "deepseek-v3-250324", "deepseek.v3-v1:0"),
    ("deepseek_v31",): (
        *("accounts/fireworks/models/deepseek-v3p1", "deepseek-v3-1-250821", "deepseek-v3.1:671b-cloud"),
        *("accounts/fireworks/models/deepseek-v3p1-terminus",),
    ),
    ("deepseek_v32_dsml",): ("accounts/fireworks/models/deepseek-v3p2", "deepseek-v3-2", "deepseek/deepseek-v3.2"),
    ("deepseek_v4_dsml",): (
        *("deepseek-ai/DeepSeek-V4.1-Flash", "accounts/fireworks/models/deepseek-v4p1-flash", "deepseek-v4-pro"),
        *("deepseek-v4-1",),
    ),
    ("glm4",): ("zai-org/GLM-4-9B-0414", "THUDM/GLM-4-32B-0414", "unsloth/GLM-4-32B-0414-GGUF", "THUDM/GLM-Z1-9B-0414"),
    ("glm45",): ("accounts/fireworks/models/glm-4p5-air", "glm-4-5-air", "z-ai/glm-4.5-air:free", "glm-4p6"),
    ("glm47",): ("accounts/fireworks/models/glm-4p7", "glm-4-7-251222", "glm-5p2", "zai-org/GLM-5.3", "zai.glm-5"),
    ("kimi_k2",): ("accounts/fireworks/models/kimi-k2p5", "moonshotai/Kimi-K2.6", "kimi-k2-5", "kimi-k2-250905"),
    ("kimi_k3",): ("moonshotai/Kimi-K3", "accounts/fireworks/models/kimi-k3", "moonshotai/kimi-k3:free"),
    ("minimax_m2",): ("accounts/fireworks/models/minimax-m2p1", "MiniMaxAI/MiniMax-M2.7", "minimax-m2-5"),
    ("minimax_m3",): ("MiniMaxAI/MiniMax-M3", "accounts/fireworks/models/minimax-m3", "minimax-m3:cloud"),
    ("step3p5",): ("stepfun-ai/Step-3.7-Flash", "accounts/fireworks/models/step-3p5-flash", "step-3-7-flash"),
    ("step3",): ("stepfun-ai/step3", "step-3"),
    ("hunyuan_v3",): ("tencent/Hy4", "tencent/hy3-preview:free", "tencent/Hunyuan-V4", "hy-v3"),
    ("hunyuan_a13b",): ("tencent/Hunyuan-4B-Instruct", "tencent/Hunyuan-A13B-Instruct"),
    ("poolside_v1",): ("inclusionAI/Ling-3.0-flash", "ling-3-flash"),
    ("solar_open",): ("upstage/Solar-Open-100B",),
    ("solar_open2",): ("upstage/Solar-Open-2",),
    ("jamba",): ("ai21/jamba-large-1.7", "ai21.jamba-1-5-mini-v1:0"),
    ("iquest_coder_v2",): ("IQuestLab/IQuest-Coder-V2-40B-Instruct",),
    ("mimo",): ("XiaomiMiMo/MiMo-V2.5-Pro", "xiaomi/mimo-v2-flash:free", "accounts/fireworks/models/mimo-v2p5"),
    ("minicpm4",): ("openbmb/MiniCPM4-8B", "openbmb/MiniCPM4-MCP"),
    ("telechat",): ("Tele-AI/TeleChat4-36B", "Tele-AI/TeleChat3-36B-Thinking", "XingChen-AGI/Xing4.0-29B"),
    ("phi4_mini",): ("microsoft/phi-4", "phi4:14b", "microsoft/Phi-4-mini-instruct", "microsoft/Phi-4-reasoning-plus"),
    ("cohere_r_plus",): ("CohereForAI/aya-expanse-8b", "aya-expanse:32b", "command-r-plus-08-2024"),
    ("granite3",): ("ibm-granite/granite-3.3-8b-instruct", "granite-3-2b-instruct"),
    ("hermes_granite4",): ("ibm-granite/granite-4.0-h-small", "granite-4-0-h-small", "granite4.1:8b"),
    ("mistral_old", "mistral_v11"): ("mistralai/Mistral-Small-4-119B-2603", "ministral-3:14b", "devstral-2:123b"),
    ("tool_code", "fenced_json"): ("google/gemma-7b-it", "google.gemma-3-27b-it", "gemma2:9b", "gemma-3n-e4b"),
    ("olmo3_pythonic",): ("olmo-3.1:32b-think", "allenai/Olmo-3-7B-Instruct"),
}
NEWER: Final = (
    *(
        "deepseek-v5",
        "deepseek-ai/DeepSeek-V4.2",
        "DeepSeek-V3.3",
        "deepseek-r2",
        "Kimi-K4",
        "GLM-6",
        "glm-4.8",
        "GLM-4.1V",
    ),
    *(
        "minimax-m4",
        "MiniMax-M3.5",
        "step-3.9",
        "step-4",
        "qwen4-8b",
        "qwen4p5",
        "gemma-5-27b",
        "gemma5:4b",
        "llama-5-8b",
    ),
    *("llama-4.5-scout", "llama-v4p5", "granite-5-8b", "granite-4.9-8b-x", "lfm3-8b", "olmo-4-7b", "hy5", "hy3.5"),
    *(
        "AI21-Jamba2-Mini",
        "jamba-2-3b",
        "phi-5",
        "phi-4.5",
        "exaone-5",
        "solar-open-3",
        "nemotron-4-340b",
        "ling-3.5-flash",
    ),
    *("apertus-2-8b", "telechat5", "longcat-2.0", "gigachat4", "ernie-5-21b", "ernie-4.6", "cogito-3", "inkling-2"),
    *("mimo-v3", "cogito-v3-70b", "iquest-coder-v3-40b", "mirothinker-v2.0-8b", "minicpm6-2b", "kolibri-2"),
)
"""Versions that nobody has entered, or that another format is known of."""


@looped("names, models", SPELLINGS.items())
def test_a_model_is_known_in_every_spelling(names: tuple[str, ...], models: tuple[str, ...]):
    for model in models:
        found = dialect_for(model)
        assert set(found.names) == set(names), model
        for spelled in (model.upper(), model.replace("-", "_"), f"openrouter/{model}", f" {model} "):
            assert dialect_for(spelled) == found, spelled


def test_a_version_that_is_not_entered_is_read_as_auto_and_not_as_an_older_one():
    known = [model for model in NEWER if dialect_for(model).names != ("auto",)]
    assert known == ["granite-4.9-8b-x"], "of Granite 4 all have one format, but for 4.2"


@pytest.mark.parametrize(
    "model",
    ["qwen3p6-27b", "glm-5p3", "kimi-k2p6", "minimax-m2p5", "Kolibri-1", "BerryLM-OS", "Ring-1T", "TeleChat4-36B"],
)
def test_the_spelling_does_not_hide_that_the_prompt_opens_the_reasoning(model: str):
    assert dialect_for(model).starts_in_reasoning is True


def test_patterns_of_ones_own_match_versions_that_go_on():
    mine = ModelDialect(("kimi_k2",))
    for model in ("plumber-1", "plumber-1.5", "plumber1p5-7b", "plumber-v1.0", "plumber_1_5"):
        assert dialect_for(model, more={"plumber-1": mine}) == mine, model
    for model in ("plumber-2", "plumber-10", "plumber-1.5"):
        assert dialect_for(model, more={"plumber-1.0": mine}).names == (("kimi_k2",) if "1." in model else ("auto",))
