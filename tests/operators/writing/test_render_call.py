"""Calls written by the grammars of dialects, and read again."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped import looped

from penstock.events.errors import UsageError
from penstock.events.segment_event import Fragment
from penstock.operators.catalogue import DIALECTS
from penstock.operators.grammar.dialect import NAME, Alt, Attrs, Back, Call, CallArgs, Dialect, Json, Many, Maybe, Text
from penstock.operators.machines.json_values import FragmentAggregator
from penstock.operators.machines.literal_machine import LiteralMachine
from penstock.operators.schemas.value_typing import convert
from penstock.operators.writing.call_writer import CallToRender
from penstock.operators.writing.render_call import can_render, render_call, render_calls

RAW = Text("value", trim="newline", typing="schema")
GEMMA_ARGS = CallArgs("{", "}", ":", ('<|"|>',), escapes=False)
HERMES = Dialect("hermes", ("<tool_call>", Json(), Maybe("</tool_call>")))
RAW_TAGS = Dialect(
    "raw_tags",
    (
        Maybe("<tool_call>"),
        *("<function=", NAME, ">", Many("<parameter=", Text("key"), ">", RAW, Maybe("</parameter>"))),
        *(Maybe("</function>"), Maybe("</tool_call>")),
    ),
)
PYTHONIC = Dialect("pythonic", (Maybe("<|python_start|>"), "[", Many(Call(NAME, CallArgs()), Maybe(",")), "]"))
GEMMA = Dialect("gemma", ("<|tool_call>call:", NAME, GEMMA_ARGS, "<tool_call|>"))
ATTRIBUTES = Dialect(
    "attributes",
    (
        *("<tool", Attrs((("name", "name"),)), ">", Maybe("<arguments>")),
        Many("<arg", Attrs((("name", "key"),)), ">", Text("value", typing="schema", entities=True), "</arg>"),
        *(Maybe("</arguments>"), "</tool>"),
    ),
)
HARMONY = Dialect(
    "channels",
    (
        Maybe("<|start|>assistant"),
        *("<|channel|>commentary to=functions.", NAME, Maybe("<|constrain|>json"), "<|message|>", Json(name=())),
        Maybe("<|call|>"),
    ),
    aliases=(("<|chan|>", "<|channel|>"),),
)
SECTION = Dialect(
    "section",
    (
        "<section>",
        Many(Call("<call>", Text("id", r"\w.:", named=r"functions\.(\w+):\d+"), "<args>", Json(name=()), "</call>")),
        "</section>",
    ),
)
TAGS = Dialect("tags", ("<use>", "<", NAME, ">", Many("<", Text("key"), ">", Text("value"), Back()), "</use>"))
FLAGS = Dialect(
    "flags",
    (
        *('<invoke name="', NAME, '">'),
        Many(
            '<p name="',
            Text("key"),
            Alt(('" string="true">', Text("value")), ('" string="false">', Text("value", typing="json"))),
            "</p>",
        ),
        "</invoke>",
    ),
)
IDS = Dialect("ids", ("[CALL]", NAME, Maybe("[ID]", Text("id", "A-Za-z0-9")), "[ARGS]", Json(name=())))
FLAG_ATTRIBUTES = Dialect(
    "flag_attributes",
    (
        *("<", NAME, ">"),
        Many("<p", Attrs((("name", "key"), ("string", "flag"))), ">", Text("value", typing="flagged"), "</p>"),
        *("</", NAME, ">"),
    ),
)
FILES = Dialect(
    "files",
    (
        *("<all", Attrs((("id", "skip"),)), ">"),
        *(Many(Call("<do", Attrs((("type", "name"),)), ">", Text("value"), "</do>")), "</all>"),
    ),
)
TYPES = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "x": {"type": "array"},
        "s": {"type": ["string", "null"]},
        "o": {"type": "object"},
        "t": {"type": "string"},
    },
}

RENDERED: list[tuple[Dialect, dict[str, Any], str]] = [
    (
        HERMES,
        {"a": "é\n", "b": [1, None]},
        '<tool_call>{"name": "f", "arguments": {"a": "é\\n", "b": [1, null]}}</tool_call>',
    ),
    (HERMES, {}, '<tool_call>{"name": "f", "arguments": {}}</tool_call>'),
    (
        RAW_TAGS,
        {"a": "x\n", "n": 5, "x": [1, "ü"]},
        '<tool_call><function=f><parameter=a>\nx\n\n</parameter><parameter=n>\n5\n</parameter><parameter=x>\n[1, "ü"]\n</parameter></function></tool_call>',
    ),
    (RAW_TAGS, {}, "<tool_call><function=f></function></tool_call>"),
    (PYTHONIC, {"a": 1, "b": "it's", "c": [True, None]}, '<|python_start|>[f(a=1, b="it\'s", c=[True, None])]'),
    (PYTHONIC, {}, "<|python_start|>[f()]"),
    (PYTHONIC, {"a": "'\"\\\n\x00\u2028é"}, "<|python_start|>[f(a='\\'\"\\\\\\n\\x00\\u2028é')]"),
    (PYTHONIC, {"o": {"k'": -1.5}}, '<|python_start|>[f(o={"k\'": -1.5})]'),
    (
        GEMMA,
        {"a": 'say "hi"', "n": 1, "o": {"k": [True, None], "a b": "x"}},
        '<|tool_call>call:f{a:<|"|>say "hi"<|"|>,n:1,o:{k:[true,null],<|"|>a b<|"|>:<|"|>x<|"|>}}<tool_call|>',
    ),
    (
        ATTRIBUTES,
        {"a": '1 < 2 && "x"', "n": 5},
        '<tool name="f"><arguments><arg name="a">1 &lt; 2 &amp;&amp; "x"</arg><arg name="n">5</arg></arguments></tool>',
    ),
    (
        HARMONY,
        {"a": 1},
        '<|start|>assistant<|channel|>commentary to=functions.f<|constrain|>json<|message|>{"a": 1}<|call|>',
    ),
    (SECTION, {"a": 1}, '<section><call>functions.f:0<args>{"a": 1}</call></section>'),
    (TAGS, {"s": "x <b>y</b>", "t": ""}, "<use><f><s>x <b>y</b></s><t></t></use>"),
    (
        FLAGS,
        {"a": "1", "b": 1, "c": {"k": "</q>"}},
        '<invoke name="f"><p name="a" string="true">1</p><p name="b" string="false">1</p><p name="c" string="false">{"k": "</q>"}</p></invoke>',
    ),
    (IDS, {}, "[CALL]f[ARGS]{}"),
    (FLAG_ATTRIBUTES, {"a": "1", "b": 1}, '<f><p name="a" string="true">1</p><p name="b" string="false">1</p></f>'),
    (FILES, {"path": "a.py", "input": "x = 1\n"}, '<all id=""><do type="f" path="a.py">x = 1\n</do></all>'),
    (Dialect("bare", (Json(),)), {"a": 1}, '{"name": "f", "arguments": {"a": 1}}'),
    (Dialect("list", ("[T]", Json(root="array"))), {"a": 1}, '[T][{"name": "f", "arguments": {"a": 1}}]'),
    (Dialect("sole", (Json(root="array", sole_key=True),)), {"a": 1}, '[{"f": {"a": 1}}]'),
    (
        Dialect("copied", (Json(("function.name",), ("function.arguments",), calls=("tool_calls",)),)),
        {"a": 1},
        '{"function": {"name": "f", "arguments": {"a": 1}}}',
    ),
    (Dialect("body", ("<", NAME, ">", Text("value"), "</>")), {"input": "ls\n"}, "<f>ls\n</>"),
    (Dialect("maybe", ("<", NAME, Maybe(Attrs()), ">")), {}, "<f>"),
    (Dialect("maybe", ("<", NAME, Maybe(Attrs()), ">")), {"a": "b"}, '<f a="b">'),
    (Dialect("tag", ("<", NAME, Attrs(), ">")), {"path": "a.py", "mode": 'a "b"'}, '<f path="a.py" mode=\'a "b"\'>'),
    (
        Dialect("typed", ("@", NAME, Many(" ", Text("key"), "=", Text("value", typing="python"), ";"))),
        {"s": None, "t": "x"},
        "@f s=None; t='x';",
    ),
    (Dialect("spoken", (Maybe("<say>", Text("content"), "</say>"), Text("reasoning"), NAME, Json(name=()))), {}, "f{}"),
    (Dialect("several", (Call(NAME, CallArgs()), Many(";", Call(NAME, CallArgs())))), {}, "f()"),
]


@looped("dialect, arguments, text", RENDERED, ids=[row[0].name for row in RENDERED])
def test_a_call_is_written_as_its_dialect_writes_it(dialect: Dialect, arguments: dict[str, Any], text: str):
    assert render_call(dialect, "f", arguments, schema=TYPES) == text
    assert can_render(dialect, "f", arguments, schema=TYPES) is None


def two_calls(dialect: Dialect, layout: str = "") -> str:
    calls = [CallToRender("f", {"n": 1}, schema=TYPES), CallToRender("g", {}, schema=TYPES)]
    return render_calls(dialect, calls, layout=layout)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        (
            HERMES,
            '<tool_call>{"name": "f", "arguments": {"n": 1}}</tool_call><tool_call>{"name": "g", "arguments": {}}</tool_call>',
        ),
        (PYTHONIC, "<|python_start|>[f(n=1),g()]"),
        (SECTION, '<section><call>functions.f:0<args>{"n": 1}</call><call>functions.g:1<args>{}</call></section>'),
        (
            Dialect("list", ("[T]", Json(root="array"))),
            '[T][{"name": "f", "arguments": {"n": 1}}, {"name": "g", "arguments": {}}]',
        ),
        (
            Dialect("lines", ("<all>", Many(Call(Json())), "</all>")),
            '<all>{"name": "f", "arguments": {"n": 1}}{"name": "g", "arguments": {}}</all>',
        ),
        (Dialect("several", (Call(NAME, CallArgs()), Many(";", Call(NAME, CallArgs())))), "f(n=1);g()"),
        (
            Dialect("copied", (Json(("function.name",), ("function.arguments",), calls=("tool_calls",)),)),
            '{"tool_calls": [{"function": {"name": "f", "arguments": {"n": 1}}}, {"function": {"name": "g", "arguments": {}}}]}',
        ),
        (Dialect("more", (Call(NAME, CallArgs()), Maybe("+", Call(NAME, CallArgs())))), "f(n=1)+g()"),
    ],
    ids=lambda each: each.name if isinstance(each, Dialect) else "",
)
def test_several_calls_share_a_block_where_it_holds_several(dialect: Dialect, text: str):
    assert two_calls(dialect) == text


def test_a_layout_stands_where_blanks_do_not_matter_and_nowhere_else():
    assert render_call(RAW_TAGS, "f", {"a": "x"}, layout="\n").splitlines() == [
        "<tool_call>",
        "<function=f>",
        "<parameter=a>",
        "x",
        "</parameter>",
        "</function>",
        "</tool_call>",
    ]
    assert two_calls(HERMES, "\n").splitlines() == [
        "<tool_call>",
        '{"name": "f", "arguments": {"n": 1}}',
        "</tool_call>",
        "<tool_call>",
        '{"name": "g", "arguments": {}}',
        "</tool_call>",
    ]
    assert render_call(TAGS, "f", {"a": "x"}, layout="\n") == "<use>\n<f>\n<a>x</a>\n</use>"


def test_an_id_is_written_where_the_grammar_has_a_place_for_it():
    assert (
        render_call(HERMES, "f", {}, call_id="7") == '<tool_call>{"id": "7", "name": "f", "arguments": {}}</tool_call>'
    )
    assert render_call(IDS, "f", {}, call_id="abc123DEF") == "[CALL]f[ID]abc123DEF[ARGS]{}"
    assert render_call(SECTION, "f", {}, call_id="functions.f:7").startswith("<section><call>functions.f:7<args>")


def test_the_first_alternative_that_can_carry_a_call_is_taken():
    dialect = Dialect(
        "cdata",
        (
            "<",
            NAME,
            ">",
            Many("<", Text("key"), ">", Alt(Text("value"), ("<![CDATA[", Text("value"), "]]>")), Back()),
            "</>",
        ),
    )
    assert render_call(dialect, "f", {"a": "x", "b": "y"}) == "<f><a>x</a><b>y</b></>"
    numbers = Dialect("numbers", ("<", Alt(("n:", Text("name", "0-9")), ("a:", Text("name", "a-z"))), ">"))
    assert render_call(numbers, "abc", {}) == "<a:abc>"
    assert can_render(numbers, "a1", {}) == "the name 'a1' has characters other than [a-z]"


REFUSED: list[tuple[Dialect, str, dict[str, Any], str]] = [
    (HERMES, "", {}, "the call has no name"),
    (HERMES, "f", {"a": float("inf")}, "argument 'a' is inf, which JSON cannot represent"),
    (HERMES, "f", {"a": ["\ud800"]}, "argument 'a' has a lone surrogate"),
    (HERMES, "f", {"\ud800": 1}, "a lone surrogate"),
    (HERMES, "f", {"a": {1: 2}}, "argument 'a' has the key 1, which is not a str"),
    (HERMES, "f", {"a": (1,)}, "argument 'a' is a tuple, which is not a JSON value"),
    (HERMES, "f", {"a": object()}, "argument 'a' is a object, which is not a JSON value"),
    (HERMES, "f", {"a": 10**4300}, "argument 'a' has too many digits"),
    (HERMES, "f", {1: 2}, "an argument name must be a str"),  # type: ignore[dict-item]
    (RAW_TAGS, "f g", {}, r"the name 'f g' has characters other than [\w.:/-]"),
    (RAW_TAGS, "f", {"a>b": "x"}, "the key 'a>b' contains or forms '>'"),
    (RAW_TAGS, "f", {"": "x"}, "an empty key cannot be written"),
    (RAW_TAGS, "f", {"a": "<function=g><parameter=b>"}, "would not be read back"),
    (RAW_TAGS, "f", {"a": "x\r"}, "has whitespace at its ends that the reader would strip"),
    (RAW_TAGS, "f", {"a": 5}, "argument 'a' would be read back as '5': its schema says so"),
    (RAW_TAGS, "f", {"n": "5"}, "argument 'n' would be read back as 5: its schema says so"),
    (RAW_TAGS, "f", {"n": True}, "argument 'n' would be read back as 'true'"),
    (RAW_TAGS, "f", {"s": "null"}, "argument 's' would be read back as None"),
    (RAW_TAGS, "f", {"x": {}}, "argument 'x' would be read back as '{}'"),
    (PYTHONIC, "f", {"a b": 1}, "the parameter name 'a b' cannot stand before '='"),
    (GEMMA, "f", {"a": 'x<|"|>'}, "contains or forms the quote '<|\"|>'"),
    (ATTRIBUTES, "'\"", {}, "the attribute 'name' contains both kinds of quotes"),
    (TAGS, "f", {"a": "<use><f><a>"}, "would not be read back"),
    (FLAGS, "f", {"a": ['<invoke name="f"><p name="b" string="true">']}, ""),
    (IDS, "f", {"a": [[]] * 2 + [float("nan")]}, "argument 'a' is nan"),
    (
        Dialect("folded", ("<", NAME, "<V>", Text("value"), "</V>", "</>"), ignore_case=True),
        "f",
        {"input": "</v>"},
        "",
    ),
    (
        Dialect("aliased", ("@", NAME, "|", Text("value"), "[end]"), aliases=(("[END]", "[end]"),)),
        "f",
        {"input": "@f|x"},
        "would not be read back",
    ),
    (Dialect("overlap", ("@", NAME, "[", Text("value"), "]]")), "f", {"input": "a]"}, "would not be read back"),
    (
        Dialect("stripped", (NAME, "[", Text("value", trim="blanks"), "]")),
        "f",
        {"input": " a"},
        "whitespace at its ends",
    ),
    (Dialect("json_next", (NAME, Json(name=()))), "f", {"a": {}}, ""),
    (
        Dialect("no_call", ("<think>", Text("reasoning"), "</think>")),
        "f",
        {"a": 1},
        "it has no place for the argument 'a'",
    ),
    (Dialect("no_arguments", ("<", NAME, ">")), "f", {"a": 1, "b": 2}, "it has no place for the arguments 'a', 'b'"),
    (Dialect("body", (NAME, "<", Text("value"), ">")), "f", {}, "its grammar needs the argument 'input'"),
    (Dialect("keyed", (NAME, "<", Text("key"), ">")), "f", {}, "a parameter name outside of a parameter"),
    (Dialect("two", (Call(NAME, ";"), Call(NAME, ";"))), "f", {}, "its grammar needs another call"),
    (Dialect("numbered", (Text("id", "a-b"), NAME, ";")), "f", {}, "this dialect requires call_id"),
    (Dialect("flagged", (NAME, "<", Text("value", typing="flagged"), ">")), "f", {"input": 1}, "values are text there"),
    (Dialect("tag", ("<", NAME, Attrs(), ">")), "f", {}, ""),
    (Dialect("tag", ("<", NAME, Attrs(), ">")), "f", {"a b": "x"}, "'a b' cannot be the name of an attribute"),
]


@looped("dialect, name, arguments, reason", REFUSED)
def test_what_a_dialect_cannot_write_is_told(dialect: Dialect, name: str, arguments: dict[str, Any], reason: str):
    said = can_render(dialect, name, arguments, schema=TYPES)
    if not reason:
        assert said is None
        return
    assert said is not None
    assert reason in said
    with pytest.raises(UsageError) as raised:
        render_call(dialect, name, arguments, schema=TYPES)
    assert str(raised.value) == f"{dialect.name} cannot write this call: {said}"


def test_without_a_schema_raw_values_are_text():
    assert (
        render_call(RAW_TAGS, "f", {"n": "5"})
        == "<tool_call><function=f><parameter=n>\n5\n</parameter></function></tool_call>"
    )
    said = can_render(RAW_TAGS, "f", {"n": 5})
    assert said == "argument 'n' would be read back as '5': give the schema= of the tool's parameters"


def test_an_id_that_must_say_the_name_does():
    assert (
        can_render(SECTION, "f", {}, call_id="functions.g:7") == "call_id 'functions.g:7' does not contain the name 'f'"
    )


def test_a_raw_value_may_hold_the_closers_of_its_format_if_its_end_can_be_told():
    dialect = Dialect("tags", ("<", NAME, ">", Many("<", Text("key"), ">", Text("value"), Back()), "</>"))
    for content in ("a</content>b", "a</content> </>b", "</>", "<write><content>x</content></>"):
        write = CallToRender("write", {"content": content}, None, {"properties": {"content": {}}})
        assert render_calls(dialect, [write]) == f"<write><content>{content}</content></>"
    with pytest.raises(UsageError, match="would not be read back"):
        render_call(dialect, "write", {"content": "</content><more>"})


def test_a_call_stands_under_its_key_where_the_grammar_says_so():
    one = Dialect("one", (Json(args=("args",), calls=("call",), content=("content",), under="object"),))
    many = Dialect("many", (Json(calls=("calls",), under="array"),))
    assert render_call(one, "f", {"a": 1}) == '{"content": "", "call": {"name": "f", "args": {"a": 1}}}'
    assert render_call(many, "f", {}) == '{"calls": [{"name": "f", "arguments": {}}]}'


def test_a_quote_is_an_entity_only_where_it_could_end_the_value():
    dialect = Dialect("quoted", (NAME, '<p v="', Text("value", entities=True), '">'))
    assert render_call(dialect, "f", {"input": "a > 'b'"}) == "f<p v=\"a &gt; 'b'\">"
    assert render_call(dialect, "f", {"input": 'a "b'}) == 'f<p v="a "b">'
    ends = Dialect("ends", (NAME, "<p>", Text("value", entities=True), '"'))
    assert render_call(ends, "f", {"input": 'a "b'}) == 'f<p>a &quot;b"'


def test_an_attribute_says_whether_a_value_is_text_or_of_which_type_it_is():
    dialect = Dialect(
        "types",
        (
            *("<", NAME, ">"),
            Many("<p", Attrs((("name", "key"), ("type", "flag"))), ">", Text("value", typing="flagged"), "</p>"),
            "</>",
        ),
    )
    text = render_call(dialect, "f", {"a": "1", "b": 1, "c": None, "d": [True]})
    assert text == (
        '<f><p name="a" type="string">1</p><p name="b" type="number">1</p><p name="c" type="null">null</p>'
        '<p name="d" type="array">[true]</p></>'
    )
    assert can_render(dialect, "f", {"": 1}) == "an empty key cannot be written"


def test_no_call_is_no_text():
    assert render_calls(HERMES, []) == ""


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=8,
)
KEYS = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)


def strictly(value: Any) -> str:
    return json.dumps(value)


@given(st.dictionaries(KEYS, JSON_VALUES, max_size=4))
def test_arguments_written_as_code_are_read_again(arguments: dict[str, Any]):
    pythonic = Dialect("code", (NAME, CallArgs()))
    text = render_call(pythonic, "f", arguments).removeprefix("f")
    assert strictly(read_literal(LiteralMachine(), text)) == strictly(arguments)
    for key, value in arguments.items():
        one = render_call(pythonic, "f", {key: value}).removeprefix(f"f({key}=").removesuffix(")")
        assert strictly(ast.literal_eval(one)) == strictly(value)


@given(st.dictionaries(KEYS, JSON_VALUES, max_size=4))
def test_arguments_written_as_a_custom_literal_are_read_again(arguments: dict[str, Any]):
    machine = LiteralMachine("{", "}", ":", ('<|"|>',), escapes=False)
    assert strictly(
        read_literal(machine, render_call(Dialect("g", (NAME, GEMMA_ARGS)), "f", arguments)[1:])
    ) == strictly(arguments)


def read_literal(machine: LiteralMachine, text: str) -> Any:
    values = FragmentAggregator()
    for piece in (*machine.feed(text), *machine.close()):
        assert isinstance(piece, Fragment), (text, piece)
        values.feed(piece)
    return values.value


@given(st.text("ab<>/p\r\n ", max_size=12), st.sampled_from(["", "newline", "blanks"]))
def test_a_raw_value_that_can_be_written_comes_back_and_the_others_would_not(value: str, trim: Any):
    dialect = Dialect("raw", ("<f>", NAME, "<p>", Text("value", trim=trim), "</p>"))
    reason = can_render(dialect, "n", {"input": value})
    if reason is None:
        text = render_call(dialect, "n", {"input": value})
        assert text == f"<f>n<p>\n{value}\n</p>" if trim == "newline" else text == f"<f>n<p>{value}</p>"
        raw = text.removeprefix("<f>n<p>")
        raw = raw.removesuffix("</p>")
        assert (raw.strip(" \t\r\n") if trim == "blanks" else raw[1:-1] if trim == "newline" else raw) == value
    else:
        assert (
            "</p>" in value
            or (trim == "blanks" and value != value.strip())
            or (trim == "newline" and value[-1] == "\r")
        )


@given(JSON_VALUES)
def test_a_typed_value_is_refused_only_if_it_would_come_back_as_another(value: Any):
    for kind in ("string", "integer", "number", "boolean", "array", "object", "null"):
        schema = {"properties": {"input": {"type": kind}}}
        dialect = Dialect("raw", ("@", NAME, "<", Text("value", typing="schema"), "\x00>"))
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        comes_back = strictly(convert(text, {"type": kind}).value) == strictly(value)
        assert (can_render(dialect, "f", {"input": value}, schema=schema) is None) == comes_back


def test_a_call_that_cannot_be_written_is_no_empty_answer():
    assert can_render(DIALECTS["functionary_v32"], "a b", {}) is not None
    call = Call("<c>", NAME, "<v>", Text("value", key="v"), "</c>")
    dialect = Dialect("either", ("<all>", Many(Alt(call, ("<s>", Text("content")))), "</all>"))
    assert can_render(dialect, "f", {"v": "<c>f<v>x"}) is not None
