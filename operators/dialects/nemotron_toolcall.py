"""Nemotron Nano v2, Nemotron-Deci: a list of calls between tags, or a single one."""

from ..grammar.dialect import KnownDialect
from .parts import CALLS_OR_ONE, THINK

NEMOTRON_TOOLCALL = KnownDialect(
    "nemotron_toolcall",
    ("<TOOLCALL>", CALLS_OR_ONE, "</TOOLCALL>"),
    reasoning=THINK,
    models=("llama*nemotron",),
    thinking=("nemotron-nano*v2",),
    proven_by=("llama.cpp",),
)
