"""Mistral 7B v0.3, Nemo, Small up to 3.1: a list of calls behind a marker."""

from ..dialect import Alt, Dialect, Maybe
from .parts import CALL, CALLS

MISTRAL_OLD = Dialect(
    "mistral_old",
    ("[TOOL_CALLS]", Alt(CALLS, CALL), Maybe("[/TOOL_CALLS]")),
)
