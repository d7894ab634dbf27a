"""`Detector`: what `redact` looks for, and the ready ones: keys of known providers, e-mail, card and phone numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from ...events.errors import UsageError

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]*").fullmatch
_LEAST_CARD_DIGITS: Final = 13


@dataclass(frozen=True)
class Detector:
    r"""Something to redact: its name, which stands in its place, and the pattern that finds it.

    >>> from penstock.events import ChunkResponse
    >>> from penstock.operators import drive, redact, to_segments
    >>> badge = Detector("badge", r"\bB-\d{4}\b")
    >>> chunks = [ChunkResponse(content="I am B-1"), ChunkResponse(content="234.", finish_reason="stop")]
    >>> [event.delta for event in drive(chunks, to_segments(), redact(badge)) if hasattr(event, "delta")]
    ['I am ', '[redacted:badge].']

    - `name`: letters, digits, blanks, `_`, `.` and `-`, so that it reads the same in each dialect.
    - `pattern`: of a bounded width, or with a tail of one character class at its end, such as `key_[a-z]{8,}`.
    - `accepts`: whether a text that the pattern finds is one: True or False, or how many of its first characters are.

    Raises `UsageError` for another name, and for a pattern that may match no text or that has no bounded width.
    """

    name: str
    pattern: str | re.Pattern[str]
    accepts: Callable[[str], bool | int] | None = None

    def __post_init__(self) -> None:
        if not _NAME(self.name):
            message = f"the name of a detector must be letters, digits, blanks, '_', '.' and '-', got {self.name!r}"
            raise UsageError(message)


Wanted: TypeAlias = str | re.Pattern[str] | Detector
"""A text to be redacted wherever it is, a pattern, or a detector."""


def passes_luhn(digits: str) -> bool:
    """Return whether the last digit is the check digit of a card number.

    >>> passes_luhn("4111111111111111"), passes_luhn("4111111111111112")
    (True, False)
    """
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 * (value > 9)
    return total % 10 == 0


def card_length(found: str) -> int:
    """Return how many of the first characters are a card number; groups of digits may follow that are not of it.

    >>> card_length("4111 1111 1111 1111 123"), card_length("4111 1111 1111 1112")
    (19, 0)
    """
    for end in range(len(found), 0, -1):
        if end < len(found) and found[end].isdigit():
            continue
        digits = "".join(filter(str.isdigit, found[:end]))
        if found[end - 1].isdigit() and len(digits) >= _LEAST_CARD_DIGITS and passes_luhn(digits):
            return end
    return 0


_ALONE: Final = r"(?<!(?<!\\)[A-Za-z0-9])"
"""No letter before it, but for that of an escape, as in `\\nsk-...`."""
KEYS: Final[tuple[Detector, ...]] = tuple(
    Detector(name, pattern)
    for name, pattern in (
        ("anthropic key", f"{_ALONE}sk-ant-[A-Za-z0-9_-]{{20,}}"),
        ("api key", f"{_ALONE}sk-[A-Za-z0-9_-]{{20,}}"),
        ("google key", f"{_ALONE}AIza[A-Za-z0-9_-]{{35}}"),
        ("google token", rf"{_ALONE}ya29\.[A-Za-z0-9_-]{{20,}}"),
        ("github token", f"{_ALONE}gh[pousr]_[A-Za-z0-9]{{36,}}"),
        ("github token", f"{_ALONE}github_pat_[A-Za-z0-9_]{{22,}}"),
        ("gitlab token", f"{_ALONE}glpat-[A-Za-z0-9_.-]{{20,}}"),
        ("aws key", f"{_ALONE}A[KS]IA[A-Z0-9]{{16}}"),
        ("slack token", f"{_ALONE}xox[abeoprs]-[A-Za-z0-9-]{{10,}}"),
        ("slack token", f"{_ALONE}xapp-[A-Za-z0-9-]{{20,}}"),
        ("hugging face token", f"{_ALONE}hf_[A-Za-z0-9]{{30,}}"),
        ("groq key", f"{_ALONE}gsk_[A-Za-z0-9]{{40,}}"),
        ("xai key", f"{_ALONE}xai-[A-Za-z0-9]{{40,}}"),
        ("perplexity key", f"{_ALONE}pplx-[A-Za-z0-9]{{40,}}"),
        ("nvidia key", f"{_ALONE}nvapi-[A-Za-z0-9_-]{{40,}}"),
        ("replicate token", f"{_ALONE}r8_[A-Za-z0-9]{{30,}}"),
        ("stripe key", f"{_ALONE}[spr]k_(?:live|test)_[A-Za-z0-9]{{16,}}"),
        ("stripe key", f"{_ALONE}whsec_[A-Za-z0-9+/=]{{24,}}"),
        ("sendgrid key", rf"{_ALONE}SG\.[A-Za-z0-9_.-]{{40,}}"),
        ("npm token", f"{_ALONE}npm_[A-Za-z0-9]{{36,}}"),
        ("pypi token", f"{_ALONE}pypi-[A-Za-z0-9_-]{{50,}}"),
        ("jwt", rf"{_ALONE}eyJ[A-Za-z0-9_-]{{10,1000}}\.eyJ[A-Za-z0-9_.-]{{10,}}"),
        (
            "private key",
            (
                r"(?<!-)-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
                r"(?:\s{0,4}Proc-Type: 4,ENCRYPTED\s{1,4}DEK-Info: [A-Z0-9-]{1,30},[0-9A-Fa-f]{1,64}\s{1,8})?"
                r"[A-Za-z0-9+/=\s\\]{8,}"
            ),
        ),
    )
)
"""Keys and tokens of known providers, JSON web tokens, and private keys in PEM form.

A pattern for each, by the literal text that it begins with; secrets without one, such as passwords, are not found.
"""
EMAIL: Final = Detector("email", r"(?<![\w.%+-])[\w.%+-]{1,64}+@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,63}")
"""E-mail addresses, with the lengths of RFC 5321."""
CARD: Final = Detector("card", r"(?<!\d)[2-6](?:[ -]?\d){12,18}(?!\d)", card_length)
"""Card numbers of 13 to 19 digits, also in groups, whose check digit is right."""
PHONE: Final[tuple[Detector, ...]] = (
    Detector("phone", r"(?<![\w+])(?:\+|00)[1-9](?:[ ().-]{0,2}\d){7,14}(?!\d)"),
    Detector("phone", r"(?<![\w.-])(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])"),
)
"""Phone numbers with a country code, by E.164, and those of North America in their usual groups."""


def detectors_of(wanted: Iterable[Any]) -> tuple[Detector, ...]:
    """Return texts, patterns, detectors and iterables of them as detectors; `UsageError` for anything else."""
    found: list[Detector] = []
    for each in wanted:
        if isinstance(each, Detector):
            found.append(each)
        elif isinstance(each, re.Pattern):
            found.append(Detector("secret", cast("re.Pattern[str]", each)))
        elif isinstance(each, str):
            found.append(Detector("secret", re.escape(each)))
        elif isinstance(each, Iterable) and not isinstance(each, bytes | bytearray):
            found += detectors_of(cast("Any", each))
        else:
            message = f"redact(...) takes strings, patterns, Detectors and ready sets such as KEYS, got {each!r:.80}"
            raise UsageError(message)
    return tuple(found)
