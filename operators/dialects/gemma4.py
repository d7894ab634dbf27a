"""Gemma 4."""

from ..dialect import NAME, Alt, CallArgs, Dialect, Maybe

GEMMA4 = Dialect(
    "gemma4",
    (
        "<|tool_call>",
        Alt("call:", ":"),
        NAME,
        CallArgs("{", "}", ":", ('<|"|>',), escapes=False),
        Maybe("<tool_call|>"),
    ),
    reasoning=(("<|channel>thought", "<channel|>"), ("<|channel>", "<channel|>")),
)
