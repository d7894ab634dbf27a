"""Granite 20B for function calling: a marker before each call."""

from ..grammar.dialect import Dialect
from .parts import CALL

GRANITE_20B_FC = Dialect("granite_20b_fc", ("<function_call>", CALL))
