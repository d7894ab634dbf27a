"""Google's Gemma: calls as code in a fence, and FunctionGemma's and Gemma 4's between special tokens."""

from __future__ import annotations

from ..grammar.dialect import NAME, Alt, Call, CallArgs, KnownDialect, Many, Maybe, Text

TOOL_CODE = KnownDialect(
    "tool_code",
    about="Gemma 1 to 3: a call as code, in a fence.",
    grammar=("```tool_code\n", Text("name", r"\w."), CallArgs(lenient_quotes=True), "```"),
    layout="\n",
    models=("gemma", "gemma-1.1", "gemma-2", "gemma-3"),
    written_from="Google's guide to agents with Gemma 3",
    answer='```tool_code\nweather(city="Oslo", days=2)\n```',
)


FUNCTIONGEMMA = KnownDialect(
    "functiongemma",
    about="FunctionGemma: a literal format of its own, with strings between special tokens.",
    grammar=(
        *("<start_function_call>", "call:", NAME),
        CallArgs("{", "}", ":", ("<escape>",), escapes=False),
        Maybe("<end_function_call>"),
    ),
    models=("functiongemma",),
    proven_by=("mlx-lm", "Ollama", "vLLM"),
)


_GEMMA4_NAMED = (NAME, CallArgs("{", "}", ":", ('<|"|>', '"'), mends=True))
_GEMMA4_CALL = ("<|tool_call>", Many("<|tool_call>"), Alt("call:", ":call:", ":"), *_GEMMA4_NAMED)

GEMMA4 = KnownDialect(
    "gemma4",
    about="Gemma 4: some of its calls come with a string in plain quotes, with closers too many, or two in one block.",
    grammar=(
        Alt(Call(*_GEMMA4_CALL, Maybe("<tool_call|>")), (Call(*_GEMMA4_CALL), Many(Call("call:", *_GEMMA4_NAMED)))),
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
