"""FunctionGemma: a literal format of its own, with strings between special tokens."""

from ..grammar.dialect import NAME, CallArgs, KnownDialect, Maybe

FUNCTIONGEMMA = KnownDialect(
    "functiongemma",
    (
        *("<start_function_call>", "call:", NAME),
        CallArgs("{", "}", ":", ("<escape>",), escapes=False),
        Maybe("<end_function_call>"),
    ),
    models=("functiongemma",),
    proven_by=("mlx-lm", "Ollama", "vLLM"),
)
