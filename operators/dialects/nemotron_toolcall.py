"""Nemotron Nano v2."""

from ..dialect import Dialect
from .parts import CALLS, THINK

NEMOTRON_TOOLCALL = Dialect("nemotron_toolcall", ("<TOOLCALL>", CALLS, "</TOOLCALL>"), reasoning=THINK)
