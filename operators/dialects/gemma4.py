"""Gemma 4: some of its calls come with a string in plain quotes, or with closers too many."""

from ..dialect import NAME, Alt, Call, CallArgs, Dialect, Many, Maybe

GEMMA4 = Dialect(
    "gemma4",
    (
        Call("<|tool_call>", Alt("call:", ":"), NAME, CallArgs("{", "}", ":", ('<|"|>', '"')), Maybe("<tool_call|>")),
        Many(Alt("<tool_call|>", "<|tool_response>")),
    ),
    reasoning=(("<|channel>thought", "<channel|>"), ("<|channel>", "<channel|>")),
)
