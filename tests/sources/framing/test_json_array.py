from __future__ import annotations

import json
from typing import Any

import msgspec
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped

from penstock.sources.framing.ndjson import JsonArrayDecoder

TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS | st.sampled_from(['"', "\\", "}{", "][", ",", '\\"']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def decoded(*pieces: bytes) -> list[str]:
    decoder = JsonArrayDecoder()
    return [event.data for piece in pieces for event in decoder.feed(piece)] + [each.data for each in decoder.close()]


@settings(max_examples=scaled(150))
@given(values=st.lists(VALUES, max_size=4), indent=st.sampled_from([None, 1]), data=st.data())
def test_the_elements_of_an_array_come_out_however_it_is_cut_and_frozen(
    values: list[Any], indent: int | None, data: st.DataObject
):
    body = json.dumps(values, indent=indent, ensure_ascii=data.draw(st.booleans())).replace("\n", "\r\n").encode()
    size = data.draw(st.sampled_from([1, 2, 5, len(body)]))
    decoder = JsonArrayDecoder()
    found: list[Any] = []
    for at in range(0, len(body), size):
        found += [json.loads(event.data) for event in decoder.feed(body[at : at + size])]
        state = msgspec.json.decode(msgspec.json.encode(decoder.dump()))
        decoder = JsonArrayDecoder()
        decoder.load(state)
    assert found == values
    assert decoder.close() == []


CASES = {
    "an element as soon as it ends": (b'[{"a":1}', ['{"a":1}']),
    "a bare object": (b'{"error": {"code": 400}}\n', ['{"error": {"code": 400}}']),
    "values in a row": (b'{}{"a":[]}\r\n[1]', ["{}", '{"a":[]}', "1"]),
    "scalars": (b'[1, true, "a,]", -2.5]', ["1", "true", '"a,]"', "-2.5"]),
    "a scalar that the end ends": (b"12", ["12"]),
    "an array of arrays": (b"[[1,[2]],[]]", ["[1,[2]]", "[]"]),
    "braces and quotes in strings": (rb'[{"a":"}\"]{\\"},{}]', [r'{"a":"}\"]{\\"}', "{}"]),
    "what the end cuts off": (b'[{"a":1},{"b', ['{"a":1}', '{"b']),
    "what is no JSON": (b"<html> {}", ["<html>", "{}"]),
    "a byte order mark": (b"\xef\xbb\xbf[{}]", ["{}"]),
    "bytes that are no UTF-8": (b'[{"a":"\xff"}]', ['{"a":"\ufffd"}']),
    "separators that are text": ('[{"a":"\u2028\x85"}]'.encode(), ['{"a":"\u2028\x85"}']),
    "nothing": (b" \r\n", []),
}


@looped("case", CASES)
def test_a_body_gives_its_values_whole_byte_by_byte_and_cut_in_two(case: str):
    body, wanted = CASES[case]
    assert decoded(body) == wanted
    assert decoded(*(body[at : at + 1] for at in range(len(body)))) == wanted
    for place in range(len(body)):
        assert decoded(body[:place], body[place:]) == wanted


def test_a_value_is_not_looked_at_again_with_each_piece():
    decoder = JsonArrayDecoder()
    decoder.feed(b'[{"a":"')
    for _ in range(500):
        assert decoder.feed(b"x" * 100) == []
    assert decoder.is_inside
    [event] = decoder.feed(b'"}')
    assert len(event.data) == 50_000 + len('{"a":""}')
