"""Nemotron Nano v2, Nemotron-Deci: a list of calls between tags."""

from ..dialect import Dialect
from .parts import CALLS, THINK

NEMOTRON_TOOLCALL = Dialect("nemotron_toolcall", ("<TOOLCALL>", CALLS, "</TOOLCALL>"), reasoning=THINK)
