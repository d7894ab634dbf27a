"""DeepSeek V3.2."""

from ..dialect import Call, Dialect, Many, Maybe
from .parts import THINK, flagged_invoke

DEEPSEEK_V32_DSML = Dialect(
    "deepseek_v32_dsml",
    (
        "<｜DSML｜function_calls>",
        Many(Call(*flagged_invoke("｜DSML｜"))),
        Maybe("</｜DSML｜function_calls>"),
    ),
    reasoning=THINK,
    layout="\n",
)
