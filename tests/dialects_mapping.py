"""How other parsers' cases are run: one row of options for each peer and dialect, and the cases that are refused."""

from __future__ import annotations

from typing import Final

from dialect_cases import Row, varied

from penstock.operators.dialect import Dialect, Text
from penstock.operators.value_typing import TypingRules

GUESSING: Final = TypingRules(untyped="literal")
UNTYPED_JSON: Final = TypingRules(untyped="json")
STRINGS_LAST: Final = TypingRules(strings="last", null="always", not_boolean="false")

BLOCKS: Final = Dialect("blocks", ("<tool_call>", Text("name"), "</tool_call>"), reasoning=(("<think>", "</think>"),))
"""What lies between the markers, as it is: the streaming parser of these peers decodes it later."""

SEVEN: Final = ("harmony", "hermes", "lfm2", "llama4_pythonic", "pythonic", "qwen3_coder", "think_tags")

ROWS: Final[dict[tuple[str, str], Row]] = {
    ("apertus", "vllm"): Row(content="trimmed"),
    ("apriel", "llama.cpp"): Row(starts="text"),
    ("bolt_artifact", "bolt.new"): Row(ends=False),
    ("cohere_r7b", "llama.cpp"): Row(starts="text"),
    ("cohere_r7b", "smg"): Row(unfinished="none"),
    ("deepseek_v31", "llama.cpp"): Row(starts="text", content="trimmed", reasoning="trimmed"),
    ("deepseek_v31", "ollama"): Row(starts="asked", content="trimmed"),
    ("deepseek_v31", "vllm"): Row({"between": "drop"}),
    ("deepseek_v32_dsml", "llama.cpp"): Row(starts="text", content="trimmed"),
    ("deepseek_v3_cogito", "ollama"): Row(
        thinks="nested|multiline", plain="TestParser/|empty_thinking_content", content="trimmed"
    ),
    ("deepseek_v3_r1", "smg"): Row({"between": "drop"}),
    ("deepseek_v4_dsml", "llama.cpp"): Row(starts="text"),
    ("dots", "vllm"): Row({"unknown_tool": "text"}, ends=False),
    ("ernie45", "vllm"): Row(content="trimmed"),
    ("gemma4", "llama.cpp"): Row(reasoning="trimmed"),
    ("gemma4", "ollama"): Row(reasoning="trimmed"),
    ("gemma4", "vllm"): Row(content="trimmed"),
    ("glm45", "ollama"): Row({"typing": STRINGS_LAST}, blocks=BLOCKS, content="trimmed", reasoning="trimmed"),
    ("glm45", "smg"): Row({"typing": GUESSING}),
    ("glm47", "llama.cpp"): Row(starts="text"),
    ("glm47", "smg"): Row({"between": "drop", "typing": GUESSING}),
    ("hermes", "llama.cpp"): Row({"blanks": "drop"}, starts="text"),
    ("hermes", "ollama"): Row(
        {"blanks": "drop"},
        blocks=BLOCKS,
        thinks="TestQwen3VLThinking(?!.*NonThink)|TestQwen3VLToolCallWhitespaceHandling/(thinking|whitespace_inside|whitespace_between_thinking)",
        plain="TestQwen3VLNonThinking|NonThinkingPrefill|TestParser",
        content="trimmed",
        ends=False,
    ),
    ("hermes", "smg"): Row({"between": "drop"}),
    ("json_bare", "ollama"): Row(unfinished="none"),
    ("k2_horizon", "vllm"): Row(ends=False),
    ("kimi_k2", "smg"): Row({"between": "drop"}),
    ("lfm2", "ik_llama.cpp"): Row(dialects=(varied("lfm2", escapes=False), varied("pythonic", escapes=False))),
    ("lfm2", "ollama"): Row(content="trimmed", reasoning="trimmed"),
    ("llama3_json", "llama.cpp"): Row(content="trimmed"),
    ("minicpm5_xml", "llama.cpp"): Row(starts="text"),
    ("minimax_m2", "llama.cpp"): Row({"blanks": "drop"}, starts="text"),
    ("minimax_m2", "smg"): Row({"typing": GUESSING}, dialects=(varied("minimax_m2", entities=True),)),
    ("mistral_old", "sglang"): Row(content="trimmed"),
    ("mistral_old", "smg"): Row({"between": "drop"}),
    ("mistral_v11", "ollama"): Row(starts="asked", content="trimmed"),
    ("muse_glimmer", "vllm"): Row({"typing": UNTYPED_JSON}),
    ("nemotron_toolcall", "llama.cpp"): Row(starts="text", reasoning="trimmed"),
    ("qwen3_coder", "ik_llama.cpp"): Row(starts="text", reasoning="trimmed"),
    ("qwen3_coder", "llama.cpp"): Row(starts="text", thinks="Qwen3.5-4B@2342", content="trimmed", reasoning="trimmed"),
    ("qwen3_coder", "ollama"): Row({"blanks": "drop"}, blocks=BLOCKS, starts="text", plain="asked"),
    ("qwen3_coder", "smg"): Row({"typing": GUESSING}, dialects=(varied("qwen3_coder", trim="blanks"),)),
    ("reka_edge", "llama.cpp"): Row({"blanks": "drop"}, starts="text"),
    ("seed_oss", "llama.cpp"): Row(content="trimmed"),
    ("step3", "smg"): Row({"between": "drop", "typing": GUESSING}),
    ("step3p5", "llama.cpp"): Row(starts="text", reasoning="trimmed"),
    ("think_tags", "ollama"): Row(thinks="Olmo3Think", content="trimmed", reasoning="trimmed"),
    ("xlam", "vllm"): Row(content="trimmed"),
}
"""(dialect, peer) -> its row, where it is not the usual one."""

_FROM_THE_PROMPT = "The reasoning that it wants begins with text of the prompt, which is not in the stream."
_INVENTED = "Law 4, nothing invented: the newline it wants at a file's end is not in the text."
_NO_CALL = "Law 3, nothing lost: markers around what is no call are text."
_CUTS = "Law 1: what a text says depends neither on where it was cut nor on another piece that follows."
_AS_WRITTEN = "Names and arguments are given as the model wrote them; what else they may mean is for the tool."
_SAYS_ITS_TYPE = "The text itself says whether a value is JSON, and of which type; the schema does not overrule it."
_NO_MARKER = "A message without a marker cannot be told from text."
_BEFORE_START = "Before START a mismatch is text: this is not the format's way to write a call."
_HALF = "A piece of another case: its opener is missing."
_WIDE_BLANKS = "Blanks are spaces, tabs and line ends; wider ones are text."
_EARLIEST = "Law 2: a call is given as it comes, whether or not what is around it ends."
_READ_ON = "An object that is no call is text, and what follows it is read on."
_FAILS = "After START a mismatch fails the call, with all its text."
_ITS_OWN = "After START the text is the call's: cut short, it is a call still."
_AN_INDEX = "An id without an index has a name all the same."
_A_FENCE = "Law 3, nothing lost: a fence around structured output is content, no call is in it."
_LEAKED = "The content that it wants has part of a call's markup, or the text a tokenizer's own letters."
_ONE_RULE = "One rule for all untyped values: what is a literal is read as one."
_NESTED = "Values of nested tags are text."
_OWED = "The closer of a reasoning that a call has ended is markup, and nobody's text."
_NEWLINE = "A newline beside a tag is markup."

REFUSED: Final[dict[str, str]] = {
    "apriel/llama.cpp/Apriel-1.6-15b-Thinker-fixed@5704": _FROM_THE_PROMPT,
    "apriel/llama.cpp/Apriel-1.6-15b-Thinker-fixed@5712": _FROM_THE_PROMPT,
    "cohere_r7b/llama.cpp/Cohere2MoE@2848": _FROM_THE_PROMPT,
    "kimi_k3/vllm/test_delegating_parser_auto_no_call_strips_consumed_response_prefix#1": _FROM_THE_PROMPT,
    "bolt_artifact/bolt.new/valid artifacts with actions #21": _INVENTED,
    "bolt_artifact/bolt.new/valid artifacts without actions #13": _NO_CALL,
    "deepseek_v31/ollama/TestDeepSeekParser/empty_tool_output": _NO_CALL,
    "deepseek_v31/ollama/TestDeepSeekParser_Streaming/streaming_tool_output": _NO_CALL,
    "deepseek_v3_cogito/ollama/TestCogitoParser/tool_output_parsing": _NO_CALL,
    "dots/vllm/test_streaming_malformed_block_does_not_block_later_valid_call#1": _NO_CALL,
    "gemma4/llama.cpp/google-gemma-4-31B-it@3100": _NO_CALL,
    "gemma4/ollama/TestGemma4Parser_IgnoresExtraToolCallCloseTags/same_chunk_without_trailing_content": _NO_CALL,
    "gemma4/ollama/TestGemma4Parser_IgnoresToolResponseBoundaryAfterToolCall/same_chunk_before_real_content": _NO_CALL,
    "gemma4/ollama/TestGemma4Parser_IgnoresToolResponseBoundaryAfterToolCall/split_across_chunks_before_real_content": _NO_CALL,
    "deepseek_v31/ollama/TestDeepSeekParser_EdgeCases/consecutive_tool_calls": _CUTS,
    "deepseek_v3_cogito/ollama/TestCogitoParser_StreamingEdgeCases/split_tool_calls_begin_tag_conservative_parsing": _CUTS,
    "deepseek_v32_dsml/vllm/TestExtractToolCalls::test_input_wrapper_repaired#1": _AS_WRITTEN,
    "minicpm5_xml/vllm/test_alias_enable_roaming#1": _AS_WRITTEN,
    "minicpm5_xml/vllm/test_alias_get_line_details#1": _AS_WRITTEN,
    "minicpm5_xml/vllm/test_extra_arguments_ignored_when_required_present#1": _AS_WRITTEN,
    "minicpm5_xml/vllm/test_properties_wrapped_arguments#1": _AS_WRITTEN,
    "minicpm5_xml/vllm/test_zero_arg_tool_ignores_extra_arguments#1": _AS_WRITTEN,
    "deepseek_v32_dsml/vllm/TestExtractToolCalls::test_string_attr_true_coerced_by_composed_schema#1": _SAYS_ITS_TYPE,
    "deepseek_v32_dsml/vllm/TestExtractToolCallsStreaming::test_streaming_matches_non_streaming_conversion_fallbacks#1": _SAYS_ITS_TYPE,
    "deepseek_v32_dsml/vllm/TestExtractToolCallsStreaming::test_streaming_matches_non_streaming_conversion_fallbacks#2": _SAYS_ITS_TYPE,
    'k2_horizon/vllm/test_character_split_streaming[tool_request1-<ifm|tool_call>{"name": "lookup", "arguments": {"limit": "2"}}</ifm|tool_call>-expected1]#1': _SAYS_ITS_TYPE,
    'k2_horizon/vllm/test_request_level_format_overrides[json-<ifm|tool_call>{"name": "lookup", "arguments": {"limit": "2"}}</ifm|tool_call>-expected0]#1': _SAYS_ITS_TYPE,
    "functionary_v32/llama.cpp/meetkai-functionary-medium-v3.2@5444": _NO_MARKER,
    "gemma4/ollama/TestGemma4Parser/tool_call_with_mixed_raw_and_gemma_quoted_values": _BEFORE_START,
    "gemma4/vllm/TestBareAndMalformedOpeners::test_three_mixed_calls#1": _BEFORE_START,
    "glm45/sglang/TestGlm4MoeDetector::test_array_argument_with_escaped_json#2": _BEFORE_START,
    "glm45/sglang/TestGlm4MoeDetector::test_array_argument_with_escaped_json#6": _BEFORE_START,
    "glm47/mlx-lm/test_parsers glm47 multiply #2": _BEFORE_START,
    "mistral_old/vllm/test_extract_tool_calls_empty_name_unparsable_args_no_crash#1": _BEFORE_START,
    "mistral_old/vllm/test_extract_tool_calls_malformed_name_before_marker_emits_empty_name#1": _BEFORE_START,
    "mistral_old/vllm/test_extract_tool_calls_streaming_malformed_name_before_marker#1": _BEFORE_START,
    "mistral_v11/vllm/test_extract_tool_calls_parallel_malformed_then_well_formed#1": _BEFORE_START,
    "glm47/vllm/TestGlm47Streaming::test_no_args#3": _HALF,
    "hermes/ollama/TestQwen3VLNonThinkingToolCallWhitespaceHandling/unicode whitespace around tool calls": _WIDE_BLANKS,
    "qwen3_coder/ollama/TestQwenParserStreaming/ideographic space before partial tool": _WIDE_BLANKS,
    "json_array_bare/ollama/TestParser/list invalid": _EARLIEST,
    "k2_horizon/vllm/test_malformed_and_incomplete_input_is_content[<ifm|tool_calls><ifm|tool_call>ping</ifm|tool_call>]#1": _EARLIEST,
    "json_bare/ollama/TestParser/json object followed by tool call": _READ_ON,
    "json_bare/ollama/TestParser/json object followed by tool call split": _READ_ON,
    "kimi_k2/sglang/TestKimiK2EndToEnd::test_e2e_malformed_json_args_passes_through_to_client#1": _FAILS,
    "kimi_k2/sglang/TestKimiK2EndToEnd::test_e2e_malformed_json_args_passes_through_to_client#2": _FAILS,
    "llama3_json/sglang/TestLlama32Detector::test_invalid_then_valid_json#1": _FAILS,
    "llama3_json/vllm/test_extract_tool_calls_invalid_json#1": _FAILS,
    "minimax_m2/smg/test_minimax_incomplete_tool_call": _ITS_OWN,
    "qwen3_coder/smg/test_qwen_xml_incomplete_tool_call": _ITS_OWN,
    "kimi_k2/vllm/TestExtractToolCalls::test_invalid_funcall_id_skipped#1": _AN_INDEX,
    "llama3_json/llama.cpp/meta-llama-Llama-3.1-8B-Instruct@5795": _A_FENCE,
    "mistral_v11/llama.cpp/mistralai-Ministral-3-14B-Reasoning-2512@2613": _A_FENCE,
    "minicpm5_xml/vllm/test_collapsed_param_tags_with_tokenizer_space_function#1": _LEAKED,
    "minicpm5_xml/vllm/test_extract_tool_calls_streaming_multiple#1": _LEAKED,
    "minicpm5_xml/vllm/test_extract_tool_calls_streaming_single#1": _LEAKED,
    "minimax_m2/smg/test_minimax_invalid_json_in_parameters": _ONE_RULE,
    "minimax_m3/llama.cpp/MiniMax-M3@5183": _NESTED,
    "minimax_m3/llama.cpp/MiniMax-M3@5210": _NESTED,
    "minimax_m3/llama.cpp/MiniMax-M3@5248": _NESTED,
    "minimax_m3/vllm/test_non_streaming_nested_tool_call#1": _NESTED,
    "minimax_m3/vllm/test_streaming_nested_tool_call#1": _NESTED,
    "hermes/ollama/TestQwen3VLThinkingParserStreaming/nested thinking and tool call (outside thinking, inside tool call)": _OWED,
    "seed_oss/llama.cpp/ByteDance-Seed-OSS@3446": _NEWLINE,
}
"""Case -> the law or rule that forbids what it expects."""

COUNTS: Final[dict[str, tuple[int, int, int]]] = {
    "apertus": (12, 12, 12),
    "apriel": (2, 2, 0),
    "bolt_artifact": (11, 11, 9),
    "cohere_r7b": (15, 15, 14),
    "cohere_r_plus": (1, 1, 1),
    "deepseek_v31": (26, 26, 23),
    "deepseek_v32_dsml": (33, 29, 25),
    "deepseek_v3_cogito": (10, 10, 8),
    "deepseek_v3_r1": (15, 14, 14),
    "deepseek_v4_dsml": (12, 12, 12),
    "dots": (5, 4, 3),
    "ernie45": (3, 3, 3),
    "firefunction_v2": (1, 1, 1),
    "functionary_v31": (1, 1, 1),
    "functionary_v32": (1, 1, 0),
    "functiongemma": (13, 13, 13),
    "gemma4": (54, 51, 45),
    "generic_json": (2, 2, 2),
    "gigachat3": (24, 22, 22),
    "glm45": (34, 33, 31),
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
    "kimi_k2": (53, 45, 42),
    "kimi_k3": (13, 10, 9),
    "lfm2": (71, 66, 66),
    "llama3_json": (19, 19, 16),
    "llama4_pythonic": (11, 11, 11),
    "longcat": (10, 6, 6),
    "minicpm5_xml": (28, 23, 15),
    "minimax_m2": (21, 21, 19),
    "minimax_m3": (12, 12, 7),
    "mistral_old": (12, 11, 8),
    "mistral_v11": (37, 37, 35),
    "muse_glimmer": (12, 8, 8),
    "nemotron_toolcall": (1, 1, 1),
    "olmo3_pythonic": (21, 21, 21),
    "phi4_mini": (6, 2, 2),
    "poolside_v1": (3, 2, 2),
    "pythonic": (21, 21, 21),
    "qwen3_coder": (81, 78, 76),
    "reka_edge": (8, 8, 8),
    "seed_oss": (4, 4, 3),
    "step3": (11, 9, 9),
    "step3p5": (18, 18, 18),
    "think_tags": (15, 15, 15),
    "xlam": (8, 8, 8),
}
"""Of each file: its cases, those that say something for us to keep, and those of them that pass."""
