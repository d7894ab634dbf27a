"""JSON texts as hypothesis strategies: valid ones in every notation, and nearly valid ones."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import strategies as st

_BLANKS = st.sampled_from(["", "", "", " ", "\n\t", "\r "])
_LETTERS = [*'ab{}[:, "\\/\b\f\n\r\t\x00\x7f\u2028é日😀\ud83d\ude00\ufffd']
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "/": "\\/"}


def _notations(letter: str) -> list[str]:
    """Return every way to write a character in a string: raw where it may be, short escape, \\u escapes."""
    units = letter.encode("utf-16-be", "surrogatepass")
    escaped = "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    raw = [letter] if letter >= " " and letter not in '"\\' else []
    return [*raw, *filter(None, [_ESCAPES.get(letter)]), escaped, escaped.upper().replace("U", "u")]


# Names that look alike at every level, so that a flat search finds the wrong one.
_NAMES = st.sampled_from(["content", "path", "a", "a.b", "", "0", "é"])

SAMPLE = (
    ' {"path": "src/\\u00e9.py", "content":"def f():\\n\\treturn \\"\\\\\\u0041\\"\\ud83d\\ude00\\ud83d x\\uDE00",\r\n'
    '"nested" : {"content": "not this", "list": [ ], "": {}, "deep":[[1,-0.5e+3],[true , null,"]}"]]},'
    '"k\\u0065y\\n": 12,"🦀": "日本\x7f", "last":"" }\n '
)


def in_words(value: Any) -> Any:
    """Return a value as the machine must: lone surrogates become U+FFFD, in keys too."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, list):
        return [in_words(each) for each in value]
    if isinstance(value, dict):
        return {in_words(key): in_words(each) for key, each in value.items()}
    return value


def loads(text: str) -> Any:
    """Return what `json.loads` does, strictly: NaN and the infinities are not JSON; surrogates as the machine must."""

    def refuse(name: str) -> Any:
        raise ValueError(name)

    return in_words(json.loads(text, parse_constant=refuse))


def json_strings() -> st.SearchStrategy[str]:
    notations = [notation for letter in _LETTERS for notation in _notations(letter)]
    return st.lists(st.sampled_from(notations), max_size=6).map(lambda raw: f'"{"".join(raw)}"')


def json_numbers() -> st.SearchStrategy[str]:
    return st.tuples(
        st.sampled_from(["", "-"]),
        st.sampled_from(["0", "1", "907", "18446744073709551616"]),
        st.sampled_from(["", "", ".5", ".0078125"]),
        st.sampled_from(["", "", "e1", "E+400", "e-07"]),
    ).map("".join)


def _containers(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    spaced = st.tuples(_BLANKS, values, _BLANKS).map("".join)
    keys = st.one_of(_NAMES.map(json.dumps), json_strings())
    entries = st.tuples(_BLANKS, keys, _BLANKS, st.just(":"), spaced).map("".join)
    return st.one_of(
        st.lists(spaced, max_size=4).map(lambda items: f"[{','.join(items)}]"),
        st.lists(entries, max_size=4).map(lambda items: f"{{{','.join(items)}}}"),
        st.sampled_from(["[ ]", "{\n}"]),
    )


def json_texts() -> st.SearchStrategy[str]:
    """Draw any JSON text: any root, any notation, blanks anywhere, repeated keys."""
    leaves = st.one_of(json_strings(), json_numbers(), st.sampled_from(["true", "false", "null"]))
    return st.tuples(_BLANKS, st.recursive(leaves, _containers, max_leaves=8), _BLANKS).map("".join)


_TOKENS = (
    *'{}[],:"\\-.+0123eEtfnu/ \n\x00\x1f',
    *(
        "true",
        "nul",
        "NaN",
        "Infinity",
        '"a"',
        '"a":',
        "\\u",
        "\\u00e",
        "\\ud83d",
        "\\ude00",
        "\ud83d",
        "\ude00",
        "😀",
        "\\n",
    ),
)


@st.composite
def nearly_json_texts(draw: st.DrawFn) -> str:
    """Draw a text that may not be JSON: tokens in any order, or a JSON text with something put in or taken out."""
    if draw(st.booleans()):
        return "".join(draw(st.lists(st.sampled_from(_TOKENS), max_size=8)))
    text = draw(json_texts())
    start = draw(st.integers(0, len(text)))
    end = draw(st.one_of(st.just(start), st.just(start + 1), st.just(len(text))))
    return text[:start] + draw(st.sampled_from(("", *_TOKENS))) + text[end:]
