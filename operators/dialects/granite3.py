"""Granite 3: a list of calls up to the end; its reasoning may be between two sentences."""

from ..grammar.dialect import Alt, Dialect
from .parts import CALLS, THINK

GRANITE3 = Dialect(
    "granite3",
    (Alt("<|tool_call|>", "<tool_call>"), CALLS),
    reasoning=(*THINK, *((f"{here} my thought process:", f"{here} my response:") for here in ("Here is", "Here's"))),
)
