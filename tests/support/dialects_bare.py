"""The cases of other parsers' suites that do not pass without a row of options, by what they want instead."""

from __future__ import annotations

from typing import Final

BARE: Final[dict[str, tuple[str, ...]]] = {
    # vLLM, SGLang and smg cut it off only where they parse a whole answer; in their streams it is content.
    "text behind a call is dropped": (
        "deepseek_v31/vllm/test_extract_tool_calls_with_multiple_tools#1",
        "deepseek_v3_r1/smg/test_deepseek_complete_parsing",
        "glm47/smg/test_glm47_complete_parsing",
        "hermes/smg/test_qwen_real_world_output",
        "hermes/smg/test_qwen_with_text_between",
        "kimi_k2/smg/test_kimik2_complete_parsing",
        "mistral_old/smg/test_mistral_real_world_output",
        "step3/smg/test_step3_complete_parsing",
    ),
    # Ollama drops them; vLLM, smg and llama.cpp keep the newline before a call of these formats.
    "blanks around calls are dropped": (
        "reka_edge/llama.cpp/Reka-Edge@5632",
        "hermes/ollama/TestQwen3VLNonThinkingParserStreaming/test with split tool and content",
        "hermes/ollama/TestQwen3VLNonThinkingToolCallWhitespaceHandling/unicode whitespace around tool calls",
        "hermes/ollama/TestQwen3VLNonThinkingToolCallWhitespaceHandling/whitespace between content and tool call",
        "hermes/ollama/TestQwen3VLNonThinkingToolCallWhitespaceHandling/whitespace inside tool call preserves trailing space #2",
        "hermes/ollama/TestQwen3VLThinkingWhitespaceHandling/whitespace inside tool call preserves trailing space",
        "hermes/ollama/TestQwen3VLThinkingWhitespaceHandling/whitespace inside tool call preserves trailing space #2",
        "hermes/ollama/TestQwen3VLToolCallWhitespaceHandling/whitespace inside tool call is fully preserved (with content prefill)",
        "qwen3_coder/ollama/TestNemotron3NanoParser/thinking content then tool call",
        "qwen3_coder/ollama/TestNemotron3NanoParser_Streaming/thinking then content then tool call - streaming",
        "qwen3_coder/ollama/TestQwenParserStreaming/ideographic space before partial tool",
    ),
    # smg guesses types, and decodes entities and trims blanks, where vLLM has the text as it is written.
    "a raw value without a schema is no text": (
        "minimax_m2/smg/test_minimax_python_literals",
        "minimax_m2/smg/test_minimax_type_conversion",
        "minimax_m2/smg/test_minimax_xml_entities",
        "qwen3_coder/smg/test_qwen_xml_empty_parameter_value",
        "qwen3_coder/smg/test_qwen_xml_mixed_html_and_json",
        "qwen3_coder/smg/test_qwen_xml_python_literals",
        "qwen3_coder/smg/test_qwen_xml_string_parameters",
        "qwen3_coder/smg/test_qwen_xml_whitespace_handling",
    ),
    # The text behind the call may still belong to its value, and their stream never ends.
    "a raw value ends with its first closer": (
        "bolt_artifact/bolt.new/valid artifacts with actions #20",
        "dots/vllm/test_streaming_buffers_partial_marker_and_emits_all_complete_calls#1",
        "k2_horizon/vllm/test_character_split_streaming[tool_request0-call0-expected0]#1",
        "k2_horizon/vllm/test_character_split_streaming[tool_request2-call2-expected2]#1",
    ),
    # A whole answer can be read twice; in a stream START is out. `whole_calls` gives the text back.
    "a broken call is text": (
        "llama3_json/vllm/test_extract_tool_calls_invalid_json#1",
        "minimax_m2/smg/test_minimax_incomplete_tool_call",
        "qwen3_coder/smg/test_qwen_xml_incomplete_tool_call",
    ),
    # The request asked for JSON of a schema, which the text does not say.
    "a fence around the whole answer is dropped": (
        "llama3_json/llama.cpp/meta-llama-Llama-3.1-8B-Instruct@5795",
        "mistral_v11/llama.cpp/mistralai-Ministral-3-14B-Reasoning-2512@2613",
    ),
    # Other peers' cases of the same dialect want the contrary, or prose would be a call.
    "one peer alone has the format so": (
        "gemma4/vllm/TestBareAndMalformedOpeners::test_three_mixed_calls#1",
        "glm45/ollama/TestGLM46ToolCallParsing/anyOf array or string - with array of objects",
        "hermes/ollama/TestQwen3VLThinkingParserStreaming/simple trip thinking",
        "lfm2/ik_llama.cpp/LFM2-8B-A1B@3688",
        "seed_oss/ik_llama.cpp/ByteDance-Seed-OSS@2733",
    ),
}
"""What they want -> the cases; those that no row helps are in `dialects_refused`."""
