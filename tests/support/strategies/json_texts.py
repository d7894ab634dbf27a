"""JSON texts: valid ones in every notation, and nearly valid ones.

As hypothesis strategies, and for laws over millions of texts drawn with a plain `Random`.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from random import Random
from typing import Any, Final

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


SIGNS: Final = (
    *'{{}}[[]],,::""\\ \n\t\r/0123456789-+.eEabtfnulrs\x00\x7f\xa0é日😀\ud83d\ude00\u2028',
    *'true false null nul 1.5e3 -0 "a": "k":"x [1,2] \\n \\" \\\\ \\/ \\u00e9 \\uD83D \\uDE00 \\u12 \\x \\ud8'.split(),  # noqa: SIM905 - not a line for each
    "\\ud83d\\ude00",
    "7" * 650,
)


def some_value(random: Random, depth: int = 0) -> Any:
    kind = random.random()
    if kind < 0.25 and depth < 4:
        keys = random.choices(("a", "b", "é", "k\n", "😀", "long key", ""), k=random.randrange(4))
        return {key: some_value(random, depth + 1) for key in keys}
    if kind < 0.5 and depth < 4:
        return [some_value(random, depth + 1) for _ in range(random.randrange(4))]
    number = random.choice((random.randrange(-999, 9999), random.uniform(-9, 9), 10 ** random.randrange(30), 1e300))
    letters = "".join(random.choices('ab cé日😀"\\\n\t/\x7f\ud83d\ude00\u2028', k=random.randrange(20)))
    return random.choice((True, False, None, number, letters, letters))


def some_text(random: Random) -> str:
    """Return JSON, JSON with something wrong, signs of JSON in any order, or containers in containers."""
    kind = random.random()
    if kind < 0.3:
        return "".join(random.choices(SIGNS, k=random.randrange(1, 24)))
    if kind < 0.35:
        return "".join(random.choices(("[", '{"a":', "[[", "{", "]", "}", " "), k=random.choice((4, 40, 400))))
    text = json.dumps(some_value(random), ensure_ascii=random.random() < 0.5, indent=random.choice((None, None, 1)))
    if random.random() < 0.4:
        place = random.randrange(len(text) + 1)
        text = text[:place] + random.choice(SIGNS) + text[place + random.randrange(3) :]
    return text + random.choice(("", "", " ", "\n", "x"))


def some_pieces(random: Random, text: str) -> list[str]:
    size = random.choice((1, 2, 3, 4, 4, 7, 1000))
    places = range(0, len(text), size) if random.random() < 0.7 else random.choices(range(len(text)), k=len(text) // 4)
    return [text[begin:end] for begin, end in pairwise(sorted({0, *places, len(text)}))]
