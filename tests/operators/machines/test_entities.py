"""XML's entities, cut anywhere."""

from __future__ import annotations

import html
import itertools

import msgspec
import pytest
from depth import is_deep
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from strategies.cuts import cuts

from penstock.operators.machines.entities import Entities, decode_entities, encode_entities

CASES = [
    ("", ""),
    ("plain", "plain"),
    ("&amp;&lt;&gt;&quot;&apos;", "&<>\"'"),
    ("&amp;lt;", "&lt;"),
    ("&amp;amp;lt;", "&amp;lt;"),
    ("&#65;&#x41;&#X41;&#0000065;&#x000041;", "AAAAA"),
    ("&#x1F600;&#128512;", "😀😀"),
    ("&#1114111;&#x10FFFF;", "\U0010ffff\U0010ffff"),
    ("&#0;&#xD800;&#57343;&#1114112;&#x110000;", "&#0;&#xD800;&#57343;&#1114112;&#x110000;"),
    ("&#00000065;&#x0000041;", "&#00000065;&#x0000041;"),
    ("&nbsp;&copy;&LT;&Amp;", "&nbsp;&copy;&LT;&Amp;"),
    ("a && b &", "a && b &"),
    ("&&lt;&&amp;&#&#x&#;&#x;", "&<&&&#&#x&#;&#x;"),
    ("&amp &lt &#65 ", "&amp &lt &#65 "),
    ("& lt; &l t;", "& lt; &l t;"),
]
CDATA_CASES = [
    ("&lt;<![CDATA[&lt;<b>]]>&gt;", "<&lt;<b>>"),
    ("<![CDATA[]]>", ""),
    ("<![CDATA[a]]]]><![CDATA[>b]]>", "a]]>b"),
    ("<![CDATA[a]] >]]]>", "a]] >]"),
    ("<![CDATA[open &lt;", "open &lt;"),
    ("<![CDATA[open ]]", "open ]]"),
    ("<![CDAT <![cdata[x]]>", "<![CDAT <![cdata[x]]>"),
    ("<<![CDATA[<]]>", "<<"),
    ("&#x<![CDATA[41;]]>", "&#x41;"),
    ("<![CDATA", "<![CDATA"),
]


def decoded(pieces: list[str], *, cdata: bool = False) -> str:
    entities = Entities(cdata=cdata)
    return "".join([*map(entities.feed, pieces), entities.close()])


@looped("text, meant", CASES)
def test_a_text_is_decoded_once_however_it_is_cut(text: str, meant: str):
    assert decode_entities(text) == meant
    for first, last in itertools.combinations_with_replacement(range(len(text) + 1), 2):
        pieces = [text[:first], text[first:last], text[last:]]
        assert decoded(pieces) == meant, pieces
    assert decoded(list(text)) == meant
    assert decoded(list(text), cdata=True) == meant


@looped("text, meant", CDATA_CASES)
def test_a_cdata_section_comes_as_it_is_however_it_is_cut(text: str, meant: str):
    for first, last in itertools.combinations_with_replacement(range(len(text) + 1), 2):
        pieces = [text[:first], text[first:last], text[last:]]
        assert decoded(pieces, cdata=True) == meant, pieces
    assert decoded(list(text), cdata=True) == meant


def test_without_the_option_a_cdata_section_is_text():
    assert decoded(["<![CDATA[&lt;]]>"]) == "<![CDATA[<]]>"


def test_whether_a_section_is_open_is_known():
    entities = Entities(cdata=True)
    known = []
    for letter in "<![CDATA[a]]>b":
        entities.feed(letter)
        known.append(entities.in_cdata)
    assert known == [False] * 8 + [True] * 4 + [False] * 2


ENDINGS = [
    "",
    ";",
    "p;",
    "mp;",
    "t;",
    "lt;",
    "gt;",
    "uot;",
    "pos;",
    "os;",
    "#65;",
    "x41;",
    "41;",
    "1;",
    "x1",
    " ",
    "&",
    "zzzzzzzzzz",
]
LONGER = [f"{digits};" for digits in ("0", "1", "65", "0041", "00041", "65535", "111", "999999")]
ALPHABET = ("&", "#", "x", "1", "5", "d", "8", "0", "a", "m", "l", ";")


def marked(text: str) -> str:
    pieces = text.split("&amp;")
    return "[&]".join(decode_entities(piece) for piece in pieces)


@pytest.mark.laws
@pytest.mark.parametrize("length", [1, 2, 3, 4] if is_deep() else [1, 2, 3])
def test_nothing_waits_that_every_continuation_leaves_as_it_is(length: int):
    for letters in itertools.product(ALPHABET, repeat=length):
        text = "".join(letters)
        entities = Entities()
        given_out = entities.feed(text)
        # The "&" of an entity is another one than an "&" alone: it stands for more of the source.
        for_all = [marked(text + more) for more in (*ENDINGS, *LONGER)]
        certain = for_all[0]
        for other in for_all:
            while not other.startswith(certain):
                certain = certain[:-1]
        assert given_out == certain.replace("[&]", "&"), text


@looped(
    "text, given_out",
    [
        ("a &#5529", "a "),
        ("&#005530", ""),
        ("&#0055300", "&#0055300"),  # a surrogate, and no room for more
        ("&#05530", ""),
        ("&#200000", ""),
        ("&#2000000", "&#2000000"),
        ("&#xD800", ""),
        ("&#x0D800", ""),
        ("&#x00D800", "&#x00D800"),
        ("&#000000", ""),
        ("&#0000000", "&#0000000"),
        ("&quots", "&quots"),
        ("&quot", ""),
        ("<![CDATA", "<![CDATA"),
    ],
)
def test_what_can_be_no_entity_any_more_does_not_wait(text: str, given_out: str):
    assert Entities().feed(text) == given_out


@given(st.text("&#x;ampltquos1f <![CDATA]>", max_size=40).flatmap(cuts), st.booleans(), st.data())
def test_frozen_anywhere_it_goes_on_the_same(pieces: list[str], cdata: bool, data: st.DataObject):
    place = data.draw(st.integers(0, len(pieces)))
    first = Entities(cdata=cdata)
    out = [first.feed(piece) for piece in pieces[:place]]
    second = Entities(cdata=cdata)
    second.load(msgspec.json.decode(msgspec.json.encode(first.dump())))
    out += [second.feed(piece) for piece in pieces[place:]]
    assert "".join([*out, second.close()]) == decoded(["".join(pieces)], cdata=cdata)


@given(st.text())
def test_what_is_encoded_comes_back_and_holds_no_markup(text: str):
    encoded = encode_entities(text)
    assert decode_entities(encoded) == text
    assert not set("<>\"'") & set(encoded)


@given(st.text("ab &;<>\"'", max_size=30))
def test_it_agrees_with_the_standard_library_on_what_xml_knows(text: str):
    assert decode_entities(encode_entities(text)) == html.unescape(encode_entities(text))


def test_at_most_nine_characters_wait():
    entities = Entities()
    text = "&#11141119" + "&" * 1000 + "&#x10FFF"
    for letter in text:
        entities.feed(letter)
        assert len(entities.dump()["_withheld"]) <= 9
