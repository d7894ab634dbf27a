"""What can be found out of a dialect: its example, its values, its limits."""

from __future__ import annotations

from random import Random
from typing import get_args

import pytest
from depth import stride
from looped import looped
from strategies.dialect_texts import markers
from strategies.rendered_calls import PIECES

from penstock.events.errors import UsageError
from penstock.operators.catalogue import DIALECTS
from penstock.operators.grammar.dialect import Back, CallArgs, Dialect, Json, Many, Text, Trim, Typing
from penstock.operators.grammar.grammar_items import leaves_of, takes_key
from penstock.operators.writing.describe_dialect import (
    TRIM,
    TYPING,
    as_code,
    describe_dialect,
    dialect_limits,
    schema_of,
    value_forms,
)
from penstock.operators.writing.render_call import can_render

RAW = Dialect(
    "raw",
    ("<", Text("name", r"\w"), ">", Many("<", Text("key", r"\w-"), ">", Text("value", trim="blanks", typing="schema"), Back()), "<end>"),
)  # fmt: skip


def test_a_dialect_is_described():
    described = describe_dialect(RAW)
    assert described.name == "raw"
    assert described.grammar == ('"<" NAME ">" ( "<" KEY ">" VALUE "</" KEY ">" )* "<end>"',)
    assert described.example == "<weather><city>Oslo</city><days>2</days><end>"
    assert described.values == (f"raw text: {TYPING['schema']}{TRIM['blanks']}",)
    assert (described.reasoning, described.spelling) == ((), ())
    assert described.limits == (
        "a parameter's name with a blank, a dot",
        "a tool's name with a blank, a dash, a dot",
        "a text with blanks at its edges",
        "a text with newlines at its edges",
        "a text that ends in a carriage return",
        "a text in which markers follow each other as they do between two arguments",
        "a value that is no text, where no schema says its type",
    )


def test_markers_and_spellings_are_told():
    marks = Dialect(
        "marks",
        (Json(), "<think>", Text("reasoning"), "<end>"),
        reasoning=(("[a]", "[/a]"), ("```t", "```")),
        aliases=(("<End>", "<end>"),),
        ignore_case=True,
    )
    described = describe_dialect(marks)
    assert described.reasoning == ("`[a]` … `[/a]`", "```` ```t ```` … ```` ``` ````", "`REASONING` in the grammar")
    assert described.spelling == ("`<End>` for `<end>`", "markers in any case")


def test_without_calls_there_is_no_example_and_no_limit():
    described = describe_dialect(Dialect("none", reasoning=(("<a>", "</a>"),)))
    assert (described.grammar, described.example, described.values, described.limits) == ((), "", (), ())


def test_the_example_may_be_given_and_has_to_be_one():
    assert describe_dialect(RAW, ("f", {"a": "x"})).example == "<f><a>x</a><end>"
    with pytest.raises(UsageError, match="raw cannot write this call: the name 'a b'"):
        describe_dialect(RAW, ("a b", {"a": "x"}))


def test_what_json_can_say_has_no_limit():
    assert list(dialect_limits(DIALECTS["hermes"], "f", {"a": "x"})) == []


JSON_BODY = [
    name
    for name, dialect in DIALECTS.items()
    if dialect.grammar and {type(leaf) for leaf in leaves_of(dialect.grammar) if takes_key(leaf)} == {Json}
]


@looped("name", JSON_BODY)
def test_arguments_as_json_have_no_limit(name: str):
    of_arguments = [each for each in describe_dialect(DIALECTS[name]).limits if not each.startswith("a tool's name")]
    assert of_arguments == []


@pytest.mark.laws
@looped("name", [name for name, dialect in DIALECTS.items() if dialect.grammar])
def test_where_no_limit_of_texts_is_told_there_is_none(name: str):
    dialect = DIALECTS[name]
    shown = dialect.example or ("f", {"a": "x"})
    text = [key for key, value in shown[1].items() if isinstance(value, str)][-1]
    if can_render(dialect, *shown) is not None or any(
        each.startswith(("a text", "an empty text")) for each in describe_dialect(dialect, dialect.example).limits
    ):
        return
    random = Random(name)
    pieces = (*markers(dialect), *PIECES)
    for _ in range(0, 100, stride(20)):
        value = "".join(random.choice(pieces) for _ in range(random.randrange(1, 8)))
        arguments = {**shown[1], text: value}
        assert can_render(dialect, shown[0], arguments, schema=schema_of(arguments)) is None, value


def test_a_raw_value_cannot_have_what_two_arguments_or_two_calls_have_between_them():
    (said,) = (each for each in describe_dialect(DIALECTS["qwen3_coder"]).limits if "follow" in each)
    assert said == "a text in which markers follow each other as they do between two arguments, between two calls"


def test_one_tool_with_its_own_arguments_is_a_limit():
    limits = list(dialect_limits(DIALECTS["aider"], "search_replace", {"search": "a\n", "replace": "b\n"}))
    assert limits[:3] == [
        "arguments other than `search`, `replace`",
        "a call without `search`, `replace`",
        "a tool other than `search_replace`",
    ]
    assert limits[-1] == "a value that is a number, true or false, null, an object, a list"


def test_quotes_that_nothing_escapes_are_a_limit():
    custom = Dialect("custom", (Text("name"), CallArgs("{", "}", ":", ("<q>",), escapes=False)))
    assert "a text with `<q>`" in list(dialect_limits(custom, "f", {"a": "x"}))


def test_every_way_to_read_a_value_has_words():
    assert set(TYPING) == set(get_args(Typing))
    assert set(TRIM) == set(get_args(Trim))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lfm2", ["JSON: its own types", "literals: Python's, and JSON's `true`, `false` and `null`"]),
        ("functiongemma", ["literals: text between two `<escape>`, keys bare, all else as in JSON"]),
        ("deepseek_v32_dsml", [f"raw text: {TYPING['flagged']}"]),
        (
            "sentinel",
            [
                "JSON: its own types",
                *(f"`{key}`: {TYPING['text']}" for key in ("content", "patch", "command")),
                *(
                    f"from `__START_{each}__`, if the value begins with it, to `__END_{each}__` nothing ends the value"
                    for each in ("CONTENT", "PATCH")
                ),
            ],
        ),
    ],
)  # fmt: skip
def test_values_are_told(name: str, said: list[str]):
    assert list(value_forms(DIALECTS[name])) == said


def test_of_a_value_it_is_told_what_is_special_to_it():
    value = Text("value", entities=True, section=("<[", "]>"))
    assert list(value_forms(Dialect("d", ("<a>", value, "</a>", Text("value", key="b"))))) == [
        f"raw text: {TYPING['text']}",
        f"`b`: {TYPING['text']}",
        "`&lt;` and the like are decoded, once",
        "between `<[` and `]>` all is text as it stands",
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [("a", "`a`"), ("a`b", "`` a`b ``"), ("```x", "```` ```x ````"), ("a\r\n", r"`a\r\n`"), ("", "``")],
)
def test_a_text_is_code_whatever_is_in_it(text: str, code: str):
    assert as_code(text) == code
