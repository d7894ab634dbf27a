"""Functionary 3.1 on Llama 3.1: the name in a tag, the arguments as JSON."""

from ..grammar.dialect import NAME, Dialect
from .parts import ARGUMENTS

FUNCTIONARY_V31 = Dialect("functionary_v31", ("<function=", NAME, ">", ARGUMENTS, "</function>"))
