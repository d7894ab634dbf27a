"""Granite 3: a list of calls up to the end; its reasoning may stand between two sentences."""

from ..grammar.dialect import Alt, KnownDialect
from .parts import CALLS, PROSE, THINK

GRANITE3 = KnownDialect(
    "granite3",
    (Alt("<|tool_call|>", "<tool_call>"), CALLS),
    reasoning=(*THINK, *((f"{here} my thought process:", f"{here} my response:") for here in ("Here is", "Here's"))),
    models=("granite-3",),
    parsers=("granite",),
    proven_by=("llama.cpp", "vLLM"),
    not_in_auto=PROSE,
)
