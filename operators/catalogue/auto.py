"""The dialects that `auto` reads together, and why the others are left out."""

from __future__ import annotations

from typing import Final

# If a text fits two dialects, the first one wins: of GLM's the one that keeps a value's whitespace.
AUTO: Final[tuple[str, ...]] = (
    # `<tool_call>` or `<function=…>`, and what comes behind tells them apart
    *("hermes", "qwen3_coder", "functionary_v31", "glm47", "glm45"),
    # `<tool_calls>`
    *("jamba", "minimax_m1", "hunyuan_v3"),
    # `<function_calls>`
    *("anthropic_legacy", "olmo3_pythonic"),
    # DeepSeek's
    *("deepseek_v31", "deepseek_v3_r1", "deepseek_v3_cogito", "deepseek_v32_dsml", "deepseek_v4_dsml"),
    # Mistral's
    *("mistral_v11", "mistral_old"),
    # an opener of their own
    *("apertus", "bolt_artifact", "cohere_r7b", "dots", "functiongemma", "gemma4", "gigachat3", "gigachat35"),
    "granite_20b_fc",
    *("harmony", "inkling", "internlm2", "k2_horizon", "kimi_k2", "kimi_k3", "lfm2", "llama_python_tag", "longcat"),
    *("minimax_m2", "minimax_m3", "nemotron_toolcall", "phi4_mini", "seed_oss", "sentinel", "step3", "tool_code"),
)
"""The dialects whose markers nothing else has: no prose, code or data is taken for a call."""

_JSON: Final = "JSON without a marker: data in an answer would be a call"
_CODE: Final = "code without a marker: a list of calls in an answer would be one"
_TAGS: Final = "ordinary XML has these tags too"
_ANSWER: Final = "takes ordinary tags for markup around the answer"
_PROSE: Final = "its reasoning begins with a sentence that anyone may write"

NOT_IN_AUTO: Final[dict[str, str]] = {
    "json": _JSON,
    "json_bare": _JSON,
    "json_array_bare": _JSON,
    "generic_json": _JSON,
    "structured_output": _JSON,
    "llama3_json": _JSON,
    "xlam": _JSON,
    "fenced_json": "a JSON example in a fence would be a call",
    "cohere_r_plus": "an action with a JSON example in a fence would be a call",
    "pythonic": _CODE,
    "llama4_pythonic": _CODE,
    "cline": _TAGS,
    "xml": _TAGS,
    "minicpm5_xml": _TAGS,
    "ernie45": _ANSWER,
    "hunyuan_a13b": _ANSWER,
    "apriel": _PROSE,
    "granite3": _PROSE,
    "aider": "blocks of this kind are shown as text, too",
    "functionary_v32": "its marker is the prompt of Python's console",
    "muse_glimmer": "has harmony's markers and means something else with them",
    "hermes_granite4": "hermes",
    "reka_edge": "hermes",
    "tool_call": "hermes",
    "mimo": "qwen3_coder",
    "step3p5": "qwen3_coder",
    "openhands": "qwen3_coder",  # but for calls that a stop word has cut
    "poolside_v1": "glm47",
    "firefunction_v2": "phi4_mini",
    "think_tags": "hermes",
}
"""The others: why, or the name of one of `AUTO` that reads all they write."""
