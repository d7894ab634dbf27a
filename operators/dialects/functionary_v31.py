"""Functionary 3.1."""

from ..dialect import NAME, Dialect
from .parts import ARGUMENTS

FUNCTIONARY_V31 = Dialect("functionary_v31", ("<function=", NAME, ">", ARGUMENTS, "</function>"))
