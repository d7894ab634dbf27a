"""Apriel 1.5 and 1.6: its reasoning ends where the final response begins."""

from ..dialect import Alt, Dialect, Maybe
from .parts import CALL, CALLS

APRIEL = Dialect(
    "apriel",
    ("<tool_calls>", Alt(CALLS, CALL), Maybe("</tool_calls>")),
    reasoning=(("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),),
)
