"""Step's: 3 wrote as Claude 3 did, 3.5 as Qwen3-Coder does."""

from __future__ import annotations

from ..grammar.dialect import Call, KnownDialect, Many, Maybe
from .parts import THINK, invoke
from .qwen3_coder import QWEN3_CODER

STEP3 = KnownDialect(
    "step3",
    about="Step 3: calls as Claude 3 wrote them, between tokens.",
    grammar=(
        "<｜tool_calls_begin｜>",
        Many(
            Call(
                *("<｜tool_call_begin｜>", Maybe("function", "<｜tool_sep｜>")),
                *(*invoke("steptml:", typing="literal"), Maybe("<｜tool_call_end｜>")),
            ),
        ),
        Maybe("<｜tool_calls_end｜>"),
    ),
    reasoning=THINK,
    reasoning_from="SGLang's parser, which begins inside it, as for DeepSeek R1",
    thinking_always=("step-3",),
    proven_by=("smg", "vLLM"),
)


STEP3P5 = KnownDialect(
    "step3p5",
    about="Step 3.5: the format of Qwen3-Coder.",
    grammar=QWEN3_CODER.grammar,
    reasoning=QWEN3_CODER.reasoning,
    calls_in_reasoning=True,
    layout="\n",
    thinking_always=("step-3.5", "step-3.7", "stepfun3.5", "stepfun3.7"),
    reasoning_from="vLLM's parser: the template has no switch, and `<tool_call>` ends it",
    proven_by=("llama.cpp", "vLLM"),
    not_in_auto="qwen3_coder",
)
