"""How a number goes on from each of its characters: in JSON, in Python, and as models write it."""

from __future__ import annotations

from typing import Final, TypeAlias

NumberStates: TypeAlias = dict[str, tuple[dict[str, str], str]]
"""From each state, by which character, to which; and how to end or go on, in words."""

_DIGITS: Final = "0123456789"
_EXPONENT: Final = dict.fromkeys("eE", "exponent")
_FIRST: Final = {"0": "zero"} | dict.fromkeys(_DIGITS[1:], "integer")


def _digits_with_underscores(state: str, digits: str = _DIGITS) -> dict[str, str]:
    return {"_": f"{state}_"} | dict.fromkeys(digits, state)


def _based(state: str, digits: str) -> NumberStates:
    digit = f"a {state} digit"
    return {
        f"{state}_prefix": (_digits_with_underscores(state, digits), digit),
        state: (_digits_with_underscores(state, digits), f"{digit} or the end of the number"),
        f"{state}_": (dict.fromkeys(digits, state), digit),
    }


NUMBER_STATES: Final[NumberStates] = {
    "start": (dict.fromkeys("+-", "sign") | _FIRST | {".": "point"}, "a value"),
    "sign": (_FIRST | {".": "point"}, "a digit"),
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
"""Python's numbers."""
_AFTER_ZERO, _EXPECTED = NUMBER_STATES["zero"]
LENIENT_NUMBER_STATES: Final = {**NUMBER_STATES, "zero": (_AFTER_ZERO | dict.fromkeys(_DIGITS, "zeros"), _EXPECTED)}
"""With zeros in front of a decimal number, which Python does not allow."""
JSON_NUMBER_STATES: Final[NumberStates] = {
    **NUMBER_STATES,
    "start": ({"-": "sign"} | _FIRST, "a value"),
    "sign": (_FIRST, "a digit"),
    "zero": ({".": "point"} | _EXPONENT, "'.', 'e' or the end of the number"),
    "integer": ({".": "point"} | _EXPONENT | dict.fromkeys(_DIGITS, "integer"), NUMBER_STATES["integer"][1]),
    "fraction": (_EXPONENT | dict.fromkeys(_DIGITS, "fraction"), NUMBER_STATES["fraction"][1]),
    "power": (dict.fromkeys(_DIGITS, "power"), NUMBER_STATES["power"][1]),
}
NUMBER_FLOATS: Final = frozenset({"whole", "fraction", "power"})
"""The states in which a number may end, and is then a float."""
NUMBER_MAY_END: Final = NUMBER_FLOATS | {"zero", "zeros", "integer", "hexadecimal", "octal", "binary"}
