"""Arguments of calls in Python's syntax as hypothesis strategies: valid ones in every notation, and nearly valid."""

from __future__ import annotations

import ast
import warnings
from typing import Any

from hypothesis import strategies as st

_BLANKS = st.sampled_from(["", "", "", " ", "\n\t", "\r "])
_HEX = "0123456789abcdef"


def _notations(letter: str) -> list[str]:
    """Return ways to write a character that are right in every string with escapes."""
    code = ord(letter)
    if code > 0xFFFF:
        units = letter.encode("utf-16-be").hex()
        return [letter, f"\\U{code:08x}", f"\\u{units[:4]}\\u{units[4:]}"]
    if 0xD800 <= code < 0xE000:
        # Followed by what makes no pair of it: the oracle would see one in two adjacent strings, too.
        return [f"\\u{code:04X}-"]
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'", '"': '\\"', "\b": "\\b", "\a": "\\a"}
    plain = [letter] if letter.isprintable() and letter not in "\\'\"" else []
    octal = [f"\\{code:03o}"] if code < 0o1000 else []
    hexadecimal = [f"\\x{code:02x}"] if code < 0x100 else []
    return [*plain, *filter(None, [short.get(letter)]), *octal, *hexadecimal, f"\\u{code:04x}", f"\\U{code:08X}"]


_LETTERS = [*"ab0,)=]} \n\t\r\\'\"\b\a\x00\x7f\x85é日😀\ud83d\ude00\ufffd"]
_NOTATIONS = [
    *(notation for letter in _LETTERS for notation in _notations(letter)),
    *("\\d", "\\8", "\\é", "\\日", "\\ ", "\\\n", "\\N{BULLET}", "\\N{latin small letter o with diaeresis}", "\\0-"),
]


def _strings() -> st.SearchStrategy[str]:
    notations = st.lists(st.sampled_from(_NOTATIONS), max_size=6).map("".join)
    short = st.one_of(
        st.tuples(st.sampled_from(["", "u", "U"]), notations).map(lambda it: f"{it[0]}'{it[1]}'"),
        notations.map(lambda raw: f'"{raw}"'),
        st.lists(st.sampled_from(["a", "'", "\\d", "\\\\", '\\"', "日", " ,"]), max_size=4).map(lambda it: f'r"{"".join(it)}"'),
    )  # fmt: skip
    pieces = st.sampled_from(["a", "'-", "\\'", "''-", '"', "\n", "\\\\", "\\n", "日", "\\u0041"])
    triple = st.lists(pieces, max_size=6).map(lambda it: f"'''{''.join(it)}-'''")
    whole = st.one_of(short, short, short, triple)
    # Without a blank between them, quotes may be triple ones.
    adjacent = st.tuples(st.sampled_from([" ", "\n", "\r\t"]), whole, whole).map(lambda it: it[0].join(it[1:]))
    return st.one_of(whole, whole, whole, adjacent)


def _numbers() -> st.SearchStrategy[str]:
    return st.sampled_from(
        [
            *("0", "17", "-1", "+8", "1_000", "18446744073709551616", "0x1F", "-0X_f", "0o17", "0b1_1"),
            *("1.", "-.5", "1.5", "1_0.0_1e1_0", "1e9", "1E+400", "2.e-07", "0.0", "0e0"),
        ],
    )


def _containers(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    spaced = st.tuples(_BLANKS, values, _BLANKS).map("".join)
    items = st.lists(spaced, min_size=1, max_size=3).map(",".join)
    comma = st.sampled_from(["", "", ",", ", "])
    keys = st.one_of(st.sampled_from(["'content'", '"path"', "'a.b'", "''", "7", "1_0"]), _strings())
    entries = st.tuples(_BLANKS, keys, _BLANKS, st.just(":"), spaced).map("".join)
    return st.one_of(
        st.tuples(items, comma).map(lambda it: f"[{it[0]}{it[1]}]"),
        st.tuples(items, comma).map(lambda it: f"({it[0]}{it[1]})"),
        spaced.map(lambda it: f"({it})"),
        st.tuples(st.lists(entries, min_size=1, max_size=3).map(",".join), comma).map(lambda it: f"{{{it[0]}{it[1]}}}"),
        st.sampled_from(["[ ]", "{\n}", "()", "( )"]),
    )


@st.composite
def call_arguments(draw: st.DrawFn) -> str:
    """Draw the arguments of a call that Python reads as literals: any notation, blanks anywhere, commas that trail."""
    leaves = st.one_of(_strings(), _numbers(), st.sampled_from(["True", "False", "None"]))
    values = st.recursive(leaves, _containers, max_leaves=6)
    names = draw(st.lists(st.sampled_from(["content", "path", "a", "é", "_0"]), max_size=4, unique=True))
    entries = [
        "".join((draw(_BLANKS), name, draw(_BLANKS), "=", draw(_BLANKS), draw(values), draw(_BLANKS))) for name in names
    ]
    comma = draw(st.sampled_from(["", ","])) if names else ""
    return f"{draw(_BLANKS)}({','.join(entries)}{comma}{draw(_BLANKS)}){draw(_BLANKS)}"


def loads(text: str) -> dict[str, Any]:
    """Return what Python reads, as JSON has it: tuples are arrays, keys are text; surrogates as the machine must."""
    # It reads \r as a newline, which is the same between literals, and in no string of these texts.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (DeprecationWarning, SyntaxWarning))  # of escapes that are none
        call = ast.parse(f"f{text.strip()}", mode="eval").body
    assert isinstance(call, ast.Call)
    assert not call.args
    return {str(keyword.arg): in_words(keyword.value) for keyword in call.keywords}


def in_words(node: ast.expr) -> Any:
    match node:
        case ast.List() | ast.Tuple():
            return [in_words(each) for each in node.elts]
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {_key(key): in_words(value) for key, value in pairs if key is not None}
    value = ast.literal_eval(node)
    return _without_halves(value) if isinstance(value, str) else value


def _key(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return "1_0" if node.value == 10 else str(node.value)
    return str(in_words(node))


def _without_halves(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_TOKENS = (
    *"(){}[],=:'\"\\-+.01eEx_jabrufTNn/ \n\x00*#",
    *("a=", "None", "true", "nan", "'a'", '"""', "'''", "\\u", "\\x4", "\\N{", "\\U0010", "\\ud83d", "\\ude00"),
    *("\ud83d", "😀", "\\n", "0x", '<|"|>', "<|"),
)


@st.composite
def nearly_call_arguments(draw: st.DrawFn) -> str:
    """Draw a text that may not be the arguments of a call: tokens in any order, or good text changed at a place."""
    if draw(st.booleans()):
        return "(" + "".join(draw(st.lists(st.sampled_from(_TOKENS), max_size=10)))
    text = draw(call_arguments())
    start = draw(st.integers(0, len(text)))
    end = draw(st.one_of(st.just(start), st.just(start + 1), st.just(len(text))))
    return text[:start] + draw(st.sampled_from(("", *_TOKENS))) + text[end:]
