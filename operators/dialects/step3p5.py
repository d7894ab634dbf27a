"""Step 3.5: the format of Qwen3-Coder."""

from ..grammar.dialect import KnownDialect
from .qwen3_coder import QWEN3_CODER

STEP3P5 = KnownDialect(
    "step3p5",
    QWEN3_CODER.grammar,
    reasoning=QWEN3_CODER.reasoning,
    calls_in_reasoning=True,
    layout="\n",
    thinking_always=("step-3.5", "step-3.7", "stepfun3.5", "stepfun3.7"),
    reasoning_from="vLLM's parser: the template has no switch, and `<tool_call>` ends it",
    proven_by=("llama.cpp", "vLLM"),
    not_in_auto="qwen3_coder",
)
