"""Llama 4: what Llama 3.2 writes, its markers at one end, both or none."""

from ..grammar.dialect import Dialect
from .pythonic import PYTHONIC

LLAMA4_PYTHONIC = Dialect("llama4_pythonic", PYTHONIC.grammar)
