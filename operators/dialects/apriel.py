"""Apriel 1.5 and 1.6: its reasoning ends where the final response begins."""

from ..grammar.dialect import Dialect, Maybe
from .parts import CALLS_OR_ONE

APRIEL = Dialect(
    "apriel",
    ("<tool_calls>", CALLS_OR_ONE, Maybe("</tool_calls>")),
    reasoning=(("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),),
)
