"""The evidence for each dialect: whose test cases pass, and the public page behind the project's own."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class Provenance(NamedTuple):
    """How a format is known."""

    proven_by: tuple[str, ...] = ()
    """The projects whose test cases of the format pass; those that do not are listed in the tests, with the reason."""
    written_from: str = ""
    """The public page, prompt or chat template after which the texts of the tests were written."""


PROVENANCE: Final[Mapping[str, Provenance]] = MappingProxyType(
    {
        "aider": Provenance(written_from="“Edit formats” in Aider's documentation"),
        "anthropic_legacy": Provenance(written_from="“Legacy tool use” in Anthropic's documentation"),
        "apertus": Provenance(("llama.cpp", "vLLM")),
        "apriel": Provenance(("llama.cpp",)),
        "bolt_artifact": Provenance(("bolt.new",)),
        "cline": Provenance(written_from="the system prompts of Cline and Roo Code"),
        "cohere_r7b": Provenance(("llama.cpp", "smg")),
        "cohere_r_plus": Provenance(("llama.cpp",)),
        "deepseek_v31": Provenance(("llama.cpp", "Ollama", "vLLM")),
        "deepseek_v32_dsml": Provenance(("llama.cpp", "smg", "vLLM")),
        "deepseek_v3_cogito": Provenance(("Ollama",)),
        "deepseek_v3_r1": Provenance(("llama.cpp", "SGLang", "smg", "vLLM")),
        "deepseek_v4_dsml": Provenance(("llama.cpp", "vLLM")),
        "dots": Provenance(("vLLM",)),
        "ernie45": Provenance(("vLLM",)),
        "fenced_json": Provenance(written_from="prompts that ask for JSON in a fence"),
        "firefunction_v2": Provenance(("llama.cpp",)),
        "functionary_v31": Provenance(("llama.cpp",)),
        "functionary_v32": Provenance(("llama.cpp",)),
        "functiongemma": Provenance(("mlx-lm", "Ollama", "vLLM")),
        "gemma4": Provenance(("llama.cpp", "mlx-lm", "Ollama", "SGLang", "vLLM")),
        "generic_json": Provenance(("llama.cpp",)),
        "gigachat3": Provenance(("llama.cpp", "SGLang", "vLLM")),
        "gigachat35": Provenance(written_from="the chat template of GigaChat 3.5"),
        "glm45": Provenance(("Ollama", "SGLang", "smg")),
        "glm47": Provenance(("llama.cpp", "mlx-lm", "SGLang", "smg", "vLLM")),
        "granite3": Provenance(("llama.cpp", "vLLM")),
        "granite_20b_fc": Provenance(("vLLM",)),
        "harmony": Provenance(("llama.cpp",)),
        "hermes": Provenance(("llama.cpp", "mlx-lm", "Ollama", "SGLang", "smg", "vLLM")),
        "hermes_granite4": Provenance(("llama.cpp", "vLLM")),
        "hunyuan_a13b": Provenance(("vLLM",)),
        "hunyuan_v3": Provenance(("vLLM",)),
        "inkling": Provenance(("SGLang",)),
        "internlm2": Provenance(("vLLM",)),
        "jamba": Provenance(("vLLM",)),
        "json": Provenance(("AutoByteus",)),
        "json_array_bare": Provenance(("Ollama",)),
        "json_bare": Provenance(("Ollama", "smg")),
        "k2_horizon": Provenance(("vLLM",)),
        "kimi_k2": Provenance(("llama.cpp", "SGLang", "smg", "vLLM")),
        "kimi_k3": Provenance(("SGLang", "vLLM")),
        "lfm2": Provenance(("ik_llama.cpp", "llama.cpp", "mlx-lm", "Ollama", "SGLang", "vLLM")),
        "llama3_json": Provenance(("llama.cpp", "SGLang", "smg", "vLLM")),
        "llama4_pythonic": Provenance(("vLLM",)),
        "llama_python_tag": Provenance(written_from="Meta's page of the prompt formats of Llama 3.1"),
        "longcat": Provenance(
            ("mlx-lm", "vLLM"), "the chat template of meituan-longcat/LongCat-Flash-Chat, for the pairs of tags"
        ),
        "mimo": Provenance(written_from="the card and chat template of XiaomiMiMo/MiMo-V2.5"),
        "minicpm5_xml": Provenance(("llama.cpp", "SGLang", "vLLM")),
        "minimax_m1": Provenance(written_from="the function call guide of MiniMaxAI/MiniMax-M1-80k"),
        "minimax_m2": Provenance(("llama.cpp", "mlx-lm", "smg", "vLLM")),
        "minimax_m3": Provenance(("llama.cpp", "vLLM")),
        "mistral_old": Provenance(("llama.cpp", "Ollama", "SGLang", "smg")),
        "mistral_v11": Provenance(("llama.cpp", "mlx-lm", "Ollama", "SGLang", "vLLM")),
        "muse_glimmer": Provenance(("vLLM",)),
        "nemotron_toolcall": Provenance(("llama.cpp",)),
        "olmo3_pythonic": Provenance(("Ollama", "vLLM")),
        "openhands": Provenance(written_from="the prompt of OpenHands' converter of function calls"),
        "phi4_mini": Provenance(("vLLM",), "the template of phi4-mini in Ollama's library, for the markers"),
        "poolside_v1": Provenance(("vLLM",)),
        "pythonic": Provenance(("SGLang", "smg", "vLLM")),
        "qwen3_coder": Provenance(("ik_llama.cpp", "llama.cpp", "mlx-lm", "Ollama", "SGLang", "smg", "vLLM")),
        "reka_edge": Provenance(("llama.cpp",)),
        "seed_oss": Provenance(("ik_llama.cpp", "llama.cpp")),
        "sentinel": Provenance(("AutoByteus",)),
        "step3": Provenance(("smg", "vLLM")),
        "step3p5": Provenance(("llama.cpp", "vLLM")),
        "structured_output": Provenance(("Tarko",)),
        "think_tags": Provenance(("Ollama",)),
        "tool_call": Provenance(("Tarko",)),
        "tool_code": Provenance(written_from="Google's guide to agents with Gemma 3"),
        "xlam": Provenance(("vLLM",)),
        "xml": Provenance(("AutoByteus",)),
    }
)
"""By the names of the dialects."""
