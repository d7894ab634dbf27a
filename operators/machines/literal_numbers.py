"""State machine for Python's numbers, one character at a time; JSON's are a subset."""

from __future__ import annotations

from typing import Final

_DIGITS: Final = "0123456789"
_EXPONENT: Final = dict.fromkeys("eE", "exponent")
_FIRST: Final = {"0": "zero", ".": "point"} | dict.fromkeys(_DIGITS[1:], "integer")


def _digits_with_underscores(state: str, digits: str = _DIGITS) -> dict[str, str]:
    return {"_": f"{state}_"} | dict.fromkeys(digits, state)


def _based(state: str, digits: str) -> dict[str, tuple[dict[str, str], str]]:
    digit = f"a {state} digit"
    return {
        f"{state}_prefix": (_digits_with_underscores(state, digits), digit),
        state: (_digits_with_underscores(state, digits), f"{digit} or the end of the number"),
        f"{state}_": (dict.fromkeys(digits, state), digit),
    }


# From each state, by which character, to which. The last field says how to end or go on.
NUMBER_STATES: Final[dict[str, tuple[dict[str, str], str]]] = {
    "start": (dict.fromkeys("+-", "sign") | _FIRST, "a value"),
    "sign": (_FIRST, "a digit"),
    "zero": (
        {".": "whole", "x": "hexadecimal_prefix", "X": "hexadecimal_prefix"}
        | dict.fromkeys("oO", "octal_prefix")
        | dict.fromkeys("bB", "binary_prefix")
        | _EXPONENT,
        "'.', 'e', 'x', 'o', 'b' or the end of the number",
    ),
    "zeros": ({".": "whole"} | _EXPONENT | dict.fromkeys(_DIGITS, "zeros"), "a digit or the end of the number"),
    "integer": (
        {".": "whole"} | _EXPONENT | _digits_with_underscores("integer"),
        "a digit, '.', 'e' or the end of the number",
    ),
    "integer_": (dict.fromkeys(_DIGITS, "integer"), "a digit"),
    "whole": (_EXPONENT | dict.fromkeys(_DIGITS, "fraction"), "a digit, 'e' or the end of the number"),
    "point": (dict.fromkeys(_DIGITS, "fraction"), "a digit"),
    "fraction": (_EXPONENT | _digits_with_underscores("fraction"), "a digit, 'e' or the end of the number"),
    "fraction_": (dict.fromkeys(_DIGITS, "fraction"), "a digit"),
    "exponent": (dict.fromkeys("+-", "power_sign") | dict.fromkeys(_DIGITS, "power"), "a digit or a sign"),
    "power_sign": (dict.fromkeys(_DIGITS, "power"), "a digit"),
    "power": (_digits_with_underscores("power"), "a digit or the end of the number"),
    "power_": (dict.fromkeys(_DIGITS, "power"), "a digit"),
    **_based("hexadecimal", _DIGITS + "abcdefABCDEF"),
    **_based("octal", _DIGITS[:8]),
    **_based("binary", "01"),
}
_AFTER_ZERO, _EXPECTED = NUMBER_STATES["zero"]
LENIENT_NUMBER_STATES: Final = {**NUMBER_STATES, "zero": (_AFTER_ZERO | dict.fromkeys(_DIGITS, "zeros"), _EXPECTED)}
"""With zeros in front of a decimal number, which Python does not allow."""
NUMBER_STARTS: Final = frozenset(NUMBER_STATES["start"][0])
NUMBER_FLOATS: Final = frozenset({"whole", "fraction", "power"})
"""The states in which a number may end, and is then a float."""
NUMBER_MAY_END: Final = NUMBER_FLOATS | {"zero", "zeros", "integer", "hexadecimal", "octal", "binary"}
