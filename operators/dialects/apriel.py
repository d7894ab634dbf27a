"""Apriel 1.5 and 1.6: its reasoning ends where the final response begins."""

from ..dialect import Dialect
from .parts import CALLS

APRIEL = Dialect(
    "apriel",
    ("<tool_calls>", CALLS, "</tool_calls>"),
    reasoning=(("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),),
)
