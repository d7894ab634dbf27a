"""The reader of calls in text: what once went wrong in it, and what its work grows with."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from answered import answered
from depth import some_of
from looped import looped
from segment_events import payload_of
from strategies.text_flows import Flow, Part
from text_laws import check, work_of
from untyped import stage

from penstock.events import SegmentContent, SegmentEnd, SegmentStart
from penstock.events.chunk_response import ChunkResponse, ToolCallDelta
from penstock.events.errors import UsageError
from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import ToolInvocation
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.engine.limits import Limits
from penstock.operators.engine.stage import Completed, Interrupted
from penstock.operators.grammar.dialect import Alt, Attrs, Call, CallArgs, Dialect, Json, Many, Maybe, Text
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations
from penstock.operators.writing.render_call import can_render, render_call

NAMES = sorted(DIALECTS)
IMAGE = ChunkResponse(image_urls=("u",))
CALL = ChunkResponse(tool_calls=(ToolCallDelta(0, "n", "nat", '{"a": 1}', done=True),))
REASONING = ChunkResponse(reasoning="hm", native={"signature": "s"})


class Case(NamedTuple):
    """A flow that once broke a law."""

    about: str
    dialect: str
    parts: tuple[Part, ...]
    options: dict[str, Any] = {}  # noqa: RUF012 - nobody writes to it


CASES = (
    Case("a picture inside of a block's text", "hunyuan_a13b", ("<answer>x", IMAGE, "y</answer> z")),
    Case("a picture before a block's text begins", "hunyuan_a13b", ("<answer>", IMAGE, "</answer>")),
    Case(
        "a native call before the closer of a block's text",
        "cohere_r7b",
        ("<|START_RESPONSE|>a<|EN", CALL, "D_RESPONSE|>b"),
    ),
    Case(
        "native reasoning inside of a block's reasoning",
        "harmony",
        ("<|channel|>analysis<|message|>a", REASONING, "b<|end|>"),
    ),
    Case("a picture inside of the text of an object", "json_answer", ('{"content": "a', IMAGE, 'b"}')),
    Case(
        "a picture inside of the text of an object whose call is open",
        "json_answer",
        ('{"name": "f", "args": {}, "content": "a', IMAGE, '"}'),
    ),
    Case("text after arguments whose name came late", "json_answer", ('{"args": {}, "name": "f", "content": "a"}',)),
    Case("text between arguments and their name", "json_answer", ('{"args":{},"content":"","":{"":""},"name":"a"',)),
    Case("text between arguments and a name that never comes", "json_answer", ('{"args": {}, "content": "a"} b',)),
    Case(
        "text with escapes after arguments that are a JSON text",
        "json_answer",
        ('{"name": "f", "args": "{\\"a\\": 1}", "content": "N\\r\\u00e9"}',),
    ),
    Case("text that ends inside of an escape", "json_answer", ('{"content": "a\\',)),
    Case("text with a wrong escape", "json_answer", ('{"content":"e\\{"name":"w","args":{',)),
    Case(
        "text of an object after too much",
        "json_answer",
        ('{"content":"',),
        {"limits": Limits(deferred_length=8)},
    ),
    Case(
        "an error after too much that waited",
        "json_answer",
        ('{"content":"","":{"": "o"}, "name": "write_file", "ar"s',),
        {"limits": Limits(deferred_length=40)},
    ),
    Case(
        "a number as long as what may wait",
        "pythonic",
        ("[f(a=-2e-0900000)]x",),
        {"limits": Limits(deferred_length=12)},
    ),
    Case(
        "arguments that are too long, in a chunk with what follows",
        "pythonic",
        ("[w(a='x\",]), \nf> <|python_start|>[",),
        {"limits": Limits(arguments_length=30)},
    ),
    Case(
        "arguments as long as they may be, and a closer that was cut",
        "gemma4",
        ('<|tool_call>call:f{path:<|"|> =<|"|>,n:true,m:1}<tool_cal',),
        {"limits": Limits(arguments_length=30)},
    ),
    Case(
        "the end of code behind a string in an object",
        "olmo3_pythonic",
        ("<function_calls>f(n={'n': '", "x'", "})", REASONING, "</function_calls>"),
    ),
    Case(
        "the beginning of a marker behind a call that waits for the end",
        "minicpm4",
        ("<|tool_call_start|>```python\nf(a='z')\n```\n<|tool_call_end|><|t",),
    ),
    Case("the opener of reasoning that is text, cut by a call", "dots", ("<<th", CALL, "ink>hm")),
    Case(
        "a token before code, with the character behind it that says what it is",
        "llama_python_tag",
        ("<|python_tag|>.",),
        {"limits": Limits(deferred_length=8)},
    ),
    Case(
        "an empty section whose opener is more than may wait",
        "bolt_artifact",
        ("<boltArtifact></boltArtifact>",),
        {"limits": Limits(deferred_length=8)},
    ),
    Case(
        "a header that goes on behind what may wait",
        "harmony",
        ("<|channel|>final<|constrain|>json to=user<|channel|>final<|message|>",),
        {"limits": Limits(deferred_length=40)},
    ),
    Case(
        "an object behind a bracket with which no more may wait",
        "llama3_json",
        ("<|python_tag|>[{", CALL),
        {"limits": Limits(deferred_length=8)},
    ),
    Case(
        "a wrong character behind a marker with which no more may wait",
        "deepseek_v31",
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>▁",),
        {"limits": Limits(deferred_length=40), "tools": {"f": None}},
    ),
    Case(
        "an object in one that is open where no more may wait",
        "generic_json",
        ('{"":{"name":"f","arguments":{"h": [true]}}',),
        {"limits": Limits(deferred_length=40)},
    ),
    Case(
        "an opener that was cut, behind a broken one and blanks that waited",
        "deepseek_v4_dsml",
        ("<｜DSML｜invoke >\n\n<｜DSML｜invoke f",),
        {"tools": {"f": None}},
    ),
    Case(
        "a closer of reasoning behind a call that ended the doubt about it",
        "dots",
        ('><dots_function_call><invoke name="t"></invoke>{</think>',),
    ),
    Case(
        "arguments that are too long with a quote inside",
        "functiongemma",
        ("<start_function_call>call:f{ent:<escape></think>\u2028f<escape>[",),
        {"limits": Limits(arguments_length=30)},
    ),
    Case("native reasoning in the opener of reasoning that is text", "think_tags", ("a <thi", REASONING, "nk>b")),
    Case(
        "the place at which a call in JSON is broken",
        "apertus",
        ('<|tools_prefix|>[{"write": {"a": ""}}, {"f": {"a": "]"}}]<|tools_suffix|>',),
        {"tools": {"f": {}}, "unknown_tool": "text"},
    ),
    Case(
        "a call in the text of a block, where no tools were declared",
        "dots",
        ('<dots_function_call><dots_function_call>\n{"name": "f", "arguments": {"a": 1}}</dots_function_call>',),
        {"tools": {}},
    ),
)


@looped("case", CASES, ids=lambda case: case.about)
def test_the_laws_hold_where_they_once_did_not(case: Case) -> None:
    is_text = all(isinstance(part, str) for part in case.parts)
    for how in (Completed(), Interrupted("Ctrl-C")):
        for seed in range(8):
            check([case.dialect], Flow(case.parts, how, is_text), case.options, Random(seed))


def test_a_failed_call_is_not_gone_on_with() -> None:
    """Its next marker would begin a call without a name."""
    text = '[TOOL_CALLS]f{"a": -09}[TOOL_CALLS] x[CALL_ID] 1[ 1[ARGS]{}[TOOL_CALLS]g[ARGS]{"b": 1}'
    events = answered([text], parse_text("mistral_v11", turn_id="t"))
    starts = [payload_of(event) for event in events if isinstance(event, SegmentStart)]
    assert starts == [{"metadata": {"tool_name": "f"}}, {}, {"metadata": {"tool_name": "g"}}]


def test_text_that_goes_on_after_something_native_is_a_segment_of_its_own() -> None:
    items = [ChunkResponse(content="<answer>a"), IMAGE, ChunkResponse(content="b</answer>")]
    events = [
        event for event in answered(items, parse_text("hunyuan_a13b", turn_id="t")) if isinstance(event, SegmentEvent)
    ]
    said = [(event.segment_id, event.delta) for event in events if isinstance(event, SegmentContent)]
    assert said == [("t:text_0", "a"), ("t:media_0", "u"), ("t:text_1", "b")]


VALUE = Text("value", key="v")
LINES = Text("value", key="v", trim="newline")
WRITTEN = (
    (Dialect("a line to itself", (Call("<a>", "x\n", VALUE, "\n</a>", name="f"),)), "<a>x\nhi\n</a>"),
    (Dialect("blanks before a marker", (Call("<a>", "\n\n<k>", VALUE, "</k>", " ;", name="f"),)), None),
    (Dialect("a blank alone", (Call("<a>", "\n", VALUE, "\n", name="f"),)), "<a>\nhi\n"),
    (Dialect("with and without a blank", (Call("<a>", LINES, Alt(" </a>", "\n</b>", "</a>"), name="f"),)), None),
    (Dialect("a name, then a blank", ("<a>", Text("name", r"\w"), "\n<k>", LINES, "\n</k>")), None),
    (Dialect("a value at once", (Call("<b>", VALUE, "</b>", name="f"),)), "<b>hi</b>"),
    (Dialect("a value at once, or none", (Call("<b>", Alt(VALUE, "!"), "</b>", name="f"),)), None),
    (Dialect("several of them", ("<s>", Many(Call("<b>", VALUE, "</b>", name="f")), "</s>")), None),
)
"""Grammars of users, and what a call is in them."""


@pytest.mark.parametrize(("dialect", "text"), WRITTEN, ids=lambda each: getattr(each, "name", ""))
def test_what_any_grammar_writes_is_read_again(dialect: Dialect, text: str | None) -> None:
    values = [value for value in ("hi", "a\nb", "x") if can_render(dialect, "f", {"v": value}) is None]
    for value in values:
        call = render_call(dialect, "f", {"v": value})
        assert text is None or value != "hi" or call == text
        for whole in (call, f"Hi {call}", f"{call}\n{call}"):
            for pieces in ([whole], list(whole)):
                found = answered(pieces, parse_text(dialect, turn_id="t"), to_invocations())
                said = [(each.name, each.arguments) for each in found if isinstance(each, ToolInvocation)]
                assert said == [("f", {"v": value})] * whole.count(call), whole
            for end in range(len(whole) + 1):
                check([dialect], Flow((whole[:end],), Completed(), is_text=True), {}, Random(end))


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (
            '<tool_call>{"name": "f", "arguments": {"a": "x\n\ty\r\n", "b": ["\n"]}}</tool_call>',
            [{"a": "x\n\ty\r\n", "b": ["\n"]}],
        ),
        ('<tool_call>{"name": "f", "arguments": "{\\"a\\": \\"x\\ny\\"}"}</tool_call>', [{"a": "x\ny"}]),
        ('<tool_call>{"name": "f", "arguments": "{\\"a\\":\n\\"x\\"}"}</tool_call>', [{"a": "x"}]),
        ('<tool_call>{"why": "a\nb", "name": "f", "arguments": {}}</tool_call>', []),
        ('<tool_call>{"arguments": {"a": "\n"}, "name": "f"}</tool_call>', []),
        ('<tool_call>{"name": "f", "arguments": {"a\n": 1}}</tool_call>', [None]),
    ],
)
def test_a_line_break_that_is_not_escaped_is_one_in_arguments_only(text: str, calls: list[Any]) -> None:
    for pieces in ([text], list(text)):
        found = answered(pieces, parse_text("hermes", turn_id="t"), to_invocations())
        outcomes = [each for each in found if not isinstance(each, SegmentEvent)]
        assert [getattr(each, "arguments", None) for each in outcomes] == calls
    for end in range(len(text) + 1):
        check(["hermes"], Flow((text[:end],), Completed(), is_text=True), {}, Random(end))


WRITE = "<write_to_file>\n<path>{}</path>\n<content>\n{}\n</content>\n</write_to_file>"


def test_a_file_ends_where_the_closer_of_its_call_stands_behind_one_of_its_own() -> None:
    files = {"a": "x </content> y\n</content>\n</write", "b": "<content>z</content>\n<b>"}
    text = " then ".join(WRITE.format(*file) for file in files.items()) + " done: </content>"
    for pieces in ([text], list(text)):
        read = parse_text("cline", turn_id="t", tools={"write_to_file": {"properties": {"path": {}, "content": {}}}})
        found = answered(pieces, read, to_invocations(keep_segments=True))
        calls = [each.arguments for each in found if isinstance(each, ToolInvocation)]
        said = "".join(
            getattr(each, "delta", "")
            for each in found
            if isinstance(each, SegmentEvent) and each.segment_type == "text"
        )
        assert calls == [{"path": path, "content": content} for path, content in files.items()]
        assert said == " then  done: </content>"
    # With seal="closer" END is there as soon as the closer is.
    chain = stage(parse_text("cline", turn_id="t", seal="closer"))
    *_, end = chain.feed(WRITE.format("a", "x"))
    assert end.type == "SEGMENT_END"


OPEN_CALL = "<function=write>\n<parameter=path>a</parameter>\n"


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        ("", "complete"),
        ("</fun", "complete"),
        ("</function>\nSo.", "complete"),
        ("<par", "truncated"),
        ("<parameter=content>b", "truncated"),
        ("So.", "failed"),
        ("<b>So.", "failed"),
    ],
)
def test_only_the_end_of_the_text_stands_for_a_closer(rest: str, status: str) -> None:
    for pieces in ([OPEN_CALL + rest, ""], list(OPEN_CALL + rest)):
        chunks = [ChunkResponse(content=piece) for piece in pieces] + [ChunkResponse(finish_reason="stop")]
        (end,) = (
            event
            for event in answered(chunks, parse_text("openhands", turn_id="t"))
            if isinstance(event, SegmentEnd) and event.segment_type == "tool_call"
        )
        assert end.status == status


@pytest.mark.parametrize("dialect", ["qwen3_coder", "auto"])
def test_a_closer_that_may_be_missing_is_missing_before_text_too(dialect: str) -> None:
    for call in ("<function=f></function>", "<function=f><parameter=a>x</parameter></function>"):
        for rest in ("\nSo.", " <b>", "\n<tool"):
            found = answered(list(call + rest), parse_text(dialect, turn_id="t"), to_invocations())
            assert [type(each) for each in found if not isinstance(each, SegmentEvent)] == [ToolInvocation]


def test_blanks_before_a_marker_that_begins_with_one_are_none_of_it() -> None:
    dialect = Dialect("a", (Call("<a>", "\n\n<k>", VALUE, "</k>", "\n</a>", name="f"),))
    text = "<a> \n\n\n<k>x</k> \n\n</a>"
    for pieces in ([text], list(text)):
        (call,) = answered(pieces, parse_text(dialect, turn_id="t"), to_invocations())
        assert isinstance(call, ToolInvocation)
        assert call.arguments == {"v": "x"}


@pytest.mark.parametrize(("policy", "outcome"), [("text", []), ("fail", ["InvocationFailed"])])
def test_a_value_at_once_of_a_tool_that_is_unknown(policy: Any, outcome: list[str]) -> None:
    dialect = Dialect("b", (Call("<b>", VALUE, "</b>", name="f"),))
    for pieces in (["<b>hi</b> Ok"], list("<b>hi</b> Ok")):
        operator = parse_text(dialect, tools={"g": None}, unknown_tool=policy, turn_id="t")
        found = answered(pieces, operator, to_invocations())
        assert [type(each).__name__ for each in found if not isinstance(each, SegmentEvent)] == outcome


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("hermess", "unknown dialect 'hermess'; did you mean 'hermes'?"),
        ("atuo", "unknown dialect 'atuo'; did you mean 'auto'?"),
        ("yaml", "unknown dialect 'yaml'; known are 'auto', "),
        (3, "unknown dialect 3; known are 'auto', "),
    ],
)
def test_a_dialect_that_is_none_is_told_with_what_is_near(wrong: Any, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        parse_text(wrong)


@pytest.mark.laws
@looped("name", some_of(NAMES, 20))
def test_work_grows_with_the_text_only(name: str) -> None:
    """Counted in calls of functions, for a text that is nearly a call in many dialects."""
    unit = (
        'Some prose. <tool_call>{"name": "f", "arguments": {"content": "' + "x" * 50 + '"}}</tool_call>'
        "<function=f><parameter=a>" + "y\n" * 30 + "</parameter></function><[{\n"
    )
    operator = parse_text(name, turn_id="t")
    work_of(operator, list(unit))  # what is compiled once is no work of the text
    for size in (1, 7, 10_000_000):
        few, many = (
            work_of(operator, [(unit * times)[at : at + size] for at in range(0, len(unit) * times, size)])
            for times in (4, 8)
        )
        assert many < 2.5 * few, (size, few, many)


SPARE = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'


@pytest.mark.parametrize("behind", ["</tool_call>\n" * 9 + "hi", "</tool_call>" + "\n" * 90 + "hi", "\n" * 90])
def test_what_may_wait_is_counted_alike_wherever_the_text_is_cut(behind: str) -> None:
    for length in (8, 24, 40, 70):
        for dialect, text in (("hermes", SPARE + behind), ("hunyuan_a13b", "<answer>" + "\n" * 90 + "hi")):
            check(
                [dialect],
                Flow((text,), Completed(), is_text=True),
                {"limits": Limits(deferred_length=length)},
                Random(1),
            )


def test_a_call_without_a_closer_ends_where_text_follows() -> None:
    dialect = Dialect("m", ("<c>", Text("name", r"\w"), Many("<k>", Text("key"), "<v>", Text("value"), "</v>")))
    for text in ("<c>f<k>a<v>x</v> Done.", "<c>f<k>a<v>x</v><c>f<k>a<v>x</v>"):
        found = answered(list(text), parse_text(dialect, turn_id="t"), to_invocations())
        calls = [each for each in found if not isinstance(each, SegmentEvent)]
        assert [getattr(each, "arguments", None) for each in calls] == [{"a": "x"}] * text.count("<c>")


def test_one_dialects_wish_for_arguments_is_not_anothers() -> None:
    mine = Dialect("mine", ("<j>", Json(), "</j>"))
    strict = Dialect("strict", ("<j>", Json(whole=True), "</j>"))
    for dialects, count in (((mine,), 1), ((strict,), 0), ((mine, strict), 1)):
        found = answered(['<j>{"name": "now"}</j>'], parse_text(*dialects, turn_id="t"), to_invocations())
        assert sum(isinstance(each, ToolInvocation) for each in found) == count


def test_a_name_has_no_line_break_though_an_argument_before_it_had_one() -> None:
    text = '<tool_calls>[{"name": "f", "arguments": {"x": "a\nb"}}, {"name": "g\nh", "arguments": {}}]</tool_calls>'
    for pieces in ([text], list(text)):
        found = answered(pieces, parse_text("jamba", turn_id="t"), to_invocations())
        assert [each.name for each in found if isinstance(each, ToolInvocation)] == ["f"]


@pytest.mark.parametrize(
    "grammar",
    [
        ("<answer", Attrs((("lang", "skip"),)), ">", Text("content"), "</answer>"),
        ("<msg to=", Text("recipient", r"\w"), ">", Text("content"), "</msg>"),
    ],
)
def test_a_grammar_of_text_alone_is_read(grammar: tuple[Any, ...]) -> None:
    text = '<answer lang="en">Hi</answer>' if grammar[0] == "<answer" else "<msg to=me>Hi</msg>"
    events = answered(list(text), parse_text(Dialect("m", grammar), turn_id="t"))
    assert "".join(getattr(event, "delta", "") for event in events) == "Hi"


ANSWER = Text("content")
WRONG: tuple[tuple[tuple[Any, ...], str], ...] = (
    ((Many("a"),), "it can match an empty text; at least one item must be neither Maybe nor Many"),
    (("<a>", "", Json()), "a marker is empty"),
    (("<a>", Text("content", r"\w"), "</a>"), "text of the answer has `chars`"),
    (("<a>", Many(Text("skip", r"\w")), "</a>"), "a text that may be empty is repeated without a marker between"),
    (
        ("<a", Many(Text("skip")), Attrs((("name", "name"),)), ">", Json(name=())),
        "a text that may be empty is repeated without a marker between",
    ),
    (
        ("<a>", Many(Text("id", r"\d"), Maybe(Text("name", r"\w"))), "</a>"),
        "a text that may be empty is repeated without a marker between",
    ),
    ((Text("name"), Json(name=())), "it must begin with a marker or with JSON"),
    (("<a>", Call(Call(Json()))), "inside of another"),
    (("<a>", Text("name"), Call("<b>", VALUE, "</b>")), "a name or arguments are outside of Call"),
    (("<a>", Call("<b>", VALUE, "</b>"), Json()), "a name or arguments are outside of Call"),
    (("<a>", Attrs((("name", "name"),)), ">", Call(VALUE, "</b>")), "a name or arguments are outside of Call"),
    (("<a>", Json(), Many(Json()), "</a>"), "JSON or code has all arguments of a call, no other item may"),
    (("<a>", Text("name"), "<k>", VALUE, "</k>", Json(name=())), "JSON or code has all arguments of a call"),
    (("<a>", Text("name"), ":", CallArgs(), Maybe("<k>", VALUE, "</k>")), "JSON or code has all arguments of a call"),
    (("<a>", Json(), "</a>", ANSWER), "text of the answer is inside of a call"),
    (("<a>", ANSWER, ":", Json(), "</a>"), "text of the answer is inside of a call"),
)


@looped("grammar, fault", WRONG)
def test_a_grammar_that_cannot_be_read_is_told(grammar: tuple[Any, ...], fault: str) -> None:
    with pytest.raises(UsageError, match=f"the grammar of m cannot be read: .*{re.escape(fault)}"):
        parse_text(Dialect("m", grammar))


@pytest.mark.parametrize(
    "option",
    ["unknown_tool", "unknown_argument", "between", "blanks", "fences", "opener_in_reasoning", "repeated_opener"],
)
def test_a_wrong_value_of_an_option_is_told(option: str):
    wrong: Any = {option: "oops"}
    with pytest.raises(UsageError, match=f"{option}= must be .* or .*, got 'oops'"):
        parse_text("hermes", **wrong)


@pytest.mark.parametrize("option", ["blnks", "segment_type", "schemas"])
def test_a_wrong_name_of_an_option_is_told(option: str):
    wrong: Any = {option: None}
    with pytest.raises(TypeError, match=rf"parse_text\(\) got an unexpected keyword argument '{option}'"):
        parse_text("hermes", **wrong)


@pytest.mark.parametrize("name", ["qwen3_coder", "seed_oss", "auto"])
def test_a_raw_call_without_a_closer_is_never_run(name: str):
    for text in (
        "Use <function=NAME> in text.",
        "`<function=NAME>` opens and `</function>` closes.",
        "<function=rm_all>",
    ):
        events = answered([text], parse_text(name, turn_id="t"))
        assert [event.segment_type for event in events if event.type == "SEGMENT_START"] == ["text"]
    cut = "<seed:tool_call><function=f>\n<parameter=a>\n1\n</parameter>\n<par"
    for end in ("", "Ok"):
        found = answered([cut + end], parse_text(name, turn_id="t"), to_invocations())
        assert not any(isinstance(each, ToolInvocation) for each in found)


def test_blanks_around_a_key_are_none_of_it():
    text = "<function=f>\n<parameter= days >\n2\n</parameter>\n</function>"
    tools = {"f": {"properties": {"days": {"type": "integer"}}}}
    assert [call.arguments for call in answered([text], parse_text("qwen3_coder", tools=tools), to_invocations())] == [
        {"days": 2}
    ]


@pytest.mark.parametrize(("opener", "closer"), DIALECTS["think_tags"].reasoning)
def test_reasoning_between_tags_is_found_character_by_character(opener: str, closer: str):
    events = answered(list(f"{opener}Hm{closer}Yes"), parse_text("think_tags", turn_id="t"))
    said = [(event.segment_type, getattr(event, "delta", "")) for event in events]
    assert "".join(text for kind, text in said if kind == "reasoning") == "Hm"
    assert "".join(text for kind, text in said if kind == "text") == "Yes"


ENGINE = (
    *(
        "text_engine",
        "source_buffer",
        "outside_text",
        "outside_markers",
        "text_block",
        "block_text",
        "block_json",
        "value_end",
    ),
    *("compiled_grammar", "marker_search", "opener_forms", "value_ends", "text_options", "literal_machine"),
    "grammar_items",
)
ALSO_OTHER_WORDS = {"json", "xml", "tool_call"}
"""Names of dialects that are typings, or a type of segment, too."""


@looped("name", ENGINE)
def test_the_engine_names_no_dialect(name: str):
    (path,) = (Path(__file__).parents[3] / "operators").rglob(f"{name}.py")
    texts = {
        node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)
    }
    assert texts & set(DIALECTS) <= ALSO_OTHER_WORDS


@pytest.mark.parametrize("dialect", ["auto", "llama3_json", "llama_python_tag"])
@pytest.mark.parametrize("text", ["<|python_tag|>{}<|eom_id|>", " <|python_start|>{}<|python_end|><|eot|>"])
def test_a_token_before_code_that_is_no_call_is_nobodys_text(dialect: str, text: str):
    code = "import os\nprint(os.name)"
    whole = text.format(code)
    for pieces in ([whole], list(whole)):
        events = answered(pieces, parse_text(dialect, tools={"f": {}}, turn_id="t"))
        assert "".join(event.delta for event in events if isinstance(event, SegmentContent)).strip() == code
        assert "".join(event.raw for event in events if isinstance(event, SegmentEvent)) == whole


def test_an_attribute_beside_an_arguments_name_is_an_argument_which_may_come_once():
    def outcomes(parameters: str) -> list[Any]:
        text = f'<minimax:tool_call><invoke name="f">{parameters}</invoke></minimax:tool_call>'
        events = answered([text], parse_text("minimax_m2"), to_invocations())
        return [getattr(each, "arguments", None) or getattr(each, "reason", None) for each in events]

    assert {"string": "false", "n": "1"} in outcomes('<parameter name="n" string="false">1</parameter>')
    assert "malformed" in outcomes('<parameter name="n" string="false" string="true">1</parameter>')


MUTANTS = {
    "text of a block goes on in whatever segment is open": ("native", ("operators/text/block_text.py", "block.outside.give(_SAID[slot.item.role], text, upto)", "block.outside.give(block.answer.open_type, text, upto)")),
    "the closer of a block's text that something native ended is lost": ("once_did", ("operators/text/outside_text.py", "            self._source_buffer.before = raw\n", "            pass\n")),
    "a failed call is gone on with": ("failed_call", ("operators/text/text_block.py", "            self.at = ()  # inside of the call, where nothing goes on\n", "")),
}  # fmt: skip
