"""Each dialect's texts as its models write them, after public chat templates and model cards."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import pytest
from dialect_cases import run
from dialect_texts import OSLO, TEXTS
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from strategies.randoms import randoms
from strategies.text_flows import flow_by
from text_laws import check

from penstock.operators.catalogue import DIALECTS
from penstock.operators.schemas.value_typing import TypingRules
from penstock.operators.writing.render_call import can_render, render_call

TOOLS: Final = {
    "weather": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "when": {"type": "object"}}},
    "now": None,
}
ANSWERED: Final = [name for name, each in DIALECTS.items() if each.answer]


@looped("name, text, content, reasoning, calls", TEXTS, ids=[each[0] for each in TEXTS])
def test_a_text_gives_its_calls(
    name: str, text: str, content: str, reasoning: str, calls: tuple[tuple[str, dict[str, Any]], ...]
):
    options = {"tools": TOOLS}
    for pieces in ([text], list(text)):
        found = run(pieces, [name], options)[True]
        assert tuple((call.name, call.arguments) for call in found.calls) == calls
        assert all(call.status == "complete" for call in found.calls)
        assert (found.content.strip(), found.reasoning.strip()) == (content.strip(), reasoning.strip())
        assert found.raw == text


def test_a_quote_that_nothing_can_follow_is_text():
    text = "<|tool_call_start|>[weather(city='the 'old' town', days=2)]<|tool_call_end|>"
    for pieces in ([text], list(text)):
        assert [call.arguments for call in run(pieces, ["lfm2"], {})[True].calls] == [
            {"city": "the 'old' town", "days": 2}
        ]


def test_code_without_a_marker_is_a_call_once_an_argument_has_begun():
    found = run(["a [weather(city='O"], ["pythonic"], {})[False]
    assert [(call.name, call.status) for call in found.calls] == [("weather", "")]
    assert run(["a [weather(city"], ["pythonic"], {})[False].calls == ()
    assert run(["a [weather(city)] b"], ["pythonic"], {})[True].content == "a [weather(city)] b"


def test_a_call_is_written_as_the_dialect_lays_it_out():
    assert render_call(DIALECTS["hermes"], "now", {}) == '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
    assert render_call(DIALECTS["glm45"], "now", {}, layout="") == "<tool_call>now</tool_call>"
    assert render_call(DIALECTS["harmony"], "now", {}) == (
        "<|start|>assistant<|channel|>commentary to=functions.now<|constrain|>json<|message|>{}<|call|>"
    )


def test_values_without_a_schema_may_be_read_as_literals():
    text = (
        "<function=f><parameter=a>True</parameter><parameter=b>null</parameter><parameter=c>[1</parameter></function>"
    )
    found = run([text], ["qwen3_coder"], {"typing": TypingRules(untyped="literal")})[True]
    assert found.calls[0].arguments == {"a": True, "b": None, "c": "[1"}
    assert run([text], ["qwen3_coder"], {})[True].calls[0].arguments == {"a": "True", "b": "null", "c": "[1"}


@pytest.mark.parametrize("name", ANSWERED)
def test_the_answer_that_a_dialect_shows_gives_its_call(name: str):
    dialect = DIALECTS[name]
    for pieces in ([dialect.answer], list(dialect.answer)):
        found = run(pieces, [name], {"tools": TOOLS})[True]
        assert [(call.name, call.arguments, call.status) for call in found.calls] == [
            (*(dialect.example or OSLO), "complete")
        ]
        assert found.raw == dialect.answer


def test_every_dialect_has_a_text():
    apart = {"json", "sentinel", "json_answer", "tool_call", "xml"}
    assert {each[0] for each in TEXTS}.union(ANSWERED) >= set(DIALECTS) - apart


@pytest.mark.parametrize("marker", ["=======\n", "=======\r\n", ">>>>>>> REPLACE", "x>>>>>>> REPLACE=======\n"])
def test_a_marker_of_an_edit_counts_only_at_the_beginning_of_a_line(marker: str):
    inside = f"a {marker}b\n"
    for edit in ({"search": inside, "replace": "c\n"}, {"search": "c\n", "replace": inside}):
        text = f"<<<<<<< SEARCH\n{edit['search']}=======\n{edit['replace']}>>>>>>> REPLACE"
        assert render_call(DIALECTS["aider"], "search_replace", edit) == text
        for pieces in ([text], list(text), [text[:23], text[23:]]):
            (call,) = run(pieces, ["aider"], {})[True].calls
            assert (call.arguments, call.status) == (edit, "complete")


@pytest.mark.parametrize(
    "text",
    [
        "<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE",
        "<<<<<<< SEARCH\na\n>>>>>>> REPLACE\nb\n=======\nc\n>>>>>>> REPLACE",
        "<<<<<<< SEARCH\na\n<<<<<<< SEARCH\nb\n>>>>>>> REPLACE\n=======\nc\n>>>>>>> REPLACE",
        "<<<<<<< SEARCH\na\n=======\nb\n<<<<<<< SEARCH\n=======\n=======\n>>>>>>> REPLACE\nc\n>>>>>>> REPLACE",
        "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE <<<<<<< SEARCH\nc\n=======\nd\n>>>>>>> REPLACE",
        "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n<<<<<<< SEARCH\nc\n>>>>>>> REPLACE",
        "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\nThen:\n<<<<<<< SEARCH\nc\n>>>>>>> REPLACE",
    ],
    ids=[
        "two lines that divide",
        "a closer before the line that divides",
        "a call in the text without such a line",
        "a call in the text with two",
        "another call within a line",
        "a call behind it without such a line",
        "a text and such a call behind it",
    ],
)
def test_an_edit_with_a_line_too_many_or_too_few_is_not_run(text: str):
    for pieces in ([text], list(text)):
        calls = run(pieces, ["aider"], {})[True].calls
        assert {call.status for call in calls} == {"failed"}


@pytest.mark.parametrize("rest", ["", "c", "c\n====", "c\n=======\n", f"{'c' * 70_000}\n=======\n"])
@pytest.mark.parametrize("between", ["\n", "\nThen:\n"])
def test_a_finished_edit_waits_for_the_line_that_divides_the_next_one_and_counts_without_it(between: str, rest: str):
    text = f"<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE{between}<<<<<<< SEARCH\n{rest}"
    for pieces in ([text], [*text[:80], text[80:]]):
        first, second = run(pieces, ["aider"], {})[True].calls
        assert (first.arguments, first.status) == ({"search": "a\n", "replace": "b\n"}, "complete")
        assert second.status != "complete"


def test_a_text_that_does_not_end_its_line_is_no_edit():
    reason = can_render(DIALECTS["aider"], "search_replace", {"search": "a", "replace": "b\n"})
    assert reason == "the value 'a' does not end with a line break, and what follows is a line of its own"


LINES: Final = st.lists(st.text("ab<>=`\n ", max_size=8), max_size=4).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


@given(LINES, LINES, randoms)
def test_an_edit_that_was_written_is_read_again_however_it_is_cut(search: str, replace: str, random: Random):
    edit = {"search": search, "replace": replace}
    if can_render(DIALECTS["aider"], "search_replace", edit) is not None:
        assert "=======\n" in search + replace or ">>>>>>> REPLACE" in replace
        return
    text = f"a.py\n```\n{render_call(DIALECTS['aider'], 'search_replace', edit)}\n```"
    check(["aider"], flow_by(random, text), {}, random)
    (call,) = run([text], ["aider"], {})[True].calls
    assert (call.name, call.arguments, call.status) == ("search_replace", edit, "complete")


@pytest.mark.parametrize("dialect", ["qwen3_coder", "mimo", "step3p5"])
@pytest.mark.parametrize(
    ("path", "y", "content"),
    [("<function=\n  indented", "", "z"), ("a", "<parameter=> ", "z"), ("a", "b", "</parameter>\n")],
    ids=["an opener", "an argument's opener", "a closer, and blanks to the end"],
)
def test_an_argument_that_the_tool_does_not_have_fails_a_call_with_a_marker_in_a_value(
    dialect: str, path: str, y: str, content: str
) -> None:
    values = "".join(
        f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in (("path", path), ("y", y), ("content", content))
    )
    text = f"<tool_call>\n<function=write_file>\n{values}</function>\n</tool_call>"
    schema = {"properties": {"path": {"type": "string"}, "content": {"type": "string"}}}
    for pieces in ([text], list(text)):
        (call,) = run(pieces, [dialect], {"tools": [{"name": "write_file", "parameters": schema}]})[True].calls
        assert call.status == "failed"


@pytest.mark.parametrize("closer", ["</function>", "</tool_call>"])
@pytest.mark.parametrize("dialect", ["mimo", "openhands", "qwen3_coder", "step3p5"])
def test_a_call_without_arguments_in_a_value_ends_with_its_closer_so_that_the_next_call_has_its_own(
    dialect: str, closer: str
) -> None:
    contents = f'<function=y>\n{closer}\n"\n', "</tool_call>\nand </parameter>\n"
    text = "\n".join(
        f"<tool_call>\n<function=note>\n<parameter=content>\n{each}\n</parameter>\n</function>\n</tool_call>"
        for each in contents
    )
    for pieces in ([text], list(text)):
        calls = run(pieces, [dialect], {"tools": {"note": None}})[True].calls
        assert [call.arguments for call in calls] == [{"content": each} for each in contents]


def calls_of(dialect: str, text: str) -> list[Any]:
    """Return the calls of a text, which are the same however it is cut."""
    properties = {"path": {"type": "string"}, "content": {"type": "string"}}
    tools = {"tools": [{"name": name, "parameters": {"properties": properties}} for name in ("f", "write_file")]}
    whole, cut = (run(pieces, [dialect], tools)[True].calls for pieces in ([text], list(text)))
    assert [(each.arguments, each.status) for each in whole] == [(each.arguments, each.status) for each in cut]
    return list(whole)


@pytest.mark.parametrize("key", [")'", '\\"', "a,b"])
def test_an_argument_that_the_tool_does_not_have_and_whose_name_is_no_word_fails_the_call(key: str) -> None:
    text = f"<function=f>\n<parameter=content>\nx</parameter><parameter={key}>\n</parameter>\n</function>\n"
    (call,) = calls_of("seed_oss", f"<seed:tool_call>\n{text}</seed:tool_call>")
    assert call.status == "failed"


def test_the_closer_of_a_key_in_a_value_counts_as_a_marker_beside_an_argument_that_the_tool_does_not_have() -> None:
    rows = "".join(
        f"<arg_key>{key}</arg_key><arg_value>{value}</arg_value>"
        for key, value in (("path", ""), ("x", "y"), ("content", "></arg_key>"))
    )
    (call,) = calls_of("poolside_v1", f"<tool_call>f{rows}</tool_call>")
    assert call.status == "failed"


def test_a_guard_that_closes_in_the_next_call_fails_both() -> None:
    contents = "<![CDATA[x", "y]]> z"
    text = "\n".join(
        f'<tool name="write_file">\n<arguments>\n<arg name="content">{each}</arg>\n</arguments>\n</tool>'
        for each in contents
    )
    (call,) = calls_of("xml", text)
    assert call.status == "failed"
    (call,) = calls_of("xml", text.replace("]]> z", "]]>"))  # letter for letter one value in a guard
    assert call.status == "complete"


def test_the_closer_of_a_value_does_not_make_what_is_before_it_the_opener_of_a_call() -> None:
    mark = "]<]minimax[>["
    one = f'{mark}<invoke name="f">{mark}<content>{mark}<invoke name="x">{mark}</content>{mark}</invoke>'
    calls = calls_of("minimax_m3", f"{mark}<tool_call>{one}{one}{mark}</tool_call>")
    assert [call.arguments for call in calls] == [{"content": f'{mark}<invoke name="x">'}] * 2
