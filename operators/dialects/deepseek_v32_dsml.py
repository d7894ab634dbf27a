"""DeepSeek V3.2: its own markup, whose parameters say whether they are text."""

from ..dialect import Call, Dialect, Many, Maybe
from .parts import THINK, invoke

DEEPSEEK_V32_DSML = Dialect(
    "deepseek_v32_dsml",
    (
        "<｜DSML｜function_calls>",
        Many(Call(*invoke("｜DSML｜", flagged=True))),
        Maybe("</｜DSML｜function_calls>"),
    ),
    reasoning=THINK,
    layout="\n",
)
