"""The cases of other parsers' suites that are refused: for which reason, and what would be lost with them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple


class Reason(NamedTuple):
    """A law or a rule of the design, and a text with what it gives, which a reader that did otherwise could not."""

    rule: str
    dialect: str
    text: str
    gives: tuple[str, ...]
    """Content and reasoning as they are; a call as `name(arguments) status`."""
    options: Mapping[str, Any] = MappingProxyType({})


INVENTED: Final = Reason(
    "Law 4, nothing invented: a newline at a file's end is there only if the text has it.",
    "bolt_artifact",
    '<boltArtifact id="a" title="t"><boltAction type="file" filePath="a">x</boltAction></boltArtifact>',
    ("file({'filePath': 'a', 'content': 'x'}) complete",),
)
CUTS: Final = Reason(
    "Law 1, chunk invariance: a call is one wherever its text was cut, and the second as the first.",
    "deepseek_v31",
    "".join(
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{{}}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
        for name in "ab"
    ),
    ("a({}) complete", "b({}) complete"),
)
AS_WRITTEN: Final = Reason(
    "Law 4, nothing invented: names and arguments are as the model wrote them, what is unknown is for the tool to refuse.",
    "minicpm5_xml",
    '<function name="turn_on"><param name="input">{"a": 1}</param></function>',
    ("turn_on({'input': {'a': 1}}) complete",),
    {"tools": [{"name": "turn", "parameters": {"type": "object", "properties": {"a": {}}}}]},
)
SAYS_ITS_TYPE: Final = Reason(
    "Law 4: the text of a path is what JSON has there; a tool that wants a number says so itself, when it validates.",
    "k2_horizon",
    '<ifm|tool_calls><ifm|tool_call>{"name": "f", "arguments": {"n": "007"}}</ifm|tool_call></ifm|tool_calls>',
    ("f({'n': '007'}) complete",),
    {"tools": [{"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}]},
)
CLOSED: Final = Reason(
    "Law 6: a call that has closed is one call; the record of these cases wants none for it.",
    "gemma4",
    "<|tool_call>call:f{}<tool_call|><tool_call|>",
    ("f({}) complete",),
)
NAMELESS: Final = Reason(
    "START waits for the name: what has none is no call, and before START a mismatch is text.",
    "mistral_old",
    'Write [TOOL_CALLS]{"command": "ls"} there.',
    ('Write [TOOL_CALLS]{"command": "ls"} there.',),
)
NOT_ITS_WAY: Final = Reason(
    "Before START a mismatch is text: a name with words behind it is prose about the marker.",
    "glm47",
    "After <tool_call>name comes a=1</tool_call>.",
    ("After <tool_call>name comes a=1</tool_call>.",),
)
HALF: Final = Reason(
    "A stream has one beginning: the record is a piece of another one, without the opener.",
    "glm47",
    "</tool_call>",
    ("</tool_call>",),
)
EARLIEST: Final = Reason(
    "Law 2, earliest emission: a call that has closed is given, whether or not what is around it ends.",
    "json_array_bare",
    '[{"name": "f", "arguments": {}}, {"name": "g"',
    ("f({}) complete", ', {"name": "g"'),
)
CUT_CALL: Final = Reason(
    "Law 5, nothing unsaid: a declared tool's call that the end cuts behind its name fails with its text; its markers are nobody's.",
    "k2_horizon",
    "<ifm|tool_calls><ifm|tool_call>ping",
    ("ping({}) truncated",),
    {"tools": [{"name": "ping", "parameters": {"type": "object"}}]},
)
READ_ON: Final = Reason(
    "What is no call is text, and what follows it is read on: one look-alike does not hide all later calls.",
    "json_bare",
    '{"a": 1} {"name": "f", "arguments": {}}',
    ('{"a": 1} ', "f({}) complete"),
)
FAILS: Final = Reason(
    "Law 4: after START a mismatch fails the call, with all its text; what was given is not taken back.",
    "llama3_json",
    '{"name": "f", "parameters": {"a": "xy", oops}}',
    ("f({'a': 'xy'}) failed",),
)
LEAKED: Final = Reason(
    "The markup of a call is no content: what is expected has most of it, a slip of the peer's own stream.",
    "minicpm5_xml",
    'A\n<function name="f"><param name="a">x</param></function>\nB',
    ("A\n", "f({'a': 'x'}) complete", "\nB"),
)
OWED: Final = Reason(
    "The closer of a reasoning that a call has ended is markup, and nobody's text.",
    "hermes",
    '<think>a<tool_call>{"name": "f", "arguments": {}}</tool_call></think>b',
    ("a", "f({}) complete", "b"),
    {"opener_in_reasoning": "ends"},
)

REFUSED: Final[dict[str, Reason]] = {
    "gemma4/ollama/TestGemma4Parser_IgnoresExtraToolCallCloseTags/same_chunk_without_trailing_content": CLOSED,
    "gemma4/ollama/TestGemma4Parser_IgnoresToolResponseBoundaryAfterToolCall/same_chunk_before_real_content": CLOSED,
    "gemma4/ollama/TestGemma4Parser_IgnoresToolResponseBoundaryAfterToolCall/split_across_chunks_before_real_content": CLOSED,
    "bolt_artifact/bolt.new/valid artifacts with actions #21": INVENTED,
    "deepseek_v31/ollama/TestDeepSeekParser_EdgeCases/consecutive_tool_calls": CUTS,
    "deepseek_v3_cogito/ollama/TestCogitoParser_StreamingEdgeCases/split_tool_calls_begin_tag_conservative_parsing": CUTS,
    "deepseek_v32_dsml/vllm/TestExtractToolCalls::test_input_wrapper_repaired#1": AS_WRITTEN,
    "minicpm5_xml/vllm/test_alias_enable_roaming#1": AS_WRITTEN,
    "minicpm5_xml/vllm/test_alias_get_line_details#1": AS_WRITTEN,
    "minicpm5_xml/vllm/test_properties_wrapped_arguments#1": AS_WRITTEN,
    'k2_horizon/vllm/test_character_split_streaming[tool_request1-<ifm|tool_call>{"name": "lookup", "arguments": {"limit": "2"}}</ifm|tool_call>-expected1]#1': SAYS_ITS_TYPE,
    'k2_horizon/vllm/test_request_level_format_overrides[json-<ifm|tool_call>{"name": "lookup", "arguments": {"limit": "2"}}</ifm|tool_call>-expected0]#1': SAYS_ITS_TYPE,
    "glm47/mlx-lm/test_parsers glm47 multiply #2": NOT_ITS_WAY,
    "mistral_old/vllm/test_extract_tool_calls_empty_name_unparsable_args_no_crash#1": NAMELESS,
    "mistral_old/vllm/test_extract_tool_calls_malformed_name_before_marker_emits_empty_name#1": NAMELESS,
    "mistral_old/vllm/test_extract_tool_calls_streaming_malformed_name_before_marker#1": NAMELESS,
    "mistral_v11/vllm/test_extract_tool_calls_parallel_malformed_then_well_formed#1": NAMELESS,
    "glm47/vllm/TestGlm47Streaming::test_no_args#3": HALF,
    "json_array_bare/ollama/TestParser/list invalid": EARLIEST,
    "k2_horizon/vllm/test_malformed_and_incomplete_input_is_content[<ifm|tool_calls><ifm|tool_call>ping</ifm|tool_call>]#1": EARLIEST,
    "k2_horizon/vllm/test_malformed_and_incomplete_input_is_content[<ifm|tool_calls><ifm|tool_call>ping]#1": CUT_CALL,
    "json_bare/ollama/TestParser/json object followed by tool call": READ_ON,
    "json_bare/ollama/TestParser/json object followed by tool call split": READ_ON,
    "llama3_json/sglang/TestLlama32Detector::test_invalid_then_valid_json#1": FAILS,
    "minicpm5_xml/vllm/test_extract_tool_calls_streaming_multiple#1": LEAKED,
    "minicpm5_xml/vllm/test_extract_tool_calls_streaming_single#1": LEAKED,
    "hermes/ollama/TestQwen3VLThinkingParserStreaming/nested thinking and tool call (outside thinking, inside tool call)": OWED,
}
"""Case -> the reason for which it does not pass."""
