"""MiniMax-M2 and M2.5: calls as Claude 3 wrote them, in a tag of their own."""

from ..grammar.dialect import Call, KnownDialect, Many, Maybe
from .parts import THINK, invoke

MINIMAX_M2 = KnownDialect(
    "minimax_m2",
    ("<minimax:tool_call>", Many(Call(*invoke())), Maybe("</minimax:tool_call>")),
    reasoning=THINK,
    calls_in_reasoning=True,
    layout="\n",
    thinking_always=("minimax-m2", "minimax-m2.*"),
    reasoning_from="vLLM's and SGLang's parsers, which begin inside it; vLLM's ends it at `<minimax:tool_call>`",
    parsers=("minimax-m2",),
    proven_by=("llama.cpp", "mlx-lm", "smg", "vLLM"),
)
