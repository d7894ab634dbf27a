"""DeepSeek V3 and R1: the arguments stand in a fence."""

from ..dialect import NAME, Call, Dialect, Many, Maybe
from .parts import ARGUMENTS, THINK

DEEPSEEK_V3_R1 = Dialect(
    "deepseek_v3_r1",
    (
        "<｜tool▁calls▁begin｜>",
        Many(
            Call(
                *("<｜tool▁call▁begin｜>", "function<｜tool▁sep｜>", NAME),
                *("```json", ARGUMENTS, "```", Maybe("<｜tool▁call▁end｜>")),
            ),
        ),
        Maybe("<｜tool▁calls▁end｜>"),
    ),
    reasoning=THINK,
)
