"""MiniMax-M2 and M2.5: calls as Claude 3 wrote them, in a tag of their own."""

from ..grammar.dialect import Call, KnownDialect, Many, Maybe
from .parts import THINK, invoke

MINIMAX_M2 = KnownDialect(
    "minimax_m2",
    ("<minimax:tool_call>", Many(Call(*invoke())), Maybe("</minimax:tool_call>")),
    reasoning=THINK,
    layout="\n",
    thinking=("minimax-m2", "minimax-m2.*"),
    parsers=("minimax-m2",),
    proven_by=("llama.cpp", "mlx-lm", "smg", "vLLM"),
)
