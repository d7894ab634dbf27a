"""Granite's: a marker before each call, a list of calls, and since 4 the format of Hermes."""

from __future__ import annotations

from ..grammar.dialect import Alt, KnownDialect, Maybe, Text
from .hermes import HERMES
from .parts import CALL, CALLS, PROSE, THINK

GRANITE_20B_FC = KnownDialect(
    "granite_20b_fc",
    about="Granite 20B for function calling: a marker before each call.",
    grammar=("<function_call>", CALL),
    models=("granite-20b-functioncalling",),
    parsers=("granite-20b-fc",),
    proven_by=("vLLM",),
)


GRANITE3 = KnownDialect(
    "granite3",
    about="Granite 3: a list of calls up to the end; reasoning is between two sentences, or in tags as its answer is.",
    grammar=(
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


HERMES_GRANITE4 = KnownDialect(
    "hermes_granite4",
    about="Granite 4.0 and 4.1: the format of Hermes; the arguments may be a string of JSON.",
    grammar=HERMES.grammar,
    reasoning=HERMES.reasoning,
    layout="\n",
    models=("granite-4", "granite-4.*"),
    parsers=("granite4",),
    proven_by=("llama.cpp", "vLLM"),
    not_in_auto="hermes",
)
