"""Habits of models and their templates that are a dialect's own, and what stays as it is beside them."""

from __future__ import annotations

from typing import Any

import pytest
from dialect_cases import run
from looped import looped

from penstock.operators.catalogue import DIALECTS
from penstock.operators.grammar.compiled_grammar import compiled
from penstock.operators.grammar.outside_markers import END_TOKENS

ONE = '[{"name": "f", "arguments": {}}]'
INVOKED = '<｜DSML｜invoke name="f"></｜DSML｜invoke>'
KIMI = "<|tool_call_begin|>{}<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
COGITO = "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>7<｜tool▁output▁end｜><｜tool▁outputs▁end｜>"
FILE = '<boltAction type="file" filePath="a">x</boltAction>'
DOTS = '<dots_function_call><invoke name="f"></invoke></dots_function_call>'
SOLAR = "".join(
    (
        "<|tool_calls|>",
        *(
            f"<|tool_call:begin|>id-{name}<|tool_call:name|>{name}<|tool_call:args|>{{}}<|tool_call:end|>"
            for name in "fg"
        ),
        "<|calls|>",
    )
)
MCP = "<use_mcp_tool>\n<tool_name>f</tool_name>\n<arguments>\n{}\n</arguments>\n</use_mcp_tool>"
ROLE = "助手\N{FULLWIDTH COLON}"
TOOLS = [{"name": "g", "parameters": None}]
CASES: tuple[tuple[str, str, str, list[str]], ...] = (
    # The newlines that a template writes between the text and a call.
    ("hermes", f"Hi.\n<tool_call>\n{ONE[1:-1]}\n</tool_call>", "Hi.\n", ["f"]),
    (
        "deepseek_v32_dsml",
        f"Hi.\n\n<｜DSML｜function_calls>\n{INVOKED}\n</｜DSML｜function_calls>",
        *("Hi.", ["f"]),
    ),
    ("deepseek_v32_dsml", f"Hi. <｜DSML｜function_calls>\n{INVOKED}\n</｜DSML｜function_calls>", "Hi. ", ["f"]),
    ("deepseek_v4_dsml", f"Hi.\n\n<｜DSML｜tool_calls>\n{INVOKED}\n</｜DSML｜tool_calls>", "Hi.", ["f"]),
    ("xlam", f"Hi.\n```json\n{ONE}\n```", "Hi.", ["f"]),
    ("xlam", "Hi.\n```json\n[1]\n```", "Hi.\n```json\n[1]\n```", []),
    # What has no number of a call is none.
    ("kimi_k2", KIMI.format("functions.f:0"), "", ["f"]),
    ("kimi_k2", KIMI.format("f:0"), "", ["f"]),
    ("kimi_k2", KIMI.format("functions.f.0"), KIMI.format("functions.f.0"), []),
    ("kimi_k2", KIMI.format("f.0") + KIMI.format("functions.g:1"), KIMI.format("f.0"), ["g"]),
    ("kimi_k2", KIMI.format("f:0") + KIMI.format("functions.g"), KIMI.format("functions.g"), ["f"]),
    # What a model makes up between tools and their outputs is nobody's text.
    ("deepseek_v3_cogito", f"Hi.{COGITO}Done", "Hi.Done", []),
    ("bolt_artifact", f'<boltArtifact id="a" title="t">First:{FILE}{FILE}</boltArtifact>Done', "Done", ["file"] * 2),
    ("bolt_artifact", '<boltArtifact id="a" title="t">x', '<boltArtifact id="a" title="t">x', []),
    # What a template writes around the answer, and the token that ends it.
    ("granite3", "<think>Hm</think>\n<response>Hi.</response>", "Hi.", []),
    ("hunyuan_a13b", f"<think>Hm</think>\n{ROLE}Hi.<|eos|>", "Hi.", []),
    ("hunyuan_a13b", f"They say {ROLE}Hi.", f"They say {ROLE}Hi.", []),
    ("hunyuan_a13b", f"{ROLE}Hi.<tool_calls>{ONE}</tool_calls>", "Hi.", ["f"]),
    ("gigachat3", f"Hi.</s><|message_sep|>function call<|role_sep|>\n{ONE[1:-1]}", "Hi.</s>", ["f"]),
    ("cohere_r7b", "Hi.<|END_OF_TURN_TOKEN|>", "Hi.", []),
    ("gemma4", "Hi.<turn|>\n", "Hi.", []),
    ("gemma4", "Hi.<turn|> you", "Hi.<turn|> you", []),
    ("kimi_k3", "<|open|>response<|sep|>Hi.<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>", "Hi.", []),
    *(("auto", f"Hi.{token}", "Hi.", []) for token in END_TOKENS),
    # Solar Open, HyperCLOVA X Think 14B and MiroThinker.
    ("solar_open", "<|think|>Hm<|end|><|begin|>assistant<|content|>Hi.<|end|>", "Hi.", []),
    ("solar_open", SOLAR, "", ["f", "g"]),
    ("hyperclovax_think", "\nHi.<|im_end|><|endofturn|>", "\nHi.", []),
    ("hyperclovax_think", "/think\nHm.<|im_end|>\n<|im_start|>assistant\nHi.<|im_end|><|endofturn|>\n", "Hi.", []),
    ("hyperclovax_think", f" -> tool/function_call\n{ONE}<|im_end|><|stop|>", "", ["f"]),
    ("hyperclovax_think", "It is -> tool/function_call\n[]", "It is -> tool/function_call\n[]", []),
    ("mirothinker", MCP, "", ["f"]),
    # Of an answer that consists of blanks, blanks are the text.
    *(("hermes", blanks, blanks, []) for blanks in (" ", "\n\n", "\n \t\n")),
    ("hermes", f"\n<tool_call>{ONE[1:-1]}</tool_call>\n", "", ["f"]),
    ("hermes", "<think></think>\n", "", []),
)


def test_no_token_that_ends_an_answer_opens_a_block():
    grammar = compiled(tuple(DIALECTS.values()))
    assert set(END_TOKENS).isdisjoint(grammar.openers(leading=True).literals)


@looped("dialect, text, content, names", CASES)
@looped("size", [1, 2, 3, 1000])
def test_a_habit_is_the_dialects_own(dialect: str, text: str, content: str, names: list[str], size: int):
    found = run([text[place : place + size] for place in range(0, len(text), size)], [dialect], {})[1]
    assert found.raw == text
    assert (found.content, [call.name for call in found.calls]) == (content, names)
    assert {call.status for call in found.calls} <= {"complete"}


@pytest.mark.parametrize(
    ("options", "content", "names"),
    [({}, "", ["f"]), ({"tools": TOOLS}, DOTS, []), ({"tools": TOOLS, "unknown_tool": "pass"}, "", ["f"])],
)
def test_dots_writes_calls_of_declared_tools(options: dict[str, Any], content: str, names: list[str]):
    found = run([DOTS], ["dots"], options)[1]
    assert (found.content, [call.name for call in found.calls]) == (content, names)
