"""MiniMax-M1: JSON, one call a line."""

from ..dialect import Call, Dialect, Json, Many, Maybe
from .parts import THINK

MINIMAX_M1 = Dialect(
    "minimax_m1",
    ("<tool_calls>", Many(Call(Json(root="object"))), Maybe("</tool_calls>")),
    reasoning=THINK,
)
