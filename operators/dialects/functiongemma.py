"""FunctionGemma: a literal of its own, whose text is between tokens."""

from ..grammar.dialect import NAME, CallArgs, Dialect, Maybe

FUNCTIONGEMMA = Dialect(
    "functiongemma",
    (
        *("<start_function_call>", "call:", NAME),
        CallArgs("{", "}", ":", ("<escape>",), escapes=False),
        Maybe("<end_function_call>"),
    ),
)
