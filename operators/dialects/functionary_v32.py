"""Functionary 3.2: each message says to whom it goes; the first one has no marker."""

from ..grammar.dialect import NAME, Alt, Dialect, Text
from .parts import ARGUMENTS

FUNCTIONARY_V32 = Dialect(
    "functionary_v32",
    (">>>", Alt((NAME, ARGUMENTS), ("all\n", Text("content")))),
)
