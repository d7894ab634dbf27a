"""What redaction comes to, told without streams: a text is whole, and each of its places is asked one by one."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

from penstock.operators import CARD, EMAIL, KEYS, PHONE, Detector

ANTHROPIC: Final = "sk-ant-api03-" + "Ab3_" * 6
AWS: Final = "AKIA0123456789ABCDEF"
CARD_NUMBER: Final = "4111111111111111"
SETS: Final[dict[str, tuple[Detector, ...]]] = {
    "keys": KEYS,
    "people": (EMAIL, CARD, *PHONE),
    "all": (*KEYS, EMAIL, CARD, *PHONE),
    "short": (Detector("a", "ab+"), Detector("b", r"\bb[ab]{1,3}c\b"), Detector("quotes", r'\\?"x{2}')),
    "choices": (Detector("x", r"(?:a|ab-)[a-c]{2,}"), Detector("y", "c(?!a)b?"), Detector("n", r"(?<=4)1[0-9.]{2,}")),
    "flags": (
        Detector("i", re.compile("K(?-i:e)y[a-z]{1,2}", re.IGNORECASE)),
        Detector("lazy", re.compile("a.{1,3}?b", re.DOTALL)),
    ),
}
BITS: Final = (
    *("sk-ant-", "sk-", "a" * 25, "AKIA", "ABCDEFGHIJ123456", " ", "@x.com", "joe", ".io", "4111 1111 1111 1111", AWS),
    *("4111111111111111", "1", "23", "+1 (555) ", "555-123-4567", ".", "ab", "b", "c", "-", "kEy", "Key", "\n", "\\"),
    *(
        "eyJ" + "a" * 12,
        ".eyJ",
        "-----BEGIN RSA PRIVATE KEY-----",
        "MIIabc" * 4,
        "xoxb-",
        "é😀",
        '"',
        '"xx',
        "/",
        "&lt;",
    ),
)
TEXTS: Final = st.lists(st.sampled_from(BITS), max_size=9).map("".join)


def redacted_whole(detectors: Sequence[Detector], text: str) -> str:
    """Return a text redacted, by asking each place from left to right which detector matches there first."""
    compiled = [(each, re.compile(each.pattern)) for each in detectors]
    out: list[str] = []
    place = 0
    while place < len(text):
        for detector, pattern in compiled:
            found = pattern.match(text, place)
            if found is None:
                continue
            accepted = True if detector.accepts is None else detector.accepts(found[0])
            end = found.end() if accepted is True else place + int(accepted)
            if end > place:
                out.append(f"[redacted:{detector.name}]")
                place = end
                break
        else:
            out.append(text[place])
            place += 1
    return "".join(out)


def redacted_value(detectors: Sequence[Detector], value: Any) -> Any:
    """Return what is to be read of a JSON value: each string, each key and each number redacted by itself."""
    if isinstance(value, str):
        return redacted_whole(detectors, value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    if isinstance(value, list):
        return [redacted_value(detectors, each) for each in value]
    if isinstance(value, dict):
        return {redacted_value(detectors, key): redacted_value(detectors, each) for key, each in value.items()}
    if value is None or isinstance(value, bool):
        return value
    written = json.dumps(value)
    shown = redacted_whole(detectors, written)
    return value if shown == written else json.loads(shown.partition("[")[0] + "0")


NUMBERS: Final = (4111111111111111, -4111111111111111, 1.5, 44.125, 12, 5105105105105100.0, 0)
VALUES: Final = st.recursive(
    TEXTS | st.sampled_from((*NUMBERS, None, True)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS: Final = st.dictionaries(TEXTS, VALUES, max_size=4)


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """Draw a JSON text of a value, in which any character of a string may be an escape."""
    if isinstance(value, str):
        escaped = draw(st.sets(st.integers(0, max(0, len(value) - 1)), max_size=6)) if value else set[int]()
        letters = (json.dumps(each, ensure_ascii=False)[1:-1] for each in value)
        return '"' + "".join(_escape(value[n]) if n in escaped else each for n, each in enumerate(letters)) + '"'
    if isinstance(value, list):
        return f"[{', '.join(draw(written(each)) for each in value)}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{draw(written(key))}: {draw(written(each))}" for key, each in value.items()) + "}"
    return json.dumps(value)


def _escape(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02X}" for n in range(0, len(units), 2))
