"""Functionary 3.1 on Llama 3.1: the name in a tag, the arguments as JSON."""

from ..grammar.dialect import NAME, KnownDialect
from .parts import ARGUMENTS

FUNCTIONARY_V31 = KnownDialect(
    "functionary_v31",
    ("<function=", NAME, ">", ARGUMENTS, "</function>"),
    models=("functionary*v3.1",),
    proven_by=("llama.cpp",),
    answer='<function=weather>{"city": "Oslo", "days": 2}</function>',
)
