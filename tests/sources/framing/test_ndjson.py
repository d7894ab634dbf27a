from __future__ import annotations

import msgspec
import pytest

from penstock.sources.framing.ndjson import NdjsonDecoder

CASES = {
    "lines": (b'{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}']),
    "CRLF": (b"{}\r\n1\r\n", ["{}", "1"]),
    "no end of the last line": (b"{}\n[1", ["{}", "[1"]),
    "empty lines": (b"\n\n{}\n \r\n\n", ["{}"]),
    "separators that are text": ('"\u2028\x85\x0b"\n'.encode(), ['"\u2028\x85\x0b"']),
    "a byte order mark": (b"\xef\xbb\xbf{}\n", ["{}"]),
    "bytes that are no UTF-8": (b'"\xff\xe2\x82"\n', ['"\ufffd\ufffd"']),
    "nothing": (b"", []),
}


@pytest.mark.parametrize("case", CASES)
def test_a_body_gives_its_lines_however_it_is_cut_and_frozen(case: str):
    body, wanted = CASES[case]
    for size in (1, 2, 3, len(body) + 1):
        decoder = NdjsonDecoder()
        found: list[str] = []
        for at in range(0, len(body), size):
            found += [event.data for event in decoder.feed(body[at : at + size])]
            state = msgspec.json.decode(msgspec.json.encode(decoder.dump()))
            decoder = NdjsonDecoder()
            decoder.load(state)
        assert found + [event.data for event in decoder.close()] == wanted


def test_a_line_comes_with_its_end():
    decoder = NdjsonDecoder()
    assert [len(decoder.feed(piece)) for piece in (b'{"a"', b":1}", b"\n{", b"}\n\n")] == [0, 0, 1, 1]
