"""Mistral 7B v0.3, Nemo, Small up to 3.1: a list of calls behind a marker."""

from ..grammar.dialect import Dialect, Maybe
from .parts import CALLS_OR_ONE

MISTRAL_OLD = Dialect(
    "mistral_old",
    ("[TOOL_CALLS]", CALLS_OR_ONE, Maybe("[/TOOL_CALLS]")),
)
