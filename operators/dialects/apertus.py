"""Apertus: the key is the tool's name."""

from ..grammar.dialect import Alt, Dialect, Json, Maybe

APERTUS = Dialect(
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
)
