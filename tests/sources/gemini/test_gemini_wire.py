from __future__ import annotations

import msgspec
from looped import looped

from penstock.sources.gemini.wire import GeminiDecoder

CASES = {
    "events": (b'data: {"a":1}\r\n\r\ndata: {"b":2}\r\n\r\n', ['{"a":1}', '{"b":2}']),
    "an event in lines": (b'data: {"a":\ndata: 1}\n\n', ['{"a":\n1}']),
    "an event without its blank line": (b'data: {"a":1}\n\ndata: {"b":2}', ['{"a":1}', '{"b":2}']),
    "an event that the end cut off": (b'data: {"a":1}\n\ndata: {"b', ['{"a":1}', '{"b']),
    "an array": (b'[{"a":1}\r\n,\r\n{"b":2}]\r\n', ['{"a":1}', '{"b":2}']),
    "the bare object of an error": (b'{\n "error": {}\n}\n', ['{\n "error": {}\n}']),
    "an error written among the events": (
        b'data: {}\n\n{\n  "error": {\n\n  }\n}\ndata: 1\n\n',
        ["{}", '{\n  "error": {\n\n  }\n}', "1"],
    ),
    "an error cut off among the events": (b'data: {}\n\n{"error', ["{}", '{"error\n\n']),
    "an error behind a page with JSON in it": (
        b'<html>\n{"x": 1}</html>\n{"error": {}}\ndata: 1\n\n',
        ['{"error": {"message": "a page in place of a stream: {\\"x\\": 1}", "type": "html"}}', '{"error": {}}', "1"],
    ),
    "blanks before all": (b"\xef\xbb\xbf\r\n [{}]", ["{}"]),
    "comments and names": (b": hi\nevent: x\ndata: {}\n\n", ["{}"]),
    "nothing": (b"\r\n", []),
}


@looped("case", CASES)
def test_each_form_gives_its_values_however_it_is_cut_and_frozen(case: str):
    body, wanted = CASES[case]
    for size in (1, 2, 7, len(body) + 1):
        decoder = GeminiDecoder()
        found: list[str] = []
        for at in range(0, len(body), size):
            found += [event.data for event in decoder.feed(body[at : at + size])]
            state = msgspec.json.decode(msgspec.json.encode(decoder.dump()))
            decoder = GeminiDecoder()
            decoder.load(state)
        assert found + [event.data for event in decoder.close()] == wanted
