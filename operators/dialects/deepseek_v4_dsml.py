"""DeepSeek V4: as V3.2, within another tag, which may be missing."""

from ..dialect import Call, Dialect, Many, Maybe
from .parts import THINK, invoke

_CALL = Call(*invoke("｜DSML｜", flagged=True))

DEEPSEEK_V4_DSML = Dialect(
    "deepseek_v4_dsml",
    (Maybe("<｜DSML｜tool_calls>"), _CALL, Many(_CALL), Maybe("</｜DSML｜tool_calls>")),
    reasoning=THINK,
    layout="\n",
)
