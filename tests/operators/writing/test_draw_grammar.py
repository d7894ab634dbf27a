"""A grammar as a reader sees it."""

from __future__ import annotations

from looped import looped

from penstock.operators.catalogue import DIALECTS
from penstock.operators.grammar.dialect import (
    NAME,
    Alt,
    Attrs,
    Back,
    Call,
    CallArgs,
    Dialect,
    Item,
    Json,
    Many,
    Maybe,
    Text,
)
from penstock.operators.grammar.grammar_items import leaves_of
from penstock.operators.writing.draw_grammar import draw_grammar

KEY, VALUE = Text("key"), Text("value")


@looped(
    "items, picture",
    [
        (("<a>",), '"<a>"'),
        (("all\n", '"'), r'"all\n" "\""'),
        ((NAME, Text("id"), Text("recipient"), Text("content"), Text("reasoning"), Text("skip"), Text("flag")), "NAME ID NAME CONTENT REASONING ANYTHING TYPE"),
        ((Text("value", key="svg"), Text("value")), "VALUE of svg VALUE"),
        ((Maybe("<a>"), Maybe(NAME), Maybe("<a>", NAME)), '"<a>"? NAME? ( "<a>" NAME )?'),
        ((Many("<a>", KEY),), '( "<a>" KEY )*'),
        ((Many(Maybe("<a>")), Many(Many("<a>"))), '( "<a>"? )* ( "<a>"* )*'),
        ((Many(Alt("a", "b")), Maybe(Alt("a", "b"))), '( "a" | "b" )* ( "a" | "b" )?'),
        ((Call("<a>", NAME), Many(Call("<a>", NAME))), '( "<a>" NAME )+'),
        ((Call("<a>", NAME), Many(",", Call("<a>", NAME))), '"<a>" NAME ( "," "<a>" NAME )*'),
        ((Alt("a", ("b", NAME), Alt("c", "d")),), '( "a" | "b" NAME | ( "c" | "d" ) )'),
        ((Json(),), 'JSON {"name": NAME, "arguments"|"parameters": {ARGUMENTS}} or [the same, …]'),
        ((Json(root="array", args=("args",)),), 'JSON [{"name": NAME, "args": {ARGUMENTS}}, …]'),
        ((Json(name=(), root="object"),), "JSON {ARGUMENTS}"),
        ((Json(sole_key=True, root="object"),), "JSON {NAME: {ARGUMENTS}}"),
        (
            (Json(args=("args",), calls=("calls",), content=("text",), root="object"),),
            'JSON {"name": NAME, "args": {ARGUMENTS}}, also in "calls", beside "text": CONTENT',
        ),
        ((NAME, CallArgs()), "NAME (KEY=VALUE, …)"),
        ((CallArgs("{", "}", ":", ("`",)),), "{KEY:VALUE, …}"),
        (("<a", Attrs((("name", "key"), ("string", "flag"), ("id", "skip"))), ">"), '"<a" name="KEY" string="true|false" id="…" ">"'),
        ((Attrs((("type", "flag"),)),), 'type="string|…"'),
        ((Attrs(required=("path",)),), 'path="VALUE"'),
        ((Attrs(),), 'KEY="VALUE"…'),
        (
            (Attrs((("type", "skip"), ("tool", "name")), fixed=(("type", ("a", "b")), ("old", ())), form="json"),),
            'JSON {"type": a|b, "tool": NAME, …}',
        ),
        (("<", KEY, ">", VALUE, Back()), '"<" KEY ">" VALUE "</" KEY ">"'),
    ],
)  # fmt: skip
def test_items_are_drawn(items: tuple[Item, ...], picture: str):
    assert draw_grammar(Dialect("d", items), 200) == [picture]


def test_a_long_row_goes_over_several_lines_and_a_group_is_indented():
    grammar = ("<calls>", Many("<call>", NAME, Many("<key>", KEY, "<value>", VALUE), "</call>"), "</calls>")
    assert draw_grammar(Dialect("d", grammar), 40) == [
        '"<calls>"',
        "(",
        '  "<call>" NAME',
        '  ( "<key>" KEY "<value>" VALUE )*',
        '  "</call>"',
        ")*",
        '"</calls>"',
    ]


def test_each_of_long_ways_stands_on_a_line():
    grammar = (Alt(("<one>", NAME, "</one>"), ("<two>", NAME, VALUE, "</two>")), Maybe("<end>"))
    assert draw_grammar(Dialect("d", grammar), 24) == [
        '( "<one>" NAME "</one>"',
        '| "<two>" NAME VALUE',
        '  "</two>"',
        ")",
        '"<end>"?',
    ]


@looped("name", sorted(DIALECTS))
def test_every_marker_of_a_dialect_is_in_its_picture(name: str):
    picture = "\n".join(draw_grammar(DIALECTS[name]))
    markers = [leaf for leaf in leaves_of(DIALECTS[name].grammar) if isinstance(leaf, str)]
    assert [each for each in markers if each.replace('"', r"\"").replace("\n", r"\n") not in picture] == []


@looped("name", sorted(DIALECTS))
@looped("width", [40, 100])
def test_the_brackets_of_a_picture_match_on_any_width(name: str, width: int):
    drawn = " ".join(" ".join(draw_grammar(DIALECTS[name], width)).split())
    whole = " ".join(" ".join(draw_grammar(DIALECTS[name], 10_000)).split())
    assert drawn == whole
