"""Apertus: a call is an object whose only key is the tool's name."""

from ..grammar.dialect import Alt, Json, KnownDialect, Maybe

APERTUS = KnownDialect(
    "apertus",
    (
        "<|tools_prefix|>",
        Alt(
            Json(name=(), args=(), sole_key=True, root="array"),
            Json(name=(), args=(), sole_key=True, root="object"),
        ),
        Maybe("<|tools_suffix|>"),
    ),
    reasoning=(("<|inner_prefix|>", "<|inner_suffix|>"),),
    calls_in_reasoning=True,
    models=("apertus",),
    reasoning_from="SGLang's parser, which reads the calls inside it",
    parsers=("apertus2509",),
    proven_by=("llama.cpp", "vLLM"),
)
