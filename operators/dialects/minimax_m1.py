"""MiniMax-M1: JSON, one call per line."""

from ..grammar.dialect import Call, KnownDialect, Many, Maybe
from .parts import CALL, THINK

MINIMAX_M1 = KnownDialect(
    "minimax_m1",
    ("<tool_calls>", Many(Call(CALL)), Maybe("</tool_calls>")),
    reasoning=THINK,
    layout="\n",
    models=("minimax-m1",),
    parsers=("minimax",),
    written_from="the function call guide of MiniMaxAI/MiniMax-M1-80k",
)
