"""MiniMax-M1: JSON, one call a line."""

from ..grammar.dialect import Call, Dialect, Many, Maybe
from .parts import CALL, THINK

MINIMAX_M1 = Dialect(
    "minimax_m1",
    ("<tool_calls>", Many(Call(CALL)), Maybe("</tool_calls>")),
    reasoning=THINK,
    layout="\n",
)
