"""Kinds of text, and how each begins."""

from __future__ import annotations

from typing import NamedTuple

from penstock.operators.grammar.dialect import Attrs, CallArgs, Item, Json, Many, Maybe, Text

NAME = Text("name", r"\w")
CLOSER = "a>"


class Kind(NamedTuple):
    """A grammar; texts up to a place in it, with the letters to go on with; and texts that complete it."""

    grammar: tuple[Item, ...]
    begins: dict[str, str]
    whole: tuple[str, ...]
    beside: tuple[Item, ...] = ()
    """Another grammar, which is read too."""


CALL = '{"name":"f","arguments":{"k":"v"}}'
VALUE = ("<a", NAME, ">", "<k")
KINDS = {
    "JSON": Kind(
        ("<a", Json(), Maybe(CLOSER)),
        {"": "<atx", "<a": '{"<a', '<a{"name":"f","arguments":{"k":"': '"}a>', '<a{"name":"f","arguments":{}}': "a>x<"},
        (f"<a{CALL}a>", f"<a{CALL}", f'<a{{"x":1,{CALL[1:]}a>'),
    ),
    "values as they are": Kind(
        (*VALUE[:3], Many("<k", Text("value", key="k"), "k>"), CLOSER),
        {"": "<ax>", "<af>": "<ak>", "<af><k": "k>ax", "<af><kvk>": "<ak>"},
        ("<af><kvk>a>", "<af>a>"),
    ),
    "values without a newline": Kind(
        (*VALUE, Text("value", key="k", trim="newline"), "k>", CLOSER),
        {"<af><k": "k>x\n"},
        ("<af><kvk>a>", "<af><k\nv\nk>a>"),
    ),
    "values without blanks": Kind(
        (*VALUE, Text("value", key="k", trim="blanks"), "k>", CLOSER), {"<af><k": "k>x "}, ("<af><kvk>a>",)
    ),
    "values with entities": Kind(
        (*VALUE, Text("value", key="k", entities=True), "k>", CLOSER),
        {"<af><k": "&lk>", "<af><k&l": "t;k>"},
        ("<af><kvk>a>", "<af><k&lt;k>a>"),
    ),
    "attributes": Kind(
        ("<a", Attrs((("name", "name"),)), ">", Text("value", key="k"), CLOSER),
        {"": "<a x", '<a name="f">': "<a>x"},
        ('<a name="f">va>',),
    ),
    "code": Kind(
        ("<a", NAME, CallArgs(), CLOSER),
        {"": "<ax(", "<af(": "k='x", "<af(k='": "<a')", "<af(k='v')": "a>x)"},
        ("<af(k='v')a>", "<af()a>"),
    ),
    "code that no marker comes before": Kind(
        ("[", NAME, CallArgs(unmarked=True), "]"), {"": "[f(x", "[f(": "k=1)", "[f(k=1)": ")]x,"}, ("[f(k=1)]", "[f()]")
    ),
    "code or JSON": Kind(
        ("[", NAME, CallArgs(unmarked=True), "]"),
        {"[": "f(x{", "[f(": "k=1)", "[f(k=1)": ")]x,"},
        ("[f(k=1)]", f"[{CALL}]", f'[{{"x":1,{CALL[1:]}]'),
        (Json(root="array"),),
    ),
    "a longer and a shorter marker": Kind(
        ("<a", NAME, ">", Text("value", key="k"), CLOSER),
        {"": "<a>x{", "<a": '<a>{"', '<a>{"name":"f","arguments":{"k":"': '"}a>'},
        ("<af>va>", f"<a>{CALL}a>", f'<a>{{"x":1,{CALL[1:]}a>'),
        ("<a>", Json(), CLOSER),
    ),
    "said text": Kind(("<a", Text("content"), CLOSER), {"": "<ax>", "<a": "a>x<", "<axa>": "<a>x"}, ("<axa>",)),
}
REASONING = (("<t", "t>"),)
