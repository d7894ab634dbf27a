"""Nemotron Nano v2, Nemotron-Deci: a list of calls between tags, or a single one."""

from ..dialect import Alt, Dialect
from .parts import CALL, CALLS, THINK

NEMOTRON_TOOLCALL = Dialect("nemotron_toolcall", ("<TOOLCALL>", Alt(CALLS, CALL), "</TOOLCALL>"), reasoning=THINK)
