"""Apriel 1.5 and 1.6: its reasoning ends where the final response begins."""

from ..grammar.dialect import KnownDialect, Maybe
from .parts import CALLS_OR_ONE, PROSE

APRIEL = KnownDialect(
    "apriel",
    ("<tool_calls>", CALLS_OR_ONE, Maybe("</tool_calls>")),
    reasoning=(("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),),
    models=("apriel", "apriel-1.5"),
    thinking=("apriel-1.6",),
    proven_by=("llama.cpp",),
    not_in_auto=PROSE,
)
