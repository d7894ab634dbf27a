"""A raw argument that is no value of its type stays text, and the user is told."""

from __future__ import annotations

from typing import Any

import pytest
from answered import answered
from untyped import drive

from penstock.events import SegmentEnd
from penstock.events.tool_invocation import InvocationFailed, Notice, ToolInvocation
from penstock.operators.parse_text import parse_text
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_invocations import to_invocations

TOOLS: dict[str, Any] = {
    name: {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "n": {"type": "integer"},
            "on": {"type": ["boolean", "null"]},
            "p": {"$ref": "#/$defs/P"},
        },
        "$defs": {"P": {"type": "object", "properties": {"x": {"type": "integer"}}}},
    }
    for name in ("f", "write_file")
}
TEXTS: list[tuple[str, str, list[str], dict[str, Any]]] = [
    ("qwen3_coder", "<function=f><parameter=n>\nmany\n</parameter></function>", ["n"], {"n": "many"}),
    ("qwen3_coder", "<function=f><parameter=n>\n7\n</parameter></function>", [], {"n": 7}),
    (
        "qwen3_coder",
        "<function=f><parameter=on>\nyes\n</parameter><parameter=n>\n\n</parameter></function>",
        ["on", "n"],
        {"on": "yes", "n": ""},
    ),
    ("xml", "<tool name='f'><p><x>one</x></p><n>7</n></tool>", ["p"], {"p": {"x": "one"}, "n": 7}),
    ("xml", "<write_file path='a' n='seven'>x</write_file>", ["n"], {"path": "a", "n": "seven", "content": "x"}),
    (
        "deepseek_v4_dsml",
        '<｜DSML｜invoke name="f"><｜DSML｜parameter name="n" string="false">{</｜DSML｜parameter></｜DSML｜invoke>',
        ["n"],
        {"n": "{"},
    ),
    ("hermes", '<tool_call>{"name": "f", "arguments": {"n": "many"}}</tool_call>', [], {"n": "many"}),
]


@pytest.mark.parametrize(("dialect", "text", "mistyped", "arguments"), TEXTS)
def test_the_end_and_a_notice_tell(dialect: str, text: str, mistyped: list[str], arguments: dict[str, Any]):
    for pieces in ([text], list(text)):
        chain = parse_text(dialect, tools=TOOLS, turn_id="t"), stream_fields()
        segments = answered(pieces, *chain)
        end = next(each for each in segments if isinstance(each, SegmentEnd))
        assert end.metadata.get("mistyped", []) == mistyped
        *notices, call = drive(segments, to_invocations())
        assert isinstance(call, ToolInvocation)
        assert call.arguments == arguments
        tool = "write_file" if "path" in arguments else "f"
        assert notices == [
            Notice("mistyped_argument", f"argument {key!r} of {tool} does not fit its type; its text was kept")
            for key in mistyped
        ]


def test_a_call_that_fails_is_told_once():
    text = "<tool name='f'><n>many</n>"
    (told,) = answered([text], parse_text("xml", tools=TOOLS, turn_id="t"), to_invocations())
    assert isinstance(told, InvocationFailed)


MUTANTS = {
    "a value that is not of its type is not flagged": ("notice", ("operators/text/source_buffer.py", "if typed.flagged and key not in self.mistyped:", "if False:")),
}  # fmt: skip
