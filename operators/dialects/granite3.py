"""Granite 3: a list of calls up to the end; reasoning is between two sentences, or in tags as its answer is."""

from ..grammar.dialect import Alt, KnownDialect, Maybe, Text
from .parts import CALLS, PROSE, THINK

GRANITE3 = KnownDialect(
    "granite3",
    (
        Alt(
            (Alt("<|tool_call|>", "<tool_call>"), CALLS),
            ("<response>", Text("content"), Maybe("</response>")),
        ),
    ),
    reasoning=(*THINK, *((f"{here} my thought process:", f"{here} my response:") for here in ("Here is", "Here's"))),
    models=("granite-3", "granite-3.*"),
    parsers=("granite",),
    proven_by=("llama.cpp", "vLLM"),
    not_in_auto=PROSE,
)
