"""How other parsers' cases are run: one row of options for each peer and dialect."""

from __future__ import annotations

from typing import Any, Final

from dialect_cases import Row, varied
from dialects_of_peers import (
    BLOCKS,
    DEEPSEEK_V31_WITH_OUTPUTS,
    DOTS_WITH_TEXT,
    FENCED,
    GEMMA4_ANY_NAME,
    GEMMA4_CLOSER,
    GLM45_ESCAPED,
    KIMI_K2_NUMBERED,
    LFM2_PLAIN,
    QWEN3_CODER_CLOSED,
)

from penstock.operators.value_typing import TypingRules

GUESSING: Final = TypingRules(untyped="literal")
SCALARS: Final = TypingRules(untyped="scalar")
UNTYPED_JSON: Final = TypingRules(untyped="json")
STRINGS_LAST: Final = TypingRules(strings="last", null="always", not_boolean="false")

SEVEN: Final = ("harmony", "hermes", "lfm2", "llama4_pythonic", "pythonic", "qwen3_coder", "think_tags")

ROWS: Final[dict[tuple[str, str], Row]] = {
    ("apertus", "vllm"): Row(content="trimmed"),
    ("apriel", "llama.cpp"): Row(
        prompts={"Apriel-1.6-15b-Thinker-fixed": "Here are my reasoning steps:\n"},
        starts="always",
        content="trimmed",
        reasoning="trimmed",
    ),
    ("bolt_artifact", "bolt.new"): Row(ends=False),
    ("cohere_r7b", "llama.cpp"): Row(prompts={"Cohere2MoE": "<|START_THINKING|>"}),
    ("cohere_r7b", "smg"): Row(unfinished="none"),
    ("deepseek_v31", "llama.cpp"): Row(starts="text", content="trimmed", reasoning="trimmed"),
    ("deepseek_v31", "ollama"): Row(dialects=(DEEPSEEK_V31_WITH_OUTPUTS,), starts="asked", content="trimmed"),
    ("deepseek_v31", "vllm"): Row({"between": "drop"}),
    ("deepseek_v32_dsml", "llama.cpp"): Row(starts="text", content="trimmed"),
    ("deepseek_v3_cogito", "ollama"): Row(starts="expected", content="trimmed"),
    ("deepseek_v3_r1", "smg"): Row({"between": "drop"}),
    ("deepseek_v4_dsml", "llama.cpp"): Row(starts="text"),
    ("dots", "vllm"): Row({"unknown_tool": "text"}, dialects=(DOTS_WITH_TEXT,), ends=False),
    ("ernie45", "vllm"): Row(content="trimmed"),
    ("functionary_v32", "llama.cpp"): Row(prompts={"meetkai-functionary-medium-v3.2": ">>>"}),
    ("gemma4", "llama.cpp"): Row(of_reasoning=GEMMA4_CLOSER, reasoning="trimmed"),
    ("gemma4", "ollama"): Row(reasoning="trimmed"),
    ("gemma4", "vllm"): Row(dialects=(GEMMA4_ANY_NAME,), content="trimmed"),
    ("glm45", "ollama"): Row({"typing": STRINGS_LAST}, blocks=BLOCKS, content="trimmed", reasoning="trimmed"),
    ("glm45", "sglang"): Row(dialects=(GLM45_ESCAPED,)),
    ("glm45", "smg"): Row({"typing": GUESSING}),
    ("glm47", "llama.cpp"): Row(starts="text"),
    ("glm47", "smg"): Row({"between": "drop", "typing": GUESSING}),
    ("hermes", "llama.cpp"): Row({"blanks": "drop"}, starts="text"),
    ("hermes", "ollama"): Row(
        {"blanks": "drop"},
        blocks=BLOCKS,
        starts="text",
        parsers={
            "TestQwen3VLNonThinkingParserStreaming": False,
            "TestQwen3VLNonThinkingToolCallWhitespaceHandling": False,
            "TestQwen3VLThinkingParserStreaming": True,
            "TestQwen3VLThinkingParserWithNonThinkingPrefill": False,
            "TestQwen3VLThinkingParserWithThinkingPrefill": True,
            "TestQwen3VLThinkingWhitespaceHandling": True,
        },
        content="trimmed",
        ends=False,
    ),
    ("hermes", "smg"): Row({"between": "drop"}),
    ("json_bare", "ollama"): Row(unfinished="none"),
    ("k2_horizon", "vllm"): Row(ends=False),
    ("kimi_k2", "sglang"): Row(malformed="calls"),
    ("kimi_k2", "smg"): Row({"between": "drop"}),
    ("kimi_k2", "vllm"): Row(dialects=(KIMI_K2_NUMBERED,)),
    ("kimi_k3", "vllm"): Row(opened=("<|open|>response<|sep|>", "<|close|>response<|sep|>")),
    ("lfm2", "ik_llama.cpp"): Row(dialects=LFM2_PLAIN),
    ("lfm2", "ollama"): Row(content="trimmed", reasoning="trimmed"),
    ("llama3_json", "llama.cpp"): Row(fenced=FENCED, content="trimmed"),
    ("llama3_json", "vllm"): Row(whole=True),
    ("minicpm5_xml", "llama.cpp"): Row(starts="text"),
    ("minimax_m2", "llama.cpp"): Row({"blanks": "drop"}, starts="text"),
    ("minimax_m2", "smg"): Row({"typing": SCALARS}, whole=True, dialects=(varied("minimax_m2", entities=True),)),
    ("mistral_old", "sglang"): Row(content="trimmed"),
    ("mistral_old", "smg"): Row({"between": "drop"}),
    ("mistral_v11", "llama.cpp"): Row(fenced=FENCED, content="trimmed"),
    ("mistral_v11", "ollama"): Row(starts="asked", content="trimmed"),
    ("muse_glimmer", "vllm"): Row({"typing": UNTYPED_JSON}),
    ("nemotron_toolcall", "llama.cpp"): Row(starts="text", reasoning="trimmed"),
    ("qwen3_coder", "ik_llama.cpp"): Row(starts="text", reasoning="trimmed"),
    ("qwen3_coder", "llama.cpp"): Row(
        prompts={"Qwen3.5-4B": "<think>\n"}, starts="text", content="trimmed", reasoning="trimmed"
    ),
    ("qwen3_coder", "ollama"): Row({"blanks": "drop"}, blocks=BLOCKS, starts="text"),
    ("qwen3_coder", "smg"): Row({"typing": GUESSING}, dialects=(QWEN3_CODER_CLOSED,), whole=True),
    ("reka_edge", "llama.cpp"): Row({"blanks": "drop"}, starts="text"),
    ("seed_oss", "llama.cpp"): Row(dialects=(varied("seed_oss", trim=""),), content="trimmed"),
    ("step3", "smg"): Row({"between": "drop", "typing": GUESSING}),
    ("step3p5", "llama.cpp"): Row(starts="text", reasoning="trimmed"),
    ("think_tags", "ollama"): Row(
        starts="asked",
        parsers={
            "TestOlmo3ThinkParser": True,
            "TestOlmo3ThinkParser_StreamingEdgeCases": True,
            "TestOlmo3ThinkParser_ThinkBoundary": True,
        },
        content="trimmed",
        reasoning="trimmed",
    ),
    ("xlam", "vllm"): Row(content="trimmed"),
}
"""(dialect, peer) -> its row, where it is not the usual one."""

_ONE_CALL: Final = {"calls": [{"name": "get_weather", "arguments": {"location": "Paris"}}]}

AMENDED: Final[dict[str, dict[str, Any]]] = {
    "gemma4/ollama/TestGemma4Parser_IgnoresExtraToolCallCloseTags/same_chunk_without_trailing_content": _ONE_CALL,
    "gemma4/ollama/TestGemma4Parser_IgnoresToolResponseBoundaryAfterToolCall/same_chunk_before_real_content": _ONE_CALL,
    "gemma4/ollama/TestGemma4Parser_IgnoresToolResponseBoundaryAfterToolCall/split_across_chunks_before_real_content": _ONE_CALL,
}
"""Case -> what its own test expects, too: all cases of these tests have one list of calls, which their record lost."""

COUNTS: Final[dict[str, tuple[int, int, int]]] = {
    "apertus": (12, 12, 12),
    "apriel": (2, 2, 2),
    "bolt_artifact": (11, 11, 9),
    "cohere_r7b": (15, 15, 15),
    "cohere_r_plus": (1, 1, 1),
    "deepseek_v31": (26, 26, 25),
    "deepseek_v32_dsml": (33, 29, 27),
    "deepseek_v3_cogito": (10, 10, 8),
    "deepseek_v3_r1": (15, 14, 14),
    "deepseek_v4_dsml": (12, 12, 12),
    "dots": (5, 4, 4),
    "ernie45": (3, 3, 3),
    "firefunction_v2": (1, 1, 1),
    "functionary_v31": (1, 1, 1),
    "functionary_v32": (1, 1, 1),
    "functiongemma": (13, 13, 13),
    "gemma4": (54, 51, 51),
    "generic_json": (2, 2, 2),
    "gigachat3": (24, 22, 22),
    "glm45": (34, 33, 33),
    "glm47": (23, 22, 20),
    "granite3": (17, 11, 11),
    "granite_20b_fc": (11, 3, 3),
    "harmony": (8, 8, 8),
    "hermes": (71, 71, 69),
    "hermes_granite4": (7, 6, 6),
    "hunyuan_a13b": (5, 4, 4),
    "hunyuan_v3": (7, 6, 6),
    "inkling": (12, 8, 8),
    "internlm2": (5, 4, 4),
    "jamba": (3, 3, 3),
    "json_array_bare": (6, 3, 2),
    "json_bare": (8, 8, 6),
    "k2_horizon": (11, 11, 8),
    "kimi_k2": (53, 45, 45),
    "kimi_k3": (13, 10, 10),
    "lfm2": (71, 66, 66),
    "llama3_json": (19, 19, 18),
    "llama4_pythonic": (11, 11, 11),
    "longcat": (10, 6, 6),
    "minicpm5_xml": (28, 23, 16),
    "minimax_m2": (21, 21, 21),
    "minimax_m3": (12, 12, 12),
    "mistral_old": (12, 11, 8),
    "mistral_v11": (37, 37, 36),
    "muse_glimmer": (12, 8, 8),
    "nemotron_toolcall": (1, 1, 1),
    "olmo3_pythonic": (21, 21, 21),
    "phi4_mini": (6, 2, 2),
    "poolside_v1": (3, 2, 2),
    "pythonic": (21, 21, 21),
    "qwen3_coder": (81, 78, 77),
    "reka_edge": (8, 8, 8),
    "seed_oss": (4, 4, 4),
    "step3": (11, 9, 9),
    "step3p5": (18, 18, 18),
    "think_tags": (15, 15, 15),
    "xlam": (8, 8, 8),
}
"""Of each file: its cases, those that say something for us to keep, and those of them that pass."""
