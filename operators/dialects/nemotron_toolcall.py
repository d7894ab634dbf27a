"""Nemotron Nano v2, Nemotron-Deci: a list of calls between tags, or a single one."""

from ..grammar.dialect import Dialect
from .parts import CALLS_OR_ONE, THINK

NEMOTRON_TOOLCALL = Dialect("nemotron_toolcall", ("<TOOLCALL>", CALLS_OR_ONE, "</TOOLCALL>"), reasoning=THINK)
