"""Where a string in arguments as code ends: its quote may be a part of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from answered import answered
from content_cases import shape_of, written
from looped import looped

from penstock.events.chunk_response import ChunkResponse
from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import InvocationFailed, ToolInvocation
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.engine.stage import Completed
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations

STRING = {"type": "string"}
TOOLS: dict[str, Any] = {
    "save": {"properties": {"path": STRING, "text": STRING}, "required": ["path", "text"]},
    "run": {"properties": {"line": STRING, "cwd": STRING, "wait": {"type": "integer"}}, "required": ["line"]},
}
OPEN, CLOSE = "<|tool_call_start|>", "<|tool_call_end|>"


def outcomes(text: str, name: str = "lfm2", finish: str = "stop", **options: Any) -> list[Any]:
    """Return the arguments of the calls that were run, and the reasons of those that failed, however the text is cut."""
    found: list[list[Any]] = []
    for pieces in (list(text), [text], [text[at : at + 3] for at in range(0, len(text), 3)]):
        chunks: list[Any] = [*(ChunkResponse(content=each) for each in pieces), ChunkResponse(finish_reason=finish)]  # type: ignore[arg-type]
        options.setdefault("tools", TOOLS)
        events = answered(chunks, parse_text(name, **options), to_invocations())
        found.append(
            [
                each.reason if isinstance(each, InvocationFailed) else each.arguments
                for each in events
                if isinstance(each, ToolInvocation | InvocationFailed)
            ]
        )
    assert found[0] == found[1] == found[2]
    return found[0]


def block(*calls: str) -> str:
    return f"{OPEN}[{', '.join(calls)}]{CLOSE}"


def save(text: str, quote: str = "'") -> str:
    return f"save(path={quote}a.py{quote}, text={quote}{text}{quote})"


@looped(
    "text",
    [
        "say('hi')",
        "x = [f('a')]\nprint('b')",
        "{'a': ['b', 'c'], 'd': 'e'}",
        "open('f', mode='w')",
        "open('f', path='b')",
        "WHERE a = 'x' AND (b = 'y')",
        "it's",
        "'quoted'",
        f"{OPEN}[run(line='ls')]{CLOSE}",
        f"a')]{CLOSE} and more",
    ],
)
@looped("name", ["lfm2", "olmo3_pythonic", "tool_code"])
def test_a_quote_ends_a_string_only_if_what_follows_fits_the_whole_block(name: str, text: str):
    texts = {
        "lfm2": block(save(text)),
        "olmo3_pythonic": f"<function_calls>\n{save(text)}\n</function_calls>",
        "tool_code": f"```tool_code\n{save(text)}\n```",
    }
    assert outcomes(texts[name], name) == [{"path": "a.py", "text": text}]


def test_other_quotes_are_no_end():
    assert outcomes(block(save("it's", '"'))) == [{"path": "a.py", "text": "it's"}]
    assert outcomes(block(save('say("hi")', '"'))) == [{"path": "a.py", "text": 'say("hi")'}]


def test_each_call_of_a_list_ends_where_the_next_one_begins():
    calls = ("run(line='if (x == 'a') { y('b'); }')", save("say('hi')"), "run(line='ls', wait=5)")
    assert outcomes(block(*calls)) == [
        {"line": "if (x == 'a') { y('b'); }"},
        {"path": "a.py", "text": "say('hi')"},
        {"line": "ls", "wait": 5},
    ]


@pytest.mark.parametrize(
    "call",
    [
        "run(line='it's', cwd='b')",
        "run(line='say('x', cwd='b')')",
        "save(path='a.py', text='it's', mode='w')",
        "save(path='C:\\', text='x')",
        "save(path='a.py', text='say('hi')\\n')",
        "save(path='a.py', text='one\ntwo\\n')",
        "save(text='f(path='x', text='y')', path='a.py')",
    ],
    ids=[
        "the tool may do without the second argument",
        "an argument that may be a part of the string",
        "an argument that the tool does not have",
        "a backslash at the end",
        "an escape beside a quote without one",
        "an escape beside a line break without one",
        "a call of the same tool before an argument",
    ],
)
def test_where_two_readings_remain_the_call_fails_with_its_text(call: str):
    text = block(call)
    assert outcomes(text) == ["malformed"]
    (failed,) = (
        each
        for each in answered([text], parse_text("lfm2", tools=TOOLS), to_invocations())
        if isinstance(each, InvocationFailed)
    )
    assert text.startswith(failed.raw)
    assert len(failed.errors) == 1


def test_calls_behind_one_that_can_be_read_in_two_ways_are_not_run():
    text = block("run(line='it's', cwd='b')", "run(line='ls')") + block("run(line='pwd')")
    assert not [each for each in outcomes(text) if isinstance(each, dict)]
    tag = "<|python_tag|>"
    text = f"{tag}run.call(line='\nx\\', cwd=')" + f"{tag}run.call(line='ls', cwd='\n')<|eom_id|>"
    assert not [each for each in outcomes(text, "llama_python_tag") if isinstance(each, dict)]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (r"say(\'hi\')\n", "say('hi')\n"),
        (r"C:\\dir", "C:\\dir"),
        (r"\u00e9", "é"),
        (r"', text=\'", None),
    ],
)
def test_what_is_right_as_python_is_read_as_python(code: str, text: str | None):
    assert outcomes(block(save(code))) == ([{"path": "a.py", "text": text}] if text else ["malformed"])


@looped(
    "name, text",
    [
        ("lfm2", block("save(path='a', text='x', path='b')")),
        ("pythonic", "[save(path='a', text='x', path='b')]"),
        ("llama_python_tag", "<|python_tag|>save.call(path='a', path='b')<|eom_id|>"),
        ("gemma4", '<|tool_call>call:save{path:<|"|>a<|"|>,path:<|"|>b<|"|>}<tool_call|>'),
        ("functiongemma", "<start_function_call>call:save{path:<escape>a<escape>,path:1}<end_function_call>"),
        ("hermes", '<tool_call>{"name": "save", "arguments": {"path": "a", "path": "b"}}</tool_call>'),
        ("hermes", '<tool_call>{"name": "save", "name": "run", "arguments": {"line": "a"}}</tool_call>'),
        ("hermes", '<tool_call>{"name": "run", "arguments": {"line": "a"}, "arguments": {"line": "b"}}</tool_call>'),
        (
            "sentinel",
            '[[SEG_START {"type": "tool", "tool_name": "run", "arguments": {"line": 1, "line": 2}}]][[SEG_END]]',
        ),
        ("xml", '<write_file path="a" path="b">x</write_file>'),
        ("xml", '<tool name="run"><arg name="line">a</arg><arg name="line">b</arg></tool>'),
        ("glm45", "<tool_call>run<arg_key></arg_key><arg_value>a</arg_value></tool_call>"),
        ("glm45", "<tool_call>run<arg_key>cwd<arg_key>line</arg_key><arg_value>a</arg_value></tool_call>"),
        ("minimax_m2", '<minimax:tool_call><invoke name="run"><parameter name="">a</parameter></invoke>'),
    ],
)
def test_an_argument_that_comes_twice_or_has_no_name_fails_the_call(name: str, text: str):
    assert outcomes(text, name, tools={**TOOLS, "write_file": {}}) == ["malformed"]


@looped("name", [name for name, dialect in DIALECTS.items() if dialect.grammar])
def test_no_dialect_runs_a_call_with_an_argument_twice(name: str):
    """Of what each dialect writes, the second argument gets the name of the first."""
    dialect = DIALECTS[name]
    shape = shape_of(dialect)
    first, *others = shape.keys
    if not others or name in ("aider", "bolt_artifact", "sentinel"):  # whose arguments have no names
        return
    text = written(dialect, shape, {first: "p", others[0]: "q"}).replace(others[0], first)
    assert not [each for each in outcomes(text, name, tools={shape.tool: shape.schema}) if isinstance(each, dict)]


def test_text_behind_the_block_waits_until_the_answer_ends_or_another_call_comes():
    call, later = block(save("x")), block("run(line='ls')")
    assert outcomes(f"{call} Done.") == [{"path": "a.py", "text": "x"}]
    assert outcomes(f"{call} Done.", finish="length") == ["truncated"]
    assert outcomes(f"{call} Done. {later}", finish="length")[0] == {"path": "a.py", "text": "x"}
    assert outcomes(f"{call} Done.", finish="length", seal="closer") == [{"path": "a.py", "text": "x"}]


@pytest.mark.parametrize("behind", ["<", "<|tool", " \n<|tool_call_start", "x <"])
def test_the_beginning_of_a_marker_behind_the_block_is_no_less_text_than_any_other(behind: str):
    text = block(save("x")) + behind
    for pieces in (list(text), [text]):
        events = answered(pieces, parse_text("lfm2", tools=TOOLS, turn_id="t"))
        assert "".join(event.raw for event in events if isinstance(event, SegmentEvent)) == text


def test_a_call_without_strings_is_sealed_at_once():
    assert outcomes("<|tool_call_start|>[run(wait=1)]<|tool_call_end|> Done.", finish="length") == [{"wait": 1}]


@pytest.mark.parametrize(
    "text",
    [
        block(save("say('hi')\n"), "run(line='a', cwd='b')") + " Done. 'x' " + block("run(line='it's')"),
        block("run(line='it's', cwd='b')") + " it's",
        "<start_function_call>call:run{line:<escape>a<<escape>,cwd:<escape>b<escape>}<end_function_call> x",
    ],
)
def test_a_state_can_be_kept_at_any_place(text: str):
    name = "lfm2" if text.startswith(OPEN) else "functiongemma"
    operator = parse_text(name, tools=TOOLS, turn_id="t")
    (new,) = operator.factories

    def events(cut: int) -> Sequence[Any]:
        stage = new()
        given: list[Any] = []
        for place, letter in enumerate(text):
            if place == cut:
                state = json.loads(json.dumps(stage.dump()))
                stage = new()
                stage.load(state)
            given += stage.feed(letter)
        return [*given, *stage.close(Completed())]

    plain = events(-1)
    assert all(events(cut) == plain for cut in range(len(text)))


def test_a_string_in_a_list_is_a_string_too():
    text = "<|tool_call_start|>[run(line=['ls'])]<|tool_call_end|> Done."
    assert outcomes(text, finish="length") == ["truncated"]
    assert outcomes(text) == [{"line": ["ls"]}]


def test_behind_an_escaped_quote_another_block_proves_the_end_only_if_it_is_whole():
    assert outcomes(block(r"run(line='it\'s')") + block("run(line='ls')")) == [{"line": "it's"}, {"line": "ls"}]
    assert outcomes(f"{OPEN}[run(line='\\', cwd=')]{CLOSE}{OPEN}[run(line='x', c')]{CLOSE}") == ["malformed"]
    first, second = (f"<|python_tag|>run.call(line='{each}')" for each in (r"it\'s", "ls"))
    assert outcomes(f"{first}{second}", "llama_python_tag") == [{"line": "it's"}, {"line": "ls"}]
    assert outcomes(f"{first}{second} Done.", "llama_python_tag") == [{"line": "it's"}, {"line": "ls"}]
    assert outcomes(f"{first}{second}')<|eom_id|>", "llama_python_tag") == ["malformed"]


@pytest.mark.parametrize("value", ['<|"|>x<|"|>', 'x<|"|>', "7"])
def test_a_slip_that_gemma_is_forgiven_may_follow_a_string(value: str):
    text = f'<|tool_call>call:run{{line:<|"|>a<|"|>,cwd:{value}}}<tool_call|>'
    (arguments,) = outcomes(text, "gemma4")
    assert (arguments["line"], str(arguments["cwd"])) == ("a", value.replace('<|"|>', ""))


@pytest.mark.parametrize(("key", "runs"), [("cwd", True), (",cwd:", False), ("new", False)])
@pytest.mark.parametrize("quote", ['<|"|>', '"'])
def test_a_name_in_quotes_behind_a_string_is_that_of_an_argument_of_the_tool(quote: str, key: str, runs: bool):
    text = f'<|tool_call>call:run{{line:<|"|>a<|"|>,{quote}{key}{quote}:<|"|>b<|"|>}}<tool_call|>'
    assert outcomes(text, "gemma4") == ([{"line": "a", key: "b"}] if runs else ["malformed"])


@pytest.mark.parametrize(
    ("behind", "runs"),
    [
        ("\n<arg_key>cwd</arg_key>\n<arg_value>b</arg_value>", True),
        ("\n<arg_key>new</arg_key>\n<arg_value>b</arg_value>", True),
        ("\t<arg_key>new</arg_key>\n<arg_value>b</arg_value>", False),
        ("\n<arg_key>new</arg_key> b</arg_value>", False),
        ("\n<arg_key>new</arg_key>b</arg_value>\n<arg_key>cwd</arg_key>\n<arg_value>c</arg_value>", False),
        ("\n<arg_key>new</arg_key>\\n<arg_value>b</arg_value>", False),
    ],
)
def test_an_argument_that_the_tool_does_not_have_counts_only_as_templates_write_it(behind: str, runs: bool):
    text = f"<tool_call>run\n<arg_key>line</arg_key>\n<arg_value>a</arg_value>{behind}\n</tool_call>"
    assert [isinstance(each, dict) for each in outcomes(text, "glm45")] == [runs]


@pytest.mark.parametrize(("before", "runs"), [("<arg_key>x</arg_key><arg_value>y</arg_value>", False), ("", True)])
def test_an_argument_behind_a_closer_in_a_call_in_a_value_may_be_the_calls(before: str, runs: bool):
    inner = f"<tool_call>run{before}<arg_key>cwd</arg_key><arg_value>b</arg_value></tool_call>"
    text = f"<tool_call>run<arg_key>line</arg_key><arg_value>a {inner} c</arg_value></tool_call>"
    assert outcomes(text, "glm45") == ([{"line": f"a {inner} c"}] if runs else ["malformed"])
