"""What models and servers get wrong in a format, and how its dialect reads it all the same."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest
from dialect_cases import Outcome, run
from looped import looped

from penstock.events import ToolInvocation
from penstock.operators.catalogue import DIALECTS
from penstock.operators.dialects.parts import FILE_GUARDS
from penstock.operators.engine.drive import drive
from penstock.operators.grammar.outside_markers import END_TOKENS
from penstock.operators.parse_text import parse_text
from penstock.operators.schemas.value_typing import TypingRules
from penstock.operators.to_invocations import to_invocations
from penstock.operators.writing.call_writer import CallToRender
from penstock.operators.writing.render_call import render_call, render_calls

CITY = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]


def read(text: str, dialect: str, **options: Any) -> Outcome:
    whole = run([text], [dialect], options)[1]
    assert whole.raw == text
    assert run(list(text), [dialect], options)[1] == whole
    return whole


@pytest.mark.parametrize("spare", ["", "<tool_call|>", "<|tool_response>", "<tool_call|><tool_call|><|tool_response>"])
def test_closers_too_many_behind_a_call_are_nobodys_text(spare: str):
    found = read(f'<|tool_call>call:f{{a:<|"|>x<|"|>}}<tool_call|>{spare} Done', "gemma4")
    assert (found.content.strip(), [call.arguments for call in found.calls]) == ("Done", [{"a": "x"}])


@pytest.mark.parametrize("marker", ["<tool_call|>", "<|tool_response>"])
def test_a_closer_without_a_call_is_text(marker: str):
    assert read(f"Write {marker}.", "gemma4").content == f"Write {marker}."


def test_a_string_in_plain_quotes_has_escapes_and_one_in_markers_has_none():
    found = read(r'<|tool_call>call:f{a:"x \"y\"",b:<|"|>z \"<|"|>}<tool_call|>', "gemma4")
    assert found.calls[0].arguments == {"a": 'x "y"', "b": 'z \\"'}


@pytest.mark.parametrize("opener", ['<function name="f">', '<functionname="f">', '<functionĠname="f">'])
@pytest.mark.parametrize("parameter", ['<param name="a">', '<paramname="a">'])
def test_the_blank_in_a_tag_may_be_gone(opener: str, parameter: str):
    found = read(f"{opener}{parameter}x</param></function>", "minicpm5_xml")
    assert [(call.name, call.arguments) for call in found.calls] == [("f", {"a": "x"})]


@pytest.mark.parametrize(("text", "expected"), [("null", "null"), ("[1]", "[1]"), ('"x"', "x"), ("x", "x")])
def test_a_value_that_its_tag_says_is_json_is_a_string_where_nothing_else_would_do(text: str, expected: str):
    call = f'<｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="false">{text}</｜DSML｜parameter></｜DSML｜invoke>'
    found = read(f"<｜DSML｜function_calls>{call}</｜DSML｜function_calls>", "deepseek_v32_dsml", tools=CITY)
    assert found.calls[0].arguments == {"a": expected}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", 7), ("True", True), ("None", None), ("x", "x"), ('{"b": 1}', '{"b": 1}'), ("(1, 2)", "(1, 2)")],
)
def test_without_a_schema_single_values_may_be_read_and_others_left(text: str, expected: Any):
    call = f'<minimax:tool_call><invoke name="f"><parameter name="a">{text}</parameter></invoke></minimax:tool_call>'
    found = read(call, "minimax_m2", typing=TypingRules(untyped="scalar"))
    assert found.calls[0].arguments == {"a": expected}


Said: TypeAlias = tuple[str, dict[str, Any], str]

F: Said = ("f", {"a": "x"}, "complete")
G: Said = ("g", {}, "complete")
ONE = '{"name": "f", "arguments": {"a": "x"}}'
TWO = '{"name": "g", "arguments": {}}'
SLIPS_IN_TAGS: tuple[tuple[str, str, str, list[Said]], ...] = (
    ("hermes", f"<tool_call>{ONE}</tool_call>\n</tool_call> Done", " Done", [F]),
    ("hermes", "Write </tool_call>.", "Write </tool_call>.", []),
    ("hermes", f"<tools>{ONE}</tools>", f"<tools>{ONE}</tools>", []),
    ("hermes", f"<tool_call>{ONE}\n<code>f</code> is called.", "\n<code>f</code> is called.", [F]),
    ("qwen3_coder", "<function=f><parameter=it's>x</parameter></function>", "", [("f", {"it's": "x"}, "complete")]),
    ("qwen3_coder", "<function=f><parameter= a b >x</parameter></function>", "", [("f", {"a b": "x"}, "complete")]),
    ("openhands", "<function=f>\n<parameter=a>\nx\n</function>", "", [F]),
    ("bolt_artifact", 'Use <boltArtifact id="a" title="t">. Bye', 'Use <boltArtifact id="a" title="t">. Bye', []),
    ("phi4_mini", 'functools {"name": "f"}', 'functools {"name": "f"}', []),
    ("hermes", f"<tool_call>{ONE}</tool_call></tool_call> Write </tool_call>.", " Write </tool_call>.", [F]),
    ("hermes", f"<tool_call>{ONE} and </tool_call> more", " and  more", [F]),
    ("hermes", f"<tool_call>\n{ONE}\n{TWO}\n</tool_call>", "", [F, G]),
    ("hermes", f"<tool_call>{ONE}, {TWO}", "", [F, G]),
    ("hermes", f"<tool_call>{ONE}, and more", ", and more", [F]),
    ("hermes", f'<tool_call>{ONE}</tool_call> {{"a"}} is a set', ' {"a"} is a set', [F]),
    ("hermes", '<tool_call>{"args": {"a": "x"}, "name": "f"}</tool_call>', "", [F]),
    ("hermes", f'<tool_call>{ONE}, {{"name": "Ada", "age": 7}}', ', {"name": "Ada", "age": 7}', [F]),
    ("hermes", '<tools>{"name": "f", "parameters": {}}</tools>', '<tools>{"name": "f", "parameters": {}}</tools>', []),
    (
        "qwen3_coder",
        "<function=f>\n<parameter=command=add</parameter>\n<parameter=path>\n/x\n</parameter>\n</function>",
        "",
        [("f", {"command": "add", "path": "/x"}, "complete")],
    ),
    ("qwen3_coder", '<function="f"><parameter="a">x</parameter></function>', "", [F]),
    ("qwen3_coder", "<function='f'><parameter='a'>x</parameter></function>", "", [F]),
    (
        "qwen3_coder",
        "<function=f><parameter=command\nls > a\n</parameter></function> Done",
        " Done",
        [("f", {}, "failed")],
    ),
    (
        "qwen3_coder",
        "<function=f><parameter=a>x</parameter></function></tool_call>\n</tool_call> Done",
        " Done",
        [F],
    ),
    ("qwen3_coder", "Write </function></tool_call>.", "Write </function></tool_call>.", []),
    (
        "openhands",
        "<think>Hm</think><tool_call>\n<function=f>\n<parameter=a>\nif\n</parameter>\n</function>\n</tool_call>",
        "",
        [("f", {"a": "if"}, "complete")],
    ),
    ("openhands", "<function=f>\n<parameter=a>x</parameter>\n", "", [F]),
    ("openhands", "<function=f>\n<parameter=a>x", "", [("f", {}, "truncated")]),
    ("nemotron_toolcall", f"<TOOLCALL>{ONE}</TOOLCALL>", "", [F]),
    ("fenced_json", f"```json\n{ONE}\n{TWO}\n```", "", [F, G]),
    (
        "fenced_json",
        '```json\n{"name": "my-app", "version": "1"}\n```',
        '```json\n{"name": "my-app", "version": "1"}\n```',
        [],
    ),
    ("fenced_json", f'```json\n{ONE}\n{{"name": "x"}}\n```', '{"name": "x"}\n```', [F]),
    ("bolt_artifact", "Write <boltArtifact> first.", "Write <boltArtifact> first.", []),
    ("json", '{"tool": "f", "tool_input": {"a": "x"}}', "", [F]),
    ("json", '{"functionCall": {"name": "f", "args": {"a": "x"}}}', "", [F]),
    ("json", '{"function_call": {"name": "f", "arguments": "{\\"a\\": \\"x\\"}"}}', "", [F]),
    ("json", f'{{"tool_call": {ONE}}}', "", [F]),
    ("cline", "<think>Hm</think><f>\n<a>\nx\n</a>\n</f>", "", [F]),
    (
        "cline",
        "<new_rule>\n<path>a.md</path>\n<content>\n<path>\n<content>x</content>\n</content>\n</new_rule>",
        "",
        [("new_rule", {"path": "a.md", "content": "<path>\n<content>x</content>"}, "complete")],
    ),
    (
        "anthropic_legacy",
        "<function_calls><invoke><tool_name>f</tool_name><a>x</a></invoke></function_calls>",
        "",
        [F],
    ),
    (
        "anthropic_legacy",
        'Ok <antml:invoke name="f"><antml:parameter name="a">x</antml:parameter></antml:invoke></antml:function_calls>',
        "Ok ",
        [F],
    ),
    ("anthropic_legacy", 'Write <invoke name="f">.', 'Write <invoke name="f">.', []),
)


@looped("dialect, text, content, calls", SLIPS_IN_TAGS)
def test_a_slip_in_tags_is_read_or_fails_the_call(dialect: str, text: str, content: str, calls: list[Said]):
    found = read(text, dialect)
    assert (found.content, [call[:3] for call in found.calls]) == (content, calls)


SEARCH = '{"tool_name": "f", "parameters": {"a": "x"}}'
BODY = '<|message|>{"a": "x"}<|call|>'
SLIPS_BETWEEN_MARKERS: tuple[tuple[str, str, str, str, list[Said]], ...] = (
    # the type of the content, the recipient and the end of a message, as gpt-oss gets them wrong
    ("harmony", f"<|channel|>commentary to=functions.f code{BODY}", "", "", [F]),
    ("harmony", f"<|channel|>commentary to=functions.f <|constrain|>JSON{BODY}", "", "", [F]),
    ("harmony", f"<|channel|>commentary to=f <|constrain|>json{BODY}", "", "", [F]),
    ("harmony", f"<|channel|>analysis to=web.find code{BODY}", "", "", [("web.find", {"a": "x"}, "complete")]),
    ("harmony", f"<|channel|>commentary to=functions.to_json{BODY}", "", "", [("to_json", {"a": "x"}, "complete")]),
    ("harmony", f" to=functions.f<|channel|>commentary json{BODY}", "", "", [F]),
    ("harmony", f"<|channel|>commentary to=functions.f<|channel|>commentary json{BODY}", "", "", [F]),
    ("harmony", "<|channel|>commentary to=functions.g<|message|><|call|>", "", "", [G]),
    (
        "harmony",
        f"<|channel|>commentary to=functions.f{BODY}commentary<|channel|>commentary to=functions.f{BODY}",
        *("", "", [F, F]),
    ),
    ("harmony", "<|channel|>commentary to=user<|message|>{}<|end|>", "{}", "", []),
    ("harmony", "to=f is commentary", "to=f is commentary", "", []),
    ("harmony", "commentary to=f", "commentary to=f", "", []),
    ("gemma4", '<|tool_call>:call:f{a:"x"}<turn|> Done', " Done", "", [F]),
    ("gemma4", '<|tool_call>call:f{a:"x"}\ncall:g{}<tool_call|> See call:g{}', " See call:g{}", "", [F, G]),
    ("gemma4", "<|channel>thought\nHm<channel|>Hi", "Hi", "Hm", []),
    ("gemma4", "<|channel>thoughtHm<channel|>Hi", "Hi", "Hm", []),
    ("lfm2", "<|tool_call_start|>[a-f(a='x')]<|tool_call_end|>", "", "", [("a-f", {"a": "x"}, "complete")]),
    ("olmo3_pythonic", "<function_calls>a-f(a='x')</function_calls>", "", "", [("a-f", {"a": "x"}, "complete")]),
    ("pythonic", "<|python_start|>[a-f(a='x')]", "", "", [("a-f", {"a": "x"}, "complete")]),
    ("pythonic", "y[n-f(a='x')]", "y[n-f(a='x')]", "", []),
    ("llama3_json", f"<|python_start|>{ONE}<|python_end|>", "", "", [F]),
    ("llama3_json", f"<|python_tag|>[{ONE}, {TWO}]", "", "", [F, G]),
    ("llama3_json", '[1] and [{"name": "A"}, 2]', '[1] and [{"name": "A"}, 2]', "", []),
    ("granite3", "Here's my thought process: HmHere's my response: Hi", "Hi", "Hm", []),
    ("apertus", '<|tools_prefix|>[{"f": {"a": "x"}}]', "", "", [F]),
    ("jamba", f"<tool_calls>[{ONE}]", "", "", [F]),
    ("jamba", f"<tool_calls>{ONE}</tool_calls>", "", "", [F]),
    ("apriel", f"<tool_calls>[{ONE}]", "", "", [F]),
    ("apriel", f"<tool_calls>{ONE}</tool_calls>", "", "", [F]),
    ("cohere_r_plus", f"Action: ```json\n{SEARCH}", "", "", [F]),
    ("cohere_r7b", f"<|START_ACTION|>[{SEARCH}{SEARCH}]<|END_ACTION|><|END_OF_TURN_TOKEN|>", "", "", [F, F]),
    ("cohere_r7b", f"<|START_ACTION|>{SEARCH}\n{SEARCH}<|END_ACTION|>", "", "", [F, F]),
    ("cohere_r7b", "<|START_TEXT|>Hi<|END_OF_TURN_TOKEN|>", "Hi", "", []),
    ("xlam", '```json\n{"name": "A", "age": 1}\n```', '```json\n{"name": "A", "age": 1}\n```', "", []),
    ("internlm2", f"<think>Hm</think>Hi<|action_start|><|plugin|>{ONE}", "Hi", "Hm", [F]),
    ("mistral_v11", '<think>\nHm\n</think>\nHi[TOOL_CALLS]f{"a": "x"}', "Hi", "Hm", [F]),
)


@looped("dialect, text, content, reasoning, calls", SLIPS_BETWEEN_MARKERS)
def test_a_slip_between_markers_is_read_or_is_text(
    dialect: str, text: str, content: str, reasoning: str, calls: list[Said]
):
    found = read(text, dialect)
    assert (found.content, found.reasoning) == (content, reasoning)
    assert [call[:3] for call in found.calls] == calls


def test_what_is_written_is_as_without_the_slips():
    """The first alternatives are the format itself."""
    both = [CallToRender("f", {"a": "x"}), CallToRender("g", {})]
    assert render_calls(DIALECTS["harmony"], both[:1]) == (
        '<|start|>assistant<|channel|>commentary to=functions.f<|constrain|>json<|message|>{"a": "x"}<|call|>'
    )
    assert render_calls(DIALECTS["gemma4"], both) == (
        '<|tool_call>call:f{a:<|"|>x<|"|>}<tool_call|><|tool_call>call:g{}<tool_call|>'
    )
    assert render_calls(DIALECTS["cohere_r7b"], both[:1]) == f"<|START_ACTION|>[{SEARCH}]<|END_ACTION|>"
    assert render_calls(DIALECTS["generic_json"], both[:1]) == f'{{"tool_calls": [{ONE}]}}'


def dsml(mark: str, around: str, says: str = 'string="true"') -> str:
    call = f'<{mark}invoke name="f">\n<{mark}parameter name="a" {says}>x</{mark}parameter>\n</{mark}invoke>'
    return f"<{mark}{around}>\n{call}\n</{mark}{around}>"


@looped("mark", ["｜DSML｜", "｜DSML｜ ", "｜｜DSML｜｜", "｜｜DSML｜｜ "])
@looped("around", ["tool_calls", "calls", "function_calls", "toolcalls"])
def test_the_tags_of_deepseek_v4_are_written_in_many_ways(mark: str, around: str):
    found = read(f"Hi {dsml(mark, around)} Done", "deepseek_v4_dsml")
    assert (found.content, [call[:3] for call in found.calls]) == ("Hi  Done", [F])


def invoked(parameter: str) -> str:
    return f'<minimax:tool_call><invoke name="f">{parameter}</invoke></minimax:tool_call>'


VALUE = "<arg_value>x</arg_value>"
PAIR = f"<arg_key>a</arg_key>{VALUE}"
SUFFIXED = (
    "<think:opensource>Hm</think:opensource><tool_calls:opensource>\n<tool_call:opensource>f<tool_sep:opensource>\n"
    "<arg_key:opensource>a</arg_key:opensource>\n<arg_value:opensource>x</arg_value:opensource>\n"
    "</tool_call:opensource>\n</tool_calls:opensource>"
)
M3 = "]<]minimax[>[<"
DISTILLED = 'function<｜tool▁sep｜>f\n```json\n{"a": "x"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
GIGACHAT = f"<|message_sep|>\n\nfunction call<|role_sep|>\n{ONE}"
INKLING = '<|content_invoke_tool_json|>{"name":"f","args":{"a":"x"}}<|end_message|>'
SLIPS_IN_MARKUP = (
    ("deepseek_v32_dsml", dsml("｜DSML｜", "tool_calls"), "", "", [F]),
    ("deepseek_v32_dsml", dsml("｜DSML｜", "function_calls", 'type="string"'), "", "", [F]),
    ("deepseek_v32_dsml", dsml("｜DSML｜", "function_calls", 'type="string" string="true"'), "", "", [F]),
    ("minimax_m2", invoked('<parameter name="a" type="string">x</parameter>'), "", "", [F]),
    (
        "dots",
        (
            '<dots_function_call><invoke name="f"><parameter name="a">x</parameter></invoke><invoke name="g"></invoke>'
            "</dots_function_call>"
        ),
        *("", "", [F, G]),
    ),
    (
        "minimax_m3",
        f'{M3}tool_call>{M3}invoke name="f">{M3}$a:@ b>x{M3}/$a:@ b>{M3}/invoke>{M3}/tool_call>',
        *("", "", [("f", {"$a:@ b": "x"}, "complete")]),
    ),
    *(
        (name, text, "", "", [F])
        for name in ("glm45", "glm47", "poolside_v1")
        for text in (
            "<tool_call>f<arg_key>a</arg_key>x</arg_value></tool_call>",
            f"<tool_call>f<arg_key>a</arg_key></arg_key>{VALUE}</tool_call>",
            f"<tool_call>f\n<arg_key><arg_key>a</arg_key>\n{VALUE}\n</tool_call>",
        )
    ),
    ("hunyuan_v3", SUFFIXED, "", "Hm", [F]),
    ("hunyuan_v3", f"<tool_calls>\n<tool_call>f\n{PAIR}\n</tool_call>\n</tool_calls>", "", "", [F]),
    ("hunyuan_a13b", f"<answer>\n<tool_calls>[{ONE}]</tool_calls>\n</answer>", "", "", [F]),
    ("hunyuan_a13b", f"<answer>Hi<tool_calls>[{ONE}]</tool_calls></answer>", "Hi", "", [F]),
    (
        "kimi_k2",
        (
            '<|tool_call_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": "x"}<|tool_call_end|>'
            "<|tool_call_section_end|>"
        ),
        *("", "", [F]),
    ),
    (
        "kimi_k3",
        "<|open|>think<|sep|>Hm<|close|>think<|sep|><|open|>response<|sep|>Hi<|close|>response<|sep|>",
        *("Hi", "Hm", []),
    ),
    *(
        ("k2_horizon", f"<ifm|think{speed}>Hm</ifm|think{speed}>Hi", "Hi", "Hm", [])
        for speed in ("", "_fast", "_faster")
    ),
    *(
        ("deepseek_v3_r1", f"{begin}{DISTILLED}", "", "", [F])
        for begin in (
            *("<｜tool▁calls▁begin｜>", "<｜tool▁calls｜>", "<｜tool_calls_begin｜>", "<｜tool calls begin｜>"),
            r"<｜tool\_calls\_begin｜>",
        )
    ),
    ("gigachat3", f"Hi{GIGACHAT}<|message_sep|>\n\n", "Hi", "", [F]),
    ("gigachat3", f"{GIGACHAT}{GIGACHAT}</s>", "", "", [F, F]),
    (
        "inkling",
        (
            "<|content_thinking|>Hm<|end_message|><|message_model|><|content_text|>Hi<|end_message|>"
            "<|content_model_end_sampling|>"
        ),
        *("Hi", "Hm", []),
    ),
    ("inkling", f"{INKLING}<|message_model|>f{INKLING}<|content_model_end_sampling|>", "", "", [F, F]),
)


@looped("dialect, text, content, reasoning, calls", SLIPS_IN_MARKUP)
def test_a_slip_in_markup_is_read(dialect: str, text: str, content: str, reasoning: str, calls: list[Said]):
    found = read(text, dialect)
    assert (found.content, found.reasoning) == (content, reasoning)
    assert [call[:3] for call in found.calls] == calls


def test_what_is_written_is_as_without_the_slips_in_markup():
    for name, text in (
        ("deepseek_v4_dsml", dsml("｜DSML｜", "tool_calls")),
        ("deepseek_v32_dsml", dsml("｜DSML｜", "function_calls")),
        ("glm47", f"<tool_call>f{PAIR}</tool_call>"),
        (
            "hunyuan_v3",
            "<tool_calls>\n<tool_call>f<tool_sep>\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n</tool_call>\n</tool_calls>",
        ),
        ("gigachat3", GIGACHAT.replace("\n", "") + "</s>"),
        ("inkling", '<|message_model|>f<|content_invoke_tool_json|>{"name": "f", "args": {"a": "x"}}<|end_message|>'),
        ("hunyuan_a13b", f"<tool_calls>[{ONE}]</tool_calls>"),
    ):
        assert render_calls(DIALECTS[name], [CallToRender("f", {"a": "x"})]) == text


FORMERLY_LOST: tuple[tuple[str, str, str, list[tuple[str, Any]]], ...] = (
    (
        "harmony",
        "<|channel|>analysis to=python code<|message|>print(1)<|call|>",
        "",
        [("python", {"input": "print(1)"})],
    ),
    ("harmony", "<|channel|>commentary to=assistant<|channel|>final<|message|>Hello<|return|>", "Hello", []),
    ("json", '[{"tool": {"function": "f", "parameters": {"a": 1}}}]', "", [("f", {"a": 1})]),
    ("json", '{"tool_calls": [{"tool": {"function": "f", "parameters": {"a": 1}}}]}', "", [("f", {"a": 1})]),
    ("json", '[[{"tool": {"function": "f"}}]]', '[[{"tool": {"function": "f"}}]]', []),
    (
        "sentinel",
        '[[SEG_START {"type": "tool"}]]{"name": "f", "arguments": {"a": 1}}[[SEG_END]]',
        "",
        [("f", {"a": 1})],
    ),
    ("sentinel", '[[SEG_START {"type": "tool", "tool_name": "f"}]] {"a": 1}[[SEG_END]]', "", [("f", {"a": 1})]),
    (
        "sentinel",
        '[[SEG_START {"type": "patch_file", "path": "p"}]]x[[SEG_END]]',
        "",
        [("patch_file", {"path": "p", "patch": "x"})],
    ),
    (
        "kimi_k3",
        (
            '<|open|>response<|sep|>Hi<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|><|close|>call<|sep|>'
            "<|close|>tools<|sep|>"
        ),
        "Hi",
        [("f", {})],
    ),
    ("cohere_r7b", '<|START_ACTION|>[{"name": "f", "arguments": {"a": 1}}]<|END_ACTION|>', "", [("f", {"a": 1})]),
    (
        "lfm2",
        "<|tool_call_start|>[f(a=07, b={'x', 'y'})]<|tool_call_end|> ok",
        " ok",
        [("f", {"a": 7, "b": ["x", "y"]})],
    ),
    ("cohere_r_plus", 'Action:\n```json\n[{"name": "f", "arguments": {}}]\n```', "", [("f", {})]),
    ("gemma4", "<|tool_call><|tool_call>call:f{a:1}<tool_call|>", "", [("f", {"a": 1})]),
    ("glm47", '<tool_call>f>{"a": 1}</tool_call>', "", [("f", {"a": 1})]),
    (
        "hunyuan_v3",
        (
            "<tool_calls:6124c78e><tool_call:6124c78e>f<tool_sep:6124c78e><arg_key:6124c78e>a</arg_key:6124c78e>"
            "<arg_value:6124c78e>x</arg_value:6124c78e></tool_call:6124c78e></tool_calls:6124c78e>"
        ),
        "",
        [("f", {"a": "x"})],
    ),
)


@looped("dialect, text, content, calls", FORMERLY_LOST)
def test_each_way_of_writing_a_call_is_one(dialect: str, text: str, content: str, calls: list[tuple[str, Any]]):
    found = read(text, dialect)
    assert [(call.name, call.arguments) for call in found.calls if call.status == "complete"] == calls
    assert found.content == content


def test_a_body_that_is_not_json_where_json_is_due_fails_the_call():
    found = read("<|channel|>commentary to=functions.f <|constrain|>json<|message|>not json<|call|>", "harmony")
    assert [(call.name, call.status) for call in found.calls] == [("f", "failed")]
    assert found.content == ""


@pytest.mark.parametrize(
    ("dialect", "call"),
    [
        ("kimi_k2", "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>"),
        ("hermes", '<tool_call>{"name": "f", "arguments": {}}</tool_call>'),
    ],
)
def test_a_call_in_reasoning_ends_it_where_the_dialect_says_so(dialect: str, call: str):
    is_token = DIALECTS[dialect].calls_in_reasoning
    for options, counts in (
        ({}, is_token),
        ({"opener_in_reasoning": "ends"}, True),
        ({"opener_in_reasoning": "text"}, False),
    ):
        found = read(f"<think>Let me {call}", dialect, **options)
        assert found.reasoning == ("Let me" if counts else f"Let me {call}")
        assert len(found.calls) == counts


@pytest.mark.parametrize(
    ("dialect", "opener", "closer"),
    [*((dialect, *pair) for dialect in ("xml", "sentinel") for pair in FILE_GUARDS), ("xml", "<![CDATA[", "]]>")],
)
def test_nothing_between_guards_ends_a_file(dialect: str, opener: str, closer: str):
    inside = render_call(DIALECTS[dialect], "write_file", {"path": "b", "content": "y"})
    shown = render_call(DIALECTS[dialect], "write_file", {"path": "a", "content": "HERE"})
    for content in (f"{opener}\n{inside}\n{closer}", f"\n{opener}{inside}{inside}{closer}\n"):
        text = shown.replace("HERE", content)
        found = read(f"{text} behind", dialect)
        assert [call.arguments["content"] for call in found.calls if call.status == "complete"] == [content]
        assert found.content == " behind"
        for end in range(shown.index("HERE"), text.index(closer), 7):
            assert [call.status for call in read(text[:end], dialect).calls] == ["truncated"]


def test_a_guard_inside_of_a_value_is_content():
    text = '<write_file path="a">x __START_CONTENT__ y</write_file> behind'
    found = read(text, "xml")
    assert [call.arguments["content"] for call in found.calls] == ["x __START_CONTENT__ y"]
    assert found.content == " behind"


def test_the_content_of_a_call_in_tags_is_all_that_is_in_it():
    inner = '<arguments><arg name="q">a</arg></arguments>'
    (_, *events) = drive([f'<tool name="f">{inner}</tool>'], parse_text("xml"))
    assert "".join(getattr(event, "delta", "") for event in events) == inner


@looped("token", END_TOKENS)
def test_a_token_that_ends_the_answer_is_no_text_at_its_end(token: str):
    assert read(f"Hi{token}", "hermes").content == "Hi"
    assert read(f"Hi{token}{token} \n", "hermes").content == "Hi"
    assert read(f"Hi{token} there", "hermes").content == f"Hi{token} there"
    assert read(f"<think>Hm{token}", "hermes").reasoning == "Hm"
    assert read(f"{token * 400}", "hermes").content.startswith(token)


def test_a_closer_of_html_is_text_at_the_end():
    assert read("<s>old</s>", "hermes").content == "<s>old</s>"


@pytest.mark.parametrize("text", ["Let me think.</think>Answer", "</think>Answer", "Let me</think>A </think>"])
def test_with_auto_a_lone_closer_says_that_there_was_reasoning(text: str):
    before, _, after = text.partition("</think>")
    assert read(text, "hermes", starts_in_reasoning="auto").content == before + after
    fenced = f"`</think>` {text}"
    assert read(fenced, "hermes", starts_in_reasoning="auto").content == f"`</think>` {before}{after}"


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ('[f(a="x")]', "", [{"a": "x"}]),
        ('Let me see.[f(a="x"), f(a="y")]', "Let me see.", [{"a": "x"}, {"a": "y"}]),
        ('<think>hm</think><|tool_call_start|>[f(a="x")]<|tool_call_end|>', "", [{"a": "x"}]),
        ('[g(a="x")]', '[g(a="x")]', []),
    ],
)
def test_a_companion_is_read_where_tools_are_declared(text: str, content: str, calls: list[Any]):
    found = read(text, "lfm2", tools=CITY)
    assert (found.content, [call.arguments for call in found.calls]) == (content, calls)
    if "<" not in text:
        assert read(text, "lfm2").content == text


@pytest.mark.parametrize("text", ["a{d", ":{}x</dots_function_call>y", '[{""f', "a{d}<invoke"])
def test_what_began_like_a_call_behind_text_in_a_block_is_emitted_once(text: str):
    assert read(f"<dots_function_call>{text}", "dots").content == text


@pytest.mark.parametrize("fences", ["calls", "language"])
def test_a_closer_in_a_fence_closes_nothing(fences: str):
    for pieces in (["```\n</think>"], ["```", "\n</think>"], ["`", "``\n", "</think>"]):
        found = run(pieces, ["hermes"], {"starts_in_reasoning": "auto", "fences": fences})[1]
        assert found.content == "```\n</think>"


ANY_TOOL = [{"name": "f", "parameters": {"type": "object", "properties": {}}}]


def run_by(text: str, dialect: str) -> list[tuple[Any, bool]]:
    """Return the arguments of each call that runs, and whether they are repaired, however the text is cut."""
    runs = [
        [
            (event.arguments, event.repaired)
            for event in drive(pieces, parse_text(dialect, tools=ANY_TOOL, turn_id="t"), to_invocations())
            if isinstance(event, ToolInvocation)
        ]
        for pieces in ([text], list(text))
    ]
    assert runs[0] == runs[1]
    return runs[0]


@looped(
    "inside, arguments",
    [
        ('a:two words<|"|>', {"a": "two words"}),
        ('a:5 of them<|"|>,n:5', {"a": "5 of them", "n": 5}),
        ('a:true story<|"|> , b:true', {"a": "true story", "b": True}),
        ('a:x, y<|"|>', {"a": "x, y"}),
        ('a:https://x.org<|"|>', {"a": "https://x.org"}),
        ('a:<|"|>x<|"|>,b="y"', {"a": "x", "b": "y"}),
        ('a=<|"|>x<|"|>,b={c=1}', {"a": "x", "b": {"c": 1}}),
        ('a:[x<|"|>,<|"|>y<|"|>]', {"a": ["x", "y"]}),
        ('a:1<x<|"|>', {"a": "1<x"}),
    ],
)
def test_a_slip_of_gemma_whose_meaning_is_certain_is_read_and_the_call_is_repaired(inside: str, arguments: Any):
    text = f"<|tool_call>call:f{{{inside}}}<tool_call|> Done"
    assert run_by(text, "gemma4") == [(arguments, True)]
    assert read(text, "gemma4", tools=ANY_TOOL).content == " Done"


@pytest.mark.parametrize(
    ("inside", "arguments"),
    [
        ("Basic LLM Chain:{main out:[1]}", {"Basic LLM Chain": {"main out": [1]}}),
        ("a b : null", {"a b": None}),
        ("a:-1.5e3,b:None", {"a": -1500.0, "b": None}),
    ],
)
def test_a_key_with_blanks_is_as_its_template_writes_it(inside: str, arguments: Any):
    assert run_by(f"<|tool_call>call:f{{{inside}}}<tool_call|>", "gemma4") == [(arguments, False)]


@looped(
    "inside",
    [
        "a:two words",  # no quote at all
        'a:x,b:<|"|>y<|"|>',  # the quote is that of the next value
        'a:x,b:y<|"|>',  # or a value with a comma in it
        'a:<|"|>x,b:<|"|>y<|"|>',
        'a:[x,y<|"|>]',  # one item or two
        'a:{x}<|"|>',
        'a:x<|"|>y',
        'a:<|"|>x',
        "a:" + "x" * 2000 + '<|"|>',
    ],
)
def test_a_slip_that_may_be_read_in_two_ways_is_refused(inside: str):
    text = f"<|tool_call>call:f{{{inside}}}<tool_call|>"
    assert run_by(text, "gemma4") == []
    found = read(text, "gemma4", tools=ANY_TOOL)
    assert ([call.name for call in found.calls], found.content) == (["f"], "")


@pytest.mark.parametrize(
    ("dialect", "tag", "section"),
    [
        ("deepseek_v32_dsml", "｜DSML｜", "function_calls"),
        ("deepseek_v4_dsml", "｜DSML｜", "tool_calls"),
        ("deepseek_v4_dsml", "｜DSML｜ ", "calls"),
        ("gigachat35", "｜GCML｜", "tool_calls"),
    ],
)
def test_a_call_without_parameters_may_be_one_tag_that_closes_itself(dialect: str, tag: str, section: str):
    one = f'<{tag}invoke name="f"/>'
    two = f'<{tag}invoke name="f">\n<{tag}parameter name="a" string="true">x/></{tag}parameter>\n</{tag}invoke>'
    for calls in (one, f"{one}\n{two}", f"{two}\n{one}", f'<{tag}invoke name="f" />{two}'):
        found = read(f"<{tag}{section}>\n{calls}\n</{tag}{section}>", dialect, tools=ANY_TOOL)
        expected = [{}] if calls == one else [{"a": "x/>"}, {}] if calls.startswith(two) else [{}, {"a": "x/>"}]
        assert ([call.arguments for call in found.calls], found.content) == (expected, "")


@pytest.mark.parametrize("dialect", ["deepseek_v32_dsml", "deepseek_v4_dsml"])
@pytest.mark.parametrize("closer", ["", "\n</｜DSML｜tool_calls>", "\n</｜DSML｜function_calls>"])
def test_a_call_without_the_tag_around_it_is_one_in_both_versions(dialect: str, closer: str):
    call = (
        '<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="true">x</｜DSML｜parameter>\n</｜DSML｜invoke>'
    )
    found = read(f"On it.\n{call}\n{call}{closer}", dialect, tools=ANY_TOOL)
    assert ([call.arguments for call in found.calls], found.content.rstrip()) == ([{"a": "x"}] * 2, "On it.")


KIMI_CALL = "<|tool_call_begin|>{}<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
KIMI_SECTION = "<|tool_calls_section_begin|>{}<|tool_calls_section_end|>"


@pytest.mark.parametrize("inside", ["", "\n", " \n ", "none"])
def test_a_section_without_calls_is_nobodys_text(inside: str):
    found = read(f"Hi{KIMI_SECTION.format(inside)} there", "kimi_k2", tools=ANY_TOOL)
    assert (found.calls, found.content) == ((), "Hi there")


@pytest.mark.parametrize("noise", ["\n", "x", " Now the next one: ", "}"])
def test_what_stands_between_the_calls_of_a_section_is_nobodys_text(noise: str):
    calls = noise + KIMI_CALL.format("functions.f:0") + noise + KIMI_CALL.format("f:1") + noise
    found = read(f"Hi{KIMI_SECTION.format(calls)} there", "kimi_k2", tools=ANY_TOOL)
    assert ([call.name for call in found.calls], found.content) == (["f", "f"], "Hi there")


def test_text_behind_calls_whose_section_does_not_end_is_text():
    text = f"<|tool_calls_section_begin|>{KIMI_CALL.format('functions.f:0')} That was it."
    found = read(text, "kimi_k2", tools=ANY_TOOL)
    assert ([call.name for call in found.calls], found.content) == (["f"], " That was it.")


@pytest.mark.parametrize("identity", ["functions_f_2", "functionsf5", "functions.f5", "functions.f.0", "f"])
def test_an_id_without_its_number_behind_a_colon_is_refused_and_not_shown(identity: str):
    text = KIMI_SECTION.format(KIMI_CALL.format(identity))
    assert run_by(text, "kimi_k2") == []
    found = read(text, "kimi_k2", tools=ANY_TOOL)
    assert ([call.name for call in found.calls], found.content) == (["f"], "")


@pytest.mark.parametrize("starts", [True, False])
def test_the_opener_of_the_answer_ends_reasoning_that_nothing_closed(starts: bool):
    opener = "" if starts else "<|open|>think<|sep|>"
    text = f"{opener}Hm.<|open|>response<|sep|>Hi.<|close|>response<|sep|><|close|>message<|sep|>"
    found = read(text, "kimi_k3", starts_in_reasoning=starts)
    assert (found.reasoning, found.content) == ("Hm.", "Hi.")


@pytest.mark.parametrize("dialect", ["hermes", "auto", "minimax_m1", "jamba", "internlm2"])
def test_json_with_single_quotes_is_refused_with_its_text(dialect: str):
    opener, closer = {
        "minimax_m1": ("<tool_calls>", "</tool_calls>"),
        "jamba": ("<tool_calls>[", "]</tool_calls>"),
        "internlm2": ("<|action_start|><|plugin|>", "<|action_end|>"),
    }.get(dialect, ("<tool_call>", "</tool_call>"))
    text = f"{opener}{{'name': 'f', 'arguments': {{'a': 'x'}}}}{closer}"
    assert run_by(text, dialect) == []
    found = read(text, dialect, tools=ANY_TOOL)
    assert ([call.name for call in found.calls], found.content) == (["f"], "")


MUTANTS = {
    "a guard is a guard wherever it stands": ("guard", ("operators/text/value_end.py", '        self._state = "value"\n        return self._read_value(', '        self._state = "begin"\n        return self._read_value(')),
    "a token that ends an answer is text at its end": ("token", ("operators/text/outside_text.py", "        if marker in END_TOKENS and not ends_reasoning:\n", "        if marker in ():\n")),
}  # fmt: skip
