"""Step 3: calls as Claude 3 wrote them, between tokens."""

from ..grammar.dialect import Call, KnownDialect, Many, Maybe
from .parts import THINK, invoke

STEP3 = KnownDialect(
    "step3",
    (
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
