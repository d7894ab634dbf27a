"""Gemma 4: some of its calls come with a string in plain quotes, with closers too many, or two in one block."""

from ..grammar.dialect import NAME, Alt, Call, CallArgs, KnownDialect, Many, Maybe

_NAMED = (NAME, CallArgs("{", "}", ":", ('<|"|>', '"'), mends=True))
_CALL = ("<|tool_call>", Many("<|tool_call>"), Alt("call:", ":call:", ":"), *_NAMED)

GEMMA4 = KnownDialect(
    "gemma4",
    (
        Alt(Call(*_CALL, Maybe("<tool_call|>")), (Call(*_CALL), Many(Call("call:", *_NAMED)))),
        Many(Alt("<tool_call|>", "<|tool_response>", "<turn|>")),
    ),
    reasoning=(
        ("<|channel>thought\n", "<channel|>"),
        ("<|channel>thought", "<channel|>"),
        ("<|channel>", "<channel|>"),
    ),
    reasoning_anywhere=True,  # llama.cpp's tests have it behind text; it is a control token
    calls_in_reasoning=True,
    models=("gemma-4",),
    reasoning_from="vLLM's parser, which ends it at `<|tool_call>`",
    proven_by=("llama.cpp", "mlx-lm", "Ollama", "SGLang", "vLLM"),
)
