"""DeepSeek V3.1: the name, a separator, then JSON."""

from ..grammar.dialect import NAME, Call, Dialect, Many, Maybe
from .parts import ARGUMENTS, THINK

DEEPSEEK_V31 = Dialect(
    "deepseek_v31",
    (
        "<｜tool▁calls▁begin｜>",
        Many(Call("<｜tool▁call▁begin｜>", NAME, "<｜tool▁sep｜>", ARGUMENTS, "<｜tool▁call▁end｜>")),
        Maybe("<｜tool▁calls▁end｜>"),
    ),
    reasoning=THINK,
)
