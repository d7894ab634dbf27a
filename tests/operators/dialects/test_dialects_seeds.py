"""The formats that prompts of older systems ask for: `xml`, `json`, `sentinel`, `tool_call`, `json_answer`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from answered import answered
from looped import looped
from segment_events import payload_of
from untyped import drive, stage

from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import InvocationFailed, ToolInvocation
from penstock.operators.calls.field_spec import MARKED_FILE_TOOLS
from penstock.operators.parse_text import parse_text
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_invocations import to_invocations

TOOLS = {
    "f": None,
    "g": None,
    "typed": {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "on": {"type": "boolean"},
            "list": {"type": "array", "items": {"type": "number"}},
            "point": {"type": "object", "properties": {"x": {"type": "integer"}}},
            "markup": {"type": "string"},
        },
    },
}
CALLS: tuple[tuple[str, str, str, list[tuple[str, dict[str, Any]]]], ...] = (
    # xml: any element is an argument, `arguments` may be absent, names in any case and as written
    ("xml", '<tool name="f"><a>1</a><arg name="b"> x </arg></tool>', "", [("f", {"a": "1", "b": "x"})]),
    ("xml", "<TOOL NAME='F'></TOOL>", "<TOOL NAME='F'></TOOL>", []),
    ("xml", "<Tool name='Foo'><Arguments><A>1</a></ARGUMENTS></tOOL>", "", [("Foo", {"A": "1"})]),
    ("xml", '<tool name="f"><arg>1</arg><argument>2</argument></tool>', "", [("f", {"arg": "1", "argument": "2"})]),
    ("xml", "a <toolbox name='f'> <tool> <tools name='f'> b", "a <toolbox name='f'> <tool> <tools name='f'> b", []),
    ("xml", "x < <run_bash>ls</run_bash> y", "x <  y", [("run_bash", {"command": "ls"})]),
    # xml: entities once, CDATA as it stands, in it no markup
    ("xml", '<tool name="f"><a>&amp;lt; &#65;&nbsp;&lt</a></tool>', "", [("f", {"a": "&lt; A&nbsp;&lt"})]),
    ("xml", '<tool name="f"><a> <![CDATA[ </a> &amp; ]]> b</a></tool>', "", [("f", {"a": " </a> &amp;  b"})]),
    # xml: elements nest, what is none is text
    ("xml", '<tool name="f"><a><b>1</b><b>2</b><c/></a></tool>', "", [("f", {"a": {"b": ["1", "2"], "c": ""}})]),
    (
        "xml",
        '<tool name="f"><arg name="a"><item><arg name="k">n <= 0</arg></item><item>x</item></arg></tool>',
        "",
        [("f", {"a": [{"k": "n <= 0"}, "x"]})],
    ),
    ("xml", '<tool name="f"><a>see <b>this</b></a></tool>', "", [("f", {"a": "see <b>this</b>"})]),
    ("xml", '<tool name="f"><a><b>1</b> and</a></tool>', "", [("f", {"a": "<b>1</b> and"})]),
    # xml: the tool's schema says what a value is
    (
        "xml",
        '<tool name="typed"><n>7</n><on>true</on><list><x>1</x><x>2.5</x></list><point><x>3</x></point></tool>',
        "",
        [("typed", {"n": 7, "on": True, "list": [1, 2.5], "point": {"x": 3}})],
    ),
    ("xml", '<tool name="typed"><markup><b>1</b></markup></tool>', "", [("typed", {"markup": "<b>1</b>"})]),
    ("xml", '<tool name="typed"><list></list></tool>', "", [("typed", {"list": []})]),
    # xml: files come as they stand, a command is decoded
    (
        "xml",
        '<write_file path="a&amp;b"><root>&lt;</root>\n</Write_File>',
        "",
        [("write_file", {"path": "a&b", "content": "<root>&lt;</root>\n"})],
    ),
    ("xml", "<write_file>no path</write_file>", "<write_file>no path</write_file>", []),
    (
        "xml",
        '<tool name="run_bash"><arg name="command">\na &amp;&amp; b</arg></tool>',
        "",
        [("run_bash", {"command": "\na && b"})],
    ),
    # json: every call of a list, keys in any order, JSON that is no call is text as a whole
    ("json", 'a {"b": 1} [1, {"c": {}}] d', 'a {"b": 1} [1, {"c": {}}] d', []),
    ("json", '{"data": [{"name": "f", "arguments": {}}]}', '{"data": [{"name": "f", "arguments": {}}]}', []),
    ("json", '[{"args": {"q": "\\"}"}, "name": "f"}, {"name": "g", "args": {}}]', "", [("f", {"q": '"}'}), ("g", {})]),
    ("json", '{"tool_calls": [{"function": {"name": "f", "arguments": "{\\"a\\": 1}"}}]}', "", [("f", {"a": 1})]),
    ("json", '```json\n{"tool": {"function": "f", "parameters": {}}}\n```', "```json\n\n```", [("f", {})]),
    # sentinel: brackets in the header's JSON, what is no header
    (
        "sentinel",
        '[[SEG_START {"type": "RUN_BASH", "cwd": "]]"}]]ls[[SEG_END]]',
        "",
        [("run_bash", {"cwd": "]]", "command": "ls"})],
    ),
    ("sentinel", '[[SEG_START {"type": "text"}]]hi[[SEG_END]]', "hi", []),
    ("sentinel", '[[SEG_START {"type": 1}]]x[[SEG_END]]', '[[SEG_START {"type": 1}]]x[[SEG_END]]', []),
    ("sentinel", "[[SEG_START no]]x[[SEG_END]]", "[[SEG_START no]]x[[SEG_END]]", []),
    # tool_call: a stop sequence cut the end tag; keys in any order, a name inside of the arguments
    ("tool_call", '<tool_call>{"name": "f", "parameters": {"a": {}}}', "", [("f", {"a": {}})]),
    (
        "tool_call",
        '<tool_call>\n{"parameters": {"name": "no"}, "name": "f"}\n</tool_call>',
        "",
        [("f", {"name": "no"})],
    ),
    # json_answer: text and call in any order, escapes, a plain answer
    ("json_answer", '{"content": "a\\n\\u00e9", "toolCall": {"name": "f", "args": {}}}', "a\né", [("f", {})]),
    ("json_answer", '{"toolCall": {"args": {"a": 1}, "name": "f"}, "content": "b"}', "b", [("f", {"a": 1})]),
    ("json_answer", '{"content": "{\\"name\\"}"}', '{"name"}', []),
    ("json_answer", "No JSON at all.", "No JSON at all.", []),
)


def cuts(text: str) -> list[list[str]]:
    """Return a text whole, by characters, and cut in two at every place."""
    return [[text], list(text), *([text[:place], text[place:]] for place in range(1, len(text)))]


@looped("dialect, text, said, calls", CALLS)
def test_what_a_text_says(dialect: str, text: str, said: str, calls: list[tuple[str, dict[str, Any]]]):
    for pieces in cuts(text):
        segments = answered(pieces, parse_text(dialect, tools=TOOLS, turn_id="t"))
        told = list(drive(segments, to_invocations()))
        assert all(isinstance(event, SegmentEvent) for event in segments)
        assert "".join(event.raw for event in segments) == text
        assert content(segments, "text") == said, pieces
        assert [(each.name, each.arguments) for each in told if isinstance(each, ToolInvocation)] == calls, told
        assert not any(isinstance(each, InvocationFailed) for each in told), pieces


def content(events: Sequence[Any], kind: str) -> str:
    return "".join(getattr(each, "delta", "") for each in events if each.segment_type == kind)


@pytest.mark.parametrize(
    ("dialect", "text", "reason"),
    [
        ("tool_call", '<tool_call>{"name": "f", "parameters": {"a": {}', "truncated"),
        ("tool_call", '<tool_call>{"name": "f", "parameters": {"a": x}}</tool_call>', "malformed"),
        ("xml", '<tool name="f">no element</tool>', "malformed"),
        ("xml", '<tool name="f"><a>1</b></tool>', "truncated"),
        ("xml", '<write_file path="a">half', "truncated"),
        ("sentinel", '[[SEG_START {"type": "run_bash"}]]ls', "truncated"),
        ("json_answer", '{"content": "a", "toolCall": {"name": "f", "args": {"a": 1', "truncated"),
    ],
)
def test_a_call_that_is_cut_or_wrong_is_no_invocation(dialect: str, text: str, reason: str):
    for pieces in cuts(text):
        (told,) = answered(pieces, parse_text(dialect, turn_id="t"), to_invocations())
        assert isinstance(told, InvocationFailed)
        assert told.reason == reason, pieces


MARKED = "<tool name='WRITE_FILE'><arg name='content'>\n__START_CONTENT__\na __END_CONTENT__ b\n__END_CONTENT__ </arg>"


@pytest.mark.parametrize("rest", ["<arg name='path'>x</arg></tool>", "<path> x </path></tool>"])
def test_a_file_streams_without_its_markers_and_its_path_may_come_last(rest: str):
    chain = parse_text("xml", turn_id="t"), stream_fields(MARKED_FILE_TOOLS, ignore_case=True)
    for pieces in cuts(MARKED + rest):
        events = answered(pieces, *chain)
        assert content(events, "write_file") == "a __END_CONTENT__ b\n", pieces
        assert payload_of(events[0]) == {"metadata": {"tool_name": "WRITE_FILE", "path": "x"}}


def test_a_value_streams_as_it_comes():
    chunks = ["<tool name='f'><a>on", "e & tw", "o &am", "p; three <", "b></a></tool>"]
    chain = stage(parse_text("xml", turn_id="t"))
    fed = [[piece for event in chain.feed(chunk) for piece in event.fragments or ()] for chunk in chunks]
    texts = ["".join(piece.value for piece in pieces if piece.kind == "TEXT") for pieces in fed]
    assert texts == ["on", "e & tw", "o ", "& three", " <b>"]
