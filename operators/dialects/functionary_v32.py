"""Functionary 3.2: each message names its recipient; the first one has no marker."""

from ..grammar.dialect import NAME, Alt, KnownDialect, Text
from .parts import ARGUMENTS

FUNCTIONARY_V32 = KnownDialect(
    "functionary_v32",
    (">>>", Alt((NAME, ARGUMENTS), ("all\n", Text("content")))),
    models=("functionary",),
    proven_by=("llama.cpp",),
    not_in_auto="its marker is the prompt of Python's console",
)
