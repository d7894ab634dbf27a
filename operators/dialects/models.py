"""Which models write in which dialect: one line a family, and the names that servers have for their parsers."""

from __future__ import annotations

from typing import Final

from ..model_dialect import ModelDialect


def _family(*names: str, thinks: bool = False) -> ModelDialect:
    return ModelDialect(names, thinks)


_LLAMA3: Final = _family("llama3_json", "llama_python_tag")
_MISTRAL: Final = _family("mistral_v11", "mistral_old")

MODELS: Final[dict[str, ModelDialect]] = {
    # Alibaba
    "qwen2": _family("hermes"),
    "qwen3": _family("hermes"),
    "qwen3*thinking": _family("hermes", thinks=True),
    "qwen3-coder": _family("qwen3_coder"),
    "qwen3.5": _family("qwen3_coder", thinks=True),
    "qwen3.6": _family("qwen3_coder", thinks=True),
    "qwq": _family("hermes", thinks=True),
    # DeepSeek
    "deepseek-r1": _family("deepseek_v3_r1", thinks=True),
    "deepseek-r1*0528": _family("deepseek_v3_r1"),
    "deepseek-v3": _family("deepseek_v3_r1"),
    "deepseek-v3.1": _family("deepseek_v31"),
    "deepseek-v3.2": _family("deepseek_v32_dsml"),
    "deepseek-v3.2-exp": _family("deepseek_v31"),
    "deepseek-v4": _family("deepseek_v4_dsml"),
    # Meta
    "llama-3.1": _LLAMA3,
    "llama-3.2": _family("llama3_json", "pythonic"),
    "llama-3.3": _LLAMA3,
    "llama-4": _family("llama4_pythonic", "llama3_json"),
    # Mistral
    "mistral": _MISTRAL,
    "mixtral": _MISTRAL,
    "ministral": _MISTRAL,
    "magistral": _MISTRAL,
    "devstral": _MISTRAL,
    "codestral": _MISTRAL,
    "pixtral": _MISTRAL,
    # OpenAI, Google, Microsoft, IBM
    "gpt-oss": _family("harmony"),
    "gemma": _family("tool_code", "fenced_json"),
    "gemma-4": _family("gemma4"),
    "functiongemma": _family("functiongemma"),
    "phi-4-mini": _family("phi4_mini"),
    "granite-3": _family("granite3"),
    "granite-4": _family("hermes_granite4"),
    "granite-20b-functioncalling": _family("granite_20b_fc"),
    # Moonshot, Zhipu, MiniMax, StepFun
    "kimi-k2": _family("kimi_k2"),
    "kimi-k2.5": _family("kimi_k2", thinks=True),
    "kimi-k2.6": _family("kimi_k2", thinks=True),
    "kimi-k3": _family("kimi_k3"),
    "kimi-linear": _family("kimi_k2"),
    "glm-4.5": _family("glm45"),
    "glm-4.6": _family("glm45"),
    "glm-4.7": _family("glm47", thinks=True),
    "glm-5": _family("glm47", thinks=True),
    "minimax-m1": _family("minimax_m1"),
    "minimax-m2": _family("minimax_m2", thinks=True),
    "minimax-m3": _family("minimax_m3"),
    "step-3": _family("step3", thinks=True),
    "step-3.5": _family("step3p5", thinks=True),
    "step-3.7": _family("step3p5", thinks=True),
    "stepfun3.5": _family("step3p5", thinks=True),
    "stepfun3.7": _family("step3p5", thinks=True),
    # Nvidia
    "nemotron-nano*v2": _family("nemotron_toolcall", thinks=True),
    "llama*nemotron": _family("nemotron_toolcall"),
    "llama*nemotron-70b": _LLAMA3,
    "nemotron-3": _family("qwen3_coder", thinks=True),
    # Cohere
    "command-r": _family("cohere_r_plus"),
    "command-r7b": _family("cohere_r7b"),
    "command-a": _family("cohere_r7b"),
    # Nous Research, and others that were trained on the same form
    "hermes": _family("hermes"),
    "hermes*llama": _family("hermes"),
    "hermes*mistral": _family("hermes"),
    "hermes*qwen": _family("hermes"),
    "llama*groq*tool-use": _family("hermes"),
    "smollm3": _family("hermes"),
    "exaone-4": _family("hermes"),
    "reka-edge": _family("reka_edge"),
    "cogito": _family("hermes"),
    "cogito*671b": _family("deepseek_v3_cogito"),
    # with a form of their own
    "apertus": _family("apertus"),
    "apriel": _family("apriel"),
    "apriel-1.6": _family("apriel", thinks=True),
    "dots.llm": _family("dots"),
    "ernie-4.5": _family("ernie45"),
    "ernie-4.5*thinking": _family("ernie45", thinks=True),
    "firefunction": _family("firefunction_v2"),
    "functionary": _family("functionary_v32"),
    "functionary*v3.1": _family("functionary_v31"),
    "gigachat3": _family("gigachat3"),
    "hunyuan-a13b": _family("hunyuan_a13b"),
    "hunyuan-v3": _family("hunyuan_v3"),
    "hy-v3": _family("hunyuan_v3"),
    "hy3": _family("hunyuan_v3"),
    "inkling": _family("inkling"),
    "internlm2": _family("internlm2"),
    "intern-s1": _family("internlm2"),
    "jamba": _family("jamba"),
    "k2-horizon": _family("k2_horizon"),
    "laguna": _family("poolside_v1"),
    "lfm2": _family("lfm2"),
    "ling-3": _family("poolside_v1"),
    "longcat": _family("longcat"),
    "mimo": _family("mimo"),
    "minicpm5": _family("minicpm5_xml"),
    "muse": _family("muse_glimmer"),
    "olmo-3": _family("olmo3_pythonic"),
    "olmo-3*think": _family("olmo3_pythonic", thinks=True),
    "poolside": _family("poolside_v1"),
    "seed-oss": _family("seed_oss"),
    "toolace": _family("pythonic"),
    "toolace*llama": _family("pythonic"),
    "xlam": _family("xlam"),
    "claude-2": _family("anthropic_legacy"),
}
"""Pattern of a model's name -> how it writes; of all that agree with a name the longest pattern counts."""

PARSERS: Final[dict[str, tuple[str, ...]]] = {
    "apertus2509": ("apertus",),
    "cohere_command3": ("cohere_r7b",),
    "cohere_command4": ("cohere_r7b",),
    "deepseek_v3": ("deepseek_v3_r1",),
    "deepseek_v32": ("deepseek_v32_dsml",),
    "deepseek_v4": ("deepseek_v4_dsml",),
    "deepseekv3": ("deepseek_v3_r1",),
    "deepseekv31": ("deepseek_v31",),
    "deepseekv32": ("deepseek_v32_dsml",),
    "deepseekv4": ("deepseek_v4_dsml",),
    "glm": ("glm45",),
    "gpt-oss": ("harmony",),
    "granite": ("granite3",),
    "granite4": ("hermes_granite4",),
    "granite-20b-fc": ("granite_20b_fc",),
    "hunyuan": ("hunyuan_a13b",),
    "hy_v3": ("hunyuan_v3",),
    "internlm": ("internlm2",),
    "interns1": ("internlm2",),
    "ling3": ("poolside_v1",),
    "llama": ("llama3_json",),
    "llama3": ("llama3_json",),
    "llama4_json": ("llama3_json",),
    "minicpm5": ("minicpm5_xml",),
    "minimax": ("minimax_m1",),
    "minimax-m2": ("minimax_m2",),
    "minimax-m3": ("minimax_m3",),
    "mistral": ("mistral_v11", "mistral_old"),
    "olmo3": ("olmo3_pythonic",),
    "openai": ("harmony",),
    "phi4_mini_json": ("phi4_mini",),
    "qwen": ("hermes",),
    "qwen25": ("hermes",),
    "qwen3_xml": ("qwen3_coder",),
}
"""What vLLM and SGLang call their parsers of tool calls, where that is not the dialect's name here."""
